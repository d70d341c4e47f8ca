"""How long do a build and an analysis take, and with how much memory?

A `paper` build on the simulated judge with all documents, and `datasheet analyze` of 100,000 and of 1,000,000 readings,
and of 100,000 with label probabilities, each in a process of its own. Prints wall time and peak memory, beside the
start of the bare interpreter as this machine's unit.

    python benchmarks/speed/stages.py
"""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LOGS = {"100,000 readings": 100_000, "1,000,000 readings": 1_000_000, "100,000 with label probabilities": 100_000}
READOUT_SCALE, FLOOR = 0.4, 1e-6


def measured(*command: str) -> tuple[float, float]:
    """Wall seconds and peak megabytes of a process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return time.perf_counter() - start, used.ru_maxrss / 1024


def label_probabilities(evidence: float) -> dict[str, float]:
    """Of a logistic readout, those below the floor left out."""
    first, second = (1 / (1 + math.exp((0.5 - lean) / READOUT_SCALE)) for lean in (evidence, -evidence))
    listed = {"p_first": first, "p_tie": 1 - first - second, "p_second": second}
    return {name: p for name, p in listed.items() if p > FLOOR} | {"p_floor": FLOOR}


def verdicts(path: Path, readings: int, *, labels: bool) -> None:
    """So many readings over 1,000 tasks: a ladder of five steps and three arms, and same-quality pairs, in both orders.

    Answers have lengths of their own, and the readings come from an observer, as those of a real log would.
    """
    rng = random.Random(1)
    with path.open("w", encoding="utf-8") as stream:
        stream.write('{"format": "judge-datasheet-verdicts", "version": 1, "judge": "bench", "ties_allowed": true}\n')
        for number in range(readings // 2):
            probe, delta_q = ("ladder", number % 5 + 1) if number % 7 < 5 else ("same_quality", 0)
            arm = ("prefix", "terse_better", "filled_even")[number % 3] if probe == "ladder" else "same_subset"
            shown = {
                "pair": f"p{number}",
                "probe": probe,
                "arm": arm,
                "delta_q": delta_q,
                "task": f"t{number % 1000}",
                "length_a": rng.randrange(40, 160),
                "length_b": rng.randrange(40, 160),
                "filler_b": rng.randrange(20, 60) if arm == "filled_even" else 0,
            }
            stable = rng.gauss(0, 0.6)
            for order, sign in (("ab", 1), ("ba", -1)):
                evidence = sign * (0.6 * delta_q + stable + rng.gauss(0, 0.8)) + 0.3
                verdict = "first" if evidence > 0.5 else "second" if evidence < -0.5 else "tie"
                row = {**shown, "order": order, "verdict": verdict} | (label_probabilities(evidence) if labels else {})
                stream.write(json.dumps(row) + "\n")


def main() -> None:
    datasheet = (sys.executable, "-m", "datasheet")
    with tempfile.TemporaryDirectory() as folder:
        logs = {name: Path(folder) / f"verdicts-{number}.jsonl" for number, name in enumerate(LOGS)}
        for name, log in logs.items():
            verdicts(log, LOGS[name], labels="label" in name)
        stages = {
            "bare interpreter": (sys.executable, "-c", "pass"),
            "datasheet --help": (*datasheet, "--help"),
            "build, design paper, simulated, with documents": (
                *datasheet,
                "build",
                "--design",
                "paper",
                "--out",
                folder,
            ),
            **{f"analyze {name}": (*datasheet, "analyze", str(log), "--json") for name, log in logs.items()},
        }
        print(f"{'stage':<50} {'wall s':>7} {'peak MB':>8}")
        for name, command in stages.items():
            wall_s, peak = measured(*command)
            print(f"{name:<50} {wall_s:>7.2f} {peak:>8.0f}")


if __name__ == "__main__":
    main()
