"""Batch files of the providers: one request a trial out, one answer a line back, in any order.

OpenAI's format is also that of vLLM's offline runner (``vllm run-batch``), and of many gateways. Its requests are lines
of JSON; those of Anthropic are the body of one call, ``{"requests": […]}``. All answers come as lines of JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasheet.errors import UsageError, VerdictLogError
from datasheet.exchange.json_lines import tried_lines
from datasheet.files import write_whole

_MOST_BYTES = 4_000_000_000  # 100,000 answers of 40 kB
_OPENAI_ENDS = {"batch_expired": "expired", "batch_cancelled": "canceled", "batch_canceled": "canceled"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchAnswer:
    """What a line says of one request.

    Attributes
    ----------
    where
        File and line, for messages.
    status
        HTTP status of the call, where the line tells it.
    document
        The answer, or an object with the error.
    ended
        ``"expired"`` or ``"canceled"`` where the call was not made.
    """

    where: str
    custom_id: str
    status: int | None = None
    document: object = None
    ended: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFormat:
    """One provider's format and its limits on a file of requests (its ids: 64 letters, digits, ``-`` and ``_``).

    Attributes
    ----------
    request
        The object that asks for a call, from its id and body.
    answer
        What a line says beside its id: the fields of a :class:`BatchAnswer`, or None where it is no answer.
    frame
        What stands before, between and after the requests of a file.
    """

    name: str
    most_requests: int
    most_bytes: int
    request: Callable[[str, Mapping[str, object]], dict[str, object]]
    answer: Callable[[Mapping[str, Any]], dict[str, Any] | None]
    frame: tuple[str, str, str]


def _openai_request(custom_id: str, body: Mapping[str, object]) -> dict[str, object]:
    return {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body}


def _openai_answer(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Of a call that was answered, whatever its status, or was not made; vLLM tells errors beside an empty body."""
    response, error = row.get("response"), row.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, str) and code in _OPENAI_ENDS:
        return {"ended": _OPENAI_ENDS[code]}
    if error:
        named = isinstance(error, dict) and ("error" in error or error.get("object") == "error")
        status = response.get("status_code") if isinstance(response, dict) else None
        return {"status": _status(status), "document": error if named else {"error": error}}
    if isinstance(response, dict):
        return {"status": _status(response.get("status_code")), "document": response.get("body")}
    return None


def _anthropic_request(custom_id: str, body: Mapping[str, object]) -> dict[str, object]:
    return {"custom_id": custom_id, "params": body}


def _anthropic_answer(row: Mapping[str, Any]) -> dict[str, Any] | None:
    found = row.get("result")
    told = found if isinstance(found, dict) else {}
    match told.get("type"):
        case "succeeded":
            return {"status": 200, "document": told.get("message")}
        case "errored":
            error = told.get("error")
            return {"document": error if isinstance(error, dict) and "error" in error else {"error": error or "none"}}
        case "expired" | "canceled" as ended:
            return {"ended": ended}
    return None


def _status(value: object) -> int | None:
    """The status where it is one; providers write 0 for a call that no server answered."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1000 else None


FORMATS: Mapping[str, BatchFormat] = {
    "openai": BatchFormat(
        name="OpenAI",
        most_requests=50_000,
        most_bytes=200_000_000,
        request=_openai_request,
        answer=_openai_answer,
        frame=("", "\n", "\n"),
    ),
    "anthropic": BatchFormat(
        name="Anthropic",
        most_requests=100_000,
        most_bytes=256_000_000,
        request=_anthropic_request,
        answer=_anthropic_answer,
        frame=('{"requests": [\n', ",\n", "\n]}\n"),
    ),
}
"""The format of each adapter that has one."""


def write_requests(
    target: Path, requests: Iterable[tuple[str, Mapping[str, object]]], form: BatchFormat, *, force: bool = False
) -> list[Path]:
    """Write requests, given as ids and bodies, to a file or, beyond the provider's limits, to several (``NAME-2``, …).

    Raises
    ------
    UsageError
        A file exists and ``force`` is not given, or can't be written.
    """
    files = list(_split([json.dumps(form.request(*request)) for request in requests], form))
    paths = [target, *(target.with_name(f"{target.stem}-{n}{target.suffix}") for n in range(2, len(files) + 1))]
    taken = [path for path in paths if path.exists() and not force]
    if taken:
        raise UsageError(f"{taken[0]} exists already: name another file, or give --force to replace it")
    before, between, after = form.frame
    for path, texts in zip(paths, files, strict=False):
        try:
            write_whole(path, (before, *_joined(texts, between), after))
        except OSError as problem:
            raise UsageError(f"{path} can't be written: {problem.strerror}") from None
    return paths[: len(files)]


def _joined(texts: Sequence[str], between: str) -> Iterator[str]:
    yield texts[0]
    for text in texts[1:]:
        yield between
        yield text


def _split(texts: Sequence[str], form: BatchFormat) -> Iterator[Sequence[str]]:
    """The requests of each file, as many as its limits let in; each is ASCII, so that characters are bytes."""
    before, between, after = map(len, form.frame)
    start, size = 0, before + after
    for end, text in enumerate(texts):
        size += len(text) + between
        if end > start and (end - start == form.most_requests or size > form.most_bytes):
            yield texts[start:end]
            start, size = end, before + after + len(text) + between
    if texts:
        yield texts[start:]


def read_answers(path: Path, form: BatchFormat) -> Iterator[BatchAnswer | str]:
    """What each line of a provider's output or error file says; of a line that says nothing, why.

    Raises
    ------
    VerdictLogError
        The file can't be read, or is larger than any batch file.
    """
    for number, row in tried_lines(path, most_bytes=_MOST_BYTES):
        if isinstance(row, VerdictLogError):
            yield str(row)
            continue
        where, custom_id, said = f"{path.name} line {number}", row.get("custom_id"), form.answer(row)
        if not isinstance(custom_id, str):
            yield f"{where}: no custom_id, which tells what a line answers"
        elif said is None:
            yield f"{where}: no answer in the format of {form.name}"
        else:
            yield BatchAnswer(where=where, custom_id=custom_id, **said)
