"""Diagnostics of the measurement model: unequal steps, lapses, and a vacuum beside equal answers."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from observers import OBSERVERS, Observer, drawn, structure, true_threshold
from scipy.optimize import brentq, minimize
from scipy.stats import f as fisher
from scipy.stats import norm
from scipy.stats import t as student_t
from statsmodels.stats.proportion import confint_proportions_2indep

from datasheet.analysis.characterise import characterise
from datasheet.analysis.diagnostics import LAPSE_RATES, Diagnostics, diagnose
from datasheet.analysis.intervals import clustered_share
from datasheet.analysis.measurement import fit_measurement
from datasheet.analysis.model import NO_TIES, ModelFinding, measure
from datasheet.analysis.vacuum import vacuum_difference
from datasheet.readings import UNKNOWN, Readings

shown = cache(structure)


def test_diagnostics_of_equal_and_of_unequal_steps() -> None:
    """Steps that are worth more where more is met already are found unequal, equal ones are not."""
    found = characterise(drawn(shown("standard"), OBSERVERS["mid"], 0.0, np.random.default_rng(3)))
    assert found.diagnostics.steps_p is not None
    assert found.diagnostics.steps_p > 0.01
    assert found.model.fit is not None
    assert found.model.fit.converged
    steep = replace(OBSERVERS["mid"], k=0.9, step_inequality=0.9)
    found = characterise(drawn(shown("standard"), steep, 0.0, np.random.default_rng(3)))
    assert found.diagnostics.steps_p is not None
    assert found.diagnostics.steps_p < 0.01
    slope = found.estimates["base_level_slope"]
    assert slope.low is not None
    assert slope.low > 0


@cache
def judged(observer: Observer, design: str, seed: int) -> Diagnostics:
    return diagnose(measure(drawn(shown(design), observer, 0.0, np.random.default_rng(seed))))


def test_the_slope_of_the_base_level_is_that_of_the_observer() -> None:
    """Evidence is k D (1 + s (L + (D - 5)/2)/2) where the worse answer meets L: dk/dL is ks/2 at every D.

    The free means take what else depends on D. Over six logs, within three standard errors of their mean.
    """
    observer = replace(OBSERVERS["mid"], k=0.9, step_inequality=0.9)
    found = [judged(observer, "standard", seed).base_level_slope for seed in range(6)]
    values = np.array([slope.estimate for slope in found], dtype=float)
    halves = np.array([slope.high - slope.low for slope in found]) / 2  # type: ignore[operator]
    standard_error = float(np.sqrt((halves**2).mean())) / student_t.ppf(0.975, 19) / np.sqrt(len(found))
    truth = 0.9 * 0.9 / 2
    assert standard_error < truth / 5
    assert abs(values.mean() - truth) < 3 * standard_error
    assert np.abs(values - truth).max() < 2 * halves.max()


def largest_log_likelihood(model: ModelFinding, *, free_steps: bool) -> tuple[float, int]:
    """Of pairs in both orders without a task spread, and how many parameters it takes.

    Evidence k D, or a mean for each D and D times a slope of the base level. The two orders are independent given the
    stable preference, over which Gauss and Hermite integrate.
    """
    assert model.made is not None
    table, base = model.made.table, model.made.base_level
    columns = [table.delta_q]
    if free_steps:
        columns = [(table.delta_q == step) * 1.0 for step in np.unique(table.delta_q[table.delta_q > 0])]
        columns.append(table.delta_q * base)
    design, kind = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    counts = np.zeros((len(design), 3, 3))
    np.add.at(counts, (kind.ravel(), table.content_ab + 1, table.content_ba + 1), table.weight)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()

    def negative(values: np.ndarray) -> float:  # type: ignore[type-arg]
        *means, b, log_c, logit_rho = values
        c, rho = np.exp(log_c), 1 / (1 + np.exp(-logit_rho))
        x = (design @ means)[:, None, None] + np.sqrt(rho) * nodes[:, None]
        cuts = np.array([-np.inf, -c, c, np.inf])
        ab, ba = (np.diff(norm.cdf((cuts - x - sign * b) / np.sqrt(1 - rho)), axis=2) for sign in (1, -1))
        cells = np.einsum("q,kqi,kqj->kij", weights, ab, ba)
        return -float((counts * np.log(np.maximum(cells, 1e-300))).sum())

    means = [*0.6 * np.arange(1, 6), 0.0] if free_steps else [0.6]
    best = minimize(negative, [*means, 0.3, np.log(0.5), -0.4])
    return -float(best.fun), len(best.x)


@pytest.mark.parametrize("step_inequality", [0.0, 0.4])
def test_the_p_of_equal_steps_is_that_of_f_over_the_extra_parameters(step_inequality: float) -> None:
    """Against scipy's F of a likelihood ratio worked out here, without priors, which are too weak to move it far."""
    observer = replace(OBSERVERS["mid"], step_inequality=step_inequality)
    model = measure(drawn(shown("paper"), observer, 0.0, np.random.default_rng(8)))
    assert model.made is not None
    fixed = ("log_task_spread",)
    fit = fit_measurement(model.made.table, model.made.covariates, fixed=fixed)
    equal, n_equal = largest_log_likelihood(model, free_steps=False)
    free, n_free = largest_log_likelihood(model, free_steps=True)
    extra = n_free - n_equal
    assert extra == 5
    ratio = 2 * (free - equal)
    found = diagnose(replace(model, fit=fit, fixed=fixed)).steps_p
    assert found == pytest.approx(fisher.sf(ratio / extra, extra, 10 - 1), rel=0.02)


