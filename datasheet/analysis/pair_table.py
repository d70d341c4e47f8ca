"""From readings to what the measurement model sees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datasheet.analysis.bivariate import Numbers
from datasheet.analysis.evidence import MISSING, PairTable
from datasheet.analysis.kinds import distinct_rows
from datasheet.analysis.ladder import PREFIX_ARM
from datasheet.analysis.presentations import clusters
from datasheet.readings import UNKNOWN, Readings
from datasheet.records import CHANNELS, PROBES

MOST_KINDS = 1_000
"""With more kinds of pairs than this, lengths are rounded, and more coarsely until there are fewer."""

_BINS = (40, 20, 12, 8)
LENGTHS = ("length", "filler")
"""Covariates that are lengths; the others are doses."""

_LEAST_DIFFERENCE = 1e-6
LENGTH_UNIT = 100.0
"""Lengths and filler enter in hundreds of the log's unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTable:
    """A table of pairs, and what of it could be measured.

    Attributes
    ----------
    covariates
        Names of the table's covariates.
    prefix_only
        The ladder has the prefix arm alone, where length grows with quality.
    has_ladder, has_both_orders, has_tasks
        Whether the pairs differ in quality, come in both orders, and name their tasks.
    bin_width
        Width of the bins that lengths were rounded to, in the log's unit; 0 where they were not.
    """

    table: PairTable
    covariates: tuple[str, ...]
    prefix_only: bool
    has_ladder: bool
    has_both_orders: bool
    has_tasks: bool
    base_level: Numbers
    bin_width: float = 0.0


def model_rows(readings: Readings) -> Readings:
    """The readings that the model is fitted to: ladder, same-quality pairs of the same content, dosed channels."""
    parts = (readings.of_probe("ladder"), readings.of_probe("same_quality", "same_subset"), dosed(readings))
    mask = np.isin(readings.stimulus, np.concatenate([part.stimulus for part in parts]))
    return readings.where(mask & readings.valid)


def prefix_only(readings: Readings) -> bool:
    """Whether the ladder has the prefix arm alone, where length grows with quality."""
    return set(readings.of_probe("ladder").arm_names) == {PREFIX_ARM}


def dosed(readings: Readings) -> Readings:
    """Readings of the channel probe that tell their dose."""
    channels = readings.of_probe("channel", *CHANNELS)
    return channels.where(channels.dose != UNKNOWN)


def model_table(readings: Readings) -> ModelTable | None:
    """Pairs for the model; None where no reading of a ladder or same-quality pair is valid."""
    rows = model_rows(readings)
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
    names, covariates = covariates_of(rows.where(first))
    delta_q = np.maximum(rows.delta_q[first], 0).astype(np.float64)
    cluster = clusters(rows)[first]
    outcomes = np.column_stack([delta_q, contents["ab"], contents["ba"]])
    covariates, width = _rounded(names, covariates, outcomes)
    base = np.where((rows.level_b[first] != UNKNOWN) & (delta_q > 0), rows.level_b[first], 0).astype(np.float64)
    table = PairTable.of_pairs(
        delta_q=delta_q,
        covariates=np.column_stack([covariates, base]),
        content_ab=contents["ab"],
        content_ba=contents["ba"],
        cluster=cluster,
        weight=1 / repeats[stimulus],
        n_outcomes=3 if readings.ties_allowed else 2,
    )
    return ModelTable(
        table=table.with_covariates(table.covariates[:, :-1]),
        covariates=names,
        prefix_only=prefix_only(readings),
        has_ladder=bool((delta_q > 0).any()),
        has_both_orders=bool(((contents["ab"] != MISSING) & (contents["ba"] != MISSING)).any()),
        has_tasks=len(np.unique(rows.task[rows.task != UNKNOWN])) > 1,
        base_level=table.covariates[:, -1],
        bin_width=width * LENGTH_UNIT,
    )


def _rounded(names: tuple[str, ...], covariates: Numbers, outcomes: Numbers) -> tuple[Numbers, float]:
    """Lengths rounded so that few enough kinds of pairs remain, and the width they were rounded to (0 if none)."""

    def kinds(values: Numbers) -> int:
        return len(distinct_rows(np.column_stack([values, outcomes]))[0])

    if not covariates.size or kinds(covariates) <= MOST_KINDS:
        return covariates, 0.0
    lengths = np.array([name in LENGTHS for name in names])
    span, width, rounded = float(np.ptp(covariates[:, lengths], axis=0).max(initial=0.0)), 0.0, covariates
    for bins in _BINS if span else ():
        width = span / bins
        rounded = np.where(lengths, np.round(covariates / width) * width, covariates)
        if kinds(rounded) <= MOST_KINDS:
            break
    return rounded, width


def covariates_of(pairs: Readings) -> tuple[tuple[str, ...], Numbers]:
    """Length and filler differences where the arms tell them from quality, and the dose of each channel, a row each.

    On the prefix arm length grows with quality, so length is a covariate only with other arms beside it, and only where
    those let it differ from a multiple of the quality steps.
    """
    names: list[str] = []
    columns = []
    arms = set(pairs.of_probe("ladder").arm_names)
    lengths_known = bool(((pairs.length_a != UNKNOWN) & (pairs.length_b != UNKNOWN)).all())
    delta_q = np.maximum(pairs.delta_q, 0).astype(np.float64)
    lengths = (pairs.length_a - pairs.length_b) / LENGTH_UNIT
    if arms - {PREFIX_ARM} and lengths_known and _told_apart(lengths, delta_q):
        names.append("length")
        columns.append(lengths)
    filler = np.maximum(pairs.filler_b, 0) / LENGTH_UNIT
    if _told_apart(filler, delta_q):
        names.append("filler")
        columns.append(filler)
    channel = pairs.probe == PROBES.index("channel")
    for name in pairs.of_probe("channel").arm_names:
        names.append(name)
        columns.append(np.where(channel & (pairs.arm == pairs.arms.index(name)), np.maximum(pairs.dose, 0), 0.0))
    return tuple(names), np.column_stack(columns) if columns else np.zeros((len(pairs), 0))


def _told_apart(differences: Numbers, delta_q: Numbers) -> bool:
    """Whether differences are more than a multiple of the quality steps (or than nothing)."""
    squares = float(delta_q @ delta_q)
    slope = float(delta_q @ differences) / squares if squares else 0.0
    left = differences - slope * delta_q
    return bool(np.abs(left).max(initial=0.0) > _LEAST_DIFFERENCE)
