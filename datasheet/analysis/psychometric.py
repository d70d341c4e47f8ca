"""Psychometric functions of binary readings: threshold, width and slope with profile-likelihood intervals.

Readings count as independent: where they come in clusters (tasks), the intervals are too narrow. A judge that may tie
has no fixed guess rate; its resolution comes from the ladder, not from here.

Sources: Bliss (1935, Annals of Applied Biology 22:134), Wichmann and Hill (2001, Perception & Psychophysics 63:1293),
Schütt, Harmeling, Macke and Wichmann (2016, Vision Research 122:105), Prins and Kingdom (2018, Frontiers in Psychology
9:1250); profile-likelihood limits after Venzon and Moolgavkar (1988, Applied Statistics 37:87).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, isfinite
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import xlog1py

from datasheet.analysis.intervals import CONFIDENCE_LEVEL
from datasheet.analysis.psychometric_curve import FAMILIES, LARGEST_ARGUMENT, FamilyName, Numbers, share_correct
from datasheet.analysis.psychometric_estimates import (
    Landmark,
    PsychometricFit,
    Wording,
    slope_estimate,
    threshold_estimate,
    width_estimate,
)
from datasheet.analysis.psychometric_fit import Maximum, fit
from datasheet.analysis.psychometric_likelihood import LAPSE, LARGEST_LAPSE_RATE, THRESHOLD, WIDTH, Likelihood
from datasheet.analysis.psychometric_limits import Limits, limits
from datasheet.errors import EstimationError
from datasheet.records import Estimate

__all__ = ["FamilyName", "LapseRule", "PsychometricFit", "fit_psychometric", "fit_psychometric_batch", "share_correct"]

LapseRule = Literal["mle", "map"]

_LAPSE_PRIORS: dict[LapseRule, float] = {"mle": 1.0, "map": 10.0}
_BLOCK_CELLS = 3072
"""Data sets times levels that are fitted at once: enough to be fast, little enough to be small in memory."""


def fit_psychometric(
    levels: npt.ArrayLike,
    correct: npt.ArrayLike,
    n: npt.ArrayLike,
    *,
    family: FamilyName = "probit",
    guess_rate: float = 0.0,
    lapse_rate: float | LapseRule = 0.0,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> PsychometricFit:
    """Fit a psychometric function to the readings of one data set.

    Parameters
    ----------
    levels, correct, n
        Stimulus levels, correct readings and all readings at each, shape (M,). Equal levels are pooled; counts need
        not be whole. ``"weibull"`` takes levels above 0.
    family
        ``"probit"``, ``"logit"``, ``"gumbel"``, or ``"weibull"``, which is the Gumbel on the logarithm of the level.
    guess_rate
        Share correct far below the threshold, in [0, 1).
    lapse_rate
        One minus the share correct far above it, in [0, .5]: fixed, or ``"mle"``, or ``"map"`` under a Beta(1, 10)
        prior.

    Raises
    ------
    EstimationError
        The counts, levels or options can't be those of a psychometric function. Readings that merely determine no
        curve raise nothing: the estimates then say what is known, and why no more.
    """
    columns = [np.atleast_1d(np.asarray(column, dtype=float)) for column in (levels, correct, n)]
    if any(column.ndim != 1 for column in columns):
        raise EstimationError("expected one row of levels and counts; for several data sets use fit_psychometric_batch")
    fits = fit_psychometric_batch(
        columns[0],
        columns[1][None],
        columns[2][None],
        family=family,
        guess_rate=guess_rate,
        lapse_rate=lapse_rate,
        confidence_level=confidence_level,
    )
    return fits[0]


def fit_psychometric_batch(
    levels: npt.ArrayLike,
    correct: npt.ArrayLike,
    n: npt.ArrayLike,
    *,
    family: FamilyName = "probit",
    guess_rate: float = 0.0,
    lapse_rate: float | LapseRule = 0.0,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> list[PsychometricFit]:
    """Fit a psychometric function to each of many data sets, as :func:`fit_psychometric` does to one.

    Parameters
    ----------
    levels, correct, n
        Shapes that broadcast to (B, M); levels of shape (M,) are shared. A level with n = 0 is not one of the set's.

    Raises
    ------
    EstimationError
        As for one data set.
    """
    _check_options(family, guess_rate, lapse_rate, confidence_level)
    model = _Model(family=family, guess_rate=guess_rate, lapse_rate=lapse_rate, confidence_level=confidence_level)
    counts = _pooled(*_checked_counts(levels, correct, n, positive=FAMILIES[family].on_log))
    fits: list[PsychometricFit] = []
    block = max(1, _BLOCK_CELLS // counts[0].shape[1])
    for start in range(0, len(counts[0]), block):
        fits += model.fit(*(column[start : start + block] for column in counts))
    return fits


def _check_options(
    family: FamilyName, guess_rate: float, lapse_rate: float | LapseRule, confidence_level: float
) -> None:
    if family not in FAMILIES:
        raise EstimationError(f"unknown family {family!r}: use one of {', '.join(FAMILIES)}")
    if not 0 <= guess_rate < 1:
        raise EstimationError(f"the guess rate lies in [0, 1), not at {guess_rate}")
    if isinstance(lapse_rate, str):
        if lapse_rate not in _LAPSE_PRIORS:
            raise EstimationError(
                f"the lapse rate is a number, or one of {', '.join(_LAPSE_PRIORS)}; not {lapse_rate!r}"
            )
    elif not (0 <= lapse_rate <= LARGEST_LAPSE_RATE and guess_rate + lapse_rate < 1):
        raise EstimationError(
            f"the lapse rate lies in [0, {LARGEST_LAPSE_RATE}] and, with the guess rate {guess_rate}, below 1; "
            f"not at {lapse_rate}"
        )
    if not 0 < confidence_level < 1:
        raise EstimationError(f"the confidence level lies between 0 and 1, not at {confidence_level}: 0.95 is usual")


def _checked_counts(
    levels: npt.ArrayLike, correct: npt.ArrayLike, n: npt.ArrayLike, *, positive: bool
) -> tuple[Numbers, Numbers, Numbers]:
    """Levels, correct and n as (B, M) each."""
    columns = [np.asarray(column, dtype=float) for column in (levels, correct, n)]
    try:
        x, hits, trials = np.broadcast_arrays(*columns)
    except ValueError:
        shapes = ", ".join(str(column.shape) for column in columns)
        raise EstimationError(f"levels, correct and n need shapes that fit together, found {shapes}") from None
    if x.ndim != 2 or x.shape[1] == 0:
        raise EstimationError(f"expected counts of shape (data sets, levels), at least one level; found {x.shape}")
    wrong = ~(np.isfinite(hits) & np.isfinite(trials) & (hits >= 0) & (hits <= trials))
    _refuse(wrong, "0 <= correct <= n", hits, trials)
    wrong = (trials > 0) & ~(np.isfinite(x) & ((x > 0) | (not positive)))
    _refuse(wrong, "a level above 0, which has a logarithm" if positive else "a finite level", x)
    return x, hits, trials


def _refuse(wrong: npt.NDArray[np.bool_], expected: str, *columns: Numbers) -> None:
    if wrong.any():
        row, place = np.argwhere(wrong)[0]
        found = " of ".join(f"{column[row, place]:g}" for column in columns)
        raise EstimationError(f"data set {row}, level {place}: expected {expected}, found {found}")


def _pooled(levels: Numbers, correct: Numbers, n: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Levels rising and distinct, places without readings last (they repeat the largest level)."""
    if (n > 0).all() and (levels[:, 1:] > levels[:, :-1]).all():
        return levels, correct, n
    order = np.lexsort((levels, n == 0), axis=1)
    levels, correct, n = (np.take_along_axis(column, order, axis=1) for column in (levels, correct, n))
    is_new = np.ones(levels.shape, bool)
    is_new[:, 1:] = (levels[:, 1:] != levels[:, :-1]) & (n[:, 1:] > 0)
    places = is_new.cumsum(axis=1) - 1
    rows = np.broadcast_to(np.arange(len(levels))[:, None], levels.shape)
    pooled_correct, pooled_n = np.zeros(levels.shape), np.zeros(levels.shape)
    np.add.at(pooled_correct, (rows, places), correct)
    np.add.at(pooled_n, (rows, places), n)
    largest = np.where(n > 0, levels, -np.inf).max(axis=1, keepdims=True)
    distinct = np.broadcast_to(largest, levels.shape).copy()
    distinct[rows[n > 0], places[n > 0]] = levels[n > 0]
    return distinct, pooled_correct, pooled_n


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """The options of a fit."""

    family: FamilyName
    guess_rate: float
    lapse_rate: float | LapseRule
    confidence_level: float

    @property
    def fixed_lapse(self) -> float | None:
        return None if isinstance(self.lapse_rate, str) else self.lapse_rate

    @property
    def lapse_prior(self) -> float:
        return _LAPSE_PRIORS[self.lapse_rate] if isinstance(self.lapse_rate, str) else 1.0

    @property
    def least_levels(self) -> int:
        """One more than there are parameters: with fewer the curve passes through the shares whatever it is."""
        return 4 if self.fixed_lapse is None else 3

    def fit(self, levels: Numbers, correct: Numbers, n: Numbers) -> list[PsychometricFit]:
        """Fit pooled counts, shape (B, M)."""
        enough = (n > 0).sum(axis=1) >= self.least_levels
        fits = iter(self._fit_enough(levels[enough], correct[enough], n[enough])) if enough.any() else iter(())
        return [
            next(fits) if enough[row] else self._too_few(levels[row], correct[row], n[row]) for row in range(len(n))
        ]

    def _fit_enough(self, levels: Numbers, correct: Numbers, n: Numbers) -> list[PsychometricFit]:
        x = np.log(levels) if FAMILIES[self.family].on_log else levels
        middle, span = (x[:, 0] + x[:, -1]) / 2, x[:, -1] - x[:, 0]
        likelihood = Likelihood(
            family=FAMILIES[self.family],
            levels=(x - middle[:, None]) / span[:, None],
            correct=correct,
            n=n,
            guess_rate=self.guess_rate,
            lapse_rate=self.fixed_lapse,
            lapse_prior=self.lapse_prior,
        )
        maximum = fit(likelihood)
        ends = limits(likelihood, maximum, self.confidence_level)
        saturated = likelihood.saturated()
        return [
            self._described(
                self._landmark(maximum, ends, row, float(middle[row]), float(span[row])),
                self._fitted_lapse(maximum, row),
                float(maximum.value[row]),
                float(saturated[row]),
                *(column[row][n[row] > 0] for column in (levels, correct, n)),
            )
            for row in range(len(n))
        ]

    def _landmark(self, maximum: Maximum, ends: Limits, row: int, middle: float, span: float) -> Landmark:
        """One data set's maximum and limits, out of standard units."""
        inside = not (maximum.step[row] or maximum.flat[row])
        t, log_width = (float(maximum.theta[row, parameter]) for parameter in (THRESHOLD, WIDTH))
        step = (float(maximum.step_limit.low[row]), float(maximum.step_limit.high[row]))
        low, high = ends.low[row], ends.high[row]
        return Landmark(
            threshold=middle + span * t if inside else None,
            width=span * exp(log_width) if inside else None,
            step=(middle + span * step[0], middle + span * step[1]) if maximum.step[row] else None,
            threshold_limits=(middle + span * float(low[THRESHOLD]), middle + span * float(high[THRESHOLD])),
            width_limits=(span * exp(low[WIDTH]), span * exp(high[WIDTH])),
        )

    def _fitted_lapse(self, maximum: Maximum, row: int) -> float | None:
        if self.fixed_lapse is not None:
            return self.fixed_lapse
        if maximum.step[row]:
            return float(maximum.step_limit.lapse_rate[row])
        return None if maximum.flat[row] else float(maximum.theta[row, LAPSE])

    @property
    def _method(self) -> str:
        lapse = f"{self.lapse_rate:g}" if self.fixed_lapse is not None else str(self.lapse_rate).upper()
        return f"profile likelihood ({self.family}, guess rate {self.guess_rate:g}, lapse rate {lapse})"

    def _described(
        self,
        found: Landmark,
        lapse_rate: float | None,
        value: float,
        saturated: float,
        levels: Numbers,
        correct: Numbers,
        n: Numbers,
    ) -> PsychometricFit:
        curve = FAMILIES[self.family]
        log_likelihood = value - float(xlog1py(self.lapse_prior - 1, -(lapse_rate or 0.0)))
        fitted_levels = np.log(levels) if curve.on_log else levels
        flags = _flags(found, lapse_rate if self.fixed_lapse is None else None, fitted_levels, correct, n)
        wording = Wording(
            n=round(float(n.sum())), confidence_level=self.confidence_level, method=self._method, flags=flags
        )
        width = width_estimate(found, wording)
        return PsychometricFit(
            family=self.family,
            guess_rate=self.guess_rate,
            lapse_rate=lapse_rate,
            threshold=threshold_estimate(found, wording, unit=_unlogged if curve.on_log else float),
            width=width,
            slope=slope_estimate(width, curve.slope_scale),
            log_likelihood=log_likelihood,
            deviance=max(0.0, 2 * (saturated - log_likelihood)),
            levels=tuple(levels.tolist()),
            correct=tuple(correct.tolist()),
            n=tuple(n.tolist()),
            flags=flags,
        )

    def _too_few(self, levels: Numbers, correct: Numbers, n: Numbers) -> PsychometricFit:
        tested = n > 0
        absent = Estimate(
            status="undetermined",
            reason=f"needs readings at {self.least_levels} levels or more, found {tested.sum()}: test more levels",
            n=round(float(n.sum())),
            confidence_level=self.confidence_level,
            flags=("too_few_levels",),
        )
        return PsychometricFit(
            family=self.family,
            guess_rate=self.guess_rate,
            lapse_rate=self.fixed_lapse,
            threshold=absent,
            width=absent,
            slope=absent,
            log_likelihood=None,
            deviance=None,
            levels=tuple(levels[tested].tolist()),
            correct=tuple(correct[tested].tolist()),
            n=tuple(n[tested].tolist()),
            flags=absent.flags,
        )


def _unlogged(level: float) -> float:
    return exp(min(level, LARGEST_ARGUMENT))


def _flags(
    found: Landmark, fitted_lapse: float | None, levels: Numbers, correct: Numbers, n: Numbers
) -> tuple[str, ...]:
    flags = []
    if found.step is not None and all(map(isfinite, found.step)):
        flags.append("separated")
    elif (correct == n).all():
        flags.append("all_correct")
    elif (correct == 0).all():
        flags.append("none_correct")
    elif found.threshold is None:
        flags.append("no_rise")
    elif not levels[0] <= found.threshold <= levels[-1]:
        flags.append("extrapolated")
    if fitted_lapse is not None and fitted_lapse >= LARGEST_LAPSE_RATE:
        flags.append("lapse_at_limit")
    return tuple(flags)
