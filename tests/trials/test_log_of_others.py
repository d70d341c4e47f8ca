"""A trial log that someone else made: its cells are read under a limit, and nothing in it acts."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from trials.fake_judge import INSTRUMENT, OK, START, plan

from datasheet.errors import TrialLogError
from datasheet.trials import database, migrations
from datasheet.trials.log import TrialLog


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "trials.sqlite"
    with TrialLog.open(path, instrument=INSTRUMENT) as log:
        (trial, request), *_ = plan(1)
        log.add_stimuli([trial.stimulus])
        log.record(trial, request, OK, attempts=1, at=START)
    return path


def edit(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def read(path: Path) -> None:
    with TrialLog.read(path) as log:
        list(log.readings())


@pytest.mark.parametrize("version", [1, len(migrations.MIGRATIONS)])
def test_a_cell_of_any_size_is_not_read(path: Path, monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    for module in (database, migrations):
        monkeypatch.setattr(module, "MOST_CELL_BYTES", 10_000)
    if version == 1:
        columns = ("verdict", "from_batch", "cached_tokens")
        edit(path, *(f"ALTER TABLE reading DROP COLUMN {column}" for column in columns))
        edit(path, "DROP TABLE exported", "PRAGMA user_version = 1")
    read(path)
    edit(path, "UPDATE reading SET text = replace(hex(zeroblob(10000)), '0', 'x')")
    with pytest.raises(TrialLogError, match="expected texts of at most 64,000,000 bytes in the trial log"):
        read(path)


def test_a_view_in_the_place_of_a_table_is_refused(path: Path) -> None:
    """Else one without end would be read to its end."""
    edit(
        path,
        "ALTER TABLE reading RENAME TO kept",
        "CREATE VIEW reading AS SELECT * FROM kept",
    )
    with pytest.raises(TrialLogError, match="expected tables alone, found the view 'reading'"):
        read(path)


def test_a_trigger_is_refused(path: Path) -> None:
    edit(path, "CREATE TRIGGER lost AFTER INSERT ON reading BEGIN DELETE FROM reading; END")
    with pytest.raises(TrialLogError, match="found the trigger 'lost'"):
        TrialLog.open(path, instrument=INSTRUMENT)
