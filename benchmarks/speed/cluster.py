"""How near does a Dask cluster on this machine come to the ideal, and how many calls a second can each engine hold?

5,000 calls that wait 50 ms each, 32 in flight, through runner and log: in this process, then on a worker process for
each core of this machine, start excluded. Then 3,000 calls that take no time, 64 in flight: the most that each engine
can do.

    python benchmarks/speed/cluster.py
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from client import planned

from datasheet.judge.base import Judge
from datasheet.judge.cluster import ClusterJudge
from datasheet.records import Reply, Request
from datasheet.stimulus.bank import load_bank
from datasheet.trials.log import TrialLog
from datasheet.trials.runner import run


@dataclass
class Waiting:
    """Answers after so long."""

    delay_s: float
    adapter: str = "waiting"
    model: str = "waiting"
    simulated: bool = True

    decoding = provenance = property(lambda _: {})

    async def ask(self, request: Request) -> Reply:
        await asyncio.sleep(self.delay_s)
        return Reply(text='{"verdict": "A"}', model=self.model)

    async def open(self) -> None: ...

    async def close(self) -> None: ...


async def seconds(judge: Judge, calls: int, slots: int) -> float:
    """Of a run, from the first call on."""
    instrument, plan = planned(judge)
    described: Mapping[str, str] = instrument.described(load_bank("english"), design="bench", seed=0, repeats=None)
    await judge.open()
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            TrialLog.open(Path(folder) / "t.sqlite", instrument=described) as log,
        ):
            start = time.perf_counter()
            outcome = await run(plan[:calls], judge, log, concurrency=slots)
            taken = time.perf_counter() - start
    finally:
        await judge.close()
    assert outcome.answered == calls
    return taken


def main() -> None:
    print(" calls slots  a call   ideal   local    Dask  ideal / local, ideal / Dask")
    for calls, slots, delay_s in ((5_000, 32, 0.05), (3_000, 64, 0.0)):
        make = partial(Waiting, delay_s)
        here = asyncio.run(seconds(make(), calls, slots))
        there = asyncio.run(seconds(ClusterJudge(make(), make), calls, slots))
        ideal = calls * delay_s / slots
        shares = (
            f"{ideal / here:.2f}, {ideal / there:.2f}" if delay_s else f"{calls / here:,.0f}/s, {calls / there:,.0f}/s"
        )
        times = f"{ideal:>5.2f} s {here:>5.2f} s {there:>5.2f} s"
        print(f"{calls:>6,} {slots:>5} {delay_s * 1e3:>4.0f} ms {times}  {shares}")


if __name__ == "__main__":
    main()
