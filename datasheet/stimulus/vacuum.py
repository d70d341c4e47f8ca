"""The vacuum probe: pairs of equal texts, in which there is nothing to prefer (the instrument's dark current)."""

from __future__ import annotations

from datasheet.records import Stimulus
from datasheet.stimulus.chain import Chain

VACUUM_KINDS = ("empty", "whitespace", "identical")
WHITESPACE = " \n \n "


def vacuum(chain: Chain, kind: str, *, level: int) -> Stimulus:
    """A pair of one kind: two empty texts, two of blanks, or twice the answer of a level."""
    text = {"empty": "", "whitespace": WHITESPACE, "identical": chain.answer(level)}[kind]
    return chain.stimulus("vacuum", kind, text, text)
