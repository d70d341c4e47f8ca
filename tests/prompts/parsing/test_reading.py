"""What the server says of a reply, and what wraps its text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from datasheet.prompts import load_variant
from datasheet.prompts.parsing import INVALID_REASONS, OFF_FORMAT, REASON_SENTENCES, parse
from datasheet.records import Reply

BRACKET = load_variant("bracket")
DEFAULT = load_variant("default")
FORCED = load_variant("forced-choice")
ONE_TOKEN = load_variant("logprob")


def test_every_reason_has_a_sentence() -> None:
    assert tuple(REASON_SENTENCES) == INVALID_REASONS
    assert all(sentence.endswith(".") for sentence in REASON_SENTENCES.values())


@pytest.mark.parametrize(
    ("reply", "invalid"),
    [
        (Reply(text=""), "empty"),
        (Reply(text=" \n\u200b\ufeff "), "empty"),
        (Reply(text="<think>A or B? A.</think>"), "empty"),
        (Reply(text="[[A]]", finish_reason="content_filter"), "filtered"),
        (Reply(text="", finish_reason="context_length"), "context_length"),
        (Reply(text="[[A]]", refusal="I can't help with that."), "refusal"),
        (Reply(text="", finish_reason="length"), "truncated"),
        (Reply(text="", finish_reason="length", reasoning="Well, A"), "truncated_reasoning"),
        (Reply(text="Answer A covers", finish_reason="length"), "truncated"),
        (Reply(text="Answer A is better.", finish_reason="length"), "truncated"),
        (Reply(text="I lean to [[A]]. Answer B", finish_reason="length"), "truncated"),
        (Reply(text="[[A]] is fuller. But", finish_reason="length"), "truncated"),
        (Reply(text="Therefore, [[A]]", finish_reason="length"), "truncated"),
    ],
)
def test_reason_for_no_verdict(reply: Reply, invalid: str) -> None:
    assert parse(BRACKET, reply).invalid == invalid


@pytest.mark.parametrize("text", ["[[A]]", "Final verdict: [[A]]", "[[A]]\n\nAnswer A covers", "It is fuller.\n[[A]]"])
def test_verdict_that_stands_by_itself_counts_though_the_reply_is_cut_off(text: str) -> None:
    assert parse(BRACKET, Reply(text=text, finish_reason="length")).outcome == "first"


@pytest.mark.parametrize(
    ("text", "outcome", "invalid"),
    [("A", "first", None), (" b", "second", None), ("C", "tie", None), ("The", None, "no_verdict")],
)
def test_one_token_is_a_whole_reply_though_the_limit_ends_it(
    text: str, outcome: str | None, invalid: str | None
) -> None:
    assert ONE_TOKEN.max_tokens == 1
    verdict = parse(ONE_TOKEN, Reply(text=text, finish_reason="length"))
    assert (verdict.outcome, verdict.invalid, verdict.flags) == (outcome, invalid, ())


@pytest.mark.parametrize(
    ("text", "outcome", "invalid"),
    [
        ('{"verdict": "A"', "first", None),
        ('{"verdict": "A", "reason": "It is', "first", None),
        ('{"verdict": "A', None, "truncated"),
        ('{"verdict": ti', None, "truncated"),
        ('{"reason": "It is fuller", "verdict":', None, "truncated"),
    ],
)
def test_json_that_is_cut_off_is_read_where_the_member_is_whole(
    text: str, outcome: str | None, invalid: str | None
) -> None:
    verdict = parse(DEFAULT, Reply(text=text, finish_reason="length"))
    assert (verdict.outcome, verdict.invalid) == (outcome, invalid)


@pytest.mark.parametrize(
    "text",
    [
        "［［Ａ］］",
        "[\u200b[A\u2060]]",
        "\u202a[[A]]\u202c",
        "**[[A]]**",
        "[[**A**]]",
        "`[[A]]`",
        "```\n[[A]]\n```",
        "[[ a ]]",
        "\\[\\[A\\]\\]",
        "【【A】】",
        "[[Answer A]]",
        "<THINK>B?</THINK>[[A]]",
        "I weigh B first, then A.</think>\n\n[[A]]",
        "<think>one</think><think>[[B]]</think>\r\n[[A]]\r\n",
        "The answer uses `<think>` tags.\n[[A]]",
    ],
)
def test_wrapping_makes_no_difference(text: str) -> None:
    verdict = parse(BRACKET, Reply(text=text))
    assert (verdict.outcome, verdict.flags) == ("first", ())


def test_verdict_in_another_form_is_flagged() -> None:
    assert parse(BRACKET, Reply(text="[A]")).flags == (OFF_FORMAT,)


@pytest.mark.parametrize("text", ['{"verdict": "tie"}', '{"verdict": "C"}', '{"verdict": 1}', '{"verdict": ["A"]}'])
def test_verdict_that_the_prompt_does_not_allow(text: str) -> None:
    assert parse(FORCED, Reply(text=text)).invalid == "not_allowed"


def test_tie_in_words_where_no_tie_is_allowed() -> None:
    no_tie = replace(BRACKET, labels={"A": "first", "B": "second"})
    assert parse(no_tie, Reply(text="It is a tie.")).invalid == "not_allowed"
    assert parse(no_tie, Reply(text="[[C]]")).invalid == "not_allowed"
    assert parse(no_tie, Reply(text="[[Tie]]")).invalid == "not_allowed"


def test_abstention_is_a_tie_of_its_own_kind() -> None:
    verdict = parse(replace(BRACKET, abstention="cannot tell"), Reply(text="[[Cannot tell]]"))
    assert (verdict.outcome, verdict.abstained) == ("tie", True)


def test_refusal_in_the_opening_does_not_undo_a_verdict() -> None:
    assert parse(BRACKET, Reply(text="I cannot praise either of them.\n[[B]]")).outcome == "second"
