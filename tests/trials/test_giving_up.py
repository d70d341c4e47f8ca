"""Failures that do not pass: what ends a run, and what it keeps."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest
from trials.fake_judge import INSTRUMENT, OK, FakeClock, FakeJudge, plan
from trials.measuring import EMPTY, TIMEOUT, WRONG_KEY, keys, measure

from datasheet.errors import PermanentJudgeError, TrialLogError
from datasheet.records import Reply, Request
from datasheet.trials.log import TrialLog
from datasheet.trials.retry_policy import RetryPolicy
from datasheet.trials.runner import RunOutcome


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
