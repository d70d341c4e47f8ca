"""No text makes the parser raise, or keeps it for long."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasheet.prompts import load_variant, variant_names
from datasheet.prompts.parsing import FOREIGN_SCHEMAS, INVALID_REASONS, Schema, parse, parse_text
from datasheet.records import Reply, Verdict

LIMIT_S = 1.0
"""CPU time: twenty times what a slow machine needs; work that grows with the square would take minutes."""
LENGTH = 1_000_000

SCHEMAS = {
    **FOREIGN_SCHEMAS,
    "json": Schema(kind="json", labels={"A": "first", "B": "second", "tie": "tie"}, last=False),
    "labels": Schema(kind="labels", names=("related", "unrelated"), keys=("label",)),
}

FRAGMENTS = [
    *(
        "{",
        "}",
        "[",
        "]",
        "[[",
        "]]",
        '{"a":',
        '{"verdict": "',
        '{"verdict": "A"}',
        '{"score": 9}',
        '"',
        "'",
        "\\",
        "`",
        "*",
    ),
    *(
        "[[A]]",
        "[[A]] ",
        "[[A]]\n",
        "[[B]]\n",
        "［［Ａ］］",
        "[[A>>B]]\n",
        "[[9]]",
        "<|A|>",
        "(",
        "(a) ",
        "Output (a)\n",
    ),
    *(
        "<think>",
        "</think>",
        "<think>x</think>",
        "Choice: A or ",
        "Choice: A\n",
        "Verdict: ",
        "label: x\n",
        "related\n",
    ),
    *(
        "9",
        "9 9\n",
        "9\n",
        "Score: 9 ",
        "Score: 9/10\n",
        "-",
        ".",
        " ",
        "\n",
        "\r\n",
        "\t",
        "x",
        "not a ",
        "\u200b",
        "\ufdfa",
    ),
    *(
        "\ud800",
        "😀",
        "\x00",
        "\x01",
        "Assistant A is better. ",
        "Assistant A ",
        "Assistant A and ",
        "Assistant A is the the ",
    ),
    *(
        "it is a tie ",
        "neither ",
        "both answers ",
        "I w w w w w ",
        "better answer ",
        "is ",
        '{"ordered_models": [{"model": "m"}',
    ),
]
LONG = {
    **{fragment: fragment * (LENGTH // len(fragment)) for fragment in FRAGMENTS},
    "long string in JSON": '{"verdict": "A", "why": "' + "x" * LENGTH + '"}',
    "long number in JSON": '{"score": ' + "9" * LENGTH + "}",
    "deep list": '{"verdict": ' + "[" * LENGTH,
    "wide braces": ("{" + " " * 199) * (LENGTH // 200),
}


def check(verdict: Verdict, schema: Schema) -> None:
    if verdict.invalid is not None:
        assert verdict.invalid in INVALID_REASONS
    elif verdict.score is not None:
        assert schema.scale is not None
        assert schema.scale[0] <= verdict.score <= schema.scale[1]
    elif verdict.label is not None:
        assert verdict.label in schema.names
    else:
        assert verdict.outcome in ("first", "second") or (verdict.outcome == "tie" and allows_tie(schema))


def allows_tie(schema: Schema) -> bool:
    return schema.ties_allowed or schema.kind in ("ranking", "two_scores")


@pytest.mark.parametrize("fragment", LONG, ids=lambda fragment: ascii(fragment)[1:25])
def test_a_million_characters_are_read_in_bounded_time(fragment: str) -> None:
    text = LONG[fragment]
    for name, schema in SCHEMAS.items():
        spent_s = []
        for _ in range(3):
            start_s = time.process_time()
            verdict = parse_text(text, schema)
            spent_s.append(time.process_time() - start_s)
            if spent_s[-1] < LIMIT_S:
                break
        assert min(spent_s) < LIMIT_S, name
        check(verdict, schema)


@pytest.mark.parametrize("name", SCHEMAS)
@settings(deadline=None)
@given(st.text() | st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join))
def test_any_text_has_a_reading_or_a_reason(name: str, text: str) -> None:
    check(parse_text(text, SCHEMAS[name]), SCHEMAS[name])


@pytest.mark.parametrize("name", variant_names())
@settings(deadline=None)
@given(
    st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=20).map("".join),
    st.sampled_from(["", "stop", "length", "content_filter", "context_length", "tool_calls"]),
    st.sampled_from(["", "I can't."]),
)
def test_any_reply_has_an_allowed_verdict_or_a_reason(name: str, text: str, finish: str, refusal: str) -> None:
    variant = load_variant(name)
    verdict = parse(variant, Reply(text=text, finish_reason=finish, refusal=refusal))
    if verdict.invalid is None:
        assert verdict.outcome in ("first", "second", *(["tie"] if variant.ties_allowed else []))
    else:
        assert verdict.invalid in INVALID_REASONS


@pytest.mark.parametrize("depth", [100, 300, 480, 700, 900, 960])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_nested_values_that_can_just_be_decoded_are_no_verdicts(depth: int, opening: str, closing: str) -> None:
    nested = opening * depth + "1" + closing * depth
    text = f'{{"verdict": {nested}, "verdict": {nested}}}'
    assert parse(load_variant("default"), Reply(text=text)).invalid is not None
    for schema in SCHEMAS.values():
        check(parse_text(text.replace("verdict", schema.keys[0]), schema), schema)


@pytest.mark.parametrize("verdict", ["[[A]]", "It is fuller.\n[[A]]"])
def test_verdict_after_long_reasoning_is_found(verdict: str) -> None:
    bracket = load_variant("bracket")
    assert parse(bracket, Reply(text="<think>" + "hm [[B]] " * 100_000 + "</think>" + verdict)).outcome == "first"
    assert parse(bracket, Reply(text="So much to say. " * 60_000 + "\n" + verdict)).outcome == "first"


@pytest.mark.parametrize("junk", ["for (;;) { x(); } ", '{"a": ', "{" * 7])
def test_json_among_many_braces_is_found(junk: str) -> None:
    text = junk * 200 + '\n{"verdict": "B"}'
    assert parse(load_variant("default"), Reply(text=text)).outcome == "second"