def test_equal_steps_are_seldom_said_to_be_unequal() -> None:
    """Of twenty logs at the level .05, and p is as often below one half as above."""
    p = np.array([judged(OBSERVERS["mid"], "paper", seed).steps_p for seed in range(20)], dtype=float)
    assert (p < 0.05).sum() <= 3
    assert 0.25 < p.mean() < 0.8


def test_lapses_make_a_judge_look_worse_than_it_is() -> None:
    """With a rate of lapses granted, the same readings say more resolution."""
    found = characterise(drawn(shown("paper"), OBSERVERS["sharp"], 0.0, np.random.default_rng(1)))
    assert found.model.fit is not None
    lapses = found.diagnostics.lapses
    assert tuple(fit.lapse_rate for fit in lapses) == LAPSE_RATES
    rising = [found.model.fit.parameters.resolution, *(fit.resolution for fit in lapses[:2])]
    assert rising == sorted(rising)


def test_a_judge_that_lapses_is_found_and_its_figures_carry_a_flag() -> None:
    """The refit with lapses comes nearer to its threshold than the model's own does."""
    observer = OBSERVERS["lapses"]
    found = characterise(drawn(shown("standard"), observer, 0.0, np.random.default_rng(5)))
    assert found.diagnostics.lapses_p is not None
    assert found.diagnostics.lapses_p < 0.001
    flagged = {key for key, estimate in found.estimates.items() if "lapses" in estimate.flags}
    assert {"resolution", "criterion", "position", "stable_correlation", "threshold_75"} <= flagged
    assert not {"position_in_steps", "task_spread", "p_correct_1", "dark_current"} & flagged
    assert any("lapse" in note for note in found.notes)
    best, printed = found.diagnostics.likeliest_lapses, found.estimates["threshold_75"].estimate
    assert best is not None
    assert best.threshold_75 is not None
    assert printed is not None
    truth = true_threshold(observer)
    assert abs(best.threshold_75 - truth) < abs(printed - truth)


