"""The measurement model on a log: what of it could be measured, each quantity with its status.

Where the readings bound a parameter on one side only (a judge that never errs, never ties, or always takes the first
slot) the profile likelihood without that parameter's prior gives the bound. A wild number is never printed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, log, sqrt

import numpy as np

from datasheet.analysis.covariates import CHANNEL_INTERCEPT, LENGTHS
from datasheet.analysis.derived import (
    Uncertainty,
    back_to_share,
    model_threshold,
    noise_equivalent,
    p_correct,
    p_correct_marginal,
    ratio_to_resolution,
    without_criterion,
)
from datasheet.analysis.evidence import MISSING, PairTable
from datasheet.analysis.ladder import PREFIX_ARM
from datasheet.analysis.length_bins import loss_to_bins, without_loss_to_bins
from datasheet.analysis.measurement import MeasurementFit, fit_measurement, measurement_mode
from datasheet.analysis.pair_table import ModelTable, model_rows, model_table
from datasheet.analysis.threads import one_thread
from datasheet.readings import Readings
from datasheet.records import Estimate

MODEL_KEYS = (
    *("threshold_75", "threshold_75_marginal", "fc75", "resolution", "criterion", "position", "position_in_steps"),
    *("stable_correlation", "task_spread", "noise_equivalent_delta_q"),
    *("length_slope", "length_in_steps", "filler_slope", "filler_in_steps"),
)
NO_TIES = "the prompt allows no tie, which fixes it by construction"
NEEDS_PAIRS = "needs valid readings of ladder or same-quality pairs"
NEEDS_LADDER = "needs the ladder probe"
NEEDS_DOSES = "needs the channel probe (design full)"
NEEDS_BOTH_ORDERS = "needs both orders of the same pairs"
_PRIOR_SD = {"logit_correlation": 1.5, "log_task_spread": 0.7}
_PRIOR_LIMITED = 0.8
"""A posterior this near to its prior's width says little that the prior did not."""

_FAR = {"resolution": (-6.0, 6.0), "log_criterion": (-6.5, 2.5), "position": (-6.0, 6.0)}
_SUSPECT_HALF_WIDTH = {"resolution": 1.0, "log_criterion": 1.0, "position": 1.0}
_HIGHEST_LOG_SPREAD = log(3.0)
"""Beyond, a task's resolution may be twenty times another's: no task bank is so uneven."""

_PROFILE_STEPS = 7
_MUCH_SPREAD, _FEW_TASKS = 0.4, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFinding:
    """The model's part of a sheet.

    Attributes
    ----------
    estimates
        By key, in the order of the sheet.
    made, fit
        The table of pairs and the fit behind them; None where none could be made.
    fixed
        Parameters that these pairs can't speak of.
    """

    estimates: dict[str, Estimate]
    made: ModelTable | None = None
    fit: MeasurementFit | None = None
    fixed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def _absent(reason: str) -> dict[str, Estimate]:
    return {key: Estimate.absent("not_measured", reason) for key in MODEL_KEYS}


def _fixed(made: ModelTable) -> list[str]:
    """Parameters that these pairs can't speak of."""
    fixed = []
    if not made.has_ladder:
        fixed.append("resolution")
    if not made.has_ladder or not made.has_tasks:
        fixed.append("log_task_spread")
    if made.table.n_outcomes == 2:
        fixed.append("log_criterion")
    if not made.has_both_orders:
        fixed.append("logit_correlation")
    return fixed


def measure(readings: Readings, *, supported_below_1: bool) -> ModelFinding:
    """Fit the model to the readings and give every quantity of it.

    Parameters
    ----------
    supported_below_1
        Whether the readings at ΔQ 1 alone support a threshold of at most 1.
    """
    made = model_table(readings)
    if made is None:
        return ModelFinding(estimates=_absent(NEEDS_PAIRS), notes=model_rows(readings)[1])
    with one_thread():
        return _measure(made, supported_below_1=supported_below_1)


