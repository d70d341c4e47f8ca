"""What the documents show of a sheet, arranged for a reader: the same rows for HTML, PDF and terminal.

Everything here is text, still as it came: each document escapes it in its own way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from datasheet.sheet.catalogue import SECTIONS, define
from datasheet.sheet.figures import Segment
from datasheet.sheet.formats import NO_NUMBER, count, number, words

Sheet = Mapping[str, Any]

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
    "confounded_with_length": "Confounded with length: in these readings the better answer is the longer one too, so a "
    "judge that only likes length would read the same. The phrasing and filler arms would tell the two apart.",
    "extrapolated": "Extrapolated: lies beyond the steps that were measured.",
    "prior_limited": "Prior-limited: the prior of the model, more than the readings, sets this limit.",
}
_CLASSES = (
    *("stable_cross_sensitivity", "positional_false_preference", "first_first", "second_second"),
    *("one_sided_commitment", "no_preference", "other_conflict"),
)
_MARKS = ("†", "‡", "§", "¶")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One characteristic as printed; ``marks`` point at the section's remarks."""

    symbol: str
    title: str
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Characteristics that were measured under the same conditions."""

    conditions: str
    quantities: tuple[Quantity, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """Characteristics without a number for one and the same reason; ``names`` are (title, symbols)."""

    status: str
    reason: str
    names: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section of the table of characteristics; ``remarks`` are (mark, sentence)."""

    name: str
    title: str
    groups: tuple[Group, ...]
    absences: tuple[Absence, ...]
    remarks: tuple[tuple[str, str], ...]


def sections(sheet: Sheet) -> tuple[Section, ...]:
    """All characteristics of a sheet, by section and conditions, in the catalogue's order."""
    found = sheet["characteristics"]
    present = [(name, [row for row in found if row["section"] == name]) for name in SECTIONS]
    return tuple(_section(name, rows) for name, rows in present if rows)


def summary(sheet: Sheet) -> tuple[Quantity, ...]:
    """The rows of the first page."""
    by_key = {row["key"]: row for row in sheet["characteristics"]}
    rows = [by_key[key] for key in sheet["summary"]["rows"] if key in by_key]
    return tuple(_quantity(row, _marks(rows)) for row in rows)


def summary_remarks(sheet: Sheet) -> tuple[tuple[str, str], ...]:
    """The remarks that the rows of the first page point at."""
    keys = set(sheet["summary"]["rows"])
    return _remarks(_marks([row for row in sheet["characteristics"] if row["key"] in keys]))


def _has_number(row: Mapping[str, Any]) -> bool:
    return row["status"] in ("measured", "bounded")


def _section(name: str, rows: Sequence[Mapping[str, Any]]) -> Section:
    marks = _marks(rows)
    groups: dict[str, list[Quantity]] = {}
    for row in filter(_has_number, rows):
        groups.setdefault(row["conditions"], []).append(_quantity(row, marks))
    return Section(
        name=name,
        title=SECTION_TITLES[name],
        groups=tuple(Group(conditions=key, quantities=tuple(members)) for key, members in groups.items()),
        absences=_absences(row for row in rows if not _has_number(row)),
        remarks=_remarks(marks),
    )


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


