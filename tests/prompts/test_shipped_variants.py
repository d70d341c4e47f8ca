"""Each shipped variant is about one thing, and lets nothing else through."""

from __future__ import annotations

import re

import pytest

from datasheet.errors import PromptError
from datasheet.prompts import PromptVariant, load_variant, parse, render, variant_names
from datasheet.records import Reply
from datasheet.stimulus.bank import load_bank
from datasheet.stimulus.design import plan

PRESENTATION = re.compile(
    "style|format|layout|tone|word|phras|length|long|short|brief|concis|verbose|heading|bullet|bold|polite|courte|"
    "read|tidy|present|look|order"
)
CONTENT = re.compile("correct|accura|fact|complet|leave|asks|cover|bear|relevan|right|wrong|useful|helpful")
LENGTH = re.compile("length|long|short|brief|concis|verbose")


def words_of(variant: PromptVariant) -> set[str]:
    """The words of a prompt, but for the placeholders and the marks around the answers."""
    text = f"{variant.system}\n{variant.rubric}".lower()
    return set(re.findall(r"[a-z]+", re.sub(r"\$\w+", " ", text)))


def told_of(variant: PromptVariant, stems: re.Pattern[str]) -> list[str]:
    return sorted(word for word in words_of(variant) if stems.match(word))


def without(text: str, paragraph: str) -> str:
    return "\n\n".join(part for part in text.split("\n\n") if not part.startswith(paragraph))


def test_content_only_mentions_nothing_but_content() -> None:
    """To say what should not count is to bring it to mind."""
    variant = load_variant("content-only")
    assert told_of(variant, PRESENTATION) == []
    assert told_of(variant, CONTENT) != []


def test_presentation_only_mentions_content_only_to_set_it_aside() -> None:
    variant = load_variant("presentation-only")
    assert told_of(variant, CONTENT) == []
    assert told_of(variant, PRESENTATION) != []
    assert "What they say plays no part." in variant.system


def test_length_neutral_is_default_and_one_sentence() -> None:
    neutral, default = load_variant("length-neutral"), load_variant("default")
    assert without(neutral.system, "Length is neither a merit nor a fault") == default.system
    assert neutral.system.count("longer") == neutral.system.count("shorter") == 1
    assert (neutral.user, neutral.rubric, neutral.labels) == (default.user, default.rubric, default.labels)
    assert told_of(default, LENGTH) == []


def test_reasoned_is_default_but_for_the_reasons() -> None:
    reasoned, default = load_variant("reasoned"), load_variant("default")
    before = default.system.partition("Reply with")[0]
    assert reasoned.system.startswith(before)
    assert (reasoned.user, reasoned.rubric, reasoned.labels) == (default.user, default.rubric, default.labels)
    assert reasoned.max_tokens > default.max_tokens
    said = reasoned.system.removeprefix(before)
    assert said.index('"reasons"') < said.index('"verdict"')


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ('{"reasons": "B is short, A is whole.", "verdict": "A"}', "first"),
        ('{"verdict": "B", "reasons": "afterwards"}', "second"),
        ('{"reasons": "The answer says {\\"verdict\\": \\"B\\"}, which is no reason.", "verdict": "A"}', "first"),
        ('First {"verdict": "B"}. On second thoughts {"reasons": "x", "verdict": "tie"}', "tie"),
        ('Both are good.\n\n{"verdict": "A"}', "first"),
        ('{"reasons": "A said "yes" and B did not", "verdict": "A"}', "first"),
        ('{"reasons": "A is better"}', None),
        ('{"reasons": "A is better", "verdict": "C"}', None),
    ],
)
def test_the_verdict_after_the_reasons_counts(text: str, outcome: str | None) -> None:
    assert parse(load_variant("reasoned"), Reply(text=text, finish_reason="stop")).outcome == outcome


def test_reasons_that_were_cut_off_are_no_verdict() -> None:
    reply = Reply(text='{"reasons": "A is better than B in every', finish_reason="length")
    assert parse(load_variant("reasoned"), reply).invalid == "truncated"


def test_the_reference_stands_before_the_answers_and_is_none_of_them() -> None:
    variant, default = load_variant("reference"), load_variant("default")
    (_, system), (_, user) = render(variant, question="Why?", first="one", second="two", reference="$answer_first {x}")
    region = "===== ANSWER FOR REFERENCE BEGINS =====\n$answer_first {x}\n===== ANSWER FOR REFERENCE ENDS =====\n\n"
    assert user.index("QUESTION ENDS") < user.index(region) < user.index("ANSWER A BEGINS")
    assert user.replace(region, "") == render(default, question="Why?", first="one", second="two")[1][1]
    assert "It is not one of the two, and an answer that differs from it can be just as good." in system
    assert variant.rubric == default.rubric


@pytest.mark.parametrize("name", [name for name in variant_names() if name != "reference"])
def test_no_other_variant_shows_the_reference(name: str) -> None:
    messages = render(load_variant(name), question="Why?", first="one", second="two", reference="REFERENCE-TEXT")
    assert "REFERENCE-TEXT" not in repr(messages)
    assert "reference" not in repr(messages).lower()


def test_a_stimulus_without_a_reference_is_refused_before_any_call() -> None:
    with pytest.raises(PromptError, match="this stimulus has none"):
        render(load_variant("reference"), question="Why?", first="one", second="two")


def test_every_task_of_the_shipped_bank_can_be_shown_with_its_reference() -> None:
    for trial in plan(load_bank("english"), "quick"):
        first, second = trial.stimulus.shown(trial.order)
        shown = {"question": trial.stimulus.question, "first": first, "second": second}
        text = render(load_variant("reference"), **shown, reference=trial.stimulus.reference)[1][1]
        assert trial.stimulus.reference in text


def test_a_checklist_asks_about_each_answer_on_its_own() -> None:
    variant = load_variant("checklist")
    assert variant.checklist_items == 6
    items = variant.rubric.splitlines()
    assert [item.partition(".")[0] for item in items] == [str(number) for number in range(1, 7)]
    assert all(item.endswith("?") for item in items)
    assert not any(re.search(r"\b(A|B|both|other|better|than the)\b", item) for item in items)
