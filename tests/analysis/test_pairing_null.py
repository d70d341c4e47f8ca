"""The null of the decomposition against full enumeration."""

from __future__ import annotations

from itertools import product
from math import exp, lgamma, log

import numpy as np
import pytest
from readings_made import same_quality
from scipy.stats import binomtest

from datasheet.analysis.pairing_null import pairing_null, stable_pairs_at_random
from datasheet.analysis.swap_pairs import swap_pairs
from datasheet.seeds import child_rng


def exact_distribution(first: int, tie: int, second: int) -> dict[int, float]:
    """P(number of first-second pairs) over all perfect matchings, by counting matchings of each type."""
    total = first + tie + second
    assert total % 2 == 0

    def log_ways(pairs: tuple[int, ...], mixed: int) -> float:
        return lgamma(total // 2 + 1) - sum(lgamma(count + 1) for count in pairs) + mixed * log(2)

    weights: dict[int, float] = {}
    for ft, st, fs in product(range(tie + 1), range(tie + 1), range(min(first, second) + 1)):
        rest = (first - ft - fs, second - st - fs, tie - ft - st)
        if any(count < 0 or count % 2 for count in rest):
            continue
        pairs = (*(count // 2 for count in rest), ft, st, fs)
        log_arrangements = lgamma(total + 1) - sum(lgamma(count + 1) for count in (first, tie, second))
        weights[fs] = weights.get(fs, 0.0) + exp(log_ways(pairs, ft + st + fs) - log_arrangements)
    assert sum(weights.values()) == pytest.approx(1)
    return weights


@pytest.mark.parametrize("counts", [(92, 1, 27), (10, 4, 6), (3, 3, 2), (20, 0, 20), (0, 5, 7), (5, 7, 0)])
def test_counts_drawn_follow_the_exact_distribution(counts: tuple[int, int, int]) -> None:
    first, tie, second = counts
    draws = stable_pairs_at_random(first, tie, second, draws=200_000, rng=np.random.default_rng(3))
    exact = exact_distribution(first, tie, second)
    for value, probability in exact.items():
        share = (draws == value).mean()
        standard_error = (max(0.0, probability * (1 - probability)) / 200_000) ** 0.5
        assert share == pytest.approx(probability, abs=5 * standard_error + 1e-5)
    assert set(np.unique(draws).tolist()) <= set(exact)


def test_p_of_the_published_mixed_judge() -> None:
    """27 stable pairs, 32 first-first, one (first, tie): the exact one-sided p is .0158."""
    pairs = swap_pairs(same_quality(stable=27, first_first=32, one_sided=1))
    null = pairing_null(pairs, rng=child_rng(0, "test"))
    assert null is not None
    assert null.p_pooled == pytest.approx(0.01578, abs=0.002)
    committed = exact_distribution(27 + 2 * 32, 0, 27)
    assert null.p_stable == pytest.approx(sum(p for stable, p in committed.items() if stable >= 27), abs=0.002)
    assert null.n_committed == 59
    assert null.p_slot == pytest.approx(2 * 0.5**32)
    assert null.expected["stable_cross_sensitivity"] == pytest.approx(2 * 92 * 27 / (120 * 119))


def test_expected_shares_sum_to_one() -> None:
    null = pairing_null(swap_pairs(same_quality(stable=4, first_first=3, none=5, one_sided=8)), rng=child_rng(1))
    assert null is not None
    assert sum(null.expected.values()) == pytest.approx(1)


def test_independent_readings_give_a_uniform_p() -> None:
    """Under the null itself, p < .05 in about one log of twenty."""
    rng = np.random.default_rng(11)
    below = 0
    for _ in range(200):
        slots = rng.choice(["first", "tie", "second"], p=[0.45, 0.2, 0.35], size=(60, 2))
        pairs = swap_pairs(same_quality(readings=[(str(ab), str(ba)) for ab, ba in slots]))
        null = pairing_null(pairs, rng=child_rng(2), draws=2_000)
        assert null is not None
        below += null.stable_above(0.05)
    assert below <= 20


def test_a_criterion_that_differs_between_pairs_is_no_stable_preference() -> None:
    """Independent noise, and a criterion of .1 on half of the pairs and 1.5 on the others: the pooled null errs."""
    rng = np.random.default_rng(8)
    pooled = claimed = 0
    for _ in range(60):
        criterion = np.tile([0.1, 1.5], 30)[:, None]
        noise = rng.standard_normal((60, 2))
        slots = np.where(noise > criterion, "first", np.where(noise < -criterion, "second", "tie"))
        null = pairing_null(
            swap_pairs(same_quality(readings=[(str(ab), str(ba)) for ab, ba in slots])), rng=child_rng(3), draws=2_000
        )
        assert null is not None
        pooled += null.p_pooled < 0.05
        claimed += null.stable_above(0.05)
    assert pooled >= 15
    assert claimed <= 6


def test_same_slot_pairs_on_both_sides_are_above_chance() -> None:
    """All pairs keep a slot, half of them the first: a coin would give half."""
    null = pairing_null(swap_pairs(same_quality(first_first=30, second_second=30)), rng=child_rng(4))
    assert null is not None
    assert null.positional_above(0.05)
    assert not null.stable_above(0.05)
    assert not null.slots_differ(0.05)


@pytest.mark.parametrize(("hits", "n"), [(0, 1), (3, 10), (5, 10), (32, 32), (14, 19), (7, 15)])
def test_the_slot_test_is_scipys_binomial_test(hits: int, n: int) -> None:
    null = pairing_null(swap_pairs(same_quality(first_first=hits, second_second=n - hits)), rng=child_rng(5), draws=10)
    assert null is not None
    assert null.p_slot == pytest.approx(binomtest(hits, n).pvalue)
