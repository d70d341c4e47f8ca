"""Maximum likelihood of many psychometric functions at once, in standard units."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from datasheet.analysis.psychometric_curve import Numbers
from datasheet.analysis.psychometric_likelihood import (
    LAPSE,
    ROUNDING,
    THRESHOLD,
    WIDTH,
    Derivatives,
    Flags,
    Indices,
    Likelihood,
    StepLimit,
)

REACH = 10.0
"""Ranges of the tested levels beyond which a threshold, a width or a limit is left open."""

_STEPS_EACH, _MOST_STEPS = 4, 80
_SETTLED = 1e-11
_LONGEST_STEP = 2.0
# A single level on the rise gives a matrix of rank one: this much keeps it solvable.
_LEAST_DAMPING = 1e-9

_LAPSE_STARTS = (0.0, 0.03, 0.12, 0.3)
WIDTHS = np.geomspace(0.03, 6, 12)
CENTRES = np.concatenate([np.linspace(-0.6, 0.6, 13), [-2.5, -1.6, -1, 1, 1.6, 2.5]])


def climb(likelihood: Likelihood, starts: Numbers, held: Flags) -> tuple[Numbers, Derivatives]:
    """The highest maximum that is reached from several starts, shape (B, G, d), with some parameters held, (B, d).

    One start is not enough: where the guess rate is above 0 the likelihood may have several maxima.
    """
    n_sets, n_starts, n_parameters = starts.shape
    row = np.repeat(np.arange(n_sets), n_starts)
    each = likelihood.of(row)
    theta = np.clip(starts.reshape(-1, n_parameters), *each.bounds)
    at = each.derivatives(theta)
    _ascend(each, theta, at, held[row], _STEPS_EACH)
    best = np.arange(n_sets) * n_starts + at.value.reshape(n_sets, n_starts).argmax(axis=1)
    theta, at = theta[best], at.of(best)
    _ascend(likelihood, theta, at, held, _MOST_STEPS)
    return theta, at


def _ascend(likelihood: Likelihood, theta: Numbers, at: Derivatives, held: Flags, most_steps: int) -> None:
    """Climb, in place, towards the nearest maximum in the parameters that are not held, for all data sets at once.

    Newton's method with Levenberg's damping; a parameter at a bound that pulls outward stays there.
    """
    low, high = likelihood.bounds
    damping = np.full(len(theta), 1e-3)
    moving = np.arange(len(theta))
    for _ in range(most_steps):
        here, pull, floor, ceiling = theta[moving], at.gradient[moving], low[moving], high[moving]
        free = ~held[moving] & ~at_bound(here, pull, floor, ceiling)
        step = _damped_step(pull, at.information[moving], damping[moving, None] * at.expected[moving], free)
        there = np.clip(here + step, floor, ceiling)
        part = likelihood if len(moving) == len(theta) else likelihood.of(moving)
        found = part.derivatives(there)
        rises = found.value >= at.value[moving]
        theta[moving[rises]] = there[rises]
        at.put(moving[rises], found, rises)
        damping[moving] = np.where(rises, np.maximum(damping[moving] * 0.05, _LEAST_DAMPING), damping[moving] * 10)
        moving = moving[(np.abs((pull * step).sum(axis=1)) > _SETTLED) & (damping[moving] < 1e9)]
        if not len(moving):
            return


def at_bound(theta: Numbers, gradient: Numbers, low: Numbers, high: Numbers) -> Flags:
    """Which parameters lie at a bound and pull outward; all arrays of shape (B, d)."""
    at: Flags = ((theta <= low) & (gradient < 0)) | ((theta >= high) & (gradient > 0))
    return at


def _damped_step(pull: Numbers, information: Numbers, damping: Numbers, free: Flags) -> Numbers:
    matrix = np.where(free[:, :, None] & free[:, None, :], information, 0.0)
    diagonal = np.arange(pull.shape[1])
    matrix[:, diagonal, diagonal] += np.where(free, damping + 1e-12, 1.0)
    step: Numbers = np.linalg.solve(matrix, np.where(free, pull, 0.0)[:, :, None])[:, :, 0]
    return np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)


def with_lapse_starts(likelihood: Likelihood, thresholds: Numbers, log_widths: Numbers) -> Numbers:
    """Points (B, K, d) of the given thresholds and widths, each with every starting lapse rate where that is free."""
    points = np.stack(np.broadcast_arrays(thresholds, log_widths), axis=-1)
    if likelihood.lapse_rate is not None:
        return points
    repeated = np.repeat(points, len(_LAPSE_STARTS), axis=1)
    lapses = np.broadcast_to(np.tile(_LAPSE_STARTS, points.shape[1]), repeated.shape[:2])
    return np.concatenate([repeated, lapses[:, :, None]], axis=2)


def best_of(likelihood: Likelihood, points: Numbers) -> Numbers:
    """The likeliest of K points for each data set, (B, K, d) to (B, d)."""
    best: Numbers = points[np.arange(len(points)), likelihood.value(points).argmax(axis=1)]
    return best


@cache
def _grid(n_parameters: int) -> Numbers:
    """A coarse grid of points in pairs of its widths, shape (6, K, d)."""
    lapses = _LAPSE_STARTS if n_parameters > LAPSE else (0.0,)
    log_widths, centres, lapse = np.meshgrid(np.log(WIDTHS), CENTRES, lapses, indexing="ij")
    points = np.stack([centres.ravel(), log_widths.ravel(), lapse.ravel()], axis=1)[:, :n_parameters]
    pairs: Numbers = points.reshape(len(WIDTHS) // 2, -1, n_parameters)
    pairs.setflags(write=False)
    return pairs


def _grid_starts(likelihood: Likelihood) -> Numbers:
    """The best points of a coarse grid at each pair of its widths, shape (B, 6, d)."""
    pairs = _grid(likelihood.n_parameters)
    values = likelihood.value(pairs.reshape(1, -1, likelihood.n_parameters))
    best = values.reshape(-1, *pairs.shape[:2]).argmax(axis=2)
    starts: Numbers = pairs[np.arange(len(pairs)), best]
    return starts


@dataclass(frozen=True, slots=True, kw_only=True)
class Maximum:
    """Where the likelihoods are largest, shape (B,) each (θ: (B, d)).

    ``step`` and ``flat`` mark data sets whose likelihood has no maximum inside: it grows as the width goes to 0, or
    without bound; ``value`` is then that limit, and θ means nothing.
    """

    theta: Numbers
    value: Numbers
    step: Flags
    flat: Flags
    step_limit: StepLimit
    constant_limit: Numbers

    def of(self, rows: Indices) -> Maximum:
        """That of R data sets by their numbers, shape (R,)."""
        return Maximum(
            theta=self.theta[rows],
            value=self.value[rows],
            step=self.step[rows],
            flat=self.flat[rows],
            step_limit=self.step_limit.of(rows),
            constant_limit=self.constant_limit[rows],
        )


def fit(likelihood: Likelihood) -> Maximum:
    """The maximum of each data set, or the edge that it grows towards."""
    none_held = np.zeros((len(likelihood.n), likelihood.n_parameters), bool)
    theta, at = climb(likelihood, _grid_starts(likelihood), none_held)
    step_limit = likelihood.step_limit()
    constant = likelihood.constant_limit(likelihood.guess_rate, 1 - (likelihood.lapse_rate or 0.0))
    slack = ROUNDING * (1 + np.abs(at.value))
    step = (step_limit.value >= at.value - slack) & (step_limit.value >= constant - slack)
    # With 1 - λ = γ every step, wherever it is, is the same constant share.
    step &= np.isfinite(step_limit.low) | np.isfinite(step_limit.high)
    far = (np.abs(theta[:, THRESHOLD]) > REACH) | (theta[:, WIDTH] > np.log(REACH))
    return Maximum(
        theta=theta,
        value=np.maximum(at.value, np.maximum(step_limit.value, constant)),
        step=step,
        flat=~step & ((constant >= at.value - slack) | far),
        step_limit=step_limit,
        constant_limit=constant,
    )
