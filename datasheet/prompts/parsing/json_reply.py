"""Reads the verdict of a reply in JSON: one object, with whatever stands around it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from datasheet.prompts.parsing.labels import match_label
from datasheet.prompts.parsing.reasons import NoReadingError
from datasheet.prompts.parsing.schema import Schema

_OPENING = re.compile(r"\{\s{0,200}[\"}]")
_ATTEMPTS = 100  # opening braces that are tried, half of them from the end
_WORK = 300_000  # characters that all attempts together may read
_DIGITS = 40
_VALUE = r"(?:\"([^\"\n]{1,80})\"|'([^'\n]{1,80})'|(\w[\w ]{0,79})(?=[,}\n.]|$))"

Members = list[tuple[str, Any]]


class _Object(list[tuple[str, Any]]):
    """The members of a JSON object in order, duplicates kept."""


def _number(digits: str) -> float:
    return float(digits[:_DIGITS]) if len(digits) <= _DIGITS else float("inf")


_DECODER = json.JSONDecoder(object_pairs_hook=_Object, parse_int=_number, strict=False)


def as_members(value: Any) -> Members | None:
    """The members of a value that is a JSON object, else None."""
    return value if isinstance(value, _Object) else None


def objects(text: str) -> Iterator[Members]:
    """The JSON objects of a text, outermost ones only, in order."""
    starts = [match.start() for match in _OPENING.finditer(text)]
    if len(starts) > _ATTEMPTS:
        starts = starts[: _ATTEMPTS // 2] + starts[-_ATTEMPTS // 2 :]
    end = work = 0
    for start in starts:
        if start < end or work > _WORK:
            continue
        try:
            members, end = _DECODER.raw_decode(text, start)
            yield members
        except json.JSONDecodeError as error:
            work += error.pos - start
        except (RecursionError, ValueError):
            work += _WORK // 4


def read_json_label(text: str, schema: Schema) -> str:
    """The label under the verdict's key.

    Raises
    ------
    NoReadingError
        There is no such object, key or label, or there are several that differ.
    """
    if (label := match_label(text, schema)) is not None:
        return label
    found = member_values(text, schema.keys)
    if not found:
        return _broken_json_label(text, schema)
    labels = [_label(value, schema) for value in found]
    if len(set(labels)) > 1 and not schema.last:
        raise NoReadingError("conflicting")
    return labels[-1]


def member_values(text: str, keys: tuple[str, ...]) -> list[Any]:
    """The value under one of the keys, for each object that has one; [] where the text holds no JSON object.

    Raises
    ------
    NoReadingError
        No object has one of the keys, or an object gives different values.
    """
    values, seen = [], False
    for members in objects(text):
        seen = True
        values += value_under(members, keys)
    if seen and not values:
        raise NoReadingError("missing_key")
    return values


def value_under(members: Members, keys: tuple[str, ...]) -> list[Any]:
    """The value under one of the keys of an object, in a list; [] where it has none.

    Raises
    ------
    NoReadingError
        The object gives different values.
    """
    wanted = {key.casefold() for key in keys}
    values = [value for key, value in members if key.strip().casefold() in wanted]
    if not _all_equal(values):
        raise NoReadingError("conflicting_keys")
    return values[:1]


def _all_equal(values: list[Any]) -> bool:
    try:
        return all(value == values[0] for value in values[1:])
    except RecursionError:  # values that are nested too deeply to be compared are no verdicts
        return False


def _label(value: Any, schema: Schema) -> str:
    if value is None or value == "":
        raise NoReadingError("no_verdict")
    label = match_label(value, schema) if isinstance(value, str) else None
    if label is None:
        raise NoReadingError("not_allowed")
    return label


def _broken_json_label(text: str, schema: Schema) -> str:
    """The verdict of an object that is cut off or not quite JSON, where the member itself is whole."""
    keys = "|".join(map(re.escape, schema.keys))
    member = re.compile(rf"[\"']?\b(?:{keys})[\"']?\s{{0,20}}[:=]\s{{0,20}}{_VALUE}", re.IGNORECASE)
    written = [next(filter(None, groups)) for groups in member.findall(text)]
    labels = [label for each in written if (label := match_label(each, schema)) is not None]
    if not labels:
        raise NoReadingError("not_allowed" if written and "{" in text else "no_verdict")
    if len(set(labels)) > 1:
        raise NoReadingError("conflicting")
    return labels[-1]
