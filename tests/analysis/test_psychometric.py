"""Psychometric functions, against published fits, statsmodels, psignifit, brute force and simulation."""

from __future__ import annotations

import json
from math import exp, inf, log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import binomtest
from statsmodels.genmod.families import Binomial
from statsmodels.genmod.families.links import CLogLog, Logit, Probit
from statsmodels.genmod.generalized_linear_model import GLM

from datasheet.analysis.psychometric import (
    FamilyName,
    PsychometricFit,
    fit_psychometric,
    fit_psychometric_batch,
    share_correct,
)
from datasheet.analysis.psychometric_curve import FAMILIES
from datasheet.analysis.psychometric_likelihood import Likelihood
from datasheet.errors import EstimationError
from datasheet.records import Estimate

REFERENCE = Path(__file__).parents[1] / "reference" / "psychometric"
CRITICAL = 3.841458820694124

TWO_AFC = (
    [0.001, 0.0015, 0.002, 0.0025, 0.003, 0.0035, 0.004, 0.0045, 0.005, 0.006, 0.007, 0.008, 0.01],
    [45, 50, 44, 44, 52, 53, 62, 64, 76, 79, 88, 90, 90],
    [90] * 13,
)
PALAMEDES = ([0.01, 0.03, 0.05, 0.07, 0.09, 0.11], [59, 53, 68, 83, 92, 99], [100] * 6)
BEETLES = (
    [1.6907, 1.7242, 1.7552, 1.7842, 1.8113, 1.8369, 1.8610, 1.8839],
    [6, 13, 18, 28, 52, 53, 61, 60],
    [59, 60, 62, 56, 63, 59, 62, 60],
)


def limits(estimate: Estimate) -> tuple[float | None, float | None]:
    return estimate.low, estimate.high


def found(fit: PsychometricFit, name: str) -> object:
    if name.endswith("_limits"):
        return list(limits(getattr(fit, name.removesuffix("_limits"))))
    value = getattr(fit, name)
    return value.estimate if isinstance(value, Estimate) else value


def test_reference_cases() -> None:
    paths = sorted(REFERENCE.glob("case_*.json"))
    assert len(paths) == 17
    for path in paths:
        case = json.loads(path.read_text(encoding="utf-8"))
        assert case["source"]
        assert case["made_with"]
        fit = fit_psychometric(**case["data"])
        for name, expected in case["expected"].items():
            assert found(fit, name) == pytest.approx(expected, rel=case["rtol"], abs=1e-9), (path.name, name)


# Family, lapse rate, t, w, -log L, and the 95% profile limits of t and w, as published to four or five figures.
PUBLISHED_2AFC = [
    ("probit", 0.0, 0.004648, 0.004659, 565.9552, (0.004356, 0.004944), (0.003721, 0.005837)),
    ("probit", "mle", 0.004648, 0.004659, 565.9552, (0.004356, 0.004944), (0.003721, 0.005837)),
    ("probit", "map", 0.004648, 0.004659, 565.9552, (0.004356, 0.004944), (0.003721, 0.005837)),
    ("probit", 0.02, 0.004542, 0.004312, 569.4821, (0.004246, 0.004843), (0.003281, 0.005556)),
    ("logit", 0.0, 0.004633, 0.004817, 566.5364, (0.004344, 0.004930), (0.003768, 0.006135)),
    ("logit", 0.02, 0.004528, 0.004429, 569.9762, (0.004237, 0.004828), (0.003292, 0.005810)),
]
PUBLISHED_PALAMEDES = [
    ("logit", 0.0, 0.060126, 0.092156, 280.3118, (0.052567, 0.067167), (0.066733, 0.128057)),
    ("logit", 0.02, 0.058401, 0.082926, 281.0842, (0.050716, 0.065543), (0.056416, 0.119435)),
    ("probit", 0.0, 0.060183, 0.088355, 280.2370, (0.052469, 0.067293), (0.065655, 0.120152)),
]


