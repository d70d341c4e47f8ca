"""The runner: asks the planned trials of one judge, with patience, and loses no reply that it has paid for.

A few worker coroutines pull from one iterator. What ends a run early is one of four things: a failure that no retry
mends, a wait too long to sit out (the run pauses), a log that can't be written, or the user. In each case the calls
in flight may still finish (not on Ctrl-C), what came is on disk, and the same command goes on from there.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from datasheet.errors import JudgeError, PermanentJudgeError, TransientJudgeError, TrialLogError, UsageError
from datasheet.judge.base import Judge
from datasheet.records import Reply, Request, Trial
from datasheet.trials.allowance import Allowance, CallTariff
from datasheet.trials.log import TrialLog
from datasheet.trials.pending import Planned, pending
from datasheet.trials.retry_policy import RetryPolicy


class Clock:
    """Time of day, elapsed time and waiting in one place, so that a test can let hours pass in no time."""

    def now(self) -> datetime:
        """The time of day, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds from some fixed moment."""
        return time.monotonic()

    async def sleep(self, wait_s: float) -> None:
        """Wait."""
        await asyncio.sleep(wait_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is.

    Attributes
    ----------
    done, failed, total
        Trials whose reading is on disk, trials left unanswered, and all that this run set out to ask.
    in_flight, oldest_s
        Calls that wait for their reply, and the age of the oldest in seconds.
    failures
        Failed attempts so far, by kind.
    spent, unit
        What the attempts that have ended cost, in calls or in a currency.
    """

    done: int
    failed: int
    total: int
    in_flight: int
    oldest_s: float
    elapsed_s: float
    failures: dict[str, int]
    spent: float = 0.0
    unit: str = "calls"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Why a run stopped before its end although nothing is wrong, and when to come back (None: at any time)."""

    reason: str
    resume_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """What a run did.

    Attributes
    ----------
    answered
        Trials that this run added to the log.
    failed
        Trials left unanswered after all attempts, by the kind of the last failure; the next run asks them again.
    retried, calls
        Attempts beyond a trial's first, and all attempts.
    """

    answered: int
    failed: dict[str, int]
    retried: int
    calls: int
    paused: Pause | None = None


_LONGEST_PAUSE_S = 366 * 86_400.0
_DEFAULT_POLICY = RetryPolicy()
_SYSTEM_CLOCK = Clock()


async def run(
    planned: Sequence[Planned],
    judge: Judge,
    log: TrialLog,
    *,
    concurrency: int = 8,
    allowance: Allowance | None = None,
    policy: RetryPolicy = _DEFAULT_POLICY,
    progress: Callable[[Progress], None] | None = None,
    clock: Clock = _SYSTEM_CLOCK,
    rng: random.Random | None = None,
    heartbeat_s: float = 5.0,
) -> RunOutcome:
    """Ask the judge every planned trial that the log has no reading of.

    Parameters
    ----------
    concurrency
        Calls in flight at the same time.
    allowance
        What the run may spend, and where it counts what it does; the run pauses before a call that could cost more than
        is left. None: there is no limit.
    progress
        Called when trials finish (those committed together in one call), and every ``heartbeat_s`` seconds in any case.
    rng
        Draws the jitter of waits, and nothing that is measured.

    Raises
    ------
    PermanentJudgeError
        No further call can succeed, every trial so far failed, or the server's model is not the one it was.
    TrialLogError
        The log can't be written.
    """
    if concurrency < 1:
        raise UsageError(f"concurrency: expected at least 1 call at a time, found {concurrency}")
    log.add_stimuli(trial.stimulus for trial, _ in planned)
    to_ask = pending(planned, log.answered())
    if not to_ask:
        return RunOutcome(answered=0, failed={}, retried=0, calls=0)
    resumed = len(to_ask) < len(planned)
    allowance = allowance or Allowance(CallTariff())
    session = _Session(to_ask, judge, log, allowance, policy, clock, rng or random.Random(), resumed=resumed)
    return await session.run(concurrency, progress, heartbeat_s)


class _Session:
    """One run's state, shared by its workers."""

    def __init__(
        self,
        to_ask: list[Planned],
        judge: Judge,
        log: TrialLog,
        allowance: Allowance,
        policy: RetryPolicy,
        clock: Clock,
        rng: random.Random,
        *,
        resumed: bool,
    ) -> None:
        self.total = len(to_ask)
        self.to_ask: Iterator[Planned] = iter(to_ask)
        self.judge = judge
        self.log = log
        self.allowance = allowance
        self.policy = policy
        self.clock = clock
        self.rng = rng
        # A few stubborn trials at the end of a resumed run are no reason to say that nothing can be measured.
        self.give_up_after = policy.give_up_after if resumed else min(policy.give_up_after, self.total)
        self.started = clock.monotonic()
        self.held_until = self.started
        self.replies = self.on_disk = self.calls = self.retried = self.left_in_a_row = 0
        self.failures: Counter[str] = Counter()
        self.unanswered: Counter[str] = Counter()
        self.last_of_kind: dict[str, TransientJudgeError] = {}
        self.calling: dict[object, float] = {}  # worker -> start of its call, the oldest first
        self.stop = asyncio.Event()
        self.news = asyncio.Event()
        self.log_failed = False
        self.error: PermanentJudgeError | None = None
        self.paused: Pause | None = None

    async def run(
        self, concurrency: int, progress: Callable[[Progress], None] | None, heartbeat_s: float
    ) -> RunOutcome:
        loop = asyncio.get_running_loop()
        self.log.watch(lambda readings, fault: loop.call_soon_threadsafe(self._committed, readings, fault))
        workers = [asyncio.create_task(self._work()) for _ in range(min(concurrency, self.total))]
        watching: list[asyncio.Task[Any]] = [
            asyncio.create_task(asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)),
            asyncio.create_task(self.stop.wait()),
        ]
        if progress is not None:
            watching.append(asyncio.create_task(self._report(progress, heartbeat_s)))
        try:
            await asyncio.wait(watching, return_when=asyncio.FIRST_COMPLETED)
            await self._drain(workers)
        finally:  # on Ctrl-C too: nothing that came is lost
            for task in (*workers, *watching):
                task.cancel()
            await asyncio.gather(*workers, *watching, return_exceptions=True)
            self.log.watch(None)
            self.log.flush()
        for task in (*workers, *watching):
            if not task.cancelled():
                task.result()
        if self.error is not None:
            raise self.error
        self.on_disk = self.replies
        if progress is not None:
            progress(self._progress())
        return RunOutcome(
            answered=self.replies,
            failed=dict(self.unanswered),
            retried=self.retried,
            calls=self.calls,
            paused=self.paused,
        )

    async def _drain(self, workers: list[asyncio.Task[None]]) -> None:
        """Let calls in flight finish, for they are paid for; who only waits, waits no longer."""
        self.stop.set()
        in_call = [worker for worker in workers if worker in self.calling]
        for worker in workers:
            if worker not in self.calling:
                worker.cancel()
        if in_call and not self.log_failed:
            await asyncio.wait(in_call, timeout=self.policy.drain_s)

    async def _work(self) -> None:
        worker = asyncio.current_task()
        while not self.stop.is_set() and (entry := next(self.to_ask, None)) is not None:
            await self._settle(worker, *entry)

    async def _settle(self, worker: object, trial: Trial, request: Request) -> None:
        """Ask until there is a reply, or no point in asking."""
        for attempt in count(1):
            await self._hold()
            if self.stop.is_set():
                return
            held = await self.allowance.hold(request)
            if held is None:
                self._pause_at(None, "what is left of the budget does not cover another call")
                return
            self.retried += attempt > 1
            try:
                reply = await self._call(worker, request, held)
            except PermanentJudgeError as failure:
                self._note(request, failure, attempt)
                self._end(failure)
                return
            except TransientJudgeError as failure:
                self._note(request, failure, attempt)
                if not await self._wait_to_retry(failure, attempt):
                    return
            else:
                self.log.record(trial, request, reply, attempts=attempt, at=self.clock.now())
                self.replies += 1
                self.left_in_a_row = 0
                return

    async def _call(self, worker: object, request: Request, held: float) -> Reply:
        self.calls += 1
        self.calling[worker] = self.clock.monotonic()
        cost = None
        try:
            reply = await self.judge.ask(request)
            cost = self.allowance.tariff.of(reply)
        except JudgeError as failure:
            cost = self.allowance.tariff.of_failure(failure)
            raise
        finally:
            del self.calling[worker]
            self.allowance.settle(held, cost)
        frozen = self.log.freeze_model(reply.model, reply.fingerprint)
        if reply.model and reply.model != frozen:
            raise PermanentJudgeError(
                f"the server now reports the model {reply.model!r}, and the readings so far are of {frozen!r}; a "
                f"datasheet is of one model. Serve {frozen!r} again, or measure the new one with another --out "
                "(or --fresh to start over)",
                kind="model_changed",
            )
        return reply

    async def _hold(self) -> None:
        """Sit out a rate limit, which is the whole judge's; come back one by one, not all at the same moment."""
        await asyncio.sleep(0)  # a judge that answers without waiting must not shut out Ctrl-C
        while (left_s := self.held_until - self.clock.monotonic()) > 0:
            await self.clock.sleep(left_s + self.rng.uniform(0.0, self.policy.first_wait_s))

    async def _wait_to_retry(self, failure: TransientJudgeError, attempt: int) -> bool:
        """Wait as long as a failure calls for; False where this trial is not asked again."""
        asked_wait_s = failure.retry_after_s or 0.0  # "0 seconds" says nothing of when a call would pass
        if asked_wait_s > self.policy.pause_over_s:
            self._pause(failure, asked_wait_s)
            return False
        if self.stop.is_set():
            return False
        wait_s = asked_wait_s or self.policy.wait_s(attempt, self.rng)
        for_all = failure.kind == "rate_limit" or asked_wait_s > 0
        if for_all:
            self.held_until = max(self.held_until, self.clock.monotonic() + wait_s)
        if attempt >= self.policy.attempts(failure.kind):
            self._leave(failure)
            return False
        if not for_all:
            await self.clock.sleep(wait_s)
        return True

    def _note(self, request: Request, failure: JudgeError, attempt: int) -> None:
        self.failures[failure.kind] += 1
        self.log.record_failure(request.key, failure, attempt=attempt, at=self.clock.now())

    def _leave(self, failure: TransientJudgeError) -> None:
        """Leave a trial unanswered and go on, unless no trial at all has succeeded, or none does any more."""
        self.unanswered[failure.kind] += 1
        self.left_in_a_row += 1
        self.last_of_kind[failure.kind] = failure
        self.news.set()
        failed = self.unanswered.total()
        if self.replies:
            if self.left_in_a_row >= self.policy.give_up_after:
                reason = f"the last {self.left_in_a_row} trials failed after every retry, the last with: {failure}"
                self._pause(TransientJudgeError(reason, kind=failure.kind), 0.0)
            return
        if failed < self.give_up_after:
            return
        ((kind, times),) = self.unanswered.most_common(1)
        last = self.last_of_kind[kind]
        self._end(
            PermanentJudgeError(
                f"nothing can be measured: the first {failed} trials all failed after every retry, {times} of them "
                f"with {kind}, the last of which said: {last}. Mend that, and the same command goes on",
                kind=kind,
                status=last.status,
            )
        )

    def _end(self, error: PermanentJudgeError) -> None:
        self.error = self.error or error
        self.stop.set()

    def _pause(self, failure: TransientJudgeError, wait_s: float) -> None:
        self._pause_at(self.clock.now() + timedelta(seconds=min(wait_s, _LONGEST_PAUSE_S)), str(failure))

    def _pause_at(self, resume_at: datetime | None, reason: str) -> None:
        """Pause the run; of several reasons the one that lasts longest counts."""
        until = None if self.paused is None else self.paused.resume_at
        if self.paused is None or (resume_at is not None and (until is None or resume_at > until)):
            self.paused = Pause(reason=reason, resume_at=resume_at)
        self.stop.set()

    def _committed(self, readings: int, fault: TrialLogError | None) -> None:
        self.on_disk += readings
        self.news.set()
        if fault is not None:
            self.log_failed = True
            self.stop.set()

    async def _report(self, progress: Callable[[Progress], None], heartbeat_s: float) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(heartbeat_s):
                    await self.news.wait()
            self.news.clear()
            progress(self._progress())

    def _progress(self) -> Progress:
        now = self.clock.monotonic()
        return Progress(
            done=self.on_disk,
            failed=self.unanswered.total(),
            total=self.total,
            in_flight=len(self.calling),
            oldest_s=now - next(iter(self.calling.values()), now),
            elapsed_s=now - self.started,
            failures=dict(self.failures),
            spent=self.allowance.spent,
            unit=self.allowance.tariff.unit,
        )
