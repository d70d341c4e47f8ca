"""The arms of the ladder, the same-quality pairs and the vacuum: what each pair holds fixed and what it moves."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stimulus.banks import make_bank

from datasheet.records import Stimulus, word_count
from datasheet.stimulus import ladder
from datasheet.stimulus.chain import Chain, chains
from datasheet.stimulus.lexicon import make_lexicon
from datasheet.stimulus.same_quality import different_subset, same_subset
from datasheet.stimulus.vacuum import VACUUM_KINDS, vacuum

BANK = make_bank(10)
LEVEL_PAIRS = st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] < pair[1])
SEEDS = st.integers(0, 10_000)
TASKS = st.integers(0, len(BANK.tasks) - 1)


def met(text: str) -> set[str]:
    return {requirement for phrase, (_, requirement) in make_lexicon(BANK).requirements.items() if phrase in text}


@settings(deadline=None)
@given(start=st.integers(0, 40), seed=SEEDS, levels=LEVEL_PAIRS)
def test_a_better_answer_goes_on_where_the_worse_ends(start: int, seed: int, levels: tuple[int, int]) -> None:
    worse, better = levels
    for chain in chains(make_bank(3, start=start), seed=seed):
        pair = ladder.prefix(chain, worse=worse, better=better)
        assert pair.answer_a.startswith(pair.answer_b + " ")
        words_a, words_b = pair.answer_a.split(), pair.answer_b.split()
        assert words_a[: len(words_b)] == words_b
        assert (pair.level_a, pair.level_b, pair.delta_q) == (better, worse, better - worse)


@settings(deadline=None)
@given(task=TASKS, seed=SEEDS, levels=LEVEL_PAIRS)
def test_all_ladder_arms_meet_the_same_requirements(task: int, seed: int, levels: tuple[int, int]) -> None:
    worse, better = levels
    chain = chains(BANK, seed=seed)[task]
    kinds = [requirement.id for requirement in chain.requirements]
    for pair in every_arm(chain, worse, better, seed):
        assert met(pair.answer_a) == set(kinds[:better])
        assert met(pair.answer_b) == set(kinds[:worse])


def every_arm(chain: Chain, worse: int, better: int, seed: int) -> list[Stimulus]:
    return [
        ladder.prefix(chain, worse=worse, better=better),
        ladder.terse_better(chain, worse=worse, better=better),
        ladder.wordy_better(chain, worse=worse, better=better),
        ladder.filled_even(chain, worse=worse, better=better, seed=seed),
        ladder.filled_longer(chain, worse=worse, better=better, seed=seed),
    ]


@settings(deadline=None)
@given(task=TASKS, seed=SEEDS, levels=LEVEL_PAIRS)
def test_filler_brings_the_worse_answer_to_its_length(task: int, seed: int, levels: tuple[int, int]) -> None:
    worse, better = levels
    chain = chains(BANK, seed=seed)[task]
    even = ladder.filled_even(chain, worse=worse, better=better, seed=seed)
    longer = ladder.filled_longer(chain, worse=worse, better=better, seed=seed)
    for pair, (low, high) in ((even, (0.9, 1.1)), (longer, (1.3, 1.5))):
        bare = chain.answer(worse)
        assert low <= word_count(pair.answer_b) / word_count(pair.answer_a) <= high
        assert pair.answer_b.startswith(bare + " ")
        assert pair.filler_b == word_count(pair.answer_b) - word_count(bare)
        added = pair.answer_b.removeprefix(bare + " ")
        used = [sentence for sentence in chain.task.filler if sentence in added]
        assert sorted(" ".join(used).split()) == sorted(added.split())


def test_filler_varies_with_the_seed_and_not_between_runs() -> None:
    chain = chains(BANK, seed=0)[0]
    made = [ladder.filled_longer(chain, worse=2, better=4, seed=seed) for seed in range(5)]
    assert made == [ladder.filled_longer(chain, worse=2, better=4, seed=seed) for seed in range(5)]
    assert len({pair.answer_b for pair in made}) > 1


def test_phrasing_moves_length_and_nothing_else() -> None:
    chain = chains(BANK, seed=0)[0]
    terse, wordy = ladder.terse_better(chain, worse=2, better=3), ladder.wordy_better(chain, worse=2, better=3)
    assert word_count(terse.answer_a) < word_count(terse.answer_b)
    assert word_count(wordy.answer_a) > 2 * word_count(wordy.answer_b)
    assert terse.filler_b == wordy.filler_b == 0
    opening = chain.task.openings[0]
    assert all(t.startswith(opening) for p in (terse, wordy) for t in (p.answer_a, p.answer_b))


@pytest.mark.parametrize("level", range(6))
def test_same_subset_says_the_same_in_other_words(level: int) -> None:
    for chain in chains(BANK, seed=1):
        pair = same_subset(chain, level)
        assert not pair.identical
        assert met(pair.answer_a) == met(pair.answer_b) == {r.id for r in chain.requirements[:level]}
        assert (pair.level_a, pair.level_b) == (level, level)
    assert (pair.answer_a, pair.answer_b) == chain.task.openings or level > 0


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_different_subsets_meet_as_many_requirements(level: int) -> None:
    for chain in chains(BANK, seed=1):
        pair = different_subset(chain, level)
        assert len(met(pair.answer_a)) == len(met(pair.answer_b)) == level
        assert met(pair.answer_a) != met(pair.answer_b)


@pytest.mark.parametrize("level", [0, 5])
def test_there_are_no_different_subsets_of_none_or_all(level: int) -> None:
    with pytest.raises(ValueError, match="no two different subsets"):
        different_subset(chains(BANK, seed=1)[0], level)


def test_vacuum_pairs_hold_nothing_to_prefer() -> None:
    chain = chains(BANK, seed=0)[0]
    pairs = {kind: vacuum(chain, kind, level=3) for kind in VACUUM_KINDS}
    assert all(pair.identical and pair.level_a is None and pair.delta_q == 0 for pair in pairs.values())
    assert pairs["empty"].answer_a == ""
    assert pairs["whitespace"].answer_a.isspace()
    assert pairs["identical"].answer_a == chain.answer(3)
    assert len({pair.id for pair in pairs.values()}) == 3
