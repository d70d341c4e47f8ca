"""The moments in which a trial log comes to be: a kill, a full disk or a second run in them costs nothing."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from trials.fake_judge import INSTRUMENT, OK, START, plan

from datasheet.errors import TrialLogError
from datasheet.trials.log import TrialLog

TESTS = Path(__file__).parents[1]


def run(script: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def fill(path: Path) -> None:
    """What a run does, from its first look at the log to its first reading."""
    assert TrialLog.answered_in(path, INSTRUMENT) == set()
    with TrialLog.open(path, instrument=INSTRUMENT) as log:
        trial, request = plan(1)[0]
        log.add_stimuli([trial.stimulus])
        log.record(trial, request, OK, attempts=1, at=START)
    assert TrialLog.answered_in(path, INSTRUMENT) == {request.key}
    with TrialLog.read(path) as log:
        assert log.verify() == []


MAKING = """
import sys
from pathlib import Path
from datasheet.trials.log import TrialLog
from trials.fake_judge import INSTRUMENT

for line in sys.stdin:
    TrialLog.open(line.strip(), instrument=INSTRUMENT)
"""


@pytest.mark.parametrize("delay_ms", [0, 0.5, 1, 2, 3, 4, 6, 8, 11, 15])
def test_kill_9_while_a_log_is_made_leaves_one_that_goes_on(tmp_path: Path, delay_ms: float) -> None:
    path = tmp_path / "trials.sqlite"
    maker = run(MAKING)
    assert maker.stdin is not None
    maker.stdin.write(f"{path}\n")
    maker.stdin.flush()
    while not path.exists():
        assert maker.poll() is None
    time.sleep(delay_ms / 1000)
    os.kill(maker.pid, signal.SIGKILL)
    maker.communicate()
    fill(path)


def test_a_blank_file_and_one_in_the_other_form_are_filled(tmp_path: Path) -> None:
    (tmp_path / "empty.sqlite").touch()
    fill(tmp_path / "empty.sqlite")
    connection = sqlite3.connect(tmp_path / "wal.sqlite")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    fill(tmp_path / "wal.sqlite")


HOT = """
import os, sqlite3, sys

connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN IMMEDIATE")
connection.execute("DELETE FROM reading")
connection.executemany("INSERT INTO meta VALUES (?, ?)", ((str(number), "x" * 3000) for number in range(200)))
os.kill(os.getpid(), 9)
"""


def test_a_journal_that_a_kill_left_behind_is_rolled_back(tmp_path: Path) -> None:
    path = tmp_path / "trials.sqlite"
    fill(path)
    run(HOT, str(path)).communicate()
    assert path.with_name("trials.sqlite-journal").stat().st_size > 512
    assert TrialLog.answered_in(path, INSTRUMENT) == {plan(1)[0][1].key}
    assert not path.with_name("trials.sqlite-journal").exists()


def test_answered_trials_are_of_the_instrument_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "trials.sqlite"
    assert TrialLog.answered_in(path, INSTRUMENT) == set()
    assert not list(tmp_path.iterdir())
    fill(path)
    with pytest.raises(TrialLogError, match="another instrument or task bank"):
        TrialLog.answered_in(path, {**INSTRUMENT, "bank_hash": "c"})
    path.write_text("something else entirely " * 100)
    with pytest.raises(TrialLogError, match="file of another kind"):
        TrialLog.answered_in(path, INSTRUMENT)


RIVAL = """
import sys
from datasheet.errors import TrialLogError
from datasheet.trials.log import TrialLog
from trials.fake_judge import INSTRUMENT

for line in sys.stdin:
    try:
        TrialLog.answered_in(line.strip(), INSTRUMENT)
        log = TrialLog.open(line.strip(), instrument=INSTRUMENT)
        print("won", flush=True)
    except TrialLogError as error:
        log = None
        print(error, flush=True)
    sys.stdin.readline()
    if log:
        log.close()
"""


def test_of_two_runs_that_start_at_once_one_has_the_log_and_the_other_is_told(tmp_path: Path) -> None:
    rivals = [run(RIVAL), run(RIVAL)]
    for attempt in range(6):
        said = []
        for rival in rivals:
            assert rival.stdin is not None
            rival.stdin.write(f"{tmp_path / str(attempt)}.sqlite\n")
            rival.stdin.flush()
        for rival in rivals:
            assert rival.stdout is not None
            said.append(rival.stdout.readline())
        assert sorted(line == "won\n" for line in said) == [False, True], said
        assert any("in use by another run" in line for line in said)
        for rival in rivals:
            assert rival.stdin is not None
            rival.stdin.write("next\n")
            rival.stdin.flush()
    for rival in rivals:
        rival.communicate()


def test_an_instrument_holds_a_text_of_a_megabyte(tmp_path: Path) -> None:
    instrument = {**INSTRUMENT, "variant": "é" * 1_000_000}
    TrialLog.open(tmp_path / "trials.sqlite", instrument=instrument).close()
    with TrialLog.read(tmp_path / "trials.sqlite") as log:
        assert log.instrument == instrument
