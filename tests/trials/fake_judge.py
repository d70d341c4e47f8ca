"""A judge whose every answer is scripted, the trials to ask it, and a clock that lets hours pass in no time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from datasheet.identity import stimulus_id, trial_key
from datasheet.records import ORDERS, Reply, Request, Stimulus, Trial
from datasheet.trials.pending import Planned
from datasheet.trials.runner import Clock

INSTRUMENT = {
    "judge_id": "j" * 16,
    "judge": "fake",
    "model": "fake-judge",
    "adapter": "fake",
    "decoding": "{}",
    "simulated": "yes",
    "prompt": "default",
    "prompt_hash": "p" * 16,
    "rubric_hash": "r" * 16,
    "bank": "english",
    "bank_hash": "b" * 16,
    "design": "quick",
    "seed": "0",
    "repeats": "",
}
START = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
OK = Reply(text="[[A]]", finish_reason="stop", model="fake-judge", prompt_tokens=60, completion_tokens=12)

Script = Callable[[Request, int], Reply | Exception]


def stimulus(number: int) -> Stimulus:
    question, better, worse = f"Question {number}?", "one two three", "one two"
    return Stimulus(
        id=stimulus_id(question, better, worse),
        probe="ladder",
        arm="prefix",
        task=f"task-{number}",
        question=question,
        answer_a=better,
        answer_b=worse,
        level_a=2,
        level_b=1,
        filler_b=0,
    )


def plan(trials: int) -> list[Planned]:
    """Trials in both orders, two a stimulus."""
    return [planned(stimulus(number // 2), number % 2) for number in range(trials)]


def planned(shown: Stimulus, side: int) -> Planned:
    trial = Trial(stimulus=shown, order=ORDERS[side])
    first, second = shown.shown(trial.order)
    messages = (("user", f"{shown.question}\n{first}\n{second}"),)
    key = trial_key(INSTRUMENT["judge_id"], messages, trial.order, trial.repeat)
    return trial, Request(key=key, messages=messages, first=first, second=second, replies={})


class FakeClock(Clock):
    """Time that passes only where someone sleeps."""

    def __init__(self) -> None:
        self.elapsed_s = 0.0
        self.sleeps: list[float] = []

    def now(self) -> datetime:
        return START + timedelta(seconds=self.elapsed_s)

    def monotonic(self) -> float:
        return self.elapsed_s

    async def sleep(self, wait_s: float) -> None:
        self.sleeps.append(wait_s)
        wakes_at = self.elapsed_s + wait_s
        await asyncio.sleep(0)
        self.elapsed_s = max(self.elapsed_s, wakes_at)


class FakeJudge:
    """Answers as ``script(request, number of the attempt at this trial)`` says."""

    adapter = "fake"
    model = "fake-judge"
    decoding: Mapping[str, object] = {}
    simulated = True
    provenance: Mapping[str, str] = {}

    def __init__(self, script: Script = lambda request, attempt: OK, *, latency_s: float = 0.0) -> None:
        self.script = script
        self.latency_s = latency_s
        self.asked: list[str] = []
        self.attempts: Counter[str] = Counter()

    async def ask(self, request: Request) -> Reply:
        self.asked.append(request.key)
        self.attempts[request.key] += 1
        if self.latency_s:
            await asyncio.sleep(self.latency_s)
        answer = self.script(request, self.attempts[request.key])
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def open(self) -> None: ...

    async def close(self) -> None: ...
