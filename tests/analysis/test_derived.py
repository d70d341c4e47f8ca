"""Figures of a fit made by hand: thresholds, ratios and limits against closed formulas and other programs.

Without a position (b = 0) a reading is right with Φ(kΔ - c), so that the threshold is (z + c)/k with z the .75 quantile
of the normal; its logarithm has the variance (u_k/k)² + (c u_c/(z + c))², u_c that of log c.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import approx_fprime, brentq
from scipy.stats import multivariate_normal, norm, t

from datasheet.analysis.bivariate import Numbers
from datasheet.analysis.derived import (
    NOT_CLEARLY_ABOVE_0,
    Uncertainty,
    fieller,
    model_threshold,
    noise_equivalent,
    p_correct,
    p_correct_marginal,
    ratio_to_resolution,
    threshold,
    without_criterion,
)
from datasheet.analysis.intervals import ONE_TASK
from datasheet.analysis.measurement import MeasurementFit, parameter_names
from datasheet.records import Estimate

TASKS = 12
Z = float(norm.ppf(0.75))
ONE_SIDED, TWO_SIDED = float(t.ppf(0.95, TASKS - 1)), float(t.ppf(0.975, TASKS - 1))


def fitted(
    *, k: float = 0.6, b: float = 0.0, c: float = 0.5, tau: float = 1e-9, u_k: float = 0.05, u_log_c: float = 0.1,
    covariance: Numbers | None = None, robust: Numbers | None = None, tasks: int = TASKS,
) -> MeasurementFit:  # fmt: skip
    """A fit with these values; the robust covariance is a quarter of the model's unless given."""
    if covariance is None:
        covariance = np.diag(np.square([u_k, 0.1, u_log_c, 0.5, 0.5]))
    return MeasurementFit(
        names=parameter_names(()),
        theta=np.array([k, b, np.log(c), 0.0, np.log(tau)]),
        covariance=covariance,
        robust_covariance=covariance / 4 if robust is None else robust,
        free=np.ones(5, dtype=bool),
        log_likelihood=0.0,
        largest_gradient=0.0,
        longest_step=5.0,
        n_clusters=tasks,
        n_pairs=400,
        lapse_rate=0.0,
    )


def threshold_of(
    fit: MeasurementFit, curve: Callable[..., Numbers] = p_correct, *, top: int = 5, supported: bool = False
) -> Estimate:
    uncertainty = Uncertainty(fit=replace(fit, longest_step=top))
    resolution = uncertainty.linear("resolution")
    return model_threshold(uncertainty, curve, resolution=resolution, supported_below_1=supported)


def of_spread(*, value: float, spread: float, c: float = 0.5) -> MeasurementFit:
    """A fit whose threshold is a value, its logarithm uncertain by a spread, by the closed formulas."""
    k, u_log_c = (Z + c) / value, 0.02
    u_k = k * np.sqrt(spread**2 - (c * u_log_c / (Z + c)) ** 2)
    return fitted(k=k, c=c, u_k=float(u_k), u_log_c=u_log_c)


@pytest.mark.parametrize(("k", "c", "u_k", "u_log_c"), [(0.6, 0.5, 0.05, 0.1), (0.3, 0.2, 0.02, 0.4)])
def test_a_threshold_and_its_limits_are_those_of_the_closed_formula(
    k: float, c: float, u_k: float, u_log_c: float
) -> None:
    value, spread = (Z + c) / k, np.hypot(u_k / k, c * u_log_c / (Z + c))
    found = threshold_of(fitted(k=k, c=c, u_k=u_k, u_log_c=u_log_c))
    limits = value * np.exp(np.array([0.0, -1.0, 1.0]) * TWO_SIDED * spread)
    assert (found.estimate, found.low, found.high) == pytest.approx(tuple(limits), rel=1e-5)
    assert (found.n, found.n_clusters, found.flags) == (400, TASKS, ())
    free = threshold_of(fitted(k=k, c=c, u_k=u_k, u_log_c=u_log_c), without_criterion)
    limits = Z / k * np.exp(np.array([0.0, -1.0, 1.0]) * TWO_SIDED * u_k / k)
    assert (free.estimate, free.low, free.high) == pytest.approx(tuple(limits), rel=1e-5)


