"""Numbers as judges write them, held to a scale."""

from __future__ import annotations

import math

from datasheet.prompts.parsing.reasons import NoReadingError
from datasheet.prompts.parsing.schema import Schema

# Not a part of a longer number, a date, a version or a percentage; with what it is out of, where that is said.
FRACTION = (
    r"(?<![\d.,/-])([-+]?\d{1,40}(?:\.\d{1,40})?(?:e[-+]?\d{1,4})?)(?![\d%]|[.,-]\d)"
    r"(?: ?(?:/|out of) ?(\d{1,9}(?:\.\d{1,9})?)(?![\d/]))?(?! ?/)"
)


def on_scale(written: str, schema: Schema, denominator: str | None = None) -> float:
    """The number that is written, if it lies on the scale.

    Raises
    ------
    NoReadingError
        It lies outside, or is out of another maximum.
    """
    value = float(written)
    if not math.isfinite(value):
        raise NoReadingError("out_of_range")
    if schema.scale is None:
        return value
    low, high = schema.scale
    if denominator is not None and float(denominator) != high:
        raise NoReadingError("wrong_denominator")
    if not low <= value <= high:
        raise NoReadingError("out_of_range")
    return value
