"""How much a run may spend, in calls or in money, and what it has spent: held before a call, settled after it."""

from __future__ import annotations

import asyncio
from typing import Protocol

from datasheet.errors import JudgeError
from datasheet.records import Reply, Request

_ROUNDING = 1e-9


class Tariff(Protocol):
    """What calls cost.

    Attributes
    ----------
    unit
        ``"calls"``, or a currency.
    """

    @property
    def unit(self) -> str: ...

    def most(self, request: Request) -> float:
        """What an attempt at a call can cost at most."""
        ...

    def of(self, reply: Reply) -> float | None:
        """What a reply has cost; None where nothing tells."""
        ...

    def of_failure(self, failure: JudgeError) -> float | None:
        """What an attempt without a reply has cost; None where nothing tells."""
        ...


class CallTariff:
    """Every attempt is a call, retries and failures too."""

    unit = "calls"

    def most(self, request: Request) -> float:
        """One call."""
        return 1.0

    def of(self, reply: Reply) -> float | None:
        """One call."""
        return 1.0

    def of_failure(self, failure: JudgeError) -> float | None:
        """One call."""
        return 1.0


class Allowance:
    """What a run may spend and has spent. An attempt whose cost nothing tells counts as the most it can cost.

    Attributes
    ----------
    spent
        On attempts that have ended.
    limit
        None where there is none.
    """

    def __init__(self, tariff: Tariff, limit: float | None = None) -> None:
        self.tariff = tariff
        self.limit = limit
        self.spent = 0.0
        self._held: list[float] = []
        self._settled = asyncio.Event()

    async def hold(self, request: Request) -> float | None:
        """Put aside what an attempt can cost at most, and return that; None where not so much is left.

        Attempts under way may cost less than they could: they are waited for.
        """
        most = self.tariff.most(request)
        while self.limit is not None and self.spent + sum(self._held) + most > self.limit * (1 + _ROUNDING):
            if not self._held:
                return None
            self._settled.clear()
            await self._settled.wait()
        self._held.append(most)
        return most

    def settle(self, most: float, cost: float | None) -> None:
        """Turn what was put aside for an attempt into what it has cost."""
        self._held.remove(most)
        self.spent += most if cost is None else cost
        self._settled.set()