@pytest.mark.parametrize(
    ("value", "supported", "expected"),
    [(0.8, True, "at most 1"), (0.8, False, "extrapolated"), (1.02, True, "inside"), (1.02, False, "inside")],
)
def test_a_threshold_below_one_step_needs_the_readings_support(value: float, supported: bool, expected: str) -> None:
    found = threshold_of(of_spread(value=value, spread=0.1), supported=supported)
    if expected == "at most 1":
        assert (found.status, found.estimate, found.low, found.high) == ("bounded", None, None, 1)
        assert (found.n, found.n_clusters) == (400, TASKS)
    else:
        assert found.status == "measured"
        assert found.estimate == pytest.approx(value, rel=1e-6)
        assert found.flags == (("extrapolated",) if expected == "extrapolated" else ())


@pytest.mark.parametrize(("top", "flags"), [(5, ("extrapolated",)), (6, ())])
def test_a_threshold_beyond_the_ladder_is_flagged(top: int, flags: tuple[str, ...]) -> None:
    """Its lower limit lies within either ladder, so that no bound is said."""
    found = threshold_of(of_spread(value=5.5, spread=0.1), top=top)
    assert (found.status, found.flags) == ("measured", flags)
    assert found.estimate == pytest.approx(5.5, rel=1e-6)


@pytest.mark.parametrize(("quantile", "bounded"), [(ONE_SIDED + 0.02, True), (ONE_SIDED - 0.02, False)])
def test_beyond_the_ladder_is_said_where_the_one_sided_limit_lies_beyond(quantile: float, bounded: bool) -> None:
    """The threshold lies that many standard uncertainties beyond the top step."""
    spread = 0.1
    found = threshold_of(of_spread(value=5 * np.exp(quantile * spread), spread=spread))
    if bounded:
        assert (found.status, found.estimate, found.low, found.high) == ("bounded", None, 5, None)
    else:
        assert (found.status, found.flags) == ("measured", ("extrapolated",))


@pytest.mark.parametrize(("off", "bounded"), [(0.98, True), (1.02, False)])
def test_with_a_resolution_that_may_be_0_the_steepest_curve_decides(off: float, bounded: bool) -> None:
    """The steepest is k's one-sided upper limit; its threshold lies a little beyond the top step, or within."""
    steepest, c, u_k = (Z + 0.5) / 5 * off, 0.5, 0.1
    k = steepest - ONE_SIDED * u_k
    assert k < TWO_SIDED * u_k
    found = threshold_of(fitted(k=k, c=c, u_k=u_k))
    if bounded:
        assert (found.status, found.low, found.high) == ("bounded", 5, None)
    else:
        assert (found.status, found.reason) == ("undetermined", NOT_CLEARLY_ABOVE_0)


def test_a_threshold_that_is_never_or_hardly_reached_gives_no_wild_number() -> None:
    never = threshold_of(fitted(k=0.015, c=0.5, u_k=0.001))
    assert (Z + 0.5) / 0.015 > 60
    assert (never.status, never.estimate) == ("undetermined", None)
    hardly = threshold_of(of_spread(value=30, spread=0.35), top=40)
    assert 30 * np.exp(TWO_SIDED * 0.35) > 60
    assert (hardly.status, hardly.high) == ("measured", None)
    assert hardly.low == pytest.approx(30 * np.exp(-TWO_SIDED * 0.35), rel=1e-5)
    assert "60 steps" in hardly.reason


