"""The uncertainty budget of a win rate: what a win rate over n prompts would vary by, and through what.

Two systems answer n prompts and the judge reads each pair, a tie counting half. The quality difference of a prompt is
normal with a given mean and standard deviation. A reading's score is the mean of two indicators, X > c and X > -c, of
the evidence of :mod:`~datasheet.analysis.evidence`, so that every moment of it is a normal probability and every
product of two readings, given what they share, a bivariate one: nothing is linearised but the criterion, and nothing
is drawn.

The variance is taken apart from the prompt down to the call (each line holds what the lines above it leave open):
``sampling``, how the mean reading differs between prompts; ``surface``, how it differs through stable preferences;
``order``, through the slot, where one order is drawn for each prompt; ``repeat``, through call noise. The fifth line,
``criterion``, is what is not known of c, which decides the tie rate: it is common to all prompts and does not shrink
with their number. Where two systems are equal it can't move their win rate, and where both orders are read the slot
can't: a budget is of one way to make a win rate (:class:`Study`), and a sheet shows several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, sqrt
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from datasheet.analysis.bivariate import Numbers, bvn_cdf, normal_pdf
from datasheet.analysis.intervals import CONFIDENCE_LEVEL
from datasheet.analysis.parameters import Parameters
from datasheet.analysis.task_factor import AVERAGING_NODES, AVERAGING_WEIGHTS

Orders = Literal[1, 2]

_LOG_CRITERION = -3
"""Place of log c in theta."""
_SLOT_SIGNS = np.array([1.0, -1.0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """How a win rate is made.

    Attributes
    ----------
    n_prompts
        Prompts, each of a task of its own, 2 or more.
    quality_mean, quality_sd
        Of the true quality differences over prompts, in quality steps.
    orders
        1: each prompt is read in one order, drawn at random; 2: in both.
    repeats
        Calls on each presentation.

    Raises
    ------
    ValueError
        A number is outside what is said above.
    """

    n_prompts: int
    quality_mean: float
    quality_sd: float
    orders: Orders = 2
    repeats: int = 1

    def __post_init__(self) -> None:
        if self.n_prompts < 2 or self.orders not in (1, 2) or self.repeats < 1 or self.quality_sd < 0:
            raise ValueError(
                "a budget needs at least 2 prompts, 1 or 2 orders, at least 1 call on each, and a spread of 0 or more; "
                f"found {self.n_prompts} prompts, {self.orders} orders, {self.repeats} repeats and a spread of "
                f"{self.quality_sd}"
            )

    @property
    def better_share(self) -> float:
        """Share of prompts on which the first system is truly better: the win rate that a perfect judge would read."""
        if self.quality_sd == 0:
            return float(np.heaviside(self.quality_mean, 0.5))
        return float(ndtr(self.quality_mean / self.quality_sd))

    @classmethod
    def of_better_share(cls, better_share: float, *, n_prompts: int, quality_sd: float, orders: Orders) -> Study:
        """A study of two systems of which the first is truly better on this share of prompts."""
        mean = quality_sd * float(ndtri(better_share))
        return cls(n_prompts=n_prompts, quality_mean=mean, quality_sd=quality_sd, orders=orders)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLine:
    """One source of uncertainty of a win rate.

    Attributes
    ----------
    sensitivity
        Change of the win rate with the input, without its sign: for the criterion the derivative, elsewhere the root
        mean square over the input's own range (contribution over standard uncertainty); 0 where the input does not
        vary.
    standard_uncertainty
        Of the input, in standard deviations of evidence.
    degrees_of_freedom
        Behind the standard uncertainty.
    share
        Of the variance of the win rate; 0 where that is 0.
    """

    name: str
    sensitivity: float
    standard_uncertainty: float
    degrees_of_freedom: float
    share: float

    @property
    def contribution(self) -> float:
        """Standard uncertainty of the win rate through this source alone."""
        return self.sensitivity * self.standard_uncertainty


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A win rate, its combined standard uncertainty, and the lines that make it up.

    Attributes
    ----------
    win_rate
        What the judge reads on average, a tie counting half.
    always_first_error
        How far the win rate of a system is off that is shown first on every prompt, read in that order alone: an error,
        which no number of prompts makes smaller and no line holds.
    """

    study: Study
    win_rate: float
    standard_uncertainty: float
    effective_degrees_of_freedom: float
    always_first_error: float
    lines: tuple[BudgetLine, ...]

    @property
    def expanded_uncertainty(self) -> float:
        """Half-width of a 95% interval: Student's t on the effective degrees of freedom."""
        quantile = stdtrit(self.effective_degrees_of_freedom, (1 + CONFIDENCE_LEVEL) / 2)
        return float(quantile) * self.standard_uncertainty


def effective_degrees_of_freedom(contributions: Sequence[float], degrees_of_freedom: Sequence[float]) -> float:
    """The Welch-Satterthwaite formula (JCGM 100:2008, G.2b): u⁴ over Σ u_i⁴/ν_i.

    Parameters
    ----------
    contributions
        Standard uncertainties |c_i| u_i of the lines, in the unit of the result. Where all are 0, the least of the
        degrees of freedom is returned.
    """
    variances = np.square(np.asarray(contributions, dtype=np.float64))
    if not variances.any():
        return float(min(degrees_of_freedom))
    return float(variances.sum() ** 2 / (variances**2 / np.asarray(degrees_of_freedom)).sum())


