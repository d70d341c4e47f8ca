from __future__ import annotations

import pytest

from datasheet.prompts import load_variant
from datasheet.prompts.parsing import FOREIGN_SCHEMAS, parse, parse_text
from datasheet.records import Reply

DEFAULT = load_variant("default")


@pytest.mark.parametrize(
    "text",
    [
        '{"verdict": "B"}',
        '{"Verdict": "b"}',
        '{ "verdict" : "Answer B" }',
        '{"verdict": "**B**"}',
        '{"verdict": "[[B]]"}',
        'Here it is: {"verdict": "B"} I hope that helps.',
        '{"verdict": "B"}\n{"verdict": "B"}',
        '{"note": "none"} {"verdict": "B"}',
        '[{"verdict": "B"}]',
        '{"reason": "it {says} \\"A\\"", "verdict": "B"}',
        '{"reason": "two\nlines", "verdict": "B"}',
        '{"reason": "the “fuller” one", "verdict": "B"}',
        '{"reason": "he said "fuller" of it", "verdict": "B"}',
        "{'verdict': 'B'}",
        "{verdict: B}",
        '{"verdict": "B",}',
        "if (x) { y(); } and so on { z }\n" + '{"verdict": "B"}',
        "verdict: B",
        '"B"',
        "B.",
        "＂verdict＂: ＂Ｂ＂",
    ],
)
def test_reads_the_second(text: str) -> None:
    assert parse(DEFAULT, Reply(text=text)).outcome == "second"


@pytest.mark.parametrize(
    ("text", "invalid"),
    [
        ('{"verdict": "A"} or {"verdict": "B"}', "conflicting"),
        ('{"verdict": "A"}, {"verdict": "B"} or {"verdict": "tie"}', "conflicting"),
        ('{"verdict": "A", "verdict": "B"}', "conflicting_keys"),
        ('{"verdict": "A" "verdict": "B"', "conflicting"),
        ('{"winner": "A"}', "missing_key"),
        ("{}", "missing_key"),
        ('{"verdict": null}', "no_verdict"),
        ('{"verdict": ""}', "no_verdict"),
        ('{"verdict": "A or B"}', "not_allowed"),
        ('{"verdict": "not A"}', "not_allowed"),
        ('{"verdict": "neither"}', "not_allowed"),
        ('{"verdict": true}', "not_allowed"),
        ('{"verdict": {"verdict": "A"}}', "not_allowed"),
        ("Answer A is better.", "no_verdict"),
        ("[[A]] and [[B]]", "no_verdict"),
        ("My verdict: A is fuller, B is shorter.", "no_verdict"),
    ],
)
def test_has_no_reading(text: str, invalid: str) -> None:
    assert parse(DEFAULT, Reply(text=text)).invalid == invalid


@pytest.mark.parametrize(
    ("text", "outcome", "invalid"),
    [
        ('{"ordered_models": [{"model": "M", "rank": 1}, {"model": "m", "rank": 2}]}', "second", None),
        ('{"ordered_models": [{"rank": 2, "model": "M"}, {"rank": 1, "model": "m"}]}', "first", None),
        ('{"ordered_models": [{"model": "m", "rank": 1}, {"model": "M", "rank": 1}]}', "tie", None),
        ('{"ordered_models": [{"model": "m", "rank": 1}]}', None, "no_verdict"),
        ('{"ordered_models": [{"model": "m", "rank": 1}, {"model": "m", "rank": 2}]}', None, "conflicting"),
        ('{"ordered_models": [{"model": "x", "rank": 1}, {"model": "M", "rank": 2}]}', None, "not_allowed"),
        ('{"ordered_models": [{"model": "m", "rank": "1"}, {"model": "M", "rank": null}]}', None, "not_allowed"),
        ('{"ordered_models": ["m", "M"]}', None, "not_allowed"),
        ('{"ordered_models": null}', None, "no_verdict"),
        ('{"models": []}', None, "missing_key"),
        ("m, then M", None, "no_verdict"),
    ],
)
def test_ranking(text: str, outcome: str | None, invalid: str | None) -> None:
    verdict = parse_text(text, FOREIGN_SCHEMAS["ranking"])
    assert (verdict.outcome, verdict.invalid) == (outcome, invalid)
