"""The confirmatory family: its tests against the flags' limits, Holm by hand, and the error rate of the family."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, t
from statsmodels.stats.multitest import multipletests

from datasheet.analysis.intervals import ClusteredShare, clustered_share
from datasheet.analysis.measurement import MeasurementFit, parameter_names
from datasheet.analysis.model import ModelFinding
from datasheet.analysis.multiplicity import Hypothesis, confirmatory_family, holm, neutral_criterion
from datasheet.analysis.point_null import share_p
from datasheet.analysis.profile import Limits
from datasheet.records import Estimate

LIMITS = Limits()
KEYS = ("dark_current", "stable_cross_sensitivity", "positional_false_preference", "resolution", "criterion")


def share(value: float, *, n: float = 60, clusters: int = 10, deff: float = 1.5, iid: bool = False) -> ClusteredShare:
    return ClusteredShare(share=value, n=n, n_clusters=clusters, design_effect=deff, independent=iid)


def fitted(
    *, k: float, u_k: float, c: float, u_log_c: float, fixed: tuple[str, ...] = (), largest_gradient: float = 0.0
) -> MeasurementFit:
    names = parameter_names(())
    covariance = np.diag(np.square([u_k, 0.1, u_log_c, 0.5, 0.5]))
    return MeasurementFit(
        names=names,
        theta=np.array([k, 0.2, np.log(c), 0.0, -1.0]),
        covariance=covariance,
        robust_covariance=covariance / 2,
        free=np.array([name not in fixed for name in names]),
        log_likelihood=0.0,
        largest_gradient=largest_gradient,
        longest_step=5.0,
        n_clusters=20,
        n_pairs=400,
        lapse_rate=0.0,
    )


def family(
    dark: ClusteredShare | None = None,
    stable: ClusteredShare | None = None,
    positional: ClusteredShare | None = None,
    fit: MeasurementFit | None = None,
    told: bool = True,
) -> dict[str, Hypothesis]:
    known = Estimate(estimate=0.5, low=0.4, high=0.6)
    unknown = Estimate.absent("undetermined", "the readings leave it open")
    estimates = dict.fromkeys(KEYS[-2:], known if told and fit is not None else unknown)
    model = ModelFinding(estimates=estimates, fit=fit)
    found = confirmatory_family(dark=dark, stable=stable, positional=positional, model=model, limits=LIMITS)
    assert tuple(hypothesis.key for hypothesis in found) == KEYS
    return {hypothesis.key: hypothesis for hypothesis in found}


def test_what_the_readings_leave_undetermined_is_out_of_the_family() -> None:
    """Else it would weigh on the others: a p of 1 that no readings could have made smaller is no test."""
    fit = fitted(k=0.6, u_k=0.1, c=0.5, u_log_c=0.2)
    found = family(dark=share(0.2), fit=fit, told=False)
    assert (found["resolution"].p, found["criterion"].p) == (None, None)
    assert found["dark_current"].adjusted_p == found["dark_current"].p
    told = family(dark=share(0.2), fit=fit)
    assert told["dark_current"].adjusted_p > told["dark_current"].p  # type: ignore[operator]


@given(
    value=st.floats(0, 1),
    limit=st.floats(0.01, 0.99),
    n=st.integers(2, 400),
    deff=st.floats(1, 3),
    clusters=st.integers(2, 40),
    iid=st.booleans(),
    significance=st.floats(0.001, 0.2),
)
def test_a_share_is_rejected_exactly_where_its_lower_limit_is_beyond(
    value: float, limit: float, n: int, deff: float, clusters: int, iid: bool, significance: float
) -> None:
    observed = share(value, n=n, clusters=clusters, deff=deff, iid=iid)
    p, lower = share_p(observed, limit, "greater"), observed.lower(1 - significance)
    assert p is not None
    if abs(lower - limit) > 1e-6:
        assert (p < significance) == (lower > limit)


def test_p_of_a_share_is_that_of_the_score_test() -> None:
    assert share_p(share(0.2, deff=1.0, iid=True), 0.1, "greater") == pytest.approx(norm.sf(0.1 / np.sqrt(0.09 / 60)))
    assert share_p(share(0.2), 0.1, "greater") == pytest.approx(t.sf(0.1 / np.sqrt(0.09 / 40), 9))
    assert share_p(share(0.2, clusters=1), 0.1, "greater") is None


def test_p_of_the_models_parameters() -> None:
    found = family(fit=fitted(k=-0.5, u_k=0.2, c=0.6, u_log_c=0.3))
    assert found["resolution"].p == pytest.approx(2 * t.sf(2.5, 19))
    assert found["resolution"].alternative == "two-sided"
    null = norm.ppf(0.625)
    assert found["criterion"].null_value == pytest.approx(null)
    assert found["criterion"].p == pytest.approx(t.sf(np.log(0.6 / null) / 0.3, 19))
    few_ties = family(fit=fitted(k=1, u_k=0.2, c=0.01, u_log_c=1.0))["criterion"]
    assert few_ties.p is not None
    assert few_ties.p > 0.99


def test_a_reading_without_evidence_ties_as_often_as_the_limit_says() -> None:
    c = neutral_criterion(LIMITS.conservative)
    assert norm.cdf(c) - norm.cdf(-c) == pytest.approx(LIMITS.conservative)


def test_null_values_are_the_flags_limits() -> None:
    nulls = {key: hypothesis.null_value for key, hypothesis in family().items()}
    assert nulls["dark_current"] == LIMITS.dark
    assert nulls["stable_cross_sensitivity"] == LIMITS.surface
    assert nulls["positional_false_preference"] == LIMITS.positional
    assert nulls["resolution"] == 0


def test_adjusted_p_is_holms_by_hand() -> None:
    found = family(share(0.14), share(0.21), share(0.27, n=200), fit=fitted(k=1.0, u_k=0.2, c=0.5, u_log_c=0.19))
    raw = sorted((hypothesis.p, key) for key, hypothesis in found.items() if hypothesis.p is not None)
    assert len(raw) == 5
    highest = 0.0
    for rank, (p, key) in enumerate(raw):
        highest = max(highest, min(1.0, (5 - rank) * p))
        assert found[key].adjusted_p == pytest.approx(highest)
        assert found[key].rejected == (highest <= 0.05)
    assert {hypothesis.rejected for hypothesis in found.values()} == {True, False}
    below = [hypothesis for hypothesis in found.values() if not hypothesis.rejected and (hypothesis.p or 1) < 0.05]
    assert below, "a p below .05 that the family does not reject is what the adjustment is for"


@pytest.mark.parametrize(
    "fit",
    [
        None,
        fitted(k=1, u_k=0.2, c=0.5, u_log_c=0.2, fixed=("resolution", "log_criterion")),
        fitted(k=1, u_k=0.2, c=0.5, u_log_c=0.2, largest_gradient=5.0),
    ],
)
def test_what_can_not_be_tested_is_out_of_the_family(fit: MeasurementFit | None) -> None:
    found = family(dark=share(0.3), stable=share(0.3, clusters=1), fit=fit)
    for key in KEYS[1:]:
        assert (found[key].p, found[key].adjusted_p, found[key].rejected) == (None, None, False)
    assert found["dark_current"].adjusted_p == found["dark_current"].p
    assert found["dark_current"].rejected


def test_the_family_seldom_rejects_where_every_share_is_at_its_limit() -> None:
    """It rejects anything exactly where its least p is below the significance over the number of tests."""
    rng, false, studies = np.random.default_rng(8), 0, 3000
    nulls = (LIMITS.dark, LIMITS.surface, LIMITS.positional)
    for _ in range(studies):
        shares = [clustered_share(rng.binomial(6, null, 20).astype(float), np.full(20, 6.0)) for null in nulls]
        p = [share_p(observed, null, "greater") for observed, null in zip(shares, nulls, strict=True)]
        false += min(value for value in p if value is not None) < LIMITS.significance / len(nulls)
    assert 0.01 < false / studies < 0.06


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_that_of_statsmodels(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])
