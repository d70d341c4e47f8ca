from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stimulus.banks import KINDS, make_bank, make_task

from datasheet.stimulus.chain import Chain, chains


@settings(deadline=None)
@given(seed=st.integers(0, 2**63), n_blocks=st.integers(1, 4))
def test_each_kind_of_requirement_is_at_each_step_equally_often(seed: int, n_blocks: int) -> None:
    made = chains(make_bank(5 * n_blocks), seed=seed)
    steps = Counter((step, r.id) for chain in made for step, r in enumerate(chain.requirements))
    assert steps == dict.fromkeys(((step, kind) for step in range(5) for kind in KINDS), n_blocks)


def test_a_task_keeps_its_chain_when_tasks_are_added_behind_it() -> None:
    assert chains(make_bank(7), seed=3) == chains(make_bank(20), seed=3)[:7]
    assert chains(make_bank(20), seed=3) != chains(make_bank(20), seed=4)


@pytest.mark.parametrize("phrasing", ["plain", "terse"])
def test_an_answer_is_the_opening_and_the_first_requirements(phrasing: str) -> None:
    task = make_task(0)
    chain = Chain(task=task, requirements=task.requirements[::-1])
    assert chain.answer(0, phrasing=phrasing) == task.openings[0]
    last, one_before = task.requirements[4].phrasings[phrasing], task.requirements[3].phrasings[phrasing]
    assert chain.answer(2, phrasing=phrasing, opening=1) == f"{task.openings[1]} {last} {one_before}"
