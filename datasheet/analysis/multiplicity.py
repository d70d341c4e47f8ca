"""Multiplicity: the five confirmatory hypotheses of a datasheet, tested as one family.

Holm's step-down procedure (1979, Scand. J. Stat. 6:65) keeps the chance of any false rejection in the family below the
significance, whatever the dependence between the tests. Each hypothesis is stated before any reading:

- dark current, stable cross-sensitivity and positional false preference lie at or below the limits where their flags
  rise. One-sided, and the same test as the flag's: p < .05 exactly where the one-sided 95% lower limit is beyond.
- The resolution is 0: the judge does not see quality. Two-sided, as one that prefers the worse answer is a finding too.
- The criterion lies at or below the one at which a reading without evidence is a tie as often as the limit
  ``conservative`` says. Not "is 0": 0 is the edge of its range, and a single tie refutes it without any test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log, sqrt
from typing import Literal

from scipy.special import ndtr, ndtri, stdtr

from datasheet.analysis.derived import Uncertainty
from datasheet.analysis.intervals import ClusteredShare
from datasheet.analysis.measurement import MeasurementFit
from datasheet.analysis.profile import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """One hypothesis of the family.

    Attributes
    ----------
    key
        Of the characteristic that it is about.
    null_value
        Value that is tested: at most this where the alternative is ``greater``, else exactly this.
    p
        Of the readings if the hypothesis holds; None where they can't test it, which takes it out of the family.
    adjusted_p
        Holm's: the least significance at which the family rejects it.
    rejected
        At the family's significance.
    """

    key: str
    null_value: float
    alternative: Literal["greater", "two-sided"]
    p: float | None
    adjusted_p: float | None = None
    rejected: bool = False


def share_above_p(share: ClusteredShare, limit: float) -> float | None:
    """One-sided p that a share is at most a limit, from the test whose inversion is its Wilson interval.

    None with a single cluster, which tells nothing of the spread between clusters.
    """
    distance = (share.share - limit) / sqrt(limit * (1 - limit) / share.n_effective)
    if share.independent:
        return float(ndtr(-distance))
    if share.n_clusters < 2:
        return None
    return float(stdtr(share.n_clusters - 1, -distance))


def neutral_criterion(tie_share: float) -> float:
    """The criterion, in sd of evidence, at which a reading without evidence or position is a tie that often."""
    return float(ndtri((1 + tie_share) / 2))


def _of_share(key: str, share: ClusteredShare | None, limit: float) -> Hypothesis:
    p = None if share is None else share_above_p(share, limit)
    return Hypothesis(key=key, null_value=limit, alternative="greater", p=p)


def _distance(fit: MeasurementFit | None, name: str, null_value: float) -> float | None:
    """Distance of a parameter from a value in standard uncertainties; None where the fit does not speak of it."""
    if fit is None or not fit.converged or not fit.free[fit.names.index(name)]:
        return None
    return (float(fit.theta[fit.names.index(name)]) - null_value) / Uncertainty(fit=fit).of(name)


def _of_fit(fit: MeasurementFit | None, limits: Limits) -> tuple[Hypothesis, Hypothesis]:
    freedom = fit.degrees_of_freedom if fit is not None else 1
    criterion = neutral_criterion(limits.conservative)
    k, c = _distance(fit, "resolution", 0.0), _distance(fit, "log_criterion", log(criterion))
    return (
        Hypothesis(
            key="resolution",
            null_value=0.0,
            alternative="two-sided",
            p=None if k is None else 2 * float(stdtr(freedom, -abs(k))),
        ),
        Hypothesis(
            key="criterion",
            null_value=criterion,
            alternative="greater",
            p=None if c is None else float(stdtr(freedom, -c)),
        ),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p values, in the order of the given ones: the running maximum of (m - rank) p, at most 1."""
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def confirmatory_family(
    *,
    dark: ClusteredShare | None,
    stable: ClusteredShare | None,
    positional: ClusteredShare | None,
    fit: MeasurementFit | None,
    limits: Limits,
) -> tuple[Hypothesis, ...]:
    """The family DC, SCS, PFP, k, c, with Holm's adjustment over those of them that the readings can test.

    Parameters
    ----------
    dark, stable, positional
        The shares; None is "not measured".
    fit
        The joint model; None where there is none.
    limits
        Where the null values and the significance come from.
    """
    family = (
        _of_share("dark_current", dark, limits.dark),
        _of_share("stable_cross_sensitivity", stable, limits.surface),
        _of_share("positional_false_preference", positional, limits.positional),
        *_of_fit(fit, limits),
    )
    tested = [hypothesis for hypothesis in family if hypothesis.p is not None]
    if not tested:
        return family
    adjusted = holm([hypothesis.p for hypothesis in tested if hypothesis.p is not None])
    decided = {
        hypothesis.key: replace(hypothesis, adjusted_p=p, rejected=p <= limits.significance)
        for hypothesis, p in zip(tested, adjusted, strict=True)
    }
    return tuple(decided.get(hypothesis.key, hypothesis) for hypothesis in family)