def test_a_threshold_is_spoken_of_as_far_as_steps_were_shown() -> None:
    """A log whose quality runs to a hundred points."""
    far = of_spread(value=70, spread=0.05)
    assert "60 steps" in threshold_of(far, top=40).reason
    found = threshold_of(far, top=100)
    assert found.status == "measured"
    assert (found.estimate, found.high) == (pytest.approx(70), pytest.approx(70 * np.exp(TWO_SIDED * 0.05), rel=1e-5))


def marginal_share(delta_q: float, *, k: float, b: float, c: float, tau: float) -> float:
    """P_correct averaged over a lognormal resolution, by adaptive quadrature."""

    def weighed(z: float) -> float:
        x = k * np.exp(tau * z) * delta_q
        return float(norm.pdf(z) * (norm.cdf(x + b - c) + norm.cdf(x - b - c)) / 2)

    return quad(weighed, -9, 9, points=[-2, 0, 2], epsabs=1e-11, limit=200)[0]


def marginal_threshold(values: Numbers) -> float:
    k, b, c, tau = values[0], values[1], np.exp(values[2]), np.exp(values[4])
    return float(brentq(lambda delta: marginal_share(delta, k=k, b=b, c=c, tau=tau) - 0.75, 0.01, 60, xtol=1e-12))


@pytest.mark.parametrize("tau", [0.1, 0.3, 0.6])
def test_the_marginal_curve_is_the_average_over_lognormal_resolutions(tau: float) -> None:
    theta = np.array([0.6, 0.4, np.log(0.5), 0.0, np.log(tau)])
    for step in (1.0, 2.0, 4.0):
        expected = marginal_share(step, k=0.6, b=0.4, c=0.5, tau=tau)
        assert float(p_correct_marginal(theta, np.array(step))) == pytest.approx(expected, abs=1e-5)
    assert float(threshold(theta, p_correct_marginal)) == pytest.approx(marginal_threshold(theta), rel=1e-4)


def test_the_marginal_threshold_carries_the_uncertainty_of_the_task_spread() -> None:
    """Limits by a gradient of the quadrature."""
    fit = fitted(k=0.6, b=0.4, c=0.5, tau=0.7, u_k=0.01, u_log_c=0.02)
    gradient = approx_fprime(fit.theta, lambda theta: np.log(marginal_threshold(theta)), 1e-5)
    spread = np.sqrt(gradient @ fit.covariance @ gradient)
    without = np.sqrt(gradient[:4] @ fit.covariance[:4, :4] @ gradient[:4])
    assert spread > 1.1 * without, "else the task spread could be left out unseen"
    found, value = threshold_of(fit, p_correct_marginal), marginal_threshold(fit.theta)
    limits = value * np.exp(np.array([0.0, -1.0, 1.0]) * TWO_SIDED * spread)
    assert (found.estimate, found.low, found.high) == pytest.approx(tuple(limits), rel=2e-3)


def test_noise_in_quality_steps_is_the_resolution_turned_over() -> None:
    resolution = Estimate(estimate=0.5, low=0.4, high=0.8, n=400, n_clusters=12, method="joint model, t(11)")
    found = noise_equivalent(Uncertainty(fit=fitted(k=0.5)), resolution)
    assert (found.estimate, found.low, found.high) == pytest.approx((2.0, 1.25, 2.5))
    assert (found.n, found.n_clusters, found.method) == (400, 12, "joint model, t(11)")


def test_noise_in_quality_steps_with_one_task_needs_a_resolution_above_0_in_it() -> None:
    within = float(norm.ppf(0.975))
    for u_k, status in ((0.95 * 0.5 / within, "measured"), (1.05 * 0.5 / within, "undetermined")):
        uncertainty = Uncertainty(fit=fitted(k=0.5, u_k=u_k, tasks=1))
        found = noise_equivalent(uncertainty, uncertainty.linear("resolution"))
        assert (found.status, found.low, found.high) == (status, None, None)
        assert found.estimate == (2.0 if status == "measured" else None)


