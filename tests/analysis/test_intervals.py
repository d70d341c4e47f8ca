"""Intervals of shares, against published values, statsmodels and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

from datasheet.analysis.intervals import clustered_share, wilson

Z = float(norm.ppf(0.975))

# 0/60 etc.: Wilson's score interval at 95%, to four decimals (Brown, Cai and DasGupta 2001 describe the interval).
WILSON_CASES = [
    (0, 60, 0.0, 0.0602),
    (60, 60, 0.9398, 1.0),
    (1, 60, 0.0029, 0.0886),
    (2, 60, 0.0092, 0.1136),
    (5, 60, 0.0361, 0.1807),
    (58, 60, 0.8864, 0.9908),
    (94, 100, 0.8752, 0.9722),
    (50, 100, 0.4038, 0.5962),
    (8, 12, 0.3906, 0.8619),
    (0, 12, 0.0, 0.2425),
    (0, 20, 0.0, 0.1611),
]


@pytest.mark.parametrize(("hits", "n", "low", "high"), WILSON_CASES)
def test_wilson_reference_values(hits: int, n: int, low: float, high: float) -> None:
    assert wilson(hits / n, n, Z) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_that_of_statsmodels(counts: tuple[int, int]) -> None:
    hits, n = counts
    theirs = proportion_confint(hits, n, method="wilson")
    assert wilson(hits / n, n, Z) == pytest.approx(theirs, abs=1e-9)


# Effective sample size, design effect and limits, worked out independently for these tables.
CLUSTERED_CASES = [
    ([0, 0, 1, 0, 0, 2, 0, 0, 0, 0], [6] * 10, 0.05, 1.5984, 0.0112, 0.1968),
    ([10, 10, 9, 10, 6, 10, 8, 9, 10, 8], [10] * 10, 0.90, 1.9753, 0.7652, 0.9613),
    ([0] * 10, [6] * 10, 0.0, 1.0, 0.0, 0.0786),
    ([6] * 10, [6] * 10, 1.0, 1.0, 0.9214, 1.0),
    ([3, 5, 0, 2, 4, 4, 1, 5], [5, 5, 5, 4, 5, 6, 3, 5], 24 / 38, 2.4060, 0.3481, 0.8462),
]


@pytest.mark.parametrize(("hits", "sizes", "share", "effect", "low", "high"), CLUSTERED_CASES)
def test_clustered_reference_values(
    hits: list[int], sizes: list[int], share: float, effect: float, low: float, high: float
) -> None:
    found = clustered_share(np.array(hits, dtype=float), np.array(sizes, dtype=float))
    assert found.share == pytest.approx(share)
    assert found.design_effect == pytest.approx(effect, abs=5e-5)
    assert found.interval() == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(("n", "upper"), [(30, 0.146), (60, 0.079)])
def test_nothing_seen_in_ten_tasks_bounds_the_share(n: int, upper: float) -> None:
    found = clustered_share(np.zeros(10), np.full(10, n / 10))
    assert found.interval() == pytest.approx((0, upper), abs=5e-4)


def test_one_cluster_has_no_interval_and_says_so() -> None:
    found = clustered_share(np.array([3.0]), np.array([10.0]))
    assert found.interval() is None
    estimate = found.estimate()
    assert (estimate.low, estimate.high) == (None, None)
    assert "one task" in estimate.reason
    assert (found.lower(), found.upper()) == (0.0, 1.0)


def test_independent_readings_get_the_plain_interval() -> None:
    hits = np.array([1.0] * 94 + [0.0] * 6)
    found = clustered_share(hits, np.ones(100))
    assert found.method == "Wilson"
    assert found.interval() == pytest.approx((0.8752, 0.9722), abs=5e-5)


def test_no_reading_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        clustered_share(np.zeros(3), np.zeros(3))


@pytest.mark.parametrize(("share", "icc", "size"), [(0.05, 0.1, 6), (0.5, 0.2, 10), (0.9, 0.1, 6), (0.25, 0.3, 12)])
def test_coverage_under_clustering(share: float, icc: float, size: int) -> None:
    """Beta-binomial clusters with known truth: the interval covers at least 92% (a thousand draws: se .008)."""
    rng = np.random.default_rng(7)
    scale = (1 - icc) / icc
    hits = rng.binomial(size, rng.beta(share * scale, (1 - share) * scale, (1000, 10)))
    covered = 0
    for row in hits:
        limits = clustered_share(row.astype(float), np.full(10, float(size))).interval()
        assert limits is not None
        covered += limits[0] <= share <= limits[1]
    assert covered / 1000 >= 0.92


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(1, 6)).filter(lambda c: c[0] <= c[1]), min_size=2, max_size=12)
)
def test_limits_hold_the_share_and_lie_within_0_and_1(counts: list[tuple[int, int]]) -> None:
    hits, sizes = (np.array(column, dtype=float) for column in zip(*counts, strict=True))
    found = clustered_share(hits, sizes)
    limits = found.interval()
    assert limits is not None
    assert 0 <= limits[0] <= found.share <= limits[1] <= 1
    assert found.lower() >= limits[0]
    assert found.upper() <= limits[1]
