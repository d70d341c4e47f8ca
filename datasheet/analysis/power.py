"""What a plan buys before any call is made: widths of intervals, and the smallest effects that it can detect.

Nothing is known of the judge yet, so that all is told for one planning observer, :data:`PLANNED`. A share has the
Wilson limits of its expected count on n/deff readings, deff = 1 + (m - 1) ICC with m readings a task (Kish 1965, Survey
Sampling), and Student's t on G - 1 degrees of freedom. The joint model has its expected (Fisher) information over the
planned pairs, and tasks that differ add τ²/G to the variance of log k. The smallest detectable effect is what two
judges or prompts on the same stimuli are told apart by, in the given share of cases, by a two-sided t test of their
differences by task; their readings are taken as independent of each other, which is cautious (for shares Connor 1987,
Biometrics 43:207).

``benchmarks/validity/plans.py`` holds all this against simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import ceil, comb, exp, log, sinh, sqrt

import numpy as np
from scipy.sparse import csr_array, identity
from scipy.special import logit, ndtri, stdtrit

from datasheet.analysis.bivariate import Numbers
from datasheet.analysis.derived import threshold
from datasheet.analysis.evidence import MISSING, PairTable, cell_probabilities, log_likelihood
from datasheet.analysis.intervals import CONFIDENCE_LEVEL, wilson
from datasheet.analysis.ladder import PREFIX_ARM
from datasheet.analysis.measurement import PRIOR_SDS, parameter_names
from datasheet.analysis.pair_table import ModelTable, model_table
from datasheet.analysis.parameters import Parameters
from datasheet.analysis.threads import one_thread
from datasheet.readings import Readings

PLANNED = Parameters(resolution=0.6, slopes=np.zeros(0), position=0.3, criterion=0.5, correlation=0.4, task_spread=0.3)
"""The planning observer: k, γ, b, c, ρ and τ of a middling judge."""
PLANNED_DARK_CURRENT = 0.05
WITHIN_TASK_CORRELATION = 0.1
"""Of the readings of one task (ICC)."""
POWER = 0.8
DETECTED_WIN_RATE = 0.6
SYSTEMS = (2, 3, 5, 10)
"""Numbers of systems whose comparison is planned for."""

_LARGER_OF_TWO = 1.06
"""Intervals take the larger of the model's and the robust standard uncertainty: in the mean so much more than one."""
_NOTHING, _DIFFERENCE = log(1e-9), 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWidth:
    """The interval that a plan is expected to give a characteristic.

    Attributes
    ----------
    value
        Of the planning observer.
    half_width
        Of the two-sided 95% interval.
    detectable
        The smallest effect between two judges or prompts that is detected: a difference, or, where ``ratio`` is true, a
        ratio.
    n, n_clusters
        Readings or pairs, and tasks.
    """

    key: str
    value: float
    half_width: float
    detectable: float
    ratio: bool
    n: int
    n_clusters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemsCompared:
    """What it takes to compare systems two by two.

    Attributes
    ----------
    comparisons
        Pairs of systems.
    prompts
        For each of them.
    calls
        In both orders, over all comparisons.
    """

    systems: int
    comparisons: int
    prompts: int
    calls: int


def planned_widths(plan: Readings) -> tuple[PlannedWidth, ...]:
    """The widths that a plan buys, in the order of the sheet.

    Parameters
    ----------
    plan
        One reading for each planned trial; its outcome does not count.
    """
    at_0, at_1 = (cell_probabilities(_observer(ties=plan.ties_allowed), delta_q) for delta_q in (0.0, 1.0))
    pairs = plan.of_probe("same_quality", "same_subset")
    steps = plan.of_probe("ladder", PREFIX_ARM)
    shares = [
        *([("dark_current", PLANNED_DARK_CURRENT, _stimuli(plan.of_probe("vacuum")))] if plan.ties_allowed else []),
        ("stable_cross_sensitivity", float(at_0[0, 0] + at_0[2, 2]), _stimuli(pairs)),
        ("positional_false_preference", float(at_0[0, 2] + at_0[2, 0]), _stimuli(pairs)),
        ("p_correct_1", float(at_1[2].sum() + at_1[:, 2].sum()) / 2, steps.where(steps.delta_q == 1)),
    ]
    widths = [planned_share(key, value, _sizes(rows)) for key, value, rows in shares if len(rows)]
    made = model_table(plan)
    return (*widths, *(_of_model(made) if made is not None and made.has_ladder and made.has_both_orders else ()))


def _observer(*, ties: bool) -> Parameters:
    """The planning observer under a prompt that allows ties or does not."""
    return PLANNED if ties else replace(PLANNED, criterion=exp(_NOTHING))


def _stimuli(rows: Readings) -> Readings:
    """One reading of each stimulus."""
    return rows.where(np.unique(rows.stimulus, return_index=True)[1])


def _sizes(rows: Readings) -> Numbers:
    """Readings in each task that has any, shape (G,)."""
    return np.unique(rows.task, return_counts=True)[1].astype(np.float64)


def planned_share(key: str, value: float, sizes: Numbers) -> PlannedWidth:
    """The expected width and the smallest detectable difference of a share, from readings a task, shape (G,)."""
    n, n_clusters = float(sizes.sum()), len(sizes)
    design_effect = 1 + (float((sizes**2).sum()) / n - 1) * WITHIN_TASK_CORRELATION
    quantile = partial(stdtrit, n_clusters - 1) if n_clusters > 1 else ndtri
    low, high = wilson(value, n / design_effect, float(quantile((1 + CONFIDENCE_LEVEL) / 2)))
    # d² = a (ψ - d²), with ψ = p + p' - 2 p p' where two shares p and p' = p ± d are independent of each other.
    a = _separation(quantile) ** 2 * design_effect / n
    room = abs(1 - 2 * value)
    spread = a * room / (2 * (1 + a))
    return PlannedWidth(
        key=key,
        value=value,
        half_width=(high - low) / 2,
        detectable=spread + sqrt(spread**2 + 2 * a * value * (1 - value) / (1 + a)),
        ratio=False,
        n=round(n),
        n_clusters=n_clusters,
    )


