"""Reads one of several named labels, written in JSON, in a field ("Label: related") or on a line of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from datasheet.prompts.parsing.json_reply import member_values
from datasheet.prompts.parsing.labels import match_label
from datasheet.prompts.parsing.reasons import NoReadingError
from datasheet.prompts.parsing.schema import Schema
from datasheet.records import Verdict

_FIELD_NAME = r"(?:label|verdict|classification|class|category|answer|decision|judge?ment|outcome|assessment|choice)"
_FIELD = re.compile(
    rf"^\W{{0,9}}(?:(?:the|my|final|overall) ){{0,2}}{_FIELD_NAME}(?: is ?| ?[:=-])([^\n]{{1,200}})", re.I | re.M
)
_PASSES = ("pass", "passed", "true", "yes")
_FAILS = ("fail", "failed", "false", "no")


def read_named_label(cleaned: str, schema: Schema, cut_off: bool) -> Verdict:
    """The label under the key, in the last field, or alone on the first or last line; explanations don't vote.

    Raises
    ------
    NoReadingError
        No offered label is given in such a place, or several that differ are.
    """
    values = member_values(cleaned, schema.keys)
    if values:
        return _agreed([_offered(value, schema) for value in values], schema)
    fields = [_leading_label(written, schema) for written in _FIELD.findall(cleaned)]
    if fields:
        return _agreed(fields, schema)
    lines = (cleaned.partition("\n")[0], cleaned.rpartition("\n")[2])
    labels = [label for line in dict.fromkeys(lines) if (label := match_label(line, schema)) is not None]
    if not labels and any(re.search(rf"\b{re.escape(label)}\b", cleaned, re.IGNORECASE) for label in schema.offered):
        raise NoReadingError("ambiguous")
    if len(set(labels)) > 1:
        raise NoReadingError("conflicting")
    return _agreed(labels, schema)


def read_binary(cleaned: str, schema: Schema, cut_off: bool) -> Verdict:
    """Pass or fail: a truth value or its word in JSON, else as a named label. The numbers 0 and 1 are not taken.

    Raises
    ------
    NoReadingError
        Neither is given, or both are.
    """
    values = member_values(cleaned, schema.keys)
    if not values:
        return read_named_label(cleaned, schema, cut_off)
    return _agreed([_pass_or_fail(value, schema) for value in values], schema)


def _agreed(labels: Sequence[str | None], schema: Schema) -> Verdict:
    """The one label that is given; where text may come before the verdict, the last one."""
    given = labels[-1] if labels else None
    if given is None:
        raise NoReadingError("not_allowed" if labels else "no_verdict")
    if len(set(labels)) > 1 and not schema.last:
        raise NoReadingError("conflicting")
    return Verdict(label=given)


def _offered(value: Any, schema: Schema) -> str | None:
    if value is None or value == "":
        raise NoReadingError("no_verdict")
    return match_label(value, schema) if isinstance(value, str) else None


def _pass_or_fail(value: Any, schema: Schema) -> str | None:
    if value is None:
        raise NoReadingError("no_verdict")
    word = str(value).strip().casefold() if isinstance(value, str | bool) else ""
    passes, fails = schema.names
    return passes if word in (*_PASSES, passes.casefold()) else fails if word in (*_FAILS, fails.casefold()) else None


def _leading_label(written: str, schema: Schema) -> str | None:
    """The longest label that a field starts with, unless another one is offered beside it."""
    for label in sorted(schema.offered, key=len, reverse=True):
        start = re.match(rf"[\s\"'(\[]*{re.escape(label)}(?!\w)(?!,? ?(?:/|\||or\b|and\b))", written, re.IGNORECASE)
        if start:
            return label
    return None
