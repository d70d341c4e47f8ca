from __future__ import annotations

import pytest

from datasheet.sheet.formats import count, counted, number, percent, words


@pytest.mark.parametrize(
    ("value", "unit", "printed"),
    [
        (0.61224, "share", "0.612"),
        (1.0, "share", "1.000"),
        (2, "quality steps", "2"),
        (2.25, "quality steps", "2.250"),
        (-0.3219, "logit", "−0.322"),
        (None, "share", "–"),
    ],
)
def test_a_quantity_in_its_unit(value: float | None, unit: str, printed: str) -> None:
    assert number(value, unit) == printed


def test_counts_levels_and_names() -> None:
    assert count(812345) == "812,345"
    assert count(None) == "not recorded"
    assert counted(1, "task") == "1 task"
    assert counted(1460, "task") == "1,460 tasks"
    assert percent(0.95) == "95%"
    assert words("no_verdict") == "no verdict"
