"""The trial log: what goes in comes out, and no fault of disk, file or neighbour passes unsaid."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from trials.fake_judge import INSTRUMENT, OK, START, plan, stimulus

from datasheet.errors import TransientJudgeError, TrialLogError
from datasheet.records import Reply
from datasheet.trials.database import fault_text
from datasheet.trials.log import TrialLog
from datasheet.trials.pending import pending

TESTS = Path(__file__).parents[1]


def record(log: TrialLog, trials: int, reply: Reply = OK) -> None:
    planned = plan(trials)
    log.add_stimuli(trial.stimulus for trial, _ in planned)
    for trial, request in planned:
        log.record(trial, request, reply, attempts=1, at=START)
    log.flush()


def edit(path: Path, statement: str) -> None:
    """What a stray tool might do to a log."""
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()


def start(script: str, path: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-c", script, str(path)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


# What goes in comes out


def test_a_reading_comes_back_with_its_stimulus(log: TrialLog) -> None:
    trial, request = plan(2)[1]
    reply = replace(
        OK, reasoning="so", refusal="no", latency_s=0.25, fingerprint="fp", logprobs=(("A", -0.5), ("é", -2))
    )
    log.add_stimuli([trial.stimulus])
    log.record(trial, request, reply, attempts=3, at=START)
    log.flush()
    (reading,) = log.readings()
    assert reading.reply == reply
    assert (reading.key, reading.stimulus_id, reading.order, reading.repeat) == (
        request.key,
        trial.stimulus.id,
        "ba",
        0,
    )
    assert (reading.probe, reading.arm, reading.task) == ("ladder", "prefix", "task-0")
    assert (reading.level_a, reading.level_b, reading.filler_b) == (2, 1, 0)
    assert (reading.length_a, reading.length_b) == (3, 2)
    assert reading.prompt_characters == len(request.messages[0][1])
    assert (reading.attempts, reading.at) == (3, "2026-11-30T12:00:00Z")


@pytest.mark.parametrize("dose", [None, 0, 2])
def test_a_dose_comes_back(log: TrialLog, dose: int | None) -> None:
    trial, request = plan(1)[0]
    dosed = replace(trial, stimulus=replace(trial.stimulus, probe="channel", arm="courtesy", dose=dose))
    log.add_stimuli([dosed.stimulus])
    log.record(dosed, request, OK, attempts=1, at=START)
    log.flush()
    (reading,) = log.readings()
    assert (reading.probe, reading.arm, reading.dose) == ("channel", "courtesy", dose)


def test_readings_come_in_the_order_of_their_keys_and_only_those_asked_for(log: TrialLog) -> None:
    record(log, 20)
    keys = [reading.key for reading in log.readings()]
    assert keys == sorted(request.key for _, request in plan(20))
    assert [reading.key for reading in log.readings(set(keys[5:8]))] == keys[5:8]


texts = st.text(st.characters(exclude_categories=[]), max_size=60)


@settings(max_examples=40, deadline=None)
@given(texts, texts, texts)
@example("first\u2028second\u0085third [[A]]", "\x00\x00", "\ud83d\ude00 whole, \ud83d half")
@example("\ud800", "\udfff\ud800", "")
@example("x" * 1_000_000, "\r\n", "'; DROP TABLE reading; --")
def test_any_text_survives(text: str, other: str, token: str) -> None:
    reply = Reply(text=text, reasoning=other, refusal=text, finish_reason=other, model=text, logprobs=((token, -1.5),))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trials.sqlite"
        with TrialLog.open(file, instrument=INSTRUMENT) as log:
            record(log, 1, reply)
        with TrialLog.read(file) as log:
            assert [reading.reply for reading in log.readings()] == [reply]
            assert log.verify() == []


def test_a_failed_attempt_is_counted_and_is_no_reading(log: TrialLog) -> None:
    key = plan(1)[0][1].key
    log.record_failure(key, TransientJudgeError("half \ud800", kind="timeout"), attempt=1, at=START)
    log.record_failure(key, TransientJudgeError("", kind="empty", status=200), attempt=2, at=START)
    log.flush()
    assert log.failures() == {"empty": 1, "timeout": 1}
    assert log.answered() == set()
    assert list(log.readings()) == []


def test_a_log_is_one_plain_file_at_rest(path: Path) -> None:
    with TrialLog.open(path, instrument=INSTRUMENT) as log:
        record(log, 4)
    with TrialLog.read(path) as log:
        assert len(log.answered()) == 4
    assert sorted(file.name for file in path.parent.iterdir()) == ["trials.sqlite", "trials.sqlite.lock"]


def test_a_log_can_be_read_while_it_is_written(log: TrialLog) -> None:
    record(log, 4)
    with TrialLog.read(log.path) as reader:
        assert reader.answered() == log.answered()
        with pytest.raises(TrialLogError, match="opened to read"):
            reader.add_stimuli([stimulus(9)])


def test_the_first_model_name_is_kept_and_fingerprints_are_counted(path: Path) -> None:
    with TrialLog.open(path, instrument=INSTRUMENT) as log:
        assert log.freeze_model("", "") == ""
        assert log.freeze_model("one", "fp-1") == "one"
        assert log.freeze_model("two", "fp-2") == "one"
        record(log, 3, replace(OK, fingerprint="fp-1"))
    with TrialLog.open(path, instrument=INSTRUMENT) as log:
        assert log.freeze_model("three", "") == log.reported_model == "one"
        assert log.fingerprints() == {"fp-1": 3}


# Whose log it is


def test_another_judge_or_bank_is_refused_with_each_difference(path: Path) -> None:
    TrialLog.open(path, instrument=INSTRUMENT).close()
    other = {**INSTRUMENT, "judge_id": "k" * 16, "prompt": "bracket\x1b[31m", "more": "r"}
    with pytest.raises(TrialLogError) as refusal:
        TrialLog.open(path, instrument=other)
    message = str(refusal.value)
    assert "prompt: 'default' in the log, 'bracket\\x1b[31m' now" in message
    assert "more: None in the log, 'r' now" in message
    assert "  model" not in message
    assert "--out" in message
    assert "--fresh" in message
    with pytest.raises(TrialLogError, match=r"bank_hash: 'b+' in the log, 'c' now"):
        TrialLog.open(path, instrument={**INSTRUMENT, "bank_hash": "c"})


def test_what_does_not_make_the_instrument_may_change(path: Path) -> None:
    TrialLog.open(path, instrument=INSTRUMENT).close()
    with TrialLog.open(path, instrument={**INSTRUMENT, "judge": "renamed"}) as log:
        assert log.instrument == INSTRUMENT


def test_a_stimulus_may_not_change_its_arm(log: TrialLog) -> None:
    log.add_stimuli([stimulus(1)])
    log.add_stimuli([stimulus(1)])
    with pytest.raises(TrialLogError, match=f"stimulus {stimulus(1).id} is in the log as .*'prefix'.* now comes as"):
        log.add_stimuli([replace(stimulus(1), arm="terse_better")])


def test_another_applications_database_is_refused_and_left_alone(path: Path) -> None:
    edit(path, "CREATE TABLE songs (title)")
    before = path.read_bytes()
    for use in (lambda: TrialLog.open(path, instrument=INSTRUMENT), lambda: TrialLog.set_aside(path)):
        with pytest.raises(TrialLogError, match="database of another application"):
            use()
    assert path.read_bytes() == before


def test_a_file_of_another_kind_is_refused(path: Path) -> None:
    path.write_text('{"trial": "s1:AB:0", "verdict": "A"}\n' * 200)
    with pytest.raises(TrialLogError, match="file of another kind"):
        TrialLog.open(path, instrument=INSTRUMENT)
    with pytest.raises(TrialLogError, match="file of another kind"):
        TrialLog.read(path)


def test_a_newer_version_is_refused(path: Path) -> None:
    TrialLog.open(path, instrument=INSTRUMENT).close()
    edit(path, "PRAGMA user_version = 99")
    with pytest.raises(TrialLogError, match="version 3 or older, found version 99"):
        TrialLog.read(path)


def test_a_path_that_can_hold_no_log_is_named(tmp_path: Path) -> None:
    with pytest.raises(TrialLogError, match=r"can't be opened; it must be a file in a folder that exists"):
        TrialLog.open(tmp_path / "missing" / "trials.sqlite", instrument=INSTRUMENT)


def test_a_folder_is_no_log(path: Path) -> None:
    path.mkdir()
    for use in (
        lambda: TrialLog.open(path, instrument=INSTRUMENT),
        lambda: TrialLog.read(path),
        lambda: TrialLog.set_aside(path),
        lambda: TrialLog.answered_in(path, INSTRUMENT),
    ):
        with pytest.raises(TrialLogError, match="expected the file of a trial log, found a folder"):
            use()
    assert list(path.parent.iterdir()) == [path]


def test_no_log_where_one_is_expected(path: Path) -> None:
    with pytest.raises(TrialLogError, match="no such file"):
        TrialLog.read(path)
    with pytest.raises(TrialLogError, match="no such file"):
        TrialLog.open(path, instrument=INSTRUMENT, create=False)
    path.touch()
    with pytest.raises(TrialLogError, match="empty file"):
        TrialLog.read(path)
    TrialLog.open(path, instrument=INSTRUMENT).close()  # a run killed at its very start leaves such a file


def test_a_folder_without_the_right_to_write_is_named(path: Path) -> None:
    error = sqlite3.OperationalError("attempt to write a readonly database")
    error.sqlite_errorname = "SQLITE_READONLY_DIRECTORY"
    assert "give yourself the right to write it" in fault_text(path, error)


def test_a_second_writer_is_refused_until_the_first_is_done(path: Path) -> None:
    with TrialLog.open(path, instrument=INSTRUMENT):
        for use in (lambda: TrialLog.open(path, instrument=INSTRUMENT), lambda: TrialLog.set_aside(path)):
            with pytest.raises(TrialLogError, match="in use by another run"):
                use()
    TrialLog.open(path, instrument=INSTRUMENT).close()


def test_a_log_set_aside_keeps_its_readings_and_leaves_the_name_free(path: Path) -> None:
    assert TrialLog.set_aside(path) is None
    for number, trials in ((1, 2), (2, 4)):
        with TrialLog.open(path, instrument={**INSTRUMENT, "judge_id": f"judge-{number}"}) as log:
            record(log, trials)
        old = TrialLog.set_aside(path)
        assert old == path.with_name(f"trials.old{number}.sqlite")
        with TrialLog.read(old) as log:
            assert len(log.answered()) == trials
    assert not path.exists()


# Faults


def test_an_intact_log_has_no_faults(log: TrialLog) -> None:
    record(log, 10)
    assert log.verify() == []


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("DELETE FROM stimulus WHERE task = 'task-0'", "the log does not hold"),
        ("""UPDATE reading SET "order" = 'AB' WHERE "order" = 'ab'""", "order should be one of ab, ba, found 'AB'"),
        ("UPDATE reading SET repeat = -1", "repeat should be a whole number of 0 or more, found -1"),
        ("UPDATE reading SET attempts = 0", "attempts should be a whole number of 1 or more, found 0"),
        ("UPDATE stimulus SET level_a = 0", "levels 0 and 1; expected both or neither"),
        ("UPDATE stimulus SET level_b = NULL", "levels 2 and None; expected both or neither"),
        ("UPDATE stimulus SET probe = 'staircase'", "natural, found 'staircase'"),
        ("""UPDATE reading SET "order" = 'ab'""", "order ab, repeat 0 has readings under more than one key"),
    ],
)
def test_verify_names_what_a_stray_edit_broke(path: Path, statement: str, fault: str) -> None:
    with TrialLog.open(path, instrument=INSTRUMENT) as log:
        record(log, 2)
    edit(path, statement)
    with TrialLog.read(path) as log:
        faults = log.verify()
    assert any(fault in sentence for sentence in faults), faults


def test_verify_names_a_damaged_page(path: Path) -> None:
    with TrialLog.open(path, instrument=INSTRUMENT) as log:
        record(log, 400)
    pages = bytearray(path.read_bytes())
    pages[len(pages) // 2 : len(pages) // 2 + 6000] = b"\x5a" * 6000
    path.write_bytes(pages)
    with TrialLog.read(path) as log:
        assert any("damaged" in sentence for sentence in log.verify())


def test_damage_of_any_page_stops_a_writer_before_it_adds_to_it(path: Path) -> None:
    with TrialLog.open(path, instrument=INSTRUMENT) as log:
        record(log, 60)
    intact = path.read_bytes()
    pages = range(4096, len(intact), 4096)
    assert len(pages) > 5
    for page in pages:
        path.write_bytes(intact[:page] + b"\x5a" * 4096 + intact[page + 4096 :])
        with pytest.raises(TrialLogError, match="damaged; restore a copy"):
            TrialLog.open(path, instrument=INSTRUMENT)
    path.write_bytes(intact)
    with TrialLog.open(path, instrument=INSTRUMENT) as log:
        assert log.verify() == []


def test_a_row_that_can_not_be_stored_fails_the_log_and_not_in_silence(path: Path) -> None:
    heard: list[TrialLogError | None] = []
    log = TrialLog.open(path, instrument=INSTRUMENT)
    log.watch(lambda readings, fault: heard.append(fault))
    with pytest.raises(TrialLogError, match="too large"):
        record(log, 1, replace(OK, prompt_tokens=2**70))
    with pytest.raises(TrialLogError, match="too large"):
        log.close()
    assert isinstance(heard[-1], TrialLogError)
    with TrialLog.read(path) as log:
        assert log.answered() == set()
        assert log.verify() == []


FULL_DISK = """
import resource, sys
from datasheet.errors import TrialLogError
from datasheet.trials.log import TrialLog
from trials.fake_judge import *

