"""What the documents say beside the characteristics: who was measured, how it ran, how to make it again.

Everything here is text, still as it came: each document escapes it in its own way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from datasheet.analysis.diagnostics import MOST_STEP_GROUPS
from datasheet.p_values import p_phrase, p_value
from datasheet.records import OUTCOMES
from datasheet.sheet.formats import NO_NUMBER, count, counted, money, number, words

Sheet = Mapping[str, Any]

MOST_UNSTABLE = 3
"""Unstable presentations that a document lists; the JSON has them all."""

_LEAST_GRADIENT = 0.0001
_NOT_GIVEN = "not given"
_LETTERS = {
    "A": "little dark current",
    "A, Δ0 caveat": "little dark current, but preferences between equal answers",
    "B": "the slot decides",
}


def identity_rows(sheet: Sheet) -> tuple[tuple[str, str], ...]:
    """The title block: (label, text)."""
    judge, bank, design, validity = (sheet[part] for part in ("judge", "bank", "design", "validity"))
    rows = [
        ("Prompt", judge["prompt"] or _NOT_GIVEN),
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
    details = [counted(bank["tasks"], "task")] if bank.get("tasks") else []
    details += [bank["hash"]] if bank.get("hash", _NOT_GIVEN) != _NOT_GIVEN else []
    name = str(bank.get("name") or _NOT_GIVEN)
    return f"{name} ({', '.join(details)})" if details else name


def _design(design: Mapping[str, Any]) -> str:
    name = str(design.get("name") or _NOT_GIVEN)
    planned, answered = design.get("planned"), design.get("answered")
    if not planned or answered is None:
        return name
    return f"{name}, {count(answered)} of {counted(planned, 'call')} answered"


def running_title(sheet: Sheet) -> str:
    """The line on top of each printed page: judge, prompt and id, as far as they are known."""
    judge = sheet["judge"]
    names = (judge["name"][:60], (judge["prompt"] or "")[:40], judge["judge_id"][:40])
    return " · ".join(["Judge datasheet", *(name for name in names if name and name != _NOT_GIVEN)])


def class_in_words(sheet: Sheet) -> str:
    """The class letter with what it says, "" where the profile has none."""
    letter = sheet["profile"]["class"]
    if letter is None:
        return ""
    return f"class {letter}: {_LETTERS[letter]}" if letter in _LETTERS else f"class {letter}"


def limits_rest_on(sheet: Sheet) -> str:
    """What the limits take to be independent of each other."""
    tasks = len(sheet["readings"]["tasks"])
    if tasks == 1:
        return "for which one task is too few"
    return "adjusted for tasks" if tasks else "pairs taken as independent"


def no_curve_reason(sheet: Sheet) -> str:
    """Why there is no curve: the reason that the first step has no share, or that there is no ladder at all."""
    reasons = [row["reason"] for row in sheet["characteristics"] if row["key"] == "p_correct_1"]
    return next(filter(None, reasons), "the prefix arm of the ladder was not measured")


def model_checks(sheet: Sheet) -> tuple[str, ...]:
    """How far the joint model is to be trusted: its convergence, lapses, and whether the quality steps are equal."""
    model = sheet["model"]
    if "names" not in model:
        return ()
    symbols = {row["key"]: row["symbol"] for row in sheet["characteristics"]}
    found = "found" if model["status"] == "measured" else "not found"
    gradient = model["largest_gradient"]
    size = f"{gradient:.1g}" if gradient >= _LEAST_GRADIENT else f"below {_LEAST_GRADIENT:.4f}"
    checks = [f"The mode was {found} (largest gradient {size} standard deviations)."]
    for lapses in _lapses_shown(model.get("lapse_sensitivity", ())):
        keys = ("threshold_75", "resolution", "criterion", "position")
        values = ", ".join(f"{symbols[key]} {number(lapses[key])}" for key in keys if lapses[key] is not None)
        if values:
            checks.append(f"If {lapses['lapse_rate']:.0%} of calls were lapses: {values}.")
    if model.get("lapses_p") is not None:
        checks.append(f"No lapses, by the likelihood ratio: {p_phrase(model['lapses_p'])}.")
    if model.get("steps_p") is not None:
        p = p_phrase(model["steps_p"])
        groups = f"of each step, or of {MOST_STEP_GROUPS} groups of neighbours where there are more"
        checks.append(f"All quality steps worth the same, by F of the likelihood ratio on free means {groups}: {p}.")
    return tuple(checks)


def _lapses_shown(lapses: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The two smallest rates, and the one that the readings fit best where it is another."""
    best = max(lapses, key=lambda row: row["gain"], default=None)
    return [row for place, row in enumerate(lapses) if place < 2 or (row is best and row["gain"] > 0)]


def hypothesis_rows(sheet: Sheet) -> tuple[tuple[str, str, str, str], ...]:
    """The confirmatory family: what was tested, p, Holm's p, and whether it is rejected."""
    rows = []
    for tested in sheet["hypotheses"]:
        sign = "≤" if tested["alternative"] == "greater" else "="
        statement = f"{tested['symbol']} {sign} {number(tested['null_value'])}"
        if tested["p"] is None:
            rows.append((statement, NO_NUMBER, NO_NUMBER, "not tested"))
            continue
        answer = "yes" if tested["rejected"] else "no"
        rows.append((statement, p_value(tested["p"]), p_value(tested["adjusted_p"]), answer))
    return tuple(rows)