@pytest.mark.parametrize(
    ("counts", "row"), [*((TWO_AFC, row) for row in PUBLISHED_2AFC), *((PALAMEDES, row) for row in PUBLISHED_PALAMEDES)]
)
def test_published_fits(counts: tuple[list[float], list[int], list[int]], row: tuple) -> None:
    family, lapse_rate, threshold, width, cost, threshold_limits, width_limits = row
    fit = fit_psychometric(*counts, family=family, guess_rate=0.5, lapse_rate=lapse_rate)
    assert fit.threshold.estimate == pytest.approx(threshold, rel=1e-3)
    assert fit.width.estimate == pytest.approx(width, rel=1e-3)
    assert fit.log_likelihood == pytest.approx(-cost, rel=1e-6)
    assert limits(fit.threshold) == pytest.approx(threshold_limits, rel=1e-3)
    assert limits(fit.width) == pytest.approx(width_limits, rel=1e-3)
    assert fit.flags == ()


@pytest.mark.parametrize(
    ("family", "lapse_rate", "beta"), [("logit", 0.0, 63.901), ("logit", 0.02, 71.014), ("probit", 0.0, 37.233)]
)
def test_slope_is_that_of_palamedes(family: FamilyName, lapse_rate: float, beta: float) -> None:
    fit = fit_psychometric(*PALAMEDES, family=family, guess_rate=0.5, lapse_rate=lapse_rate)
    assert fit.slope.estimate == pytest.approx(beta, rel=1e-3)
    constant = fit.slope.estimate * fit.width.estimate
    assert limits(fit.slope) == pytest.approx((constant / fit.width.high, constant / fit.width.low))


LINKS = {"logit": Logit, "probit": Probit, "gumbel": CLogLog}


@pytest.mark.parametrize("family", sorted(LINKS))
@pytest.mark.parametrize("seed", range(4))
def test_without_guesses_and_lapses_it_is_a_generalised_linear_model(family: FamilyName, seed: int) -> None:
    rng = np.random.default_rng(seed)
    levels = np.sort(rng.uniform(-3, 4, 7))
    n = rng.integers(20, 60, 7)
    correct = rng.binomial(n, share_correct(levels, family=family, threshold=0.4, width=5))
    outcomes, design = np.column_stack([correct, n - correct]), np.column_stack([np.ones(7), levels])
    theirs = GLM(outcomes, design, Binomial(LINKS[family]())).fit(tol=1e-12)
    ours = fit_psychometric(levels, correct, n, family=family)
    intercept, slope = theirs.params
    assert ours.threshold.estimate == pytest.approx((FAMILIES[family].offset - intercept) / slope, rel=1e-5)
    assert ours.width.estimate == pytest.approx(FAMILIES[family].scale / slope, rel=1e-5)
    assert ours.deviance == pytest.approx(theirs.deviance, rel=1e-6)
    assert ours.share_correct(levels) == pytest.approx(theirs.fittedvalues, abs=1e-6)


def test_weibull_is_the_gumbel_on_logarithms() -> None:
    doses = 10 ** np.array(BEETLES[0])
    gumbel = fit_psychometric(*BEETLES, family="gumbel")
    weibull = fit_psychometric(doses, *BEETLES[1:], family="weibull")
    assert log(weibull.threshold.estimate, 10) == pytest.approx(gumbel.threshold.estimate)
    assert log(weibull.threshold.low, 10) == pytest.approx(gumbel.threshold.low)
    assert weibull.width.estimate == pytest.approx(gumbel.width.estimate * log(10))
    # Palamedes' Gumbel has the slope of its Weibull: the exponent of the level.
    assert weibull.slope.estimate == pytest.approx(gumbel.slope.estimate)
    exponent, unit = weibull.slope.estimate, weibull.threshold.estimate / log(2) ** (1 / weibull.slope.estimate)
    assert weibull.share_correct(doses) == pytest.approx(1 - np.exp(-((doses / unit) ** exponent)))


def test_separated_readings_bound_the_slope_from_below() -> None:
    fit = fit_psychometric([-3, -2, -1, 0, 1, 2], [0, 0, 0, 10, 10, 10], [10] * 6)
    assert "separated" in fit.flags
    assert (fit.threshold.status, fit.threshold.estimate) == ("measured", -0.5)
    assert limits(fit.threshold) == pytest.approx((-1, 0), abs=1e-6)
    assert "between -1 and 0" in fit.threshold.reason
    assert (fit.slope.status, fit.slope.estimate, fit.slope.high) == ("bounded", None, None)
    assert 0.5 < fit.slope.low < 10
    assert "separated" in fit.slope.flags
    assert fit.width.high == pytest.approx(1.23549, rel=1e-4)
    assert fit.share_correct([-1, 0]).tolist() == [0, 1]


