"""The worked world against the figures published with it, worked out here by statsmodels and by counting."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa, to_table

from datasheet.workflows.worked_world import HUMANS, JUDGES, LOWEST_PASS, PROMPTS, World, judged, rows, world

HALF_A_UNIT = 0.005001


@pytest.fixture(scope="module", name="known")
def known_world() -> World:
    return world()


def kappa(ratings: np.ndarray, others: np.ndarray, categories: range, weights: str | None = None) -> float:
    table, _ = to_table(np.column_stack([ratings, others]).astype(int) - categories[0], bins=len(categories))
    return float(cohens_kappa(table, wt=weights, return_results=True).kappa)


@pytest.mark.parametrize(
    ("rater", "exact", "plain", "quadratic", "passed", "pass_kappa", "offset"),
    [
        ("human 2", 0.71, 0.58, 0.81, 0.86, 0.70, 0.00),
        ("fair", 0.68, 0.52, 0.78, 0.85, 0.69, -0.02),
        ("lenient", 0.28, 0.02, 0.44, 0.68, 0.21, 0.81),
        ("position", 0.71, 0.57, 0.80, 0.86, 0.71, -0.01),
        ("verbose", 0.64, 0.48, 0.75, 0.81, 0.61, 0.01),
        ("self-preferring", 0.67, 0.51, 0.76, 0.84, 0.66, 0.14),
    ],
)
def test_scores_agree_with_the_first_person_as_published(
    known: World,
    rater: str,
    exact: float,
    plain: float,
    quadratic: float,
    passed: float,
    pass_kappa: float,
    offset: float,
) -> None:
    person = known.scores[:, 0].ravel()
    scores = known.scores[:, 1].ravel() if rater == "human 2" else judged(known, JUDGES[rater]).scores.ravel()
    found = (
        np.mean(scores == person),
        kappa(scores, person, range(1, 6)),
        kappa(scores, person, range(1, 6), "quadratic"),
        np.mean((scores >= LOWEST_PASS) == (person >= LOWEST_PASS)),
        kappa(scores >= LOWEST_PASS, person >= LOWEST_PASS, range(2)),
        np.mean(scores - person),
    )
    assert found == pytest.approx((exact, plain, quadratic, passed, pass_kappa, offset), abs=HALF_A_UNIT)


@pytest.mark.parametrize(
    ("judge", "agreement", "plain", "consistent", "first_first", "second_second", "one_call", "swapped"),
    [
        ("fair", 0.71, 0.57, 0.71, 0.02, 0.02, 0.564, 0.559),
        ("lenient", 0.74, 0.61, 0.69, 0.01, 0.02, 0.536, 0.545),
        ("position", 0.60, 0.43, 0.40, 0.27, 0.00, 0.776, 0.546),
        ("verbose", 0.59, 0.36, 0.74, 0.02, 0.02, 0.752, 0.740),
        ("self-preferring", 0.68, 0.50, 0.76, 0.01, 0.02, 0.721, 0.708),
    ],
)
def test_pairs_are_compared_as_published(
    known: World,
    judge: str,
    agreement: float,
    plain: float,
    consistent: float,
    first_first: float,
    second_second: float,
    one_call: float,
    swapped: float,
) -> None:
    said, people = judged(known, JUDGES[judge]), known.preferences
    both = np.where(said.ours_first == said.base_first, said.ours_first, 0)
    shares = (
        np.mean(both == people),
        kappa(both, people, range(-1, 2)),
        np.mean(said.ours_first == said.base_first),
        np.mean((said.ours_first == 1) & (said.base_first == -1)),
        np.mean((said.ours_first == -1) & (said.base_first == 1)),
    )
    assert shares == pytest.approx((agreement, plain, consistent, first_first, second_second), abs=HALF_A_UNIT)
    rates = (np.mean((said.ours_first + 1) / 2), np.mean((both + 1) / 2))
    assert rates == pytest.approx((one_call, swapped), abs=HALF_A_UNIT / 10)
    assert np.mean((people + 1) / 2) == pytest.approx(0.555, abs=HALF_A_UNIT / 10)


def test_rows_say_what_was_judged(known: World) -> None:
    said = judged(known, JUDGES["position"])
    written = list(rows(known, {"position": JUDGES["position"]}))
    scored = [row for row in written if "item" in row]
    assert [row["score"] for row in scored] == said.scores.ravel().tolist()
    assert [[row["humans"][name] for name in HUMANS] for row in scored[:2]] == known.scores[0].T.tolist()
    compared = [row for row in written if "pair" in row]
    assert len(scored) == len(compared) == 2 * PROMPTS
    ours_in_first = Counter(row["verdict"] for row in compared if row["order"] == "ab")
    assert ours_in_first["first"] == np.sum(said.ours_first == 1)
    assert ours_in_first["second"] == np.sum(said.ours_first == -1)
    ours_in_second = Counter(row["verdict"] for row in compared if row["order"] == "ba")
    assert ours_in_second["second"] == np.sum(said.base_first == 1)
    assert ours_in_second["first"] == np.sum(said.base_first == -1)
    people = Counter(row["human"] for row in compared if row["order"] == "ab")
    assert (people["a"], people["b"]) == (np.sum(known.preferences == 1), np.sum(known.preferences == -1))
