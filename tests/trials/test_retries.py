"""Failures that may pass: how often, and how long, a run is patient with them."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from datetime import timedelta

import pytest
from trials.fake_judge import OK, START, FakeClock, FakeJudge, plan
from trials.measuring import EMPTY, keys, measure, rate_limit

from datasheet.errors import TransientJudgeError
from datasheet.records import Reply, Request
from datasheet.trials.log import TrialLog
from datasheet.trials.retry_policy import RetryPolicy
from datasheet.trials.runner import Clock, RunOutcome


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
