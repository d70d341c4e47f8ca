"""Coefficients of agreement against published tables, other packages and raters whose agreement is known."""

from __future__ import annotations

import krippendorff
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa, fleiss_kappa

from datasheet.analysis.agreement import Estimates, agreement_among, agreement_between, mean_offset

Codes = npt.NDArray[np.int32]

FLEISS_LEVIN_PAIK = [[75, 1, 4], [5, 4, 1], [0, 0, 10]]
PARADOX = [[118, 5], [2, 0]]
TERNARY = [[40, 6, 4], [5, 25, 5], [3, 7, 45]]

NONE = 0
KRIPPENDORFF_2011 = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
    [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
]
FLEISS_1971_AS_ON_WIKIPEDIA = [
    *([0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1]),
    *([7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]),
]


def ratings(table: list[list[int]]) -> tuple[Codes, Codes]:
    """Two raters' items from their cross table."""
    cells = np.array(table)
    first, second = np.nonzero(cells)
    return tuple(np.repeat(codes, cells[first, second]).astype(np.int32) for codes in (first, second))  # type: ignore[return-value]


def values(found: Estimates) -> dict[str, float | None]:
    return {key: estimate.estimate for key, estimate in found.items()}


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            FLEISS_LEVIN_PAIK,
            {"agreement": 0.89, "kappa": 0.6765, "scott_pi": 0.6753, "gwet_ac": 0.8676, "brennan_prediger": 0.8350}
            | {"kappa_linear": 0.7222, "scott_pi_linear": 0.7216, "gwet_ac_linear": 0.8955}
            | {"kappa_quadratic": 0.7553, "scott_pi_quadratic": 0.7550, "gwet_ac_quadratic": 0.9130}
            | {"krippendorff_alpha": 0.6769, "krippendorff_alpha_ordinal": 0.7155}
            | {"krippendorff_alpha_interval": 0.7562},
        ),
        (
            PARADOX,
            {"agreement": 0.944, "kappa": -0.0234, "scott_pi": -0.0288, "gwet_ac": 0.9408, "brennan_prediger": 0.8880}
            | {"kappa_linear": -0.0234, "kappa_quadratic": -0.0234, "krippendorff_alpha": -0.0247},
        ),
        (
            TERNARY,
            {"agreement": 0.7857, "kappa": 0.6744, "scott_pi": 0.6743, "gwet_ac": 0.6807, "brennan_prediger": 0.6786}
            | {"kappa_linear": 0.7160, "scott_pi_linear": 0.7160, "gwet_ac_linear": 0.7074}
            | {"kappa_quadratic": 0.7531, "scott_pi_quadratic": 0.7531, "gwet_ac_quadratic": 0.7337}
            | {"krippendorff_alpha": 0.6755, "krippendorff_alpha_ordinal": 0.7539}
            | {"krippendorff_alpha_interval": 0.7540},
        ),
        ([[50, 10], [0, 0]], {"agreement": 0.8333, "kappa": 0.0, "scott_pi": -0.0909, "gwet_ac": 0.8033}),
        ([[20, 5], [10, 15]], {"agreement": 0.70, "kappa": 0.40}),
    ],
)
def test_reference_tables_of_two_raters(table: list[list[int]], expected: dict[str, float]) -> None:
    found = values(agreement_between(*ratings(table), categories=len(table), ordered=True))
    assert {key: found[key] for key in expected} == pytest.approx(expected, abs=5e-5)


def test_a_rater_one_point_too_generous_keeps_a_high_weighted_kappa_and_an_offset_of_one() -> None:
    person = np.random.default_rng(0).integers(1, 5, 500).astype(np.int32)
    found = agreement_between(person, person - 1, categories=5, ordered=True)
    expected = {"agreement": 0.0, "kappa": -0.226, "kappa_linear": 0.337, "kappa_quadratic": 0.717}
    assert {key: found[key].estimate for key in expected} == pytest.approx(expected, abs=5e-4)
    assert mean_offset(person, person - 1).estimate == 1.0


def test_references_of_several_raters_with_gaps() -> None:
    codes = np.array(KRIPPENDORFF_2011, dtype=np.int32).T - 1
    found = agreement_among(codes, categories=5, ordered=True)
    expected = {
        "krippendorff_alpha": 0.74342,
        "krippendorff_alpha_ordinal": 0.8154,
        "krippendorff_alpha_interval": 0.8491,
        "gwet_ac": 0.77544,
        "fleiss_kappa": 0.76117,
        "gwet_ac_linear": 0.85874,
        "gwet_ac_quadratic": 0.91400,
    }
    assert {key: found[key].estimate for key in expected} == pytest.approx(expected, abs=5e-5)
    assert found["krippendorff_alpha"].n == found["agreement"].n == 11


