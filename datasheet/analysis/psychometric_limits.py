"""Profile-likelihood limits of many psychometric functions at once, in standard units.

Most limits are found by Newton's method on the two conditions that define them (Venzon and Moolgavkar 1988, Applied
Statistics 37:87). The rest are bracketed: those of separated or flat readings, whose profiles jump or never rise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from datasheet.analysis.psychometric_curve import Numbers
from datasheet.analysis.psychometric_fit import (
    CENTRES,
    REACH,
    WIDTHS,
    Maximum,
    at_bound,
    best_of,
    climb,
    with_lapse_starts,
)
from datasheet.analysis.psychometric_likelihood import LARGEST_LAPSE_RATE, THRESHOLD, WIDTH, Flags, Indices, Likelihood

_SIDES = np.array([THRESHOLD, THRESHOLD, WIDTH, WIDTH], dtype=np.intp)
_OUTWARD = np.array([-1.0, 1.0, -1.0, 1.0])
"""The four sides of every array below: threshold low, threshold high, width low, width high."""

_QUICK_STEPS, _LONGEST_STEP = 12, 2.0
_NEWTON_ROUNDS, _MOST_ROUNDS = 10, 70
_CLOSE, _NARROW = 1e-5, 1e-8
_STEEP_ENOUGH, _NUDGE = 1e-2, 1e-5

_WIDE = np.array([20.0, 200.0])
_OFFSETS = np.array([-0.8, -0.4, 0.4, 0.8])
_WIDEST_START = np.log(1e4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Ends of the profile-likelihood intervals, shape (B, 2): threshold and log width; infinite where open."""

    low: Numbers
    high: Numbers


def limits(likelihood: Likelihood, maximum: Maximum, confidence_level: float) -> Limits:
    """Where the deviance from the maximum reaches the quantile of χ²(1), for threshold and width.

    A side is open where the deviance does not get there within :data:`REACH`, or before the curve is a step. Where a
    profile crosses it more than once, as few readings under a guess rate may bring about, the limit is one nearest to
    the maximum in most cases, not always the outermost.
    """
    critical = float(ndtri((1 + confidence_level) / 2)) ** 2
    ends = np.tile([-np.inf, np.inf, -np.inf, np.inf], (len(maximum.value), 1))
    rises = 2 * (maximum.value[:, None] - _far_values(likelihood, maximum)) >= critical
    regular = rises & ~(maximum.step | maximum.flat)[:, None]
    row, side = np.nonzero(regular)
    if len(row):
        found, sound = _quick(likelihood.of(row), maximum, row, side, critical)
        ends[row[sound], side[sound]] = found[sound]
        regular[row[~sound], side[~sound]] = False
    left = ~regular
    left[:, 2] &= rises[:, 2]
    if left.any():
        rows = np.nonzero(left.any(axis=1))[0]
        ends[rows] = np.where(left[rows], _bracketed(likelihood.of(rows), maximum.of(rows), critical), ends[rows])
    ends[:, 2] = np.minimum(ends[:, 2], np.log(REACH))
    return Limits(low=ends[:, [0, 2]], high=ends[:, [1, 3]])


def _far_values(likelihood: Likelihood, maximum: Maximum) -> Numbers:
    """What the likelihood may at most tend to far out on each side, shape (B, 4).

    With the threshold far above the levels, every share is on the lower half of the rise.
    """
    guess, lapse = likelihood.guess_rate, likelihood.lapse_rate
    top = 1 - (lapse or 0.0)
    least_middle = (guess + (1 - LARGEST_LAPSE_RATE if lapse is None else top)) / 2
    return np.stack(
        [
            likelihood.constant_limit(least_middle, top),
            likelihood.constant_limit(guess, (guess + top) / 2),
            maximum.step_limit.value,
            maximum.constant_limit,
        ],
        axis=1,
    )


