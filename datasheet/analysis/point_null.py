"""Two-sided p that a quantity has a given value: the tests whose inversion is the interval that a sheet prints."""

from __future__ import annotations

from math import log, sqrt

from scipy.special import ndtr, stdtr

from datasheet.analysis.derived import Uncertainty
from datasheet.analysis.intervals import ClusteredShare
from datasheet.analysis.measurement import MeasurementFit


def share_p(share: ClusteredShare, value: float) -> float | None:
    """p that a share is a value: the score test, on n/deff with Student's t where readings come in clusters.

    A value of 0 or 1 has no spread: p is 1 where the share is exactly that, else 0. None with a single cluster, which
    tells nothing of the spread between clusters.
    """
    if not share.independent and share.n_clusters < 2:
        return None
    if not 0 < value < 1:
        return float(share.share == value)
    distance = -abs(share.share - value) / sqrt(value * (1 - value) / share.n_effective)
    return 2 * float(ndtr(distance) if share.independent else stdtr(share.n_clusters - 1, distance))


def parameter_p(fit: MeasurementFit, name: str, value: float) -> float | None:
    """p that a parameter of the joint model is a value; that of the criterion is tested as its logarithm.

    None where the fit does not speak of the parameter, or was not found.
    """
    key = "log_criterion" if name == "criterion" else name
    if key not in fit.names or not fit.free[fit.names.index(key)] or not fit.converged:
        return None
    uncertainty = Uncertainty(fit=fit)
    distance = abs(float(fit.theta[fit.names.index(key)]) - (log(value) if name == "criterion" else value))
    return 2 * float(stdtr(fit.degrees_of_freedom, -distance / uncertainty.of(key)))
