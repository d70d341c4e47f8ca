"""Quantities that follow from a fitted measurement model, each with its interval.

Intervals are Student's t on G - 1 degrees of freedom with the larger of the model's and the cluster-robust standard
uncertainty. In simulation at 20 tasks either one alone falls short somewhere: the model's where tasks differ in ways
that it does not know, the robust one because it rests on few tasks (``benchmarks/validity``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import exp, log, sqrt

import numpy as np
from scipy.special import expit, ndtr, ndtri, stdtrit

from datasheet.analysis.bivariate import Numbers
from datasheet.analysis.intervals import CONFIDENCE_LEVEL, ONE_TASK
from datasheet.analysis.ladder import THRESHOLD_SHARE
from datasheet.analysis.measurement import MeasurementFit
from datasheet.analysis.task_factor import AVERAGING_NODES, AVERAGING_WEIGHTS
from datasheet.records import Estimate

_FARTHEST_DELTA_Q = 60.0
_BISECTIONS = 60
NOT_CLEARLY_ABOVE_0 = "the resolution is not clearly above 0"
_DIFFERENCE = 1e-4


def p_correct(theta: Numbers, delta_q: Numbers, *, lapse_rate: float = 0.0, n_outcomes: int = 3) -> Numbers:
    """Share of readings that prefer the better answer, on a typical task, at equal length, over both orders.

    Parameters
    ----------
    theta
        Parameters as in :func:`~datasheet.analysis.evidence.log_likelihood`, last axis.
    delta_q
        Quality steps, broadcast against the leading axes of theta.
    """
    k, b, c = theta[..., 0], theta[..., -4], np.exp(theta[..., -3])
    share = (ndtr(k * delta_q + b - c) + ndtr(k * delta_q - b - c)) / 2
    return np.asarray((1 - lapse_rate) * share + lapse_rate / n_outcomes)


def p_correct_marginal(theta: Numbers, delta_q: Numbers, *, lapse_rate: float = 0.0, n_outcomes: int = 3) -> Numbers:
    """The same averaged over tasks, whose log resolution varies with the task spread."""
    spread = np.exp(theta[..., -1])
    shares = []
    for node in AVERAGING_NODES:
        at = np.array(theta)
        at[..., 0] = theta[..., 0] * np.exp(spread * node)
        shares.append(p_correct(at, delta_q, lapse_rate=lapse_rate, n_outcomes=n_outcomes))
    return np.asarray(np.tensordot(AVERAGING_WEIGHTS, np.array(shares), axes=1))


def reach(longest_step: float) -> float:
    """How far a threshold may be spoken of, in quality steps: 60, or as far as steps were shown."""
    return max(_FARTHEST_DELTA_Q, longest_step)


def threshold(
    theta: Numbers, curve: Callable[..., Numbers] = p_correct, *, longest_step: float = 0.0, **how: float
) -> Numbers:
    """The ΔQ at which a curve reaches .75, by bisection up to the :func:`reach`; inf where it does not."""
    low = np.zeros(theta.shape[:-1])
    high = np.full(theta.shape[:-1], reach(longest_step))
    reached = curve(theta, high, **how) >= THRESHOLD_SHARE
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        above = curve(theta, middle, **how) >= THRESHOLD_SHARE
        high, low = np.where(above, middle, high), np.where(above, low, middle)
    return np.where(reached, (low + high) / 2, np.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertainty:
    """How the intervals of a fit are made."""

    fit: MeasurementFit

    @property
    def quantile(self) -> float:
        """Student's t at the two-sided confidence level; with one task, whose readings can't tell, the normal's."""
        return self._quantile((1 + CONFIDENCE_LEVEL) / 2)

    @property
    def one_sided_quantile(self) -> float:
        """The same at the one-sided confidence level."""
        return self._quantile(CONFIDENCE_LEVEL)

    def _quantile(self, share: float) -> float:
        return float(ndtri(share) if self.one_task else stdtrit(self.fit.degrees_of_freedom, share))

    @property
    def reach(self) -> float:
        """How far thresholds and ratios may be spoken of, in quality steps."""
        return reach(self.fit.longest_step)

    @property
    def one_task(self) -> bool:
        """Nothing is known of other tasks: no interval can be given."""
        return self.fit.n_clusters < 2

    def of_gradient(self, gradient: Numbers) -> float:
        """Standard uncertainty of a function with this gradient by theta."""
        variances = [float(gradient @ matrix @ gradient) for matrix in self._matrices]
        return sqrt(max(0.0, *variances))

    def of(self, name: str) -> float:
        """Standard uncertainty of one element of theta."""
        return self.of_gradient(np.eye(len(self.fit.names))[self.fit.names.index(name)])

    @property
    def _matrices(self) -> tuple[Numbers, ...]:
        if self.one_task:
            return (self.fit.covariance,)
        return self.fit.covariance, self.fit.robust_covariance

    def gradient(self, function: Callable[[Numbers], Numbers]) -> Numbers:
        """Gradient by theta of a function of an array of thetas, by central differences."""
        steps = np.eye(len(self.fit.theta)) * _DIFFERENCE
        values = function(np.concatenate([self.fit.theta + steps, self.fit.theta - steps]))
        with np.errstate(invalid="ignore"):  # a threshold that is never reached is infinite, and its slope is none
            return np.asarray((values[: len(steps)] - values[len(steps) :]) / (2 * _DIFFERENCE))

    @property
    def method(self) -> str:
        """As printed."""
        return "joint model" if self.one_task else f"joint model, {self.distribution}"

    @property
    def distribution(self) -> str:
        """That of the quantiles, as printed."""
        return "normal, within the one task" if self.one_task else f"t({self.fit.degrees_of_freedom})"

    def estimate(self, value: float, low: float | None, high: float | None, *flags: str, reason: str = "") -> Estimate:
        """An Estimate of this fit; without limits where there is one task."""
        if self.one_task:
            low, high, reason = None, None, ONE_TASK
        return Estimate(
            estimate=value,
            low=low,
            high=high,
            n=self.fit.n_pairs,
            n_clusters=self.fit.n_clusters,
            method=self.method,
            flags=flags,
            reason=reason,
        )

    def linear(self, name: str, *flags: str) -> Estimate:
        """An element of theta on its own scale."""
        value, half = float(self.fit.theta[self.fit.names.index(name)]), self.quantile * self.of(name)
        return self.estimate(value, value - half, value + half, *flags)

    def transformed(
        self, name: str, back: Callable[[float], float], *flags: str, highest: float | None = None
    ) -> Estimate:
        """An element of theta through a rising function, limits likewise; open above beyond a highest one."""
        value, half = float(self.fit.theta[self.fit.names.index(name)]), self.quantile * self.of(name)
        if highest is not None and value + half > highest:
            reason = "the readings leave its upper limit open"
            return self.estimate(back(value), back(value - half), None, *flags, reason=reason)
        return self.estimate(back(value), back(value - half), back(value + half), *flags)