committed = []
log = TrialLog.open(sys.argv[1], instrument=INSTRUMENT)
log.watch(lambda readings, fault: committed.append(readings))
planned = plan(4000)
log.add_stimuli(trial.stimulus for trial, _ in planned)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, resource.RLIM_INFINITY))
try:
    for trial, request in planned:
        log.record(trial, request, Reply(text="x" * 1000), attempts=1, at=START)
    log.flush()
except TrialLogError as error:
    try:
        log.close()
    except TrialLogError as again:
        print(sum(committed), error is again, error)
"""


def test_a_full_disk_ends_the_run_and_keeps_what_was_committed(path: Path) -> None:
    writer = start(FULL_DISK, path)
    output, _ = writer.communicate(timeout=60)
    acknowledged, same, message = output.split(" ", 2)
    assert same == "True"
    assert "may be full" in message
    assert "Free some space" in message
    with TrialLog.read(path) as log:
        assert 0 < int(acknowledged) <= len(log.answered()) < 4000
        assert log.verify() == []
    with TrialLog.open(path, instrument=INSTRUMENT) as log:  # with room again, the same log goes on
        trial, request = pending(plan(4000), log.answered())[0]
        log.record(trial, request, OK, attempts=1, at=START)
        log.flush()
        assert request.key in log.answered()


ENDLESS = """
import sys
from datasheet.trials.log import TrialLog
from trials.fake_judge import *

log = TrialLog.open(sys.argv[1], instrument=INSTRUMENT)
log.watch(lambda readings, fault: print(readings, flush=True))
planned = plan(20_000)
log.add_stimuli(trial.stimulus for trial, _ in planned)
for number, (trial, request) in enumerate(planned):
    log.record(trial, request, OK, attempts=1, at=START)
    if number % 7 == 0:
        log.flush()
"""


@pytest.mark.parametrize("seed", range(5))
def test_kill_9_loses_no_acknowledged_reading(path: Path, seed: int) -> None:
    writer = start(ENDLESS, path)
    assert writer.stdout is not None
    acknowledged = 0
    for _ in range(random.Random(seed).randrange(2, 60)):
        acknowledged += int(writer.stdout.readline())
    os.kill(writer.pid, signal.SIGKILL)
    acknowledged += sum(int(line) for line in writer.stdout.read().splitlines() if line)
    writer.wait()
    writer.stdout.close()
    with TrialLog.read(path) as log:
        assert acknowledged <= len(log.answered()) < 20_000
        assert log.verify() == []
    TrialLog.open(path, instrument=INSTRUMENT).close()  # the lock went with its process
