"""Laws that hold on any log: the identity of the rates, permuted rows, relabelled contents, mirrored slots."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from readings_made import ladder_rows

from datasheet.analysis.rates import rates_of
from datasheet.readings import ReadingRow, Readings

OUTCOMES = st.sampled_from(["first", "tie", "second", None])


def row_lists(outcomes: st.SearchStrategy[str | None] = OUTCOMES) -> st.SearchStrategy[list[ReadingRow]]:
    pair = st.tuples(st.integers(0, 3), st.lists(st.tuples(outcomes, outcomes), min_size=1, max_size=2))

    def rows(pairs: list[tuple[int, list[tuple[str | None, str | None]]]]) -> list[ReadingRow]:
        return [
            ReadingRow(
                stimulus=f"s{index}",
                probe="same_quality",
                arm="same_subset",
                task=f"t{task}",
                delta_q=0,
                order=order,
                repeat=repeat,
                outcome=outcome,
                invalid=None if outcome else "no_verdict",
            )
            for index, (task, repeats) in enumerate(pairs)
            for repeat, both in enumerate(repeats)
            for order, outcome in zip(("ab", "ba"), both, strict=True)
        ]

    return st.lists(pair, min_size=1, max_size=12).map(rows)


@settings(deadline=None, max_examples=40)
@given(row_lists())
def test_the_identity_holds_on_any_log(rows: list[ReadingRow]) -> None:
    """Classes sum to 1 and raw = SCS + PFP + OC + OSC/2, counted here from the rows alone."""
    found = rates_of(Readings.from_rows(rows))

    def value(key: str) -> float | None:
        return found.estimates[key].estimate

    scores: dict[str, list[float]] = {}
    by_pair: dict[tuple[str, int], dict[str, str | None]] = {}
    for row in rows:
        by_pair.setdefault((row.stimulus, row.repeat), {})[row.order] = row.outcome
    for (stimulus, _), pair in by_pair.items():
        if None not in pair.values():
            scores.setdefault(stimulus, []).append(sum(outcome != "tie" for outcome in pair.values()) / 2)
    if not scores:
        assert found.estimates["raw_false_preference"].status == "not_measured"
        return
    raw = np.mean([np.mean(of_pair) for of_pair in scores.values()])
    assert value("raw_false_preference") == pytest.approx(raw)
    scs, pfp, osc, none = (
        value(key)
        for key in (
            "stable_cross_sensitivity",
            "positional_false_preference",
            "one_sided_commitment",
            "no_preference",
        )
    )
    assert None not in (scs, pfp, osc, none)
    assert scs + pfp + osc + none == pytest.approx(1)  # type: ignore[operator]
    assert scs + pfp + osc / 2 == pytest.approx(raw)  # type: ignore[operator]
    assert value("first_first") + value("second_second") == pytest.approx(pfp)  # type: ignore[operator]


@settings(deadline=None, max_examples=40)
@given(row_lists(), st.randoms(use_true_random=False))
def test_permuting_rows_changes_nothing(rows: list[ReadingRow], random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert rates_of(Readings.from_rows(shuffled)).estimates == rates_of(Readings.from_rows(rows)).estimates


def relabelled(row: ReadingRow) -> ReadingRow:
    """Contents renamed: a becomes b, so order ab becomes ba; what stands in each slot stays."""
    return replace(row, order={"ab": "ba", "ba": "ab"}[row.order])


def mirrored(row: ReadingRow) -> ReadingRow:
    """Slots mirrored: what was first is second, and verdicts with it."""
    slots = {"first": "second", "second": "first"}
    outcome = slots.get(row.outcome, row.outcome) if row.outcome else None
    return replace(row, order={"ab": "ba", "ba": "ab"}[row.order], outcome=outcome)


@settings(deadline=None, max_examples=40)
@given(row_lists())
def test_relabelling_contents_and_mirroring_slots(rows: list[ReadingRow]) -> None:
    found = rates_of(Readings.from_rows(rows)).estimates
    renamed = rates_of(Readings.from_rows([relabelled(row) for row in rows])).estimates
    turned = rates_of(Readings.from_rows([mirrored(row) for row in rows])).estimates
    classes = ("stable_cross_sensitivity", "positional_false_preference", "one_sided_commitment", "no_preference")
    for key in (*classes, "first_first", "second_second", "raw_false_preference"):
        assert renamed[key] == found[key]
    for key in (*classes, "raw_false_preference"):
        assert turned[key].estimate == pytest.approx(found[key].estimate)
    assert turned["first_first"] == found["second_second"]
    assert turned["second_second"] == found["first_first"]


def test_relabelling_turns_the_ladder_round_and_mirroring_leaves_it() -> None:
    rows = ladder_rows({1: (30, 10, 20)})
    found = rates_of(Readings.from_rows(rows)).estimates
    renamed = rates_of(Readings.from_rows([relabelled(row) for row in rows])).estimates
    turned = rates_of(Readings.from_rows([mirrored(row) for row in rows])).estimates
    assert renamed["p_correct_1"] == found["wrong_choice_1"]
    assert turned["p_correct_1"] == found["p_correct_1"]
    assert turned["p_correct_1@ab"] == found["p_correct_1@ba"]


@settings(deadline=None, max_examples=40)
@given(row_lists())
def test_bounds_of_missing_readings_hold_the_share(rows: list[ReadingRow]) -> None:
    found = rates_of(Readings.from_rows(rows))
    for key, bound in found.missing.items():
        share = found.estimates[key].estimate
        assert 0 <= bound.lowest <= bound.highest <= 1
        if share is not None:
            assert bound.lowest - 1e-12 <= share <= bound.highest + 1e-12
