"""The measurement model on a log: what of it could be measured, each quantity with its status.

Where the readings bound a parameter on one side only (a judge that never errs, never ties, or always takes the first
slot) a profile likelihood without priors gives the bound (:mod:`datasheet.analysis.bounds`). A wild number is never
printed, and none of a fit that did not converge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp, log, sqrt

import numpy as np

from datasheet.analysis.bounds import Bounds
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
from datasheet.analysis.ladder import NEEDS_BOTH_ORDERS, PREFIX_ARM
from datasheet.analysis.length_bins import loss_to_bins, without_loss_to_bins
from datasheet.analysis.measurement import PRIOR_SDS, MeasurementFit, fit_measurement
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
NOT_CONVERGED = "the fit of the joint model did not converge"
CONFOUNDED = ("confounded_with_length",)
NEEDS_DOSES = "needs the channel probe, with doses above 0 (design full)"
_PRIOR_LIMITED = 0.8
"""A posterior this near to its prior's width says little that the prior did not."""

_HIGHEST_LOG_CRITERION = 2.5
_HIGHEST_LOG_SPREAD = log(3.0)
"""Beyond, a task's resolution may be twenty times another's: no task bank is so uneven."""

_MUCH_SPREAD, _FEW_TASKS = 0.4, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFinding:
    """The model's part of a sheet.

    Attributes
    ----------
    estimates
        By key, in the order of the sheet.
    made, fit, bounds
        The table of pairs, the fit and its profiles behind them; None where none could be made.
    fixed
        Parameters that these pairs can't speak of.
    """

    estimates: dict[str, Estimate]
    made: ModelTable | None = None
    fit: MeasurementFit | None = None
    bounds: Bounds | None = None
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


def measure(readings: Readings, *, empirical: Estimate | None = None) -> ModelFinding:
    """Fit the model to the readings and give every quantity of it.

    Parameters
    ----------
    empirical
        The threshold as the shares alone give it. Where it is at most one step, or beyond the ladder, the readings
        support that the model's threshold is, too; None supports nothing.
    """
    made = model_table(readings)
    if made is None:
        return ModelFinding(estimates=_absent(NEEDS_PAIRS), notes=model_rows(readings)[1])
    with one_thread():
        return _measure(made, empirical)


