"""The parser on 201 replies of real judges, against labels that were made before it existed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from datasheet.prompts.parsing import FOREIGN_SCHEMAS, Schema, parse_text
from datasheet.records import Verdict

LABELS = Path(__file__).parents[1] / "reference" / "replies" / "labels.jsonl"
ROWS = [json.loads(line) for line in LABELS.read_text(encoding="utf-8").splitlines()]

SCHEMA_OF_FORM = {
    "double_bracket_ABC": "double_bracket",
    "mtbench_pair-v2": "double_bracket",
    "choice_reason": "choice",
    "output_a_b": "output_a_b",
    "arena_hard_5level": "five_level",
    "json_function_call_ranking": "ranking",
    "single_token_logprobs": "single_token",
    "two_scores_first_line": "two_scores",
    "mtbench_single_rating": "rating",
    "bare_score": "rating",
}

# The label has a verdict and the parser, on purpose, none.
MORE_CAUTIOUS = {
    6: "cut off after 'Therefore, Output (b)': the sentence could go on either way",
    53: "praises [[A]] and faults [[B]], and never says that one is better",
    113: "argues for Output (b) throughout, and is cut off before it concludes",
}

# A text alone does not tell that it was cut off, or that a blank is a missing verdict.
SAME_REASON = {"truncated": {"no_verdict"}, "no_verdict": {"no_verdict", "empty"}}


def schema_of(row: dict[str, object]) -> Schema:
    return FOREIGN_SCHEMAS[SCHEMA_OF_FORM[str(row["template_kind"]).partition("/")[0]]]


def reading(row: dict[str, object]) -> Verdict:
    text = str(row["text"])
    return parse_text(
        json.loads(text)["token"] if row["template_kind"] == "single_token_logprobs" else text, schema_of(row)
    )


def test_every_label_is_there() -> None:
    assert [row["n"] for row in ROWS] == list(range(201))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['n']}-{row['template_kind']}")
def test_reads_what_a_careful_reader_reads(row: dict[str, object]) -> None:
    verdict = reading(row)
    if row["n"] in MORE_CAUTIOUS:
        assert verdict.invalid in ("no_verdict", "ambiguous")
        return
    assert (verdict.outcome, verdict.score, verdict.strength) == (row["verdict"], row["score"], row["strength"])
    if row["reason"] is not None:
        assert verdict.invalid in SAME_REASON.get(str(row["reason"]), {row["reason"]})


def test_is_more_cautious_than_the_label_in_three_replies_only() -> None:
    cautious = {row["n"] for row in ROWS if reading(row).invalid is not None and row["reason"] is None}
    assert cautious == set(MORE_CAUTIOUS)


def test_disagrees_with_the_logs_own_parsers_where_the_readme_says() -> None:
    def log_reading(row: dict[str, object]) -> object:
        parsed = row["source_parsed"]
        return parsed["score"] if isinstance(parsed, dict) else parsed

    differing = [row["n"] for row in ROWS if log_reading(row) != (row["verdict"] or row["score"])]
    listed = [
        int(line.split("|")[1])
        for line in (LABELS.parent / "README.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and line.split("|")[1].strip().isdigit()
    ]
    assert differing == listed
    assert len(listed) == 33


def test_two_scores_are_those_of_the_label() -> None:
    """The verdict carries no scores, so the labels' own scores must give it."""
    rows = [row for row in ROWS if row["score_first"] is not None]
    assert len(rows) == 13
    for row in rows:
        difference = row["score_first"] - row["score_second"]
        assert reading(row).outcome == ("first" if difference > 0 else "second" if difference < 0 else "tie")
