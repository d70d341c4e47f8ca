"""An edited or damaged trial log: whatever is read of it is checked, and named with its row and column."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from trials.fake_judge import INSTRUMENT, OK, START, plan

from datasheet.errors import TransientJudgeError, TrialLogError
from datasheet.identity import canonical_json
from datasheet.trials.log import TrialLog


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "trials.sqlite"
    with TrialLog.open(path, instrument=INSTRUMENT) as log:
        (trial, request), *_ = plan(1)
        log.add_stimuli([trial.stimulus])
        log.record(trial, request, OK, attempts=1, at=START)
        log.record_failure(request.key, TransientJudgeError("late", kind="timeout"), attempt=1, at=START)
        log.freeze_model("fake-judge", "")
    return path


def edit(path: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, values)
    connection.close()


def reading_fault(path: Path) -> str:
    with TrialLog.read(path) as log, pytest.raises(TrialLogError) as caught:
        list(log.readings())
    return str(caught.value)


def read_all(path: Path) -> None:
    with TrialLog.read(path) as log:
        log.check_instrument(INSTRUMENT)
        list(log.readings())
        log.failures()


def verified(path: Path) -> list[str]:
    with TrialLog.read(path) as log:
        return log.verify()


ODD = [
    ("reading", "logprobs", "'x'"),
    ("reading", "logprobs", "'[1]'"),
    ("reading", "logprobs", "'[[1, 2]]'"),
    ("reading", "logprobs", """'[["a", 1e999]]'"""),
    ("reading", "logprobs", """'[["a", true]]'"""),
    ("reading", "latency_s", "'abc'"),
    ("reading", "latency_s", "9e999"),
    ("reading", "latency_s", "-1"),
    ("reading", "prompt_tokens", "'abc'"),
    ("reading", "completion_tokens", "1.5"),
    ("reading", "prompt_characters", "-1"),
    ("reading", "at", "'zzz'"),
    ("reading", "at", "x'ff00'"),
    ("reading", "at", "'2026-99-30T12:00:00Z'"),
    ("reading", "at", "'2026-11-30'"),
    ("reading", "repeat", "'x'"),
    ("reading", "repeat", "3000000000"),
    ("reading", "attempts", "'x'"),
    ("reading", "text", "x'ff'"),
    ("reading", '"order"', "'zz'"),
    ("stimulus", "probe", "'zz'"),
    ("stimulus", "arm", "x'ff'"),
    ("stimulus", "level_a", "'x'"),
    ("stimulus", "level_a", "99999999999"),
    ("stimulus", "level_b", "-1"),
    ("stimulus", "length_a", "-5"),
    ("stimulus", "length_b", "1e300"),
    ("stimulus", "filler_b", "'x'"),
    ("stimulus", "dose", "-1"),
    ("stimulus", "dose", "1.5"),
]


@pytest.mark.parametrize(("table", "column", "value"), ODD)
def test_an_odd_value_is_named_with_its_row_and_column(path: Path, table: str, column: str, value: str) -> None:
    edit(path, f"UPDATE {table} SET {column} = {value}")
    key = plan(1)[0][1].key
    place = f"{column.strip(chr(34))} should be "
    message = reading_fault(path)
    assert message.startswith(f"{path}: reading {key}: {place}")
    assert message.endswith("the log was edited or damaged: restore a copy, or use another --out")
    assert any(sentence.startswith(f"{table} ") and place in sentence for sentence in verified(path))


@pytest.mark.parametrize(("table", "column"), [("stimulus", "dose"), ("reading", "attempts")])
def test_a_column_that_is_gone_is_a_fault_of_the_log(path: Path, table: str, column: str) -> None:
    edit(path, f"ALTER TABLE {table} DROP COLUMN {column}")
    assert f"no such column: {column}" in reading_fault(path)
    (sentence,) = verified(path)
    assert "lacks a table or column that it should have, or holds a text that is none" in sentence
    assert column in sentence


def test_levels_in_the_wrong_order_are_named(path: Path) -> None:
    edit(path, "UPDATE stimulus SET level_b = 5")
    assert "levels 2 and 5; expected both or neither" in reading_fault(path)


def test_a_reading_without_its_stimulus_is_not_left_out_in_silence(path: Path) -> None:
    edit(path, "DELETE FROM stimulus")
    assert "its stimulus" in reading_fault(path)
    assert "is not in the log" in reading_fault(path)


def test_a_text_that_is_no_utf8_is_a_fault_of_the_log(path: Path) -> None:
    edit(path, "UPDATE reading SET text = CAST(x'ff41' AS TEXT)")
    assert "edited or damaged" in reading_fault(path)
    assert any("edited or damaged" in sentence for sentence in verified(path))


@pytest.mark.parametrize(("column", "value"), [("kind", "x'ff'"), ("at", "'z'"), ("attempt", "'x'"), ("status", "'x'")])
def test_an_odd_failure_is_named(path: Path, column: str, value: str) -> None:
    edit(path, f"UPDATE failure SET {column} = {value}")
    assert any(f"{column} should be " in sentence for sentence in verified(path))


def test_odd_kinds_and_fingerprints_are_faults(path: Path) -> None:
    edit(path, "UPDATE failure SET kind = x'ff'")
    edit(path, "UPDATE reading SET fingerprint = x'ff'")
    with TrialLog.read(path) as log:
        for counts in (log.failures, log.fingerprints):
            with pytest.raises(TrialLogError, match="should be text"):
                counts()


@pytest.mark.parametrize("table", ["reading", "stimulus", "failure"])
def test_a_table_that_is_missing_is_a_fault(path: Path, table: str) -> None:
    edit(path, f"DROP TABLE {table}")
    assert any("lacks a table or column" in sentence for sentence in verified(path))
    with pytest.raises(TrialLogError, match="lacks a table or column"):
        read_all(path)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("x", "should be JSON"),
        ("[1]", "should be an object of texts"),
        ('{"judge_id": 5}', "should be an object of texts"),
        ('{"judge_id": "a"}', "bank_hash should be text that is not empty, found nothing"),
        (canonical_json(INSTRUMENT | {"decoding": "{{"}), "decoding should be a JSON object, found '{{'"),
        (canonical_json(INSTRUMENT | {"decoding": "[]"}), "decoding should be a JSON object"),
        (canonical_json(INSTRUMENT | {"seed": "x"}), "seed should be a whole number"),
        (canonical_json(INSTRUMENT | {"repeats": "x"}), "repeats should be a whole number, or an empty text"),
        (canonical_json(INSTRUMENT | {"simulated": "maybe"}), "simulated should be one of yes, no"),
        (b"\xff", "should be text"),
    ],
)
def test_an_odd_instrument_is_named(path: Path, value: str | bytes, said: str) -> None:
    edit(path, "UPDATE meta SET value = ? WHERE field = 'instrument'", value)
    with TrialLog.read(path) as log, pytest.raises(TrialLogError) as caught:
        log.check_instrument(INSTRUMENT)
    assert said in str(caught.value)
    assert "field 'instrument' of the table 'meta'" in str(caught.value)
    assert any(said in sentence for sentence in verified(path))
    with pytest.raises(TrialLogError, match="the log was edited or damaged"):
        TrialLog.open(path, instrument=INSTRUMENT)
    with pytest.raises(TrialLogError, match="the log was edited or damaged"):
        TrialLog.answered_in(path, INSTRUMENT)


def test_a_log_without_meta_is_a_fault(path: Path) -> None:
    edit(path, "DELETE FROM meta")
    assert any("should be JSON" in sentence for sentence in verified(path))
    edit(path, "DROP TABLE meta")
    with pytest.raises(TrialLogError, match="lacks a table or column"):
        TrialLog.read(path)


@pytest.mark.parametrize("size", [15, 100, 4096, 9000])
def test_a_log_cut_short_is_a_fault_and_no_crash(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(TrialLogError):
        read_all(path)


def test_flipped_bytes_are_a_fault_and_no_crash(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for index in range(4096, len(content), 97):
        content[index] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(TrialLogError):
        read_all(path)
