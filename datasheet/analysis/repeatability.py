"""Repeatability: do fresh calls on the same presentation give the same verdict?"""

from __future__ import annotations

import numpy as np

from datasheet.analysis.intervals import ClusteredShare
from datasheet.analysis.presentations import clusters, share_of
from datasheet.readings import Readings


def self_consistency(readings: Readings) -> ClusteredShare | None:
    """Mean over repeated presentations of the chance that two of their readings agree.

    A presentation counts once, however often it was repeated; invalid readings are left out. None where no presentation
    has two valid readings.
    """
    valid = readings.where(readings.valid)
    presentation = valid.stimulus.astype(np.int64) * 2 + valid.order
    unit, first, repeats = np.unique(presentation, return_index=True, return_counts=True)
    if not (repeats > 1).any():
        return None
    position = np.searchsorted(unit, presentation)
    tallies = np.bincount(position * 3 + valid.outcome, minlength=3 * len(unit)).reshape(-1, 3)
    repeated = repeats > 1
    agreeing = (tallies * (tallies - 1)).sum(axis=1)[repeated]
    possible = (repeats * (repeats - 1))[repeated]
    cluster = clusters(valid)[first][repeated]
    return share_of(agreeing / possible, np.ones(len(possible)), cluster)


def unstable_presentations(readings: Readings) -> int:
    """Number of repeated presentations whose valid readings are not unanimous."""
    valid = readings.where(readings.valid)
    presentation = valid.stimulus.astype(np.int64) * 2 + valid.order
    distinct = np.unique(np.column_stack([presentation, valid.outcome]), axis=0)
    _, outcomes = np.unique(distinct[:, 0], return_counts=True)
    return int((outcomes > 1).sum())
