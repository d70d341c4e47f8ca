"""Takes secrets out of texts, in whatever spelling a server echoed them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from urllib.parse import quote

# A shorter key ("EMPTY", "none", "x") is a dummy for a server that asks for none; honest replies may hold such words.
_SECRET_CHARACTERS = 8
_SHOWN_INSTEAD = "[key]"


class Scrubber:
    """Knows some secrets, and how they may be spelled."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._patterns = tuple(
            re.compile("".join(map(_spellings, secret))) for secret in secrets if len(secret) >= _SECRET_CHARACTERS
        )

    def __call__(self, text: str) -> str:
        """The text without the secrets."""
        for pattern in self._patterns:
            text = pattern.sub(_SHOWN_INSTEAD, text)
        return text


def _spellings(character: str) -> str:
    """A pattern for a character as it is, percent-encoded, or escaped in JSON or HTML."""
    if character.isalnum() or character in "-_.":
        return re.escape(character)
    code, percent = ord(character), quote(character, safe="")
    spelled = {character, f"\\{character}", percent, percent.lower(), html.escape(character), f"&#{code};"}
    spelled |= {f"\\u{code:04x}", f"\\u{code:04X}"}
    return f"(?:{'|'.join(map(re.escape, sorted(spelled, key=len, reverse=True)))})"