def _measure(made: ModelTable, empirical: Estimate | None) -> ModelFinding:
    fixed = _fixed(made)
    fit = without_loss_to_bins(fit_measurement(made.table, made.covariates, fixed=fixed), made.within_bins)
    bounds = Bounds(made=made, fit=fit)
    if fit.converged:
        estimates = _estimates(made, bounds, empirical)
    else:
        estimates = {key: Estimate.absent("undetermined", NOT_CONVERGED, n=fit.n_pairs) for key in MODEL_KEYS}
    return ModelFinding(
        estimates=_by_construction(estimates, made),
        made=made,
        fit=fit,
        bounds=bounds,
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
    if made is None:
        return {}
    with one_thread():
        fit = fit_measurement(made.table, made.covariates, fixed=_fixed(made))
        if not fit.converged:
            return {"resolution@prefix": Estimate.absent("undetermined", NOT_CONVERGED, n=fit.n_pairs)}
        estimate = Uncertainty(fit=fit).linear("resolution", *CONFOUNDED)
        return {"resolution@prefix": Bounds(made=made, fit=fit).stated("resolution", estimate)}


def _by_construction(estimates: dict[str, Estimate], made: ModelTable) -> dict[str, Estimate]:
    if made.table.n_outcomes == 2:
        estimates = estimates | {"criterion": Estimate.absent("not_applicable", NO_TIES)}
    return estimates


def _estimates(made: ModelTable, bounds: Bounds, empirical: Estimate | None) -> dict[str, Estimate]:
    uncertainty = Uncertainty(fit=bounds.fit)
    estimates = _absent(NEEDS_LADDER)
    criterion = uncertainty.transformed("log_criterion", exp, highest=_HIGHEST_LOG_CRITERION)
    estimates["criterion"] = bounds.stated("log_criterion", criterion)
    resolution = estimates["resolution"]
    if made.has_ladder:
        confounded = CONFOUNDED if made.like_length else ()
        resolution = bounds.stated("resolution", uncertainty.linear("resolution", *confounded))
        estimates |= _of_quality(made, uncertainty, resolution, empirical)
    if made.has_both_orders:
        estimates["stable_correlation"] = _beyond_its_prior(
            bounds.fit, "logit_correlation", uncertainty.transformed("logit_correlation", back_to_share)
        )
    else:
        estimates["stable_correlation"] = Estimate.absent("not_measured", NEEDS_BOTH_ORDERS)
    if made.shows_both_orders:
        estimates["position"] = bounds.stated("position", uncertainty.linear("position"))
        if made.has_ladder:
            estimates["position_in_steps"] = _in_steps(uncertainty, "position", estimates["position"], resolution)
    else:
        # In one order the position is an intercept: the resolution is told from it, a share over both orders is not.
        for key in ("position", "position_in_steps", "threshold_75", "threshold_75_marginal", "fc75"):
            estimates[key] = Estimate.absent("not_measured", NEEDS_BOTH_ORDERS)
    left_open = open_scale(estimates)
    estimates |= _lengths(bounds, resolution, left_open)
    estimates |= _channels(bounds, resolution, left_open)
    return estimates | _told_in_both_orders(made, estimates)


def _told_in_both_orders(made: ModelTable, estimates: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """The slopes that the order of these pairs can't tell from a pull of the slot, as not measured."""
    kinds = ("{}", "{}_slope", "{}_in_steps", "channel_slope@{}", "channel_in_steps@{}")
    keys = (kind.format(name) for name in made.like_position for kind in kinds)
    return {key: Estimate.absent("not_measured", NEEDS_BOTH_ORDERS) for key in keys if key in estimates}


def open_scale(estimates: Mapping[str, Estimate]) -> str:
    """Which of resolution, criterion and position the readings leave open outwards, "" where none is.

    Then all evidence may be as large as one likes, and so may each slope in its standard deviations.
    """
    for key in ("resolution", "criterion", "position"):
        estimate = estimates[key]
        above, below = estimate.low is not None and estimate.low > 0, estimate.high is not None and estimate.high < 0
        if estimate.status == "bounded" and (above or below):
            return key
    return ""


def slope_of(bounds: Bounds, name: str, left_open: str) -> Estimate:
    """A slope, where it is the readings that tell it and not its prior; ``left_open`` is from :func:`open_scale`."""
    if left_open:
        reason = f"the {left_open} is bounded on one side only, so the scale is open"
        return Estimate.absent("undetermined", reason, n=bounds.fit.n_pairs)
    return bounds.stated(name, Uncertainty(fit=bounds.fit).linear(name))


def _of_quality(
    made: ModelTable, uncertainty: Uncertainty, resolution: Estimate, empirical: Estimate | None
) -> dict[str, Estimate]:
    """What the ladder tells: resolution, thresholds, noise in quality steps, and how tasks differ."""
    fit = uncertainty.fit
    confounded = CONFOUNDED if made.like_length else ()
    curves = {"threshold_75": p_correct, "threshold_75_marginal": p_correct_marginal, "fc75": without_criterion}
    supported = empirical is not None and empirical.status == "bounded" and empirical.high == 1
    estimates = {"resolution": resolution}
    for key, curve in curves.items():
        # Without the criterion the threshold is lower: what the shares say of the top step does not hold for it.
        shares = None if key == "fc75" and empirical is not None and empirical.low is not None else empirical
        estimates[key] = _beyond_the_model(fit, resolution, shares) or model_threshold(
            uncertainty,
            curve,
            resolution=resolution,
            supported_below_1=supported,
            n_outcomes=made.table.n_outcomes,
        )
    estimates["noise_equivalent_delta_q"] = _unless_measured(fit, "resolution", resolution) or noise_equivalent(
        uncertainty, resolution
    )
    estimates |= {key: _flagged(estimates[key], *confounded) for key in curves}
    if "log_task_spread" in fit.names and fit.free[fit.names.index("log_task_spread")]:
        spread = uncertainty.transformed("log_task_spread", exp, highest=_HIGHEST_LOG_SPREAD)
        estimates["task_spread"] = _unless_measured(fit, "resolution", resolution) or _beyond_its_prior(
            fit, "log_task_spread", spread
        )
    else:
        estimates["task_spread"] = Estimate.absent("not_measured", "needs at least two tasks, by name")
    return estimates


def _lengths(bounds: Bounds, resolution: Estimate, left_open: str) -> dict[str, Estimate]:
    """The pull of a hundred words of length, and what as many of filler cost, in evidence and in quality steps."""
    needs = {
        "length": "needs the answers' lengths, and arms that tell length from quality (phrasings, filler)",
        "filler": "needs pairs with filler, and others with less",
    }
    estimates: dict[str, Estimate] = {}
    for name, reason in needs.items():
        slope = in_steps = Estimate.absent("not_measured", reason)
        if name in bounds.made.covariates:
            slope = slope_of(bounds, name, left_open)
            in_steps = _in_steps(Uncertainty(fit=bounds.fit), name, slope, resolution)
        estimates |= {f"{name}_slope": slope, f"{name}_in_steps": in_steps}
    return estimates


def _channels(bounds: Bounds, resolution: Estimate, left_open: str) -> dict[str, Estimate]:
    """The pull of a dose of each channel, in evidence and in quality steps, and of the wording that holds the doses."""
    covariates, uncertainty = bounds.made.covariates, Uncertainty(fit=bounds.fit)
    channels = [name for name in covariates if name not in (*LENGTHS, CHANNEL_INTERCEPT)]
    estimates = {}
    for name in channels:
        slope = slope_of(bounds, name, left_open)
        estimates[f"channel_slope@{name}"] = slope
        estimates[f"channel_in_steps@{name}"] = _in_steps(uncertainty, name, slope, resolution)
    if CHANNEL_INTERCEPT in covariates:
        estimates[CHANNEL_INTERCEPT] = slope_of(bounds, CHANNEL_INTERCEPT, left_open)
    elif channels:
        estimates[CHANNEL_INTERCEPT] = Estimate.absent("not_measured", "needs pairs of a channel at two doses or more")
    if not channels:
        estimates["channel_slope"] = Estimate.absent("not_measured", NEEDS_DOSES)
    return estimates


def _in_steps(uncertainty: Uncertainty, name: str, value: Estimate, resolution: Estimate) -> Estimate:
    """A slope or the position in quality steps, where it and the resolution were measured; confounded as that is."""
    fit, shown = uncertainty.fit, name if name in ("position", CHANNEL_INTERCEPT) else f"slope of {name}"
    return (
        _unless_measured(fit, shown, value)
        or _unless_measured(fit, "resolution", resolution)
        or _flagged(
            ratio_to_resolution(uncertainty, name, resolution),
            *(flag for flag in CONFOUNDED if flag in resolution.flags),
        )
    )


def _unless_measured(fit: MeasurementFit, name: str, needed: Estimate) -> Estimate | None:
    """What takes the place of a quantity that needs another one; None where that one was measured."""
    if needed.status == "measured":
        return None
    if needed.status == "not_measured":
        return Estimate.absent("not_measured", needed.reason)
    return Estimate.absent("undetermined", f"the {name} is {needed.status}", n=fit.n_pairs)


def _beyond_the_model(fit: MeasurementFit, resolution: Estimate, empirical: Estimate | None) -> Estimate | None:
    """A threshold where the resolution is open on a side: what the shares support by themselves, or not determined."""
    if resolution.status == "measured":
        return None
    if empirical is not None and empirical.status == "bounded":
        return empirical
    return _unless_measured(fit, "resolution", resolution)


def _flagged(estimate: Estimate, *flags: str) -> Estimate:
    if estimate.status not in ("measured", "bounded"):
        return estimate
    return replace(estimate, flags=tuple(dict.fromkeys((*estimate.flags, *flags))))


def _beyond_its_prior(fit: MeasurementFit, name: str, estimate: Estimate) -> Estimate:
    """An estimate, where the readings tell more of it than its prior did."""
    index = fit.names.index(name)
    if sqrt(fit.covariance[index, index]) > _PRIOR_LIMITED * PRIOR_SDS[name]:
        return Estimate.absent(
            "undetermined", "the readings tell little more of it than the model's prior", n=fit.n_pairs
        )
    return estimate


def _notes(made: ModelTable, fit: MeasurementFit) -> list[str]:
    notes = list(made.notes)
    if not fit.converged:
        notes.append(
            f"The fit of the joint model did not converge (largest gradient {fit.largest_gradient:.2g} standard "
            "deviations): none of its values is given."
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
