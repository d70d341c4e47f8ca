"""Does the measurement model hold? Whether calls lapse and what that would change, and whether the steps are equal.

Neither changes an estimate of the model: they say how far it may be believed. The model holds lapses at 0. A judge that
lapses in 5% of its calls is then read as less sensitive than it is, and the interval of its threshold does not hold the
truth in a third of logs (``benchmarks/validity``); the likelihood tells such a judge, so its figures carry a flag.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np
from scipy.special import chdtrc, fdtrc

from datasheet.analysis.bivariate import Numbers
from datasheet.analysis.bounds import Bounds
from datasheet.analysis.covariates import told_apart
from datasheet.analysis.derived import threshold
from datasheet.analysis.measurement import MeasurementFit, Mode, fit_measurement, measurement_mode
from datasheet.analysis.model import NOT_CONVERGED, ModelFinding, open_scale, slope_of
from datasheet.analysis.pair_table import ModelTable
from datasheet.analysis.parameters import Parameters
from datasheet.analysis.threads import one_thread
from datasheet.p_values import p_phrase
from datasheet.readings import Codes
from datasheet.records import Estimate

LAPSE_RATES = (0.02, 0.05, 0.1, 0.2, 0.4)
LAPSES_FLAG = "lapses"
_LAPSE_LEVEL = 0.05
_UNTOUCHED = (
    *("position_in_steps", "length_in_steps", "filler_in_steps", "channel_in_steps", "task_spread"),
    *("label_mass", "censored_share", "residual_normality"),
)
MOST_STEP_GROUPS = 12
"""Free means of the test of equal steps: with more of them it would be slow, and see no smooth bend better."""
NEEDS_STEPS = "needs a ladder of at least three steps and three tasks, with the levels of the answers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lapses:
    """What the model says if so many calls lapse into a verdict at random.

    ``gain`` is twice the log likelihood that it gains over no lapses; what the model without lapses does not measure is
    None here too.
    """

    lapse_rate: float
    resolution: float | None
    criterion: float | None
    position: float | None
    threshold_75: float | None
    gain: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostics:
    """How far the model may be believed.

    Attributes
    ----------
    base_level_slope
        Change of the resolution with each requirement that the worse answer meets already.
    lapses
        The model at :data:`LAPSE_RATES`; empty without a fit, or where it determines neither resolution nor criterion.
    steps_p
        p of the test that all quality steps are worth the same, whatever their size and base level; None without it.
    """

    base_level_slope: Estimate
    lapses: tuple[Lapses, ...] = ()
    steps_p: float | None = None

    @property
    def likeliest_lapses(self) -> Lapses | None:
        """Those of the rates that the readings fit best."""
        return max(self.lapses, key=lambda lapses: lapses.gain, default=None)

    @property
    def lapses_p(self) -> float | None:
        """p of no lapses, by the likelihood ratio.

        A rate of 0 is the edge of what a rate may be, so that the ratio is 0 half of the time and chi-squared else
        (Self & Liang 1987, J. Am. Stat. Assoc. 82:605).
        """
        best = self.likeliest_lapses
        return None if best is None else float(chdtrc(1, best.gain)) / 2 if best.gain > 0 else 1.0

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader is to be warned of."""
        best, p = self.likeliest_lapses, self.lapses_p
        if best is None or p is None or p >= _LAPSE_LEVEL:
            return ()
        most = best.lapse_rate == max(LAPSE_RATES)
        rate = f"{best.lapse_rate:.0%} or more" if most else f"about {best.lapse_rate:.0%}"
        return (
            f"The readings fit better if {rate} of calls lapse into a verdict at random ({p_phrase(p)}). The joint "
            "model holds lapses at 0, so that its thresholds are too high, and its resolution and stable correlation "
            "too low, by as much as the line on the fit tells.",
        )

    def flagged(self, estimates: Mapping[str, Estimate]) -> dict[str, Estimate]:
        """The model's estimates, flagged where lapses move them; as they are where there is no sign of lapses."""
        if not self.notes:
            return dict(estimates)
        return {
            key: replace(estimate, flags=(*estimate.flags, LAPSES_FLAG))
            if estimate.status in ("measured", "bounded") and key.partition("@")[0] not in _UNTOUCHED
            else estimate
            for key, estimate in estimates.items()
        }


def diagnose(model: ModelFinding) -> Diagnostics:
    """Hold a fitted model against its readings."""
    if model.fit is None or model.made is None:
        return Diagnostics(base_level_slope=Estimate.absent("not_measured", NEEDS_STEPS))
    with one_thread():
        known = "measured" in (model.estimates[key].status for key in ("resolution", "criterion"))
        lapses = _lapses(model, model.made, model.fit) if known else ()
        steps_p, base_slope = _steps(model, model.made, model.fit)
    return Diagnostics(base_level_slope=base_slope, lapses=lapses, steps_p=steps_p)


