"""Likelihood of many psychometric functions at once: its value and derivatives, and what it tends to at the edges.

Everything here is in standard units: the levels of a data set run from -1/2 to 1/2. A point θ is (t, log w) or, where
the lapse rate is free, (t, log w, λ).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import xlog1py, xlogy

from datasheet.analysis.psychometric_curve import LARGEST_ARGUMENT, Family, Numbers, Rise

Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]

THRESHOLD, WIDTH, LAPSE = 0, 1, 2
LARGEST_LAPSE_RATE = 0.5
ROUNDING = 1e-9
"""Log-likelihoods that differ by less, relative to their size, are equal."""

_FAR = _FLAT = 1e4
_STEEP = 1e-8
_LEAST_SHARE = 1e-100


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivatives:
    """Log-likelihood (B,), its gradient (B, d), its negative Hessian (B, d, d), and the mean of that one's diagonal."""

    value: Numbers
    gradient: Numbers
    information: Numbers
    expected: Numbers

    def of(self, rows: Indices) -> Derivatives:
        """Those of R data sets by their numbers, shape (R,)."""
        return Derivatives(
            value=self.value[rows],
            gradient=self.gradient[rows],
            information=self.information[rows],
            expected=self.expected[rows],
        )

    def put(self, rows: Indices, other: Derivatives, of: Flags) -> None:
        """Overwrite ``rows``, shape (R,), with the R rows of another that a mask keeps."""
        self.value[rows] = other.value[of]
        self.gradient[rows] = other.gradient[of]
        self.information[rows] = other.information[of]
        self.expected[rows] = other.expected[of]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLimit:
    """What the likelihood tends to as the width goes to 0, shape (B,) each.

    Attributes
    ----------
    value
        The limit.
    low, high
        Ends of the range of thresholds that reach it: infinite where the step lies outside the levels, equal where it
        lies on a level.
    lapse_rate
        The lapse rate that reaches it.
    """

    value: Numbers
    low: Numbers
    high: Numbers
    lapse_rate: Numbers

    def of(self, rows: Indices) -> StepLimit:
        """That of R data sets by their numbers, shape (R,)."""
        return StepLimit(
            value=self.value[rows], low=self.low[rows], high=self.high[rows], lapse_rate=self.lapse_rate[rows]
        )


