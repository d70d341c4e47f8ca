"""How long do 100,000 simulated trials take through runner and log?

The stimuli of `full` in both orders, each asked often enough, by the embedded simulated judge. Prints wall time and the
size of the log.

    python benchmarks/speed/trials.py
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from datasheet.config import load_config
from datasheet.judge.catalogue import DEFAULT_JUDGE, find_judge, make_judge
from datasheet.prompts import load_variant
from datasheet.stimulus.bank import load_bank
from datasheet.stimulus.design import plan
from datasheet.stimulus.lexicon import make_lexicon
from datasheet.trials.log import TrialLog
from datasheet.trials.runner import run
from datasheet.workflows.instrument import Instrument

TRIALS, REPEATS = 100_000, 24


def main() -> None:
    bank = load_bank("english")
    judge = make_judge(find_judge(DEFAULT_JUDGE, load_config(None)), lexicon=make_lexicon(bank), connections=8)
    instrument = Instrument(name=DEFAULT_JUDGE, judge=judge, variant=load_variant("default"))
    trials = plan(bank, "full", seed=0, repeats=REPEATS)[:TRIALS]
    assert len(trials) == TRIALS
    planned = instrument.requests(trials)
    described = instrument.described(bank, design="full", seed=0, repeats=REPEATS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trials.sqlite"
        start = time.perf_counter()
        with TrialLog.open(path, instrument=described) as log:
            outcome = asyncio.run(run(planned, judge, log))
        taken = time.perf_counter() - start
        assert outcome.answered == TRIALS
        print(f"{TRIALS:,} trials: {taken:.1f} s (wanted <= 60 s), log of {path.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
