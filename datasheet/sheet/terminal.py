"""The datasheet in the terminal: plain text in tidy columns, nothing in it that could steer a terminal."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from datasheet.sheet import content, facts
from datasheet.sheet.content import Quantity, Section
from datasheet.sheet.formats import NO_NUMBER
from datasheet.visible import visible

_GAP = "  "
_NARROWEST = 60
_HEADS = ("low", "estimate", "high", "n", "tasks")
_LEAST_TITLE = 12


def render_terminal(sheet: Mapping[str, Any], *, width: int = 100) -> str:
    """The datasheet as plain text, ``width`` columns wide (at least 60).

    Control and direction characters of judges, banks and logs are spelt out, so that no text can move the cursor.
    """
    width = max(width, _NARROWEST)
    return "\n".join(_lines(sheet, width)) + "\n"


def _lines(sheet: Mapping[str, Any], width: int) -> Iterator[str]:
    judge, profile = sheet["judge"], sheet["profile"]
    if judge["simulated"]:
        yield from [*_wrapped("SIMULATED: the readings come from a simulated observer, not from a model.", width), ""]
    yield from _wrapped(f"Judge datasheet: {_flat(judge['name'])[:200]}", width)
    yield from _pairs(facts.identity_rows(sheet), width)
    yield ""
    yield from _wrapped(sheet["summary"]["sentence"], width)
    letter = f" ({facts.class_in_words(sheet)})" if profile["class"] else ""
    yield from ["", *_wrapped(f"Profile: {profile['name']}{letter}; {profile['rule']}", width)]
    for flag in profile["flag_states"]:
        yield from _wrapped(f"{flag['state'].replace('_', ' '):<14} {flag['name']}", width, indent=2)
    summary = content.summary(sheet)
    layout = _Layout.of(summary, width)
    yield from ["", layout.head(), *layout.rows(summary)]
    for mark, sentence in content.summary_remarks(sheet):
        yield from _wrapped(f"{mark} {sentence}", width, indent=2)
    note = f"Low and high are intervals, not guaranteed limits; {facts.limits_rest_on(sheet)}."
    yield from _wrapped(note, width)
    yield from ["", *_wrapped(f"Use it for: {profile['use_for']}", width)]
    yield from _wrapped(f"Not for: {profile['not_for']}", width)
    decides = [f"{item['flag']}: {item['needs']}" for item in sheet["summary"]["decides"]]
    yield from _listed("What would decide what is undetermined", decides, width)
    for section in content.sections(sheet):
        yield from _section(section, width)
    yield from _listed("The fit of the joint model", facts.model_checks(sheet), width)
    unstable = [
        f"{stimulus}, task {task}, order {order}: first {first}, tie {tie}, second {second}"
        for stimulus, task, order, first, tie, second in facts.unstable_rows(sheet)
    ]
    yield from _listed("Not read the same each time, the most unstable first", unstable, width)
    yield from ["", "Operation", *_pairs(facts.operation_rows(sheet) or [("", "not recorded")], width)]
    yield from _listed("Limits of use", sheet["limits_of_use"], width)
    yield from _listed("Not claimed", sheet["non_claims"], width)
    yield from _listed("Notes", sheet["notes"], width)
    yield from ["", "Provenance", *_pairs(facts.provenance_rows(sheet), width)]


def _section(section: Section, width: int) -> Iterator[str]:
    groups = (*section.step_groups, *section.groups)
    layout = _Layout.of([quantity for group in groups for quantity in group.quantities], width)
    yield from ["", section.title]
    if groups:
        yield layout.head()
    for group in groups:
        yield from _wrapped(f"- {group.conditions}", width)
        yield from layout.rows(group.quantities)
    for mark, sentence in section.remarks:
        yield from _wrapped(f"{mark} {sentence}", width, indent=2)
    for absence in section.absences:
        names = "; ".join(f"{symbols} ({title})" for title, symbols in absence.names)
        yield from _wrapped(f"{absence.status}: {names}. Reason: {absence.reason}.", width, indent=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Column widths of a table: the title gives way first, and goes where there is no room for it.

    Tasks, the last column of numbers, are left out where none are known.
    """

    symbol: int
    title: int
    numbers: tuple[int, ...]
    width: int

    @classmethod
    def of(cls, quantities: Sequence[Quantity], width: int) -> _Layout:
        rows = [_HEADS, *map(_numbers, quantities)]
        shown = len(_HEADS) if any(quantity.tasks != NO_NUMBER for quantity in quantities) else len(_HEADS) - 1
        numbers = tuple(max(_columns(row[place]) for row in rows) for place in range(shown))
        room = width - sum(numbers) - len(_GAP) * (shown + 1)
        symbol = min(max([6, *(_columns(_symbol(quantity)) for quantity in quantities)]), max(room, 6))
        longest = max((_columns(_flat(quantity.title)) for quantity in quantities), default=0)
        return cls(symbol=symbol, title=min(room - symbol, longest), numbers=numbers, width=width)

    def row(self, symbol: str, title: str, numbers: Sequence[str]) -> str:
        cells = [_fitted(symbol, self.symbol)]
        cells += [_fitted(title, self.title)] if self.title >= _LEAST_TITLE else []
        cells += [_padded(number, columns) for number, columns in zip(numbers, self.numbers, strict=False)]
        return _GAP.join(cells).rstrip()

    def head(self) -> str:
        return self.row("symbol", "", _HEADS)

    def rows(self, quantities: Sequence[Quantity]) -> Iterator[str]:
        for quantity in quantities:
            yield self.row(_symbol(quantity), _flat(quantity.title), _numbers(quantity))
            if quantity.reason:
                why = quantity.remark if quantity.has_number else f"{quantity.status}: {quantity.reason}."
                yield from _wrapped(why, self.width, indent=4)


def _symbol(quantity: Quantity) -> str:
    return f"{_flat(quantity.symbol)}{quantity.marks}"


def _numbers(quantity: Quantity) -> tuple[str, ...]:
    return (quantity.low, quantity.estimate, quantity.high, quantity.n, quantity.tasks)


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
