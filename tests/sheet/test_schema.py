"""A datasheet read back: whatever is in the file, a sheet that is taken can be shown, and every other is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from sheet.samples import sample

from datasheet.errors import UsageError
from datasheet.sheet.schema import check_sheet, dump_sheet, load_sheet

OPERATION = {
    "calls": 110,
    "attempts": 120,
    "calls_with_token_counts": 110,
    "latency_median_s": 0.2,
    "latency_p95_s": None,
    "prompt_tokens": 1000,
    "completion_tokens": None,
    "failed_attempts": {"timeout": 10},
    "first_at": "2026-11-30T12:00:00Z",
    "last_at": None,
    "more": ["a later release"],
}


def changed(place: Sequence[str | int], value: Any) -> dict[str, Any]:
    sheet = sample("few")
    sheet["operation"] = dict(OPERATION)
    inner: Any = sheet
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    return sheet


def fault_of(content: str) -> str:
    with pytest.raises(UsageError) as caught:
        load_sheet(content.encode("utf-8", "surrogatepass"), "sheet.json")
    return str(caught.value)


@pytest.mark.parametrize("operation", [None, {}, OPERATION])
def test_a_sheet_comes_back_as_it_was_written(operation: dict[str, Any] | None) -> None:
    sheet = changed(["operation"], operation)
    sheet["provenance"] |= {"package": None, "number": 1.5, "first_trial": None, "last_trial": "2026-11-30T12:00:00Z"}
    check_sheet(sheet)
    assert load_sheet(dump_sheet(sheet), "sheet.json") == sheet


ODD: list[tuple[list[str | int], Any]] = [
    (["operation"], [1]),
    *((["operation", field], odd) for field in ("calls", "attempts") for odd in ("x", None, 1.5, -1, [1], True)),
    *(
        (["operation", field], odd)
        for field in ("latency_median_s", "latency_p95_s")
        for odd in ("x", [1], 1e300, True)
    ),
    *((["operation", field], odd) for field in ("prompt_tokens", "completion_tokens") for odd in ("x", 0.5, 10**30)),
    *((["operation", "failed_attempts"], odd) for odd in (None, [1], {"timeout": "x"}, {"timeout": None})),
    *((["operation", field], 5) for field in ("first_at", "last_at")),
    *(
        (["characteristics", 0, field], odd)
        for field in ("estimate", "low", "high")
        for odd in (1e13, -1e300, "1", True)
    ),
    *((["characteristics", 0, "n"], odd) for odd in (10**40, -1, 1.5, None)),
    *((["provenance", "package"], odd) for odd in ([1, {"b": None}], {}, True, 1e300)),
    *((["provenance", field], odd) for field in ("first_trial", "last_trial") for odd in (5, {"x": 1})),
    *((["readings", field], odd) for field in ("stimulus", "delta_q", "tasks", "notes") for odd in (None, "x", {})),
    (["readings", "arms"], [1]),
    (["readings", "ties_allowed"], "x"),
    (["limits", "dark"], 1e300),
    (["curves", "ladder", 0, "delta_q"], 10**30),
    (["curves", "ladder", 0, "p_correct", "high"], 1e300),
    *((["curves", "model", 0, "delta_q"], odd) for odd in (-1, 1e300, "x", None)),
    *((["curves", "model", 0, "p_correct"], odd) for odd in (1.5, "x", None)),
    *((["curves", "model"], odd) for odd in ({}, "x", [1])),
    (["validity", "unstable_presentations"], 10**30),
    (
        ["validity", "missing_bounds"],
        [{"key": "k", "symbol": "s", "lowest": -1e300, "highest": 1, "missing": 0, "total": 0}],
    ),
    (["decomposition", "null", "p_slot"], -0.5),
    (["decomposition", "null", "expected"], {"stable_cross_sensitivity": 1e300}),
]


@pytest.mark.parametrize(("place", "value"), ODD, ids=[f"{place[-1]} {value!r:.30}" for place, value in ODD])
def test_a_value_that_no_sheet_holds_is_refused_with_its_place(place: list[str | int], value: Any) -> None:
    said = fault_of(json.dumps(changed(place, value)))
    assert said.startswith("sheet.json breaks the schema of a datasheet at ")
    assert str(place[0]) in said


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity", "1" + "0" * 400, "1" * 5000])
def test_a_number_beyond_all_bounds_is_refused(number: str) -> None:
    for place in (["operation", "more"], ["judge", "decoding"], ["readings", "delta_q"]):
        content = json.dumps(changed(place, ["@"])).replace('"@"', number)
        assert "is not the JSON of a datasheet" in fault_of(content)


@pytest.mark.parametrize("content", ["", "[1]", "{}", '{"format": "judge-datasheet"}', "[" * 200_000, "\ud800"])
def test_what_is_no_datasheet_is_refused(content: str) -> None:
    assert fault_of(content).startswith("sheet.json")
