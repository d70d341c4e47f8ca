"""Normal linear regression where some values are only known to lie beyond a limit (Tobin 1958, Econometrica 26:24).

In Olsen's parameters (1978, Econometrica 46:1211), the coefficients over the residual standard deviation and one over
that, the log likelihood is concave, so that Newton's steps end at its one maximum. Nothing is clipped: a value at its
limit is no value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    rows = np.column_stack([-design, values])
    return TobitSample(
        known=rows[known] * np.sqrt(weight[known])[:, None],
        n_known=float(weight[known].sum()),
        beyond=rows[~known],
        side=censored[~known],
        weight=weight[~known],
    ).fit()


@dataclass(frozen=True, slots=True, kw_only=True)
class TobitSample:
    """What the likelihood takes of the values.

    Residuals in standard deviations are linear in Olsen's parameters (coefficients over sd, one over sd), shape
    (p + 1,): their products with rows (-regressors, value).

    Attributes
    ----------
    known
        Rows whose squares and products sum to those of the known values, each times the root of its weight, shape
        (m, p + 1): their own rows, or fewer (the triangle of a QR decomposition).
    n_known
        Sum of the weights of the known values.
    beyond, side, weight
        Rows of the censored values, shape (c, p + 1), on which side of it each lies (+1 above, -1 below), and what it
        counts, shape (c,).
    """

    known: Numbers
    n_known: float
    beyond: Numbers
    side: Codes
    weight: Numbers

    def fit(self, near: NormalRegression | None = None) -> NormalRegression | None:
        """As :func:`fit_tobit`; quicker with a regression that is nearly the same."""
        n_regressors = self.known.shape[1] - 1
        if self.n_known <= n_regressors or len(self.known) <= n_regressors:
            return None
        triangle = np.asarray(np.linalg.qr(self.known, mode="r"))
        if np.linalg.matrix_rank(triangle[:-1, :-1]) < n_regressors:
            return None
        residual_sd = abs(float(triangle[-1, -1])) / float(np.sqrt(self.n_known - n_regressors))
        size = float(np.linalg.norm(triangle[:, -1])) / float(np.sqrt(self.n_known))
        if residual_sd <= _LEAST_RESIDUAL * max(1.0, size):
            return None
        scaled = np.append(np.linalg.solve(triangle[:-1, :-1], -triangle[:-1, -1]), 1.0) / residual_sd
        if len(self.beyond):
            start = scaled if near is None else np.append(near.coefficients, 1.0) / near.residual_sd
            scaled = _maximum(replace(self, known=triangle), start)
        return NormalRegression(
            coefficients=scaled[:-1] / scaled[-1],
            residual_sd=1 / float(scaled[-1]),
            log_likelihood=self.log_likelihood(scaled),
        )

    def log_likelihood(self, scaled: Numbers) -> float:
        """At Olsen's parameters."""
        squares = float(((self.known @ scaled) ** 2).sum())
        tails = float(self.weight @ log_ndtr(-self.side * (self.beyond @ scaled)))
        return self.n_known * (float(np.log(scaled[-1])) - LOG_ROOT_2PI) - squares / 2 + tails

    def newton_step(self, scaled: Numbers) -> tuple[Numbers, float]:
        """The step, and twice the gain that it promises."""
        inside = -self.side * (self.beyond @ scaled)
        hazard = hazard_of(inside)
        gradient = self.beyond.T @ (-self.side * hazard * self.weight) - self.known.T @ (self.known @ scaled)
        information = (self.beyond.T * (self.weight * hazard * (inside + hazard))) @ self.beyond
        information += self.known.T @ self.known
        gradient[-1] += self.n_known / scaled[-1]
        information[-1, -1] += self.n_known / scaled[-1] ** 2
        step = np.asarray(np.linalg.solve(information, gradient), dtype=np.float64)
        return step, float(gradient @ step)


def hazard_of(inside: Numbers) -> Numbers:
    """Derivative of the logarithm of the normal distribution function."""
    return np.asarray(np.exp(-0.5 * inside**2 - LOG_ROOT_2PI - log_ndtr(inside)))


def _maximum(sample: TobitSample, scaled: Numbers) -> Numbers:
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
