"""A judge on the workers of a Dask cluster, for the runner a judge like any other.

Each worker builds the judge for itself, from its settings and the environment it finds: no key goes over the wire.
Calls go to the worker with the fewest in flight. All else stays where it was: the runner holds back what is too much,
waits, retries and stops, and one process writes the log. A worker that is lost fails its calls, which the runner asks
again.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from datasheet import __version__
from datasheet.errors import JudgeError, PermanentJudgeError, TransientJudgeError
from datasheet.judge.base import Judge
from datasheet.judge.urls import visible
from datasheet.records import Reply, Request

CONNECT_S, WORKER_WAIT_S = 15.0, 60.0
"""How long the scheduler may take to answer, and how long a run waits for a worker to come."""

_LOOK_ROUND_S = 1.0


class OnWorker:
    """The judge in a worker's process: what the cluster calls an actor, its methods run by the worker's event loop."""

    def __init__(self, make: Callable[[], Judge]) -> None:
        self._judge = make()

    async def open(self) -> str:
        """Make the judge ready; the version of this package here."""
        await self._judge.open()
        return __version__

    async def ask(self, request: Request) -> Reply:
        """One attempt at one call."""
        return await self._judge.ask(request)

    async def close(self) -> None:
        """Give back connections."""
        await self._judge.close()


@dataclass(slots=True, kw_only=True)
class _Hand:
    """One worker's judge, the calls that it has, and what is done where the worker is lost."""

    address: str
    actor: Any
    in_flight: int = 0
    lost: asyncio.Event = field(default_factory=asyncio.Event)


