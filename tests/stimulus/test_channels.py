from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stimulus.banks import make_bank

from datasheet.records import CHANNELS, Stimulus
from datasheet.resources import stimuli_folder
from datasheet.stimulus.bank import TaskBank, bank_names, load_bank
from datasheet.stimulus.chain import chains
from datasheet.stimulus.channels import DOSES, channel_languages, channel_phrases, dosed, phrase_faults
from datasheet.stimulus.design import plan
from datasheet.stimulus.lexicon import make_lexicon
from datasheet.stimulus.texts import text_faults

BANK = make_bank(20)
PHRASES = channel_phrases("en")
SENTENCES = tuple(name for name in CHANNELS if name != "format")


def pair(channel: str, dose: int, *, turn: int = 0, seed: int = 0) -> Stimulus:
    chain = chains(BANK, seed=seed)[turn]
    return dosed(chain, channel, dose, phrases=PHRASES[channel], turn=turn)


def doses_held(text: str) -> dict[str, int]:
    """What a reader who knows the phrases finds in a text."""
    found = {name: sum(mark in text for mark in marks) for name, marks in make_lexicon(BANK).channels.items()}
    return {name: count for name, count in found.items() if count}


def points_met(text: str) -> set[str]:
    return {requirement for phrase, (_, requirement) in make_lexicon(BANK).requirements.items() if phrase in text}


@pytest.mark.parametrize("language", channel_languages())
def test_each_language_has_a_phrase_for_each_dose_of_each_channel(language: str) -> None:
    table = tomllib.loads((stimuli_folder() / "channels" / f"{language}.toml").read_text(encoding="utf-8"))
    assert tuple(table) == CHANNELS
    phrases = [phrase for texts in table.values() for phrase in texts]
    assert {len(texts) for texts in table.values()} == {len(DOSES) - 1}
    assert not [(a, b) for a in phrases for b in phrases if a is not b and a in b]
    assert [fault for phrase in phrases for fault in text_faults(phrase)] == []
    assert all(phrase == phrase.strip() for name in SENTENCES for phrase in table[name])


def test_phrases_are_found_by_the_language_alone() -> None:
    assert {"en", "pt"} <= set(channel_languages())
    assert channel_phrases("pt-BR") == channel_phrases("pt") != channel_phrases("en") == channel_phrases("EN")
    for unknown in ("tlh", "", "../channels/en", "*"):
        assert channel_phrases(unknown) == {}


def test_the_files_of_the_phrases_are_no_banks() -> None:
    assert not set(bank_names()) & {"channels", *channel_languages()}


@settings(deadline=None)
@given(
    channel=st.sampled_from(CHANNELS), turn=st.integers(0, 19), seed=st.integers(0, 2**32), dose=st.sampled_from(DOSES)
)
def test_a_dose_is_all_that_is_added(channel: str, turn: int, seed: int, dose: int) -> None:
    shown = pair(channel, dose, turn=turn, seed=seed)
    assert (shown.probe, shown.arm, shown.dose, shown.delta_q) == ("channel", channel, dose, 0)
    assert points_met(shown.answer_a) == points_met(shown.answer_b)
    assert len(points_met(shown.answer_a)) == shown.level_a == shown.level_b
    assert doses_held(shown.answer_a) == ({channel: dose} if dose else {})
    assert doses_held(shown.answer_b) == {}
    assert shown.answer_b == pair(channel, 0, turn=turn, seed=seed).answer_b


@pytest.mark.parametrize("channel", CHANNELS)
def test_dose_0_is_the_same_content_in_other_words(channel: str) -> None:
    shown, task = pair(channel, 0), BANK.tasks[0]
    assert shown.answer_a.startswith(task.openings[1] + " ")
    assert shown.answer_b.startswith(task.openings[0] + " ")
    for requirement in task.requirements:
        assert (requirement.plain_alt in shown.answer_a) == (requirement.plain in shown.answer_b)
        assert requirement.plain not in shown.answer_a


@pytest.mark.parametrize("channel", SENTENCES)
def test_sentences_stand_behind_the_answer(channel: str) -> None:
    bare, once, twice = (pair(channel, dose).answer_a for dose in DOSES)
    assert once.startswith(bare + " ")
    assert twice.startswith(once + " ")
    assert once.removeprefix(bare + " ").startswith(PHRASES[channel][0])


def test_repetition_restates_points_that_the_answer_makes() -> None:
    bare, twice = (pair("repetition", dose) for dose in (0, 2))
    added = twice.answer_a.removeprefix(bare.answer_a)
    restated = [r for r in BANK.tasks[0].requirements if r.terse in added]
    assert len(restated) == 2
    assert all(r.plain_alt in bare.answer_a for r in restated)


def test_format_goes_from_prose_to_a_list_to_headings_and_bold() -> None:
    prose, bullets, headed = (pair("format", dose).answer_a for dose in DOSES)
    assert not {"\n", "*", "#"} & set(prose)
    assert bullets.count("\n- ") == headed.count("\n- ") == pair("format", 1).level_a
    assert not {"*", "#"} & set(bullets)
    assert "\n\n## Details\n\n- **" in headed
    assert headed.replace("**", "").replace("\n## Details\n", "") == bullets


@pytest.mark.parametrize("seed", [0, 3])
def test_no_two_pairs_of_a_task_show_the_same_texts(seed: int) -> None:
    stimuli = {trial.stimulus for trial in plan(BANK, "full", seed=seed) if not trial.stimulus.identical}
    shown = [(s.question, frozenset((s.answer_a, s.answer_b))) for s in stimuli]
    assert len(set(shown)) == len(shown)


def test_a_phrase_in_the_bank_is_a_fault() -> None:
    task = BANK.tasks[2]
    marked = replace(task, filler=(*task.filler, f"So: {PHRASES['courtesy'][1]}"))
    bank = TaskBank(**{**{f: getattr(BANK, f) for f in ("name", "language", "title", "license")}, "tasks": (marked,)})
    (fault,) = phrase_faults(bank, PHRASES)
    assert (fault.task, fault.field) == (task.id, f"filler.{len(marked.filler)}")
    assert "a phrase of the channel courtesy" in fault.message


def test_no_shipped_bank_holds_a_phrase() -> None:
    for name in bank_names():
        bank = load_bank(name)
        assert list(phrase_faults(bank, channel_phrases(bank.language))) == []
