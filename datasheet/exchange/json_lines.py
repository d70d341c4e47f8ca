"""Files of one JSON object a line, which anyone may have written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from datasheet.errors import VerdictLogError
from datasheet.strict_json import decode

_MAX_LINE_BYTES = 64_000_000  # a judge's answer of 8 MB fits, whatever its characters turn into as JSON


def json_lines(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of each line of a JSONL file that is not blank.

    Raises
    ------
    VerdictLogError
        The file can't be read, or a line is not one JSON object; the message names it.
    """
    for number, row in tried_lines(path):
        if isinstance(row, VerdictLogError):
            raise row
        yield number, row


def tried_lines(path: str | Path) -> Iterator[tuple[int, dict[str, Any] | VerdictLogError]]:
    """As :func:`json_lines`, with the error of a line that is not one JSON object in the place of the object.

    Raises
    ------
    VerdictLogError
        The file can't be read.
    """
    name = Path(path).name
    try:
        with open(path, "rb") as stream:
            for number, line in enumerate(iter(lambda: stream.readline(_MAX_LINE_BYTES + 1), b""), start=1):
                text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if len(line) > _MAX_LINE_BYTES:
                    yield number, VerdictLogError(f"{name} line {number}: longer than {_MAX_LINE_BYTES:,} bytes")
                    while line and not line.endswith(b"\n"):
                        line = stream.readline(_MAX_LINE_BYTES)
                elif text.strip():
                    yield number, _json_object(text, f"{name} line {number}")
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
