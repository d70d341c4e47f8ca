"""What moves a judge besides quality, gathered from the characteristics of a sheet.

Everything here is text, still as it came: each document escapes it in its own way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from datasheet.records import CHANNELS
from datasheet.sheet.content import has_number
from datasheet.sheet.formats import words
from datasheet.sheet.spectrum import Pull, Spectrum

Row = Mapping[str, Any]
Source = tuple[str, str, str, str]
"""The name of a pull, its group, and the keys of it in sd and in quality steps."""

_SOURCES: tuple[Source, ...] = (
    ("position", "position", "position", "position_in_steps"),
    ("length", "length", "length_slope", "length_in_steps"),
    ("filler (cost)", "length", "filler_slope", "filler_in_steps"),
    *((words(name), "channel", f"channel_slope@{name}", f"channel_in_steps@{name}") for name in CHANNELS),
)
_CHANNELS = [name for name, group, _, _ in _SOURCES if group == "channel"]
_NO_ROW = {"status": "not_measured", "reason": "no reading tells of it", "low": None, "estimate": None, "high": None}


def spectrum(sheet: Mapping[str, Any]) -> Spectrum | None:
    """The pulls in quality steps, or in sd where there are no steps to be had; None where no pull has a number."""
    by_key = {row["key"]: row for row in sheet["characteristics"]}
    in_steps = [_row(by_key, steps) for _, _, _, steps in _SOURCES]
    fallback = "" if any(map(has_number, in_steps)) else _reason(in_steps)
    rows = [_row(by_key, slope) for _, _, slope, _ in _SOURCES] if fallback else in_steps
    drawn = [(source, row) for source, row in zip(_SOURCES, rows, strict=True) if has_number(row)]
    if not drawn:
        return None
    return Spectrum(
        unit="sd" if fallback else "quality steps",
        confidence_level=drawn[0][1]["confidence_level"],
        pulls=tuple(_pull(source, row) for source, row in drawn),
        fallback=fallback,
        absences=_absences(rows),
    )


def _row(by_key: Mapping[str, Row], key: str) -> Row:
    """The row of a key; of a channel that has none, what the sheet says of channels altogether."""
    missing = by_key.get("channel_slope", _NO_ROW) if key.startswith("channel_") else _NO_ROW
    return by_key.get(key, missing)


def _reason(rows: Sequence[Row]) -> str:
    """Why no pull is known in quality steps."""
    reasons = [row["reason"] for row in rows if row["status"] == "undetermined"]
    return next(filter(None, reasons), "the sheet tells none in quality steps")


def _pull(source: Source, row: Row) -> Pull:
    name, group, _, _ = source
    return Pull(name=name, group=group, estimate=row["estimate"], low=row["low"], high=row["high"])


def _absences(rows: Sequence[Row]) -> tuple[tuple[str, str, str], ...]:
    """(status, names, reason) of what has no number, names of one reason together."""
    named: dict[tuple[str, str], list[str]] = {}
    for (name, _, _, _), row in zip(_SOURCES, rows, strict=True):
        if not has_number(row):
            named.setdefault((words(row["status"]), row["reason"]), []).append(name)
    return tuple((status, _listed(names), reason) for (status, reason), names in named.items())


def _listed(names: Sequence[str]) -> str:
    """Names in a row, the channels in a word where all are among them."""
    others = [name for name in names if name not in _CHANNELS]
    missing = [name for name in names if name in _CHANNELS]
    return ", ".join([*others, *(["all nuisance channels"] if missing == _CHANNELS else missing)])
