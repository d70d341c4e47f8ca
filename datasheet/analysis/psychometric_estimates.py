"""From the fit of a psychometric function to Estimates: what is measured, what is only bounded, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

import numpy.typing as npt
from scipy.stats import norm

from datasheet.analysis.intervals import wilson
from datasheet.analysis.psychometric_curve import FamilyName, Numbers, share_correct
from datasheet.analysis.psychometric_fit import REACH
from datasheet.errors import EstimationError
from datasheet.records import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class PsychometricFit:
    """A psychometric function fitted to the readings of one data set.

    Attributes
    ----------
    threshold
        Level at which F is .5, in the level's unit.
    width
        Distance over which F goes from .05 to .95, in the level's unit (for ``"weibull"`` in that of its natural
        logarithm).
    slope
        Palamedes' β, which is a constant over the width; for ``"weibull"`` and ``"gumbel"`` the Weibull's exponent.
    lapse_rate
        As given or as fitted; None where it was to be fitted and the readings do not tell.
    log_likelihood
        Of the single readings, without binomial coefficients and without the prior; None where nothing was fitted.
    deviance
        Twice the distance to each level's own share, None where nothing was fitted.
    levels, correct, n
        What was fitted: the distinct levels with any reading, rising.
    flags
        ``too_few_levels``, ``separated``, ``all_correct``, ``none_correct``, ``no_rise``, ``extrapolated``,
        ``lapse_at_limit``.
    """

    family: FamilyName
    guess_rate: float
    lapse_rate: float | None
    threshold: Estimate
    width: Estimate
    slope: Estimate
    log_likelihood: float | None
    deviance: float | None
    levels: tuple[float, ...]
    correct: tuple[float, ...]
    n: tuple[float, ...]
    flags: tuple[str, ...] = ()

    def proportions(self) -> tuple[Estimate, ...]:
        """The raw share of correct readings at each level, with Wilson's interval; there whatever became of the fit."""
        z = float(norm.ppf((1 + self.threshold.confidence_level) / 2))
        shares = []
        for correct, n in zip(self.correct, self.n, strict=True):
            low, high = wilson(correct / n, n, z)
            shares.append(
                Estimate(
                    estimate=correct / n,
                    low=low,
                    high=high,
                    n=round(n),
                    confidence_level=self.threshold.confidence_level,
                    method="Wilson",
                )
            )
        return tuple(shares)

    def share_correct(self, levels: npt.ArrayLike) -> Numbers:
        """The fitted curve in the shape of ``levels``; a step at the threshold where the width has only an upper limit.

        Raises
        ------
        EstimationError
            There is no curve, because the threshold was not measured.
        """
        if self.threshold.estimate is None or self.lapse_rate is None:
            raise EstimationError(f"no curve to draw: {self.threshold.reason}; draw the raw proportions instead")
        return share_correct(
            levels,
            family=self.family,
            threshold=self.threshold.estimate,
            width=self.width.estimate or 0.0,
            guess_rate=self.guess_rate,
            lapse_rate=self.lapse_rate,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Landmark:
    """Where one data set's likelihood is largest, in the unit of the fitted level (logarithms for ``"weibull"``).

    Attributes
    ----------
    threshold, width
        The point; None where the likelihood has no maximum inside.
    step
        Ends of the thresholds of a step that nothing exceeds, or None. Infinite where that step lies outside the
        levels.
    threshold_limits, width_limits
        Profile limits, infinite (and 0 for a width) where open.
    """

    threshold: float | None
    width: float | None
    step: tuple[float, float] | None
    threshold_limits: tuple[float, float]
    width_limits: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """What all estimates of a fit have in common."""

    n: int
    confidence_level: float
    method: str
    flags: tuple[str, ...]

    def measured(self, estimate: float, low: float | None, high: float | None, reason: str) -> Estimate:
        """An estimate and its limits, None where open; one on the wrong side of the estimate is moved to it."""
        return Estimate(
            estimate=estimate,
            low=low if low is None else min(low, estimate),
            high=high if high is None else max(high, estimate),
            n=self.n,
            confidence_level=self.confidence_level,
            method=self.method,
            reason=reason,
            flags=self.flags,
        )

    def bounded(self, low: float | None, high: float | None, reason: str) -> Estimate:
        """One limit, or undetermined where there is none (or a pair that no estimate lies between)."""
        one_sided = (low is None) != (high is None)
        return Estimate(
            status="bounded" if one_sided else "undetermined",
            low=low if one_sided else None,
            high=high if one_sided else None,
            n=self.n,
            confidence_level=self.confidence_level,
            method=self.method,
            reason=reason,
            flags=self.flags,
        )


def threshold_estimate(found: Landmark, wording: Wording, *, unit: Callable[[float], float]) -> Estimate:
    """The threshold: measured, between two levels, or on one side of them all; ``unit`` gives the level's own unit."""
    low, high = (unit(limit) if isfinite(limit) else None for limit in found.threshold_limits)
    if found.threshold is not None:
        return wording.measured(unit(found.threshold), low, high, _open_threshold(low, high))
    if found.step is None:
        return wording.bounded(low, high, "the share correct does not rise with the level: test levels further apart")
    start, end = found.step
    if not isfinite(start):
        return wording.bounded(low, high, "every level lies above the rise: test lower levels")
    if not isfinite(end):
        return wording.bounded(low, high, "every level lies below the rise: test higher levels")
    between = "" if start == end else f"any threshold between {unit(start):.6g} and {unit(end):.6g} fits as well"
    reasons = [text for text in (between, _open_threshold(low, high)) if text]
    return wording.measured(unit((start + end) / 2), low, high, "; ".join(reasons))


def width_estimate(found: Landmark, wording: Wording) -> Estimate:
    """The width: measured, at most (a step fits), at least (a constant share fits), or undetermined."""
    low = found.width_limits[0] if found.width_limits[0] > 0 else None
    high = found.width_limits[1] if isfinite(found.width_limits[1]) else None
    if found.width is not None:
        return wording.measured(found.width, low, high, _open_width(low, high))
    if found.step is None:
        return wording.bounded(low, high, "the share correct does not rise with the level: test levels further apart")
    if isfinite(found.step[0]) and isfinite(found.step[1]):
        reason = "one level at most lies on the rise, and a step fits best: test levels between, close to the threshold"
        return wording.bounded(low, high, reason)
    return wording.bounded(low, high, "no level lies on the rise: the readings say nothing of its width")


def slope_estimate(width: Estimate, slope_scale: float) -> Estimate:
    """Palamedes' slope from the width: its limits change places, and their reasons keep."""

    def inverse(number: float | None) -> float | None:
        return None if number is None else slope_scale / number

    return Estimate(
        status=width.status,
        estimate=inverse(width.estimate),
        low=inverse(width.high),
        high=inverse(width.low),
        n=width.n,
        confidence_level=width.confidence_level,
        method=width.method,
        reason=width.reason,
        flags=width.flags,
    )


def _open_threshold(low: float | None, high: float | None) -> str:
    sides = [side for side, limit in (("lower", low), ("upper", high)) if limit is None]
    if not sides:
        return ""
    return f"no {' and no '.join(sides)} limit within {REACH:g} times the range of the tested levels"


def _open_width(low: float | None, high: float | None) -> str:
    texts = ["a step fits within the interval: the width has no lower limit"] if low is None else []
    if high is None:
        texts.append("a nearly constant share fits within the interval: the width has no upper limit")
    return "; ".join(texts)
