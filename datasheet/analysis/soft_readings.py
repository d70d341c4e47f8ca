"""The soft characteristics of a log: what the log-probabilities of its labels say, beside the joint model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from datasheet.analysis.covariates import covariates_of, like_length
from datasheet.analysis.ladder import NEEDS_BOTH_ORDERS
from datasheet.analysis.model import CONFOUNDED
from datasheet.analysis.pair_table import model_rows
from datasheet.analysis.presentations import clusters
from datasheet.analysis.soft import SoftMeasurement, soft_measurement, weighted_median
from datasheet.analysis.soft_agreement import DISAGREE_FLAG, LabelAgreement, label_agreement
from datasheet.label_columns import LabelColumns
from datasheet.readings import Readings
from datasheet.records import Estimate

_DESCRIBES = "it describes these calls, and no others"


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftFinding:
    """Estimates by key: what the calls say of the judge, and what the calls themselves are like, without intervals."""

    figures: dict[str, Estimate] = field(default_factory=dict)
    descriptions: dict[str, Estimate] = field(default_factory=dict)


def soft_characteristics(readings: Readings) -> SoftFinding:
    """Resolution, criterion, position and threshold from the label log-probabilities of the joint model's readings.

    Nothing where none of them has any. Where the probabilities are not those of the verdicts, no figure is made.
    """
    rows, _ = model_rows(readings)
    if readings.labels is None or rows.labels is None or np.isnan(rows.labels.floor).all():
        return SoftFinding()
    agreement = label_agreement(rows.labels, outcome=rows.outcome, order=rows.order)
    names, covariates = covariates_of(rows)
    found = soft_measurement(
        rows.labels,
        delta_q=np.maximum(rows.delta_q, 0),
        order=rows.order,
        cluster=clusters(rows),
        covariates=covariates,
        weight=_weights(rows),
        ties_allowed=rows.ties_allowed,
    )
    return SoftFinding(
        figures=_figures(rows, found, agreement, confounded=CONFOUNDED if like_length(rows, names) else ()),
        descriptions={
            "label_mass": _label_mass(readings, readings.labels),
            "label_agreement": _agreed(agreement),
            **_of_the_fit(found, agreement),
        },
    )


def _weights(rows: Readings) -> npt.NDArray[np.float64]:
    """1 over the number of calls on the same presentation: repeats tell nothing of other presentations."""
    presentation = rows.stimulus.astype(np.int64) * 2 + rows.order
    _, place, calls = np.unique(presentation, return_inverse=True, return_counts=True)
    return np.asarray(1 / calls[place])


def _figures(
    rows: Readings, found: SoftMeasurement, agreement: LabelAgreement, *, confounded: tuple[str, ...]
) -> dict[str, Estimate]:
    unseen = (
        {}
        if len(np.unique(rows.order)) > 1
        else dict.fromkeys(("position@soft", "threshold_75@soft"), Estimate.absent("not_measured", NEEDS_BOTH_ORDERS))
    )
    figures = {
        "resolution@soft": found.resolution,
        "criterion@soft": found.criterion,
        "position@soft": found.position,
        "threshold_75@soft": found.threshold,
        **unseen,
    }
    if agreement.mixed_up:
        return dict.fromkeys(figures, Estimate.absent("undetermined", agreement.mixed_up, n=found.n_calls))
    disagree = (DISAGREE_FLAG,) if agreement.disagrees else ()
    return {
        key: replace(
            estimate,
            flags=(
                *estimate.flags,
                *(confounded if key in ("resolution@soft", "threshold_75@soft") else ()),
                *disagree,
            ),
        )
        for key, estimate in figures.items()
    }


def _label_mass(readings: Readings, labels: LabelColumns) -> Estimate:
    """Probability of any label over all calls that list candidates, those without a valid verdict too."""
    listed = ~np.isnan(labels.floor)
    mass, without = labels.mass[listed], int((~listed).sum())
    more = f"; {int((mass == 0).sum()):,} of them list no label" if (mass == 0).any() else ""
    more += f"; {without:,} more list no candidates" if without else ""
    return Estimate(
        estimate=weighted_median(mass, _weights(readings.where(listed))),
        n=len(mass),
        method=f"median over calls, invalid replies too, smallest {mass.min():.3f}{more}",
        reason=_DESCRIBES,
    )


def _agreed(agreement: LabelAgreement) -> Estimate:
    """Share of verdicts that are their likeliest label."""
    n = agreement.n
    if not n:
        return Estimate.absent("not_measured", "no call with a verdict lists a label")
    return Estimate(
        estimate=agreement.n_likeliest / n,
        n=n,
        method=f"{n - agreement.n_likeliest:,} of {n:,} are not; if drawn, {n - agreement.n_drawn:,.0f} would not be",
        reason=_DESCRIBES,
        flags=(DISAGREE_FLAG,) if agreement.disagrees else (),
    )


def _of_the_fit(found: SoftMeasurement, agreement: LabelAgreement) -> dict[str, Estimate]:
    """What the calls of the fit are like."""
    reason = agreement.mixed_up or found.resolution.reason
    described = {
        "censored_share": (found.censored_share, "counted"),
        "residual_normality": (None if agreement.mixed_up else found.normality, "probability plot"),
    }
    return {
        key: Estimate.absent("undetermined", reason, n=found.n_calls)
        if value is None
        else Estimate(estimate=value, n=found.n_calls, method=method, reason=_DESCRIBES)
        for key, (value, method) in described.items()
    }