class ClusterJudge:
    """Asks a judge on every worker of a cluster.

    Parameters
    ----------
    judge
        The same judge here: its facts make the instrument's identity, and it is never opened.
    make
        Builds it on a worker; goes there pickled.
    scheduler
        Address of a running cluster (``tcp://host:8786``); None starts one on this machine, a worker for each core.
    """

    def __init__(self, judge: Judge, make: Callable[[], Judge], *, scheduler: str | None = None) -> None:
        self.adapter = judge.adapter
        self.model = judge.model
        self.decoding: Mapping[str, object] = judge.decoding
        self.simulated = judge.simulated
        self.provenance: Mapping[str, str] = judge.provenance
        self._make = make
        self._scheduler = scheduler
        self._cluster: Any = None
        self._client: Any = None
        self._hands: dict[str, _Hand] = {}
        self._watch: asyncio.Task[None] | None = None
        self._fault: JudgeError | None = None
        self._came = asyncio.Event()

    async def open(self) -> None:
        """Reach the scheduler, and build the judge on the workers that are there.

        Raises
        ------
        PermanentJudgeError
            Dask is not installed, no scheduler or worker can be reached, or a worker can't open the judge.
        """
        await self.close()
        self._fault, self._came = None, asyncio.Event()
        await self._connect()
        await self._look_round()
        self._watch = asyncio.create_task(self._keep_looking())
        await self._hand()

    async def ask(self, request: Request) -> Reply:
        """One attempt at one call, on the worker that has the fewest.

        Raises
        ------
        TransientJudgeError
            Another attempt may succeed; ``kind`` is ``worker_lost`` where the worker went away.
        PermanentJudgeError
            No further call can succeed, or no worker is left.
        """
        hand = await self._hand()
        hand.in_flight += 1
        call = asyncio.ensure_future(self._answer(hand, request))
        lost = asyncio.ensure_future(hand.lost.wait())
        try:
            await asyncio.wait({call, lost}, return_when=asyncio.FIRST_COMPLETED)
            if call.done():
                return call.result()
            raise TransientJudgeError("the worker that held this call was lost", kind="worker_lost")
        finally:
            hand.in_flight -= 1
            call.cancel()
            lost.cancel()

    async def close(self) -> None:
        """Close the judge on every worker, and the cluster if it was started here."""
        if self._watch is not None:
            self._watch.cancel()
            with suppress(asyncio.CancelledError):
                await self._watch
            self._watch = None
        for hand in self._hands.values():
            with suppress(Exception):  # a worker that is gone needs no closing
                async with asyncio.timeout(_LOOK_ROUND_S):
                    await hand.actor.close()
        self._hands = {}
        for opened in (self._client, self._cluster):
            if opened is not None:
                await opened.close()
        self._client = self._cluster = None

    async def _connect(self) -> None:
        try:
            dask = importlib.import_module("distributed")
        except ImportError:
            raise PermanentJudgeError(
                "--engine dask needs Dask, which is not installed: pip install 'judge-datasheet[dask]'", kind="import"
            ) from None
        try:
            if self._scheduler is None:
                self._cluster = await dask.LocalCluster(
                    processes=True,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                    asynchronous=True,
                )
            # Workers elsewhere may be out of reach, and the scheduler then hands calls on.
            self._client = await dask.Client(
                self._cluster or self._scheduler,
                asynchronous=True,
                timeout=CONNECT_S,
                direct_to_workers=self._cluster is not None,
            )
        except (OSError, ValueError, TimeoutError) as problem:
            raise PermanentJudgeError(
                f"no Dask scheduler answers at {visible(str(self._scheduler))} ({visible(str(problem))}): expected the "
                "address that `dask scheduler` prints, as tcp://HOST:8786",
                kind="connection",
            ) from None

    async def _hand(self) -> _Hand:
        """The worker with the fewest calls; waits for one where none is there."""
        try:
            async with asyncio.timeout(WORKER_WAIT_S):
                while not self._hands:
                    if self._fault is not None:
                        raise self._fault
                    self._came.clear()
                    await self._came.wait()
        except TimeoutError:
            raise PermanentJudgeError(
                f"the Dask cluster has had no worker for {WORKER_WAIT_S:g} s: start workers, and the same command "
                "goes on",
                kind="connection",
            ) from None
        if self._fault is not None:
            raise self._fault
        return min(self._hands.values(), key=lambda hand: hand.in_flight)

    async def _look_round(self) -> None:
        """Take on workers that have come, and give up those that are gone."""
        workers = await self._client.scheduler.identity(n_workers=-1)
        for address in self._hands.keys() - workers["workers"].keys():
            self._give_up(self._hands[address])
        await asyncio.gather(*map(self._take_on, workers["workers"].keys() - self._hands.keys()))

    async def _keep_looking(self) -> None:
        try:
            while True:
                await asyncio.sleep(_LOOK_ROUND_S)
                await self._look_round()
        except JudgeError as problem:
            self._fault = problem
        except OSError as problem:
            self._fault = PermanentJudgeError(
                f"the Dask scheduler is gone ({visible(str(problem))}): start it, and the same command goes on",
                kind="connection",
            )
        for hand in list(self._hands.values()):
            self._give_up(hand)
        self._came.set()

    def _give_up(self, hand: _Hand) -> None:
        hand.lost.set()
        if self._hands.get(hand.address) is hand:
            del self._hands[hand.address]

    async def _take_on(self, address: str) -> None:
        """Build and open the judge on a worker.

        Raises
        ------
        PermanentJudgeError
            It can't be opened there.
        """
        try:
            actor = await self._client.submit(
                OnWorker, self._make, actor=True, workers=[address], allow_other_workers=False, pure=False
            )
            version = await actor.open()
        except JudgeError as problem:
            raise PermanentJudgeError(f"worker {visible(address)}: {problem}", kind=problem.kind) from None
        except Exception as problem:  # whatever a worker without this package, or on its way down, makes of it
            if address not in (await self._client.scheduler.identity(n_workers=-1))["workers"]:
                return
            raise PermanentJudgeError(
                f"worker {visible(address)} can't build the judge ({visible(f'{type(problem).__name__}: {problem}')}): "
                "it needs the same packages as this machine",
                kind="worker",
            ) from None
        if version != __version__:
            raise PermanentJudgeError(
                f"worker {visible(address)} has judge-datasheet {visible(version)}, and this is {__version__}: install "
                "the same version on every worker",
                kind="worker",
            )
        self._hands[address] = _Hand(address=address, actor=actor)
        self._came.set()

    async def _answer(self, hand: _Hand, request: Request) -> Reply:
        try:
            reply = await hand.actor.ask(request)
        except JudgeError:
            raise
        except Exception as problem:  # of a connection that broke, whatever the cluster's transport calls it
            self._give_up(hand)
            raise TransientJudgeError(
                f"the worker that held this call was lost ({visible(f'{type(problem).__name__}: {problem}')})",
                kind="worker_lost",
            ) from None
        assert isinstance(reply, Reply)
        return reply
