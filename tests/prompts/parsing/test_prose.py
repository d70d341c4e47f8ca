"""Conclusions in plain words, where the asked form is absent."""

from __future__ import annotations

import pytest

from datasheet.prompts.parsing import FOREIGN_SCHEMAS, OFF_FORMAT, parse_text

BRACKET = FOREIGN_SCHEMAS["double_bracket"]
OTHER = {"first": "second", "second": "first", "tie": "tie"}


def swapped(text: str) -> str:
    return text.replace("Assistant A", "*").replace("Assistant B", "Assistant A").replace("*", "Assistant B")


CONCLUSIONS = [
    ("Therefore, Assistant A is better.", "first"),
    ("Assistant A is the better AI assistant.", "first"),
    ("Overall, Assistant A is clearly superior because it covers the roots.", "first"),
    ("Assistant A's answer is better.", "first"),
    ("Assistant A is better than Assistant B.", "first"),
    ("Assistant A is worse than Assistant B.", "second"),
    ("Assistant A provides a much better answer than Assistant B.", "first"),
    ("Assistant A answered the questions better than Assistant B.", "first"),
    ("Assistant A wins.", "first"),
    ("The response of Assistant A is better.", "first"),
    ("The answer given by Assistant A is better.", "first"),
    ("Assistant A is better than Assistant B in answering the question.", "first"),
    ("I must choose Assistant A as the better option.", "first"),
    ("I prefer Assistant A.", "first"),
    ("The better assistant is Assistant A.", "first"),
    ("The winner is: Assistant A", "first"),
    ("While Assistant B does not name a root, Assistant A is better.", "first"),
    ("Assistant B did not answer, so Assistant A is better.", "first"),
    ("Assistant A is better in style, but Assistant B is better overall.", "second"),
    ("Assistant A is better.\n\nIt is fuller. Assistant B is short.\n\nTherefore, Assistant A is better.", "first"),
    ("It's a tie.", "tie"),
    ("The verdict is a tie.", "tie"),
    ("Both assistants are equally good.", "tie"),
    ("Assistant A and Assistant B are equally good.", "tie"),
    ("Neither assistant is better.", "tie"),
    ("Neither Assistant A nor Assistant B can be considered better here.", "tie"),
    ("Neither assistant provided a better answer.", "tie"),
]

NO_CONCLUSIONS = [
    "Assistant A is not better.",
    "Assistant A isn't better.",
    "Assistant A is hardly better.",
    "I don't think Assistant A is better.",
    "I do not believe, all in all, that Assistant A is better.",
    "It is not true, in my view, that Assistant A is better.",
    "It would be wrong to conclude that Assistant A is better.",
    "I would not choose Assistant A.",
    "Assistant A did not perform better than Assistant B.",
    "If style mattered, Assistant A is better.",
    "Assistant A is better if you want a list.",
    "Assistant A is better only on the first point.",
    "Some might say Assistant A is better.",
    "The text claims that Assistant A is better.",
    "Some people prefer Assistant A.",
    "Assistant A is better organized than Assistant B.",
    "Assistant A explains loops better than Assistant B.",
    "Assistant A's style is better.",
    "Assistant A is better in style.",
    "Assistant A is better, at least in style.",
    "Assistant A is better than Assistant B in terms of style.",
    "Assistant A is better than Assistant B at reasoning.",
    "Assistant A wins on style.",
    "The style of Assistant A is better.",
    "The explanation by Assistant A is better.",
    "I can see why users prefer Assistant A.",
    "To make it better: Assistant A, add a list.",
    "The best gift that both name is a tie.",
    "Assistant A is better, but Assistant B is more accurate.",
    "Which is better, Assistant A or Assistant B?",
    "Is Assistant A better?",
    "I choose Assistant A or Assistant B.",
    "It is not a tie.",
    "Is it a tie?",
    "A tie-breaker is needed.",
    "Both assistants are equally helpful.",
    "The points of both are not equally good.",
    "Assistant A covers the roots, and Assistant B the leaves.",
]


@pytest.mark.parametrize(("text", "outcome"), CONCLUSIONS)
def test_conclusion_is_read_and_flagged(text: str, outcome: str) -> None:
    verdict = parse_text(text, BRACKET)
    assert (verdict.outcome, verdict.flags) == (outcome, (OFF_FORMAT,))


@pytest.mark.parametrize(("text", "outcome"), CONCLUSIONS)
def test_swapping_the_names_swaps_the_reading(text: str, outcome: str) -> None:
    assert parse_text(swapped(text), BRACKET).outcome == OTHER[outcome]


@pytest.mark.parametrize("text", NO_CONCLUSIONS + [swapped(text) for text in NO_CONCLUSIONS])
def test_anything_less_is_not_read(text: str) -> None:
    assert parse_text(text, BRACKET).invalid == "no_verdict"


def test_conclusions_that_differ_leave_no_reading() -> None:
    text = "Assistant A is better. On the whole, Assistant B is better."
    assert parse_text(text, BRACKET).invalid == "conflicting"


@pytest.mark.parametrize(
    "text", ["The second answer is better.", "Response 2 is better.", "Model B is better.", "[B] is better than [A]."]
)
def test_answers_go_by_several_names(text: str) -> None:
    assert parse_text(text, BRACKET).outcome == "second"
