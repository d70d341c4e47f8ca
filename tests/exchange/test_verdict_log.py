"""Verdict logs: what is written can be read, and what does not fit is named with its line."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from datasheet.analysis.characterise import characterise
from datasheet.errors import VerdictLogError
from datasheet.exchange import json_lines as lines
from datasheet.exchange.json_lines import json_lines
from datasheet.exchange.verdict_log import read_verdict_log, write_verdict_log
from datasheet.judge.http import BODY_LIMIT_BYTES
from datasheet.readings import Readings

ROW = {"pair": "p1", "order": "ab", "verdict": "first", "probe": "natural"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


def fault_of(path: Path, *lines: str | Mapping[str, Any]) -> str:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n")
    with pytest.raises(VerdictLogError) as caught:
        read_verdict_log(path)
    return str(caught.value)


def header(**fields: Any) -> dict[str, Any]:
    return {"format": "judge-datasheet-verdicts", "version": 1, **fields}


# Writing


@pytest.mark.parametrize(
    "raw", ["é" * 3_000_000, "\ufffd" * BODY_LIMIT_BYTES, "\x01" * (BODY_LIMIT_BYTES // 6)], ids=["é", "odd", "control"]
)
def test_a_reply_as_long_as_a_judge_may_give_comes_back(path: Path, raw: str) -> None:
    assert write_verdict_log(path, {"judge": "j"}, [{**ROW, "raw": raw}]) == 1
    assert len(read_verdict_log(path).readings) == 1
    assert next(row for number, row in json_lines(path) if number == 2)["raw"] == raw


def test_texts_stay_readable_and_halves_of_a_pair_are_escaped(path: Path) -> None:
    texts = {"raw": "É \u2028 😀 \ud800 x \udfff \x00", "task": "\ud83d"}
    write_verdict_log(path, {"judge": "ü\udc80"}, [{**ROW, **texts}])
    content = path.read_text(encoding="utf-8")
    assert "É \u2028 😀 \\ud800 x \\udfff \\u0000" in content
    (_, first), (_, row) = json_lines(path)
    assert first["judge"] == "ü\udc80"
    assert {name: row[name] for name in texts} == texts


def test_a_folder_or_a_device_is_no_target(path: Path) -> None:
    path.mkdir()
    for target in (path, Path("/dev/null")):
        with pytest.raises(VerdictLogError, match="is no file, but a folder or a device"):
            write_verdict_log(target, {}, [ROW])
    assert list(path.parent.iterdir()) == [path]
    assert not Path("/dev/null.part").exists()


def test_a_file_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(VerdictLogError, match=r"missing/log\.jsonl can't be written: No such file"):
        write_verdict_log(tmp_path / "missing" / "log.jsonl", {}, [ROW])


def test_an_export_that_fails_leaves_the_earlier_file_as_it_was(path: Path) -> None:
    write_verdict_log(path, {"judge": "before"}, [ROW])
    before = path.read_bytes()

    def rows() -> Iterator[Mapping[str, Any]]:
        yield ROW
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(VerdictLogError, match="No space left"):
        write_verdict_log(path, {"judge": "after"}, rows())
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


# Reading


def test_a_name_given_twice_is_refused_with_its_line(path: Path) -> None:
    row = '{"pair": "a", "order": "ab", "verdict": "first", "verdict": "second", "probe": "natural"}'
    assert "log.jsonl line 2: not JSON: the name 'verdict' is given twice" in fault_of(path, ROW, row)
    twice = '{"format": "judge-datasheet-verdicts", "version": 1, "judge": "a", "judge": "b"}'
    assert "log.jsonl line 1: not JSON: the name 'judge' is given twice" in fault_of(path, twice, ROW)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" * 400, "1" * 5000, "Infinity", "NaN"])
@pytest.mark.parametrize("place", ['"latency_s": {}', '"unknown": [{{"deep": {}}}]', '"length_a": {}'])
def test_a_number_beyond_all_bounds_is_refused_with_its_line(path: Path, number: str, place: str) -> None:
    row = json.dumps(ROW)[:-1] + ", " + place.format(number) + "}"
    assert "log.jsonl line 2: not JSON" in fault_of(path, ROW, row)
    first = json.dumps(header())[:-1] + ", " + place.format(number) + "}"
    assert "log.jsonl line 1: not JSON" in fault_of(path, first, ROW)


def test_a_tie_where_none_is_allowed_is_named_with_its_line(path: Path) -> None:
    tie = {**ROW, "verdict": "tie", "order": "ba"}
    said = fault_of(path, header(ties_allowed=False), ROW, tie)
    assert said.startswith("log.jsonl line 3: the verdict is a tie")
    assert fault_of(path, {**tie, "ties_allowed": False}).startswith("log.jsonl line 1: the verdict is a tie")


def test_a_length_unit_is_text(path: Path) -> None:
    assert "log.jsonl line 1: 'length_unit' should be text" in fault_of(path, header(length_unit=["words"]), ROW)


def test_a_unit_of_lengths_that_is_taken_for_words_is_told(path: Path) -> None:
    said = "The log gives lengths and no length_unit in its first line: they are taken to be in words."
    for fields, row, told in (
        ({}, {"length_a": 9}, True),
        ({"length_unit": "tokens"}, {"length_a": 9}, False),
        ({}, {}, False),
    ):
        write_verdict_log(path, fields, [ROW | row])
        readings = read_verdict_log(path).readings
        assert (said in readings.notes) == told
        assert readings.length_unit == fields.get("length_unit", "words")


def test_dates_and_times_that_are_none_are_left_aside(path: Path) -> None:
    dates = ["2026-11-30T12:00:00Z", "2026-99-30T12:00:00Z", "2026-11-30T25:00:00Z", "yesterday"]
    rows = [{**ROW, "pair": str(number), "at": date, "latency_s": 1} for number, date in enumerate(dates)]
    write_verdict_log(path, {}, rows)
    assert read_verdict_log(path).calls.dates == {"2026-11-30T12:00:00Z"}


# Doses


def test_a_dose_is_read_where_it_is_given(path: Path) -> None:
    channel = {**ROW, "probe": "channel", "arm": "courtesy"}
    rows = [{**channel, "pair": f"p{dose}", "dose": dose} for dose in range(3)]
    assert write_verdict_log(path, {}, [*rows, {**channel, "pair": "q"}]) == 4
    readings = read_verdict_log(path).readings
    assert readings.dose.tolist() == [0, 1, 2, -1]
    assert Readings.from_columns(readings.to_columns()).dose.tolist() == [0, 1, 2, -1]


@pytest.mark.parametrize("dose", [-1, 1.5, "much", True])
def test_a_dose_is_a_whole_number(path: Path, dose: object) -> None:
    assert "line 1: 'dose' should be a whole number of 0 or more" in fault_of(path, {**ROW, "dose": dose})


def test_a_pair_has_one_dose(path: Path) -> None:
    fault = fault_of(path, {**ROW, "dose": 1}, {**ROW, "order": "ba", "dose": 2})
    assert "lines 1 and 2 describe pair 'p1' differently (probe, arm, task, delta_q, dose)" in fault


@pytest.mark.parametrize("probe", ["vacuum", "same_quality", "channel"])
@pytest.mark.parametrize("fields", [{"delta_q": 2}, {"level_a": 3, "level_b": 1}])
def test_where_answers_are_of_equal_quality_none_may_be_better(path: Path, probe: str, fields: dict[str, int]) -> None:
    """Else a judge that sees the better answer would be said to follow the dose, or nothing at all."""
    better = {**ROW, "probe": probe, "arm": "hedging", "dose": 1, **fields}
    said = f"line 2: a {probe} row has delta_q 0, for its answers are of equal quality; found 2"
    assert said in fault_of(path, {**ROW, "pair": "q"}, better)
    equal = {name: 2 * (name != "delta_q") for name in fields}
    write_verdict_log(path, {}, [{**better, **equal}])
    assert read_verdict_log(path).readings.delta_q.tolist() == [0]


# Lines beside each other


def test_the_first_line_that_does_not_fit_another_is_named(path: Path) -> None:
    rows = [ROW, {**ROW, "pair": "q"}, {**ROW, "repeat": 1}]
    twice, otherwise = {**ROW, "verdict": "tie"}, {**ROW, "pair": "q", "order": "ba", "task": "t"}
    assert "lines 1 and 4 give the same reading twice" in fault_of(path, *rows, twice, otherwise, twice)
    assert "lines 2 and 4 describe pair 'q' differently" in fault_of(path, *rows, otherwise, twice)
    assert "pair 'p1', order ab, repeat 1" in fault_of(path, *rows, {**rows[2], "verdict": None})


def test_a_line_that_does_not_fit_both_ways_is_a_reading_given_twice(path: Path) -> None:
    assert "lines 1 and 2 give the same reading twice" in fault_of(path, ROW, {**ROW, "arm": "other"})


def test_two_judges_may_read_the_same_pair_and_describe_it_alike(path: Path) -> None:
    one, two = ({**ROW, "judge": judge, "task": "t"} for judge in ("one", "two"))
    write_verdict_log(path, {}, [one, two])
    assert len(read_verdict_log(path, judge="two").readings) == 1
    fault = fault_of(path, one, {**two, "task": "u", "delta_q": 1})
    assert "('natural', '', 't', None, None) and ('natural', '', 'u', 1, None)" in fault


def test_readings_of_one_judge_keep_nothing_of_the_other(path: Path) -> None:
    others = [{**ROW, "judge": "two", "pair": f"z{number}", "task": f"u{number}"} for number in range(3)]
    invalid = {**ROW, "judge": "two", "pair": "a", "verdict": None, "invalid": "refusal"}
    own = {**ROW, "judge": "one", "task": "t"}
    write_verdict_log(path, {}, [*others, own, invalid])
    readings = read_verdict_log(path, judge="one").readings
    assert (readings.stimulus_ids, readings.tasks, readings.invalid_reasons) == (("p1",), ("t",), ())
    assert (readings.stimulus.tolist(), readings.task.tolist(), readings.invalid.tolist()) == ([0], [0], [-1])


@pytest.mark.parametrize("field", ["length_a", "length_b", "filler_b", "level_b"])
def test_sizes_that_contradict_each_other_are_refused_with_their_lines(path: Path, field: str) -> None:
    rows = [{**ROW, field: 10}, {**ROW, "pair": "q", field: 50}, {**ROW, "order": "ba", field: 50}]
    fault = fault_of(path, *rows, {**ROW, "pair": "q", "order": "ba", field: 10})
    assert f"lines 1 and 3 describe pair 'p1' differently ({field}): (10,) and (50,)" in fault
    assert "the same two answers in both orders" in fault
    # The first line that tells is the one that the others are held to.
    fault = fault_of(path, ROW, {**ROW, "order": "ba", field: 50}, {**ROW, "repeat": 1, field: 10})
    assert "lines 2 and 3 describe pair 'p1'" in fault


def test_a_size_that_one_line_of_a_pair_leaves_out_contradicts_nothing(path: Path) -> None:
    write_verdict_log(path, {}, [{**ROW, "length_a": 10}, {**ROW, "order": "ba"}])
    assert read_verdict_log(path).readings.length_a.tolist() == [10, -1]


def test_two_judges_may_count_tokens_of_their_own(path: Path) -> None:
    counted = [{**ROW, "judge": judge, "length_a": tokens} for judge, tokens in (("one", 10), ("two", 12))]
    write_verdict_log(path, {}, counted)
    assert read_verdict_log(path, judge="two").readings.length_a.tolist() == [12]


def test_the_first_line_is_checked_too(path: Path) -> None:
    assert "log.jsonl line 1: 'ties_allowed' should be true or false" in fault_of(path, header(ties_allowed="yes"), ROW)


# Probabilities of labels


@pytest.mark.parametrize(
    ("given", "known"),
    [
        ({"p_first": 0.7, "p_tie": 0.1, "p_second": 0.1}, True),
        ({"p_first": 0.7, "p_second": 0.3}, True),
        ({"p_first": 0.7, "p_second": 0.2}, False),
        ({"p_first": 0.7, "p_second": 0.2, "p_floor": 0.01}, True),
        ({"p_first": 0.7, "p_second": 0.2, "ties_allowed": False}, True),
        ({"p_first": 0.7, "ties_allowed": False}, False),
        ({"p_first": 1.0, "p_tie": 0, "p_second": 0}, False),
    ],
)
def test_what_is_not_listed_needs_a_floor(path: Path, given: dict[str, Any], known: bool) -> None:
    """Without one, nobody can tell how likely it may have been: no limit is made up for it."""
    write_verdict_log(path, {}, [{**ROW, **given}])
    readings = read_verdict_log(path).readings
    assert (readings.labels is not None) is known
    assert any("p_floor" in note for note in readings.notes) is not known


def test_probabilities_by_slot_are_read(path: Path) -> None:
    given = [
        {"p_first": 0.7, "p_tie": 0.1, "p_second": 0.2},
        {"p_first": 0.9, "p_tie": None, "p_second": 0, "p_floor": 0.001},
        {"p_floor": 0.25},
        {"p_first": 1, "p_floor": 1},
        {},
    ]
    write_verdict_log(path, {}, [{**ROW, "pair": f"p{number}", **row} for number, row in enumerate(given)])
    readings = read_verdict_log(path).readings
    assert readings.labels is not None
    assert np.exp(readings.labels.first) == pytest.approx([0.7, 0.9, 0, 1, 0])
    assert np.exp(readings.labels.tie) == pytest.approx([0.1, 0, 0, 0, 0])
    assert np.exp(readings.labels.second) == pytest.approx([0.2, 0, 0, 0, 0])
    assert np.exp(readings.labels.floor) == pytest.approx([0.1, 0.001, 0.25, 1, np.nan], nan_ok=True)
    assert not any("does not know" in note for note in readings.notes)


@pytest.mark.parametrize(
    "given",
    [
        {"p_first": 1.0000001},
        {"p_first": 0.7000001, "p_tie": 0.1, "p_second": 0.2},
        {"p_first": 0.9, "p_second": 0.1000001, "p_floor": 0.05},
        {"p_first": 1 + 1e-7, "p_floor": 1 + 1e-7},
        {"p_first": 1 / 3, "p_tie": 1 / 3, "p_second": 1 / 3 + 1e-12},
    ],
)
def test_what_rounding_carried_beyond_1_is_1(path: Path, given: dict[str, float]) -> None:
    """Not one label more likely than certain, nor a label mass above 1 on the sheet."""
    rows = [{**ROW, "probe": "ladder", "delta_q": 1, "order": order, **given} for order in ("ab", "ba")]
    write_verdict_log(path, {}, [{"p_floor": 0.001} | row for row in rows])
    labels = read_verdict_log(path).readings.labels
    assert labels is not None
    assert (labels.mass <= 1).all()
    assert labels.mass == pytest.approx(1, abs=1e-12)
    mass = characterise(read_verdict_log(path).readings).estimates["label_mass"].estimate
    assert mass == pytest.approx(1, abs=1e-12)
    assert mass <= 1


def test_more_than_rounding_explains_is_refused_in_digits_that_show_it(path: Path) -> None:
    assert "'p_first' should be a probability from 0 to 1, found 1.000002" in fault_of(
        path, {**ROW, "p_first": 1.000002}
    )
    given = {"p_first": 0.521, "p_tie": 0.1, "p_second": 0.400001}
    said = "line 1: p_first + p_tie + p_second should be at most 1 (or 1.02 by rounding), found 1.021001"
    assert said in fault_of(path, {**ROW, **given})


@pytest.mark.parametrize("given", [(0.934, 0.034, 0.033), (0.33, 0.34, 0.34), (0.5, 0.4, 0.115)])
def test_probabilities_written_with_few_digits_are_scaled_to_one(path: Path, given: tuple[float, float, float]) -> None:
    path.write_text(json.dumps({**ROW, **dict(zip(("p_first", "p_tie", "p_second"), given, strict=True))}))
    labels = read_verdict_log(path).readings.labels
    assert labels is not None
    assert labels.mass == pytest.approx(1, abs=1e-12)
    assert np.exp(labels.first[0] - labels.second[0]) == pytest.approx(given[0] / given[2])


def test_whole_numbers_may_be_written_with_a_point(path: Path) -> None:
    """As tables of numbers are exported; 2.5 steps are none."""
    rung = {**ROW, "probe": "ladder", "delta_q": 2.0}
    path.write_text(json.dumps(rung))
    assert read_verdict_log(path).readings.delta_q.tolist() == [2]
    assert "'delta_q' should be a whole number of 0 or more, found 2.5" in fault_of(path, {**rung, "delta_q": 2.5})


def test_probabilities_at_the_edge_of_rounding_are_taken(path: Path) -> None:
    edge = {"p_first": 0.5 + 9e-7, "p_second": 0.5, "p_floor": 0.5 + 4e-7}
    write_verdict_log(path, {}, [{**ROW, **edge}])
    assert read_verdict_log(path).readings.labels is not None


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"p_first": -0.1}, "'p_first' should be a probability from 0 to 1, found -0.1"),
        ({"p_tie": 1.01}, "'p_tie' should be a probability from 0 to 1"),
        ({"p_second": True}, "'p_second' should be a probability"),
        ({"p_floor": "low"}, "'p_floor' should be a probability"),
        ({"p_first": 0.8, "p_second": 0.3}, "p_first + p_second should be at most 1 (or 1.02 by rounding), found 1.1"),
        ({"p_first": 0.9, "p_tie": 0.001, "p_floor": 0.01}, "'p_tie' is 0.001, below p_floor 0.01"),
    ],
)
def test_probabilities_that_can_not_be_are_named_with_their_line(path: Path, fields: dict, said: str) -> None:
    assert f"log.jsonl line 2: {said}" in fault_of(path, {**ROW, "pair": "q"}, {**ROW, **fields})


@pytest.mark.parametrize("length", [2147483647.4, 2147483647.6, 2**31])
def test_a_length_is_refused_where_no_column_holds_it(path: Path, length: float) -> None:
    if length < 2**31 - 0.5:
        path.write_text(json.dumps(ROW | {"length_a": length, "length_b": 1}) + "\n")
        assert read_verdict_log(path).readings.length_a[0] == 2**31 - 1
    else:
        assert "should be a length of 0 or more" in fault_of(path, ROW | {"length_a": length, "length_b": 1})


def test_a_line_without_end_is_not_read_to_its_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_MAX_LINE_BYTES", 20)
    path.write_text("{}\n" + " " * 21 + "{}\n")
    with pytest.raises(VerdictLogError, match=r"line 2: expected one JSON object a line, found more than 20 bytes"):
        list(json_lines(path))


def test_a_log_without_end_is_not_read_to_its_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_MAX_BYTES", 29)
    path.write_text("\n" * 29)
    assert list(json_lines(path)) == []
    path.write_text("\n" * 30)
    with pytest.raises(VerdictLogError, match=r"line 30: expected at most 29 bytes in all"):
        list(json_lines(path))
