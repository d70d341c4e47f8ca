"""The datasheet in the terminal: plain text in tidy columns, nothing in it that could steer a terminal."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from datasheet.sheet import content
from datasheet.sheet.content import Quantity, Section
from datasheet.visible import visible

_GAP = "  "
_NARROWEST = 40


def render_terminal(sheet: Mapping[str, Any], *, width: int = 100) -> str:
    """The datasheet as plain text, ``width`` columns wide (at least 40).

    Control and direction characters of judges, banks and logs are spelt out, so that no text can move the cursor.
    """
    width = max(width, _NARROWEST)
    return "\n".join(_lines(sheet, width)) + "\n"


def _lines(sheet: Mapping[str, Any], width: int) -> Iterator[str]:
    judge, profile = sheet["judge"], sheet["profile"]
    if judge["simulated"]:
        yield from [*_wrapped("SIMULATED: the readings come from a simulated observer, not from a model.", width), ""]
    yield from _wrapped(f"Judge datasheet: {_flat(judge['name'])[:200]}", width)
    yield from _pairs(content.identity_rows(sheet), width)
    yield ""
    yield from _wrapped(sheet["summary"]["sentence"], width)
    letter = f"class {profile['class']}" if profile["class"] else "no class letter"
    yield from ["", *_wrapped(f"Profile: {profile['name']} ({letter}); {profile['rule']}", width)]
    for flag in profile["flag_states"]:
        yield from _wrapped(f"{flag['state'].replace('_', ' '):<14} {flag['name']}", width, indent=2)
    yield from ["", *_table(content.summary(sheet), width)]
    yield from _wrapped("Low and high are intervals, not guaranteed limits.", width)
    yield from ["", *_wrapped(f"Use it for: {profile['use_for']}", width)]
    yield from _wrapped(f"Not for: {profile['not_for']}", width)
    decides = [f"{item['flag']}: {item['needs']}" for item in sheet["summary"]["decides"]]
    yield from _listed("What would decide what is undetermined", decides, width)
    for section in content.sections(sheet):
        yield from _section(section, width)
    yield from ["", "Operation", *_pairs(content.operation_rows(sheet) or [("", "not recorded")], width)]
    yield from _listed("Limits of use", sheet["limits_of_use"], width)
    yield from _listed("Not claimed", sheet["non_claims"], width)
    yield from _listed("Notes", sheet["notes"], width)
    yield from ["", "Provenance", *_pairs(content.provenance_rows(sheet), width)]


def _section(section: Section, width: int) -> Iterator[str]:
    yield from ["", section.title]
    for group in section.groups:
        yield from _wrapped(group.conditions, width, indent=1)
        yield from _table(group.quantities, width)
    for mark, sentence in section.remarks:
        yield from _wrapped(f"{mark} {sentence}", width, indent=2)
    for absence in section.absences:
        names = "; ".join(f"{symbols} ({title})" for title, symbols in absence.names)
        yield from _wrapped(f"{absence.status}: {names}. Reason: {absence.reason}.", width, indent=2)


def _table(quantities: Sequence[Quantity], width: int) -> Iterator[str]:
    """Symbol, title, low, estimate, high, n and tasks; the title gives way first, and goes where there is no room."""
    numbers = [("low", "estimate", "high", "n", "tasks")]
    numbers += [(q.low, q.estimate, q.high, q.n, q.tasks) for q in quantities]
    widths = [max(_columns(row[place]) for row in numbers) for place in range(5)]
    fixed = sum(widths) + len(_GAP) * 6
    symbols = [f"{_flat(q.symbol)}{q.marks}" for q in quantities]
    symbol_width = min(max(map(_columns, symbols), default=6), max(width - fixed, 6))
    title_width = min(width - fixed - symbol_width, 40)
    for place, row in enumerate(numbers):
        symbol, title = (symbols[place - 1], _flat(quantities[place - 1].title)) if place else ("symbol", "")
        cells = [_fitted(symbol, symbol_width)]
        cells += [_fitted(title, title_width)] if title_width >= 12 else []
        cells += [_padded(cell, columns) for cell, columns in zip(row, widths, strict=True)]
        yield _GAP.join(cells).rstrip()
        quantity = quantities[place - 1] if place else None
        if quantity is not None and quantity.reason:
            yield from _wrapped(f"{quantity.status}: {quantity.reason}", width, indent=4)


def _listed(title: str, sentences: Sequence[str], width: int) -> Iterator[str]:
    if sentences:
        yield from ["", title]
        for sentence in sentences:
            yield from _wrapped(f"- {_flat(sentence)}", width, indent=2)


def _pairs(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    column = max((_columns(_flat(label)) for label, _ in rows), default=0)
    for label, text in rows:
        yield from _wrapped(f"{_fitted(_flat(label), column)}{_GAP}{_flat(text)}", width, indent=2, hang=column + 4)


def _wrapped(text: str, width: int, *, indent: int = 0, hang: int | None = None) -> list[str]:
    hang = min(indent + 2 if hang is None else hang, width // 2)
    shown = visible(text).replace("\n", " ").replace("\t", " ")
    return textwrap.wrap(shown, width, initial_indent=" " * indent, subsequent_indent=" " * hang) or [""]


def _flat(text: str) -> str:
    """A text on one line, with nothing invisible in it."""
    return " ".join(visible(text).split())


def _columns(text: str) -> int:
    """Terminal columns that a text takes: wide East Asian characters take two, combining ones none."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _padded(text: str, columns: int) -> str:
    return " " * (columns - _columns(text)) + text


def _fitted(text: str, columns: int) -> str:
    """A text of exactly so many columns: cut with a mark, or filled up."""
    if _columns(text) > columns:
        while _columns(text) > columns - 1:
            text = text[:-1]
        text += "…"
    return text + " " * (columns - _columns(text))
