"""From readings to what the measurement model sees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datasheet.analysis.bivariate import Numbers
from datasheet.analysis.covariates import (
    LENGTHS,
    covariates_of,
    like_length,
    like_position,
    untypical_notes,
    with_known_lengths,
    wording_note,
)
from datasheet.analysis.evidence import MISSING, PairTable
from datasheet.analysis.length_bins import binned_lengths
from datasheet.analysis.presentations import clusters
from datasheet.readings import UNKNOWN, Readings
from datasheet.records import CHANNELS


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTable:
    """A table of pairs, and what of it could be measured.

    Attributes
    ----------
    covariates
        Names of the table's covariates.
    like_position
        Those of them that these pairs can't tell from the position.
    like_length
        The ladder can't tell quality from length.
    has_ladder, has_both_orders, has_tasks
        Whether the pairs differ in quality, come in both orders, and name their tasks.
    shows_both_orders
        Whether both orders occur, be it of the same pairs or not.
    within_bins
        Covariance of the covariates within the bins that lengths were put into, shape (m, m); 0 where they were not.
    notes
        On pairs that are not in the table, and on what their readings can't tell apart.
    """

    table: PairTable
    covariates: tuple[str, ...]
    like_position: tuple[str, ...]
    like_length: bool
    has_ladder: bool
    has_both_orders: bool
    shows_both_orders: bool
    has_tasks: bool
    base_level: Numbers
    within_bins: Numbers
    notes: tuple[str, ...] = ()


def model_rows(readings: Readings) -> tuple[Readings, tuple[str, ...]]:
    """The readings that the model is fitted to, and notes on those that it leaves out.

    Ladder, same-quality pairs of the same content, and dosed channels.
    """
    parts = (readings.of_probe("ladder"), readings.of_probe("same_quality", "same_subset"), dosed(readings))
    mask = np.isin(readings.stimulus, np.concatenate([part.stimulus for part in parts]))
    return with_known_lengths(readings.where(mask & readings.valid))


def dosed(readings: Readings) -> Readings:
    """Readings of the channel probe that tell their dose."""
    channels = readings.of_probe("channel", *CHANNELS)
    return channels.where(channels.dose != UNKNOWN)


def model_table(readings: Readings) -> ModelTable | None:
    """Pairs for the model; None where no reading of a ladder or same-quality pair is valid."""
    rows, notes = model_rows(readings)
    if not len(rows):
        return None
    pair = rows.stimulus.astype(np.int64) * (int(rows.repeat.max()) + 1) + rows.repeat
    _, first, index = np.unique(pair, return_index=True, return_inverse=True)
    n = len(first)
    contents = {}
    for code, order in enumerate(("ab", "ba")):
        content = np.full(n, MISSING, dtype=np.int32)
        content[index[rows.order == code]] = rows.content[rows.order == code]
        contents[order] = content
    stimulus = rows.stimulus[first]
    repeats = np.bincount(stimulus)
    delta_q = np.maximum(rows.delta_q[first], 0).astype(np.float64)
    base = np.where((rows.level_b[first] != UNKNOWN) & (delta_q > 0), rows.level_b[first], 0).astype(np.float64)
    weight = 1 / repeats[stimulus]
    pairs = rows.where(first)
    names, covariates = covariates_of(pairs)
    verdicts = np.column_stack([contents["ab"], contents["ba"]])
    binned = binned_lengths(
        covariates,
        lengths=np.array([name in LENGTHS for name in names], dtype=np.bool_),
        alike=np.column_stack([delta_q, base, verdicts == MISSING]),
        verdicts=verdicts.astype(np.float64),
        weight=weight,
    )
    table = PairTable.of_pairs(
        delta_q=delta_q,
        covariates=np.column_stack([binned.covariates, base]),
        content_ab=contents["ab"],
        content_ba=contents["ba"],
        cluster=clusters(rows)[first],
        weight=weight,
        n_outcomes=3 if readings.ties_allowed else 2,
    )
    return ModelTable(
        table=table.with_covariates(table.covariates[:, :-1]),
        covariates=names,
        like_position=() if len(np.unique(rows.order)) > 1 else like_position(pairs, names, covariates),
        like_length=like_length(pairs, names),
        has_ladder=bool((delta_q > 0).any()),
        has_both_orders=bool(((contents["ab"] != MISSING) & (contents["ba"] != MISSING)).any()),
        shows_both_orders=len(np.unique(rows.order)) > 1,
        has_tasks=len(np.unique(rows.task[rows.task != UNKNOWN])) > 1,
        base_level=table.covariates[:, -1],
        within_bins=binned.within,
        notes=(*notes, *wording_note(names), *untypical_notes(pairs, names, covariates)),
    )