def test_few_separated_readings_leave_the_threshold_wider_than_the_gap() -> None:
    fit = fit_psychometric([-3, -2, -1, 0, 1, 2], [0, 0, 0, 2, 2, 2], [2] * 6)
    assert fit.threshold.low < -1
    assert fit.threshold.high > 0


@pytest.mark.parametrize(("levels", "correct"), [([0], [12]), ([0, 1], [5, 15])])
def test_too_few_levels_skip_the_fit_and_keep_the_proportions(levels: list[int], correct: list[int]) -> None:
    fit = fit_psychometric(levels, correct, [20] * len(levels))
    assert fit.flags == ("too_few_levels",)
    for estimate in (fit.threshold, fit.width, fit.slope):
        assert (estimate.status, estimate.estimate, *limits(estimate)) == ("undetermined", None, None, None)
        assert f"3 levels or more, found {len(levels)}" in estimate.reason
    for proportion, k in zip(fit.proportions(), correct, strict=True):
        theirs = binomtest(k, 20).proportion_ci(method="wilson")
        assert proportion.estimate == k / 20
        assert limits(proportion) == pytest.approx((theirs.low, theirs.high))
    with pytest.raises(EstimationError, match="raw proportions"):
        fit.share_correct([0.5])


def test_a_free_lapse_rate_needs_a_level_more() -> None:
    counts = ([0, 1, 2], [5, 12, 19], [20] * 3)
    assert fit_psychometric(*counts).flags == ()
    assert fit_psychometric(*counts, lapse_rate="map").flags == ("too_few_levels",)


SYMMETRIC = ([-2, -1, 0, 1, 2], [2, 2, 10, 18, 18], [20] * 5)


def test_asymptotes_that_the_readings_touch() -> None:
    fit = fit_psychometric(*SYMMETRIC, guess_rate=0.1, lapse_rate=0.1)
    assert fit.threshold.estimate == pytest.approx(0, abs=1e-6)
    assert limits(fit.threshold) == pytest.approx((-0.32302, 0.32302), abs=1e-4)
    assert fit.width.high == pytest.approx(3.1062, rel=1e-3)
    assert fit.share_correct([-50, 50]) == pytest.approx([0.1, 0.9])


@pytest.mark.parametrize("rule", ["mle", "map"])
@pytest.mark.parametrize("guess_rate", [0.0, 0.1])
def test_a_free_lapse_rate_does_not_run_away(rule: str, guess_rate: float) -> None:
    fit = fit_psychometric(*SYMMETRIC, guess_rate=guess_rate, lapse_rate=rule)
    assert fit.lapse_rate <= 0.11
    assert fit.threshold.estimate == pytest.approx(0, abs=0.2)
    assert "lapse_at_limit" not in fit.flags


def test_a_lapse_rate_of_a_half_is_flagged() -> None:
    fit = fit_psychometric([1, 2, 3, 4, 5, 6], [0, 1, 9, 10, 10, 9], [20] * 6, lapse_rate="mle")
    assert fit.lapse_rate == 0.5
    assert "lapse_at_limit" in fit.flags


@pytest.mark.parametrize("guess_rate", [0.0, 0.5])
def test_all_correct_bounds_the_threshold_from_above(guess_rate: float) -> None:
    fit = fit_psychometric([1, 2, 3, 4, 5], [10] * 5, [10] * 5, guess_rate=guess_rate)
    assert fit.flags == ("all_correct",)
    assert (fit.threshold.status, fit.threshold.low, fit.threshold.high) == ("bounded", None, pytest.approx(1))
    assert fit.width.status == "undetermined"
    assert "lower levels" in fit.threshold.reason


@pytest.mark.parametrize("guess_rate", [0.0, 0.5])
def test_none_correct_bounds_the_threshold_from_below(guess_rate: float) -> None:
    fit = fit_psychometric([1, 2, 3, 4, 5], [0] * 5, [10] * 5, guess_rate=guess_rate)
    assert fit.flags == ("none_correct",)
    assert (fit.threshold.status, fit.threshold.low, fit.threshold.high) == ("bounded", pytest.approx(5), None)
    assert fit.slope.status == "undetermined"


