"""Dark current: how often a judge prefers where there is nothing to prefer."""

from __future__ import annotations

import numpy as np

from datasheet.analysis.intervals import ClusteredShare
from datasheet.analysis.presentations import clusters, presentation_weights, share_of
from datasheet.readings import Readings


def dark_current(vacuum: Readings) -> ClusteredShare | None:
    """Share of valid vacuum readings that are not ties; n counts distinct stimuli."""
    weights = presentation_weights(vacuum, both_orders_as_one=True)
    return share_of(vacuum.slot != 0, weights, clusters(vacuum))


def first_slot_share(vacuum: Readings) -> ClusteredShare | None:
    """Of the vacuum readings that are not ties, the share that falls on the first slot: the side it leans to."""
    weights = presentation_weights(vacuum, both_orders_as_one=True) * (vacuum.slot != 0)
    return share_of(vacuum.slot > 0, weights, clusters(vacuum))


def has_both_orders_of_identical_pairs(vacuum: Readings) -> bool:
    """True where a log carries both orders of a vacuum pair, which are one and the same input."""
    both = np.unique(np.column_stack([vacuum.stimulus, vacuum.order]), axis=0)
    return len(both) > len(np.unique(vacuum.stimulus))