def _marks(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """A mark for each flag that occurs in some rows."""
    flags = dict.fromkeys(flag for row in rows for flag in row["flags"])
    return {flag: _MARKS[place % len(_MARKS)] * (place // len(_MARKS) + 1) for place, flag in enumerate(flags)}


def _remarks(marks: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((mark, _REMARKS.get(flag, f"{words(flag)}.")) for flag, mark in marks.items())


def _quantity(row: Mapping[str, Any], marks: Mapping[str, str]) -> Quantity:
    unit = row["unit"]
    low, estimate, high = (number(row[name], unit) for name in ("low", "estimate", "high"))
    if row["status"] == "bounded":
        # A bound stands where the estimate would: the open side has no number at all.
        estimate = f"≤ {high}" if row["high"] is not None else f"> {low}"
        low = high = NO_NUMBER
    return Quantity(
        symbol=row["symbol"],
        title=row["title"],
        meaning=row["meaning"],
        low=low,
        estimate=estimate,
        high=high,
        n=count(row["n"]) if row["n"] else NO_NUMBER,
        tasks=NO_NUMBER if row["n_clusters"] is None else count(row["n_clusters"]),
        method=row["method"],
        status=words(row["status"]),
        reason=row["reason"],
        marks=" ".join(marks[flag] for flag in row["flags"]),
    )


def identity_rows(sheet: Sheet) -> tuple[tuple[str, str], ...]:
    """The title block: (label, text)."""
    judge, bank, design, validity = (sheet[part] for part in ("judge", "bank", "design", "validity"))
    rows = [
        ("Prompt", judge["prompt"] or "unknown"),
        ("Judge id", judge["judge_id"]),
        ("Bank", _bank(bank)),
        ("Design", _design(design)),
        ("Trials", trial_dates(sheet) or "dates not recorded"),
        ("Readings", f"{count(validity['valid'])} valid of {count(validity['readings'])}"),
    ]
    if not sheet["readings"]["ties_allowed"]:
        rows.insert(1, ("Verdicts", "first or second; the prompt allows no tie"))
    return tuple(rows)


def _bank(bank: Mapping[str, Any]) -> str:
    details = [f"{count(bank['tasks'])} tasks"] if bank.get("tasks") else []
    details += [bank["hash"]] if bank.get("hash") else []
    name = str(bank.get("name") or "unknown")
    return f"{name} ({', '.join(details)})" if details else name


def _design(design: Mapping[str, Any]) -> str:
    name = str(design.get("name") or "unknown")
    planned, answered = design.get("planned"), design.get("answered")
    return f"{name}, {count(answered)} of {count(planned)} calls answered" if planned and answered is not None else name


def trial_dates(sheet: Sheet) -> str:
    """The days of the first and the last trial, "" where they are not recorded."""
    provenance = sheet["provenance"]
    days = [str(provenance[name])[:10] for name in ("first_trial", "last_trial") if provenance.get(name)]
    return " to ".join(dict.fromkeys(days))


def operation_rows(sheet: Sheet) -> tuple[tuple[str, str], ...]:
    """How the judge ran: (label, text); empty where the sheet does not tell."""
    operation = sheet["operation"]
    if operation is None:
        return ()
    failed = operation.get("failed_attempts") or {}
    failures = ", ".join(f"{words(kind)} {count(times)}" for kind, times in failed.items())
    return (
        ("Calls", count(operation.get("calls"))),
        ("Attempts", count(operation.get("attempts"))),
        ("Failed attempts", failures or ("none" if operation.get("failed_attempts") == {} else "not recorded")),
        ("Latency, median", _seconds(operation.get("latency_median_s"))),
        ("Latency, 95th percentile", _seconds(operation.get("latency_p95_s"))),
        ("Prompt tokens", count(operation.get("prompt_tokens"))),
        ("Completion tokens", count(operation.get("completion_tokens"))),
        ("Calls with token counts", count(operation.get("calls_with_token_counts"))),
    )


def _seconds(value: float | None) -> str:
    return "not recorded" if value is None else f"{value:.3g} s"


def limit_rows(sheet: Sheet) -> tuple[tuple[str, str], ...]:
    """Where the flags rise: (name, limit)."""
    return tuple((words(name), f"{limit:g}") for name, limit in sheet["limits"].items())


def provenance_rows(sheet: Sheet) -> tuple[tuple[str, str], ...]:
    """How to make the sheet again: (label, text), with the judge's settings that the provenance lacks."""
    judge, provenance = sheet["judge"], sheet["provenance"]
    rows = [(words(name), _plain(value)) for name, value in provenance.items()]
    settings = ("adapter", "model", "reported_models", "decoding")
    rows += [(f"judge {words(name)}", _plain(judge[name])) for name in settings if name in judge]
    return tuple(rows)


def _plain(value: object) -> str:
    """Any JSON value in words."""
    if isinstance(value, Mapping):
        return ", ".join(f"{words(str(key))} {_plain(item)}" for key, item in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value)) or "none"
    return "not recorded" if value is None or value == "" else str(value)


def arm_conditions(arm: str) -> str:
    """What an arm of the ladder shows, in words."""
    return "both in the same phrasing, no filler" if arm == "prefix" else define(f"p_correct_1@{arm}").conditions


def meanings(sheet: Sheet) -> tuple[tuple[str, str, str], ...]:
    """The glossary: (symbol, title, meaning) for each title that occurs on the sheet, once."""
    first: dict[str, tuple[str, str, str]] = {}
    for row in sheet["characteristics"]:
        first.setdefault(row["title"], (row["symbol"], row["title"], row["meaning"]))
    return tuple(first.values())


def class_rows(sheet: Sheet) -> tuple[tuple[Quantity, str], ...]:
    """The classes of same-quality pairs with the share that shuffled readings would give, where there is a null."""
    null = sheet["decomposition"]["null"]
    expected = {} if null is None else null["expected"]
    rows = [row for row in sheet["characteristics"] if row["key"] in _CLASSES]
    marks = _marks(rows)
    return tuple((_quantity(row, marks), number(expected.get(row["key"]))) for row in rows)


def segments(sheet: Sheet) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
    """The bar of the classes as found, first-first and second-second apart, and the bar that the null expects.

    The null does not tell the two slots apart. A bar is empty where its shares were not measured.
    """
    rows = {row["key"]: row for row in sheet["characteristics"] if row["key"] in _CLASSES}
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