def _measure(made: ModelTable, *, supported_below_1: bool) -> ModelFinding:
    reason = _nothing_to_fit(made.table)
    if reason:
        estimates = {key: Estimate.absent("undetermined", reason) for key in MODEL_KEYS}
        return ModelFinding(estimates=_by_construction(estimates, made), notes=made.notes)
    fixed = _fixed(made)
    fit = without_loss_to_bins(fit_measurement(made.table, made.covariates, fixed=fixed), made.within_bins)
    estimates = _estimates(made, fit, supported_below_1=supported_below_1)
    return ModelFinding(
        estimates=_by_construction(estimates, made),
        made=made,
        fit=fit,
        fixed=tuple(fixed),
        notes=tuple(_notes(made, fit)),
    )


def prefix_resolution(readings: Readings) -> dict[str, Estimate]:
    """The published reading of the resolution: the prefix arm alone, where length and quality can't be told apart.

    Empty where the ladder has no other arm, so that the resolution itself is this reading.
    """
    arms = set(readings.of_probe("ladder").arm_names)
    if arms <= {PREFIX_ARM} or PREFIX_ARM not in arms:
        return {}
    parts = (readings.of_probe("ladder", PREFIX_ARM), readings.of_probe("same_quality", "same_subset"))
    kept = np.isin(readings.stimulus, np.concatenate([part.stimulus for part in parts]))
    made = model_table(readings.where(kept))
    if made is None or _nothing_to_fit(made.table):
        return {}
    with one_thread():
        fit = fit_measurement(made.table, made.covariates, fixed=_fixed(made))
        estimate = Uncertainty(fit=fit).linear("resolution", "confounded_with_length")
        return {"resolution@prefix": _bounded(made, fit, "resolution", estimate)}


def _nothing_to_fit(table: PairTable) -> str:
    """Why no parameter could be had: all readings are one and the same verdict."""
    contents = np.concatenate([table.content_ab, -table.content_ba])
    slots = contents[np.abs(contents) != MISSING]
    if (slots == 0).all():
        return "all readings are ties: the criterion is large against all evidence, and nothing else can be said"
    if (slots == 1).all() or (slots == -1).all():
        side = "first" if slots[0] == 1 else "second"
        return f"all readings prefer the {side} slot: the position outweighs all evidence, and nothing else can be said"
    return ""


def _by_construction(estimates: dict[str, Estimate], made: ModelTable) -> dict[str, Estimate]:
    if made.table.n_outcomes == 2:
        estimates = estimates | {"criterion": Estimate.absent("not_applicable", NO_TIES)}
    return estimates


def _estimates(made: ModelTable, fit: MeasurementFit, *, supported_below_1: bool) -> dict[str, Estimate]:
    uncertainty = Uncertainty(fit=fit)
    confounded = ("confounded_with_length",) if made.prefix_only else ()
    estimates = _absent(NEEDS_LADDER)
    estimates["criterion"] = _bounded(
        made, fit, "log_criterion", uncertainty.transformed("log_criterion", exp, highest=_FAR["log_criterion"][1])
    )
    if made.has_both_orders:
        estimates["position"] = _bounded(made, fit, "position", uncertainty.linear("position"))
        estimates["stable_correlation"] = uncertainty.transformed(
            "logit_correlation", back_to_share, *_prior_limited(fit, "logit_correlation")
        )
    else:
        for key in ("position", "stable_correlation"):
            estimates[key] = Estimate.absent("not_measured", NEEDS_BOTH_ORDERS)
    if not made.has_ladder:
        absent = estimates["resolution"]
        return estimates | _lengths(made, uncertainty, absent) | _channels(made, uncertainty, absent)
    resolution = _bounded(made, fit, "resolution", uncertainty.linear("resolution", *confounded))
    estimates["resolution"] = resolution
    top = int(made.table.delta_q.max())
    curves = {"threshold_75": p_correct, "threshold_75_marginal": p_correct_marginal, "fc75": without_criterion}
    for key, curve in curves.items():
        estimates[key] = _without_upper_end(fit, resolution, supported_below_1) or model_threshold(
            uncertainty, curve, top_step=top, supported_below_1=supported_below_1, n_outcomes=made.table.n_outcomes
        )
    if confounded:
        estimates |= {key: _flagged(estimates[key], *confounded) for key in curves}
    estimates["noise_equivalent_delta_q"] = _unless_measured(fit, "resolution", resolution) or noise_equivalent(
        uncertainty
    )
    estimates["position_in_steps"] = (
        _unless_measured(fit, "position", estimates["position"]) or _in_steps(uncertainty, "position", resolution)
        if made.has_both_orders
        else Estimate.absent("not_measured", NEEDS_BOTH_ORDERS)
    )
    if "log_task_spread" in fit.names and fit.free[fit.names.index("log_task_spread")]:
        flags = _prior_limited(fit, "log_task_spread")
        estimates["task_spread"] = uncertainty.transformed("log_task_spread", exp, *flags, highest=_HIGHEST_LOG_SPREAD)
    else:
        estimates["task_spread"] = Estimate.absent("not_measured", "needs at least two tasks, by name")
    return estimates | _lengths(made, uncertainty, resolution) | _channels(made, uncertainty, resolution)


