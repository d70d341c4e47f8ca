from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from datasheet.errors import PromptError
from datasheet.prompts import (
    canonical_replies,
    load_variant,
    response_schema,
    variant_content,
    variant_from_content,
    variant_names,
)
from datasheet.resources import templates_folder

USER = "Q: $question\nA: $answer_first\nB: $answer_second\n"
TOML = """
title = "Mine"
schema = "json"
verdict_stands = "whole"
max_tokens = 64
[labels]
A = "first"
B = "second"
tie = "tie"
"""

MakeVariant = Callable[..., Path]


@pytest.fixture
def make_variant(tmp_path: Path) -> MakeVariant:
    def make(*, toml: str = TOML, user: str = USER, name: str = "mine", **files: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "variant.toml").write_text(toml, encoding="utf-8")
        (folder / "user.txt").write_text(user, encoding="utf-8")
        for stem, text in files.items():
            (folder / f"{stem}.txt").write_text(text, encoding="utf-8")
        return folder

    return make


def fault_of(folder: Path | str) -> str:
    with pytest.raises(PromptError) as caught:
        load_variant(str(folder))
    return str(caught.value)


NAMES = ["bracket", "checklist", "content-only", "default", "forced-choice", "length-neutral", "logprob"]
NAMES += ["presentation-only", "reasoned", "reference", "strict-tie"]


def test_the_shipped_variants_are_these() -> None:
    assert variant_names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_variant_loads_under_its_name(name: str) -> None:
    variant = load_variant(name)
    assert variant.name == name
    assert variant.title
    assert variant.description


def test_only_the_forced_choice_allows_no_tie() -> None:
    assert {name for name in variant_names() if not load_variant(name).ties_allowed} == {"forced-choice"}


def test_shipped_variants_are_different_instruments_with_one_rubric() -> None:
    """But for those whose rubric is what they are about."""
    variants = {name: load_variant(name) for name in variant_names()}
    assert len({variant.prompt_hash for variant in variants.values()}) == len(NAMES)
    own = {"checklist", "content-only", "presentation-only"}
    assert len({variant.rubric_hash for name, variant in variants.items() if name not in own}) == 1
    assert len({variant.rubric_hash for variant in variants.values()}) == 1 + len(own)


def test_fixed_text_comes_first_and_the_answers_last() -> None:
    """Providers can keep the part of a prompt that never changes."""
    for name in variant_names():
        variant = load_variant(name)
        assert "$rubric" in variant.system
        assert "$answer" not in variant.system
        assert variant.user.index("$question") < variant.user.index("$answer_first")
        assert variant.user.index("$answer_first") < variant.user.index("$answer_second")


def test_no_prompt_tells_that_quality_was_graded() -> None:
    for file in (templates_folder() / "prompts").rglob("*.txt"):
        words = file.read_text(encoding="utf-8").lower()
        assert not any(word in words for word in ("test", "level", "probe", "benchmark", "requirement", "identical"))


def test_unknown_name_lists_the_known_ones() -> None:
    message = fault_of("defualt")
    assert "'defualt'" in message
    assert ", ".join(NAMES) in message


def test_folder_of_ones_own(make_variant: MakeVariant) -> None:
    variant = load_variant(str(make_variant(rubric="Be kind.", system="$rubric")))
    assert (variant.name, variant.rubric, variant.system) == ("mine", "Be kind.", "$rubric")
    assert variant.description == ""


def test_folder_without_a_rubric_takes_the_shipped_one(make_variant: MakeVariant) -> None:
    assert load_variant(str(make_variant())).rubric_hash == load_variant("default").rubric_hash


def test_name_title_and_description_are_no_part_of_the_identity(make_variant: MakeVariant) -> None:
    one = load_variant(str(make_variant(name="one")))
    other = load_variant(str(make_variant(name="other", toml=TOML.replace("Mine", "Yours"))))
    assert one.prompt_hash == other.prompt_hash


