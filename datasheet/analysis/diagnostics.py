"""Does the measurement model hold? What lapses would change, and whether the quality steps are equal.

Neither changes an estimate of the model: they say how far it may be believed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import fdtrc

from datasheet.analysis.derived import Uncertainty
from datasheet.analysis.measurement import MeasurementFit, fit_measurement, measurement_mode
from datasheet.analysis.model import ModelFinding
from datasheet.analysis.pair_table import ModelTable
from datasheet.analysis.threads import one_thread
from datasheet.records import Estimate

LAPSE_RATE = 0.02
NEEDS_STEPS = "needs a ladder of at least three steps and three tasks, with the levels of the answers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostics:
    """How far the model may be believed.

    Attributes
    ----------
    base_level_slope
        Change of the resolution with each requirement that the worse answer meets already.
    lapse_sensitivity
        Resolution, criterion and position if the judge lapsed in 2% of calls; empty without a fit.
    steps_p
        p of the test that all quality steps are worth the same, whatever their size and base level; None without it.
    """

    base_level_slope: Estimate
    lapse_sensitivity: dict[str, float] = field(default_factory=dict)
    steps_p: float | None = None


def diagnose(model: ModelFinding) -> Diagnostics:
    """Hold a fitted model against its readings."""
    if model.fit is None or model.made is None:
        return Diagnostics(base_level_slope=Estimate.absent("not_measured", NEEDS_STEPS))
    with one_thread():
        lapsed = measurement_mode(
            model.made.table, model.made.covariates, fixed=model.fixed, start=model.fit.theta, lapse_rate=LAPSE_RATE
        )
        steps_p, base_slope = _steps(model.made, model.fit, model.fixed)
    return Diagnostics(
        base_level_slope=base_slope,
        lapse_sensitivity={
            "lapse_rate": LAPSE_RATE,
            "resolution": lapsed.resolution,
            "criterion": lapsed.criterion,
            "position": lapsed.position,
        },
        steps_p=steps_p,
    )


def _steps(made: ModelTable, fit: MeasurementFit, fixed: tuple[str, ...]) -> tuple[float | None, Estimate]:
    """Are the steps equal? Free means for steps above the first and a slope for the base level, tested together."""
    delta_q, base = made.table.delta_q, made.base_level
    steps, needs = np.unique(delta_q[delta_q > 0]), Estimate.absent("not_measured", NEEDS_STEPS)
    if len(steps) < 3 or fit.n_clusters < 3:
        return None, needs
    columns = [(delta_q == step) * 1.0 for step in steps[1:]]
    names = [f"step_{int(step)}" for step in steps[1:]]
    if np.ptp(base[delta_q > 0]) > 0:
        centred = np.where(delta_q > 0, base - base[delta_q > 0].mean(), 0.0)
        columns.append(delta_q * centred)
        names.append("base_level")
    wider = made.table.with_covariates(np.column_stack([made.table.covariates, *columns]))
    extra = len(columns)
    start = np.concatenate([fit.theta[: 1 + len(made.covariates)], np.zeros(extra), fit.theta[-4:]])
    refit = fit_measurement(wider, (*made.covariates, *names), fixed=fixed, start=start)
    ratio = max(0.0, 2 * (refit.log_likelihood - fit.log_likelihood))
    p = float(fdtrc(extra, fit.degrees_of_freedom, ratio / extra))
    return p, Uncertainty(fit=refit).linear("base_level") if names[-1] == "base_level" else needs
