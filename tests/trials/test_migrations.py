"""Logs of older versions, kept as SQL, are read and upgraded; a step that fails leaves the old log as it was."""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from trials.fake_judge import INSTRUMENT, OK, START, plan

from datasheet.errors import TrialLogError
from datasheet.trials import migrations
from datasheet.trials.log import TrialLog
from datasheet.trials.migrations import MIGRATIONS, Migration

VERSIONS = Path(__file__).parent / "versions"
OLD = sorted(VERSIONS.glob("*.sql"))
TEXTS = ['{"verdict": "A"}', "half \ud800 \"quoted\" 'text'", "first\u2028second\u0085third", ""]


@pytest.fixture(params=OLD, ids=lambda script: script.stem)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A log as an older release left it: four readings, four failures, one model."""
    path = tmp_path / "trials.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(request.param.read_text(encoding="utf-8"))
    return path


def dump(path: Path) -> list[str]:
    """Everything that a log holds."""
    with closing(sqlite3.connect(path)) as connection:
        version = connection.execute("PRAGMA user_version").fetchone()
        return [*map(str, version), *connection.iterdump()]


def tables(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return [
            (name, *column) for name in sorted(names) for column in connection.execute(f"PRAGMA table_info({name})")
        ]


def check_readings(log: TrialLog) -> None:
    assert log.verify() == []
    replies = {reading.key: reading for reading in log.readings()}
    assert [replies[request.key].reply.text for _, request in plan(4)] == TEXTS
    assert {reading.kept for reading in replies.values()} == {None}
    assert log.failures() == {"rate_limit": 4}
    assert log.reported_model == "fake-judge"
    assert log.instrument == INSTRUMENT


def test_there_is_a_log_of_each_older_version() -> None:
    assert [script.stem for script in OLD] == [f"version_{number}" for number in range(1, len(MIGRATIONS))]


def test_a_step_has_a_name_of_its_own() -> None:
    names = [step.name for step in MIGRATIONS]
    assert len(set(names)) == len(names)
    assert all(names)


def test_an_old_log_is_read_without_a_change_to_its_file(old: Path) -> None:
    before = old.read_bytes()
    with TrialLog.read(old) as log:
        check_readings(log)
    assert TrialLog.answered_in(old, INSTRUMENT) == {request.key for _, request in plan(4)}
    assert old.read_bytes() == before
    assert [path.name for path in old.parent.iterdir()] == [old.name]


def test_an_old_log_that_a_killed_run_left_open_is_read(old: Path) -> None:
    with closing(sqlite3.connect(old)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    with TrialLog.read(old) as log:
        check_readings(log)


def test_a_run_upgrades_an_old_log_and_goes_on_with_it(old: Path, tmp_path: Path) -> None:
    with TrialLog.open(old, instrument=INSTRUMENT) as log:
        check_readings(log)
        trial, request = plan(5)[4]
        log.add_stimuli([trial.stimulus])
        log.record(trial, request, OK, attempts=1, at=START)
    with TrialLog.read(old) as log:
        assert log.answered() == {request.key for _, request in plan(5)}
        assert log.verify() == []
    TrialLog.open(tmp_path / "new.sqlite", instrument=INSTRUMENT).close()
    assert tables(old) == tables(tmp_path / "new.sqlite")
    assert dump(old)[0] == str(len(MIGRATIONS))


@pytest.fixture
def _a_step_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Migration(
        name="a column of this test",
        statements=(
            "ALTER TABLE reading ADD COLUMN extra TEXT",
            "DELETE FROM failure",
            "UPDATE meta SET nonsense = 1",
        ),
    )
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, broken))


@pytest.mark.usefixtures("_a_step_that_fails")
def test_a_step_that_fails_is_named_and_leaves_the_old_log_as_it_was(old: Path) -> None:
    before, version = dump(old), dump(old)[0]
    uses: list[Callable[[], TrialLog]] = [
        lambda: TrialLog.open(old, instrument=INSTRUMENT),
        lambda: TrialLog.read(old),
    ]
    for use in uses:
        with pytest.raises(TrialLogError) as fault:
            use()
        assert f"step to version {len(MIGRATIONS) + 1} of the log (a column of this test) failed" in str(fault.value)
        assert f"stays as it was, of version {version}" in str(fault.value)
        assert dump(old) == before


KILLED = """
import os, signal, sys
from datasheet.trials import migrations
from datasheet.trials.log import TrialLog
from trials.fake_judge import INSTRUMENT

def statements():
    yield "ALTER TABLE reading ADD COLUMN extra TEXT"
    yield "DELETE FROM failure"
    os.kill(os.getpid(), signal.SIGKILL)

killed = migrations.Migration(name="killed", statements=statements())
migrations.MIGRATIONS = (*migrations.MIGRATIONS, killed)
TrialLog.open(sys.argv[1], instrument=INSTRUMENT)
"""


def upgrade_in_a_process(script: str, path: Path, **options: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", script, str(path)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, **options)  # type: ignore[call-overload, no-any-return]


def test_kill_9_within_an_upgrade_leaves_the_old_log_as_it_was(old: Path) -> None:
    before = dump(old)
    assert upgrade_in_a_process(KILLED, old).returncode == -9
    with TrialLog.read(old) as log:
        check_readings(log)
    assert dump(old) == before
    with TrialLog.open(old, instrument=INSTRUMENT) as log:
        check_readings(log)


FULL = """
import sys
from datasheet.errors import TrialLogError
from datasheet.trials.log import TrialLog
from trials.fake_judge import INSTRUMENT

try:
    TrialLog.open(sys.argv[1], instrument=INSTRUMENT)
except TrialLogError as error:
    print(error)
"""


def test_a_disk_that_is_full_in_an_upgrade_leaves_the_old_log_as_it_was(old: Path) -> None:
    before = dump(old)
    limit = (1000, resource.RLIM_INFINITY)
    run = upgrade_in_a_process(FULL, old, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
    assert "Free some space" in run.stdout, run
    assert dump(old) == before
    with TrialLog.open(old, instrument=INSTRUMENT) as log:
        check_readings(log)


@pytest.fixture
def newer(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "newer.sqlite"
    TrialLog.open(path, instrument=INSTRUMENT).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
        connection.execute("CREATE TABLE what_comes_later (text)")
    return path


def test_a_log_of_a_newer_version_is_refused_and_left_alone(newer: Path) -> None:
    before = newer.read_bytes()
    for use in (
        lambda: TrialLog.open(newer, instrument=INSTRUMENT),
        lambda: TrialLog.read(newer),
        lambda: TrialLog.answered_in(newer, INSTRUMENT),
        lambda: TrialLog.set_aside(newer),
    ):
        with pytest.raises(TrialLogError, match=r"found version 4, of a newer judge-datasheet.*Update"):
            use()
    assert newer.read_bytes() == before


def test_a_version_that_no_release_wrote_is_refused(newer: Path) -> None:
    with closing(sqlite3.connect(newer)) as connection:
        connection.execute("PRAGMA user_version = -1")
    with pytest.raises(TrialLogError, match="found version -1: it was edited or damaged"):
        TrialLog.read(newer)