@pytest.mark.parametrize(
    "change",
    [
        {"user": USER + "Be quick.\n"},
        {"system": "Judge."},
        {"rubric": "Be kind."},
        {"toml": TOML.replace("64", "65")},
        {"toml": TOML.replace('"whole"', '"last"')},
        {"toml": TOML.replace('"json"', '"bracket"')},
        {"toml": TOML.replace("tie =", "neither =")},
        {"toml": TOML.replace("[labels]", 'abstention = "unsure"\n[labels]')},
    ],
)
def test_all_that_shapes_a_reading_is_part_of_the_identity(make_variant: MakeVariant, change: dict[str, str]) -> None:
    plain = load_variant(str(make_variant(name="plain")))
    changed = load_variant(str(make_variant(name="changed", **change)))
    assert plain.prompt_hash != changed.prompt_hash


def test_line_ends_and_byte_order_mark_make_no_difference(make_variant: MakeVariant) -> None:
    plain = make_variant(name="plain")
    windows = make_variant(name="windows")
    (windows / "user.txt").write_bytes(b"\xef\xbb\xbf" + USER.replace("\n", "\r\n").encode())
    assert load_variant(str(plain)).prompt_hash == load_variant(str(windows)).prompt_hash


def test_abstention_allows_a_tie(make_variant: MakeVariant) -> None:
    toml = TOML.replace('tie = "tie"\n', "").replace("[labels]", 'abstention = "cannot tell"\n[labels]')
    assert load_variant(str(make_variant(toml=toml))).ties_allowed


def test_unknown_placeholder_and_unused_answer_are_named(make_variant: MakeVariant) -> None:
    """Field case F12: answer b was asked for by another name, and never reached the judge."""
    message = fault_of(make_variant(user="$question Text A: $answer_first Text B: $answer_b"))
    assert "unknown placeholder $answer_b" in message
    assert "$answer_second is never used" in message


def test_placeholders_of_another_style_are_not_used(make_variant: MakeVariant) -> None:
    """Field case F12, as it came: braces are plain text here, so that no answer would have been shown."""
    message = fault_of(make_variant(user="Rubric: {{rubric}}\nText A: {a}\nText B: {answer_b}\n"))
    assert all(f"${name} is never used" in message for name in ("question", "answer_first", "answer_second"))
    assert "Placeholders are written $question" in message


def test_stray_dollar_is_a_fault(make_variant: MakeVariant) -> None:
    assert "write $$" in fault_of(make_variant(user=USER + "It costs $5."))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'schema = "json"',
            'schema = "xml"',
            "schema must be one of json, bracket, single_token, checklist, not 'xml'",
        ),
        ('schema = "json"\n', "", "field 'schema' is missing"),
        ("max_tokens = 64", 'max_tokens = "64"', "max_tokens must be a whole number, not '64'"),
        ("max_tokens = 64", "max_tokens = 0", "max_tokens must be at least 1"),
        ("max_tokens = 64", "max_tokens = true", "max_tokens must be a whole number"),
        ("title", "titel", "unknown field 'titel'"),
        ('B = "second"', 'B = "b"', "label 'B' must stand for one of first, tie, second"),
        ('B = "second"\n', "", "no label stands for 'second'"),
        ('tie = "tie"', 'a = "tie"', "labels must differ by more than case"),
        ('tie = "tie"', '" " = "tie"', "a label must not be empty"),
        ("[labels]", "[labels", "not valid TOML"),
        ("[labels]", "top_logprobs = 5\n[labels]", "top_logprobs needs the schema single_token, not 'json'"),
        ("[labels]", "top_logprobs = 0\n[labels]", "top_logprobs must be at least 1 and at most 1,000, not 0"),
        ("[labels]", "top_logprobs = true\n[labels]", "top_logprobs must be a whole number"),
        ('schema = "json"', 'schema = "checklist"\nabstention = "unsure"', "a checklist can come out even"),
        ('schema = "json"', 'schema = "checklist"\ntop_logprobs = 5', "top_logprobs needs the schema single_token"),
    ],
)
def test_fault_in_the_fields_is_named(make_variant: MakeVariant, old: str, new: str, said: str) -> None:
    folder = make_variant(toml=TOML.replace(old, new))
    message = fault_of(folder)
    assert said in message
    assert str(folder / "variant.toml") in message


