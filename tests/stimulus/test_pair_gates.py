from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stimulus.banks import make_bank

from datasheet.identity import stimulus_id
from datasheet.records import Stimulus
from datasheet.stimulus.design import plan
from datasheet.stimulus.pair_gates import check_stimuli

STIMULI = list(dict.fromkeys(trial.stimulus for trial in plan(make_bank(20), "full")))


def texts(stimulus: Stimulus, **changes: str) -> Stimulus:
    """The stimulus with other texts and the id that belongs to them."""
    made = replace(stimulus, **changes)
    return replace(made, id=stimulus_id(made.question, made.answer_a, made.answer_b))


def spoil(arm: str, change: Callable[[Stimulus], Stimulus], *, level_b: int | None = None) -> list[str]:
    """The faults after one stimulus of an arm was changed among all stimuli of its task."""
    chosen = next(s for s in STIMULI if s.arm == arm and (level_b is None or s.level_b == level_b))
    others = [s for s in STIMULI if s.task == chosen.task and s != chosen]
    faults = check_stimuli([*others, change(chosen)])
    assert all(fault.task == chosen.task for fault in faults)
    return [f"{fault.field}: {fault.message}" for fault in faults]


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32), start=st.integers(0, 30))
def test_what_a_good_bank_makes_passes(seed: int, start: int) -> None:
    trials = plan(make_bank(20, start=start), "full", seed=seed)
    assert check_stimuli(trial.stimulus for trial in trials) == []


CASES: dict[str, tuple[str, Callable[[Stimulus], Stimulus], str]] = {
    "not a prefix": ("prefix", lambda s: texts(s, answer_b=s.answer_b.replace("toy", "new")), "begin with answer b"),
    "half a word": ("prefix", lambda s: texts(s, answer_b=s.answer_a[:-2]), "begin with answer b, word for word"),
    "longer": ("prefix", lambda s: texts(s, answer_b=s.answer_a + " More."), "and go on"),
    "same": ("prefix", lambda s: texts(s, answer_b=s.answer_a), "the answers must differ"),
    "no level apart": ("prefix", lambda s: replace(s, level_a=s.level_b), "higher level"),
    "vacuum differs": ("identical", lambda s: texts(s, answer_b="Other."), "must be the same text"),
    "empty is not empty": ("empty", lambda s: texts(s, answer_a=" ", answer_b=" "), "not what the kind empty says"),
    "no whitespace": ("whitespace", lambda s: texts(s, answer_a="", answer_b=""), "the kind whitespace says"),
    "identical blanks": ("identical", lambda s: texts(s, answer_a=" ", answer_b=" "), "the kind identical says"),
    "levels of same_subset": (
        "same_subset",
        lambda s: replace(s, level_a=5, level_b=4),
        "both answers must be of one level",
    ),
    "no levels": ("different_subset", lambda s: replace(s, level_a=None, level_b=None), "of one level"),
    "an empty answer": ("same_subset", lambda s: texts(s, answer_b=""), "an answer is empty"),
    "filler cut": (
        "filled_longer",
        lambda s: texts(s, answer_b=s.answer_b.rsplit(" ", 8)[0]),
        "must have 1.3 to 1.5 times",
    ),
    "filler long": (
        "filled_even",
        lambda s: texts(s, answer_b=s.answer_b + " word" * 30),
        "must have 0.9 to 1.1 times",
    ),
    "filler miscounted": ("filled_even", lambda s: replace(s, filler_b=1), "1 words of filler"),
    "no filler": ("filled_even", lambda s: replace(s, filler_b=0), "0 words of filler"),
    "id": ("prefix", lambda s: replace(s, question=s.question + "?"), "not the hash"),
    "no question": ("prefix", lambda s: texts(s, question=""), "the question is empty"),
    "task id": ("same_subset", lambda s: texts(s, answer_a=f"{s.answer_a} {s.task}"), "a holds the identifier"),
    "level": ("same_subset", lambda s: texts(s, answer_b=s.answer_b + " Level 2."), "b tells how it was made"),
    "arm": ("same_subset", lambda s: texts(s, question=s.question + " same_subset"), "question tells how it was made"),
    "verdict": ("same_subset", lambda s: texts(s, answer_b=s.answer_b + " [[B]]"), "b holds verdict syntax"),
    "unseen": ("same_subset", lambda s: texts(s, answer_b=s.answer_b + "\u200b"), "U+200B"),
}


