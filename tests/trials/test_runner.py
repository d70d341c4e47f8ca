"""A run as it shows itself: progress, calls in flight, and options that make no run."""

from __future__ import annotations

import asyncio

import pytest
from trials.fake_judge import OK, FakeJudge, plan
from trials.measuring import TIMEOUT, keys, measure

from datasheet.errors import UsageError
from datasheet.records import Reply, Request
from datasheet.trials.log import TrialLog
from datasheet.trials.runner import Progress, run


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