def test_reference_of_fourteen_raters() -> None:
    codes = np.array([np.repeat(np.arange(5), counts) for counts in FLEISS_1971_AS_ON_WIKIPEDIA], dtype=np.int32)
    found = values(agreement_among(codes, categories=5, ordered=False))
    expected = {"fleiss_kappa": 0.2099, "brennan_prediger": 0.2225, "gwet_ac": 0.2256}
    assert {key: found[key] for key in expected} == pytest.approx(expected, abs=5e-5)


ANY_TABLE = arrays(np.int64, (4, 4), elements=st.integers(0, 30))


@given(ANY_TABLE)
@settings(max_examples=60, deadline=None)
def test_two_raters_as_statsmodels_scikit_learn_and_krippendorff_have_them(table: Codes) -> None:
    assume((table.sum(axis=0) > 0).sum() > 1 and (table.sum(axis=1) > 0).sum() > 1)
    first, second = ratings(table.tolist())
    found = values(agreement_between(first, second, categories=4, ordered=True))
    for key, weights in (("kappa", None), ("kappa_linear", "linear"), ("kappa_quadratic", "quadratic")):
        theirs = cohen_kappa_score(first, second, labels=range(4), weights=weights)
        assert found[key] == pytest.approx(theirs, abs=1e-12)
        assert found[key] == pytest.approx(cohens_kappa(table, wt=weights, return_results=False), abs=1e-12)
    for key, level in (("", "nominal"), ("_ordinal", "ordinal"), ("_interval", "interval")):
        alpha = krippendorff.alpha(np.array([first, second]), value_domain=range(4), level_of_measurement=level)
        assert found[f"krippendorff_alpha{key}"] == pytest.approx(alpha, abs=1e-12)


@given(arrays(np.int32, (12, 4), elements=st.integers(-1, 2)))
@settings(max_examples=60, deadline=None)
def test_several_raters_as_krippendorff_and_statsmodels_have_them(codes: Codes) -> None:
    paired = codes[(codes >= 0).sum(axis=1) > 1]
    assume(len(np.unique(paired[paired >= 0])) > 1)
    found = values(agreement_among(codes, categories=3, ordered=True))
    gaps = np.where(codes < 0, np.nan, codes).T
    for key, level in (("", "nominal"), ("_ordinal", "ordinal"), ("_interval", "interval")):
        alpha = krippendorff.alpha(gaps, value_domain=range(3), level_of_measurement=level)
        assert found[f"krippendorff_alpha{key}"] == pytest.approx(alpha, abs=1e-12)
    whole = np.maximum(codes, 0)
    assume(len(np.unique(whole)) > 1)
    found = values(agreement_among(whole, categories=3, ordered=False))
    counts, _ = aggregate_raters(whole, n_cat=3)
    assert found["fleiss_kappa"] == pytest.approx(fleiss_kappa(counts), abs=1e-12)
    assert found["brennan_prediger"] == pytest.approx(fleiss_kappa(counts, method="randolph"), abs=1e-12)


def test_categories_count_as_declared_and_not_as_used() -> None:
    first, second = ratings([[20, 5], [10, 15]])
    three = values(agreement_between(first, second, categories=3, ordered=True))
    two = values(agreement_between(first, second, categories=2, ordered=True))
    assert three["kappa"] == two["kappa"]
    assert three["brennan_prediger"] == pytest.approx((0.7 - 1 / 3) / (1 - 1 / 3))
    assert two["brennan_prediger"] == pytest.approx((0.7 - 1 / 2) / (1 - 1 / 2))


def test_what_one_label_leaves_undefined_says_so() -> None:
    same = np.zeros(60, dtype=np.int32)
    found = agreement_between(same, same, categories=3, ordered=True)
    for key in ("kappa", "scott_pi", "krippendorff_alpha", "kappa_quadratic"):
        assert found[key].status == "undetermined"
        assert "every rating is the same label" in found[key].reason
    assert found["gwet_ac"].estimate == found["brennan_prediger"].estimate == 1.0
    assert found["agreement"].low == pytest.approx(60 / (60 + 1.959964**2), abs=1e-6)


