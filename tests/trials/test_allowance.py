"""A budget is never exceeded, not even by calls in flight, and a run that it ends can go on."""

from __future__ import annotations

import pytest
from trials.fake_judge import OK, FakeJudge, plan
from trials.measuring import EMPTY, TIMEOUT, WRONG_KEY, measure, rate_limit

from datasheet.errors import JudgeError, PermanentJudgeError
from datasheet.records import Reply, Request
from datasheet.trials.allowance import Allowance, CallTariff
from datasheet.trials.log import TrialLog

DEAREST = 10.0


class Prices:
    """A reply costs 3 of the 10 that it could cost, and a rate limit nothing; of anything else nobody knows."""

    unit = "USD"

    def most(self, request: Request) -> float:
        return DEAREST

    def of(self, reply: Reply) -> float | None:
        return 3.0 if reply.completion_tokens else None

    def of_failure(self, failure: JudgeError) -> float | None:
        return 0.0 if failure.kind == "rate_limit" else None


@pytest.mark.parametrize("concurrency", [1, 7, 64])
def test_so_many_calls_and_no_more(log: TrialLog, concurrency: int) -> None:
    judge, planned = FakeJudge(latency_s=0.001), plan(60)
    outcome = measure(judge, log, planned, concurrency=concurrency, allowance=Allowance(CallTariff(), 25))
    assert (len(judge.asked), outcome.calls, outcome.answered) == (25, 25, 25)
    assert outcome.paused is not None
    assert outcome.paused.resume_at is None
    rest = measure(judge, log, planned, concurrency=concurrency, allowance=Allowance(CallTariff(), 35))
    assert (rest.answered, rest.paused) == (35, None)
    assert log.answered() == {request.key for _, request in planned}


def test_retries_and_failures_are_calls_too(log: TrialLog) -> None:
    judge = FakeJudge(lambda request, attempt: OK if attempt == 3 else TIMEOUT)
    outcome = measure(judge, log, plan(20), concurrency=1, allowance=Allowance(CallTariff(), 10))
    assert (len(judge.asked), outcome.answered, outcome.retried) == (10, 3, 7 - 1)
    assert log.failures() == {"timeout": 7}


@pytest.mark.parametrize("concurrency", [1, 8])
def test_money_is_spent_to_the_last_call_that_could_fit(log: TrialLog, concurrency: int) -> None:
    """Of 40, calls in flight hold 10 each; as they turn out to cost 3, more fit: 3 · 10 + 10 ≤ 40 < 3 · 11 + 10."""
    allowance = Allowance(Prices(), 40.0)
    judge = FakeJudge(latency_s=0.001)
    outcome = measure(judge, log, plan(60), concurrency=concurrency, allowance=allowance)
    assert (len(judge.asked), allowance.spent) == (11, 33.0)
    assert outcome.paused is not None


def test_what_nobody_knows_the_cost_of_counts_as_the_most_it_can_cost(log: TrialLog) -> None:
    untold = Reply(text="[[A]]", finish_reason="stop", model="fake-judge")
    script = {1: rate_limit(1.0), 2: EMPTY, 3: TIMEOUT}
    allowance = Allowance(Prices(), 1000.0)
    judge = FakeJudge(lambda request, attempt: script.get(attempt, untold))
    measure(judge, log, plan(1), allowance=allowance)
    assert allowance.spent == 0 + 3 * DEAREST


def test_a_call_that_ends_the_run_is_settled(log: TrialLog) -> None:
    allowance = Allowance(Prices(), 1000.0)
    with pytest.raises(PermanentJudgeError):
        measure(FakeJudge(lambda request, attempt: WRONG_KEY), log, plan(4), concurrency=1, allowance=allowance)
    assert allowance.spent == DEAREST


def test_too_little_for_one_call_makes_none(log: TrialLog) -> None:
    judge = FakeJudge()
    outcome = measure(judge, log, plan(4), allowance=Allowance(Prices(), DEAREST - 0.01))
    assert (judge.asked, outcome.answered) == ([], 0)
    assert outcome.paused is not None
    assert "budget" in outcome.paused.reason


def test_a_long_wait_that_was_asked_for_outlasts_the_end_of_a_budget(log: TrialLog) -> None:
    judge = FakeJudge(lambda request, attempt: rate_limit(7200.0), latency_s=0.001)
    outcome = measure(judge, log, plan(4), concurrency=2, allowance=Allowance(CallTariff(), 1))
    assert outcome.paused is not None
    assert outcome.paused.resume_at is not None
