from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaincinv, betaln
from scipy.stats import betabinom

from datasheet.analysis.beta_binomial import beta_binomial_quantiles
from datasheet.analysis.intervals import clustered_share

LIMITS = (0.025, 0.975)
STEP = 1 / 999


def quantiles(hits: object, sizes: object, probabilities: tuple[float, ...] = LIMITS) -> tuple[float, ...]:
    k = np.asarray(hits, dtype=float)
    return beta_binomial_quantiles(k, np.broadcast_to(np.asarray(sizes, dtype=float), k.shape), probabilities)


@pytest.mark.parametrize(
    ("hits", "sizes", "limits"),
    [
        ((0, 0, 1, 0, 0, 2, 0, 0, 0, 0), 6, (0.0165, 0.1977)),
        ((10, 10, 9, 10, 6, 10, 8, 9, 10, 8), 10, (0.7513, 0.9515)),
        ((0,) * 10, 6, (0.0005, 0.1066)),
        ((6,) * 10, 6, (0.8934, 0.9995)),
        ((3, 5, 0, 2, 4, 4, 1, 5), (5, 5, 5, 4, 5, 6, 3, 5), (0.3919, 0.7953)),
    ],
)
def test_the_limits_are_those_of_reference(
    hits: tuple[int, ...], sizes: int | tuple[int, ...], limits: tuple[float, float]
) -> None:
    assert quantiles(hits, sizes) == pytest.approx(limits, abs=5e-5)


def test_the_median_is_that_of_reference() -> None:
    assert quantiles((0, 0, 1, 0, 0, 2, 0, 0, 0, 0), 6, (0.5,))[0] == pytest.approx(0.0706, abs=5e-5)


def scipy_quantiles(hits: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """By scipy's beta-binomial, on a grid of other points."""
    shares, iccs = (np.arange(400) + 0.5) / 400, (np.arange(200) + 0.5) / 200 * 0.8
    scale = (1 / iccs - 1)[:, None]
    logs = 3 * np.log(1 - iccs)[:, None] + sum(
        betabinom.logpmf(k, m, shares * scale, (1 - shares) * scale) for k, m in zip(hits, sizes, strict=True)
    )
    cdf = np.exp(logs - logs.max()).sum(axis=0).cumsum()
    return np.interp(LIMITS, cdf / cdf[-1], shares + 0.5 / 400)


@pytest.mark.parametrize("size", [7, 60], ids=["factors", "gamma functions"])
def test_the_limits_are_those_of_scipys_beta_binomial_on_another_grid(size: int) -> None:
    rng = np.random.default_rng(5)
    sizes = rng.integers(size - 3, size + 1, 12)
    hits = rng.binomial(sizes, rng.beta(3, 1, 12))
    assert quantiles(hits, sizes) == pytest.approx(scipy_quantiles(hits, sizes), abs=3 * STEP)


def test_independent_readings_have_the_limits_of_a_beta_posterior() -> None:
    hits = (np.arange(80) < 13).astype(float)
    assert quantiles(hits, 1) == pytest.approx(betaincinv(14, 68, LIMITS), abs=STEP)


def test_a_fraction_is_the_exponent_of_the_last_factor() -> None:
    """Half a reading of success, half of none: √(p(1-p)) each, as an integral without any grid."""
    low, high = quantiles([0.5] * 6, 1)
    norm = np.exp(betaln(4, 4))
    assert quad(lambda p: (p * (1 - p)) ** 3 / norm, 0, low)[0] == pytest.approx(0.025, abs=0.003)
    assert quad(lambda p: (p * (1 - p)) ** 3 / norm, 0, high)[0] == pytest.approx(0.975, abs=0.003)


def test_long_products_with_fractions_meet_those_of_factors() -> None:
    """One cluster of 32 is beyond the factors kept; a hair less is not."""
    hits, sizes = np.array([3.25, 8.5, 20.0]), np.array([10.0, 12.75, 31.999])
    near = quantiles(hits, sizes)
    assert quantiles(hits, [10.0, 12.75, 32.0]) == pytest.approx(near, abs=1.5 * STEP)
    assert quantiles(hits, [10.0, 12.75, 32.001]) == pytest.approx(near, abs=1.5 * STEP)


def test_successes_and_failures_mirror_each_other() -> None:
    low, high = quantiles((0, 1, 5), (5, 6, 7))
    assert quantiles((5, 5, 2), (5, 6, 7)) == pytest.approx((1 - high, 1 - low), abs=1e-9)


@pytest.mark.parametrize(("hits", "sizes"), [([], []), ([-1.0], [2.0]), ([3.0], [2.0])])
def test_counts_that_cannot_be_are_refused(hits: list[float], sizes: list[float]) -> None:
    with pytest.raises(ValueError, match="0 to m successes"):
        quantiles(hits, sizes)


@pytest.mark.parametrize(("hits", "limits"), [(0.0, (0.0, 0.1066)), (6.0, (0.8934, 1.0))])
def test_a_share_of_nothing_or_all_lies_within_its_limits(hits: float, limits: tuple[float, float]) -> None:
    assert clustered_share(np.full(10, hits), np.full(10, 6.0)).beta_binomial() == pytest.approx(limits, abs=5e-5)


def test_a_single_cluster_has_no_limits_of_either_kind() -> None:
    share = clustered_share(np.array([3.0]), np.array([10.0]))
    assert share.interval() is None
    assert share.beta_binomial() is None


def test_shares_compare_by_what_is_printed_of_them() -> None:
    first = clustered_share(np.array([1.0, 2.0]), np.array([4.0, 4.0]))
    assert first == clustered_share(np.array([2.0, 1.0]), np.array([4.0, 4.0]))