@dataclass(frozen=True, kw_only=True)
class Likelihood:
    """Counts of several data sets under one family, one guess rate and one rule for the lapse rate.

    Attributes
    ----------
    levels, correct, n
        Shape (B, M): levels in standard units, rising; places without readings come last and have n = 0.
    lapse_rate
        The fixed lapse rate, or None where it is free.
    lapse_prior
        β of the Beta(1, β) prior of a free lapse rate; 1 is no prior.
    """

    family: Family
    levels: Numbers
    correct: Numbers
    n: Numbers
    guess_rate: float
    lapse_rate: float | None
    lapse_prior: float = 1.0

    @property
    def n_parameters(self) -> int:
        """d: threshold, log width and, where it is free, the lapse rate."""
        return 2 if self.lapse_rate is not None else 3

    @cached_property
    def least_gap(self) -> Numbers:
        """Smallest distance between neighbouring levels, shape (B,)."""
        gaps = np.diff(self.levels, axis=1)
        least: Numbers = np.min(gaps, axis=1, initial=1.0, where=gaps > 0)
        return least

    def of(self, rows: Indices | Flags) -> Likelihood:
        """The same for the data sets of a mask, shape (B,), or of numbers, shape (R,), which may repeat."""
        return Likelihood(
            family=self.family,
            levels=self.levels[rows],
            correct=self.correct[rows],
            n=self.n[rows],
            guess_rate=self.guess_rate,
            lapse_rate=self.lapse_rate,
            lapse_prior=self.lapse_prior,
        )

    @cached_property
    def bounds(self) -> tuple[Numbers, Numbers]:
        """The box of θ, shape (B, d) each; only a lapse rate is ever reported from its edge."""
        low, high = np.zeros((2, len(self.levels), self.n_parameters))
        low[:, THRESHOLD], high[:, THRESHOLD] = -_FAR, _FAR
        low[:, WIDTH], high[:, WIDTH] = np.log(_STEEP * self.least_gap), np.log(_FLAT)
        high[:, LAPSE:] = LARGEST_LAPSE_RATE
        return low, high

    def _shares(self, theta: Numbers, levels: Numbers) -> tuple[Numbers, Numbers, Numbers, Numbers, Rise]:
        """Share correct, share wrong, C (x - t)/w, 1 - γ - λ, and the rise."""
        lapse = np.asarray(theta[..., LAPSE, None] if self.lapse_rate is None else self.lapse_rate)
        centred = self.family.scale * np.exp(-theta[..., WIDTH, None]) * (levels - theta[..., THRESHOLD, None])
        centred = np.minimum(np.maximum(centred, -LARGEST_ARGUMENT), LARGEST_ARGUMENT)
        rise = self.family.rise(centred + self.family.offset)
        room = 1 - self.guess_rate - lapse
        share = np.maximum(self.guess_rate + room * rise.reached, _LEAST_SHARE)
        return share, np.maximum(lapse + room * rise.missed, _LEAST_SHARE), centred, room, rise

    def value(self, theta: Numbers) -> Numbers:
        """Log-likelihood (penalised, where the lapse rate has a prior) at K points: (B, K) for θ of (B, K, d).

        Points that all data sets share may come as (1, K, d).
        """
        share, rest, *_ = self._shares(theta, self.levels[:, None])
        misses = self.n - self.correct
        total: Numbers = (np.log(share) @ self.correct[:, :, None] + np.log(rest) @ misses[:, :, None])[:, :, 0]
        if self.lapse_rate is None:
            total += xlog1py(self.lapse_prior - 1, -theta[..., LAPSE])
        return total

    def derivatives(self, theta: Numbers) -> Derivatives:
        """Log-likelihood and its derivatives at one point each, θ of shape (B, d)."""
        share, rest, centred, room, rise = self._shares(theta, self.levels)
        misses = self.n - self.correct
        value = (self.correct * np.log(share) + misses * np.log(rest)).sum(axis=1)
        hit_pull, miss_pull = self.correct / share, misses / rest
        pull, bend = hit_pull - miss_pull, hit_pull / share + miss_pull / rest

        # Derivatives of the share by θ: u = C (x - t)/w + u₀ has u_t = -rate and u_s = -centred, with s = log w.
        rate = self.family.scale * np.exp(-theta[:, WIDTH, None])
        standard_density, standard_slope = rise.derivatives()
        density, slope = room * standard_density, room * standard_slope
        stretched = slope * centred + density
        first = [-density * rate, -density * centred]
        second = [slope * rate**2, stretched * rate, stretched * centred]
        if self.lapse_rate is None:
            first.append(-rise.reached)
            second += [standard_density * rate, standard_density * centred, np.zeros_like(centred)]
        parts = np.stack(first + second, axis=1)
        jacobian = parts[:, : len(first)]
        sums = (parts @ pull[:, :, None])[:, :, 0]
        gradient = sums[:, : len(first)]
        information = (jacobian * bend[:, None]) @ jacobian.transpose(0, 2, 1) - _symmetric(sums[:, len(first) :])
        expected = (jacobian**2 @ (self.n / (share * rest))[:, :, None])[:, :, 0]
        if self.lapse_rate is None:
            kept, penalty = 1 - theta[:, LAPSE], self.lapse_prior - 1
            value += penalty * np.log(kept)
            gradient[:, LAPSE] -= penalty / kept
            information[:, LAPSE, LAPSE] += penalty / kept**2
            expected[:, LAPSE] += penalty / kept**2
        return Derivatives(value=value, gradient=gradient, information=information, expected=expected)

    def step_limit(self) -> StepLimit:
        """The likelihood of a step, which leaves one level at most on the rise.

        Levels below that one have the guess rate, levels above it 1 - λ, and it has its own share.
        """
        misses = self.n - self.correct
        share = self.correct / np.maximum(self.n, _LEAST_SHARE)
        hits_above, misses_above = (c[:, ::-1].cumsum(axis=1)[:, ::-1] - c for c in (self.correct, misses))
        if self.lapse_rate is None:
            trials = hits_above + misses_above + self.lapse_prior - 1
            lapse = np.minimum(misses_above / np.maximum(trials, _LEAST_SHARE), LARGEST_LAPSE_RATE)
        else:
            lapse = np.full_like(share, self.lapse_rate)
        top = np.maximum(1 - lapse, self.guess_rate)
        middle = np.clip(share, self.guess_rate, top)
        guessed = _binomial(self.correct, misses, self.guess_rate)
        reached = guessed.cumsum(axis=1) - guessed + _binomial(self.correct, misses, middle)
        reached += _binomial(hits_above, misses_above, top)
        if self.lapse_rate is None:
            reached += xlog1py(self.lapse_prior - 1, -lapse)
        reached[self.n == 0] = -np.inf
        best = reached.max(axis=1)
        tied = reached >= best[:, None] - ROUNDING * (1 + np.abs(best[:, None]))
        previous, following = _neighbours(self.levels, self.n > 0)
        low = np.where(middle >= top, previous, self.levels)
        high = np.where(middle <= self.guess_rate, following, self.levels)
        return StepLimit(
            value=best,
            low=np.where(tied, low, np.inf).min(axis=1),
            high=np.where(tied, high, -np.inf).max(axis=1),
            lapse_rate=lapse[np.arange(len(lapse)), reached.argmax(axis=1)],
        )

    def constant_limit(self, least: float, most: float) -> Numbers:
        """What the likelihood tends to as the width grows without bound, shape (B,).

        That is one share at every level, from ``least`` to ``most``.
        """
        hits, misses = self.correct.sum(axis=1), (self.n - self.correct).sum(axis=1)
        return _binomial(hits, misses, np.clip(hits / np.maximum(hits + misses, _LEAST_SHARE), least, most))

    def saturated(self) -> Numbers:
        """Log-likelihood of each level's own share, shape (B,)."""
        share = self.correct / np.maximum(self.n, _LEAST_SHARE)
        total: Numbers = _binomial(self.correct, self.n - self.correct, share).sum(axis=1)
        return total


def _binomial(hits: Numbers, misses: Numbers, share: Numbers | float) -> Numbers:
    """Log-likelihood of counts at a share, without the binomial coefficient; finite where the share rules them out."""
    rest = 1 - np.asarray(share)
    total: Numbers = xlogy(hits, np.maximum(share, _LEAST_SHARE)) + xlogy(misses, np.maximum(rest, _LEAST_SHARE))
    return total


def _neighbours(levels: Numbers, present: Flags) -> tuple[Numbers, Numbers]:
    """The level before and the level after each, infinite at the ends."""
    outside = np.full((len(levels), 1), np.inf)
    previous = np.concatenate([-outside, levels[:, :-1]], axis=1)
    following = np.concatenate([np.where(present, levels, np.inf)[:, 1:], outside], axis=1)
    return previous, following


def _symmetric(parts: Numbers) -> Numbers:
    """Matrices (B, d, d) from (tt, ts, ss) or (tt, ts, ss, tλ, sλ, λλ)."""
    order = [[0, 1], [1, 2]] if parts.shape[1] == 3 else [[0, 1, 3], [1, 2, 4], [3, 4, 5]]
    matrices: Numbers = parts[:, order]
    return matrices
