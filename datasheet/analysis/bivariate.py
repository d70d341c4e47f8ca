"""The bivariate normal distribution function and its derivatives, elementwise on arrays.

Owen (1956, Ann. Math. Stat. 27:1075), with T from :func:`scipy.special.owens_t`.
"""

from __future__ import annotations

from math import pi

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, owens_t

Numbers = npt.NDArray[np.float64]

_TINY = 1e-10
_ROOT_2PI = float(np.sqrt(2 * pi))


def normal_pdf(x: Numbers) -> Numbers:
    """Density of the standard normal."""
    return np.asarray(np.exp(-0.5 * x * x) / _ROOT_2PI)


def bvn_cdf(h: Numbers, q: Numbers, rho: float) -> Numbers:
    """P(X < h, Y < q) for standard normals with correlation ``rho`` in (-1, 1); any broadcastable shapes."""
    # The formula divides by h and by q; at 0 it is continuous.
    h = np.where(np.abs(h) < _TINY, _TINY, h)
    q = np.where(np.abs(q) < _TINY, _TINY, q)
    root = float(np.sqrt(1 - rho * rho))
    both_signs = np.where(h * q > 0, 0.0, 1.0)
    return np.asarray(
        0.5 * (ndtr(h) + ndtr(q) - both_signs) - owens_t(h, (q / h - rho) / root) - owens_t(q, (h / q - rho) / root)
    )


def bvn_slopes(h: Numbers, q: Numbers, rho: float) -> tuple[Numbers, Numbers, Numbers]:
    """Derivatives of :func:`bvn_cdf` by h, q and rho.

    The derivative by h is φ(h) Φ((q - rho h)/√(1-rho²)), that by rho the bivariate density (Plackett 1954).
    """
    spread = 1 - rho * rho
    root = float(np.sqrt(spread))
    by_h = normal_pdf(h) * ndtr((q - rho * h) / root)
    by_q = normal_pdf(q) * ndtr((h - rho * q) / root)
    by_rho = np.exp(-0.5 * (h * h - 2 * rho * h * q + q * q) / spread) / (2 * pi * root)
    return np.asarray(by_h), np.asarray(by_q), np.asarray(by_rho)
