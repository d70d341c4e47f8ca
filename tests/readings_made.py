"""Readings made for tests: rows with chosen counts, spread over tasks."""

from __future__ import annotations

from collections.abc import Sequence

from datasheet.readings import ReadingRow, Readings
from datasheet.records import Outcome

CLASS_READINGS: dict[str, tuple[Outcome, Outcome]] = {
    "stable": ("first", "second"),
    "first_first": ("first", "first"),
    "second_second": ("second", "second"),
    "one_sided": ("first", "tie"),
    "none": ("tie", "tie"),
}


def same_quality_rows(
    *, tasks: int = 10, readings: Sequence[tuple[str, str]] | None = None, **counts: int
) -> list[ReadingRow]:
    """Rows of same-quality pairs: so many of each class, or these (ab, ba) readings; dealt out to tasks in turn."""
    if readings is None:
        readings = [CLASS_READINGS[name] for name, count in counts.items() for _ in range(count)]
    return [
        ReadingRow(
            stimulus=f"same{index:04}",
            probe="same_quality",
            arm="same_subset",
            task=f"task{index % tasks:02}",
            delta_q=0,
            order=order,
            outcome=outcome,
        )
        for index, pair in enumerate(readings)
        for order, outcome in zip(("ab", "ba"), pair, strict=True)
    ]


def same_quality(*, ties_allowed: bool = True, **how: object) -> Readings:
    return Readings.from_rows(same_quality_rows(**how), ties_allowed=ties_allowed)  # type: ignore[arg-type]


def vacuum_rows(*, first: int = 0, tie: int = 0, tasks: int = 10) -> list[ReadingRow]:
    outcomes = ["first"] * first + ["tie"] * tie
    return [
        ReadingRow(
            stimulus=f"vacuum{index:04}",
            probe="vacuum",
            arm=("empty", "whitespace", "identical")[index // tasks % 3],
            task=f"task{index % tasks:02}",
            order="ab",
            outcome=outcome,
        )
        for index, outcome in enumerate(outcomes)
    ]


def ladder_rows(correct: dict[int, tuple[int, int, int]], *, tasks: int = 10) -> list[ReadingRow]:
    """Prefix-arm rows: for each ΔQ, numbers of (correct, tie, wrong) readings, both orders, dealt out to tasks."""
    rows = []
    for delta_q, (right, tie, wrong) in correct.items():
        results = ["right"] * right + ["tie"] * tie + ["wrong"] * wrong
        assert len(results) % 2 == 0
        pairs = len(results) // 2
        for index, result in enumerate(results):
            pair, order = index % pairs, ("ab", "ba")[index // pairs]
            slot = {"ab": "first", "ba": "second"}[order]
            other = {"first": "second", "second": "first"}[slot]
            rows.append(
                ReadingRow(
                    stimulus=f"ladder{delta_q}-{pair:04}",
                    probe="ladder",
                    arm="prefix",
                    task=f"task{pair % tasks:02}",
                    delta_q=delta_q,
                    order=order,
                    outcome={"right": slot, "tie": "tie", "wrong": other}[result],
                )
            )
    return rows
