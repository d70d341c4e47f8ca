"""Families of psychometric functions, by threshold and width.

ψ(x) = γ + (1 - γ - λ) F(C (x - t)/w + u₀), after Wichmann and Hill (2001, Perception & Psychophysics 63:1293) with the
threshold and the width of Schütt et al. (2016, Vision Research 122:105): F is .5 at the threshold t and rises from .05
to .95 over the width w; γ is the guess rate and λ the lapse rate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import expit, ndtr, ndtri

Numbers = npt.NDArray[np.float64]
FamilyName = Literal["probit", "logit", "gumbel", "weibull"]

TAIL = 0.05
"""The width runs from this value of F to one minus it."""

LARGEST_ARGUMENT = 700.0
"""Standard curves are cut off here: F is 0 or 1 to the last digit, and no exponential overflows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rise:
    """A standard curve F, and its complement, accurate where F is near 1, in the shape of its argument.

    ``derivatives`` gives the first two of F; most points of a search never need them.
    """

    reached: Numbers
    missed: Numbers
    derivatives: Callable[[], tuple[Numbers, Numbers]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A standard curve with its constants.

    Attributes
    ----------
    rise
        The curve and its complement at an array of any shape.
    scale, offset
        C and u₀ of the module's formula.
    slope_scale
        Palamedes' slope β is this over the width (Prins and Kingdom 2018, Frontiers in Psychology 9:1250).
    on_log
        The curve is fitted on the natural logarithm of the level, and its width is in that unit.
    """

    rise: Callable[[Numbers], Rise]
    scale: float
    offset: float
    slope_scale: float
    on_log: bool = False


def _normal(u: Numbers) -> Rise:
    def derivatives() -> tuple[Numbers, Numbers]:
        density = np.exp(-0.5 * u * u) / np.sqrt(2 * np.pi)
        return density, -u * density

    return Rise(reached=ndtr(u), missed=ndtr(-u), derivatives=derivatives)


def _logistic(u: Numbers) -> Rise:
    reached, missed = expit(u), expit(-u)

    def derivatives() -> tuple[Numbers, Numbers]:
        density = reached * missed
        return density, density * (missed - reached)

    return Rise(reached=reached, missed=missed, derivatives=derivatives)


def _gumbel(u: Numbers) -> Rise:
    hazard = np.exp(u)

    def derivatives() -> tuple[Numbers, Numbers]:
        density = np.exp(u - hazard)
        return density, density * (1 - hazard)

    return Rise(reached=-np.expm1(-hazard), missed=np.exp(-hazard), derivatives=derivatives)


_NORMAL_SCALE = 2 * float(ndtri(1 - TAIL))
_LOGISTIC_SCALE = 2 * log(1 / TAIL - 1)
_GUMBEL_SCALE = log(log(TAIL) / log(1 - TAIL))
_GUMBEL_OFFSET = log(log(2))

FAMILIES: dict[FamilyName, Family] = {
    "probit": Family(rise=_normal, scale=_NORMAL_SCALE, offset=0.0, slope_scale=_NORMAL_SCALE),
    "logit": Family(rise=_logistic, scale=_LOGISTIC_SCALE, offset=0.0, slope_scale=_LOGISTIC_SCALE),
    # Palamedes writes its Gumbel in powers of ten, so that its slope is that of the Weibull on the unlogged level.
    "gumbel": Family(rise=_gumbel, scale=_GUMBEL_SCALE, offset=_GUMBEL_OFFSET, slope_scale=_GUMBEL_SCALE / log(10)),
    "weibull": Family(rise=_gumbel, scale=_GUMBEL_SCALE, offset=_GUMBEL_OFFSET, slope_scale=_GUMBEL_SCALE, on_log=True),
}


def share_correct(
    levels: npt.ArrayLike,
    *,
    family: FamilyName = "probit",
    threshold: float,
    width: float,
    guess_rate: float = 0.0,
    lapse_rate: float = 0.0,
) -> Numbers:
    """ψ at some levels, γ + (1 - γ - λ) F, in the shape of ``levels``.

    Parameters
    ----------
    threshold
        Level at which F is .5, in the level's unit.
    width
        From F = .05 to F = .95, in the level's unit or, for ``"weibull"``, in that of its natural logarithm; 0 is a
        step.
    """
    curve = FAMILIES[family]
    x = np.asarray(levels, dtype=float)
    distance = np.log(x) - np.log(threshold) if curve.on_log else x - threshold
    argument = (
        curve.scale * distance / width if width > 0 else np.where(distance == 0, 0.0, np.copysign(np.inf, distance))
    )
    rise = curve.rise(np.clip(argument, -LARGEST_ARGUMENT, LARGEST_ARGUMENT) + curve.offset)
    return guess_rate + (1 - guess_rate - lapse_rate) * rise.reached
