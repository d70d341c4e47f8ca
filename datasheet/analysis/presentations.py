"""Presentations: what a share is taken over when stimuli repeat.

A presentation is a stimulus in an order. Its repeats share one unit of weight, so that a repeated call, which tells
nothing of other stimuli, never inflates n. The cluster is the task where it is known, else the stimulus.
"""

from __future__ import annotations

import numpy as np

from datasheet.analysis.intervals import ClusteredShare, Numbers, clustered_share
from datasheet.readings import UNKNOWN, Codes, Mask, Readings


def clusters(readings: Readings) -> Codes:
    """Cluster code of each reading: its task where every reading names one, else its stimulus."""
    return readings.stimulus if not len(readings) or (readings.task == UNKNOWN).any() else readings.task


def presentation_weights(readings: Readings, *, both_orders_as_one: bool = False) -> Numbers:
    """Weight of each valid reading: 1 over the valid readings of its presentation; 0 where invalid.

    ``both_orders_as_one`` makes the stimulus the presentation, for identical pairs, whose two orders are one and the
    same input.
    """
    unit = readings.stimulus.astype(np.int64) * 2
    if not both_orders_as_one:
        unit = unit + readings.order
    valid = readings.valid
    counts = np.bincount(unit[valid], minlength=int(unit.max()) + 1 if unit.size else 0)
    weights = np.zeros(len(readings))
    weights[valid] = 1 / counts[unit[valid]]
    return weights


def cluster_sums(weights: Numbers, cluster: Codes) -> Numbers:
    """Sum of weights in each cluster, shape (G,)."""
    return np.bincount(cluster, weights=weights).astype(np.float64)


def share_of(event: Mask | Numbers, weights: Numbers, cluster: Codes) -> ClusteredShare | None:
    """Weighted share of an event (or mean of scores in [0, 1]) by cluster; None where nothing has weight."""
    if not weights.size or weights.sum() == 0:
        return None
    sizes, successes = cluster_sums(weights, cluster), cluster_sums(weights * event, cluster)
    return clustered_share(successes, sizes)
