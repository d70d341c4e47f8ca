"""Replies that have been misread in the field, each with the reading that is right."""

from __future__ import annotations

from statistics import mean

import pytest

from datasheet.prompts import load_variant
from datasheet.prompts.parsing import FOREIGN_SCHEMAS, Schema, contains_verdict, parse, parse_text, schema_of
from datasheet.records import Reply, Verdict

BRACKET = FOREIGN_SCHEMAS["double_bracket"]
JSON = Schema(kind="json", labels={"A": "first", "B": "second", "tie": "tie"}, last=False)


def rating(low: float, high: float) -> Schema:
    return Schema(kind="rating", scale=(low, high), keys=("score",))


def named(*names: str) -> Schema:
    return Schema(kind="labels", names=names, keys=("label",))


def test_p04_case_of_a_label_makes_no_difference() -> None:
    assert parse_text("[[b]]", BRACKET).outcome == "second"


def test_p07_reply_without_a_rating_is_no_rating() -> None:
    replies = ["Score: 4", "Score: 4", "I would say it is quite nice", "Score: 4"]
    verdicts = [parse_text(reply, rating(1, 5)) for reply in replies]
    scores = [verdict.score for verdict in verdicts if verdict.score is not None]
    assert (mean(scores), len(scores)) == (4.0, 3)
    assert verdicts[2].invalid == "no_verdict"


def test_p08_example_in_an_echoed_prompt_is_not_the_rating() -> None:
    echoed = "Rate 1-5. Example of the format: Score: 5\nText: Beetroot is a root crop.\n\nScore: 2\n"
    assert parse_text(echoed, rating(1, 5)).score == 2


def test_p09_fence_around_json() -> None:
    fenced = '```json\n{\n  "winner": "B",\n  "reason": "names a root crop"\n}\n```\n'
    assert parse_text(fenced, JSON) == Verdict(outcome="second")


def test_p13_repeated_key_with_another_value() -> None:
    assert parse_text('{"winner": "A", "winner": "B"}', JSON).invalid == "conflicting_keys"
    assert parse_text('{"winner": "A", "winner": "A"}', JSON).outcome == "first"


def test_p13_missing_key() -> None:
    assert parse_text('{"ranks": [{"model": "A", "pos": 1}]}', JSON).invalid == "missing_key"


def test_p14_reply_cut_off_before_the_number_has_no_number() -> None:
    cut = 'thinking about it\n{"score":'
    assert parse_text(cut, rating(0, 10)).invalid == "no_verdict"
    reply = Reply(text='thinking about it\n{"verdict":', finish_reason="length")
    assert parse(load_variant("default"), reply).invalid == "truncated"


@pytest.mark.parametrize(
    ("text", "label", "invalid"),
    [
        ('{"pass": "false", "reason": "wrong plant"}', "fail", None),
        ('{"pass": false}', "fail", None),
        ('{"pass": true}', "pass", None),
        ('{"pass": "Yes"}', "pass", None),
        ('{"reason": "wrong plant"}', None, "missing_key"),
        ('{"pass": null}', None, "no_verdict"),
        ('{"pass": 0}', None, "not_allowed"),
        ('{"pass": 1}', None, "not_allowed"),
        ("Verdict: FAIL", "fail", None),
    ],
)
def test_p15_pass_is_said_and_never_assumed(text: str, label: str | None, invalid: str | None) -> None:
    verdict = parse_text(text, FOREIGN_SCHEMAS["binary"])
    assert (verdict.label, verdict.invalid) == (label, invalid)


@pytest.mark.parametrize(("text", "score"), [('{"score": "10"}', 10), ('{"score": " 7 "}', 7), ('{"score": 7.0}', 7)])
def test_p16_number_in_quotes_is_a_number(text: str, score: float) -> None:
    assert parse_text(text, rating(1, 10)).score == score


@pytest.mark.parametrize(
    "text",
    ['{"score": 9.2e124}', '{"score": -3}', '{"score": NaN}', '{"score": 101}', '{"score": Infinity}', "Score: -3"],
)
def test_p17_number_off_the_scale_is_neither_clamped_nor_kept(text: str) -> None:
    assert parse_text(text, rating(0, 100)).invalid == "out_of_range"


def test_p18_explanation_does_not_vote() -> None:
    text = "label: unrelated\nexplanation: a more related tip would mention soil."
    assert parse_text(text, named("related", "unrelated")).label == "unrelated"


def test_p20_longest_label_and_last_field() -> None:
    text = "The first step suggests SUCCESS, but the form was never sent.\nVerdict: NOT SUCCESS"
    assert parse_text(text, named("SUCCESS", "NOT SUCCESS")).label == "NOT SUCCESS"
    assert parse_text("Verdict: NOT SUCCESS", named("SUCCESS", "FAILURE")).invalid == "not_allowed"


def test_p21_verdict_that_is_quoted_from_an_answer() -> None:
    reply = 'The first answer says "Radish. [[A]]". The second is fuller.\n[[B]]'
    assert parse(load_variant("bracket"), Reply(text=reply)).outcome == "second"
    assert contains_verdict("Radish. [[A]]", schema_of(load_variant("bracket")))
    assert parse_text('The first answer says "Radish. [[A]]".', BRACKET).invalid == "ambiguous"


def test_p23_reasoning_does_not_vote() -> None:
    bracket = load_variant("bracket")
    assert parse(bracket, Reply(text="<think>Maybe [[A]]? No.</think>\n[[B]]")).outcome == "second"
    unclosed = Reply(text="<think>Leaning to [[A]] because it is shorter", finish_reason="length")
    assert parse(bracket, unclosed).invalid == "truncated_reasoning"


@pytest.mark.parametrize(
    ("text", "score", "invalid"),
    [
        ("Checked on 2026/04/19. Score: 4", 4, None),
        ("Score: 4/5", 4, None),
        ("Score: 4.2/10", None, "wrong_denominator"),
        ("4 out of 5", 4, None),
    ],
)
def test_p24_date_is_no_fraction(text: str, score: float | None, invalid: str | None) -> None:
    verdict = parse_text(text, rating(1, 5))
    assert (verdict.score, verdict.invalid) == (score, invalid)


@pytest.mark.parametrize("name", ["bracket", "default"])
def test_p26_refusal_is_a_class_of_its_own(name: str) -> None:
    assert parse(load_variant(name), Reply(text="I'm not able to rate these texts.")).invalid == "refusal"


def test_p27_tie_is_a_verdict() -> None:
    assert parse_text("[[C]]", BRACKET).outcome == "tie"


def test_p28_label_on_the_first_line() -> None:
    yes_no = named("Y", "N")
    assert parse_text("Y\n\nThe second sentence covers it.", yes_no).label == "Y"
    assert parse_text("Yes, but N would be fair too", yes_no).invalid == "ambiguous"


def test_a14_prose_where_json_was_asked_for() -> None:
    assert parse(load_variant("default"), Reply(text="Sure! I prefer the second answer.")).invalid == "no_verdict"


def test_t10_no_sentinel_stands_for_a_missing_score() -> None:
    for text in ("", "http error 500", "-1", "Score: -1"):
        assert parse_text(text, rating(1, 5)).score is None
