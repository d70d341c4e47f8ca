"""Normal linear regression where some values are only known to lie beyond a limit (Tobin 1958, Econometrica 26:24).

In Olsen's parameters (1978, Econometrica 46:1211), the coefficients over the residual standard deviation and one over
that, the log likelihood is concave, so that Newton's steps end at its one maximum. Nothing is clipped: a value at its
limit is no value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from datasheet.analysis.bivariate import Numbers
from datasheet.readings import Codes

_LOG_ROOT_2PI = float(np.log(2 * np.pi) / 2)
_LEAST_RESIDUAL = 1e-9  # of the spread of the values: below, a line goes through all of them
_MOST_STEPS = 100
_LEAST_GAIN = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalRegression:
    """Coefficients, shape (p,), and the standard deviation of what they leave, in the unit of the values."""

    coefficients: Numbers
    residual_sd: float

    def residuals(self, values: Numbers, censored: Codes, design: Numbers, rng: np.random.Generator) -> Numbers:
        """Residuals in standard deviations; a censored one is drawn from what lies beyond its limit.

        Randomised quantile residuals (Dunn & Smyth 1996, J. Comput. Graph. Stat. 5:236): standard normal, all of them,
        where the model holds.
        """
        residuals = (values - design @ self.coefficients) / self.residual_sd
        beyond = censored != 0
        side = censored[beyond]
        within_tail = np.log1p(-rng.random(int(beyond.sum())))  # of (0, 1], so that none is infinite
        residuals[beyond] = -side * ndtri_exp(within_tail + log_ndtr(-side * residuals[beyond]))
        return np.asarray(residuals)


def fit_tobit(values: Numbers, censored: Codes, design: Numbers) -> NormalRegression | None:
    """Maximum likelihood, or least squares (n - p degrees of freedom) where nothing is censored.

    Parameters
    ----------
    values
        A value, or the limit that it lies beyond, shape (n,).
    censored
        0 where the value is known, +1 where it lies above ``values``, -1 where it lies below, shape (n,).
    design
        Regressors, shape (n, p).

    Returns
    -------
    None where the known values leave the fit open: they do not tell the regressors apart, or a line goes through all
    of them.
    """
    known = censored == 0
    n_known, n_regressors = int(known.sum()), design.shape[1]
    if n_known <= n_regressors or np.linalg.matrix_rank(design[known]) < n_regressors:
        return None
    coefficients = np.linalg.lstsq(design[known], values[known], rcond=None)[0]
    left = values[known] - design[known] @ coefficients
    residual_sd = float(np.sqrt(left @ left / (n_known - n_regressors)))
    if residual_sd <= _LEAST_RESIDUAL * max(1.0, float(np.abs(values[known]).max())):
        return None
    if not known.all():
        scaled = _maximum(values, censored, design, np.append(coefficients, 1.0) / residual_sd)
        coefficients, residual_sd = scaled[:-1] / scaled[-1], 1 / float(scaled[-1])
    return NormalRegression(coefficients=coefficients, residual_sd=residual_sd)


def log_likelihood(scaled: Numbers, values: Numbers, censored: Codes, design: Numbers) -> float:
    """Log likelihood at (coefficients over sd, one over sd)."""
    residuals = values * scaled[-1] - design @ scaled[:-1]
    known = censored == 0
    beyond = log_ndtr(-censored[~known] * residuals[~known])
    at = np.log(scaled[-1]) - 0.5 * residuals[known] ** 2 - _LOG_ROOT_2PI
    return float(at.sum() + beyond.sum())


def _maximum(values: Numbers, censored: Codes, design: Numbers, scaled: Numbers) -> Numbers:
    """Newton's steps, each halved until it gains."""
    reached = log_likelihood(scaled, values, censored, design)
    for _ in range(_MOST_STEPS):
        step, gain = _newton_step(scaled, values, censored, design)
        if gain < _LEAST_GAIN:
            break
        for _ in range(_MOST_STEPS):
            candidate = scaled + step
            if candidate[-1] > 0:
                found = log_likelihood(candidate, values, censored, design)
                if found > reached:
                    scaled, reached = candidate, found
                    break
            step = step / 2
        else:
            break
    return scaled


def _newton_step(scaled: Numbers, values: Numbers, censored: Codes, design: Numbers) -> tuple[Numbers, float]:
    """The step, and twice the gain that it promises."""
    by_parameter = np.column_stack([-design, values])  # of the residuals in standard deviations
    residuals = by_parameter @ scaled
    known = censored == 0
    inside = -censored * residuals
    hazard = np.exp(-0.5 * inside**2 - _LOG_ROOT_2PI - log_ndtr(inside))
    slope = np.where(known, -residuals, -censored * hazard)
    curvature = np.where(known, 1.0, hazard * (inside + hazard))
    gradient = by_parameter.T @ slope
    information = (by_parameter.T * curvature) @ by_parameter
    gradient[-1] += known.sum() / scaled[-1]
    information[-1, -1] += known.sum() / scaled[-1] ** 2
    step = np.linalg.solve(information, gradient)
    return step, float(gradient @ step)
