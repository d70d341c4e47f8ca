"""Regression of evidence whose spread grows with ΔQ, since tasks differ in resolution.

Evidence has the standard deviation sqrt(1 + (spread ΔQ)²), in that of a reading at ΔQ 0. All that a fit takes of the
known evidence at one ΔQ is the triangle of a QR decomposition. So each part that a jackknife leaves out is decomposed
once, and every fit is made from the triangles; those without a part begin at the fit of all calls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_ndtr

from datasheet.analysis.bivariate import Numbers
from datasheet.analysis.tobit import NormalRegression, TobitSample, hazard_of
from datasheet.readings import Codes

LEAST_K = 1e-12
_COARSE_STEP = 0.01
"""Of the resolution, to which the spread is found before both are found together."""
_LEAST_START = 0.1
"""Of the resolution, from which the spread is followed: at 0 the likelihood, even in it, is level."""
_DIFFERENCE = 1e-5
_LEAST_CURVATURE = 1e-6
_SETTLED = 1e-6
"""Gradient at the end of a search, in standard deviations of all parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadFit:
    """The regression of evidence over its spread at each ΔQ, and by how much that grows with a step."""

    regression: NormalRegression
    spread: float
    log_likelihood: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedSample:
    """Calls that show a side, as rows (-regressors, evidence), those with a known evidence as triangles.

    Attributes
    ----------
    known, known_delta_q
        Rows that stand for the known evidence, shape (m, p + 1), and their ΔQ, shape (m,).
    levels, n_at
        Each ΔQ, and the sum of the weights of the known evidence there, shape (l,).
    beyond, beyond_delta_q, side, weight
        The others: limits as evidence, at a criterion of 0, in their rows, shape (c, p + 1); which side of it the
        evidence lies (+1 above, -1 below); what each counts, shape (c,).
    """

    known: Numbers
    known_delta_q: Numbers
    levels: Numbers
    n_at: Numbers
    beyond: Numbers
    beyond_delta_q: Numbers
    side: Codes
    weight: Numbers

    def at_criterion(self, criterion: float) -> GradedSample:
        """With the limits of the censored calls where the criterion puts them."""
        beyond = self.beyond.copy()
        beyond[:, -1] -= self.side * criterion
        return replace(self, beyond=beyond)

    def fit_at(self, spread: float, near: NormalRegression | None = None) -> SpreadFit | None:
        """The fit where tasks differ by so much; quicker with one that is nearly the same."""
        sample = TobitSample(
            known=self.known / _scale(self.known_delta_q, spread)[:, None],
            n_known=float(self.n_at.sum()),
            beyond=self.beyond / _scale(self.beyond_delta_q, spread)[:, None],
            side=self.side,
            weight=self.weight,
        )
        regression = sample.fit(near)
        if regression is None:
            return None
        scales = float(self.n_at @ np.log(_scale(self.levels, spread)))
        return SpreadFit(regression=regression, spread=spread, log_likelihood=regression.log_likelihood - scales)

    def fit(self, near: SpreadFit | None = None) -> SpreadFit | None:
        """The likeliest fit, of a spread up to the resolution; None where the calls leave it open.

        The search goes over all spreads first, or begins at a fit of nearly the same calls.
        """
        plain = self.fit_at(0.0, None if near is None else near.regression)
        if plain is None:
            return None
        most = abs(float(plain.regression.coefficients[0])) / plain.regression.residual_sd
        if most < LEAST_K:
            return plain
        start = near or self._searched(plain, most)
        spread = self._likeliest_spread(start.regression, max(start.spread, _LEAST_START * most))
        found = self.fit_at(min(spread, most), start.regression)
        return found if found is not None and found.log_likelihood > plain.log_likelihood else plain

    def _searched(self, plain: SpreadFit, most: float) -> SpreadFit:
        def loss(spread: float) -> float:
            fit = self.fit_at(spread, plain.regression)
            return inf if fit is None else -fit.log_likelihood

        best = minimize_scalar(loss, bounds=(0.0, most), method="bounded", options={"xatol": _COARSE_STEP * most})
        return self.fit_at(float(best.x), plain.regression) or plain

    def _likeliest_spread(self, near: NormalRegression, spread: float) -> float:
        """The spread where it, the coefficients and the residual sd are likeliest together, searched from these."""
        at = np.array([*near.coefficients / near.residual_sd, -np.log(near.residual_sd), spread])
        _, gradient = self._negative(at)
        steps = np.eye(len(at)) * _DIFFERENCE
        curvature = np.array([(self._negative(at + step)[1] - gradient) / _DIFFERENCE for step in steps])
        values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
        # In standard deviations of parameters that do not depend on each other, whatever direction is flat.
        unit = vectors / np.sqrt(np.maximum(values, _LEAST_CURVATURE * values.max()))

        def scaled(moved: Numbers) -> tuple[float, Numbers]:
            value, slope = self._negative(at + unit @ moved)
            return value, slope @ unit

        best = minimize(scaled, np.zeros(len(at)), jac=True, method="BFGS", options={"gtol": _SETTLED})
        return abs(float((at + unit @ best.x)[-1]))

    def _negative(self, parameters: Numbers) -> tuple[float, Numbers]:
        """Minus the log likelihood and its gradient: by coefficients over sd, minus log sd, and spread."""
        inverse_sd, spread = float(np.exp(parameters[-2])), float(parameters[-1])
        scaled = np.append(parameters[:-2], inverse_sd)
        known_scale, beyond_scale = _scale(self.known_delta_q, spread), _scale(self.beyond_delta_q, spread)
        known, beyond = self.known @ scaled / known_scale, self.beyond @ scaled / beyond_scale
        inside = -self.side * beyond
        pull = self.weight * hazard_of(inside) * self.side
        n_known = float(self.n_at.sum())
        value = (
            0.5 * float(known @ known)
            - n_known * parameters[-2]
            + float(self.n_at @ np.log(_scale(self.levels, spread)))
            - float(self.weight @ log_ndtr(inside))
        )
        by_scaled = self.known.T @ (known / known_scale) + self.beyond.T @ (pull / beyond_scale)
        by_log_scale = (
            float(self.n_at @ _slope(self.levels, spread))
            - float((known**2) @ _slope(self.known_delta_q, spread))
            - float((pull * beyond) @ _slope(self.beyond_delta_q, spread))
        )
        return value, np.array([*by_scaled[:-1], by_scaled[-1] * inverse_sd - n_known, by_log_scale])


