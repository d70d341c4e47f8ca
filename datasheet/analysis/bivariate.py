"""The bivariate normal distribution function and its derivatives, elementwise on arrays.

No function of scipy's takes arrays of limits without a Python call for each.
"""

from __future__ import annotations

from math import log, pi

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, owens_t

Numbers = npt.NDArray[np.float64]

_TINY = 1e-10
_STEEPEST = 0.925
_ROOT_2PI = float(np.sqrt(2 * pi))
LOG_ROOT_2PI = 0.5 * log(2 * pi)
_SMALL = 1e-6
"""Below, Owen's T, exact to 1e-15, gives too few digits."""


def _legendre(n: int) -> list[tuple[float, float]]:
    """Nodes and weights of Gauss-Legendre on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return list(zip((nodes + 1) / 2, weights / 2, strict=True))


_RULE, _STEEP_RULE = _legendre(20), _legendre(60)


def normal_pdf(x: Numbers) -> Numbers:
    """Density of the standard normal, in the shape of ``x``."""
    return np.asarray(np.exp(-0.5 * x * x) / _ROOT_2PI)


def bvn_cdf(h: Numbers, q: Numbers, rho: float | Numbers) -> Numbers:
    """P(X < h, Y < q) for standard normals with correlation ``rho`` in (-1, 1), of shapes that go together.

    Plackett's integral of the density over the correlation from 0, by Gauss-Legendre on its arc sine (Drezner and
    Wesolowsky 1990, J. Stat. Comput. Simul. 35:101): exact to 1e-15, and with a positive correlation to 1e-7 of the
    value even where that is 1e-90. Beyond a correlation of .925 by Owen's T (Owen 1956, Ann. Math. Stat. 27:1075), to
    1e-15, and where little is left of that, by the integral from a correlation of 1 or -1, to 1e-6 of the value.
    """
    if np.abs(rho).max() > _STEEPEST:
        h, q, rho = np.broadcast_arrays(h, q, rho)
        values = _by_owens_t(h, q, rho)
        small = values < _SMALL
        if small.any():
            values[small] = _from_the_end(h[small], q[small], rho[small])
        return np.asarray(values)
    angle = np.arcsin(rho)
    squares, cross = 0.5 * (h * h + q * q), h * q
    total = np.zeros_like(cross)
    for node, weight in _RULE:
        sine = np.sin(angle * node)
        density = np.asarray(cross * sine) - squares
        density *= 1 / (1 - sine * sine)
        total += np.exp(density) * (weight * angle)
    return np.asarray(ndtr(h) * ndtr(q) + total / (2 * pi))


def _from_the_end(h: Numbers, q: Numbers, rho: Numbers) -> Numbers:
    """By Plackett's integral from the end of the correlation's own sign, where X = Y or X = -Y, shapes (n,)."""
    sign = np.sign(rho)
    gap, cross, widest = (h - sign * q) ** 2, sign * h * q, np.arccos(np.abs(rho))
    total = np.zeros_like(h)
    for node, weight in _STEEP_RULE:
        angle = widest * node**2  # dense at the end, where the density of two limits that differ sets in steeply
        density = np.exp(-0.5 * gap / np.sin(angle) ** 2 - cross / (1 + np.cos(angle)))
        total += density * (2 * weight * node * widest)
    end = np.where(sign > 0, ndtr(np.minimum(h, q)), np.maximum(0.0, ndtr(h) - ndtr(-q)))
    return np.asarray(np.maximum(0.0, end - sign * total / (2 * pi)))


def _by_owens_t(h: Numbers, q: Numbers, rho: float | Numbers) -> Numbers:
    # The formula divides by h and by q; at 0 it is continuous.
    h = np.where(np.abs(h) < _TINY, _TINY, h)
    q = np.where(np.abs(q) < _TINY, _TINY, q)
    root = np.sqrt(1 - rho * rho)
    both_signs = np.where(h * q > 0, 0.0, 1.0)
    return np.asarray(
        0.5 * (ndtr(h) + ndtr(q) - both_signs) - owens_t(h, (q / h - rho) / root) - owens_t(q, (h / q - rho) / root)
    )


def bvn_slopes(h: Numbers, q: Numbers, rho: float | Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Derivatives of :func:`bvn_cdf` by h, q and rho, arrays of the shape of its value.

    The derivative by h is φ(h) Φ((q - rho h)/√(1-rho²)), that by rho the bivariate density (Plackett 1954).
    """
    spread = 1 - rho * rho
    root = np.sqrt(spread)
    by_h = normal_pdf(h) * ndtr((q - rho * h) / root)
    by_q = normal_pdf(q) * ndtr((h - rho * q) / root)
    by_rho = np.exp(-0.5 * (h * h - 2 * rho * h * q + q * q) / spread) / (2 * pi * root)
    return np.asarray(by_h), np.asarray(by_q), np.asarray(by_rho)
