"""What the decomposition would show if the two readings of a pair knew nothing of each other.

A judge that flips a coin on each call shows stable cross-sensitivity .5 and positional false preference .5. So the
decomposition stands beside a null: all slot readings of the complete pairs, pooled over both orders, dealt out to the
pairs at random.

That null takes every pair to be equally likely to tie. Where pairs differ in that (a criterion that moves with the task
or the level), pairs that commit twice are commoner than it expects, and pure noise looks stable: in simulation, with a
criterion of .1 on half of the pairs and 1.5 on the others, at p < .05 in 31 of 60 logs. So the claims of a sheet rest
on a second null too, inside the pairs that committed twice: only their readings are dealt out again (1 of 60).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr

from datasheet.analysis.swap_pairs import SwapPairs

DRAWS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingNull:
    """The decomposition under random pairing of the same readings.

    Attributes
    ----------
    expected
        Share expected for each class.
    p_pooled
        One-sided p of the observed stable cross-sensitivity: how often random pairing gives as much or more.
    p_stable, p_positional
        The same inside the pairs that committed twice, for stable and for same-slot pairs.
    n_committed
        Pairs that committed twice.
    p_slot
        Two-sided exact binomial p that first-first and second-second pairs are equally likely; None without any.
    first_first, second_second
        Numbers of such pairs (the first complete repeat of each stimulus).
    """

    n_pairs: int
    n_committed: int
    expected: dict[str, float]
    p_pooled: float
    p_stable: float
    p_positional: float
    p_slot: float | None
    first_first: int
    second_second: int

    def stable_above(self, significance: float) -> bool:
        """More pairs prefer the same content in both orders than random pairing gives, by either null."""
        return max(self.p_pooled, self.p_stable) < significance

    def positional_above(self, significance: float) -> bool:
        """More pairs prefer the same slot in both orders than random pairing gives."""
        return self.p_positional < significance

    def slots_differ(self, significance: float) -> bool:
        """First-first and second-second pairs are not equally likely."""
        return self.p_slot is not None and self.p_slot < significance


def stable_pairs_at_random(
    n_first: int, n_tie: int, n_second: int, *, draws: int, rng: np.random.Generator
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Numbers of stable pairs when 2n slot readings are dealt out to n pairs at random.

    The readings of the ``ab`` side are a multivariate hypergeometric sample of all; given them, so are those of the
    ``ba`` side that meet each kind. Only counts are drawn, so the cost does not depend on n.

    Returns
    -------
    Array of shape (draws,): pairs with one first-slot and one second-slot reading.
    """
    n_pairs = (n_first + n_tie + n_second) // 2
    ab_first = rng.hypergeometric(n_first, n_tie + n_second, n_pairs, size=draws)
    ab_second = rng.hypergeometric(n_second, n_tie, n_pairs - ab_first)
    ba_first, ba_second = n_first - ab_first, n_second - ab_second
    first_meets_second = rng.hypergeometric(ba_second, n_pairs - ba_second, ab_first)
    first_meets_first = rng.hypergeometric(ba_first, n_pairs - ba_second - ba_first, ab_first - first_meets_second)
    firsts_left = ba_first - first_meets_first
    second_meets_first = rng.hypergeometric(firsts_left, n_pairs - ab_first - firsts_left, ab_second)
    return np.asarray(first_meets_second + second_meets_first, dtype=np.int64)


def _two_sided(hits: int, n: int) -> float:
    """Exact binomial p of a share of 1/2: twice the smaller tail, at most 1."""
    return min(1.0, 2 * float(bdtr(min(hits, n - hits), n, 0.5)))


def pairing_null(pairs: SwapPairs, *, rng: np.random.Generator, draws: int = DRAWS) -> PairingNull | None:
    """The null of a decomposition, over the first complete repeat of each stimulus; None without complete pairs."""
    chosen = pairs.first_complete
    n_pairs = int(chosen.sum())
    if n_pairs == 0:
        return None
    slots = np.concatenate([pairs.slot_ab[chosen], pairs.slot_ba[chosen]])
    first, tie, second = (int((slots == value).sum()) for value in (1, 0, -1))
    total = first + tie + second
    ordered_pairs = total * (total - 1)
    observed = int((pairs.in_class("stable_cross_sensitivity") & chosen).sum())
    first_first = int((pairs.in_class("first_first") & chosen).sum())
    second_second = int((pairs.in_class("second_second") & chosen).sum())
    same_slot = first_first + second_second
    pooled = stable_pairs_at_random(first, tie, second, draws=draws, rng=rng)
    committed = stable_pairs_at_random(
        observed + 2 * first_first, 0, observed + 2 * second_second, draws=draws, rng=rng
    )
    return PairingNull(
        n_pairs=n_pairs,
        n_committed=observed + same_slot,
        expected={
            "stable_cross_sensitivity": 2 * first * second / ordered_pairs,
            "positional_false_preference": (first * (first - 1) + second * (second - 1)) / ordered_pairs,
            "one_sided_commitment": 2 * tie * (first + second) / ordered_pairs,
            "no_preference": tie * (tie - 1) / ordered_pairs,
            "other_conflict": 0.0,
        },
        p_pooled=(1 + int((pooled >= observed).sum())) / (1 + draws),
        p_stable=(1 + int((committed >= observed).sum())) / (1 + draws),
        p_positional=(1 + int((committed <= observed).sum())) / (1 + draws),
        p_slot=_two_sided(first_first, same_slot) if same_slot else None,
        first_first=first_first,
        second_second=second_second,
    )
