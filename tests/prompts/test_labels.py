"""Labels among the candidates of a first token: their ways to be written, what is not listed, and odd candidates."""

from __future__ import annotations

from dataclasses import replace
from math import exp, inf, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasheet.prompts import label_log_probabilities, load_variant, read_labels
from datasheet.records import LabelLogProbabilities, Outcome, Reply

LABELS: dict[str, Outcome] = {"A": "first", "B": "second", "C": "tie"}
LOGPROB = load_variant("logprob")


def shares(labels: LabelLogProbabilities) -> tuple[float, ...]:
    return tuple(map(exp, (labels.first, labels.tie, labels.second, labels.floor)))


@pytest.mark.parametrize(
    ("candidates", "expected"),
    [
        (
            (("A", log(0.5)), (" A", log(0.1)), ("▁a", log(0.05)), ("B", log(0.2)), ("The", log(0.01))),
            (0.65, 0, 0.2, 0.01),
        ),
        ((("Ġc", log(0.9)), ("\nb", log(0.05))), (0, 0.9, 0.05, 0.05)),
        ((("The", log(0.7)), ("AB", log(0.2))), (0, 0, 0, 0.2)),
        ((("A", 0.0), ("B", -inf)), (1, 0, 0, 0)),
    ],
)
def test_the_ways_to_write_a_label_are_summed(candidates: tuple, expected: tuple) -> None:
    assert shares(label_log_probabilities(candidates, LABELS)) == pytest.approx(expected)


def test_labels_that_differ_by_case_alone_stay_apart() -> None:
    labels = label_log_probabilities([("M", log(0.7)), (" m", log(0.2))], {"m": "first", "M": "second"})
    assert shares(labels) == pytest.approx((0.2, 0, 0.7, 0.2))


def test_probabilities_beyond_1_are_scaled_down() -> None:
    labels = label_log_probabilities([("A", log(0.9)), (" A", log(0.11)), ("B", log(0.01))], LABELS)
    assert sum(shares(labels)[:3]) == pytest.approx(1)
    assert labels.first - labels.second == pytest.approx(log(1.01 / 0.01))
    assert labels.second == labels.floor


def test_what_no_rounding_explains_is_no_reading() -> None:
    assert label_log_probabilities([("A", log(0.9)), (" A", log(0.9))], LABELS) is None
    assert label_log_probabilities([], LABELS) is None


def test_one_text_that_two_tokens_have_is_summed() -> None:
    labels = label_log_probabilities([("A", log(0.5)), ("A", log(0.3)), ("B", log(0.1))], LABELS)
    assert shares(labels) == pytest.approx((0.8, 0, 0.1, 0.1))


def test_an_abstention_reads_as_a_tie() -> None:
    offered = replace(LOGPROB, abstention="D")
    reply = Reply(text="D", logprobs=(("D", log(0.6)), ("C", log(0.3)), ("A", log(0.1))))
    found = read_labels(offered, reply)
    assert found is not None
    assert shares(found) == pytest.approx((0.1, 0.9, 0, 0.1))


def test_only_a_verdict_that_is_the_first_token_has_label_probabilities() -> None:
    reply = Reply(text="A", logprobs=(("A", -0.1),))
    assert read_labels(LOGPROB, reply) is not None
    assert read_labels(LOGPROB, Reply(text="A")) is None
    assert read_labels(load_variant("default"), reply) is None


@given(st.lists(st.tuples(st.text(max_size=3), st.floats(-1e300, 10) | st.integers(-(10**200), 5)), min_size=1))
def test_any_candidates_give_probabilities(candidates: list[tuple[str, float]]) -> None:
    found = label_log_probabilities(candidates, LABELS)
    if found is None:
        return
    assert sum(shares(found)[:3]) <= 1 + 1e-9
    assert all(share == -inf or share >= found.floor - 1e-9 for share in (found.first, found.tie, found.second))
