"""Dark current: how often a judge prefers where there is nothing to prefer, and whether equal answers fare alike."""

from __future__ import annotations

from math import hypot

import numpy as np

from datasheet.analysis.intervals import ClusteredShare
from datasheet.analysis.presentations import clusters, presentation_weights, share_of
from datasheet.readings import Readings
from datasheet.records import Estimate

NEEDS_BOTH = "needs valid vacuum and same-quality readings of at least two tasks"


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


def vacuum_difference(dark: ClusteredShare | None, raw: ClusteredShare | None) -> Estimate:
    """Dark current less raw false preference: is an empty input judged with the criterion and position of equal ones?

    Limits are Newcombe's from the two Wilson intervals (1998, Stat. Med. 17:873, method 10), here clustered ones; they
    take the two shares to be independent, which errs on the wide side where tasks move both.
    """
    if dark is None or raw is None:
        return Estimate.absent("not_measured", NEEDS_BOTH)
    n, difference = round(dark.n + raw.n), dark.share - raw.share
    ends = dark.interval(), raw.interval()
    if ends[0] is None or ends[1] is None:
        return Estimate.absent("undetermined", NEEDS_BOTH, n=n)
    (dark_low, dark_high), (raw_low, raw_high) = ends[0], ends[1]
    return Estimate(
        estimate=difference,
        low=difference - hypot(dark.share - dark_low, raw_high - raw.share),
        high=difference + hypot(dark_high - dark.share, raw.share - raw_low),
        n=n,
        n_clusters=min(dark.n_clusters, raw.n_clusters),
        method="Newcombe, clustered",
    )
