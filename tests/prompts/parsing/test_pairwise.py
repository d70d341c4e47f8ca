"""Verdicts in the form that was asked for, and those that are only talked about."""

from __future__ import annotations

import pytest

from datasheet.prompts.parsing import FOREIGN_SCHEMAS, parse_text

BRACKET = FOREIGN_SCHEMAS["double_bracket"]


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Both are right, and B is fuller. [[B]]", "second"),
        ("Final verdict: [[C]] for a tie, as both are wrong.", "tie"),
        ("[[B]] - it is fuller", "second"),
        ("[[B]]: it is fuller", "second"),
        ("Therefore, [[B]].", "second"),
        ("I choose [[B]].", "second"),
        ("So: [[B]] because it is fuller.", "second"),
        ("Therefore, [[B]] is better than [[A]] in answering the second question.", "second"),
        ("[[A]] performed slightly worse. However, [[B]] performed better than [[A]].", "second"),
        ("The code of [[B]] is clearer than the code of [[A]]. Therefore, [[B]] is a better choice.", "second"),
        ("[[A]]\n\nOn second thought, the other one covers more.\n\n[[B]]", "second"),
        ("At first [[A]]. Overall verdict: [[B]] since it covers more.", "second"),
        ("[[A]] if A is better, [[B]] if B is better, and [[C]] for a tie.\n\nThe verdict is: [[B]]", "second"),
        ("[[A]]: A is better\n[[B]]: B is better\n[[C]]: a tie\n\nIt is B.\n[[B]]", "second"),
        ("Assistant A is better in style.\n\n[[B]]", "second"),
        ("<|B|>", "second"),
        ("**[B]**", "second"),
        ("**Verdict:** **[C]** - both miss the point", "tie"),
        ("Winner: B", "second"),
        ("b", "second"),
        ("[[Tie]]", "tie"),
    ],
)
def test_bracket(text: str, outcome: str) -> None:
    assert parse_text(text, BRACKET).outcome == outcome


@pytest.mark.parametrize(
    ("text", "invalid"),
    [
        ("[[A]]\n[[B]]", "conflicting"),
        ("First question: [[C]]\n\nSecond question: [[A]] because it is right.", "conflicting"),
        ("On the first, none is right. [[C]]\n\nOn the second, A is. [[A]]", "conflicting"),
        ("[[A]]\nIt is short.\n\n[[B]]\nIt is long.", "conflicting"),
        ("[A]\nIt is short.\n\n[B]", "conflicting"),
        ("[[A]] or [[B]]", "ambiguous"),
        ("Final verdict: [[A]] or [[B]]", "ambiguous"),
        ("[[A]] [[B]]", "ambiguous"),
        ("I would never choose [[A]].", "ambiguous"),
        ("The verdict is not [[A]].", "ambiguous"),
        ("[[A]] is not better than [[B]].", "ambiguous"),
        ("[[A]] is fuller.", "ambiguous"),
        ('"[[A]]" if A is better, "[[B]]" if B is better, "[[C]]" for a tie.', "ambiguous"),
        ("[[A]]: A is better\n[[B]]: B is better\n[[C]]: a tie", "ambiguous"),
        ("For example: [[A]]", "ambiguous"),
        ("Final verdict: [[A]], [[B]]", "ambiguous"),
        ("Final verdict: [[A]], or B", "ambiguous"),
        ("Final verdict: [[A]]/[[B]]", "ambiguous"),
        ("[[A]], while fuller, is wrong.", "ambiguous"),
        ("Both are short. [[A]], on the other hand, is wrong.", "ambiguous"),
        ("Therefore, [[A]], being shorter, loses.", "ambiguous"),
        ("I compared answer [[A]], which is short, with the other.", "ambiguous"),
        ("Comparing the two: [[A]] - short; [[B]] - long", "ambiguous"),
        ("Answer B ends with [[A]]", "ambiguous"),
        ("[[D]]", "not_allowed"),
        ("See [[Rating]] and [[1, 2], [3, 4]].", "no_verdict"),
        ("It covers: (a), the roots; (b), the leaves.", "no_verdict"),
    ],
)
def test_bracket_without_a_reading(text: str, invalid: str) -> None:
    assert parse_text(text, BRACKET).invalid == invalid


