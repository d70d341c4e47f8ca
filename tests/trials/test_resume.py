"""A run and its resume: no reply is lost, no trial asked twice."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trials.fake_judge import INSTRUMENT, OK, FakeJudge, plan
from trials.measuring import EMPTY, TIMEOUT, WRONG_KEY, keys, measure, rate_limit

from datasheet.errors import PermanentJudgeError
from datasheet.records import Reply, Request
from datasheet.trials.log import TrialLog
from datasheet.trials.retry_policy import RetryPolicy
from datasheet.trials.runner import RunOutcome, run

TESTS = Path(__file__).parents[1]


def test_every_trial_is_asked_once_and_the_second_run_asks_nothing(log: TrialLog) -> None:
    planned, judge = plan(20), FakeJudge()
    assert measure(judge, log, planned) == RunOutcome(answered=20, failed={}, retried=0, calls=20)
    assert sorted(judge.asked) == sorted(keys(planned))
    assert log.verify() == []
    again = FakeJudge()
    assert measure(again, log, planned) == RunOutcome(answered=0, failed={}, retried=0, calls=0)
    assert again.asked == []


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(1, 30))
def test_runs_with_failures_then_a_resume_equal_an_uninterrupted_run(seed: int, concurrency: int, trials: int) -> None:
    planned, chance = plan(trials), random.Random(seed)
    options: dict[str, Any] = {"concurrency": concurrency, "policy": RetryPolicy(max_attempts=2, drain_s=1)}

    def answer(request: Request, attempt: int) -> Reply:
        return replace(OK, text=request.key)

    def sometimes(request: Request, attempt: int) -> Reply | Exception:
        failures = [TIMEOUT, EMPTY, rate_limit(3.0), rate_limit(10_800.0), WRONG_KEY]
        return chance.choice(failures) if chance.random() < 0.4 else answer(request, attempt)

    with tempfile.TemporaryDirectory() as folder:
        with TrialLog.open(Path(folder) / "whole", instrument=INSTRUMENT) as whole:
            measure(FakeJudge(answer), whole, planned)
            expected = [(reading.key, reading.stimulus_id, reading.reply) for reading in whole.readings()]
        for _ in range(2):
            with TrialLog.open(Path(folder) / "parts", instrument=INSTRUMENT) as parts:
                try:
                    outcome = measure(FakeJudge(sometimes), parts, planned, **options)
                except PermanentJudgeError:
                    continue
                unanswered = set(keys(planned)) - parts.answered()
                assert len(unanswered) >= sum(outcome.failed.values())
                assert outcome.paused or len(unanswered) == sum(outcome.failed.values())
        with TrialLog.open(Path(folder) / "parts", instrument=INSTRUMENT) as parts:
            measure(FakeJudge(answer), parts, planned)
            assert [(reading.key, reading.stimulus_id, reading.reply) for reading in parts.readings()] == expected
            assert parts.verify() == []


KILLED = """
import asyncio, sys
from datasheet.trials.log import TrialLog
from datasheet.trials.runner import run
from trials.fake_judge import *

class Announcing(FakeJudge):
    async def ask(self, request):
        print(request.key, flush=True)
        return await super().ask(request)

with TrialLog.open(sys.argv[1], instrument=INSTRUMENT) as log:
    try:
        asyncio.run(run(plan(20), Announcing(latency_s=0.02), log, concurrency=2))
    except KeyboardInterrupt:
        print("interrupted", len(log.answered()), flush=True)
"""


def stopped_after_seven_calls(path: Path, how: signal.Signals) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        asked = [process.stdout.readline().strip() for _ in range(7)]
        process.send_signal(how)
        return asked + process.stdout.read().split("\n")[:-1]


def test_after_kill_9_exactly_what_is_not_on_disk_is_asked_again(tmp_path: Path) -> None:
    asked = stopped_after_seven_calls(tmp_path / "log", signal.SIGKILL)
    judge = FakeJudge()
    with TrialLog.open(tmp_path / "log", instrument=INSTRUMENT) as log:
        kept = log.answered()
        measure(judge, log, plan(20))
        assert log.answered() == set(keys(plan(20)))
        assert log.verify() == []
    assert kept <= set(asked)
    assert len(kept) < 20
    assert sorted(judge.asked) == sorted(set(keys(plan(20))) - kept)


def test_ctrl_c_keeps_every_reply_that_came(tmp_path: Path) -> None:
    *asked, last = stopped_after_seven_calls(tmp_path / "log", signal.SIGINT)
    assert last.startswith("interrupted ")
    answered = int(last.split()[1])
    assert 0 < answered < 20
    assert len(asked) - answered <= 2
    with TrialLog.open(tmp_path / "log", instrument=INSTRUMENT) as log:
        assert len(log.answered()) == answered
        assert log.verify() == []


def test_a_cancelled_run_keeps_what_came_and_waits_for_nothing(log: TrialLog) -> None:
    planned = plan(4)
    hanging = set(keys(planned)[2:])

    class HalfDeaf(FakeJudge):
        async def ask(self, request: Request) -> Reply:
            if request.key in hanging:
                await asyncio.Event().wait()
            return await super().ask(request)

    async def cancelled() -> None:
        task = asyncio.create_task(run(planned, HalfDeaf(), log))
        while len(log.answered()) < 2:
            await asyncio.sleep(0.001)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert log.answered() == set(keys(planned)[:2])
