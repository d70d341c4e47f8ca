"""Validity of readings: how many are invalid, why, and what they could change.

An invalid reading is missing, never a tie and never a loss. Its worth is bounded instead: each share is given as it
would be if every invalid reading had gone one way, and the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datasheet.analysis.intervals import ClusteredShare, Numbers
from datasheet.analysis.ladder import EVENTS
from datasheet.analysis.presentations import clusters, orders_alike, share_of
from datasheet.analysis.swap_pairs import SwapPairs
from datasheet.readings import Codes, Mask, Readings


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingBounds:
    """A share over the readings (or pairs) there are, and if all the missing ones had gone one way or the other."""

    lowest: float
    highest: float
    missing: int
    total: int


def invalid_share(readings: Readings, *reasons: str) -> ClusteredShare | None:
    """Share of all readings that are invalid, or invalid for one of some reasons."""
    event: Mask = ~readings.valid
    if reasons:
        event = np.isin(readings.invalid, [readings.invalid_reasons.index(reason) for reason in reasons])
    return share_of(event, np.ones(len(readings)), clusters(readings))


def commonest_reasons(readings: Readings, most: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Reasons of invalid readings: the commonest ones, by name, and the rest."""
    counts = np.bincount(readings.invalid[~readings.valid], minlength=len(readings.invalid_reasons))
    ranked = sorted(zip(-counts, readings.invalid_reasons, strict=True))
    names = [name for count, name in ranked if count]
    return tuple(sorted(names[:most])), tuple(sorted(names[most:]))


def _weights(unit: Codes) -> Numbers:
    """1 over the rows of each unit, valid or not."""
    return np.asarray(1 / np.bincount(unit)[unit]) if len(unit) else np.zeros(0)


def _bounds(hit: Mask, possible: Mask, missing: Mask, weights: Numbers) -> MissingBounds | None:
    if not missing.any():
        return None
    total = weights.sum()
    return MissingBounds(
        lowest=float((weights * hit).sum() / total),
        highest=float(min(1.0, (weights * (hit | possible)).sum() / total)),
        missing=int(missing.sum()),
        total=len(missing),
    )


def reading_bounds(readings: Readings, event: Mask, *, both_orders_as_one: bool = False) -> MissingBounds | None:
    """Bounds of the share of an event, shape (n,), over single readings; None where none is missing."""
    weights = _weights(readings.stimulus) if both_orders_as_one else _presentation_weights(readings)
    return _bounds(event & readings.valid, ~readings.valid, ~readings.valid, weights)


def _presentation_weights(readings: Readings) -> Numbers:
    return _weights((readings.stimulus * 2 + readings.order).astype(np.int32))


def step_bounds(rungs: Readings) -> MissingBounds | None:
    """Bounds of P_correct at one ladder step, both orders weighing alike as in the share itself."""
    weights = orders_alike(_presentation_weights(rungs), rungs.order)
    return _bounds(EVENTS["p_correct"](rungs), ~rungs.valid, ~rungs.valid, weights)


def pair_bounds(pairs: SwapPairs, name: str) -> MissingBounds | None:
    """Bounds of the share of a class over all pairs, if no incomplete pair were in it, or all were.

    An incomplete pair with a valid tie could not join a committed class; leaving that aside keeps the share over
    complete pairs within its bounds.
    """
    return _bounds(pairs.in_class(name), ~pairs.complete, ~pairs.complete, _weights(pairs.stimulus))