def _quick(
    likelihood: Likelihood, maximum: Maximum, row: Indices, side: Indices, critical: float
) -> tuple[Numbers, Flags]:
    """Limits by Newton's method from the maximum, and which of them are sound; shape (P,) each.

    Each step solves the quadratic model of the likelihood for the point of its profile at the wanted height.
    """
    parameter, outward, places = _SIDES[side], _OUTWARD[side], np.arange(len(row))
    theta, wanted = maximum.theta[row], maximum.value[row] - critical / 2
    low, high = likelihood.bounds
    held = np.zeros(theta.shape, bool)
    held[places, parameter] = True
    close = np.zeros(len(row), bool)
    for _ in range(_QUICK_STEPS):
        at = likelihood.derivatives(theta)
        free = ~held & ~at_bound(theta, at.gradient, low, high)
        matrix = np.where(free[:, :, None] & free[:, None, :], at.information, 0.0)
        matrix[:, range(theta.shape[1]), range(theta.shape[1])] += np.where(free, 1e-9 * at.expected + 1e-12, 1.0)
        cross = at.information[places, parameter]
        pulls = np.stack([np.where(free, at.gradient, 0.0), np.where(free, cross, 0.0)], axis=2)
        solved = np.linalg.solve(matrix, pulls)
        uphill, along = solved[:, :, 0], solved[:, :, 1]
        gain = (at.gradient * uphill).sum(axis=1) / 2
        excess = at.value + gain - wanted
        close = (np.abs(excess) < _CLOSE * critical / 2) & (np.abs(gain) < _CLOSE * critical / 2)
        if close.all():
            break
        slope = at.gradient[places, parameter] - (cross * uphill).sum(axis=1)
        bend = at.information[places, parameter, parameter] - (cross * along).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            move = (slope + outward * np.sqrt(np.maximum(slope**2 + 2 * bend * excess, 0.0))) / bend
        move = np.where(np.isfinite(move), move, 0.0)[:, None]
        step = np.where(held, move, uphill - along * move)
        theta = np.where(
            close[:, None], theta, np.clip(theta + np.clip(step, -_LONGEST_STEP, _LONGEST_STEP), low, high)
        )
    ends = theta[places, parameter]
    furthest = np.array([-REACH, REACH, -np.inf, np.log(REACH)])[side]
    sound = close & (outward * (ends - maximum.theta[row, parameter]) > 0) & (outward * (ends - furthest) <= 0)
    # A better point with the same threshold or width, elsewhere: this profile has several branches.
    points = _profile_starts(likelihood, parameter, ends)
    sound &= likelihood.value(points).max(axis=1) <= wanted + _CLOSE * critical
    return ends, sound


def _bracketed(likelihood: Likelihood, maximum: Maximum, critical: float) -> Numbers:
    """All four limits of each data set between a value inside and one beyond, infinite where open; shape (B, 4)."""
    warm, inside = _inside(likelihood, maximum)
    outside = _edges(likelihood)
    n_sets = len(warm)
    row, side = np.repeat(np.arange(n_sets), 3), np.tile([0, 1, 3], n_sets)
    value, _, _ = profile(likelihood.of(row), _SIDES[side], outside[row, side], warm[row])
    deviance = np.tile(2 * (maximum.value - maximum.step_limit.value)[:, None], 4)
    deviance[row, side] = 2 * (maximum.value[row] - value)
    present = deviance >= critical
    # A flat curve's threshold is nowhere: its interval reaches from one edge inwards, or has no end at all.
    present[:, :2] &= ~maximum.flat[:, None] | (deviance[:, 1::-1] < critical)
    present[:, 3] &= ~maximum.flat
    row, side = np.nonzero(present)
    ends = np.tile([-np.inf, np.inf, -np.inf, np.inf], (n_sets, 1))
    ends[row, side] = _crossings(
        likelihood.of(row),
        _SIDES[side],
        inside[row, side],
        outside[row, side],
        warm[row],
        maximum.value[row],
        critical,
    )
    # Where the profile jumps it does so at a level, which is only approached.
    for column in (0, 1):
        ends[:, column] = _snapped(ends[:, column], likelihood)
    return ends


def _edges(likelihood: Likelihood) -> Numbers:
    """Values beyond every limit that is reported, a column for each side.

    Curves much steeper than the closest levels are steps as far as the readings can tell.
    """
    ones = np.ones(len(likelihood.n))
    steep = np.log(_STEEP_ENOUGH * likelihood.least_gap)
    return np.stack([-REACH * ones, REACH * ones, steep, np.log(REACH) * ones], axis=1)


def _inside(likelihood: Likelihood, maximum: Maximum) -> tuple[Numbers, Numbers]:
    """Points to start from (B, d), and values within each interval (B, 4)."""
    warm, step, flat = maximum.theta.copy(), maximum.step, maximum.flat
    if step.any():
        steepest = likelihood.bounds[0][step, WIDTH]
        low, high = maximum.step_limit.low[step], maximum.step_limit.high[step]
        low, high = np.where(np.isinf(low), high - 1.0, low), np.where(np.isinf(high), low + 1.0, high)
        warm[step, THRESHOLD] = (low + high) / 2
        warm[step, WIDTH] = steepest
        warm[step] = _beside_the_level(likelihood.of(step), warm[step], low == high)
    inside = warm[:, [THRESHOLD, THRESHOLD, WIDTH, WIDTH]]
    inside[step, 3] = likelihood.bounds[0][step, WIDTH]
    inside[flat, :2] = [REACH, -REACH]
    inside[flat, 2:] = likelihood.bounds[1][flat, WIDTH, None]
    return warm, inside