def _lengths(made: ModelTable, uncertainty: Uncertainty, resolution: Estimate) -> dict[str, Estimate]:
    """The pull of a hundred words of length, and what as many of filler cost, in evidence and in quality steps."""
    needs = {
        "length": "needs the answers' lengths, and arms that tell length from quality (phrasings, filler)",
        "filler": "needs arms with filler",
    }
    estimates: dict[str, Estimate] = {}
    for name, reason in needs.items():
        slope = in_steps = Estimate.absent("not_measured", reason)
        if name in made.covariates:
            slope, in_steps = uncertainty.linear(name), _in_steps(uncertainty, name, resolution)
        estimates |= {f"{name}_slope": slope, f"{name}_in_steps": in_steps}
    return estimates


def _channels(made: ModelTable, uncertainty: Uncertainty, resolution: Estimate) -> dict[str, Estimate]:
    """The pull of a dose of each channel, in evidence and in quality steps, and of the wording that holds the doses."""
    channels = [name for name in made.covariates if name not in (*LENGTHS, CHANNEL_INTERCEPT)]
    estimates = {}
    for name in channels:
        estimates[f"channel_slope@{name}"] = uncertainty.linear(name)
        estimates[f"channel_in_steps@{name}"] = _in_steps(uncertainty, name, resolution)
    if CHANNEL_INTERCEPT in made.covariates:
        estimates[CHANNEL_INTERCEPT] = uncertainty.linear(CHANNEL_INTERCEPT)
    elif channels:
        estimates[CHANNEL_INTERCEPT] = Estimate.absent("not_measured", "needs pairs of a channel at two doses or more")
    if not channels:
        estimates["channel_slope"] = Estimate.absent("not_measured", NEEDS_DOSES)
    return estimates


def _in_steps(uncertainty: Uncertainty, name: str, resolution: Estimate) -> Estimate:
    """A slope in quality steps, where the resolution is known well enough to divide by it."""
    return _unless_measured(uncertainty.fit, "resolution", resolution) or ratio_to_resolution(uncertainty, name)


def _unless_measured(fit: MeasurementFit, name: str, needed: Estimate) -> Estimate | None:
    """What takes the place of a quantity that needs another one; None where that one was measured."""
    if needed.status == "measured":
        return None
    if needed.status == "not_measured":
        return Estimate.absent("not_measured", needed.reason)
    return Estimate.absent("undetermined", f"the {name} is {needed.status}", n=fit.n_pairs)


def _without_upper_end(fit: MeasurementFit, resolution: Estimate, supported_below_1: bool) -> Estimate | None:
    """A threshold where the resolution is only known to be above something: at most one step, or not determined."""
    if resolution.status != "bounded" or resolution.low is None:
        return None
    if not supported_below_1:
        return _unless_measured(fit, "resolution", resolution)
    method = Uncertainty(fit=fit).method
    return Estimate(status="bounded", high=1, n=fit.n_pairs, n_clusters=fit.n_clusters, method=method)