def test_noise_in_quality_steps_is_open_where_no_bank_could_hold_it() -> None:
    resolution = Estimate(estimate=0.3, low=0.001, high=0.6, n=400, n_clusters=12, method="t(11)")
    found = noise_equivalent(Uncertainty(fit=fitted(k=0.3)), resolution)
    assert (found.low, found.high, found.reason) == (
        pytest.approx(1 / 0.6),
        None,
        "the upper limit lies beyond 60 steps",
    )


@pytest.mark.parametrize(("value", "low"), [(0.5, 0.0), (0.5, -0.1), (-0.5, None)])
def test_noise_in_quality_steps_needs_a_resolution_above_0(value: float, low: float | None) -> None:
    reason = "" if low is not None else ONE_TASK
    resolution = Estimate(estimate=value, low=low, high=None if low is None else 1.0, n=9, reason=reason)
    found = noise_equivalent(Uncertainty(fit=fitted(k=value)), resolution)
    assert (found.status, found.estimate, found.reason) == ("undetermined", None, NOT_CLEARLY_ABOVE_0)


def correlated(u_k: float, u_b: float, correlation: float) -> Numbers:
    matrix = np.diag(np.square([u_k, u_b, 0.1, 0.5, 0.5]))
    matrix[0, 1] = matrix[1, 0] = correlation * u_k * u_b
    return matrix


def roots(b: float, k: float, matrix: Numbers) -> tuple[float, ...]:
    """Ratios r at which b - r k lies just the quantile from 0 in its own standard uncertainty."""
    squared = TWO_SIDED**2
    quadratic = [k**2 - squared * matrix[0, 0], -2 * (b * k - squared * matrix[0, 1]), b**2 - squared * matrix[1, 1]]
    return tuple(sorted(np.roots(quadratic)))


def in_steps(fit: MeasurementFit) -> Estimate:
    uncertainty = Uncertainty(fit=fit)
    return ratio_to_resolution(uncertainty, "position", uncertainty.linear("resolution"))


@pytest.mark.parametrize("correlation", [-0.7, 0.0, 0.6])
@pytest.mark.parametrize("robust_is_larger", [True, False])
def test_position_in_steps_has_the_roots_of_fiellers_quadratic(correlation: float, robust_is_larger: bool) -> None:
    matrix = correlated(0.12, 0.2, correlation)
    fit = fitted(k=0.6, b=0.45, covariance=matrix, robust=matrix * (2.0 if robust_is_larger else 0.5))
    found = in_steps(fit)
    expected = roots(0.45, 0.6, matrix * (2.0 if robust_is_larger else 1.0))
    assert found.estimate == pytest.approx(0.75)
    assert (found.low, found.high) == pytest.approx(expected)


def test_a_ratio_takes_the_covariance_that_is_larger_along_it() -> None:
    """Both covariances give the position and the resolution the same variances, but not b - (b/k) k."""
    along, against = correlated(0.12, 0.2, 0.8), correlated(0.12, 0.2, -0.8)
    for model, robust in ((along, against), (against, along)):
        fit = fitted(k=0.6, b=0.45, covariance=model, robust=robust)
        found = in_steps(fit)
        assert (found.low, found.high) == pytest.approx(roots(0.45, 0.6, against))


def test_a_ratio_to_a_resolution_that_may_be_0_is_unbounded() -> None:
    near, inside, outside = (in_steps(fitted(k=0.3, b=0.4, u_k=0.3 / TWO_SIDED * off)) for off in (0.9, 0.98, 1.02))
    assert (near.status, near.reason) == ("measured", "")
    assert near.high is not None
    assert (inside.status, inside.high) == ("measured", None)
    assert inside.low is not None
    assert inside.reason == "the upper limit lies beyond 60 steps"
    assert outside.status == "undetermined"


