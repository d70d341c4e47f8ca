"""Two-sided tests of a value: as another package gives them, and dual to the intervals on the sheet."""

from __future__ import annotations

import numpy as np
import pytest
from observers import OBSERVERS, drawn, structure
from scipy.stats import binom
from statsmodels.stats.proportion import proportions_ztest

from datasheet.analysis.intervals import ClusteredShare, clustered_share
from datasheet.analysis.model import measure
from datasheet.analysis.point_null import parameter_p, rare_share_p, share_p

FIT = measure(drawn(structure("paper"), OBSERVERS["mid"], 0.0, np.random.default_rng(4)))


@pytest.mark.parametrize(("successes", "value"), [(12, 0.3), (30, 0.5), (1, 0.1)])
def test_independent_readings_give_the_score_test(successes: int, value: float) -> None:
    """As statsmodels gives it with the variance under the hypothesis."""
    hits = np.repeat([1.0, 0.0], [successes, 60 - successes])
    _, expected = proportions_ztest(successes, 60, value, prop_var=value)
    assert share_p(clustered_share(hits, np.ones(60)), value) == pytest.approx(expected, rel=1e-9)


def test_a_limit_of_a_clustered_share_has_p_five_percent() -> None:
    share = clustered_share(np.array([3.0, 5, 0, 2, 4, 4, 1, 5]), np.array([5.0, 5, 5, 4, 5, 6, 3, 5]))
    limits = share.interval()
    assert limits is not None
    assert [share_p(share, limit) for limit in limits] == pytest.approx([0.05, 0.05], abs=1e-9)


@pytest.mark.parametrize(("hits", "value", "p"), [(0, 0.0, 1.0), (1, 0.0, 0.0), (8, 1.0, 1.0), (7, 1.0, 0.0)])
def test_a_value_without_spread_is_met_or_not(hits: int, value: float, p: float) -> None:
    share = clustered_share(np.repeat([1.0, 0.0], [hits, 8 - hits]), np.ones(8))
    assert share_p(share, value) == p


def test_one_task_tests_nothing() -> None:
    share = ClusteredShare(share=0.5, n=10, n_clusters=1, design_effect=1.0, independent=False)
    assert share_p(share, 0.5) is None
    assert rare_share_p(share, 0.01) is None


@pytest.mark.parametrize(("hits", "value"), [(79, 0.99995), (80, 0.99995), (1, 1e-6), (0, 1e-6), (3, 0.01), (80, 0.97)])
def test_a_share_of_rare_readings_is_tested_exactly(hits: int, value: float) -> None:
    """Twice the smaller tail of scipy's own binomial."""
    share = clustered_share(np.repeat([1.0, 0.0], [hits, 80 - hits]), np.ones(80))
    tails = (binom.cdf(hits, 80, value), binom.sf(hits - 1, 80, value))
    assert rare_share_p(share, value) == pytest.approx(min(1.0, 2 * min(tails)))


@pytest.mark.parametrize("value", [0.0, 0.2, 0.5, 1.0])
def test_a_share_of_readings_that_are_not_rare_has_the_score_test(value: float) -> None:
    share = clustered_share(np.repeat([1.0, 0.0], [30, 50]), np.ones(80))
    assert rare_share_p(share, value) == share_p(share, value)


@pytest.mark.parametrize("key", ["resolution", "criterion", "position"])
def test_a_limit_of_a_parameter_has_p_five_percent(key: str) -> None:
    estimate = FIT.estimates[key]
    assert FIT.fit is not None
    assert estimate.low is not None
    assert estimate.high is not None
    found = [parameter_p(FIT, key, limit) for limit in (estimate.low, estimate.high)]
    assert found == pytest.approx([0.05, 0.05], abs=1e-9)


def test_what_the_fit_does_not_speak_of_has_no_p() -> None:
    assert FIT.fit is not None
    assert parameter_p(FIT, "courtesy", 0.0) is None
