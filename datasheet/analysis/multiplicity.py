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

from scipy.special import ndtri

from datasheet.analysis.intervals import ClusteredShare
from datasheet.analysis.model import ModelFinding
from datasheet.analysis.point_null import Alternative, parameter_p, share_p
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
    alternative: Alternative
    p: float | None
    adjusted_p: float | None = None
    rejected: bool = False


def neutral_criterion(tie_share: float) -> float:
    """The criterion, in sd of evidence, at which a reading without evidence or position is a tie that often."""
    return float(ndtri((1 + tie_share) / 2))


def _of_share(key: str, share: ClusteredShare | None, limit: float) -> Hypothesis:
    p = None if share is None else share_p(share, limit, "greater")
    return Hypothesis(key=key, null_value=limit, alternative="greater", p=p)


def _of_parameter(key: str, model: ModelFinding, value: float, alternative: Alternative) -> Hypothesis:
    known = model.estimates[key].status in ("measured", "bounded")
    p = parameter_p(model, key, value, alternative) if known else None
    return Hypothesis(key=key, null_value=value, alternative=alternative, p=p)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p values, in the order of the given ones: the running maximum of (m - rank) p, at most 1.

    None is no member of the family, and stays None.
    """
    adjusted: list[float | None] = [None] * len(p_values)
    ranked = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    highest = 0.0
    for rank, (p, index) in enumerate(ranked):
        highest = max(highest, min(1.0, (len(ranked) - rank) * p))
        adjusted[index] = highest
    return adjusted


def confirmatory_family(
    *,
    dark: ClusteredShare | None,
    stable: ClusteredShare | None,
    positional: ClusteredShare | None,
    model: ModelFinding,
    limits: Limits,
) -> tuple[Hypothesis, ...]:
    """The family DC, SCS, PFP, k, c, with Holm's adjustment over those of them that the readings can test.

    Parameters
    ----------
    dark, stable, positional
        The shares; None is "not measured".
    model
        The joint model.
    limits
        Where the null values and the significance come from.
    """
    family = (
        _of_share("dark_current", dark, limits.dark),
        _of_share("stable_cross_sensitivity", stable, limits.surface),
        _of_share("positional_false_preference", positional, limits.positional),
        _of_parameter("resolution", model, 0.0, "two-sided"),
        _of_parameter("criterion", model, neutral_criterion(limits.conservative), "greater"),
    )
    return tuple(
        replace(hypothesis, adjusted_p=p, rejected=p is not None and p <= limits.significance)
        for hypothesis, p in zip(family, holm([hypothesis.p for hypothesis in family]), strict=True)
    )
