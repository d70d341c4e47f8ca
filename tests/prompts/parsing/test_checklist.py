"""A checklist of six items on each of two answers: the count is the verdict, whatever is declared beside it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasheet.prompts import load_variant, parse, parse_text
from datasheet.prompts.parsing import DECLARED_OTHERWISE, Schema
from datasheet.records import Reply, Verdict

VARIANT = load_variant("checklist")
FLAGGED = (DECLARED_OTHERWISE,)


def items(met: int, n: int = 6) -> dict[str, str]:
    """The first ``met`` items answered with yes, the others with no."""
    return {str(number): "yes" if number <= met else "no" for number in range(1, n + 1)}


def reply(a: object, b: object, **more: object) -> str:
    return json.dumps({"A": a, "B": b, **more})


def read(text: str, **fields: str) -> Verdict:
    return parse(VARIANT, Reply(text=text, **fields))


@given(st.lists(st.booleans(), min_size=6, max_size=6), st.lists(st.booleans(), min_size=6, max_size=6))
def test_the_answer_that_meets_more_items_wins(first: list[bool], second: list[bool]) -> None:
    written = [{str(i + 1): "yes" if met else "no" for i, met in enumerate(side)} for side in (first, second)]
    outcome = "first" if sum(first) > sum(second) else "second" if sum(second) > sum(first) else "tie"
    label = {"first": "A", "second": "B", "tie": "tie"}[outcome]
    assert read(reply(*written, verdict=label)) == Verdict(outcome=outcome)
    mirrored = {"first": "second", "second": "first", "tie": "tie"}[outcome]
    assert read(reply(*reversed(written))).outcome == mirrored


@pytest.mark.parametrize("declared", ["B", "tie", "answer b", "Tie"])
def test_a_winner_that_is_declared_otherwise_is_flagged_and_the_count_holds(declared: str) -> None:
    assert read(reply(items(5), items(3), verdict=declared)) == Verdict(outcome="first", flags=FLAGGED)


@pytest.mark.parametrize("more", [{}, {"verdict": None}, {"verdict": "perhaps"}, {"verdict": "A"}])
def test_a_winner_that_is_not_declared_is_counted(more: dict) -> None:
    assert read(reply(items(5), items(3), **more)) == Verdict(outcome="first")


@pytest.mark.parametrize(
    "text",
    [
        "```json\n" + reply(items(5), items(3), verdict="A") + "\n```",
        "Here it is:\n" + reply(items(5), items(3), verdict="A") + "\nI hope this helps.",
        "<think>" + reply(items(1), items(6), verdict="B") + "</think>" + reply(items(5), items(3), verdict="A"),
        reply({k: v.upper() for k, v in items(5).items()}, items(3), verdict="A").replace('"A"', '"a"', 1),
        reply({k: v == "yes" for k, v in items(5).items()}, items(3), verdict="A"),
        reply(list(items(5).values()), list(items(3).values()), verdict="A"),
        reply(items(5), items(3)) + reply(items(5), items(3)),
    ],
)
def test_what_wraps_a_checklist_makes_no_difference(text: str) -> None:
    assert read(text) == Verdict(outcome="first")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("A is better.", "no_verdict"),
        ("I'm sorry, but I can't do that.", "refusal"),
        ('{"verdict": "A"}', "missing_key"),
        (json.dumps({"A": items(5), "verdict": "A"}), "missing_key"),
        (json.dumps({"B": items(5), "verdict": "B"}), "missing_key"),
        (reply(items(5, n=5), items(3)), "missing_key"),
        (reply(items(5, n=7), items(3)), "not_allowed"),
        (reply(["yes"] * 7, ["no"] * 6), "missing_key"),
        (reply("yes", "no"), "missing_key"),
        (reply(None, items(3)), "missing_key"),
        (reply(items(5) | {"6": "partly"}, items(3)), "not_allowed"),
        (reply(items(5) | {"6": 1}, items(3)), "not_allowed"),
        (reply(items(5) | {"6": None}, items(3)), "not_allowed"),
        (reply(items(5), items(3)).replace('"2": "yes"', '"2": "yes", "2": "no"', 1), "conflicting_keys"),
        (reply(items(5), items(3), verdict="A").replace('"verdict"', '"verdict": "B", "verdict"'), "conflicting_keys"),
        (reply(items(5), items(3)) + reply(items(3), items(5)), "conflicting"),
    ],
)
def test_what_is_no_whole_checklist_has_no_reading(text: str, reason: str) -> None:
    assert read(text) == Verdict(invalid=reason)


@pytest.mark.parametrize("cut", range(1, 130, 8))
def test_a_checklist_that_was_cut_off_has_no_reading(cut: int) -> None:
    whole = reply(items(5), items(3), verdict="A")
    assert read(whole[:-cut], finish_reason="length") == Verdict(invalid="truncated")


def test_a_checklist_of_another_length() -> None:
    schema = Schema(kind="checklist", labels={"x": "first", "y": "second", "same": "tie"}, items=2, last=True)
    text = json.dumps({"x": items(0, n=2), "y": items(1, n=2)}) + json.dumps({"x": items(2, n=2), "y": items(1, n=2)})
    assert parse_text(text, schema) == Verdict(outcome="first")


@given(st.text(alphabet='{}[]":,AB123456yesno \n', max_size=200))
def test_no_text_raises(text: str) -> None:
    read(text)


def test_deep_nesting_is_no_reading() -> None:
    deep = "[" * 50_000 + "]" * 50_000
    assert read('{"A": ' + deep + ', "A": ' + deep + "}").invalid is not None
    nested = '{"A": ' + "[" * 900 + "]" * 900 + ', "A": ' + "[" * 900 + "]" * 900 + "}"
    assert read(nested).invalid is not None
