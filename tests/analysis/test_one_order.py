"""Logs that show one order alone, or hardly the other: what the slot could have made is not taken for content."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest

from datasheet.analysis.characterise import Characterisation, characterise
from datasheet.analysis.ladder import NEEDS_BOTH_ORDERS
from datasheet.analysis.presentations import orders_alike
from datasheet.readings import ReadingRow, Readings
from datasheet.records import LabelLogProbabilities, Outcome
from datasheet.sheet.build import SheetContext, build_sheet
from datasheet.sheet.content import sections

ARMS = ("prefix", "terse_better")
JUDGES = {
    "always first": {"k": 0.0, "c": 0.3, "b": 50.0},
    "mostly first": {"k": 0.0, "c": 0.3, "b": 1.5},
    "second": {"k": 0.0, "c": 0.3, "b": -50.0},
    "good": {"k": 0.9, "c": 0.6, "b": 0.2},
    "always tie": {"k": 0.0, "c": 90.0, "b": 0.0},
}
THRESHOLDS = ("threshold_75_empirical", "threshold_75", "threshold_75_marginal", "fc75")

Orders = Callable[[int], Sequence[str]]


def both(_: int) -> Sequence[str]:
    return ("ab", "ba")


def only_ab(_: int) -> Sequence[str]:
    return ("ab",)


def hardly_ba(pair: int) -> Sequence[str]:
    return ("ab", "ba") if pair % 10 == 0 else ("ab",)


def either(pair: int) -> Sequence[str]:
    return (("ab", "ba")[pair % 2],)


def outcomes(dials: dict[str, float], delta_q: int, orders: Sequence[str], rng: np.random.Generator) -> list[Outcome]:
    """Verdicts on one pair, whose wording pulls alike in both orders."""
    content = dials["k"] * delta_q + rng.normal(0, 0.5)
    evidence = [(1 if order == "ab" else -1) * (content + rng.normal(0, 0.87)) + dials["b"] for order in orders]
    return ["tie" if abs(x) < dials["c"] else "first" if x > 0 else "second" for x in evidence]


@cache
def found(judge: str, ladder: Orders, same: Orders | None = None) -> Characterisation:
    return characterise(log(judge, ladder, same))


def log(judge: str, ladder: Orders, same: Orders | None = None) -> Readings:
    """Twenty tasks of a ladder in two arms, and of same-quality pairs: in the same orders where none are named."""
    rng = np.random.default_rng(3)
    shapes = [("ladder", arm, delta_q) for arm in ARMS for delta_q in range(1, 6) for _ in range(2)]
    shapes += [("same_quality", "same_subset", 0)] * 3
    return Readings.from_rows(
        ReadingRow(
            stimulus=f"{task}-{place}",
            probe=probe,
            arm=arm,
            task=f"task{task:02}",
            delta_q=delta_q,
            order=order,
            outcome=outcome,
            length_a=20 + (15 if arm == "prefix" else -5) * delta_q + place % 2,
            length_b=20,
        )
        for task in range(20)
        for place, (probe, arm, delta_q) in enumerate(shapes)
        for orders in [(ladder if probe == "ladder" else same or ladder)(task + place)]
        for order, outcome in zip(orders, outcomes(JUDGES[judge], delta_q, orders, rng), strict=True)
    )


def states(of: Characterisation) -> dict[str, str]:
    return {flag.name: flag.state for flag in of.profile.flags}


@pytest.mark.parametrize("judge", JUDGES)
def test_in_one_order_no_threshold_is_measured_and_its_shares_are_flagged(judge: str) -> None:
    estimates = found(judge, only_ab).estimates
    for key in (*THRESHOLDS, "position", "position_in_steps", "stable_correlation"):
        assert (estimates[key].status, estimates[key].reason) == ("not_measured", NEEDS_BOTH_ORDERS), key
    for key in ("p_correct_1", "miss_by_tie_5", "wrong_choice_3", "p_correct_2@terse_better"):
        assert "confounded_with_position" in estimates[key].flags, key
    assert "confounded_with_position" not in estimates["p_correct_1@ab"].flags
    assert any("10 of 10 ladder steps" in note and "one order alone" in note for note in found(judge, only_ab).notes)


@pytest.mark.parametrize("judge", ["always first", "mostly first", "good"])
def test_in_one_order_no_flag_rests_on_shares_that_the_slot_could_have_made(judge: str) -> None:
    flags = {flag.name: flag for flag in found(judge, only_ab).profile.flags}
    for name in ("insensitive", "length-led", "conservative"):
        assert flags[name].state == "not_measured", name
        assert "in both orders" in flags[name].decides


def test_a_flag_rises_in_one_order_only_where_it_would_in_both() -> None:
    """Wrong each time in one order is P_correct of at most 1/2 over both."""
    for orders in (only_ab, both):
        assert states(found("second", orders))["insensitive"] == "raised"
    assert "over both between 0.000 and 0.5" in next(
        flag.rule for flag in found("second", only_ab).profile.flags if flag.name == "insensitive"
    )


def test_ties_everywhere_in_one_order_leave_too_little_for_the_other_to_mend() -> None:
    """P_correct(5) is at most 1/2, and miss-by-tie(1) at least 1/2, whatever the other order would show."""
    assert states(found("always tie", only_ab))["insensitive"] == "raised"
    assert states(found("always tie", only_ab))["conservative"] == "raised"


@pytest.mark.parametrize("judge", ["always first", "second"])
@pytest.mark.parametrize("same", [None, both])
def test_a_slot_that_is_always_taken_is_no_resolution(judge: str, same: Orders | None) -> None:
    """Neither where the ladder alone is in one order, and same-quality pairs tell the position."""
    estimates = found(judge, only_ab, same).estimates
    for key in ("resolution", "criterion", "noise_equivalent_delta_q", "length_slope", *THRESHOLDS):
        assert estimates[key].status in ("undetermined", "not_measured"), key


def test_the_resolution_is_told_from_the_slot_by_the_steps_alone() -> None:
    good, slot = (found(judge, only_ab).estimates["resolution"] for judge in ("good", "mostly first"))
    assert good.low is not None
    assert good.high is not None
    assert 0 < good.low < JUDGES["good"]["k"] < good.high
    assert slot.low is not None
    assert slot.high is not None
    assert slot.low < 0 < slot.high


def test_where_few_pairs_have_the_other_order_both_weigh_alike() -> None:
    slot, good = found("always first", hardly_ba), found("good", hardly_ba)
    assert slot.estimates["p_correct_5"].estimate == pytest.approx(0.5)
    assert slot.estimates["threshold_75_empirical"].low == 5
    assert states(slot)["insensitive"] == "raised"
    assert states(good)["insensitive"] == "cleared"
    # 40 readings and 4 are worth what 7.3 and 7.3 are.
    assert good.estimates["p_correct_5"].n == 15
    assert any("less than half as many presentations" in note and "4 against 40" in note for note in good.notes)


def test_each_pair_in_one_order_and_both_orders_among_them_is_as_good() -> None:
    """The position weighs out over pairs, too; only how stable preferences are needs both orders of one pair."""
    found_either = found("good", either)
    estimates = found_either.estimates
    assert all(estimates[key].status == "measured" for key in ("threshold_75_empirical", "threshold_75", "position"))
    assert estimates["stable_correlation"].status == "not_measured"
    assert "confounded_with_position" not in estimates["p_correct_1"].flags
    assert states(found_either)["insensitive"] == "cleared"
    assert states(found_either)["length-led"] == "cleared"
    assert not any("order" in note for note in found_either.notes)


def test_a_step_in_one_order_is_left_out_of_the_threshold() -> None:
    rows = log("good", lambda pair: ("ab", "ba"))
    kept = (rows.delta_q < 4) | (rows.order == 0)
    estimates = characterise(rows.where(kept)).estimates
    whole = found("good", both).estimates["threshold_75_empirical"]
    assert estimates["threshold_75_empirical"].estimate == whole.estimate
    assert estimates["threshold_75_empirical"].n == 240
    assert "confounded_with_position" in estimates["p_correct_4"].flags
    assert "confounded_with_position" not in estimates["p_correct_3"].flags


def test_orders_that_weigh_alike_are_worth_twice_the_harmonic_mean() -> None:
    order = np.array([0] * 90 + [1] * 10, dtype=np.int32)
    weights = orders_alike(np.ones(100), order)
    assert weights[order == 0].sum() == pytest.approx(weights[order == 1].sum())
    assert weights.sum() == pytest.approx(2 * (2 / (1 / 90 + 1 / 10)))
    # Kish's size of weights that differ.
    assert weights.sum() == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert (orders_alike(np.ones(90), order[:90]) == 1).all()


def test_the_sheet_explains_the_flag_and_draws_no_curve() -> None:
    context = SheetContext(
        judge={"name": "j", "judge_id": "j", "prompt": "p", "simulated": False, "ties_allowed": True},
        bank={}, design={}, operation=None, provenance={},
    )  # fmt: skip
    sheet = build_sheet(found("good", only_ab), log("good", only_ab), context)
    assert sheet["curves"]["model"] == []
    remarks = [sentence for section in sections(sheet) for _, sentence in section.remarks]
    assert any(sentence.startswith("Confounded with position: of one order alone") for sentence in remarks)


@pytest.mark.parametrize(("doses", "told"), [((2,), False), ((1, 3), True)])
def test_a_channel_at_one_dose_and_in_one_order_is_not_told_from_the_slot(doses: Sequence[int], told: bool) -> None:
    """A judge of the first slot alone: with two doses, the slope is told to be none by how little they differ."""
    rng = np.random.default_rng(0)
    dials = {"k": 0.0, "c": 0.3, "b": 1.2}
    rows = Readings.from_rows(
        ReadingRow(
            stimulus=f"{task}-{dose}-{pair}", probe="channel", arm="hedging", task=f"task{task:02}", delta_q=0,
            dose=dose, order="ab", outcome=outcomes(dials, 0, ("ab",), rng)[0],
        )
        for task in range(20) for dose in doses for pair in range(4)
    )  # fmt: skip
    slope = characterise(rows).estimates["channel_slope@hedging"]
    if told:
        assert slope.low is not None
        assert slope.high is not None
        assert slope.low < 0 < slope.high < 0.5
    else:
        assert (slope.status, slope.reason) == ("not_measured", NEEDS_BOTH_ORDERS)


def soft_log(delta_qs: Sequence[int], k: float, b: float) -> Readings:
    """Order ab of pairs whose labels are read out of the evidence on a logistic scale of 0.4 sd, ties beyond 0.5."""
    rng = np.random.default_rng(0)
    rows = []
    for task in range(20):
        for pair, delta_q in enumerate(delta_qs):
            x = k * delta_q + b + rng.normal()
            first, second = (1 / (1 + np.exp(-(sign * x - 0.5) / 0.4)) for sign in (1, -1))
            shares = {"first": np.log(first), "tie": np.log(1 - first - second), "second": np.log(second)}
            rows.append(
                ReadingRow(
                    stimulus=f"{task}-{pair}", probe="ladder", arm="prefix", task=f"task{task}", delta_q=delta_q,
                    order="ab", outcome="tie" if abs(x) < 0.5 else "first" if x > 0 else "second",
                    labels=LabelLogProbabilities(**shares, floor=-60.0),
                )
            )  # fmt: skip
    return Readings.from_rows(rows)


@pytest.mark.parametrize(("k", "b"), [(0.8, 0.3), (0.0, 3.0)])
def test_soft_figures_of_one_order_hold_nothing_of_the_slot_either(k: float, b: float) -> None:
    estimates = characterise(soft_log([1, 2, 3, 4, 5] * 3, k, b)).estimates
    for key in ("position@soft", "threshold_75@soft"):
        assert (estimates[key].status, estimates[key].reason) == ("not_measured", NEEDS_BOTH_ORDERS)
    resolution = estimates["resolution@soft"]
    assert resolution.low is not None
    assert resolution.high is not None
    assert resolution.low < k < resolution.high < k + 0.3
    assert characterise(soft_log([3] * 9, k, b)).estimates["resolution@soft"].status == "undetermined"
