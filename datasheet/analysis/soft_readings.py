"""The soft characteristics of a log: what the log-probabilities of its labels say, beside the joint model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from datasheet.analysis.covariates import covariates_of
from datasheet.analysis.model import NEEDS_BOTH_ORDERS
from datasheet.analysis.pair_table import model_rows, prefix_only
from datasheet.analysis.presentations import clusters
from datasheet.analysis.soft import SoftMeasurement, soft_measurement
from datasheet.readings import Readings
from datasheet.records import Estimate


def soft_characteristics(readings: Readings, *, hard_threshold: Estimate) -> dict[str, Estimate]:
    """Resolution, criterion, position and threshold from the label log-probabilities of the joint model's readings.

    Nothing where no reading has any.

    Parameters
    ----------
    hard_threshold
        Δ*75 of the joint model.
    """
    rows, _ = model_rows(readings)
    if rows.labels is None or np.isnan(rows.labels.floor).all():
        return {}
    _, covariates = covariates_of(rows)
    found = soft_measurement(
        rows.labels,
        delta_q=np.maximum(rows.delta_q, 0),
        order=rows.order,
        cluster=clusters(rows),
        hard_threshold=hard_threshold,
        covariates=covariates,
        weight=_weights(rows),
        ties_allowed=rows.ties_allowed,
    )
    confounded = ("confounded_with_length",) if prefix_only(rows) else ()
    resolution, threshold = (
        replace(estimate, flags=(*estimate.flags, *confounded)) for estimate in (found.resolution, found.threshold)
    )
    both_orders = len(np.unique(rows.order)) > 1
    return {
        "resolution@soft": resolution,
        "criterion@soft": found.criterion,
        "position@soft": found.position if both_orders else Estimate.absent("not_measured", NEEDS_BOTH_ORDERS),
        "threshold_75@soft": threshold,
        **_descriptions(found),
    }


def _weights(rows: Readings) -> npt.NDArray[np.float64]:
    """1 over the number of calls on the same presentation: repeats tell nothing of other presentations."""
    presentation = rows.stimulus.astype(np.int64) * 2 + rows.order
    _, place, calls = np.unique(presentation, return_inverse=True, return_counts=True)
    return np.asarray(1 / calls[place])


def _descriptions(found: SoftMeasurement) -> dict[str, Estimate]:
    """What the calls themselves are like, which has no interval."""
    n = found.n_calls
    if found.label_mass is None or found.least_label_mass is None or found.censored_share is None:
        absent = Estimate.absent("not_measured", found.resolution.reason)
        return dict.fromkeys(("label_mass", "censored_share", "residual_normality"), absent)
    unread = f"; {found.n_unread} calls list no label" if found.n_unread else ""
    described = {
        "label_mass": (found.label_mass, f"median over calls, smallest {found.least_label_mass:.3f}{unread}"),
        "censored_share": (found.censored_share, "counted"),
        "residual_normality": (found.normality, "probability plot"),
    }
    return {
        key: Estimate.absent("undetermined", found.resolution.reason, n=n)
        if value is None
        else Estimate(estimate=value, n=n, method=method, reason="it describes these calls, and no others")
        for key, (value, method) in described.items()
    }
