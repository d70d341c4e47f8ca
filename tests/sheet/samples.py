"""Datasheets made for tests: readings of an observer with known dials, through the analysis, into a sheet."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from datasheet.analysis.characterise import characterise
from datasheet.readings import ReadingRow, Readings
from datasheet.records import Outcome
from datasheet.sheet.build import SheetContext, build_sheet

HOSTILE = "</title></style><script>alert(1)</script>{{ 7 * 7 }}\x1b[2J\u202egnp.exe\x07 " + "x" * 400
ARMS = ("terse_better", "wordy_better", "filled_even", "filled_longer")
_WORDS_A_STEP = {"terse_better": -5, "filled_even": 0, "filled_longer": -5}
"""By how much the better answer is longer for each step, where length is told from quality; 15 in other arms."""

_SAMPLES: dict[str, dict[str, Any]] = {
    "careful": {"tasks": 10},
    "lengths_apart": {"tasks": 10, "lengths_apart": True},
    "bounded": {"tasks": 6, "resolution": 6.0, "criterion": 0.05},
    "never_tie": {"tasks": 6, "ties_allowed": False},
    "few": {"tasks": 5, "arms": ()},
    "taskless": {"tasks": 3, "arms": (), "simulated": False, "named": False},
    "real": {"tasks": 3, "arms": (), "simulated": False},
    "one_order": {"tasks": 10, "lengths_apart": True, "orders": ("ab",), "length_unit": "tokens"},
    "repeated": {"tasks": 8, "repeats": 3},
    "hostile": {"tasks": 3, "arms": (HOSTILE,), "hostile": HOSTILE},
}


def sample(name: str) -> dict[str, Any]:
    """A sheet that a test may change."""
    sheet: dict[str, Any] = json.loads(_made(name))
    return sheet


@cache
def _made(name: str) -> str:
    return json.dumps(make_sheet(**_SAMPLES[name]))


def make_sheet(
    *,
    tasks: int,
    resolution: float = 0.9,
    criterion: float = 0.6,
    ties_allowed: bool = True,
    arms: Sequence[str] = ARMS,
    simulated: bool = True,
    named: bool = True,
    hostile: str = "",
    orders: Sequence[str] = ("ab", "ba"),
    length_unit: str = "words",
    repeats: int = 1,
    lengths_apart: bool = False,
) -> dict[str, Any]:
    """A sheet; ``named`` is whether the log gives tasks, bank, prompt and the judge's id."""
    observer = Observer(resolution=resolution, criterion=criterion, ties_allowed=ties_allowed)
    rows = [
        row
        for row in _rows(
            observer,
            tasks=tasks,
            arms=arms,
            invalid=hostile or "no_verdict",
            repeats=repeats,
            lengths_apart=lengths_apart,
        )
        if row.order in orders
    ]
    rows = rows if named else [replace(row, task=None) for row in rows]
    readings = Readings.from_rows(rows, ties_allowed=ties_allowed, length_unit=length_unit)
    context = _context(simulated, ties_allowed, hostile)
    return build_sheet(characterise(readings), readings, context if named else _unnamed(context))


class Observer:
    """Evidence is resolution times ΔQ plus noise, part of which stays when the order is swapped."""

    def __init__(self, *, resolution: float, criterion: float, ties_allowed: bool) -> None:
        self.resolution, self.criterion, self.ties_allowed = resolution, criterion, ties_allowed
        self.rng = random.Random(1)

    def readings(self, delta_q: int, orders: Sequence[str]) -> Iterator[tuple[str, Outcome]]:
        stable = self.rng.gauss(0, 0.5)
        for order in orders:
            evidence = self.resolution * delta_q + stable + self.rng.gauss(0, 0.87)
            toward_first = (evidence if order == "ab" else -evidence) + 0.15
            if self.ties_allowed and abs(toward_first) < self.criterion:
                yield order, "tie"
            else:
                yield order, "first" if toward_first > 0 else "second"


def _rows(
    observer: Observer, *, tasks: int, arms: Sequence[str], invalid: str, repeats: int, lengths_apart: bool
) -> Iterator[ReadingRow]:
    pairs = [("vacuum", kind, 0, ("ab",)) for kind in ("empty", "whitespace", "identical")]
    pairs += [("same_quality", "same_subset", 0, ("ab", "ba"))] * 6
    pairs += [("ladder", "prefix", high - low, ("ab", "ba")) for high in range(6) for low in range(high)]
    pairs += [("ladder", arm, delta_q, ("ab",)) for arm in arms for delta_q in (1, 2, 3)]
    for task in range(tasks):
        for place, (probe, arm, delta_q, orders) in enumerate(pairs):
            if arm in arms:
                orders = (("ab", "ba")[task % 2],)
            for nth, (order, outcome) in enumerate(observer.readings(delta_q, orders * repeats)):
                lost = task == 0 and place == len(pairs) - 1
                yield ReadingRow(
                    stimulus=f"{task}-{place}",
                    probe=probe,
                    arm=arm,
                    task=f"task{task:02}",
                    order=order,
                    repeat=nth // len(orders),
                    outcome=None if lost else outcome,
                    invalid=invalid if lost else None,
                    delta_q=None if probe == "vacuum" else delta_q,
                    length_a=20 + (_WORDS_A_STEP.get(arm, 15) if lengths_apart else 15) * delta_q + place % 2,
                    length_b=20,
                )


def _context(simulated: bool, ties_allowed: bool, hostile: str) -> SheetContext:
    judge = {
        "name": hostile or "sim:careful",
        "judge_id": "3f2a9c1d5e7b8a60",
        "model": hostile or "careful",
        "prompt": hostile or "default",
        "decoding": {"temperature": 0.0},
        "simulated": simulated,
        "ties_allowed": ties_allowed,
    }
    return SheetContext(
        judge=judge,
        bank={"name": hostile or "english", "hash": "0123456789abcdef", "tasks": 20, "validated_by_people": False},
        design={"name": "standard", "planned": 1460, "answered": 1458},
        operation={"calls": 1458, "latency_median_s": 0.42, "prompt_tokens": None, "failed_attempts": {"timeout": 9}},
        provenance={"command": hostile or "datasheet build", "last_trial": "2026-11-30T10:12:09Z"},
        gates=(hostile or "prefix property: 300 of 300 pairs",),
        notes=(hostile,) if hostile else (),
    )


def _unnamed(context: SheetContext) -> SheetContext:
    return replace(
        context,
        judge={**context.judge, "name": "verdicts", "judge_id": "not given", "prompt": ""},
        bank={"name": "not given", "hash": "not given", "tasks": 1},
        design={"name": "not given"},
        operation=None,
        provenance={"command": "datasheet analyze verdicts.jsonl"},
    )
