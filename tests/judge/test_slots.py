"""Calls in flight: fewer where they time out, and more again where they are answered."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

from asking import judge_of
from loopback import LoopbackServer, verdict
from trials.fake_judge import INSTRUMENT, plan

from datasheet.judge.slots import Slots, Turn
from datasheet.trials.log import TrialLog
from datasheet.trials.retry_policy import RetryPolicy
from datasheet.trials.runner import RunOutcome, run


async def taken(slots: Slots, calls: int) -> list[Turn]:
    return [await slots.take() for _ in range(calls)]


def test_calls_that_time_out_together_count_once() -> None:
    async def burst() -> list[int]:
        slots, limits = Slots(16), []
        turns = await taken(slots, 16)
        for _ in range(10):
            slots.answered()
        for turn in turns[10:]:
            slots.timed_out(turn)
            limits.append(slots.limit)
        return limits

    assert asyncio.run(burst()) == [8] * 6


def test_no_more_are_sent_than_were_answered_in_the_time() -> None:
    async def burst(answers: int) -> int:
        slots = Slots(16)
        turns = await taken(slots, 16)
        for _ in range(answers):
            slots.answered()
        slots.timed_out(turns[-1])
        return slots.limit

    assert [asyncio.run(burst(answers)) for answers in (0, 1, 3, 8, 15)] == [1, 1, 3, 8, 8]


def test_slots_beyond_the_limit_leave_and_come_back_with_answers() -> None:
    async def in_flight() -> tuple[bool, list[int]]:
        slots = Slots(4)
        turns = await taken(slots, 4)
        slots.timed_out(turns[0])
        for _ in turns:
            slots.give_back()
        await slots.take()
        full = slots._free.locked()
        limits = []
        for _ in range(40):
            slots.answered()
            limits.append(slots.limit)
        return full, limits

    full, limits = asyncio.run(in_flight())
    assert full, "one slot was left, and it is taken"
    # One more after a round of answers, but several rounds before as many as timed out; never more than at first.
    assert [limits.index(limit) + 1 for limit in (2, 3, 4)] == [1, 3, 3 + 5 * 3]
    assert max(limits) == 4


def test_a_limit_of_one_stays_one() -> None:
    async def once() -> int:
        slots = Slots(1)
        (turn,) = await taken(slots, 1)
        slots.timed_out(turn)
        slots.give_back()
        await slots.take()
        return slots.limit

    assert asyncio.run(once()) == 1


def test_field_case_r07_a_server_with_one_slot_answers_every_trial(tmp_path: Path) -> None:
    """Sixteen at a time, of which four can be answered before the others time out."""
    trials = 40
    with LoopbackServer([verdict("[[A]]", delay_s=0.05)], serial=True) as server:
        judge = judge_of(server, timeout_s=0.2, connections=16)

        async def measured(log: TrialLog) -> RunOutcome:
            await judge.open()
            try:
                policy = RetryPolicy(max_attempts=10, first_wait_s=0.1)
                return await run(plan(trials), judge, log, concurrency=16, policy=policy, rng=random.Random(1))
            finally:
                await judge.close()

        with TrialLog.open(tmp_path / "trials.sqlite", instrument=INSTRUMENT) as log:
            outcome = asyncio.run(measured(log))
    assert (outcome.answered, outcome.failed) == (trials, {})
    assert outcome.calls < 3 * trials
