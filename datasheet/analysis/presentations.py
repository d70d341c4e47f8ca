"""Presentations: what a share is taken over when stimuli repeat.

A presentation is a stimulus in an order. Its repeats share one unit of weight, so that a repeated call, which tells
nothing of other stimuli, never inflates n. The cluster is the task where it is known, else the stimulus.
"""

from __future__ import annotations

import numpy as np

from datasheet.analysis.intervals import ClusteredShare, Numbers, clustered_share
from datasheet.readings import UNKNOWN, Codes, Mask, Readings

LEAST_DESIGN_EFFECT_OF_SCORES = 0.25
"""A mean of scores in {0, 1/2, 1} can vary less than a share; its design effect is floored here."""
_UNSEEN_PAIRS = 2
"""Pairs that might have been: one right in both orders, one wrong in both."""


def clusters(readings: Readings) -> Codes:
    """Cluster code of each reading, shape (n,): its task, or its stimulus if it has none; the same in every subset."""
    own = len(readings.tasks) + readings.stimulus
    return np.where(readings.task == UNKNOWN, own, readings.task).astype(np.int32)


def presentation_weights(readings: Readings, *, both_orders_as_one: bool = False) -> Numbers:
    """Weight of each reading, shape (n,): 1 over the valid readings of its presentation; 0 where invalid.

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


def orders_alike(weights: Numbers, order: Codes) -> Numbers:
    """Weights, shape (n,), with which both orders weigh alike, so that a pull of the slot weighs out of any share.

    Their sum is the number of readings that a share over them is worth (Kish 1965): twice the harmonic mean of the two
    orders' own. As they are where one order has no weight: there is nothing to weigh it against.
    """
    of_order = np.bincount(order, weights=weights, minlength=2)
    if not of_order.all():
        return weights
    return np.asarray(weights * (2 * of_order.prod() / of_order.sum() / of_order)[order])


def cluster_sums(weights: Numbers, cluster: Codes) -> Numbers:
    """Sum of weights, shape (n,), in each cluster, shape (G,)."""
    return np.bincount(cluster, weights=weights).astype(np.float64)


def share_of(
    event: Mask | Numbers, weights: Numbers, cluster: Codes, *, pair: Codes | None = None
) -> ClusteredShare | None:
    """Weighted share of an event (or mean of scores in [0, 1]) by cluster; None where nothing has weight.

    All arrays have shape (n,).

    Parameters
    ----------
    pair
        Stimulus of each reading, where its two orders may pull apart: the two readings of a judge that follows the slot
        say less against each other than two independent ones would, so the design effect may go below 1, down to that
        of whole pairs.
    """
    if not weights.size or weights.sum() == 0:
        return None
    sizes, successes = cluster_sums(weights, cluster), cluster_sums(weights * event, cluster)
    least = 1.0 if pair is None else _pair_design_effect(event, weights, pair)
    return clustered_share(successes, sizes, least_design_effect=least)


def _pair_design_effect(event: Mask | Numbers, weights: Numbers, pair: Codes) -> float:
    """Variance of a mean over whole pairs against that of independent readings, at most 1.

    A judge that always follows the slot gives every pair one half, and no variance at all. Two pairs more, one right in
    both orders and one wrong, stand for what so few pairs can't rule out, as in Agresti and Coull's interval (1998).
    """
    sizes, successes = cluster_sums(weights, pair), cluster_sums(weights * event, pair)
    present = sizes > 0
    sizes, successes = sizes[present], successes[present]
    n, n_pairs = sizes.sum(), len(sizes)
    share = successes.sum() / n
    if n_pairs < 2 or not 0 < share < 1:
        return 1.0
    squares = float(((successes - share * sizes) ** 2).sum()) + _UNSEEN_PAIRS * float((sizes**2).mean()) / 4
    variance = n_pairs / (n_pairs - 1) * squares / n**2
    return min(1.0, float(variance / (share * (1 - share) / n)))
