"""What is still to ask."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from trials.fake_judge import plan

from datasheet.trials.pending import pending


def test_keeps_the_planned_order_and_leaves_out_what_is_answered() -> None:
    planned = plan(6)
    answered = {planned[0][1].key, planned[3][1].key}
    assert pending(planned, answered) == [planned[1], planned[2], planned[4], planned[5]]


def test_a_presentation_that_comes_twice_is_asked_once() -> None:
    planned = plan(3)
    assert pending([*planned, planned[1]], set()) == planned


@given(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_answering_in_two_parts_leaves_what_answering_at_once_leaves(first: set[int], second: set[int]) -> None:
    planned = plan(10)
    keys = [request.key for _, request in planned]
    one, two = {keys[i] for i in first}, {keys[i] for i in second}
    assert pending(pending(planned, one), two) == pending(planned, one | two)