@pytest.mark.parametrize(
    ("text", "outcome", "strength", "invalid"),
    [
        ("My final verdict is: [[A>>B]]", "first", 2, None),
        ("[[A>B]]", "first", 1, None),
        ("[[A = B]]", "tie", None, None),
        ("Assistant B is slightly better: [[B>A]].\n\n- It is fuller.", "second", 1, None),
        ("[[B&gt;&gt;A]]", "second", 2, None),
        ("［［Ｂ＞＞Ａ］］", "second", 2, None),
        ("**[A>B]**", "first", 1, None),
        ("1. [[A>>B]]\n2. [[A>B]]\n3. [[A=B]]\n4. [[B>A]]\n5. [[B>>A]]\n\nMine: [[B>A]]", "second", 1, None),
        ("[[A>B]]\n[[A>>B]]", None, None, "conflicting"),
        ("[[A]]", None, None, "not_allowed"),
        ("A is better.", None, None, "no_verdict"),
    ],
)
def test_five_levels(text: str, outcome: str | None, strength: int | None, invalid: str | None) -> None:
    verdict = parse_text(text, FOREIGN_SCHEMAS["five_level"])
    assert (verdict.outcome, verdict.strength, verdict.invalid) == (outcome, strength, invalid)


@pytest.mark.parametrize(
    ("text", "outcome", "invalid"),
    [
        ("Choice: A\nReason:\n1. Response 1 is better organized than Response 2.", "first", None),
        ("**Choice:** B.\n**Reason:** Response 2 is fuller.", "second", None),
        ("My choice is: b", "second", None),
        ("Choice: A Reason: it is fuller.", "first", None),
        ("Response 2 is better than Response 1.", "second", None),
        ("Choice: A or B", None, "ambiguous"),
        ("Choice: A/B", None, "ambiguous"),
        ("Choice: A, or B", None, "ambiguous"),
        ("Choice: A and B", None, "ambiguous"),
        ("Choice: A\n...\nChoice: B because", None, "conflicting"),
        ("Choice: C", None, "not_allowed"),
        ("Both are equally good.", None, "no_verdict"),
    ],
)
def test_choice(text: str, outcome: str | None, invalid: str | None) -> None:
    verdict = parse_text(text, FOREIGN_SCHEMAS["choice"])
    assert (verdict.outcome, verdict.invalid) == (outcome, invalid)


@pytest.mark.parametrize(
    ("text", "outcome", "invalid"),
    [
        ("Output (a)", "first", None),
        ("Output b", "second", None),
        (
            '# Which is better, Output (a) or Output (b)? Write "Output (a)" or "Output (b)":\nOutput (b)',
            "second",
            None,
        ),
        ("Output (b) is better.\n\nOutput (a) is a list.", "second", None),
        ("Therefore, neither output is better for the given instruction.", "tie", None),
        ("# Output (a):\n\n1. A list of plants", None, "no_verdict"),
        ("Output (a)\nA list.\n\nOutput (b)\nA table.", None, "conflicting"),
        ("Output (a) is better.\n\nOutput (b)", None, "conflicting"),
        ("Both Output (a) and Output (b)", None, "no_verdict"),
    ],
)
def test_output(text: str, outcome: str | None, invalid: str | None) -> None:
    verdict = parse_text(text, FOREIGN_SCHEMAS["output_a_b"])
    assert (verdict.outcome, verdict.invalid) == (outcome, invalid)


@pytest.mark.parametrize(("text", "outcome"), [("m", "first"), (" M\n", "second"), ('"M"', "second"), ("Both", None)])
def test_single_token_keeps_case_where_nothing_else_differs(text: str, outcome: str | None) -> None:
    assert parse_text(text, FOREIGN_SCHEMAS["single_token"]).outcome == outcome
