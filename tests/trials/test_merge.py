"""Logs of one run from several machines become one, whatever their order; what does not fit is named."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from trials.fake_judge import INSTRUMENT, OK, START, plan

from datasheet.errors import TransientJudgeError, TrialLogError
from datasheet.records import Reply
from datasheet.trials.log import TrialLog
from datasheet.trials.merge import Merge, merge
from datasheet.trials.pending import Planned

SLOW_DOWN = TransientJudgeError("429: slow down", kind="rate_limit", status=429)


def log_of(
    path: Path, trials: Iterable[Planned], reply: Reply = OK, *, hour: int = 0, instrument: dict[str, str] = INSTRUMENT
) -> Path:
    """A log of these trials, each answered at the second attempt, so many hours after the start."""
    at = START + timedelta(hours=hour)
    with TrialLog.open(path, instrument=instrument) as log:
        for trial, request in trials:
            log.add_stimuli([trial.stimulus])
            log.record_failure(request.key, SLOW_DOWN, attempt=1, at=at)
            log.freeze_model(reply.model, reply.fingerprint)
            log.record(trial, request, replace(reply, latency_s=float(hour)), attempts=2, at=at)
    return path


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def edit(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def fault_of(*sources: Path, target: Path) -> str:
    with pytest.raises(TrialLogError) as fault:
        merge(sources, target)
    assert not target.exists() or not target.stat().st_size or not TrialLog.answered_in(target, INSTRUMENT)
    return str(fault.value)


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    """Three logs of twelve trials, each trial in one or two of them."""
    trials = plan(12)
    return [
        log_of(tmp_path / "one", trials[:6], replace(OK, text="half \ud800")),
        log_of(tmp_path / "two", trials[4:6], replace(OK, text="half \ud800", fingerprint="fp-2"), hour=2),
        log_of(tmp_path / "three", trials[6:], replace(OK, model=""), hour=1),
    ]


def test_the_merged_log_holds_every_reading_and_failure_once(parts: list[Path], tmp_path: Path) -> None:
    assert merge(parts, tmp_path / "all") == Merge(readings=12, shared=2)
    with TrialLog.read(tmp_path / "all") as log:
        assert log.verify() == []
        assert log.instrument == INSTRUMENT
        assert log.reported_model == "fake-judge"
        assert log.failures() == {"rate_limit": 14}
        readings = {reading.key: reading for reading in log.readings()}
    assert readings.keys() == {request.key for _, request in plan(12)}
    for part in parts:
        with TrialLog.read(part) as log:
            for reading in log.readings():
                merged = readings[reading.key]
                assert replace(merged.reply, latency_s=0, fingerprint="") == replace(
                    reading.reply, latency_s=0, fingerprint=""
                )
                assert merged.at <= reading.at
    assert readings[plan(12)[4][1].key].reply.latency_s == 0.0  # the first of two calls that say the same


def test_the_order_of_the_logs_does_not_matter(parts: list[Path], tmp_path: Path) -> None:
    dumps = []
    for number, order in enumerate(permutations(parts)):
        merge(order, tmp_path / f"all-{number}")
        dumps.append(dump(tmp_path / f"all-{number}"))
    assert len(dumps) == 6
    assert all(other == dumps[0] for other in dumps)


def test_merging_step_by_step_or_with_a_copy_gives_the_same_log(parts: list[Path], tmp_path: Path) -> None:
    merge(parts, tmp_path / "all")
    merge(parts[:2], tmp_path / "some")
    merge([tmp_path / "some", parts[2], parts[2]], tmp_path / "again")
    assert dump(tmp_path / "again") == dump(tmp_path / "all")
    merge([tmp_path / "all", tmp_path / "all"], tmp_path / "itself")
    assert dump(tmp_path / "itself") == dump(tmp_path / "all")


def test_nothing_of_a_source_is_changed(parts: list[Path], tmp_path: Path) -> None:
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()}
    (tmp_path / "new").mkdir()
    merge(parts, tmp_path / "new" / "all")
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in before} == before
    assert {path for path in tmp_path.iterdir() if path.is_file()} == set(before)


def test_a_log_of_an_older_version_is_merged_as_what_it_holds(tmp_path: Path) -> None:
    script = Path(__file__).parent / "versions" / "version_1.sql"
    with closing(sqlite3.connect(tmp_path / "old")) as connection:
        connection.executescript(script.read_text(encoding="utf-8"))
    before = (tmp_path / "old").read_bytes()
    new = log_of(tmp_path / "new", plan(6)[4:])
    assert merge([tmp_path / "old", new], tmp_path / "all").readings == 6
    assert (tmp_path / "old").read_bytes() == before
    with TrialLog.read(tmp_path / "all") as log:
        assert log.verify() == []


def test_a_run_goes_on_from_a_merged_log(parts: list[Path], tmp_path: Path) -> None:
    merge(parts[:2], tmp_path / "all")
    log_of(tmp_path / "all", plan(12)[6:])
    with TrialLog.read(tmp_path / "all") as log:
        assert len(log.answered()) == 12
        assert log.verify() == []


# What does not fit


def test_a_trial_that_two_logs_read_differently_is_named(tmp_path: Path) -> None:
    one = log_of(tmp_path / "one", plan(30))
    two = log_of(tmp_path / "two", plan(1), replace(OK, text="[[B]]"))
    fault = fault_of(two, one, target=tmp_path / "all")
    assert f"{plan(1)[0][1].key}: text in {two} and {one}" in fault
    assert plan(2)[1][1].key not in fault
    many = log_of(tmp_path / "many", plan(30), replace(OK, text="[[B]]", finish_reason="length"))
    fault = fault_of(one, many, target=tmp_path / "all")
    assert "text, finish_reason in" in fault
    assert "and 10 more" in fault


@pytest.mark.parametrize("field", ["judge_id", "bank_hash", "design", "seed", "repeats", "simulated"])
def test_a_log_of_another_run_is_refused_with_what_differs(tmp_path: Path, field: str) -> None:
    value = {"seed": "7", "repeats": "3", "simulated": "no"}.get(field, "another")
    one = log_of(tmp_path / "one", plan(2))
    two = log_of(tmp_path / "two", plan(4)[2:], instrument={**INSTRUMENT, field: value})
    fault = fault_of(one, two, target=tmp_path / "all")
    assert "not of one run" in fault
    assert f"  {field}: {INSTRUMENT[field]!r} in {one}, {value!r} in {two}" in fault


def test_logs_may_call_one_judge_by_two_names(tmp_path: Path) -> None:
    one = log_of(tmp_path / "one", plan(2))
    two = log_of(tmp_path / "two", plan(4)[2:], instrument={**INSTRUMENT, "judge": "alias"})
    merge([one, two], tmp_path / "all")
    with TrialLog.read(tmp_path / "all") as log:
        assert log.instrument["judge"] == "alias"  # the first of the alphabet, whatever the order


def test_servers_that_reported_two_models_are_refused(tmp_path: Path) -> None:
    one = log_of(tmp_path / "one", plan(2))
    two = log_of(tmp_path / "two", plan(4)[2:], replace(OK, model="another"))
    assert f"'another' in {two}, 'fake-judge' in {one}" in fault_of(one, two, target=tmp_path / "all")


def test_a_stimulus_that_two_logs_know_differently_is_named(tmp_path: Path) -> None:
    one, two = log_of(tmp_path / "one", plan(1)), log_of(tmp_path / "two", plan(2)[1:])
    edit(two, "UPDATE stimulus SET arm = 'terse_better'")
    fault = fault_of(one, two, target=tmp_path / "all")
    assert "different stimuli under one key" in fault
    assert f"{plan(1)[0][0].stimulus.id}: arm in {one} and {two}" in fault


def test_one_presentation_under_two_keys_is_refused(tmp_path: Path) -> None:
    one, two = log_of(tmp_path / "one", plan(2)), log_of(tmp_path / "two", plan(2))
    edit(two, "UPDATE reading SET key = 'k' || key")
    assert "has readings under more than one key" in fault_of(one, two, target=tmp_path / "all")


def test_a_log_that_is_not_intact_is_refused(parts: list[Path], tmp_path: Path) -> None:
    edit(parts[1], "UPDATE reading SET attempts = 0")
    fault = fault_of(*parts, target=tmp_path / "all")
    assert f"{parts[1]} is not intact, and nothing was merged (2 faults" in fault


def test_a_file_that_is_no_trial_log_is_refused_and_left_alone(parts: list[Path], tmp_path: Path) -> None:
    edit(tmp_path / "songs", "CREATE TABLE reading (key)")
    (tmp_path / "text").write_text("something else entirely " * 100)
    (tmp_path / "blank").touch()
    for name, complaint in [
        ("songs", "database of another application"),
        ("text", "file of another kind"),
        ("blank", "found an empty file"),
        ("nothing", "no such file"),
    ]:
        path = tmp_path / name
        before = path.read_bytes() if path.exists() else None
        assert complaint in fault_of(*parts, path, target=tmp_path / "all")
        assert (path.read_bytes() if path.exists() else None) == before


def test_a_log_that_is_there_is_not_replaced(parts: list[Path], tmp_path: Path) -> None:
    before = parts[0].read_bytes()
    with pytest.raises(TrialLogError, match="holds a log already: name another --out"):
        merge(parts, parts[0])
    assert parts[0].read_bytes() == before


def test_a_log_in_use_is_not_written_into(parts: list[Path], tmp_path: Path) -> None:
    with TrialLog.open(tmp_path / "all", instrument=INSTRUMENT), pytest.raises(TrialLogError, match="in use"):
        merge(parts, tmp_path / "all")


def test_a_merge_that_can_not_be_written_leaves_an_empty_log(
    parts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(connection: Any, statement: str, row: Any) -> None:
        connection.execute("PRAGMA max_page_count = 10")
        connection.execute(statement, ["x" * 100_000 if isinstance(value, str) else value for value in row])

    monkeypatch.setattr("datasheet.trials.merge.insert", full)
    with pytest.raises(TrialLogError, match="disk is full"):
        merge(parts, tmp_path / "all")
    monkeypatch.undo()
    assert merge(parts, tmp_path / "all").readings == 12
