"""How much do the adapter, the runner and the trial log cost beside the bare HTTP calls?

5,000 calls at 64 slots against a loopback server that answers after 50 ms, first by a bare aiohttp loop, then through
adapter, runner and SQLite log, in turn and in one process. Prints wall time, their ratio, and CPU a call.

    python benchmarks/speed/client.py
"""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import aiohttp

from datasheet.judge.openai import OpenAIJudge
from datasheet.prompts import load_variant
from datasheet.records import Stimulus, Trial
from datasheet.stimulus.bank import load_bank
from datasheet.trials.log import TrialLog
from datasheet.trials.pending import Planned
from datasheet.trials.runner import run
from datasheet.workflows.instrument import Instrument

CALLS, SLOTS, DELAY_S, ROUNDS = 5_000, 64, 0.05, 3
LOOPBACK = Path(__file__).parents[2] / "tests" / "loopback.py"


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def planned(judge: OpenAIJudge) -> tuple[Instrument, list[Planned]]:
    instrument = Instrument(name="bench", judge=judge, variant=load_variant("default"))
    trials = [
        Trial(
            stimulus=Stimulus(
                id=f"{number:016x}",
                probe="ladder",
                arm="prefix",
                task=f"task-{number % 20}",
                question=f"Question {number}?",
                answer_a="a better answer " * 20,
                answer_b="an answer " * 20,
                level_a=1,
                level_b=0,
            ),
            order="ab",
        )
        for number in range(CALLS)
    ]
    return instrument, instrument.requests(trials)


async def bare(url: str, plan: list[Planned]) -> None:
    """The same bodies, as lean as aiohttp allows."""
    bodies = iter(plan)

    async def work(session: aiohttp.ClientSession) -> None:
        for _, request in bodies:
            messages = [{"role": role, "content": text} for role, text in request.messages]
            body = {"model": "fake-judge", "messages": messages, "temperature": 0.0, "max_tokens": request.max_tokens}
            async with session.post(f"{url}/chat/completions", json=body) as reply:
                await reply.json()

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=SLOTS)) as session:
        await asyncio.gather(*(work(session) for _ in range(SLOTS)))


async def ours(judge: OpenAIJudge, instrument: Instrument, plan: list[Planned], path: Path) -> None:
    await judge.open()
    try:
        with TrialLog.open(
            path, instrument=instrument.described(load_bank("english"), design="bench", seed=0, repeats=None)
        ) as log:
            outcome = await run(plan, judge, log, concurrency=SLOTS)
    finally:
        await judge.close()
    assert outcome.answered == CALLS


def main() -> None:
    command = [sys.executable, str(LOOPBACK), "--port", "0", "--delay", str(DELAY_S), "--policy", "first"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        judge = OpenAIJudge(model="fake-judge", base_url=url, connections=SLOTS)
        instrument, plan = planned(judge)
        ideal_s = CALLS / SLOTS * DELAY_S
        print(f"{CALLS:,} calls, {SLOTS} slots, {DELAY_S * 1000:.0f} ms a call; ideal {ideal_s:.2f} s")
        print("round   bare s   ours s   ratio   bare ms CPU/call   ours ms CPU/call")
        for number in range(1, ROUNDS + 1):
            start, used = time.perf_counter(), cpu_s()
            asyncio.run(bare(url, plan))
            bare_s, bare_cpu = time.perf_counter() - start, (cpu_s() - used) / CALLS * 1000
            with tempfile.TemporaryDirectory() as folder:
                start, used = time.perf_counter(), cpu_s()
                asyncio.run(ours(judge, instrument, plan, Path(folder) / "trials.sqlite"))
                ours_s, ours_cpu = time.perf_counter() - start, (cpu_s() - used) / CALLS * 1000
            print(
                f"{number:>5} {bare_s:>8.2f} {ours_s:>8.2f} {ours_s / bare_s:>7.3f} {bare_cpu:>18.3f} {ours_cpu:>18.3f}"
            )
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
