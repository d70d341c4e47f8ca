"""Untrusted text made visible: control, direction and zero-width characters spelt out, so that none of them acts."""

from __future__ import annotations

import re

MOST_CHARACTERS = 2000
"""Longer texts are cut, with a mark: a document and a terminal are for reading."""

_INVISIBLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and newline
    r"\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff"  # direction and zero-width marks, separators
    r"\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"  # annotations, tags, halves of a pair
)


def visible(text: str, *, most: int = MOST_CHARACTERS) -> str:
    """A text with its control, direction and zero-width characters spelt out as ``U+XXXX``, and cut at ``most``."""
    cut = len(text) > most
    shown = _INVISIBLE.sub(lambda match: f"U+{ord(match.group()):04X}", text[:most])
    return f"{shown}… [{len(text) - most:,} more characters]" if cut else shown
