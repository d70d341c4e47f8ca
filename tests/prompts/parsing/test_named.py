"""Named labels."""

from __future__ import annotations

import pytest

from datasheet.prompts.parsing import Schema, parse_text

RELATED = Schema(kind="labels", names=("related", "unrelated"), keys=("label",))


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ('{"label": "Unrelated"}', "unrelated"),
        ("**Label:** unrelated (it is about soil)", "unrelated"),
        ("My verdict is unrelated.", "unrelated"),
        ("unrelated", "unrelated"),
        ("Unrelated.\nIt is about soil, and so related to roots only in name.", "unrelated"),
        ("It is about soil, and so not related to roots.\n\nunrelated", "unrelated"),
        ("label: related\nOn reflection:\nlabel: unrelated", "unrelated"),
    ],
)
def test_label(text: str, label: str) -> None:
    assert parse_text(text, RELATED).label == label


@pytest.mark.parametrize(
    ("text", "invalid"),
    [
        ("label: not related", "not_allowed"),
        ("label: related or unrelated", "not_allowed"),
        ("label: related, or unrelated", "not_allowed"),
        ("related\nand yet\nunrelated", "conflicting"),
        ("It is not related.", "ambiguous"),
        ("It is about soil.", "no_verdict"),
        ('{"label": "neither"}', "not_allowed"),
        ('{"tag": "related"}', "missing_key"),
        ("I'm sorry, but I can't say whether it is related.", "refusal"),
    ],
)
def test_no_label(text: str, invalid: str) -> None:
    assert parse_text(text, RELATED).invalid == invalid


def test_case_counts_where_labels_differ_by_nothing_else() -> None:
    both = Schema(kind="labels", names=("m", "M"))
    assert (parse_text("m", both).label, parse_text("M", both).label) == ("m", "M")