def fieller(
    numerator: float, denominator: float, *, variances: tuple[float, float], covariance: float, quantile: float
) -> tuple[float | None, float | None] | None:
    """Limits of a ratio (Fieller 1954, JRSS B 16:175).

    Returns
    -------
    (low, high); None where the denominator is not clearly apart from 0, so that the ratio is unbounded.
    """
    g = quantile**2 * variances[1] / denominator**2 if denominator else np.inf
    if g >= 1:
        return None
    ratio = numerator / denominator
    centre = (ratio - g * covariance / variances[1]) if variances[1] > 0 else ratio
    inside = variances[0] - 2 * ratio * covariance + ratio**2 * variances[1]
    if variances[1] > 0:
        inside -= g * (variances[0] - covariance**2 / variances[1])
    half = quantile / abs(denominator) * sqrt(max(0.0, inside))
    return (centre - half) / (1 - g), (centre + half) / (1 - g)


def ratio_to_resolution(uncertainty: Uncertainty, name: str, resolution: Estimate) -> Estimate:
    """A slope or the position in quality steps: its ratio to the resolution, with Fieller limits.

    None is given where the resolution as printed is not apart from 0, by whichever method its limits were found.
    """
    fit = uncertainty.fit
    unit = np.eye(len(fit.names))
    numerator, denominator = unit[fit.names.index(name)], unit[0]
    value, k = float(fit.theta @ numerator), float(fit.theta[0])
    matrix = _larger(uncertainty, numerator - value / k * denominator) if k else fit.covariance
    limits = fieller(
        value,
        k,
        variances=(float(numerator @ matrix @ numerator), float(denominator @ matrix @ denominator)),
        covariance=float(numerator @ matrix @ denominator),
        quantile=uncertainty.quantile,
    )
    if limits is None or _may_be_0(resolution):
        return Estimate.absent(
            "undetermined", "the resolution is not clearly apart from 0, so a ratio to it is unbounded", n=fit.n_pairs
        )
    low, high, reason = _within(uncertainty.reach, *limits)
    method = uncertainty.method if uncertainty.one_task else f"joint model, Fieller, {uncertainty.distribution}"
    return replace(uncertainty.estimate(value / k, low, high, reason=reason), method=method)


def _lowest(uncertainty: Uncertainty, resolution: Estimate) -> float:
    """The lower limit of the resolution: as printed, or within the one task where none is."""
    if resolution.low is not None:
        return resolution.low
    return float(uncertainty.fit.theta[0]) - uncertainty.quantile * uncertainty.of("resolution")


def _may_be_0(estimate: Estimate) -> bool:
    return estimate.low is not None and estimate.high is not None and estimate.low <= 0 <= estimate.high