@pytest.mark.parametrize(
    ("name", "tau", "tasks_named"), [("lapses", 0.0, True), ("mid", 0.3, True), ("lapses", 0.0, False)]
)
def test_the_model_at_a_rate_of_lapses_is_that_of_a_fit_of_its_own(name: str, tau: float, tasks_named: bool) -> None:
    """A fit from the table's own start; the threshold by another root finder, the gain from both likelihoods.

    Without named tasks no task spread is fitted, with lapses as little as without.
    """
    columns = drawn(shown("standard"), OBSERVERS[name], tau, np.random.default_rng(5)).to_columns()
    unnamed = {} if tasks_named else {"task": [UNKNOWN] * len(columns["task"]), "tasks": []}
    model = measure(Readings.from_columns(columns | unnamed))
    assert ("log_task_spread" in model.fixed) is not tasks_named
    made, without = model.made, model.fit
    assert made is not None
    assert without is not None
    lapses = diagnose(model).lapses
    assert [line.lapse_rate for line in lapses] == list(LAPSE_RATES)
    for line in lapses:
        rate = line.lapse_rate
        fit = fit_measurement(made.table, made.covariates, fixed=model.fixed, lapse_rate=rate)
        k, b, c = fit.parameters.resolution, fit.parameters.position, fit.parameters.criterion
        assert (line.resolution, line.criterion, line.position) == pytest.approx((k, c, b), rel=2e-3), rate
        assert line.gain == pytest.approx(2 * (fit.log_likelihood - without.log_likelihood), abs=0.02), rate

        def off(delta: float, k: float = k, b: float = b, c: float = c, rate: float = rate) -> float:
            right = (norm.cdf(k * delta + b - c) + norm.cdf(k * delta - b - c)) / 2
            return float((1 - rate) * right + rate / 3) - 0.75

        reaches = 1 - rate + rate / 3 > 0.75
        assert (line.threshold_75 is not None) is reaches
        if reaches:
            assert line.threshold_75 == pytest.approx(brentq(off, 0.01, 40), rel=2e-3), rate


def test_granting_lapses_gains_where_calls_lapse_and_loses_where_none_do() -> None:
    """Clear differences tell: at 5 steps the sharp judge all but never errs, unless it lapses."""
    gains = {}
    for rate in (0.0, 0.05, 0.2):
        observer = replace(OBSERVERS["sharp"], lapse=rate)
        model = measure(drawn(shown("standard"), observer, 0.0, np.random.default_rng(5)))
        gains[rate] = {line.lapse_rate: line.gain for line in diagnose(model).lapses}
    assert max(gains[0.0].values()) < 4
    assert gains[0.0][0.1] < -10
    assert gains[0.0][0.4] < gains[0.0][0.2] < gains[0.0][0.1]
    for rate in (0.05, 0.2):
        best = max(gains[rate], key=lambda granted: gains[rate][granted])
        assert gains[rate][rate] > 10
        assert best == rate


def test_judges_that_do_not_lapse_are_seldom_said_to() -> None:
    """Of twenty logs at the level .05, with margin for chance (P of four or more is .016)."""
    p = [judged(OBSERVERS["mid"], "paper", seed).lapses_p for seed in range(20)]
    assert all(value is not None for value in p)
    assert sum(value < 0.05 for value in p if value is not None) <= 3


@pytest.mark.parametrize(("dark", "raw"), [((3, 60), (30, 60)), ((0, 40), (0, 40)), ((40, 40), (20, 30))])
def test_the_difference_of_independent_shares_has_newcombes_limits(dark: tuple[int, int], raw: tuple[int, int]) -> None:
    """As statsmodels gives them."""
    shares = [clustered_share(np.repeat([1.0, 0.0], [k, n - k]), np.ones(n)) for k, n in (dark, raw)]
    difference = vacuum_difference(*shares)
    low, high = confint_proportions_2indep(*dark, *raw, method="newcomb", compare="diff")
    assert (difference.low, difference.high) == pytest.approx((low, high), abs=1e-9)
    assert difference.estimate == pytest.approx(dark[0] / dark[1] - raw[0] / raw[1])


@pytest.mark.parametrize(("criterion", "covers_0"), [(0.5, True), (2.5, False)])
def test_a_vacuum_criterion_of_its_own_is_found(criterion: float, covers_0: bool) -> None:
    """The judge that treats a vacuum like any equal pair is not told apart, one with another criterion is."""
    observer = replace(OBSERVERS["mid"], vacuum_criterion=criterion)
    found = characterise(drawn(shown("standard"), observer, 0.2, np.random.default_rng(2)))
    difference = found.estimates["vacuum_difference"]
    assert difference.low is not None
    assert difference.high is not None
    assert (difference.low <= 0 <= difference.high) is covers_0


def test_without_ties_there_is_no_such_difference() -> None:
    """Each reading is a preference by construction."""
    columns = shown("paper").to_columns()
    forced = Readings.from_columns(columns | {"outcome": [0] * len(shown("paper")), "ties_allowed": False})
    found = characterise(forced)
    assert found.estimates["vacuum_difference"].reason == NO_TIES
