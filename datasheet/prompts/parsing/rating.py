"""Reads the rating of a single answer: [[7]], {"score": 7}, "Score: 7" or 7."""

from __future__ import annotations

import re
from typing import Any

from datasheet.prompts.parsing.json_reply import member_values
from datasheet.prompts.parsing.marks import DOUBLE_BRACKETS, places
from datasheet.prompts.parsing.number import FRACTION, on_scale
from datasheet.prompts.parsing.reasons import NoReadingError
from datasheet.prompts.parsing.schema import Schema
from datasheet.records import Verdict

_WHOLE = re.compile(FRACTION, re.IGNORECASE)
_FIELD = re.compile(
    rf"\b(?:score|rating|grade)(?: is| of)? ?[:=-]? ?[\"(\[]{{0,2}}{FRACTION}"
    r"(?= ?[\")\]]{0,2} ?(?:$|[.,;!(]|because\b|since\b|- ))",
    re.IGNORECASE | re.MULTILINE,
)
_EXAMPLE = re.compile(r"\b(?:example|format|e\.g|scale|from)\b", re.IGNORECASE)
_FINAL = re.compile(r"\b(?:final|overall)\b", re.IGNORECASE)

Rated = tuple[str, str | None]  # a number as written, and its denominator


def read_rating(cleaned: str, schema: Schema, cut_off: bool) -> Verdict:
    """The one rating that a reply gives, in the first of the usual forms that it uses.

    Raises
    ------
    NoReadingError
        No rating is given, it does not fit the scale, or ratings differ.
    """
    rated = _bracketed(cleaned) or _members(cleaned, schema) or _fields(cleaned) or _line(cleaned)
    if not rated:
        raise NoReadingError("no_verdict")
    if len({(float(number), denominator) for number, denominator in rated}) > 1:
        raise NoReadingError("conflicting")
    number, denominator = rated[-1]
    return Verdict(score=on_scale(number, schema, denominator))


def _example_before(text: str, end: int) -> bool:
    return _EXAMPLE.search(text[max(0, end - 80) : end].rpartition("\n")[2]) is not None


def _groups(match: re.Match[str] | None) -> list[Rated]:
    return [] if match is None else [(match[1], match[2])]


def _bracketed(cleaned: str) -> list[Rated]:
    return [
        rated
        for match in places(cleaned, DOUBLE_BRACKETS)
        if not _example_before(cleaned, match.start())
        for rated in _groups(_WHOLE.fullmatch(match[1].strip()))
    ]


def _members(cleaned: str, schema: Schema) -> list[Rated]:
    """Numbers in JSON objects; objects without the key don't speak where the text gives a rating otherwise."""
    try:
        values = member_values(cleaned, schema.keys)
    except NoReadingError as none:
        if none.reason == "missing_key" and _fields(cleaned):
            return []
        raise
    return [_member(value) for value in values]


def _member(value: Any) -> Rated:
    if isinstance(value, float):
        return (repr(value), None)
    if value is None or value == "":
        raise NoReadingError("no_verdict")
    rated = _groups(_WHOLE.fullmatch(value.strip())) if isinstance(value, str) else []
    if not rated:
        raise NoReadingError("not_allowed")
    return rated[0]


def _fields(cleaned: str) -> list[Rated]:
    """The final one of "Score: 7" fields where one is called so, else all of them."""
    found: list[Rated] = []
    for match in places(cleaned, _FIELD):
        if _example_before(cleaned, match.start()):
            continue
        if _FINAL.search(cleaned[max(0, match.start() - 20) : match.start()].rpartition("\n")[2]):
            found.clear()
        found += _groups(match)
    return found


def _line(cleaned: str) -> list[Rated]:
    """A number that is all of the first or the last line."""
    lines = {cleaned.partition("\n")[0], cleaned.rpartition("\n")[2]}
    return [rated for line in sorted(lines) for rated in _groups(_WHOLE.fullmatch(line[:80].strip(" .!")))]
