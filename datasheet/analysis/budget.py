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
with their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, sqrt
from typing import Literal

import numpy as np
from scipy.special import ndtr, stdtrit

from datasheet.analysis.bivariate import Numbers, bvn_cdf, normal_pdf
from datasheet.analysis.evidence import Parameters
from datasheet.analysis.intervals import CONFIDENCE_LEVEL
from datasheet.analysis.task_factor import AVERAGING_NODES, AVERAGING_WEIGHTS

Orders = Literal[1, 2]

_LOG_CRITERION = -3
"""Place of log c in theta."""
_SLOT_SIGNS = np.array([1.0, -1.0])


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
    """A win rate, its combined standard uncertainty, and the lines that make it up."""

    win_rate: float
    standard_uncertainty: float
    effective_degrees_of_freedom: float
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
    """Of one reading of a random prompt: mean, slope of the mean by c, and second moments.

    The second moments are those of the mean reading given the prompt, the preference too, the order too, and of the
    reading itself.
    """

    mean: float
    by_criterion: float
    prompt: float
    preference: float
    order: float
    reading: float

    @classmethod
    def of(cls, parameters: Parameters, quality_mean: float, quality_sd: float) -> _Moments:
        """Averaged over tasks, whose log resolution varies with the task spread."""
        rows = [
            _moments_on_task(parameters, parameters.resolution * exp(parameters.task_spread * node), quality_mean,
                             quality_sd)
            for node in AVERAGING_NODES
        ]  # fmt: skip
        return cls(*(float(value) for value in AVERAGING_WEIGHTS @ np.array(rows)))


def _moments_on_task(parameters: Parameters, resolution: float, quality_mean: float, quality_sd: float) -> Numbers:
    """The six moments on tasks of one resolution, without lapses."""
    c, prompts = parameters.criterion, (resolution * quality_sd) ** 2
    total = sqrt(1 + prompts)
    centres = resolution * quality_mean + _SLOT_SIGNS * parameters.position
    above = (centres[:, None] + np.array([c, -c])) / total  # order by cut: P(X > -c) and P(X > c) are its cdf

    def product(shared: float, one: Numbers, other: Numbers) -> float:
        """Mean of the product of two readings that share this much variance, over the cuts of both."""
        return float(bvn_cdf(one[..., :, None], other[..., None, :], shared / total**2).mean())

    return np.array([
        ndtr(above).mean(),
        float((normal_pdf(above) @ np.array([1.0, -1.0])).mean()) / 2 / total,
        product(prompts, above[:, None], above),
        product(prompts + parameters.correlation, above[:, None], above),
        product(prompts + parameters.correlation, above, above),
        float((ndtr(above) @ np.array([0.25, 0.75])).mean()),
    ])  # fmt: skip


def _evidence_sd(parameters: Parameters, quality_mean: float, quality_sd: float) -> float:
    """Standard deviation of the mean evidence over prompts, through their quality differences and their tasks."""
    spread = parameters.task_spread**2
    variance = exp(2 * spread) * (quality_mean**2 + quality_sd**2) - exp(spread) * quality_mean**2
    return abs(parameters.resolution) * sqrt(variance)


def win_rate_budget(
    parameters: Parameters,
    covariance: Numbers,
    *,
    degrees_of_freedom: float,
    n_prompts: int,
    quality_mean: float,
    quality_sd: float,
    orders: Orders = 2,
    repeats: int = 1,
    n_outcomes: int = 3,
) -> Budget:
    """The budget of a win rate at equal length, by the joint model's parameters.

    Parameters
    ----------
    covariance
        Of theta as in :func:`~datasheet.analysis.evidence.log_likelihood`; only u(log c) is used.
    degrees_of_freedom
        Of the fit. Surface, order, repeat and criterion, which rest on it, have as many; sampling has n - 1.
    n_prompts
        Prompts, each of a task of its own, 2 or more.
    quality_mean, quality_sd
        Of the true quality differences over prompts, in quality steps.
    orders
        1: each prompt is read in one order, drawn at random; 2: in both. (With one system always first, the position
        is an error of the win rate, which no budget of uncertainty holds.)
    repeats
        Calls on each presentation.
    n_outcomes
        Verdicts that the prompt allows: 3, or 2 where none is a tie.

    Raises
    ------
    ValueError
        A number is outside what is said above.
    """
    if n_prompts < 2 or orders not in (1, 2) or repeats < 1 or quality_sd < 0:
        raise ValueError(
            "a budget needs at least 2 prompts, 1 or 2 orders, at least 1 call on each, and a spread of 0 or more; "
            f"found {n_prompts} prompts, {orders} orders, {repeats} repeats and a spread of {quality_sd}"
        )
    moments = _Moments.of(parameters, quality_mean, quality_sd)
    variances = _variances_of_a_prompt(parameters, moments, orders * repeats, n_outcomes)
    inputs = {
        "sampling": _evidence_sd(parameters, quality_mean, quality_sd),
        "surface": sqrt(parameters.correlation),
        "order": abs(parameters.position),
        "repeat": sqrt((1 - parameters.correlation) / (orders * repeats)),
    }
    if orders == 2:
        variances["order"] = inputs["order"] = 0.0
    root = sqrt(n_prompts)
    terms = {name: (sqrt(variances[name]) / root, inputs[name] / root) for name in inputs}
    u_c = parameters.criterion * sqrt(float(covariance[_LOG_CRITERION, _LOG_CRITERION]))
    keep = 1 - parameters.lapse_rate
    terms["criterion"] = (keep * abs(moments.by_criterion) * u_c, u_c)
    freedom = dict.fromkeys(terms, float(degrees_of_freedom)) | {"sampling": n_prompts - 1.0}
    return _combined(keep * moments.mean + parameters.lapse_rate / 2, terms, freedom)


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


def _combined(win_rate: float, terms: dict[str, tuple[float, float]], freedom: dict[str, float]) -> Budget:
    """Lines from (contribution, standard uncertainty of the input), and their combination."""
    total = sum(contribution**2 for contribution, _ in terms.values())
    lines = tuple(
        BudgetLine(
            name=name,
            sensitivity=contribution / uncertainty if uncertainty else 0.0,
            standard_uncertainty=uncertainty,
            degrees_of_freedom=freedom[name],
            share=contribution**2 / total if total else 0.0,
        )
        for name, (contribution, uncertainty) in terms.items()
    )
    return Budget(
        win_rate=win_rate,
        standard_uncertainty=sqrt(total),
        effective_degrees_of_freedom=effective_degrees_of_freedom(
            [line.contribution for line in lines], [line.degrees_of_freedom for line in lines]
        ),
        lines=lines,
    )
