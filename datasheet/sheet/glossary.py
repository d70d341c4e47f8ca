"""The glossary of a sheet: what each symbol on it means, and how such a figure is had.

Everything here is text, still as it came: each document escapes it in its own way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from datasheet.sheet.content import CLASS_KEYS, has_number, is_step

Sheet = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A symbol explained."""

    symbol: str
    title: str
    meaning: str
    how: str

    def lines(self, width: int) -> int:
        """Lines that symbol, title and meaning take, about."""
        return ceil((len(self.symbol) + len(self.title) + len(self.meaning) + 3) / width)


_CLASS = Entry(
    symbol="class",
    title="The classes of the published case study",
    meaning="A: little dark current. A, Δ0 caveat: little dark current, but preferences between answers of equal "
    "quality. B: the slot decides. Other profiles have none.",
    how="from the profile and the limits of the dark current",
)
_COLUMNS, _COLUMN_WIDTH = 3, 46


def glossary(sheet: Sheet) -> tuple[Entry, ...]:
    """An entry for each title that occurs on the sheet."""
    return _entries(sheet, sheet["characteristics"])


def further_glossary(sheet: Sheet) -> tuple[tuple[Entry, ...], ...]:
    """What has a number and is not explained on the first page, or where it stands: enough for paper.

    The classes are explained by the bars, and the shares of a step by the heads of their table. In columns of about one
    length.
    """
    said = {*sheet["summary"]["rows"], *CLASS_KEYS}
    explained = {row["title"] for row in sheet["characteristics"] if row["key"] in said or is_step(row["key"])}
    rows = filter(has_number, sheet["characteristics"])
    return _columns(_entries(sheet, (row for row in rows if row["title"] not in explained)))


def _entries(sheet: Sheet, rows: Iterable[Mapping[str, Any]]) -> tuple[Entry, ...]:
    first = {"": _CLASS} if sheet["profile"]["class"] else {}
    for row in rows:
        entry = Entry(symbol=row["symbol"], title=row["title"], meaning=row["meaning"], how=row["how"])
        first.setdefault(row["title"], entry)
    return tuple(first.values())


def _columns(entries: Sequence[Entry]) -> tuple[tuple[Entry, ...], ...]:
    """Entries in order, each in the column that the middle of its lines falls into."""
    total, reached = sum(entry.lines(_COLUMN_WIDTH) for entry in entries), 0.0
    columns: list[list[Entry]] = [[] for _ in range(_COLUMNS)]
    for entry in entries:
        lines = entry.lines(_COLUMN_WIDTH)
        columns[int((reached + lines / 2) / total * _COLUMNS)].append(entry)
        reached += lines
    return tuple(tuple(column) for column in columns if column)