@pytest.mark.parametrize(
    ("rubric", "found"),
    [("- Is it good?", "none"), ("1. Is it good?\n3. Is it kind?", "1, 3"), ("2. Is it good?", "2"), ("1.Bad", "none")],
)
def test_a_checklist_is_answered_by_the_numbers_of_its_rubric(
    make_variant: MakeVariant, rubric: str, found: str
) -> None:
    checklist = TOML.replace('"json"', '"checklist"')
    assert f"found the numbers {found}" in fault_of(make_variant(toml=checklist, rubric=rubric))
    own = make_variant(name="own", toml=checklist, rubric="1. Is it good?\n2. Is it kind?\n")
    assert load_variant(str(own)).checklist_items == 2
    assert load_variant("default").checklist_items == 0


def test_a_checklist_needs_a_tie(make_variant: MakeVariant) -> None:
    toml = TOML.replace('"json"', '"checklist"').replace('tie = "tie"\n', "")
    assert "a checklist can come out even" in fault_of(make_variant(toml=toml, rubric="1. Is it good?"))


def test_text_that_is_not_utf8_is_a_fault(make_variant: MakeVariant) -> None:
    folder = make_variant()
    (folder / "user.txt").write_bytes(USER.encode() + b"\xe9")
    assert "expected UTF-8" in fault_of(folder)


def test_missing_and_oversized_texts_are_faults(make_variant: MakeVariant) -> None:
    folder = make_variant()
    (folder / "user.txt").write_text(USER + "x" * 300_000, encoding="utf-8")
    assert "larger than 200,000 bytes" in fault_of(folder)
    (folder / "user.txt").unlink()
    assert "can't be read" in fault_of(folder)


def test_a_number_of_thousands_of_digits_is_a_fault(make_variant: MakeVariant) -> None:
    assert "not valid TOML" in fault_of(make_variant(toml=TOML.replace("64", "1" * 5000)))
    assert "at most 1,000,000" in fault_of(make_variant(name="big", toml=TOML.replace("64", "1" * 500)))


def test_a_variant_comes_back_from_its_content(make_variant: MakeVariant) -> None:
    toml = TOML.replace("[labels]", 'abstention = "unsure"\n[labels]').replace("A =", "zett =")
    own = load_variant(str(make_variant(toml=toml, user=USER + "É $rubric $$", system="Judge.")))
    for variant in [own, *map(load_variant, variant_names())]:
        held = variant_from_content(variant_content(variant))
        assert held == variant
        assert (held.prompt_hash, held.rubric_hash) == (variant.prompt_hash, variant.rubric_hash)
        assert response_schema(held) == response_schema(variant)  # the labels keep their order
        assert canonical_replies(held) == canonical_replies(variant)


def test_candidates_are_part_of_the_identity_where_a_variant_asks_for_them(make_variant: MakeVariant) -> None:
    one_token = TOML.replace('"json"', '"single_token"')
    plain = load_variant(str(make_variant(name="plain", toml=one_token)))
    asking = load_variant(str(make_variant(name="asking", toml=one_token.replace("[lab", "top_logprobs = 5\n[lab"))))
    assert (plain.top_logprobs, asking.top_logprobs, load_variant("logprob").top_logprobs) == (None, 5, 20)
    assert plain.prompt_hash != asking.prompt_hash
    assert "top_logprobs" not in variant_content(plain)  # what earlier releases wrote down


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"labels": [["A", "first"], ["B", 2]]}, "labels must be a table"),
        ({"labels": [["A", "first"], ["B"]]}, "labels must be a table"),
        ({"labels": [["A", "first"]]}, "no label stands for 'second'"),
        ({"max_tokens": True}, "max_tokens must be a whole number"),
        ({"schema": None}, "field 'schema' is missing"),
        ({"system": 5}, "system must be text"),
        ({"user": "no placeholders"}, "$question is never used"),
        ({"more": 1}, "expected an object of abstention"),
    ],
)
def test_odd_content_is_a_fault(change: dict[str, object], said: str) -> None:
    content = json.dumps(json.loads(variant_content(load_variant("default"))) | change)
    with pytest.raises(PromptError) as caught:
        variant_from_content(content)
    assert said in str(caught.value)


@pytest.mark.parametrize("content", ["", "[]", "null", "{}", "[" * 100_000, '{"max_tokens": ' + "1" * 5000 + "}", "x"])
def test_what_is_no_content_at_all_is_a_fault(content: str) -> None:
    with pytest.raises(PromptError, match="stored prompt variant: expected"):
        variant_from_content(content)