@pytest.mark.parametrize("correct", [[5, 5, 5, 5, 5], [9, 7, 5, 3, 1], [4, 6, 5, 6, 4]])
def test_shares_that_do_not_rise_have_no_threshold(correct: list[int]) -> None:
    fit = fit_psychometric([1, 2, 3, 4, 5], correct, [10] * 5)
    assert fit.flags == ("no_rise",)
    assert (fit.threshold.status, fit.threshold.estimate) == ("undetermined", None)
    assert (fit.slope.status, fit.slope.low) == ("bounded", None)
    assert fit.slope.high > 0


def test_a_shallow_curve_has_an_open_width_and_says_so() -> None:
    fit = fit_psychometric([1, 2, 3, 4], [3, 5, 4, 6], [10] * 4)
    assert fit.width.status == "measured"
    assert fit.width.high is None
    assert "no upper limit" in fit.width.reason
    assert fit.slope.low is None


def test_a_threshold_beyond_the_levels_is_flagged() -> None:
    fit = fit_psychometric([1, 2, 3, 4], [1, 4, 8, 15], [40] * 4)
    assert fit.flags == ("extrapolated",)
    assert fit.threshold.estimate > 4


def test_a_likelihood_of_two_maxima_gives_the_higher() -> None:
    fit = fit_psychometric([0, 11, 15, 17], [0, 0, 1, 3], [4] * 4, family="gumbel", guess_rate=0.1, lapse_rate=0.1)
    assert fit.log_likelihood > -5.3525


def test_a_steep_curve_at_one_level_keeps_its_width_bounded() -> None:
    counts = ([2, 6, 12, 13, 15, 17], [6, 9, 7, 19, 100, 100], [100] * 6)
    fit = fit_psychometric(*counts, family="logit", guess_rate=0.1, lapse_rate="mle")
    assert fit.flags == ("separated",)
    assert fit.width.high == pytest.approx(1.93, abs=0.05)


def test_gradient_and_curvature_are_those_of_the_likelihood() -> None:
    levels, correct, n = (np.array(column, dtype=float)[None] for column in SYMMETRIC)
    for family in FAMILIES.values():
        for lapse_rate in (None, 0.03):
            likelihood = Likelihood(
                family=family,
                levels=levels / 4,
                correct=correct,
                n=n,
                guess_rate=0.05,
                lapse_rate=lapse_rate,
                lapse_prior=10.0,
            )
            theta = np.array([[0.1, -0.4, 0.07]])[:, : likelihood.n_parameters]
            at, small = likelihood.derivatives(theta), 1e-5
            assert likelihood.value(theta[:, None])[:, 0] == pytest.approx(at.value)
            for place in range(theta.shape[1]):
                above, below = theta.copy(), theta.copy()
                above[0, place] += small
                below[0, place] -= small
                up, down = likelihood.derivatives(above), likelihood.derivatives(below)
                assert at.gradient[0, place] == pytest.approx((up.value - down.value)[0] / (2 * small), rel=1e-5)
                curvature = (down.gradient - up.gradient)[0] / (2 * small)
                assert at.information[0, place] == pytest.approx(curvature, rel=1e-5, abs=1e-6)


COUNTS = st.integers(3, 7).flatmap(
    lambda m: st.tuples(
        st.lists(st.integers(-20, 20), min_size=m, max_size=m, unique=True).map(sorted),
        st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=m, max_size=m),
    )
)


