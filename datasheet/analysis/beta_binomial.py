"""Bayesian interval of a clustered share: clusters' counts as beta-binomial, the spread between them averaged out.

A cluster of m readings with k successes has the likelihood ∏(p + iθ), i < k, times ∏(1 - p + iθ), i < m - k, over
∏(1 + iθ), i < m, where θ = ICC / (1 - ICC). Priors: p uniform, ICC Beta(1, 4) cut off at .8. Unlike a design effect,
which is undefined at a share of 0 or 1, the posterior keeps counting with clusters that may differ.

Weighted counts need not be whole: the last factor of a product has the fraction as its exponent. Between whole counts
the logarithm is thus linear, and clusters of one reading or less are independent readings by their weight.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

Numbers = npt.NDArray[np.float64]

_SHARES = (np.arange(999) + 0.5) / 999
_ICCS = (np.arange(60) + 0.5) / 60 * 0.8
_SPREADS = _ICCS / (1 - _ICCS)
_LOG_PRIOR = 3 * np.log1p(-_ICCS)
_MOST_FACTORS = 32
"""Factors kept in memory, 0.5 MB each; longer products are taken from gamma functions."""
_STEPS = np.arange(_MOST_FACTORS)[:, None, None] * _SPREADS[:, None]


@lru_cache(maxsize=1)
def _log_factors() -> Numbers:
    """log(p + iθ) at each point of the grid, shape (32, 60, 999)."""
    return np.log(_SHARES + _STEPS)


def _log_products(counts: Numbers, start: Numbers) -> Numbers:
    """Sum over clusters of log ∏(start + iθ), i < count; ``start`` has shape (1 or 999,), the result (60, of start)."""
    whole = np.floor(counts).astype(np.int64)
    lengths, fractions = np.bincount(whole), np.bincount(whole, weights=counts - whole)
    if len(lengths) <= _MOST_FACTORS:
        exponents = lengths[::-1].cumsum()[::-1] - lengths + fractions
        factors = _log_factors() if start is _SHARES else np.log(start + _STEPS)
        return np.tensordot(exponents, factors[: len(exponents)], 1)
    spreads = _SPREADS[:, None]
    first = start / spreads
    total = -len(counts) * gammaln(first) + np.log(spreads) * whole.sum()
    for length in np.flatnonzero(lengths):
        total += lengths[length] * gammaln(first + length)
        if fractions[length]:
            total += fractions[length] * np.log(start + length * spreads)
    return np.asarray(total)


def beta_binomial_quantiles(successes: Numbers, sizes: Numbers, probabilities: tuple[float, ...]) -> tuple[float, ...]:
    """Quantiles of the posterior of the share, on a grid of 999 midpoints.

    Parameters
    ----------
    successes, sizes
        k_g and m_g, shape (G,): weighted counts a cluster.
    probabilities
        Of the quantiles, each between 0 and 1.

    Raises
    ------
    ValueError
        No cluster, or a cluster with fewer successes than 0 or more than its size.
    """
    if not len(sizes) or (successes < 0).any() or (successes > sizes).any():
        raise ValueError("a clustered share needs clusters with 0 to m successes of m readings")
    log_posterior = _log_products(successes, _SHARES) + _log_products(sizes - successes, _SHARES)[:, ::-1]
    log_posterior += _LOG_PRIOR[:, None] - _log_products(sizes, np.ones(1))
    posterior = np.exp(log_posterior - log_posterior.max()).sum(axis=0).cumsum()
    places = np.searchsorted(posterior, np.asarray(probabilities) * posterior[-1])
    return tuple(_SHARES[places].tolist())
