"""p values as printed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from datasheet.p_values import p_phrase, p_value


@pytest.mark.parametrize(
    ("p", "printed"),
    [
        (0.1924, "0.19"),
        (0.5, "0.50"),
        (1.0, "1.0"),
        (0.00015, "0.00015"),
        (0.0213, "0.021"),
        (9.63e-35, "< 0.0001"),
        (0.0, "< 0.0001"),
    ],
)
def test_p_values_have_two_significant_digits(p: float, printed: str) -> None:
    assert p_value(p) == printed


def test_p_values_in_a_sentence() -> None:
    assert p_phrase(0.0213) == "p = 0.021"
    assert p_phrase(3e-8) == "p < 0.0001"


def test_to_print_numbers_needs_no_library_of_statistics() -> None:
    code = "import sys, datasheet.sheet.formats, datasheet.p_values; print({'scipy', 'numpy'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