@settings(max_examples=60, deadline=None)
@given(COUNTS, st.sampled_from(["probit", "logit", "gumbel"]), st.sampled_from([0.0, 0.1, 0.5]))
def test_no_counts_give_a_wild_number(
    counts: tuple[list[int], list[tuple[int, int]]], family: FamilyName, guess_rate: float
) -> None:
    levels, pairs = counts
    correct, n = [a for a, _ in pairs], [a + b for a, b in pairs]
    for lapse_rate in (0.0, 0.05, "mle", "map"):
        fit = fit_psychometric(levels, correct, n, family=family, guess_rate=guess_rate, lapse_rate=lapse_rate)
        reach = 11 * (levels[-1] - levels[0])
        for estimate in (fit.threshold, fit.width):
            for number in (estimate.estimate, *limits(estimate)):
                assert number is None or abs(number) <= reach + 20
            assert estimate.status == "measured" or estimate.reason
        assert fit.lapse_rate is None or 0 <= fit.lapse_rate <= 0.5


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 15), min_size=5, max_size=5), st.sampled_from(["probit", "logit", "gumbel"]))
def test_the_deviance_at_each_limit_of_the_threshold_is_the_quantile(correct: list[int], family: FamilyName) -> None:
    levels, n = np.arange(5.0), np.full(5, 15)
    fit = fit_psychometric(levels, correct, n, family=family, guess_rate=0.1, lapse_rate=0.02)
    if fit.flags:
        return

    def cost(log_width: float, threshold: float) -> float:
        share = share_correct(
            levels, family=family, threshold=threshold, width=exp(log_width), guess_rate=0.1, lapse_rate=0.02
        )
        return float(-(correct * np.log(share) + (n - correct) * np.log1p(-share)).sum())

    for limit in limits(fit.threshold):
        # On a level the profile may jump.
        if limit is not None and np.abs(levels - limit).min() > 1e-3:
            spans = np.linspace(-4, 13, 69)
            best = min(spans, key=lambda s: cost(s, limit))
            polished = minimize_scalar(cost, bounds=(best - 0.3, best + 0.3), args=(limit,), method="bounded")
            assert 2 * (polished.fun + fit.log_likelihood) == pytest.approx(CRITICAL, rel=5e-3)


@given(st.floats(0.01, 100), st.floats(-50, 50))
@settings(max_examples=20, deadline=None)
def test_units_of_the_level_carry_over(factor: float, shift: float) -> None:
    levels = np.array(PALAMEDES[0])
    plain = fit_psychometric(*PALAMEDES, guess_rate=0.5, lapse_rate="map")
    moved = fit_psychometric(levels * factor + shift, *PALAMEDES[1:], guess_rate=0.5, lapse_rate="map")
    for name in ("estimate", "low", "high"):
        there = (getattr(moved.threshold, name) - shift) / factor
        assert there == pytest.approx(getattr(plain.threshold, name), rel=1e-5, abs=1e-7)
        assert getattr(moved.width, name) / factor == pytest.approx(getattr(plain.width, name), rel=1e-5)


def test_mirrored_readings_give_the_mirrored_threshold() -> None:
    levels, correct, n = (np.array(column) for column in BEETLES)
    plain, mirrored = fit_psychometric(levels, correct, n), fit_psychometric(-levels, n - correct, n)
    assert mirrored.threshold.estimate == pytest.approx(-plain.threshold.estimate)
    assert limits(mirrored.threshold) == pytest.approx((-plain.threshold.high, -plain.threshold.low), rel=1e-6)
    assert mirrored.width.estimate == pytest.approx(plain.width.estimate)


