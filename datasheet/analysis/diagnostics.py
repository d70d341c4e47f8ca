"""Does the measurement model hold? Lapses, unequal quality steps, and whether a vacuum is judged like equal answers.

None of these changes an estimate of the model: they say how far it may be believed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import hypot

import numpy as np
from scipy.special import fdtrc

from datasheet.analysis.derived import Uncertainty
from datasheet.analysis.intervals import ClusteredShare
from datasheet.analysis.measurement import MeasurementFit, fit_measurement, measurement_mode
from datasheet.analysis.model import ModelFinding, one_thread
from datasheet.analysis.pair_table import ModelTable
from datasheet.records import Estimate

LAPSE_RATE = 0.02
NEEDS_STEPS = "needs a ladder of at least three steps and three tasks, with the levels of the answers"
NEEDS_VACUUM = "needs valid vacuum and same-quality readings of at least two tasks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostics:
    """How far the model may be believed.

    Attributes
    ----------
    estimates
        By key: ``base_level_slope``, the change of the resolution with each requirement that the worse answer meets
        already, and ``vacuum_difference``, dark current less raw false preference.
    lapse_sensitivity
        Resolution, criterion and position if the judge lapsed in 2% of calls; empty without a fit.
    steps_p
        p of the test that all quality steps are worth the same, whatever their size and base level; None without it.
    """

    estimates: dict[str, Estimate]
    lapse_sensitivity: dict[str, float] = field(default_factory=dict)
    steps_p: float | None = None


def diagnose(model: ModelFinding, *, dark: ClusteredShare | None, raw: ClusteredShare | None) -> Diagnostics:
    """Hold a fitted model against its readings.

    Parameters
    ----------
    dark, raw
        Dark current and raw false preference; None is "not measured".
    """
    estimates = {"vacuum_difference": vacuum_difference(dark, raw)}
    if model.fit is None or model.made is None:
        absent = Estimate.absent("not_measured", NEEDS_STEPS)
        return Diagnostics(estimates={"base_level_slope": absent} | estimates)
    with one_thread():
        lapsed = measurement_mode(
            model.made.table, model.made.covariates, fixed=model.fixed, start=model.fit.theta, lapse_rate=LAPSE_RATE
        )
        steps_p, base_slope = _steps(model.made, model.fit, model.fixed)
    return Diagnostics(
        estimates={"base_level_slope": base_slope} | estimates,
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


def vacuum_difference(dark: ClusteredShare | None, raw: ClusteredShare | None) -> Estimate:
    """Dark current less raw false preference: is an empty input judged with the criterion and position of equal ones?

    Limits are Newcombe's from the two Wilson intervals (1998, Stat. Med. 17:873, method 10), here clustered ones; they
    take the two shares to be independent, which errs on the wide side where tasks move both.
    """
    if dark is None or raw is None:
        return Estimate.absent("not_measured", NEEDS_VACUUM)
    n, difference = round(dark.n + raw.n), dark.share - raw.share
    ends = dark.interval(), raw.interval()
    if ends[0] is None or ends[1] is None:
        return Estimate.absent("undetermined", NEEDS_VACUUM, n=n)
    (dark_low, dark_high), (raw_low, raw_high) = ends[0], ends[1]
    return Estimate(
        estimate=difference,
        low=difference - hypot(dark.share - dark_low, raw_high - raw.share),
        high=difference + hypot(dark_high - dark.share, raw.share - raw_low),
        n=n,
        n_clusters=min(dark.n_clusters, raw.n_clusters),
        method="Newcombe, from the clustered Wilson limits of both shares",
    )