def _lapses(model: ModelFinding, made: ModelTable, fit: MeasurementFit) -> tuple[Lapses, ...]:
    """The model at each rate, its search begun where that of the rate before ended."""
    curvatures = None if model.bounds is None else model.bounds.curvatures
    found, theta = [], fit.theta
    for lapse_rate in LAPSE_RATES:
        mode = measurement_mode(
            made.table,
            made.covariates,
            fixed=model.fixed,
            starts=[theta],
            lapse_rate=lapse_rate,
            curvatures=curvatures,
        )
        found.append(_at_rate(model, made, fit, mode, lapse_rate))
        theta = mode.theta
    return tuple(found)


def _at_rate(model: ModelFinding, made: ModelTable, fit: MeasurementFit, mode: Mode, lapse_rate: float) -> Lapses:
    found = Parameters.from_vector(mode.theta, lapse_rate=lapse_rate)
    values = {
        "resolution": found.resolution,
        "criterion": found.criterion,
        "position": found.position,
        "threshold_75": float(
            threshold(
                mode.theta, longest_step=fit.longest_step, lapse_rate=lapse_rate, n_outcomes=made.table.n_outcomes
            )
        ),
    }
    known = {
        key: value if isfinite(value) and model.estimates[key].status == "measured" else None
        for key, value in values.items()
    }
    return Lapses(lapse_rate=lapse_rate, gain=2 * (mode.log_likelihood - fit.log_likelihood), **known)


def _steps(model: ModelFinding, made: ModelTable, fit: MeasurementFit) -> tuple[float | None, Estimate]:
    """Are the steps equal? Free means for steps above the first and a slope for the base level, tested together."""
    delta_q, base = made.table.delta_q, made.base_level
    needs = Estimate.absent("not_measured", NEEDS_STEPS)
    if len(np.unique(delta_q[delta_q > 0])) < 3 or fit.n_clusters < 3:
        return None, needs
    columns = _free_means(made)
    names = [f"step_{place}" for place in range(len(columns))]
    if np.ptp(base[delta_q > 0]) > 0:
        centred = np.where(delta_q > 0, base - base[delta_q > 0].mean(), 0.0)
        columns.append(delta_q * centred)
        names.append("base_level")
    if not columns:  # the model has a parameter for each mean already
        return None, needs
    wider = made.table.with_covariates(np.column_stack([made.table.covariates, *columns]))
    extra = len(columns)
    start = np.concatenate([fit.theta[: 1 + len(made.covariates)], np.zeros(extra), fit.theta[-4:]])
    covariates = (*made.covariates, *names)
    refit = fit_measurement(wider, covariates, fixed=model.fixed, start=start)
    if not fit.converged or not refit.converged:
        return None, Estimate.absent("undetermined", NOT_CONVERGED, n=fit.n_pairs)
    ratio = max(0.0, 2 * (refit.log_likelihood - fit.log_likelihood))
    p = float(fdtrc(extra, fit.degrees_of_freedom, ratio / extra))
    if names[-1] != "base_level":
        return p, needs
    bounds = Bounds(made=replace(made, table=wider, covariates=covariates), fit=refit)
    return p, slope_of(bounds, "base_level", open_scale(model.estimates))


def _free_means(made: ModelTable) -> list[Numbers]:
    """What groups of adjacent steps above the first add to the model's means: an indicator of each, shape (K,).

    One is left out where the others and the model make it up: where one order makes the position an intercept.
    """
    table, group = made.table, _step_groups(made)
    held = [table.delta_q, *table.covariates.T]
    held += [] if made.shows_both_orders else [np.ones(len(table))]
    columns: list[Numbers] = []
    for code in range(1, int(group.max()) + 1):
        column = (group == code) * 1.0
        if told_apart(column, [*held, *columns]):
            columns.append(column)
    return columns


def _step_groups(made: ModelTable) -> Codes:
    """The group of each kind's step, shape (K,), -1 at ΔQ 0: a step by itself, or 12 groups of about equal weight."""
    delta_q = made.table.delta_q
    above = delta_q > 0
    steps, place = np.unique(delta_q[above], return_inverse=True)
    group = np.arange(len(steps))
    if len(steps) > MOST_STEP_GROUPS:
        weight = np.bincount(place, weights=made.table.counts.sum(axis=0)[above])
        middle = np.cumsum(weight) - weight / 2
        _, group = np.unique(np.floor(middle / weight.sum() * MOST_STEP_GROUPS), return_inverse=True)
    groups = np.full(len(delta_q), -1, dtype=np.int32)
    groups[above] = group[place]
    return groups
