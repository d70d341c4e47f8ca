from __future__ import annotations

import re

import pytest
from sheet.samples import sample

from datasheet.sheet.terminal import render_terminal


@pytest.mark.parametrize("name", ["careful", "never_tie", "few", "hostile"])
@pytest.mark.parametrize("width", [60, 80, 120])
def test_lines_fit_the_terminal(name: str, width: int) -> None:
    assert max(map(len, render_terminal(sample(name), width=width).splitlines())) <= width


def test_nothing_can_steer_the_terminal() -> None:
    text = render_terminal(sample("hostile"), width=100)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    assert "U+001B[2J" in text


def test_the_columns_stand_under_their_heads() -> None:
    lines = render_terminal(sample("careful"), width=100).splitlines()
    head = next(line for line in lines if line.startswith("symbol"))
    row = next(line for line in lines if line.startswith("DC "))
    estimate = next(q for q in sample("careful")["characteristics"] if q["key"] == "dark_current")["estimate"]
    end = head.index("estimate") + len("estimate")
    assert row[:end].endswith(f"{estimate:.3f}")


def test_every_symbol_is_shown() -> None:
    sheet = sample("careful")
    text = re.sub(r"\s+", " ", render_terminal(sheet, width=120))
    assert all(row["symbol"] in text for row in sheet["characteristics"])


def test_what_is_simulated_comes_first() -> None:
    assert render_terminal(sample("careful")).startswith("SIMULATED")
    assert "SIMULATED" not in render_terminal(sample("real"))


def test_a_log_without_tasks_has_no_column_for_them() -> None:
    heads = [line for line in render_terminal(sample("taskless")).splitlines() if line.startswith("symbol")]
    assert heads
    assert not any("tasks" in line for line in heads)
    assert any("tasks" in line for line in render_terminal(sample("careful")).splitlines() if line.startswith("symbol"))


def test_what_was_not_read_the_same_each_time_is_listed() -> None:
    sheet = sample("repeated")
    first = {name: column[0] for name, column in sheet["unstable"].items()}
    text = render_terminal(sheet, width=120)
    assert "Not read the same each time, the most unstable first" in text
    counts = f"first {first['first']}, tie {first['tie']}, second {first['second']}"
    assert f"- {first['stimulus']}, task {first['task']}, order {first['order']}: {counts}" in text
    assert "Not read the same" not in render_terminal(sample("careful"))
