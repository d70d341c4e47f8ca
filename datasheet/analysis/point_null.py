"""p that a quantity has a given value, or at most that: the tests whose inversions are the limits on the sheet."""

from __future__ import annotations

from math import log, sqrt
from typing import Literal

from scipy.special import bdtr, bdtrc, ndtr, stdtr

from datasheet.analysis.derived import Uncertainty
from datasheet.analysis.intervals import ClusteredShare
from datasheet.analysis.model import ModelFinding

Alternative = Literal["greater", "two-sided"]
_FEW_EXPECTED = 5.0


def share_p(share: ClusteredShare, value: float, alternative: Alternative = "two-sided") -> float | None:
    """p that a share is a value: the score test, on n/deff with Student's t where readings come in clusters.

    A value of 0 or 1 has no spread: p is 1 where the share agrees with it, else 0. None with a single cluster, which
    tells nothing of the spread between clusters.
    """
    if not share.independent and share.n_clusters < 2:
        return None
    if not 0 < value < 1:
        return float(share.share <= value if alternative == "greater" else share.share == value)
    distance = (share.share - value) / sqrt(value * (1 - value) / share.n_effective)
    return _tail(distance, None if share.independent else share.n_clusters - 1, alternative)


def rare_share_p(share: ClusteredShare, value: float) -> float | None:
    """Two-sided p that a share is a value, also so near to 0 or 1 that hardly a reading is expected there.

    The score test takes a single such reading for a refutation; the exact binomial test of n/deff readings does not
    (twice the smaller tail; Clopper & Pearson 1934, Biometrika 26:404). None as in :func:`share_p`.
    """
    score, n = share_p(share, value), round(share.n_effective)
    if score is None or not 0 < value < 1 or share.n_effective * min(value, 1 - value) >= _FEW_EXPECTED:
        return score
    hits = round(share.share * n)
    above = 1.0 if hits == 0 else float(bdtrc(hits - 1, n, value))
    return min(1.0, 2 * min(float(bdtr(hits, n, value)), above))


def parameter_p(model: ModelFinding, name: str, value: float, alternative: Alternative = "two-sided") -> float | None:
    """p that a parameter of the joint model is a value; that of the criterion is tested as its logarithm.

    By its standard uncertainty, or by its profile likelihood where that gives its limits. None where there is no fit,
    it does not speak of the parameter, was not found, or rests on one task, and for a criterion of 0, which none is.
    """
    if name == "criterion" and value <= 0:
        return None
    key, fit = ("log_criterion" if name == "criterion" else name), model.fit
    if fit is None or key not in fit.names or not fit.free[fit.names.index(key)] or not fit.converged:
        return None
    uncertainty = Uncertainty(fit=fit)
    if uncertainty.one_task:
        return None
    null = log(value) if name == "criterion" else value
    if model.bounds is not None and model.bounds.needed(key):
        distance = model.bounds.signed_root(key, null)
    else:
        distance = (float(fit.theta[fit.names.index(key)]) - null) / uncertainty.of(key)
    return _tail(distance, fit.degrees_of_freedom, alternative)


def _tail(distance: float, degrees_of_freedom: int | None, alternative: Alternative) -> float:
    """Chance of a distance in standard uncertainties: Student's t, or normal without degrees of freedom."""
    below = -abs(distance) if alternative == "two-sided" else -distance
    tail = float(ndtr(below) if degrees_of_freedom is None else stdtr(degrees_of_freedom, below))
    return 2 * tail if alternative == "two-sided" else tail