def _flagged(estimate: Estimate, *flags: str) -> Estimate:
    return replace(estimate, flags=(*estimate.flags, *flags))


def _prior_limited(fit: MeasurementFit, name: str) -> tuple[str, ...]:
    index = fit.names.index(name)
    posterior_sd = float(np.sqrt(fit.covariance[index, index]))
    return ("prior_limited",) if posterior_sd > _PRIOR_LIMITED * _PRIOR_SD[name] else ()


def _bounded(made: ModelTable, fit: MeasurementFit, name: str, estimate: Estimate) -> Estimate:
    """An estimate as it is, or a one-sided bound where the flat-prior profile stays open on a side."""
    index = fit.names.index(name)
    if not fit.free[index]:
        return estimate
    uncertainty = Uncertainty(fit=fit)
    if uncertainty.quantile * uncertainty.of(name) < _SUSPECT_HALF_WIDTH[name]:
        return estimate
    two_sided = uncertainty.quantile**2
    opens = [_deviance(made, fit, name, edge) < two_sided for edge in _FAR[name]]
    if not any(opens):
        return _flagged(estimate, "wide")
    if all(opens):
        return Estimate.absent("undetermined", "the readings leave it open on both sides", n=fit.n_pairs)
    side = 0 if opens[1] else 1
    limit = _profile_limit(made, fit, name, _FAR[name][side])
    shown = exp(limit) if name == "log_criterion" else limit
    bound = {"low": shown} if side == 0 else {"high": shown}
    return Estimate(
        status="bounded",
        n=fit.n_pairs,
        n_clusters=fit.n_clusters,
        method=f"profile likelihood, one-sided, t({fit.degrees_of_freedom})",
        flags=(*estimate.flags, "prior_limited"),
        **bound,  # type: ignore[arg-type]
    )


def _deviance(made: ModelTable, fit: MeasurementFit, name: str, value: float) -> float:
    """Twice the loss in log likelihood with one parameter held at a value and the others fitted again."""
    index = fit.names.index(name)
    start = np.array(fit.theta)
    start[index] = value
    held = [other for other, free in zip(fit.names, fit.free, strict=True) if not free]
    mode = measurement_mode(made.table, made.covariates, fixed=[*held, name], start=start, lapse_rate=fit.lapse_rate)
    return 2 * (fit.log_likelihood - mode.log_likelihood)


def _profile_limit(made: ModelTable, fit: MeasurementFit, name: str, edge: float) -> float:
    """Where the deviance towards an edge reaches the one-sided quantile, by bisection."""
    quantile = Uncertainty(fit=fit).one_sided_quantile ** 2
    inside, outside = float(fit.theta[fit.names.index(name)]), edge
    for _ in range(_PROFILE_STEPS):
        middle = (inside + outside) / 2
        if _deviance(made, fit, name, middle) < quantile:
            inside = middle
        else:
            outside = middle
    return outside


def _notes(made: ModelTable, fit: MeasurementFit) -> list[str]:
    notes = list(made.notes)
    if not fit.converged:
        notes.append(
            f"The fit of the joint model did not converge (largest gradient {fit.largest_gradient:.2g} standard "
            "deviations): its values are not to be used."
        )
    spread = fit.parameters.task_spread
    if spread > _MUCH_SPREAD and fit.n_clusters < _FEW_TASKS:
        notes.append(
            f"Tasks differ much (tau {spread:.2f}) and are only {fit.n_clusters}: the joint model's intervals may be "
            "too narrow."
        )
    if made.within_bins.any():
        taken = 1 - sqrt(1 - loss_to_bins(fit, made.within_bins))
        size = f"about {taken:.2%}" if taken >= 0.0001 else "less than 0.01%"
        notes.append(
            f"Lengths were put into bins for the joint model. This takes {size} from its resolution, criterion, "
            "position and slopes, which is given back; what error is left is smaller."
        )
    return notes
