"""How p values are printed, in the analysis' own sentences and in every document alike."""

from __future__ import annotations

_LEAST_P = 0.0001


def p_value(p: float) -> str:
    """A p value with two significant digits; below 0.0001 it rests on a tail that no approximation reaches."""
    return f"{p:#.2g}" if p >= _LEAST_P else f"< {_LEAST_P:.4f}"


def p_phrase(p: float) -> str:
    """The same in a sentence: "p = 0.012", "p < 0.0001"."""
    text = p_value(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"
