"""The runner: patience with failures, no reply lost, no trial asked twice."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trials.fake_judge import INSTRUMENT, OK, START, FakeClock, FakeJudge, plan

from datasheet.errors import PermanentJudgeError, TransientJudgeError, TrialLogError, UsageError
from datasheet.records import Reply, Request
from datasheet.trials.log import TrialLog
from datasheet.trials.pending import Planned
from datasheet.trials.runner import Clock, Progress, RetryPolicy, RunOutcome, run

TESTS = Path(__file__).parents[1]
TIMEOUT = TransientJudgeError("no reply within 120 s", kind="timeout")
EMPTY = TransientJudgeError("the reply had no content", kind="empty", status=200)
WRONG_KEY = PermanentJudgeError("401: set OPENAI_API_KEY", kind="auth", status=401)


def rate_limit(retry_after_s: float | None) -> TransientJudgeError:
    return TransientJudgeError("429: slow down", kind="rate_limit", status=429, retry_after_s=retry_after_s)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[TrialLog]:
    with TrialLog.open(tmp_path / "trials.sqlite", instrument=INSTRUMENT) as opened:
        yield opened


def measure(judge: FakeJudge, log: TrialLog, planned: list[Planned], **options: Any) -> RunOutcome:
    options = {"clock": FakeClock(), "rng": random.Random(1), **options}
    return asyncio.run(run(planned, judge, log, **options))


def keys(planned: list[Planned]) -> list[str]:
    return [request.key for _, request in planned]


# A run and its resume


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


# Retries


def test_an_empty_reply_is_retried_and_both_attempts_are_stored(log: TrialLog) -> None:
    judge = FakeJudge(lambda request, attempt: EMPTY if attempt == 1 else replace(OK, text="[[B]]"))
    outcome = measure(judge, log, plan(1))
    assert outcome == RunOutcome(answered=1, failed={}, retried=1, calls=2)
    (reading,) = log.readings()
    assert (reading.reply.text, reading.attempts) == ("[[B]]", 2)
    assert log.failures() == {"empty": 1}


def test_an_always_empty_reply_is_never_a_reading_and_is_asked_again_later(log: TrialLog) -> None:
    planned = plan(10)
    stubborn = keys(planned)[4]
    judge = FakeJudge(lambda request, attempt: EMPTY if request.key == stubborn else OK)
    outcome = measure(judge, log, planned)
    assert outcome == RunOutcome(answered=9, failed={"empty": 1}, retried=2, calls=12)
    assert stubborn not in log.answered()
    assert log.failures() == {"empty": 3}
    assert measure(judge, log, planned) == RunOutcome(answered=0, failed={"empty": 1}, retried=2, calls=3)
    measure(FakeJudge(), log, planned)
    assert stubborn in log.answered()


@pytest.mark.parametrize(
    "failure",
    [
        TransientJudgeError("529: Overloaded", kind="server_error", status=529),
        TransientJudgeError("connection reset", kind="connection"),
        rate_limit(None),
        rate_limit(0.0),
    ],
)
def test_what_may_pass_is_tried_again(log: TrialLog, failure: TransientJudgeError) -> None:
    clock = FakeClock()
    judge = FakeJudge(lambda request, attempt: failure if attempt < 5 else OK)
    assert measure(judge, log, plan(1), clock=clock) == RunOutcome(answered=1, failed={}, retried=4, calls=5)
    assert (
        0 < clock.elapsed_s < 1 + 2 + 4 + 8 + 4 * 1
    )  # full jitter under the back-off; a hold adds up to a second each


def test_back_off_doubles_up_to_its_limit() -> None:
    class Longest(random.Random):
        def uniform(self, a: float, b: float) -> float:
            return b

    policy = RetryPolicy(first_wait_s=1.0, max_wait_s=10.0)
    assert [policy.wait_s(attempt, Longest()) for attempt in range(1, 7)] == [1, 2, 4, 8, 10, 10]


def test_a_rate_limit_holds_every_worker_of_the_judge(log: TrialLog) -> None:
    asked_at: list[float] = []

    def script(request: Request, attempt: int) -> Reply | Exception:
        asked_at.append(time.monotonic())
        return rate_limit(0.1) if len(asked_at) == 5 else OK

    policy = RetryPolicy(first_wait_s=0.01)
    outcome = measure(FakeJudge(script), log, plan(60), clock=Clock(), concurrency=4, policy=policy)
    assert outcome == RunOutcome(answered=60, failed={}, retried=1, calls=61)
    limited_at = asked_at[4]
    under_way = sum(at < limited_at + 0.1 for at in asked_at[5:])
    assert under_way < 4  # no worker began another call


def test_a_wait_too_long_to_sit_out_pauses_the_run(log: TrialLog) -> None:
    clock = FakeClock()
    planned = plan(40)
    judge = FakeJudge(lambda request, attempt: rate_limit(10_800) if request.key == keys(planned)[6] else OK)
    outcome = measure(judge, log, planned, clock=clock, concurrency=2)
    assert outcome.paused is not None
    assert "slow down" in outcome.paused.reason
    assert outcome.paused.resume_at == START + timedelta(hours=3)
    assert outcome.failed == {}
    assert 6 <= outcome.answered < 10
    assert clock.sleeps == []
    assert measure(FakeJudge(), log, planned).answered == 40 - outcome.answered


def test_an_absurd_wait_is_a_pause_too(log: TrialLog) -> None:
    outcome = measure(FakeJudge(lambda request, attempt: rate_limit(1e300)), log, plan(2))
    assert outcome.paused is not None


# Giving up


def test_a_trial_that_never_answers_does_not_hold_up_the_others(log: TrialLog) -> None:
    planned = plan(30)
    stuck = keys(planned)[0]
    judge = FakeJudge(lambda request, attempt: TIMEOUT if request.key == stuck else OK)
    outcome = measure(judge, log, planned, concurrency=1)
    assert outcome == RunOutcome(answered=29, failed={"timeout": 1}, retried=4, calls=34)
    assert log.failures() == {"timeout": 5}


def test_failures_between_successes_do_not_end_the_run(log: TrialLog) -> None:
    """Every second trial fails for good: thirty failures, but never twenty in a row."""
    trials = plan(60)
    bad = {request.key for _, request in trials[1::2]}
    judge = FakeJudge(lambda request, attempt: TIMEOUT if request.key in bad else OK)
    outcome = measure(judge, log, trials, concurrency=1)
    assert (outcome.answered, outcome.failed, outcome.paused) == (30, {"timeout": 30}, None)


def test_a_server_that_dies_midway_pauses_the_run(log: TrialLog) -> None:
    """Twenty trials in a row that fail after every retry: the other seventy are not worn through one by one."""
    trials = plan(100)
    alive = {request.key for _, request in trials[:10]}
    judge = FakeJudge(lambda request, attempt: OK if request.key in alive else TIMEOUT)
    outcome = measure(judge, log, trials, concurrency=1)
    assert (outcome.answered, outcome.failed) == (10, {"timeout": 20})
    assert outcome.paused is not None
    assert "the last 20 trials failed" in outcome.paused.reason
    assert str(TIMEOUT) in outcome.paused.reason
    assert measure(FakeJudge(), log, trials).answered == 90


def test_nothing_can_be_measured_where_the_first_twenty_trials_all_fail(log: TrialLog) -> None:
    judge = FakeJudge(lambda request, attempt: EMPTY if request.key.startswith("0") else TIMEOUT)
    with pytest.raises(
        PermanentJudgeError, match=r"first 20 trials all failed.* of them with timeout.*within 120 s"
    ) as end:
        measure(judge, log, plan(200), concurrency=1)
    assert end.value.kind == "timeout"
    assert len(judge.attempts) == 20


def test_nothing_can_be_measured_where_all_of_a_few_trials_fail(log: TrialLog) -> None:
    with pytest.raises(PermanentJudgeError, match="first 3 trials all failed"):
        measure(FakeJudge(lambda request, attempt: TIMEOUT), log, plan(3))


def test_a_failure_that_no_retry_mends_stops_the_run_and_keeps_calls_in_flight(log: TrialLog) -> None:
    planned = plan(50)

    class SlowButSure(FakeJudge):
        async def ask(self, request: Request) -> Reply:
            if request.key == keys(planned)[3]:
                raise WRONG_KEY
            await asyncio.sleep(0.02)
            return await super().ask(request)

    with pytest.raises(PermanentJudgeError, match="OPENAI_API_KEY"):
        measure(SlowButSure(), log, planned, concurrency=4)
    assert log.answered() == set(keys(planned)[:3])
    assert log.failures() == {"auth": 1}


def test_a_call_in_flight_that_fails_when_the_run_stops_is_not_retried(log: TrialLog) -> None:
    class Failing(FakeJudge):
        async def ask(self, request: Request) -> Reply:
            if request.key == keys(plan(2))[0]:
                await asyncio.sleep(0.01)
                raise WRONG_KEY
            await asyncio.sleep(0.03)
            raise TIMEOUT

    clock = FakeClock()
    with pytest.raises(PermanentJudgeError, match="OPENAI_API_KEY"):
        measure(Failing(), log, plan(2), clock=clock)
    assert clock.sleeps == []
    assert log.failures() == {"auth": 1, "timeout": 1}


def test_calls_in_flight_are_not_waited_for_without_end(log: TrialLog) -> None:
    class Stuck(FakeJudge):
        async def ask(self, request: Request) -> Reply:
            if request.key == keys(plan(2))[0]:
                await asyncio.Event().wait()
            raise WRONG_KEY

    with pytest.raises(PermanentJudgeError, match="OPENAI_API_KEY"):
        measure(Stuck(), log, plan(2), policy=RetryPolicy(drain_s=0.01))


def test_a_fault_of_the_judges_own_code_comes_through(log: TrialLog) -> None:
    judge = FakeJudge(lambda request, attempt: ZeroDivisionError() if request.key == keys(plan(9))[5] else OK)
    with pytest.raises(ZeroDivisionError):
        measure(judge, log, plan(9), concurrency=2)
    assert len(log.answered()) >= 5


def test_a_log_that_fails_stops_the_run_at_once(tmp_path: Path) -> None:
    planned = plan(10)

    class Endless(FakeJudge):
        async def ask(self, request: Request) -> Reply:
            if request.key != keys(planned)[0]:
                await asyncio.Event().wait()
            return replace(OK, prompt_tokens=2**70)

    log = TrialLog.open(tmp_path / "log", instrument=INSTRUMENT)
    with pytest.raises(TrialLogError, match="too large"):
        measure(Endless(), log, planned, policy=RetryPolicy(drain_s=3600))
    with pytest.raises(TrialLogError):
        log.close()


# The model behind the judge


def test_a_change_of_model_midway_stops_the_run(log: TrialLog) -> None:
    planned = plan(30)
    judge = FakeJudge(lambda request, attempt: OK if len(judge.asked) <= 10 else replace(OK, model="swapped\x1b"))
    with pytest.raises(
        PermanentJudgeError, match=re.escape("model 'swapped\\x1b', and the readings so far are of 'fake-")
    ):
        measure(judge, log, planned, concurrency=1)
    assert len(log.answered()) == 10
    assert log.failures() == {"model_changed": 1}
    with pytest.raises(PermanentJudgeError, match="--fresh"):
        measure(FakeJudge(lambda request, attempt: replace(OK, model="another")), log, planned)
    assert {reading.reply.model for reading in log.readings()} == {"fake-judge"}


def test_an_unnamed_model_and_a_changed_fingerprint_are_no_reason_to_stop(log: TrialLog) -> None:
    replies = [replace(OK, model=""), replace(OK, fingerprint="fp-1"), replace(OK, fingerprint="fp-2")]
    judge = FakeJudge(lambda request, attempt: replies[len(judge.asked) % 3])
    assert measure(judge, log, plan(9)).answered == 9
    assert log.fingerprints() == {"": 3, "fp-1": 3, "fp-2": 3}
    assert log.reported_model == "fake-judge"


# Progress


def test_progress_ends_with_all_trials_accounted_for(log: TrialLog) -> None:
    planned, seen = plan(12), list[Progress]()
    stuck = keys(planned)[3]
    judge = FakeJudge(lambda request, attempt: TIMEOUT if request.key == stuck else OK)
    measure(judge, log, planned, progress=seen.append)
    last = seen[-1]
    assert (last.done, last.failed, last.total, last.in_flight) == (11, 1, 12, 0)
    assert last.failures == {"timeout": 5}
    assert [report.done for report in seen] == sorted(report.done for report in seen)


def test_a_heartbeat_shows_what_is_in_flight_while_nothing_finishes(log: TrialLog) -> None:
    released, beats = asyncio.Event(), list[Progress]()

    class Hanging(FakeJudge):
        async def ask(self, request: Request) -> Reply:
            await released.wait()
            return OK

    def progress(report: Progress) -> None:
        beats.append(report)
        if len(beats) == 3:
            released.set()

    asyncio.run(run(plan(6), Hanging(), log, concurrency=2, progress=progress, heartbeat_s=0.01))
    assert [(beat.done, beat.in_flight) for beat in beats[:3]] == [(0, 2)] * 3
    assert 0 < beats[0].oldest_s < beats[1].oldest_s < beats[2].oldest_s
    assert beats[-1].done == 6


def test_an_error_of_the_progress_line_is_not_swallowed(log: TrialLog) -> None:
    def progress(report: Progress) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        measure(FakeJudge(latency_s=0.01), log, plan(30), progress=progress)


def test_no_more_calls_than_asked_for_are_in_flight(log: TrialLog) -> None:
    in_flight: list[int] = []

    class Counting(FakeJudge):
        now = 0

        async def ask(self, request: Request) -> Reply:
            self.now += 1
            in_flight.append(self.now)
            await asyncio.sleep(0)
            self.now -= 1
            return OK

    measure(Counting(), log, plan(40), concurrency=5)
    assert max(in_flight) == 5


def test_no_concurrency_is_no_run(log: TrialLog) -> None:
    with pytest.raises(UsageError, match="expected at least 1"):
        measure(FakeJudge(), log, plan(2), concurrency=0)
