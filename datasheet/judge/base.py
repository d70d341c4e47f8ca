"""The judge protocol: one method that asks, and a few facts that make the instrument's identity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from datasheet.records import Reply, Request


class Judge(Protocol):
    """An instrument that reads a request.

    Attributes
    ----------
    adapter
        Kind of adapter (``"openai"``, ``"sim"``, ``"replay"``).
    model
        Name of the model as it is asked for.
    decoding
        Settings that shape the reply (temperature, limits, dials of a simulated observer); part of the identity.
    simulated
        True where no model stands behind it.
    provenance
        What a reader needs to find the judge again and that is not its identity (the URL without secrets).
    """

    @property
    def adapter(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def decoding(self) -> Mapping[str, object]: ...

    @property
    def simulated(self) -> bool: ...

    @property
    def provenance(self) -> Mapping[str, str]: ...

    async def ask(self, request: Request) -> Reply:
        """One attempt at one call.

        Raises
        ------
        TransientJudgeError
            Another attempt may succeed.
        PermanentJudgeError
            No further call can succeed.
        """
        ...

    async def open(self) -> None:
        """Make ready, and find out before any stimulus is sent whether the judge can be asked at all.

        Raises
        ------
        PermanentJudgeError
            It can't, with one sentence that says what was tried and what to do.
        """
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...
