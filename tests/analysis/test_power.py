"""What a plan is said to buy, against logs with a known truth.

The fast layer of ``benchmarks/validity/plans.py``: few logs, so that its bounds leave room for chance.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from plans import readings_drawn, share_figures

from datasheet.analysis.model import measure
from datasheet.analysis.power import (
    PLANNED,
    PlannedWidth,
    planned_share,
    planned_widths,
    systems_compared,
)
from datasheet.readings import Readings
from datasheet.stimulus.bank import load_bank
from datasheet.stimulus.design import plan
from datasheet.workflows.precision import planned_readings

KEYS = (
    *("dark_current", "stable_cross_sensitivity", "positional_false_preference", "p_correct_1"),
    *("threshold_75", "resolution", "criterion", "position"),
)


def planned(design: str, *, ties_allowed: bool = True) -> Readings:
    return planned_readings(plan(load_bank("english"), design), ties_allowed=ties_allowed)


def by_key(readings: Readings) -> dict[str, PlannedWidth]:
    return {width.key: width for width in planned_widths(readings)}


@pytest.fixture(scope="module")
def paper() -> Readings:
    return planned("paper")


@pytest.mark.parametrize(("share", "a_task"), [(0.05, 3), (0.3, 6), (0.5, 10), (0.9, 10)])
def test_the_width_and_the_smallest_difference_of_a_share_come_true(share: float, a_task: int) -> None:
    width = planned_share("some_share", share, np.full(20, float(a_task)))
    half_width, detected = share_figures(width, 1000, np.random.default_rng(5))
    assert half_width == pytest.approx(width.half_width, rel=0.12)
    assert detected == pytest.approx(0.8, abs=0.06)


def test_the_widths_of_the_joint_model_come_true(paper: Readings) -> None:
    rng, widths = np.random.default_rng(7), by_key(paper)
    logs = [measure(readings_drawn(paper, PLANNED, rng)).estimates for _ in range(25)]
    for key in ("threshold_75", "resolution", "criterion", "position"):
        halves = [(log[key].high - log[key].low) / 2 for log in logs]  # type: ignore[operator]
        assert np.mean(halves) == pytest.approx(widths[key].half_width, rel=0.15), key
        off = np.abs(np.array([log[key].estimate for log in logs], dtype=float) - widths[key].value)
        assert np.mean(off <= widths[key].half_width) > 0.85, key


def test_a_plan_tells_each_main_quantity_once_with_what_it_rests_on(paper: Readings) -> None:
    widths = planned_widths(paper)
    assert tuple(width.key for width in widths) == KEYS
    assert [width.n for width in widths] == [30, 60, 60, 100, 210, 210, 210, 210]
    assert {width.n_clusters for width in widths} == {10}


def test_the_published_design_tells_the_threshold_to_a_quarter_or_so(paper: Readings) -> None:
    """Ten tasks with a spread of .3: 25 to 30 percent, whatever the number of calls."""
    threshold = by_key(paper)["threshold_75"]
    assert 0.24 < threshold.half_width / threshold.value < 0.32


def test_outcomes_do_not_count(paper: Readings) -> None:
    drawn = readings_drawn(paper, PLANNED, np.random.default_rng(1))
    assert [width.half_width for width in planned_widths(drawn)] == pytest.approx(
        [width.half_width for width in planned_widths(paper)]
    )


def test_a_larger_plan_buys_narrower_limits_and_smaller_effects() -> None:
    small, large = by_key(planned("quick")), by_key(planned("standard"))
    assert small.keys() == large.keys()
    for key in small:
        assert large[key].half_width < small[key].half_width
        assert large[key].detectable < small[key].detectable


def test_without_ties_there_is_neither_dark_current_nor_criterion() -> None:
    widths = by_key(planned("quick", ties_allowed=False))
    assert set(widths) == set(KEYS) - {"dark_current", "criterion"}
    shares = widths["stable_cross_sensitivity"].value + widths["positional_false_preference"].value
    assert shares == pytest.approx(1.0, abs=1e-6)


def test_a_plan_without_a_ladder_tells_of_shares_alone(paper: Readings) -> None:
    vacuum = paper.of_probe("vacuum")
    assert [width.key for width in planned_widths(vacuum)] == ["dark_current"]
    one_order = paper.where(paper.order == 0)
    assert "resolution" not in by_key(one_order)


def test_one_task_has_no_student_but_a_normal() -> None:
    alone = planned_share("some_share", 0.5, np.array([12.0]))
    assert 0 < alone.half_width < 0.5


def test_a_spread_of_tasks_widens_the_resolution(paper: Readings, monkeypatch: pytest.MonkeyPatch) -> None:
    spread = by_key(paper)["resolution"].half_width
    monkeypatch.setattr("datasheet.analysis.power.PLANNED", replace(PLANNED, task_spread=1e-9))
    assert by_key(paper)["resolution"].half_width < 0.9 * spread


def test_more_systems_take_more_prompts_in_each_of_more_comparisons() -> None:
    two, five = systems_compared(2), systems_compared(5)
    assert (two.comparisons, five.comparisons) == (1, 10)
    # Two-sided 5%, power 80%, .6 against .5: n = ((1.960 · .5 + .842 · .490)/.1)².
    assert two.prompts == 194
    assert two.calls == 2 * 194
    assert five.prompts > two.prompts
    assert five.calls == 2 * 10 * five.prompts


def test_the_prompts_that_are_told_detect_the_win_rate_as_often_as_is_told() -> None:
    wins = np.random.default_rng(3).binomial(194, 0.6, 4000)
    rate = wins / 194
    assert np.mean(np.abs(rate - 0.5) > 1.96 * 0.5 / np.sqrt(194)) == pytest.approx(0.8, abs=0.04)
