"""A judge that gives the replies of an earlier run again, for the same presentations."""

from __future__ import annotations

from collections.abc import Mapping

from datasheet.errors import PermanentJudgeError
from datasheet.records import Reply, Request


class ReplayJudge:
    """Replays logged replies by trial key.

    It takes over the identity of the judge that wrote them (``adapter``, ``model``, ``decoding``): it is the same
    instrument, read again.

    Parameters
    ----------
    replies
        Reply by trial key.
    source
        Name of the log, for messages.
    dates
        When the replies were given, sorted: a sheet tells these, not when they were replayed.
    """

    def __init__(
        self,
        replies: Mapping[str, Reply],
        *,
        adapter: str,
        model: str,
        decoding: Mapping[str, object],
        simulated: bool,
        source: str,
        dates: tuple[str, ...] = (),
    ) -> None:
        self._replies = replies
        self._source = source
        self._dates = dates
        self.adapter = adapter
        self.model = model
        self.decoding = decoding
        self.simulated = simulated

    @property
    def provenance(self) -> Mapping[str, str]:
        """Where the replies come from, and when they were given."""
        dates = {"first_trial": self._dates[0], "last_trial": self._dates[-1]} if self._dates else {}
        return {"replayed_from": self._source, **dates}

    async def open(self) -> None:
        """Nothing to make ready."""

    async def ask(self, request: Request) -> Reply:
        """The logged reply.

        Raises
        ------
        PermanentJudgeError
            The log has none for this presentation.
        """
        reply = self._replies.get(request.key)
        if reply is None:
            raise PermanentJudgeError(
                f"{self._source} has no reply for a presentation of this plan: replay it with the prompt, bank, "
                "design, seed and repeats that it was made with",
                kind="not_in_log",
            )
        return reply

    async def close(self) -> None:
        """Nothing to give back."""
