"""Normal linear regression where some values are only known to lie beyond a limit (Tobin 1958, Econometrica 26:24).

In Olsen's parameters (1978, Econometrica 46:1211), the coefficients over the residual standard deviation and one over
that, the log likelihood is concave, so that Newton's steps end at its one maximum. Nothing is clipped: a value at its
limit is no value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from datasheet.analysis.bivariate import LOG_ROOT_2PI, Numbers
from datasheet.readings import Codes

_LEAST_RESIDUAL = 1e-9  # of the spread of the values: below, a line goes through all of them
_MOST_STEPS = 100
_LEAST_GAIN = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalRegression:
    """Coefficients, shape (p,), the standard deviation of what they leave, in the unit of the values, and the log
    likelihood at both."""

    coefficients: Numbers
    residual_sd: float
    log_likelihood: float

    def residuals(self, values: Numbers, censored: Codes, design: Numbers, rng: np.random.Generator) -> Numbers:
        """Residuals in standard deviations, shape (n,); a censored one is drawn from what lies beyond its limit.

        Randomised quantile residuals (Dunn & Smyth 1996, J. Comput. Graph. Stat. 5:236): standard normal, all of them,
        where the model holds. Arguments as in :func:`fit_tobit`.
        """
        residuals = (values - design @ self.coefficients) / self.residual_sd
        beyond = censored != 0
        side = censored[beyond]
        within_tail = np.log1p(-rng.random(int(beyond.sum())))  # of (0, 1], so that none is infinite
        residuals[beyond] = -side * ndtri_exp(within_tail + log_ndtr(-side * residuals[beyond]))
        return np.asarray(residuals)


def fit_tobit(
    values: Numbers, censored: Codes, design: Numbers, weight: Numbers | None = None
) -> NormalRegression | None:
    """Maximum likelihood, or least squares (n - p degrees of freedom) where nothing is censored.

    Parameters
    ----------
    values
        A value, or the limit that it lies beyond, shape (n,).
    censored
        0 where the value is known, +1 where it lies above ``values``, -1 where it lies below, shape (n,).
    design
        Regressors, shape (n, p).
    weight
        What each value counts, shape (n,); 1 each if None.

    Returns
    -------
    None where the known values leave the fit open: they do not tell the regressors apart, or a line goes through all
    of them.
    """
    known, weight = censored == 0, np.ones(len(values)) if weight is None else weight
    n_known, n_regressors = float(weight[known].sum()), design.shape[1]
    if n_known <= n_regressors:
        return None
    by_parameter = np.column_stack([-design, values])
    triangle = np.asarray(np.linalg.qr(by_parameter[known] * np.sqrt(weight[known])[:, None], mode="r"))
    if np.linalg.matrix_rank(triangle[:-1, :-1]) < n_regressors:
        return None
    left = abs(float(triangle[-1, -1]))
    residual_sd = left / float(np.sqrt(n_known - n_regressors))
    if residual_sd <= _LEAST_RESIDUAL * max(1.0, float(np.abs(values[known]).max())):
        return None
    coefficients = np.linalg.solve(triangle[:-1, :-1], -triangle[:-1, -1])
    sample = _Sample(
        n_known=n_known,
        known=triangle.T @ triangle,
        beyond=by_parameter[~known],
        side=censored[~known],
        weight=weight[~known],
    )
    scaled = np.append(coefficients, 1.0) / residual_sd
    if not known.all():
        scaled = _maximum(sample, scaled)
    return NormalRegression(
        coefficients=scaled[:-1] / scaled[-1],
        residual_sd=1 / float(scaled[-1]),
        log_likelihood=sample.log_likelihood(scaled),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    """What the likelihood takes of the data, in Olsen's parameters: (coefficients over sd, one over sd).

    Residuals in standard deviations are linear in them: ``known`` is the sum of squares and products of what multiplies
    them over the known values, shape (p + 1, p + 1); ``beyond`` has a row for each of the others.
    """

    n_known: float
    known: Numbers
    beyond: Numbers
    side: Codes
    weight: Numbers

    def log_likelihood(self, scaled: Numbers) -> float:
        squares = float(scaled @ self.known @ scaled)
        tails = float(self.weight @ log_ndtr(-self.side * (self.beyond @ scaled)))
        return self.n_known * (float(np.log(scaled[-1])) - LOG_ROOT_2PI) - squares / 2 + tails

    def newton_step(self, scaled: Numbers) -> tuple[Numbers, float]:
        """The step, and twice the gain that it promises."""
        inside = -self.side * (self.beyond @ scaled)
        hazard = np.exp(-0.5 * inside**2 - LOG_ROOT_2PI - log_ndtr(inside))
        gradient = self.beyond.T @ (-self.side * hazard * self.weight) - self.known @ scaled
        information = (self.beyond.T * (self.weight * hazard * (inside + hazard))) @ self.beyond + self.known
        gradient[-1] += self.n_known / scaled[-1]
        information[-1, -1] += self.n_known / scaled[-1] ** 2
        step = np.linalg.solve(information, gradient)
        return step, float(gradient @ step)


def _maximum(sample: _Sample, scaled: Numbers) -> Numbers:
    """Newton's steps, each halved until it gains."""
    reached = sample.log_likelihood(scaled)
    for _ in range(_MOST_STEPS):
        step, gain = sample.newton_step(scaled)
        if gain < _LEAST_GAIN:
            break
        for _ in range(_MOST_STEPS):
            candidate = scaled + step
            if candidate[-1] > 0:
                found = sample.log_likelihood(candidate)
                if found > reached:
                    scaled, reached = candidate, found
                    break
            step = step / 2
        else:
            break
    return scaled