@dataclass(frozen=True, slots=True)
class _Moments:
    """Of one reading of a random prompt: mean, gain by the first slot, slope of the mean by c, and second moments.

    The second moments are those of the mean reading given the prompt, the preference too, the order too, and of the
    reading itself.
    """

    mean: float
    by_first_slot: float
    by_criterion: float
    prompt: float
    preference: float
    order: float
    reading: float

    @classmethod
    def of(cls, parameters: Parameters, study: Study) -> _Moments:
        """Averaged over tasks, whose log resolution varies with the task spread."""
        slopes = [parameters.resolution * exp(parameters.task_spread * node) for node in AVERAGING_NODES]
        rows = [_moments_on_task(parameters, slope, study) for slope in slopes]
        return cls(*(float(value) for value in AVERAGING_WEIGHTS @ np.array(rows)))


def _moments_on_task(parameters: Parameters, resolution: float, study: Study) -> Numbers:
    """The seven moments on tasks of one resolution, without lapses."""
    c, prompts = parameters.criterion, (resolution * study.quality_sd) ** 2
    total = sqrt(1 + prompts)
    centres = resolution * study.quality_mean + _SLOT_SIGNS * parameters.position
    above = (centres[:, None] + np.array([c, -c])) / total  # order by cut: P(X > -c) and P(X > c) are its cdf

    def product(shared: float, one: Numbers, other: Numbers) -> float:
        """Mean of the product of two readings that share this much variance, over the cuts of both."""
        return float(bvn_cdf(one[..., :, None], other[..., None, :], shared / total**2).mean())

    return np.array([
        ndtr(above).mean(),
        float(_SLOT_SIGNS @ ndtr(above).mean(axis=1)) / 2,
        float((normal_pdf(above) @ np.array([1.0, -1.0])).mean()) / 2 / total,
        product(prompts, above[:, None], above),
        product(prompts + parameters.correlation, above[:, None], above),
        product(prompts + parameters.correlation, above, above),
        float((ndtr(above) @ np.array([0.25, 0.75])).mean()),
    ])  # fmt: skip


def _evidence_sd(parameters: Parameters, study: Study) -> float:
    """Standard deviation of the mean evidence over prompts, through their quality differences and their tasks."""
    spread, mean = parameters.task_spread**2, study.quality_mean**2
    variance = exp(2 * spread) * (mean + study.quality_sd**2) - exp(spread) * mean
    return abs(parameters.resolution) * sqrt(variance)


def win_rate_budget(
    parameters: Parameters,
    covariance: Numbers,
    study: Study,
    *,
    degrees_of_freedom: float,
    n_outcomes: int = 3,
) -> Budget:
    """The budget of a win rate at equal length, by the joint model's parameters.

    Parameters
    ----------
    covariance
        Of theta as in :func:`~datasheet.analysis.evidence.log_likelihood`; only u(log c) is used.
    degrees_of_freedom
        Of the fit. Surface, order, repeat and criterion, which rest on it, have as many; sampling has n - 1.
    n_outcomes
        Verdicts that the prompt allows: 3, or 2 where none is a tie.
    """
    moments, calls = _Moments.of(parameters, study), study.orders * study.repeats
    variances = _variances_of_a_prompt(parameters, moments, calls, n_outcomes)
    inputs = {
        "sampling": _evidence_sd(parameters, study),
        "surface": sqrt(parameters.correlation),
        "order": abs(parameters.position),
        "repeat": sqrt((1 - parameters.correlation) / calls),
    }
    if study.orders == 2:
        variances["order"] = inputs["order"] = 0.0
    root = sqrt(study.n_prompts)
    terms = {name: (sqrt(variances[name]) / root, inputs[name] / root) for name in inputs}
    u_c = parameters.criterion * sqrt(float(covariance[_LOG_CRITERION, _LOG_CRITERION]))
    keep = 1 - parameters.lapse_rate
    terms["criterion"] = (keep * abs(moments.by_criterion) * u_c, u_c)
    freedom = dict.fromkeys(terms, float(degrees_of_freedom)) | {"sampling": study.n_prompts - 1.0}
    lines = _lines(terms, freedom)
    return Budget(
        study=study,
        win_rate=keep * moments.mean + parameters.lapse_rate / 2,
        standard_uncertainty=sqrt(sum(line.contribution**2 for line in lines)),
        effective_degrees_of_freedom=effective_degrees_of_freedom(
            [line.contribution for line in lines], [line.degrees_of_freedom for line in lines]
        ),
        always_first_error=keep * moments.by_first_slot,
        lines=lines,
    )


def _variances_of_a_prompt(parameters: Parameters, moments: _Moments, calls: int, n_outcomes: int) -> dict[str, float]:
    """Variance of the mean score of one random prompt by source, with lapses put in; differences of moments."""
    lapse, keep = parameters.lapse_rate, 1 - parameters.lapse_rate
    lapsed_square = 5 / 12 if n_outcomes == 3 else 1 / 2
    square = keep * moments.reading + lapse * lapsed_square
    expected_square = keep**2 * moments.order + keep * lapse * moments.mean + lapse**2 / 4
    variances = {
        "sampling": keep**2 * (moments.prompt - moments.mean**2),
        "surface": keep**2 * (moments.preference - moments.prompt),
        "order": keep**2 * (moments.order - moments.preference),
        "repeat": (square - expected_square) / calls,
    }
    return {name: max(0.0, variance) for name, variance in variances.items()}  # rounding may fall below 0


def _lines(terms: dict[str, tuple[float, float]], freedom: dict[str, float]) -> tuple[BudgetLine, ...]:
    """Lines from (contribution, standard uncertainty of the input)."""
    total = sum(contribution**2 for contribution, _ in terms.values())
    return tuple(
        BudgetLine(
            name=name,
            sensitivity=contribution / uncertainty if uncertainty else 0.0,
            standard_uncertainty=uncertainty,
            degrees_of_freedom=freedom[name],
            share=contribution**2 / total if total else 0.0,
        )
        for name, (contribution, uncertainty) in terms.items()
    )
