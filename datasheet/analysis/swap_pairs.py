"""Swap pairs: the two orders of a stimulus side by side, and the class that the two readings make."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datasheet.analysis.intervals import ClusteredShare, Numbers, clustered_share
from datasheet.analysis.presentations import (
    LEAST_DESIGN_EFFECT_OF_SCORES,
    cluster_sums,
    clusters,
    share_of,
)
from datasheet.readings import Codes, Mask, Readings

CLASSES = (
    "stable_cross_sensitivity",
    "positional_false_preference",
    "one_sided_commitment",
    "no_preference",
    "other_conflict",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapPairs:
    """Pairs of readings of one stimulus and repeat, one element a pair: shape (n,) each.

    ``slot_ab`` and ``slot_ba`` are +1 (first), 0 (tie), -1 (second); ``valid_ab``, ``valid_ba`` say whether there is a
    reading at all. ``weight`` is 1 over the complete repeats of the stimulus, 0 where the pair is incomplete.
    """

    stimulus: Codes
    cluster: Codes
    slot_ab: Codes
    slot_ba: Codes
    valid_ab: Mask
    valid_ba: Mask
    weight: Numbers
    first_complete: Mask

    @property
    def complete(self) -> Mask:
        """Which pairs have two valid readings, shape (n,)."""
        return self.valid_ab & self.valid_ba

    @property
    def n_complete(self) -> int:
        """Stimuli with at least one complete pair."""
        return int(self.first_complete.sum())

    @property
    def n_incomplete(self) -> int:
        """Stimuli that were read in both orders and have no complete pair."""
        return len(np.unique(self.stimulus)) - self.n_complete

    def in_class(self, name: str) -> Mask:
        """Which pairs are complete and of a class of the decomposition, shape (n,).

        With three verdicts every complete pair falls into one of the first four classes, so ``other_conflict`` is
        empty; it has its place for verdict sets that make other combinations possible.
        """
        ab, ba = self.slot_ab, self.slot_ba
        members = {
            "stable_cross_sensitivity": ab * ba < 0,
            "positional_false_preference": ab * ba > 0,
            "first_first": (ab > 0) & (ba > 0),
            "second_second": (ab < 0) & (ba < 0),
            "one_sided_commitment": (ab == 0) != (ba == 0),
            "no_preference": (ab == 0) & (ba == 0),
            "other_conflict": np.zeros(len(ab), dtype=bool),
        }
        return np.asarray(members[name] & self.complete)

    def share(self, name: str) -> ClusteredShare | None:
        """Share of a class over complete pairs; the unit is the stimulus."""
        return share_of(self.in_class(name), self.weight, self.cluster)

    def raw_preference(self) -> ClusteredShare | None:
        """Share of single readings of complete pairs that are not ties; the unit is the pair, with scores 0, 1/2, 1."""
        if not self.weight.size or self.weight.sum() == 0:
            return None
        scores = (np.abs(self.slot_ab) + np.abs(self.slot_ba)) / 2
        sizes = cluster_sums(self.weight, self.cluster)
        successes = cluster_sums(self.weight * scores, self.cluster)
        return clustered_share(successes, sizes, least_design_effect=LEAST_DESIGN_EFFECT_OF_SCORES)


def swap_pairs(readings: Readings) -> SwapPairs:
    """The stimuli that were read in both orders, a pair a repeat; a stimulus with one order only is left out."""
    key = readings.stimulus.astype(np.int64) * (int(readings.repeat.max(initial=0)) + 1) + readings.repeat
    ab, ba = readings.order == 0, readings.order == 1
    _, at_ab, at_ba = np.intersect1d(key[ab], key[ba], assume_unique=True, return_indices=True)
    row_ab, row_ba = np.flatnonzero(ab)[at_ab], np.flatnonzero(ba)[at_ba]
    stimulus = readings.stimulus[row_ab]
    valid_ab, valid_ba = readings.valid[row_ab], readings.valid[row_ba]
    complete = valid_ab & valid_ba
    repeats = np.bincount(stimulus[complete], minlength=int(stimulus.max(initial=-1)) + 1)
    weight = np.zeros(len(stimulus))
    weight[complete] = 1 / repeats[stimulus[complete]]
    first_complete = np.zeros(len(stimulus), dtype=bool)
    _, first = np.unique(stimulus[complete], return_index=True)
    first_complete[np.flatnonzero(complete)[first]] = True
    return SwapPairs(
        stimulus=stimulus,
        cluster=clusters(readings)[row_ab],
        slot_ab=readings.slot[row_ab],
        slot_ba=readings.slot[row_ba],
        valid_ab=valid_ab,
        valid_ba=valid_ba,
        weight=weight,
        first_complete=first_complete,
    )