def _separation(quantile: Callable[[float], float]) -> float:
    """Standard errors between nothing and an effect that is detected."""
    return float(quantile((1 + CONFIDENCE_LEVEL) / 2) + quantile(POWER))


def _of_model(made: ModelTable) -> tuple[PlannedWidth, ...]:
    expected = expected_covariance(made)
    theta, n_clusters = expected.theta, made.table.n_clusters
    quantile = partial(stdtrit, max(1, n_clusters - 1))
    t, apart = float(quantile((1 + CONFIDENCE_LEVEL) / 2)), sqrt(2) * _separation(quantile)
    k, b, c = float(theta[0]), float(theta[-4]), exp(theta[-3])

    def log_threshold(thetas: Numbers) -> Numbers:
        return np.asarray(np.log(threshold(thetas, n_outcomes=made.table.n_outcomes)))

    steps = np.eye(len(theta)) * _DIFFERENCE
    slope = (log_threshold(theta + steps) - log_threshold(theta - steps)) / (2 * _DIFFERENCE)
    reached, unit = exp(float(log_threshold(theta))), np.eye(len(theta))
    u_log, u_k, u_b, u_log_c = map(expected.standard_uncertainty, (slope, unit[0], unit[-4], unit[-3]))
    found = {
        "threshold_75": (reached, reached * sinh(t * u_log), exp(apart * u_log)),
        "resolution": (k, t * u_k, exp(apart * u_k / k)),
        "criterion": (c, c * sinh(t * u_log_c), exp(apart * u_log_c)),
        "position": (b, t * u_b, apart * u_b),
    }
    return tuple(
        PlannedWidth(
            key=key,
            value=value,
            half_width=half_width,
            detectable=detectable,
            ratio=key != "position",
            n=round(made.table.n_pairs),
            n_clusters=n_clusters,
        )
        for key, (value, half_width, detectable) in found.items()
        if key != "criterion" or made.table.n_outcomes == 3
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCovariance:
    """Parameters of the planning observer, shape (p,), and the covariance to be expected of their fit, (p, p)."""

    theta: Numbers
    covariance: Numbers

    def standard_uncertainty(self, gradient: Numbers) -> float:
        """Of a function with this gradient by theta, shape (p,), as the intervals of a sheet take it."""
        return _LARGER_OF_TWO * sqrt(float(gradient @ self.covariance @ gradient))


def expected_covariance(made: ModelTable) -> ExpectedCovariance:
    """The covariance to be expected of a fit to some pairs, whatever outcomes these hold; 0 for what is fixed."""
    observer, names = _observer(ties=made.table.n_outcomes == 3), parameter_names(made.covariates)
    tail = (observer.position, log(observer.criterion), float(logit(observer.correlation)), _NOTHING)
    theta = np.array([observer.resolution, *np.zeros(len(made.covariates)), *tail])
    free = np.array([name != "log_task_spread" for name in names])
    free[-3] = made.table.n_outcomes == 3
    information = np.diag([1 / PRIOR_SDS[name] ** 2 if name in PRIOR_SDS else 0.0 for name in names])
    with one_thread():
        information += _information(made.table, theta)
    covariance = np.zeros_like(information)
    covariance[np.ix_(free, free)] = np.linalg.inv(information[np.ix_(free, free)])
    covariance[0, 0] += (observer.resolution * observer.task_spread) ** 2 / made.table.n_clusters
    return ExpectedCovariance(theta=theta, covariance=covariance)


def _information(table: PairTable, theta: Numbers) -> Numbers:
    """Fisher's information of the pairs of a table, shape (p, p): over all outcomes that each of them can have."""
    outcomes = (-1, 0, 1) if table.n_outcomes == 3 else (-1, 1)
    total = np.zeros((len(theta), len(theta)))
    for rows, _, _ in table.parts:
        each = csr_array(identity(len(rows)))
        shown = [outcomes if content[0] != MISSING else (MISSING,) for content in (rows.content_ab, rows.content_ba)]
        for ab, ba in product(*shown):
            content_ab, content_ba = np.full_like(rows.content_ab, ab), np.full_like(rows.content_ba, ba)
            cell = replace(rows, content_ab=content_ab, content_ba=content_ba, counts=each)
            logs, scores = log_likelihood(theta, cell)
            total += scores.T @ (scores * (rows.weight * np.exp(logs))[:, None])
    return total


def systems_compared(systems: int) -> SystemsCompared:
    """What it takes to tell each two of some systems apart, of which one wins :data:`DETECTED_WIN_RATE` of prompts.

    At the given power in each comparison, while all of them together err at 5% at most (Bonferroni, the first step of
    Holm); a prompt is read in both orders, and its two readings are taken to tell no more than one.
    """
    comparisons = comb(systems, 2)
    quantile = float(ndtri(1 - (1 - CONFIDENCE_LEVEL) / (2 * comparisons)))
    spread = sqrt(DETECTED_WIN_RATE * (1 - DETECTED_WIN_RATE))
    prompts = ceil(((quantile / 2 + float(ndtri(POWER)) * spread) / (DETECTED_WIN_RATE - 0.5)) ** 2)
    return SystemsCompared(systems=systems, comparisons=comparisons, prompts=prompts, calls=2 * comparisons * prompts)
