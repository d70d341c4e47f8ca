"""What the documents show of a sheet, arranged for a reader: the same rows for HTML, PDF and terminal.

Everything here is text, still as it came: each document escapes it in its own way.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from datasheet.analysis.diagnostics import LAPSES_FLAG
from datasheet.analysis.swap_pairs import CLASSES
from datasheet.sheet.catalogue import SECTIONS, STEP_EVENTS
from datasheet.sheet.figures import Fitted, Segment
from datasheet.sheet.formats import NO_NUMBER, count, number, words

Sheet = Mapping[str, Any]
Marks = Mapping[str, tuple[str, str]]
"""Of each note on some rows (a flag, or a reason that they share): the mark that points at it, and its sentence."""

SECTION_TITLES = {
    "vacuum": "Dark current: nothing to prefer",
    "same_quality": "Same quality: nothing better to prefer",
    "position": "Position",
    "ladder": "Ladder: one answer is better",
    "model": "Joint model",
    "natural": "Natural pairs",
    "validity": "Validity and repeatability of readings",
}

_REMARKS = {
    "confounded_with_length": "Confounded with length: the better answer is the longer one too, as on the prefix arm "
    "alone, or lengths are not known, so that a judge that only likes length reads the same. The phrasing and filler "
    "arms tell the two apart.",
    "confounded_with_position": "Confounded with position: of one order alone, where a judge that only likes the slot "
    "of the better answer reads the same. The other order of the same pairs tells the two apart.",
    "extrapolated": "Extrapolated: lies beyond the steps that were measured.",
    "lapses": "Lapses: the readings fit better if some calls lapse, which the joint model holds at 0 (see the notes); "
    "evidence in standard deviations is then read too low, and thresholds too high.",
    "labels_disagree": "Labels disagree: more than 5% of verdicts have a likelier label in their call, as where they "
    "are drawn at a temperature, or where probabilities belong to other labels: soft figures are not of them.",
    "prior_limited": "Prior-limited: the readings leave the value open on a side, or tell little more of it than the "
    "model's prior.",
    "soft_and_hard_apart": "Soft and hard apart: the limits from label probabilities and those from the verdicts of "
    "the same calls exclude each other, as where evidence is not normal: believe the verdicts.",
    "wide": "Wide: so loosely known that priors would tell; the limits are those of the likelihood without them.",
}
CLASS_KEYS = {*CLASSES, "first_first", "second_second"}
_STEP = re.compile(rf"({'|'.join(STEP_EVENTS)})_(\d+)(?:@|$)")
_PLAIN_UNITS = ("share", "1")
_MARKS = ("†", "‡", "§", "¶")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One characteristic as printed; ``marks`` point at the section's remarks, ``unit`` is "" for a plain number."""

    key: str
    symbol: str
    title: str
    unit: str
    meaning: str
    low: str
    estimate: str
    high: str
    n: str
    tasks: str
    method: str
    status: str
    reason: str
    marks: str

    @property
    def has_number(self) -> bool:
        """Whether there is an estimate, a bound or a limit to print."""
        return (self.low, self.estimate, self.high) != (NO_NUMBER,) * 3

    @property
    def limits(self) -> str:
        """Low and high in one: ``0.556–0.748``, "" where neither is known."""
        return "" if self.low == self.high == NO_NUMBER else f"{self.low}–{self.high}"

    @property
    def n_and_tasks(self) -> str:
        """``199 (20)``, or n alone where the log names no tasks."""
        return self.n if self.tasks == NO_NUMBER else f"{self.n} ({self.tasks})"

    @property
    def remark(self) -> str:
        """Why a side is open or the quantity is not resolved, as a sentence; "" where nothing is."""
        if not self.reason:
            return ""
        label = "Open limits: " if self.status == "measured" else ""
        sentence = f"{label}{self.reason}"
        return f"{sentence[0].upper()}{sentence[1:]}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Characteristics that were measured under the same conditions."""

    conditions: str
    quantities: tuple[Quantity, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The shares of one quality step side by side, None for an event that was not measured in this arm."""

    delta_q: int
    shares: tuple[Quantity | None, ...]

    @property
    def first(self) -> Quantity:
        """The share that n and method are those of."""
        return next(share for share in self.shares if share is not None)

    @property
    def marks(self) -> str:
        """The marks of all shares."""
        return " ".join(dict.fromkeys(mark for share in self.shares if share for mark in share.marks.split()))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepGroup:
    """The steps of one arm, or of one order of the prefix arm; ``suffix`` is what their keys carry behind @."""

    suffix: str
    conditions: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTable:
    """The ladder's shares, a row for each step; ``events`` are (symbol, title) of the columns."""

    events: tuple[tuple[str, str], ...]
    groups: tuple[StepGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """Characteristics without a number for one and the same reason; ``names`` are (title, symbols)."""

    status: str
    reason: str
    names: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section of the table of characteristics; ``remarks`` are (mark, sentence).

    The shares of the ladder's steps are ``step_groups``, all else with a number is ``groups``.
    """

    name: str
    title: str
    groups: tuple[Group, ...]
    step_groups: tuple[Group, ...]
    absences: tuple[Absence, ...]
    remarks: tuple[tuple[str, str], ...]


def sections(sheet: Sheet, *, classes_apart: bool = False) -> tuple[Section, ...]:
    """All characteristics of a sheet, by section and conditions, in the catalogue's order.

    With ``classes_apart`` those of :func:`class_table` are left out: they have a table of their own.
    """
    found = sheet["characteristics"]
    present = [(name, [row for row in found if row["section"] == name]) for name in SECTIONS]
    return tuple(_section(name, rows, CLASS_KEYS if classes_apart else set()) for name, rows in present if rows)


def summary(sheet: Sheet) -> tuple[Quantity, ...]:
    """The rows of the first page."""
    by_key = {row["key"]: row for row in sheet["characteristics"]}
    rows = [by_key[key] for key in sheet["summary"]["rows"] if key in by_key]
    return tuple(_quantity(row, _marks(rows)) for row in rows)


def summary_remarks(sheet: Sheet) -> tuple[tuple[str, str], ...]:
    """The remarks that the rows of the first page point at."""
    keys = set(sheet["summary"]["rows"])
    return tuple(_marks([row for row in sheet["characteristics"] if row["key"] in keys]).values())


def curve_conditions(sheet: Sheet) -> str:
    """What the points of the first page's figure were measured on, as the beginning of a sentence."""
    steps = (row for row in sheet["characteristics"] if row["key"].startswith("p_correct_") and "@" not in row["key"])
    conditions = next((str(row["conditions"]) for row in steps), "prefix arm")
    return f"{conditions[0].upper()}{conditions[1:]}"


def has_number(row: Mapping[str, Any]) -> bool:
    """A row that has an estimate or a limit."""
    return any(row[name] is not None for name in ("low", "estimate", "high"))


def is_step(key: str) -> bool:
    """Whether a key is a share of a ladder's step."""
    return _STEP.match(key) is not None


def _section(name: str, rows: Sequence[Mapping[str, Any]], apart: Collection[str]) -> Section:
    marks = _marks(rows)
    found = [row for row in rows if has_number(row) and row["key"] not in apart]
    return Section(
        name=name,
        title=SECTION_TITLES[name],
        groups=_groups([row for row in found if not is_step(row["key"])], marks),
        step_groups=_groups([row for row in found if is_step(row["key"])], marks),
        absences=_absences(row for row in rows if not has_number(row)),
        remarks=tuple(marks.values()),
    )


def _groups(rows: Iterable[Mapping[str, Any]], marks: Marks) -> tuple[Group, ...]:
    groups: dict[str, list[Quantity]] = {}
    for row in rows:
        groups.setdefault(row["conditions"], []).append(_quantity(row, marks))
    return tuple(Group(conditions=key, quantities=tuple(members)) for key, members in groups.items())


def step_table(groups: Sequence[Group]) -> StepTable:
    """Step groups as a table: one row a step, its events side by side, no column for an event without any number."""
    found: dict[tuple[str, str], dict[int, dict[str, Quantity]]] = {}
    for group in groups:
        for quantity in group.quantities:
            event, delta_q = _event_and_step(quantity)
            place = (group.conditions, quantity.key.partition("@")[2])
            found.setdefault(place, {}).setdefault(delta_q, {})[event] = quantity
    rows = [row for steps in found.values() for row in steps.values()]
    events = [event for event in STEP_EVENTS if any(event in row for row in rows)]
    first = [next(row[event] for row in rows if event in row) for event in events]
    return StepTable(
        events=tuple((quantity.symbol.partition("(")[0], quantity.title) for quantity in first),
        groups=tuple(
            StepGroup(
                suffix=suffix,
                conditions=conditions,
                steps=tuple(
                    Step(delta_q=delta_q, shares=tuple(row.get(event) for event in events))
                    for delta_q, row in sorted(steps.items())
                ),
            )
            for (conditions, suffix), steps in found.items()
        ),
    )


def _event_and_step(quantity: Quantity) -> tuple[str, int]:
    match = _STEP.match(quantity.key)
    if match is None:
        raise ValueError(f"{quantity.key} is no share of a ladder's step")
    return match.group(1), int(match.group(2))


def _absences(rows: Iterable[Mapping[str, Any]]) -> tuple[Absence, ...]:
    """Rows without a number, gathered by status and reason, the symbols of equal titles together."""
    reasons: dict[tuple[str, str], dict[str, list[str]]] = {}
    for row in rows:
        titles = reasons.setdefault((row["status"], row["reason"]), {})
        titles.setdefault(row["title"], []).append(row["symbol"])
    return tuple(
        Absence(
            status=words(status),
            reason=reason,
            names=tuple((title, ", ".join(symbols)) for title, symbols in titles.items()),
        )
        for (status, reason), titles in reasons.items()
    )


def _marks(rows: Sequence[Mapping[str, Any]]) -> Marks:
    """A mark and a sentence for each flag of some rows, and for each reason that several rows with a number share."""
    often = Counter(row["reason"] for row in rows if has_number(row))
    sentences: dict[str, str] = {}
    for row in filter(has_number, rows):
        for flag in row["flags"]:
            sentences[flag] = _REMARKS.get(flag, f"{words(flag)}.")
        if row["reason"] and often[row["reason"]] > 1:
            sentences[row["reason"]] = f"Open limits: {row['reason']}."
    signs = (_MARKS[place % len(_MARKS)] * (place // len(_MARKS) + 1) for place in range(len(sentences)))
    return {note: (sign, sentence) for sign, (note, sentence) in zip(signs, sentences.items(), strict=True)}


def _quantity(row: Mapping[str, Any], marks: Marks) -> Quantity:
    unit = row["unit"]
    low, estimate, high = (number(row[name], unit) for name in ("low", "estimate", "high"))
    if row["status"] == "bounded":
        # A bound stands where the estimate would: the open side has no number at all.
        estimate = f"≤ {high}" if row["high"] is not None else f"> {low}"
        low = high = NO_NUMBER
    return Quantity(
        key=row["key"],
        symbol=row["symbol"],
        title=row["title"],
        unit="" if unit in _PLAIN_UNITS else unit,
        meaning=row["meaning"],
        low=low,
        estimate=estimate,
        high=high,
        n=count(row["n"]) if row["n"] else NO_NUMBER,
        tasks=NO_NUMBER if row["n_clusters"] is None else count(row["n_clusters"]),
        method=row["method"],
        status=words(row["status"]),
        reason="" if row["reason"] in marks else row["reason"],
        marks=" ".join(marks[note][0] for note in (*row["flags"], row["reason"]) if note in marks),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassTable:
    """The classes of same-quality pairs; ``rows`` hold the share that shuffled readings would give, where known."""

    conditions: str
    rows: tuple[tuple[Quantity, str], ...]


def class_table(sheet: Sheet) -> ClassTable:
    """The classes with what the null expects of each."""
    null = sheet["decomposition"]["null"]
    expected = {} if null is None else null["expected"]
    marks = _marks([row for row in sheet["characteristics"] if row["section"] == "same_quality"])
    rows = [row for row in sheet["characteristics"] if row["key"] in CLASS_KEYS]
    return ClassTable(
        conditions=rows[0]["conditions"] if rows else "",
        rows=tuple((_quantity(row, marks), number(expected.get(row["key"]))) for row in rows),
    )


def segments(sheet: Sheet) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
    """The bar of the classes as found, first-first and second-second apart, and the bar that the null expects.

    The null does not tell the two slots apart. A bar is empty where its shares were not measured.
    """
    rows = {row["key"]: row for row in sheet["characteristics"] if row["key"] in CLASS_KEYS}
    null = sheet["decomposition"]["null"]
    found = {key: row["estimate"] for key, row in rows.items() if row["estimate"] is not None}
    if {"first_first", "second_second"} <= found.keys():
        found.pop("positional_false_preference", None)
    expected = {} if null is None else {key: share for key, share in null["expected"].items() if key in rows}
    as_found, as_expected = (
        tuple(
            Segment(symbol=rows[key]["symbol"], title=rows[key]["title"], share=share) for key, share in shares.items()
        )
        for shares in (found, expected)
    )
    return as_found, as_expected


def fitted(sheet: Sheet) -> Fitted | None:
    """The joint model's curve on a typical task; None where there is none."""
    points = sheet["curves"].get("model")
    if not points:
        return None
    by_key = {row["key"]: row for row in sheet["characteristics"]}
    threshold, length = by_key.get("threshold_75"), by_key.get("length_slope")
    return Fitted(
        points=points,
        equal_length=length is not None and has_number(length),
        threshold=threshold["estimate"] if threshold else None,
        doubt=_doubt(threshold) if threshold else "",
    )


def _doubt(threshold: Mapping[str, Any]) -> str:
    """Why the fitted curve is not to be believed as it is drawn."""
    if not has_number(threshold):
        return f"The readings do not settle it: {threshold['reason']}."
    return "It holds lapses at 0, of which these readings show signs." if LAPSES_FLAG in threshold["flags"] else ""