def _within(reach: float, low: float | None, high: float | None) -> tuple[float | None, float | None, str]:
    """Limits in quality steps, open where they lie so far out that no bank could hold them, and why."""
    kept = [None if limit is None or abs(limit) > reach else limit for limit in (low, high)]
    left = [side for side, found, shown in zip(("lower", "upper"), (low, high), kept, strict=True) if found != shown]
    reason = f"the {' and '.join(left)} limit lies beyond {reach:.0f} steps" if left else ""
    return kept[0], kept[1], reason


def _larger(uncertainty: Uncertainty, direction: Numbers) -> Numbers:
    """The covariance that gives a direction the larger variance."""
    fit = uncertainty.fit
    if uncertainty.one_task:
        return fit.covariance
    return max(fit.covariance, fit.robust_covariance, key=lambda matrix: float(direction @ matrix @ direction))


def noise_equivalent(uncertainty: Uncertainty, resolution: Estimate) -> Estimate:
    """1/k: the quality difference as large as the noise of a reading; limits are those of k turned over."""
    k, low, high = resolution.estimate, resolution.low, resolution.high
    if k is None or _lowest(uncertainty, resolution) <= 0:
        return Estimate.absent("undetermined", NOT_CLEARLY_ABOVE_0, n=resolution.n)
    limits = (None if high is None else 1 / high, None if low is None else 1 / low)
    nearest, farthest, reason = _within(uncertainty.reach, *limits)
    return replace(resolution, estimate=1 / k, low=nearest, high=farthest, reason=reason or resolution.reason)


def model_threshold(
    uncertainty: Uncertainty,
    curve: Callable[..., Numbers],
    *,
    resolution: Estimate,
    supported_below_1: bool,
    n_outcomes: int = 3,
) -> Estimate:
    """A threshold of the fitted curve, censored by the supported rule and flagged where it extrapolates.

    Parameters
    ----------
    resolution
        As measured: a threshold needs one that is clearly above 0.
    supported_below_1
        Whether the one-sided lower limit of P_correct(1) reaches .75, so that ``≤ 1`` may be said.
    """
    fit, top_step = uncertainty.fit, uncertainty.fit.longest_step
    found_on = partial(threshold, curve=curve, longest_step=top_step, lapse_rate=fit.lapse_rate, n_outcomes=n_outcomes)

    def of(theta: Numbers) -> Numbers:
        return np.asarray(np.log(found_on(theta)))

    if _lowest(uncertainty, resolution) <= 0:
        if uncertainty.one_task:
            return Estimate.absent("undetermined", NOT_CLEARLY_ABOVE_0, n=fit.n_pairs)
        steepest = np.array(fit.theta)
        steepest[0] = max(1e-6, steepest[0] + uncertainty.one_sided_quantile * uncertainty.of("resolution"))
        if found_on(steepest) > top_step:
            return Estimate(status="bounded", low=top_step, n=fit.n_pairs, n_clusters=fit.n_clusters,
                            method=uncertainty.method)  # fmt: skip
        return Estimate.absent("undetermined", NOT_CLEARLY_ABOVE_0, n=fit.n_pairs)
    value = float(of(fit.theta))
    gradient = uncertainty.gradient(of)
    if not np.isfinite(value) or not np.isfinite(gradient).all():
        reason = f"the fitted curve does not reach 0.75 within {uncertainty.reach:.0f} steps"
        return Estimate.absent("undetermined", reason, n=fit.n_pairs)
    spread = uncertainty.of_gradient(gradient)
    low, high = exp(value - uncertainty.quantile * spread), exp(min(700.0, value + uncertainty.quantile * spread))
    if exp(value) < 1 and supported_below_1:
        return Estimate(status="bounded", high=1, n=fit.n_pairs, n_clusters=fit.n_clusters, method=uncertainty.method)
    if exp(value - uncertainty.one_sided_quantile * spread) > top_step and not uncertainty.one_task:
        return Estimate(status="bounded", low=top_step, n=fit.n_pairs, n_clusters=fit.n_clusters,
                        method=uncertainty.method)  # fmt: skip
    outside = ("extrapolated",) if not 1 <= exp(value) <= top_step else ()
    nearest, farthest, reason = _within(uncertainty.reach, low, high)
    return uncertainty.estimate(exp(value), nearest, farthest, *outside, reason=reason)


def without_criterion(theta: Numbers, delta_q: Numbers, **how: float) -> Numbers:
    """P_correct if the judge never called a tie (c = 0): the curve of FC75."""
    at = np.array(theta)
    at[..., -3] = log(1e-30)
    return p_correct(at, delta_q, **how)  # type: ignore[arg-type]


def back_to_share(logit: float) -> float:
    """Inverse of the logit."""
    return float(expit(logit))