def test_a_ratio_agrees_with_the_resolution_as_it_is_printed() -> None:
    """Whose limits may be those of a profile."""
    fit = fitted(k=0.6, b=0.45, u_k=0.1)
    printed = replace(Uncertainty(fit=fit).linear("resolution"), low=-0.01)
    assert ratio_to_resolution(Uncertainty(fit=fit), "position", printed).status == "undetermined"


@pytest.mark.parametrize("correlation", [-0.8, 0.8])
def test_fieller_covers_a_ratio_of_correlated_normals(correlation: float) -> None:
    variances, covariance = (0.09, 0.16), correlation * 0.3 * 0.4
    draws = multivariate_normal([1.0, 2.0], [[0.09, covariance], [covariance, 0.16]])
    limits = [
        fieller(x, y, variances=variances, covariance=covariance, quantile=1.959964)
        for x, y in draws.rvs(4000, random_state=5)
    ]
    closed = [limit for limit in limits if limit is not None]
    assert len(closed) > 3950
    covered = sum(low <= 0.5 <= high for low, high in closed if low is not None and high is not None)
    assert (covered + 4000 - len(closed)) / 4000 == pytest.approx(0.95, abs=0.012)


SMALL, LARGE = np.diag([0.01, 0.04, 0.01, 0.25, 0.25]), np.diag([0.04, 0.01, 0.09, 0.36, 0.36])


@pytest.mark.parametrize("swapped", [False, True])
def test_the_larger_of_both_covariances_is_used_for_each_quantity(swapped: bool) -> None:
    """One is larger for the resolution and the criterion, the other for the position."""
    model, robust = (LARGE, SMALL) if swapped else (SMALL, LARGE)
    fit = fitted(k=2.0, b=0.3, c=0.5, covariance=model, robust=robust)
    uncertainty = Uncertainty(fit=fit)
    for name, value, u in (("resolution", 2.0, 0.2), ("position", 0.3, 0.2), ("log_criterion", np.log(0.5), 0.3)):
        found = uncertainty.linear(name)
        expected = (value, value - TWO_SIDED * u, value + TWO_SIDED * u)
        assert (found.estimate, found.low, found.high) == pytest.approx(expected), name
        assert (found.n, found.n_clusters, found.method) == (400, TASKS, f"joint model, t({TASKS - 1})")
    at_rest = fitted(k=0.8, c=0.5, covariance=model / 20, robust=robust / 20)
    spread = np.sqrt((0.04 / 0.8**2 + 0.09 * (0.5 / (Z + 0.5)) ** 2) / 20)
    limit = (Z + 0.5) / 0.8 * np.exp(TWO_SIDED * spread)
    assert threshold_of(at_rest).high == pytest.approx(limit, rel=1e-5)


def test_one_task_gives_values_without_limits() -> None:
    fit = fitted(k=0.6, covariance=SMALL, robust=LARGE, tasks=1)
    found = Uncertainty(fit=fit)
    assert found.of("resolution") == pytest.approx(0.1)
    assert found.quantile == pytest.approx(norm.ppf(0.975))
    estimate = found.linear("resolution")
    assert (estimate.estimate, estimate.low, estimate.high, estimate.reason) == (0.6, None, None, ONE_TASK)


@pytest.mark.parametrize(("highest", "open_above"), [(-0.01, True), (0.01, False)])
def test_a_limit_beyond_the_highest_is_open(highest: float, open_above: bool) -> None:
    """The highest lies a little below, or above, the upper limit."""
    uncertainty = Uncertainty(fit=fitted(c=0.5, u_log_c=0.3))
    top = np.log(0.5) + TWO_SIDED * 0.3
    found = uncertainty.transformed("log_criterion", np.exp, highest=top + highest)
    low = np.exp(np.log(0.5) - TWO_SIDED * 0.3)
    assert (found.estimate, found.low) == pytest.approx((0.5, low))
    if open_above:
        assert (found.high, bool(found.reason)) == (None, True)
    else:
        assert found.high == pytest.approx(np.exp(top))
