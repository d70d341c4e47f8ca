"""Reads a label: case, quotes, brackets and a noun before it make no difference."""

from __future__ import annotations

import re

from datasheet.prompts.parsing.schema import Schema

NOUNS = r"(?:ai )?(?:assistant|answer|output|response|model|option|candidate|choice|reply)s?"
_NOUN_BEFORE = re.compile(rf"^(?:the )?{NOUNS}\s*", re.IGNORECASE)
_WRAPPING = " \n\\\"'“”_[](){}<>|.,!;:"
LONGEST_LABEL = 80  # characters, with what wraps it
_TIES = ("tie", "draw", "a tie")


def match_label(written: str, schema: Schema) -> str | None:
    """The offered label that a short text says, or None.

    Case and spaces count only where two labels differ by nothing else. The word "tie" is understood wherever a tie
    is offered.
    """
    if len(written) > LONGEST_LABEL:
        return None
    bare = written.strip(_WRAPPING)
    for candidate in (bare, _NOUN_BEFORE.sub("", bare).strip(_WRAPPING)):
        if candidate in schema.offered:
            return candidate
        alike = [label for label in schema.offered if _folded(label) == _folded(candidate)]
        if len(alike) == 1:
            return alike[0]
    if not schema.names and bare.casefold() in _TIES:
        return next((label for label, outcome in schema.labels.items() if outcome == "tie"), None)
    return None


def _folded(label: str) -> str:
    return "".join(label.casefold().split())


def says_unoffered_label(written: str) -> bool:
    """A short text is a label of a usual kind (a letter, a word for a tie), so that it is a verdict if not offered."""
    bare = _NOUN_BEFORE.sub("", written[:LONGEST_LABEL].strip(_WRAPPING)).strip(_WRAPPING).casefold()
    return bare in _TIES or (len(bare) == 1 and bare in "abcde")
