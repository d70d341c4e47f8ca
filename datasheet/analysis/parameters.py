"""Parameters of the measurement model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from datasheet.analysis.bivariate import Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Parameters on their natural scales; evidence is in standard deviations of a reading.

    ``resolution`` k, ``slopes`` γ of shape (m,), ``position`` b, ``criterion`` c ≥ 0, ``correlation`` ρ, ``lapse_rate``
    λ, ``task_spread`` τ ≥ 0 (standard deviation of log k over tasks).
    """

    resolution: float
    slopes: Numbers
    position: float
    criterion: float
    correlation: float
    task_spread: float
    lapse_rate: float = 0.0

    @classmethod
    def from_vector(cls, theta: Numbers, *, lapse_rate: float = 0.0) -> Parameters:
        """From (k, γ…, b, log c, logit ρ, log τ), shape (m + 5,)."""
        return cls(
            resolution=float(theta[0]),
            slopes=theta[1:-4],
            position=float(theta[-4]),
            criterion=float(np.exp(theta[-3])),
            correlation=float(expit(theta[-2])),
            task_spread=float(np.exp(theta[-1])),
            lapse_rate=lapse_rate,
        )