def _beside_the_level(likelihood: Likelihood, warm: Numbers, on_level: Flags) -> Numbers:
    """Move thresholds that lie on a level to the side where a steep curve gives that level its own share."""
    nudge = np.where(on_level, _NUDGE * likelihood.least_gap, 0.0)
    parameter = np.full(len(warm), THRESHOLD)
    tried = [profile(likelihood, parameter, warm[:, THRESHOLD] + sign * nudge, warm) for sign in (0, -1, 1)]
    best = np.argmax([value for value, _, _ in tried], axis=0)
    chosen: Numbers = np.stack([theta for _, _, theta in tried])[best, np.arange(len(warm))]
    return chosen


def _snapped(thresholds: Numbers, likelihood: Likelihood) -> Numbers:
    distance = np.abs(likelihood.levels - thresholds[:, None])
    nearest = distance.argmin(axis=1)
    at_level = distance.min(axis=1) < _NUDGE * likelihood.least_gap
    snapped: Numbers = np.where(at_level, likelihood.levels[np.arange(len(nearest)), nearest], thresholds)
    return snapped


def profile(
    likelihood: Likelihood, parameter: Indices, held_at: Numbers, warm: Numbers
) -> tuple[Numbers, Numbers, Numbers]:
    """The likelihood with one parameter held and the others at their best: value, slope (P,), and θ (P, d).

    Parameters
    ----------
    parameter, held_at
        Which parameter is held, and at what; shape (P,).
    warm
        Points whose other parameters are known to be good at a neighbouring value, shape (P, d).
    """
    rows = np.arange(len(warm))
    known = warm.copy()
    known[rows, parameter] = held_at
    held = np.zeros(warm.shape, bool)
    held[rows, parameter] = True
    # The known point climbs along even where another one is higher: a plateau that leads nowhere may be.
    other = best_of(likelihood, _profile_starts(likelihood, parameter, held_at))
    theta, at = climb(likelihood, np.stack([known, other], axis=1), held)
    return at.value, at.gradient[rows, parameter], theta


def _profile_starts(likelihood: Likelihood, parameter: Indices, held_at: Numbers) -> Numbers:
    """Points (P, K, d) with one parameter held and the others spread out."""
    is_width, value = (parameter == WIDTH)[:, None], held_at[:, None]
    shape = (len(value), len(WIDTHS) + len(_WIDE))
    # A threshold just beside a level needs a curve as steep as that distance, which no fixed grid holds.
    distance = np.abs(likelihood.levels - value).min(axis=1, keepdims=True)
    beside = np.maximum(3 * distance, np.exp(likelihood.bounds[0][:, WIDTH, None]))
    log_widths = np.log(np.concatenate([np.broadcast_to(np.concatenate([WIDTHS, _WIDE]), shape), beside], axis=1))
    offsets = np.exp(np.minimum(value, _WIDEST_START)) * _OFFSETS
    centres = np.concatenate([np.broadcast_to(CENTRES[1:12], (len(value), 11)), offsets], axis=1)
    return with_lapse_starts(likelihood, np.where(is_width, centres, value), np.where(is_width, value, log_widths))


def _crossings(
    likelihood: Likelihood,
    parameter: Indices,
    inside: Numbers,
    outside: Numbers,
    warm: Numbers,
    peak: Numbers,
    critical: float,
) -> Numbers:
    """Where the profile deviance reaches ``critical`` between a value inside and one outside, shape (P,).

    The root of the deviance is nearly a straight line in the parameter, so that Newton's method on it takes a few
    rounds; halving takes over where the profile jumps, as it does at a level when the readings are separated.
    """
    trial = inside.copy()
    pending = np.arange(len(trial))
    for count in range(_MOST_ROUNDS):
        if not len(pending):
            break
        near, far, now = inside[pending], outside[pending], trial[pending]
        within = (now > np.minimum(near, far)) & (now < np.maximum(near, far))
        now = np.where(within & (count < _NEWTON_ROUNDS), now, (near + far) / 2)
        value, slope, warm[pending] = profile(likelihood.of(pending), parameter[pending], now, warm[pending])
        deviance = np.maximum(2 * (peak[pending] - value), 0.0)
        root, covered = np.sqrt(deviance), deviance < critical
        inside[pending], outside[pending] = np.where(covered, now, near), np.where(covered, far, now)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            trial[pending] = now - (np.sqrt(critical) - root) * root / slope
        settled = np.abs(deviance - critical) < _CLOSE * critical
        settled |= np.abs(inside - outside)[pending] < _NARROW * (1e-3 + np.abs(now))
        trial[pending[settled]] = now[settled]
        pending = pending[~settled]
    return trial