@pytest.mark.parametrize("case", CASES)
def test_each_gate_names_probe_and_arm(case: str) -> None:
    arm, change, message = CASES[case]
    found = spoil(arm, change)
    assert any(f"/{arm}: " in fault and message in fault for fault in found), found


def dosed(stimulus: Stimulus, dose: int) -> Stimulus:
    """The pair of another dose of the same task and channel."""
    return next(s for s in STIMULI if (s.task, s.arm, s.dose) == (stimulus.task, stimulus.arm, dose))


CHANNEL_CASES: dict[str, tuple[Callable[[Stimulus], Stimulus], str]] = {
    "no dose": (lambda s: replace(s, dose=None), "needs a dose, and a pair of dose 0"),
    "no levels": (lambda s: replace(s, level_a=None, level_b=None), "both answers must be of one level"),
    "another level": (lambda s: replace(s, level_b=2), "both answers must be of one level"),
    "same": (lambda s: texts(s, answer_a=s.answer_b), "the answers must differ"),
    "b changed": (lambda s: texts(s, answer_b=s.answer_b + " More."), "b must be that of the pair of dose 0"),
    "content lost": (lambda s: texts(s, answer_a=s.answer_a.replace("list", "shop")), "hold every word of answer a"),
    "content moved": (lambda s: texts(s, answer_a=" ".join(s.answer_a.split()[::-1])), "in their order"),
    "nothing added": (lambda s: texts(s, answer_a=dosed(s, 0).answer_a), "must add 1 to 120 words, found 0"),
    "much added": (lambda s: texts(s, answer_a=s.answer_a + " word" * 120), "must add 1 to 120 words"),
    "a mark": (lambda s: texts(s, answer_a=s.answer_a + " Level 2."), "a tells how it was made"),
}


@pytest.mark.parametrize("case", CHANNEL_CASES)
@pytest.mark.parametrize("arm", ["hedging", "format"])
def test_each_channel_gate_names_the_channel(arm: str, case: str) -> None:
    change, message = CHANNEL_CASES[case]
    chosen = next(s for s in STIMULI if s.arm == arm and s.dose == 2)
    others = [s for s in STIMULI if s.task == chosen.task and s != chosen]
    found = [f"{fault.field}: {fault.message}" for fault in check_stimuli([*others, change(chosen)])]
    assert any(fault.startswith(f"channel/{arm}: ") and message in fault for fault in found), found
    assert all("dose 2, " in fault for fault in found) or case == "no dose"


def test_a_channel_without_dose_0_is_a_fault() -> None:
    chosen = next(s for s in STIMULI if s.arm == "injection" and s.dose == 1)
    (fault,) = check_stimuli([chosen])
    assert fault.field == "channel/injection"
    assert fault.message.endswith("a pair of dose 0 of its task and channel beside it")


@pytest.mark.parametrize(
    ("arm", "expected"), [("terse_better", "a must have fewer"), ("wordy_better", "a must have more")]
)
def test_phrasing_arms_are_compared_with_the_plain_answer(arm: str, expected: str) -> None:
    other = {"terse_better": "wordy_better", "wordy_better": "terse_better"}[arm]

    def swapped(stimulus: Stimulus) -> Stimulus:
        twin = next(
            s for s in STIMULI if (s.arm, s.task, s.level_a, s.level_b) == (other, stimulus.task, stimulus.level_a, 1)
        )
        return texts(stimulus, answer_a=twin.answer_a)

    assert any(f"answer {expected}" in fault for fault in spoil(arm, swapped, level_b=1))
    longer_opening = spoil(arm, lambda s: texts(s, answer_b=s.answer_b + " More."), level_b=0)
    assert any("b must be the opening alone" in fault for fault in longer_opening)


def test_the_same_pair_in_two_arms_is_a_fault() -> None:
    pair = next(s for s in STIMULI if s.arm == "same_subset")
    faults = check_stimuli([pair, replace(pair, arm="different_subset")])
    assert [fault.message.partition(": ")[2] for fault in faults] == [
        f"is the same pair of texts as one of {pair.task}, same_quality/same_subset"
    ]
