"""The test of equal steps where a ladder has more of them than anyone would give a mean each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chi2, kstest
from scipy.stats import f as fisher

from datasheet.analysis import diagnostics
from datasheet.analysis.diagnostics import MOST_STEP_GROUPS, diagnose
from datasheet.analysis.model import ModelFinding, measure
from datasheet.readings import ReadingRow, Readings

TOP = 60
"""Steps of the finest ladder here."""


def fine_ladder(seed: int, *, top: int = TOP, bend: float = 0.0, orders: Sequence[str] = ("ab", "ba")) -> ModelFinding:
    """Ten tasks of thirty pairs; the largest step is worth 3 sd, with a bend the middle ones less than their share."""
    rng = np.random.default_rng(seed)
    rows = []
    for pair in range(300):
        delta_q = int(rng.integers(1, top + 1))
        share = delta_q / top
        content = 3 * share - bend * share * (1 - share) + rng.normal(0, 0.5)
        for order in orders:
            sign = 1 if order == "ab" else -1
            evidence = sign * (content + rng.normal(0, 0.87)) + 0.2
            rows.append(
                ReadingRow(
                    stimulus=f"{pair}",
                    probe="ladder",
                    arm="prefix",
                    task=f"task{pair % 10}",
                    delta_q=delta_q,
                    order=order,
                    outcome="tie" if abs(evidence) < 0.5 else "first" if evidence > 0 else "second",
                )
            )
    return measure(Readings.from_rows(rows))


@pytest.fixture(autouse=True)
def no_lapses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refits with lapses take most of the time, and are another question."""
    monkeypatch.setattr(diagnostics, "LAPSE_RATES", ())


def steps_p(model: ModelFinding) -> float:
    p = diagnose(model).steps_p
    assert p is not None
    return p


def test_where_all_steps_are_equal_the_ratio_is_chi_squared_with_a_degree_less_than_groups() -> None:
    """Over fifteen logs; with F on so few tasks p is then too large, if anything."""
    extra = MOST_STEP_GROUPS - 1
    p = np.array([steps_p(fine_ladder(seed)) for seed in range(15)])
    ratios = extra * fisher.isf(p, extra, 10 - 1)
    assert kstest(ratios, chi2(extra).cdf).pvalue > 0.05
    # Neighbouring degrees of freedom, such as those of a mean for each of the sixty steps, would not do.
    assert kstest(ratios, chi2(extra + 5).cdf).pvalue < 0.01
    assert (p < 0.05).sum() <= 3


def test_a_bend_over_many_steps_is_found() -> None:
    assert max(steps_p(fine_ladder(seed, bend=5.0)) for seed in range(3)) < 0.01


def test_the_groups_are_of_neighbours_and_weigh_about_alike() -> None:
    made = fine_ladder(1).made
    assert made is not None
    group = diagnostics._step_groups(made)
    delta_q, weight = made.table.delta_q, made.table.counts.sum(axis=0)
    edges = [(delta_q[group == code].min(), delta_q[group == code].max()) for code in range(MOST_STEP_GROUPS)]
    assert all(below[1] < above[0] for below, above in pairwise(edges))
    weights = np.bincount(group, weights=weight)
    assert len(weights) == MOST_STEP_GROUPS
    assert weights.sum() == pytest.approx(300)
    # No group is off by more than the steps at its two edges weigh.
    heaviest = max(weight[delta_q == step].sum() for step in np.unique(delta_q))
    assert np.abs(weights - 300 / MOST_STEP_GROUPS).max() <= heaviest


@pytest.mark.parametrize(("orders", "extra"), [(("ab", "ba"), 4), (("ab",), 3)])
def test_an_intercept_takes_a_degree_of_freedom(orders: Sequence[str], extra: int) -> None:
    """Five steps have five means; in one order the model has two parameters for them, resolution and position."""
    made = fine_ladder(2, top=5, orders=orders).made
    assert made is not None
    assert len(diagnostics._free_means(made)) == extra


def test_where_the_model_has_a_parameter_for_each_mean_nothing_is_left_to_test() -> None:
    """Three steps in one order, and lengths that go with them: resolution, position and length make up all means."""
    rng = np.random.default_rng(0)
    rows = [
        ReadingRow(
            stimulus=f"{task}-{delta_q}-{pair}",
            probe="ladder",
            arm="mine",
            task=f"task{task}",
            delta_q=delta_q,
            order="ab",
            outcome="first" if rng.random() < 0.5 + 0.1 * delta_q else "tie",
            length_a=10 * delta_q**2,
            length_b=10,
        )
        for task in range(10)
        for delta_q in (1, 2, 3)
        for pair in range(4)
    ]
    model = measure(Readings.from_rows(rows))
    assert model.made is not None
    assert model.made.covariates == ("length",)
    assert diagnose(model).steps_p is None
