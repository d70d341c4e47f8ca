"""JSON from files that anyone may have written."""

from __future__ import annotations

import pytest

from datasheet.strict_json import decode


def test_plain_json_is_what_it_says() -> None:
    assert decode('{"a": [1, -2.5e3, null, true], "b": {"a": "\\ud800é"}}') == {
        "a": [1, -2500.0, None, True],
        "b": {"a": "\ud800é"},
    }
    assert decode("9" * 300) == int("9" * 300)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("NaN", "NaN is not JSON"),
        ("[-Infinity]", "-Infinity is not JSON"),
        ('{"a": {"b": 1e999}}', "the number 1e999 is too large"),
        ("1" * 400, "400 digits"),
        ("1" * 5000, "5,000 digits"),
        ('[{"a": 1, "b": 2, "a": 1}]', "the name 'a' is given twice"),
        ("[" * 200_000, "nested too deep"),
        ("{'a': 1}", "double quotes"),
        ("", "Expecting value"),
    ],
)
def test_what_is_not_plain_json_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        decode(text)


def test_digits_inside_a_text_are_no_number() -> None:
    assert decode('{"raw": "so I say ' + "1" * 5000 + '"}')["raw"].endswith("1" * 5000)
