"""Judges that can be asked through their provider's batch files: the same calls, made elsewhere and read here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, runtime_checkable

from datasheet.errors import TransientJudgeError
from datasheet.judge.anthropic import read_message
from datasheet.judge.api_error import ApiError, read_error
from datasheet.judge.base import Judge
from datasheet.judge.completion import EmptyReplyError, OddBodyError, read_completion
from datasheet.judge.scrubbing import Scrubber
from datasheet.judge.urls import visible
from datasheet.judge.wire import scrubbed
from datasheet.records import Reply, Request

READERS: Mapping[str, Callable[[object], Reply]] = {"openai": read_completion, "anthropic": read_message}
"""For each adapter that has batch files, what reads the document of a call that succeeded."""

_FAILURES = {"quota": "quota", "rate_limit": "rate_limit", "overloaded": "server_error", "roles": "roles"}
_REFUSALS = {
    "invalid_request_error",
    "authentication_error",
    "permission_error",
    "not_found_error",
    "request_too_large",
}


@runtime_checkable
class BatchJudge(Judge, Protocol):
    """A judge whose calls can be written down."""

    def body(self, request: Request) -> dict[str, object]:
        """What is sent for a request, as JSON values."""
        ...


def read_batched(adapter: str, document: object, status: int | None, *, scrub: Scrubber) -> Reply:
    """The reply in an answer of a batch file: what a live call would have made of it, but for its latency.

    Parameters
    ----------
    status
        The HTTP status of the call; None where the file tells none.

    Raises
    ------
    TransientJudgeError
        There is none: the call failed, or the model said nothing. The trial is to be asked again.
    """
    error = read_error(document)
    if error is None and (status is None or 200 <= status < 300):
        try:
            return scrubbed(READERS[adapter](document), scrub)
        except (EmptyReplyError, OddBodyError) as problem:
            kind = "empty" if isinstance(problem, EmptyReplyError) else "bad_body"
            raise TransientJudgeError(visible(str(problem)), kind=kind, status=status) from None
    error = error or ApiError(message="no reason given")
    datum = error.datum(status)
    if datum:
        return Reply(text="", finish_reason=datum)
    refused = error.codes & _REFUSALS if status is None else 400 <= status < 500 and status not in (408, 409, 425, 429)
    kind = _FAILURES.get(error.meaning, "refused" if refused else "server_error")
    raise TransientJudgeError(visible(scrub(error.message)), kind=kind, status=status)