def test_order_of_levels_and_how_counts_are_split_change_nothing() -> None:
    levels, correct, n = (np.array(column) for column in PALAMEDES)
    order = np.random.default_rng(3).permutation(12)
    shares = [np.concatenate(parts)[order] for parts in ((levels, levels), (correct // 2, correct - correct // 2))]
    halves = np.concatenate([n // 2, n - n // 2])[order]
    pooled, plain = fit_psychometric(*shares, halves, guess_rate=0.5), fit_psychometric(*PALAMEDES, guess_rate=0.5)
    assert (pooled.levels, pooled.correct, pooled.n) == (plain.levels, plain.correct, plain.n)
    assert pooled.threshold.estimate == pytest.approx(plain.threshold.estimate)
    assert limits(pooled.threshold) == pytest.approx(limits(plain.threshold))
    assert limits(pooled.width) == pytest.approx(limits(plain.width))


def test_a_batch_gives_each_data_set_its_own_fit() -> None:
    levels = np.arange(1.0, 7)
    rows = [
        [0, 1, 4, 9, 10, 10],
        [0, 0, 0, 10, 10, 10],
        [10] * 6,
        [5, 4, 6, 5, 4, 5],
        [2, 3, 5, 6, 9, 9],
        [0, 1, 0, 0, 0, 0],
    ]
    n = np.full((6, 6), 10)
    n[5, 2:] = 0
    for lapse_rate in (0.0, "map"):
        fits = fit_psychometric_batch(levels, rows, n, lapse_rate=lapse_rate)
        for row, sizes, fit in zip(rows, n, fits, strict=True):
            alone = fit_psychometric(levels, row, sizes, lapse_rate=lapse_rate)
            assert (fit.flags, fit.threshold.status, fit.width.status) == (
                alone.flags,
                alone.threshold.status,
                alone.width.status,
            )
            for ours, theirs in zip(
                (*limits(fit.threshold), *limits(fit.width)),
                (*limits(alone.threshold), *limits(alone.width)),
                strict=True,
            ):
                assert ours == theirs or ours == pytest.approx(theirs, rel=1e-4)
        assert fits[5].flags == ("too_few_levels",)
        assert fits[5].levels == (1.0, 2.0)
    assert fit_psychometric_batch(levels, np.zeros((0, 6)), 10) == []


def test_intervals_cover_and_estimates_recover() -> None:
    """Six levels of 40 readings, 600 data sets: the standard error of a coverage of .95 is .009."""
    levels = np.linspace(-2, 2, 6)
    shares = share_correct(levels, threshold=0.2, width=2.5, guess_rate=0.5, lapse_rate=0.02)
    drawn = np.random.default_rng(11).binomial(40, shares, (600, 6))
    fits = fit_psychometric_batch(levels, drawn, 40, guess_rate=0.5, lapse_rate=0.02)
    for name, truth in (("threshold", 0.2), ("width", 2.5)):
        estimates = [getattr(fit, name) for fit in fits]
        covers = [(e.low or -inf) <= truth <= (inf if e.high is None else e.high) for e in estimates]
        assert 0.92 <= np.mean(covers) <= 0.98
    thresholds = [fit.threshold.estimate for fit in fits if fit.threshold.estimate is not None]
    assert len(thresholds) > 590
    assert np.median(thresholds) == pytest.approx(0.2, abs=0.05)


@pytest.mark.parametrize("family", ["probit", "logit", "gumbel"])
def test_threshold_and_width_are_what_they_say(family: FamilyName) -> None:
    curve = FAMILIES[family]
    quantiles = {"probit": [-0.5, 0.5], "logit": [-0.5, 0.5]}.get(
        family, [(log(-log(0.95)) - curve.offset) / curve.scale, (log(-log(0.05)) - curve.offset) / curve.scale]
    )
    levels = 3 + 2 * np.array([quantiles[0], 0, quantiles[1]])
    assert quantiles[1] - quantiles[0] == pytest.approx(1)
    shares = share_correct(levels, family=family, threshold=3, width=2, guess_rate=0.5, lapse_rate=0.1)
    assert shares == pytest.approx(0.5 + 0.4 * np.array([0.05, 0.5, 0.95]))


BAD = [
    ({"correct": [1, 2, 11]}, r"level 2: expected 0 <= correct <= n, found 11 of 10"),
    ({"correct": [1, -2, 3]}, "0 <= correct"),
    ({"correct": [1, float("nan"), 3]}, "0 <= correct"),
    ({"levels": [1, 2, float("inf")]}, "a finite level"),
    ({"levels": [0, 1, 2], "family": "weibull"}, "above 0"),
    ({"levels": [1, 2]}, "fit together"),
    ({"levels": [[1, 2, 3]]}, "fit_psychometric_batch"),
    ({"levels": [], "correct": [], "n": []}, "at least one level"),
    ({"family": "cauchy"}, "probit, logit"),
    ({"guess_rate": 1.0}, "guess rate"),
    ({"guess_rate": float("nan")}, "guess rate"),
    ({"lapse_rate": 0.6}, "lapse rate"),
    ({"lapse_rate": "bayes"}, "mle, map"),
    ({"guess_rate": 0.7, "lapse_rate": 0.3}, "below 1"),
    ({"confidence_level": 95}, "0.95 is usual"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_what_can_not_be_fitted_is_refused_in_words(change: dict[str, object], message: str) -> None:
    plain: dict[str, object] = {"levels": [1, 2, 3], "correct": [1, 2, 3], "n": [10, 10, 10]}
    with pytest.raises(EstimationError, match=message):
        fit_psychometric(**(plain | change))