def clustered_rate_rows(sheet: Sheet) -> tuple[tuple[str, str, str, str, str, str], ...]:
    """The headline rates: symbol, rate, design effect, effective n, default limits, beta-binomial limits."""
    rows = []
    for rate in sheet["clustered_rates"]:
        default, beside = (
            NO_NUMBER if rate[low] is None else f"{number(rate[low])}–{number(rate[high])}"
            for low, high in (("low", "high"), ("beta_binomial_low", "beta_binomial_high"))
        )
        effect, n_effective = f"{rate['design_effect']:.2f}", f"{rate['n_effective']:,.1f}"
        rows.append((rate["symbol"], number(rate["estimate"]), effect, n_effective, default, beside))
    return tuple(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetTable:
    """The budgets of win rates side by side.

    Attributes
    ----------
    caption
        What the win rates are of.
    heads
        Of the columns, one a win rate; the first has its inputs, sensitivities, degrees of freedom and shares told too.
    lines
        (source, input, sensitivity, freedom, share) of the first, and the contributions to each.
    totals
        (label, a number for each win rate).
    """

    caption: str
    heads: tuple[str, ...]
    lines: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    totals: tuple[tuple[str, tuple[str, ...]], ...]


def budget_table(sheet: Sheet) -> BudgetTable | None:
    """The uncertainty budgets of win rates; None where there are none."""
    budgets = sheet["budgets"]
    if not budgets:
        return None
    first = budgets[0]
    lines = []
    for place, line in enumerate(first["lines"]):
        figures = (line["standard_uncertainty"], line["sensitivity"], line["degrees_of_freedom"], line["share"])
        u, sensitivity, freedom, share = figures
        told = (line["name"], number(u), number(sensitivity), f"{freedom:.0f}", number(share))
        # One decimal more than elsewhere: a source that matters little is not one that can't matter.
        lines.append((told, tuple(f"{budget['lines'][place]['contribution']:.4f}" for budget in budgets)))
    totals = {
        "win rate that is read": "win_rate",
        "u from all sources": "standard_uncertainty",
        "half-width at 95%": "expanded_uncertainty",
    }
    rows = [(label, tuple(number(budget[name]) for budget in budgets)) for label, name in totals.items()]
    errors = (number(budget["always_first_error"]) if budget["orders"] == 1 else NO_NUMBER for budget in budgets)
    return BudgetTable(
        caption=f"Uncertainty budget of a win rate over {counted(first['n_prompts'], 'prompt')}, a tie counting half. "
        f"Two systems' answers differ by {first['quality_sd']:g} quality step (sd) from prompt to prompt; one of them "
        "is truly better on as many prompts as the heads say; read in one order, drawn for each prompt, or in both. "
        "The half-width takes Student's t on the effective degrees of freedom (Welch-Satterthwaite)",
        heads=tuple(
            f"{budget['better_share']:.0%} better, {'one order' if budget['orders'] == 1 else 'both orders'}"
            for budget in budgets
        ),
        lines=tuple(lines),
        totals=(*rows, ("error (not in u) where one system is always shown first", tuple(errors))),
    )


def unstable_rows(sheet: Sheet) -> tuple[tuple[str, str, str, int, int, int], ...]:
    """The most unstable presentations: stimulus, task and order, and how often each was read as first, tie, second."""
    table = sheet["unstable"]
    columns = (table[name][:MOST_UNSTABLE] for name in ("stimulus", "task", "order", *OUTCOMES))
    return tuple(
        (stimulus, _NOT_GIVEN if task is None else task, order, first, tie, second)
        for stimulus, task, order, first, tie, second in zip(*columns, strict=True)
    )


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
        ("Tokens", _tokens(operation)),
        ("Spent", "nothing: simulated" if sheet["judge"]["simulated"] else _spent(operation.get("spent"))),
    )


def _tokens(operation: Mapping[str, Any]) -> str:
    counts = {name: operation.get(f"{name}_tokens") for name in ("prompt", "cached", "completion")}
    if counts["prompt"] is None and counts["completion"] is None:
        return "not recorded"
    cached = "" if counts["cached"] is None else f" ({count(counts['cached'])} cached)"
    told = counted(operation.get("calls_with_token_counts") or 0, "call")
    return f"prompts {count(counts['prompt'])}{cached}, replies {count(counts['completion'])}; told for {told}"


def _spent(spent: Mapping[str, Any] | None) -> str:
    """What the calls cost, as far as their tokens and the judge's prices are known."""
    if spent is None:
        return "not known: needs prices"
    rest = counted(spent["not_priced"], "call")
    if not spent["priced"]:
        return f"not known: no tokens told for {rest}"
    besides = f"; {rest} without token counts not in it" if spent["not_priced"] else ""
    return f"{money(spent['amount'], spent['currency'])} for {counted(spent['priced'], 'call')}{besides}"


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
    if isinstance(value, float):
        return f"{value:g}"
    return "not recorded" if value is None or value == "" else str(value)
