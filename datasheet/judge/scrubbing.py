"""Takes secrets out of texts, in whatever spelling a server echoed them."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Iterator

# A shorter key ("EMPTY", "none", "x") is a dummy for a server that asks for none; honest replies may hold such words.
_SECRET_CHARACTERS = 8
_SHOWN_INSTEAD = "[key]"


class Scrubber:
    """Knows some secrets, and how they may be spelled."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = [secret for secret in secrets if len(secret) >= _SECRET_CHARACTERS]
        self._patterns = (
            *(re.compile("".join(map(_spellings, secret)), re.IGNORECASE) for secret in known),
            *(re.compile("|".join(_in_base64(secret))) for secret in known),
        )

    def __call__(self, text: str) -> str:
        """The text without the secrets."""
        for pattern in self._patterns:
            text = pattern.sub(_SHOWN_INSTEAD, text)
        return text


def _spellings(character: str) -> str:
    """A pattern for a character as it is, percent-encoded, or escaped in JSON or HTML, each also twice over."""
    code, named = ord(character), re.escape(html.escape(character))
    plain = character if character.isalnum() else rf"\\{{0,7}}{re.escape(character)}"
    return rf"(?:{plain}|%(?:25){{0,2}}{code:02x}|\\{{1,8}}u{code:04x}|&#(?:0{{0,4}}{code}|x0{{0,4}}{code:x});|{named})"


def _in_base64(secret: str) -> Iterator[str]:
    """Patterns for a secret that stands anywhere in a longer text of which the base64 was made."""
    content = secret.encode()
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + content).decode()
        # The first and the last character may hold bits of the neighbours, too.
        own = encoded[(before * 8 + 5) // 6 : (before + len(content)) * 8 // 6]
        yield re.escape(own).replace(r"\+", "[+-]").replace("/", "[/_]")
