"""Untrusted text made visible: control, direction and zero-width characters spelt out, so that none of them acts."""

from __future__ import annotations

import json
import re

MOST_CHARACTERS = 2000
"""Longer texts are cut, with a mark: a document and a terminal are for reading."""

_INVISIBLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and newline
    r"\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"  # direction and zero-width marks, joiners, separators
    r"\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\U0001d173-\U0001d17a"  # hyphens, fillers, beams
    r"\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"  # annotations, halves of a pair, tags
)


def visible(text: str, *, most: int = MOST_CHARACTERS) -> str:
    """A text with its control, direction and zero-width characters spelt out as ``U+XXXX``, and cut at ``most``."""
    cut = len(text) > most
    shown = _INVISIBLE.sub(lambda match: f"U+{ord(match.group()):04X}", text[:most])
    return f"{shown}… [{len(text) - most:,} more characters]" if cut else shown


def visible_record(text: str, *, most: int = MOST_CHARACTERS) -> str:
    """A visible text whose further lines are indented, so that none of them passes for a line of our own."""
    return visible(text, most=most).replace("\n", "\n    ").replace("\t", " ")


def visible_json(text: str) -> str:
    """The text of a JSON value with the same value, in which what acts or can't be seen is escaped."""
    return _INVISIBLE.sub(lambda match: json.dumps(match.group()).strip('"'), text)
