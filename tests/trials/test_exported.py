"""What a log keeps of trials that were written to batch files."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from trials.fake_judge import INSTRUMENT, OK, START, plan

from datasheet.errors import TrialLogError
from datasheet.trials.exported import exported, run_prefix
from datasheet.trials.log import TrialLog
from datasheet.trials.merge import merge
from datasheet.trials.tables import Presentation


def log_of(path: Path, trials: int, *, batched: int = 0) -> Path:
    """A log that so many trials were exported from, of which the first came back."""
    with TrialLog.open(path, instrument=INSTRUMENT) as log:
        log.add_stimuli(trial.stimulus for trial, _ in plan(trials))
        log.add_exported(plan(trials))
        log.add_exported(plan(1))
        for trial, request in plan(batched):
            log.record_batched(Presentation.of(trial, request), OK, at=START)
    return path


def test_exported_trials_are_told_once_each(tmp_path: Path) -> None:
    with TrialLog.read(log_of(tmp_path / "log", 4)) as log:
        assert exported(log) == {request.key: Presentation.of(trial, request) for trial, request in plan(4)}
        assert log.verify() == []
        assert log.answered() == set()


def test_a_reply_of_a_batch_is_a_reading_that_says_so(tmp_path: Path) -> None:
    path = log_of(tmp_path / "log", 2, batched=1)
    with TrialLog.open(path, instrument=INSTRUMENT) as log:
        trial, request = plan(2)[1]
        log.record(trial, request, OK, attempts=1, at=START)
    with TrialLog.read(path) as log:
        readings = {logged.key: logged for logged in log.readings()}
        batched, live = (readings[request.key] for _, request in plan(2))
        assert (batched.from_batch, live.from_batch) == (True, False)
        assert (batched.reply, batched.prompt_characters) == (live.reply, live.prompt_characters)


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        ("UPDATE exported SET \"order\" = 'up'", "order should be one of ab, ba, found 'up'"),
        ("UPDATE exported SET repeat = -1", "repeat should be a whole number"),
    ],
)
def test_an_edited_export_is_found(tmp_path: Path, edit: str, complaint: str) -> None:
    path = log_of(tmp_path / "log", 2)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(edit)
    with TrialLog.read(path) as log:
        assert complaint in log.verify()[0]
        with pytest.raises(TrialLogError, match=f"{complaint}.*restore a copy"):
            exported(log)


def test_an_export_of_an_unknown_stimulus_is_a_fault(tmp_path: Path) -> None:
    path = log_of(tmp_path / "log", 2)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE exported SET stimulus = 'x'")
    with TrialLog.read(path) as log:
        assert "is of stimulus x, which the log does not hold" in log.verify()[0]


def test_a_merged_log_knows_what_each_was_exported_for(tmp_path: Path) -> None:
    one, two = log_of(tmp_path / "one", 2, batched=2), log_of(tmp_path / "two", 6)
    with TrialLog.open(two, instrument=INSTRUMENT) as log:
        trial, request = plan(1)[0]
        log.record(trial, request, OK, attempts=1, at=START + timedelta(hours=1))
    assert merge([one, two], tmp_path / "merged").shared == 1
    assert merge([two, one], tmp_path / "other").shared == 1
    for path in (tmp_path / "merged", tmp_path / "other"):
        with TrialLog.read(path) as log:
            assert exported(log).keys() == {request.key for _, request in plan(6)}
            assert {logged.from_batch for logged in log.readings()} == {True}


def test_a_run_is_its_judge_and_bank() -> None:
    prefix = run_prefix(INSTRUMENT)
    assert run_prefix({**INSTRUMENT, "design": "full", "judge": "another name"}) == prefix
    assert len({prefix, run_prefix({**INSTRUMENT, "judge_id": "k"}), run_prefix({**INSTRUMENT, "bank_hash": "c"})}) == 3