def test_a_rater_of_one_label_has_a_kappa_of_0_without_limits() -> None:
    found = agreement_between(*ratings([[50, 10], [0, 0]]), categories=2, ordered=False)
    assert (found["kappa"].estimate, found["kappa"].low) == (0.0, None)
    assert "whatever the other says" in found["kappa"].reason
    assert found["gwet_ac"].low is not None


def test_agreement_on_every_item_has_limits_of_the_agreement_alone() -> None:
    codes = np.arange(30, dtype=np.int32) % 3
    found = agreement_between(codes, codes, categories=3, ordered=False)
    assert found["agreement"].low == pytest.approx(30 / (30 + 1.959964**2), abs=1e-6)
    assert (found["kappa"].estimate, found["kappa"].low) == (1.0, None)
    assert "see the limits of the agreement" in found["kappa"].reason


def test_items_without_two_ratings_say_what_is_needed() -> None:
    none = np.full(5, -1, dtype=np.int32)
    assert agreement_between(none, np.zeros(5, dtype=np.int32), categories=2, ordered=False)["kappa"].status == (
        "not_measured"
    )
    lonely = np.column_stack([none, np.zeros(5, dtype=np.int32)])
    found = agreement_among(lonely, categories=2, ordered=True)
    assert {estimate.status for estimate in found.values()} == {"not_measured"}
    one = agreement_between(*ratings([[1, 0], [0, 0]]), categories=2, ordered=False)
    assert "one item only" in one["gwet_ac"].reason


def test_a_category_beyond_those_declared_is_refused() -> None:
    codes = np.array([0, 3], dtype=np.int32)
    with pytest.raises(ValueError, match="expected categories from 0 to 2, or -1 for none, found 0 to 3"):
        agreement_between(codes, codes, categories=3, ordered=False)
    with pytest.raises(ValueError, match="two categories or more"):
        agreement_between(codes, codes, categories=1, ordered=False)


@pytest.mark.parametrize(("table", "se"), [(FLEISS_LEVIN_PAIK, 0.0877), (TERNARY, 0.0522)])
def test_limits_are_near_those_of_the_large_sample_formula(table: list[list[int]], se: float) -> None:
    found = agreement_between(*ratings(table), categories=3, ordered=False)["kappa"]
    assert found.low is not None
    assert found.high is not None
    assert (found.high - found.low) / 2 / 1.98 == pytest.approx(se, rel=0.05)


def test_limits_cover_as_often_as_they_say() -> None:
    """Three coefficients of 60 items whose truth is known; the standard error of a share is .005."""
    shares = np.array([[0.40, 0.06, 0.04], [0.05, 0.15, 0.05], [0.03, 0.05, 0.17]])
    truth = values(
        agreement_between(*ratings((shares * 100).round().astype(int).tolist()), categories=3, ordered=False)
    )
    rng, held = np.random.default_rng(2), dict.fromkeys(("kappa", "scott_pi", "gwet_ac"), 0)
    logs = 1500
    for counts in rng.multinomial(60, shares.ravel(), logs):
        found = agreement_between(*ratings(counts.reshape(3, 3).tolist()), categories=3, ordered=False)
        for key in held:
            held[key] += found[key].low <= truth[key] <= found[key].high  # type: ignore[operator]
    assert {key: count / logs for key, count in held.items()} == pytest.approx(dict.fromkeys(held, 0.95), abs=0.015)


def test_clusters_of_items_that_go_together_widen_the_limits() -> None:
    first, second = ratings(TERNARY)
    alone = agreement_between(first, second, categories=3, ordered=False)["kappa"]
    twice = agreement_between(
        np.tile(first, 2),
        np.tile(second, 2),
        categories=3,
        ordered=False,
        cluster=np.tile(np.arange(140), 2).astype(np.int32),
    )["kappa"]
    assert (twice.estimate, twice.low, twice.high) == pytest.approx((alone.estimate, alone.low, alone.high), abs=1e-12)
    assert (twice.n, twice.n_clusters) == (280, 140)


def test_an_item_is_its_own_cluster() -> None:
    codes = np.array(KRIPPENDORFF_2011, dtype=np.int32).T - 1
    alone = agreement_among(codes, categories=5, ordered=True)
    named = agreement_among(codes, categories=5, ordered=True, cluster=np.arange(12, dtype=np.int32))
    for key in alone:
        assert (named[key].low, named[key].high) == pytest.approx((alone[key].low, alone[key].high), abs=1e-12)