def _scale(delta_q: Numbers, spread: float) -> Numbers:
    """Standard deviation of evidence at each ΔQ, in that of a reading at ΔQ 0."""
    return np.hypot(1.0, spread * delta_q)


def _slope(delta_q: Numbers, spread: float) -> Numbers:
    """Derivative of the logarithm of that by the spread."""
    return np.asarray(spread * delta_q**2 / (1 + (spread * delta_q) ** 2))


def graded_samples(
    rows: Numbers, *, side: Codes, delta_q: Numbers, weight: Numbers, part: Codes, n_parts: int
) -> tuple[GradedSample, ...]:
    """All calls, then all calls but those of each part.

    Parameters
    ----------
    rows
        (-regressors, evidence or limit), shape (n, p + 1).
    side
        0 where the evidence is known, +1 where it lies above the limit, -1 below, shape (n,).
    part
        0 to n_parts - 1, shape (n,).
    """
    known = side == 0
    levels, level = np.unique(delta_q[known], return_inverse=True)
    cell = part[known] * len(levels) + level
    order = np.argsort(cell, kind="stable")
    ends = np.searchsorted(cell[order], np.arange(n_parts * len(levels) + 1))
    weighted = (rows[known] * np.sqrt(weight[known])[:, None])[order]
    triangles = [np.linalg.qr(weighted[first:last], mode="r") for first, last in pairwise(ends)]
    n_at = np.bincount(cell, weights=weight[known], minlength=n_parts * len(levels)).reshape(n_parts, len(levels))
    place = np.repeat(np.arange(len(triangles)), [len(triangle) for triangle in triangles])
    stacked, its_part = np.concatenate(triangles), place // max(1, len(levels))
    its_delta_q = levels[place % max(1, len(levels))] if len(levels) else np.zeros(0)

    def sample(left_out: int) -> GradedSample:
        kept, shown = its_part != left_out, ~known & (part != left_out)
        return GradedSample(
            known=stacked[kept],
            known_delta_q=its_delta_q[kept],
            levels=levels,
            n_at=n_at[np.arange(n_parts) != left_out].sum(axis=0),
            beyond=rows[shown],
            beyond_delta_q=delta_q[shown],
            side=side[shown],
            weight=weight[shown],
        )

    return tuple(sample(left_out) for left_out in range(-1, n_parts))
