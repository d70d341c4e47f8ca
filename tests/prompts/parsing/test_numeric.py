"""Ratings of one answer, and two scores."""

from __future__ import annotations

import pytest

from datasheet.prompts.parsing import FOREIGN_SCHEMAS, Schema, parse_text

RATING = FOREIGN_SCHEMAS["rating"]


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("7", 7),
        (" **7** ", 7),
        ("7/10", 7),
        ("8.5", 8.5),
        ("Rating: [[7]]", 7),
        ("Step 1 of 3 is right. Rating: [[7]]", 7),
        ("Use the format Rating: [[5]].\n\nRating: [[7]]", 7),
        ("Score: 7", 7),
        ("I give it a score of 7 out of 10.", 7),
        ("Style score: 3\nFinal score: 7", 7),
        ("７", 7),
        ('{"rating": 7, "why": "3 of 4 points"}', 7),
        ('{"why": "fine"}\nScore: 7', 7),
        ("7\n\nIt names 3 of 4 points.", 7),
        ("Score: 7.", 7),
    ],
)
def test_rating(text: str, score: float) -> None:
    assert parse_text(text, RATING).score == score


@pytest.mark.parametrize(
    ("text", "invalid"),
    [
        ("Score: 3\nScore: 4", "conflicting"),
        ("[[3]] and [[4]]", "conflicting"),
        ("3\nIt is short.\n4", "conflicting"),
        ('{"score": 3} {"score": 4}', "conflicting"),
        ('{"score": 3, "score": 4}', "conflicting_keys"),
        ('{"why": "fine"}', "missing_key"),
        ('{"score": null}', "no_verdict"),
        ('{"score": true}', "not_allowed"),
        ('{"score": "good"}', "not_allowed"),
        ("Score: 1-10", "no_verdict"),
        ("Score: 1 to 10", "no_verdict"),
        ("Score: 70%", "no_verdict"),
        ("Score: 7/5", "wrong_denominator"),
        ("Score: 11", "out_of_range"),
        ("[[0]]", "out_of_range"),
        ("Score: " + "9" * 500, "no_verdict"),
        ('{"score": ' + "9" * 500 + "}", "out_of_range"),
        ("The score is 3 points below that of the other.", "no_verdict"),
        ("It has 3 of 4 points.", "no_verdict"),
        ("I cannot rate this.", "refusal"),
    ],
)
def test_no_rating(text: str, invalid: str) -> None:
    assert parse_text(text, RATING).invalid == invalid


def test_any_number_counts_where_no_scale_is_declared() -> None:
    assert parse_text("Score: 1200", Schema(kind="rating", keys=("score",))).score == 1200


@pytest.mark.parametrize(
    ("text", "outcome", "invalid"),
    [
        ("8 9\nAnswer 2 is fuller.", "second", None),
        ("9, 8.5", "first", None),
        ("(7; 7)", "tie", None),
        ("Scores: 8 9", "second", None),
        ("The working comes first.\n\nOutput: (4, 2)", "first", None),
        ("Assistant 1: 3 (wrong)\nAssistant 2: 5 (nearly right)", "second", None),
        ("Assistant 1: 8/10\nAssistant 2: 6/10", "first", None),
        ("8 9\n\n3 4", "second", None),
        ("So:\n8 9\n9 8", None, "conflicting"),
        ("Assistant 1: 3\nAssistant 1: 4\nAssistant 2: 5", None, "conflicting"),
        ("Assistant 1: 3", None, "no_verdict"),
        ("8 11", None, "out_of_range"),
        ("From (2, -2) to (10, 4) it is 10 units.", None, "no_verdict"),
        ("8 9 7", None, "no_verdict"),
        ("8", None, "no_verdict"),
    ],
)
def test_two_scores(text: str, outcome: str | None, invalid: str | None) -> None:
    verdict = parse_text(text, FOREIGN_SCHEMAS["two_scores"])
    assert (verdict.outcome, verdict.invalid) == (outcome, invalid)
