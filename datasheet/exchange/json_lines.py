"""Files of one JSON object a line, which anyone may have written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from datasheet.errors import VerdictLogError
from datasheet.strict_json import decode

_MAX_BYTES = 20_000_000_000  # of a file, or of what comes through a pipe without end
_MAX_LINE_BYTES = 64_000_000  # a judge's answer of 8 MB fits, whatever its characters turn into as JSON


def json_lines(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of each line of a JSONL file that is not blank.

    Raises
    ------
    VerdictLogError
        The file can't be read or is too large, or a line is not one JSON object; the message names it.
    """
    for number, row in tried_lines(path, most_bytes=_MAX_BYTES):
        if isinstance(row, VerdictLogError):
            raise row
        yield number, row


def tried_lines(path: str | Path, *, most_bytes: int) -> Iterator[tuple[int, dict[str, Any] | VerdictLogError]]:
    """As :func:`json_lines`, with the error of a line that is not one JSON object in the place of the object.

    Raises
    ------
    VerdictLogError
        The file can't be read, or is larger than ``most_bytes``.
    """
    name, left, number, whole = Path(path).name, most_bytes, 0, True
    try:
        with open(path, "rb") as stream:
            while line := stream.readline(_MAX_LINE_BYTES + 1):
                number += whole
                left -= len(line)
                where = f"{name} line {number}"
                if left < 0:
                    raise VerdictLogError(
                        f"{where}: expected at most {most_bytes:,} bytes in all, found more; split it"
                    )
                goes_on, whole = not whole, line.endswith(b"\n")
                if goes_on:  # the rest of a line that was too long
                    continue
                if len(line) > _MAX_LINE_BYTES:
                    many = f"more than {_MAX_LINE_BYTES:,} bytes without a line break"
                    yield number, VerdictLogError(f"{where}: expected one JSON object a line, found {many}")
                    continue
                text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if text.strip():
                    yield number, _json_object(text, where)
    except OSError as problem:
        raise VerdictLogError(f"{path} can't be read: {problem.strerror}") from None


def _json_object(line: bytes, where: str) -> dict[str, Any] | VerdictLogError:
    try:
        row = decode(line.decode("utf-8").strip())
    except UnicodeDecodeError:
        return VerdictLogError(f"{where}: not UTF-8 text")
    except ValueError as problem:
        hint = " (single quotes? JSON wants double ones)" if line.lstrip()[1:2] == b"'" else ""
        return VerdictLogError(f"{where}: not JSON{hint}: {problem}")
    if not isinstance(row, dict):
        return VerdictLogError(f"{where}: expected a JSON object, found {type(row).__name__}")
    return row
