"""JSON from files that anyone may have written: finite numbers only, and no name twice in an object."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

_MOST_DIGITS = 300  # more are beyond any number of ours, and beyond a float


def decode(text: str) -> Any:
    """The value of a JSON text.

    Raises
    ------
    ValueError
        The text is not JSON, is nested too deep, holds a number that is not finite or of too many digits, or an object
        with a name given twice; the message says which.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:40]} is too large")
    return number


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits is too large")
    return int(digits)


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    named = dict(pairs)
    if len(named) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {twice[:80]!r} is given twice in one object")
    return named


# One decoder for all texts: json.loads would make one for each.
_DECODER = json.JSONDecoder(
    parse_constant=_no_constant, parse_float=_finite, parse_int=_whole, object_pairs_hook=_named_once
)
