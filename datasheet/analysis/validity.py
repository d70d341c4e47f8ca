"""Validity of readings: how many are invalid, why, and what they could change.

An invalid reading is missing, never a tie and never a loss. Its worth is bounded instead: each share is given as it
would be if every invalid reading had gone one way, and the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datasheet.analysis.intervals import ClusteredShare
from datasheet.analysis.ladder import EVENTS
from datasheet.analysis.presentations import clusters, share_of
from datasheet.analysis.swap_pairs import SwapPairs
from datasheet.readings import Mask, Readings


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingBounds:
    """A share over the readings (or pairs) there are, and if all the missing ones had gone one way or the other."""

    lowest: float
    highest: float
    missing: int
    total: int


def invalid_share(readings: Readings, reason: str | None = None) -> ClusteredShare | None:
    """Share of all readings that are invalid, or invalid for one reason."""
    event: Mask = ~readings.valid
    if reason is not None:
        event = readings.invalid == readings.invalid_reasons.index(reason)
    return share_of(event, np.ones(len(readings)), clusters(readings))


def _bounds(least: int, most: int, missing: int, total: int) -> MissingBounds | None:
    if not missing:
        return None
    return MissingBounds(lowest=least / total, highest=most / total, missing=missing, total=total)


def reading_bounds(readings: Readings, event: Mask) -> MissingBounds | None:
    """Bounds of a share of single readings; None where none is missing."""
    hits, missing = int((event & readings.valid).sum()), int((~readings.valid).sum())
    return _bounds(hits, hits + missing, missing, len(readings))


def step_bounds(rungs: Readings) -> MissingBounds | None:
    """Bounds of P_correct at one ladder step."""
    return reading_bounds(rungs, EVENTS["p_correct"](rungs))


def pair_bounds(pairs: SwapPairs, name: str) -> MissingBounds | None:
    """Bounds of the share of a committed class over all pairs: an incomplete pair with a valid tie can't join it."""
    hits = int(pairs.in_class(name).sum())
    incomplete = ~pairs.complete
    has_tie = (pairs.valid_ab & (pairs.slot_ab == 0)) | (pairs.valid_ba & (pairs.slot_ba == 0))
    return _bounds(hits, hits + int((incomplete & ~has_tie).sum()), int(incomplete.sum()), len(pairs.stimulus))
