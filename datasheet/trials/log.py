"""The trial log: every reply that a judge gave, on disk before it counts; the one place with SQLite.

Rows are committed in batches by one writer thread (WAL, ``synchronous=FULL``), so that thousands of calls need
dozens of disk flushes and a killed run loses nothing that was committed. Raw replies are kept as they came;
parsing is a later, pure step. A failed attempt is a row of its own and never a reading.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Self, TypeAlias

from datasheet.errors import JudgeError, TrialLogError
from datasheet.identity import canonical_json
from datasheet.records import Reply, Request, Stimulus, Trial
from datasheet.trials.tables import (
    APPLICATION_ID,
    CHECKS,
    INSERT_FAILURE,
    INSERT_META,
    INSERT_READING,
    INSERT_STIMULUS,
    SCHEMA,
    SCHEMA_VERSION,
    SELECT_READINGS,
    LoggedReading,
    Row,
    logged_reading,
    stimulus_row,
    stored_text,
)

_BATCH_ROWS = 200
_LOCK_WAIT_S = 30.0
_IDENTITY = ("judge_id", "bank_hash")
_MISSING = "{}: expected a trial log, found no such file; `datasheet build` makes one"
_ADVICE = {
    "SQLITE_BUSY": "the trial log is in use by another run; wait until that run ends, or use another --out",
    "SQLITE_LOCKED": "the trial log is in use by another run; wait until that run ends, or use another --out",
    "SQLITE_NOTADB": "expected a trial log, found a file of another kind; it was left as it is. Use another --out",
    "SQLITE_CORRUPT": "the trial log is damaged; restore a copy, or use another --out",
    "SQLITE_FULL": "the disk is full; what was committed is safe. Free some space, and the same command goes on",
    "SQLITE_IOERR": "the disk refused a write or read, and may be full; what was committed is safe. Free some space,"
    " and the same command goes on",
    "SQLITE_READONLY": "the trial log can't be written; give yourself the right to write it and its folder,"
    " or use another --out",
    "SQLITE_CANTOPEN": "the trial log can't be opened; it must be a file in a folder that exists and that you may"
    " write to",
}

_Watcher: TypeAlias = Callable[[int, TrialLogError | None], object]


class TrialLog:
    """The trials of one instrument on one bank, as a file.

    Made by :meth:`open` (to write; one writer at a time, for as long as it is open) or :meth:`read`, closed by
    :meth:`close` or at the end of a ``with`` block. Every method raises TrialLogError where the file fails.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, writer: _Writer | None, held: ExitStack) -> None:
        self.path = path
        self._connection = connection
        self._writer = writer
        self._held = held
        self._model = self._meta("model")

    @classmethod
    def open(cls, path: str | Path, *, instrument: Mapping[str, str], create: bool = True) -> TrialLog:
        """Open a log to write, and make it where there is none (unless ``create`` is false).

        Parameters
        ----------
        instrument
            What the readings are of: ``judge_id``, ``bank_hash`` and whatever else tells it apart, stored once.

        Raises
        ------
        TrialLogError
            The file is no trial log, is of another instrument or bank, of a newer version, in use, or can't be written.
        """
        path = Path(path)
        if not create and not path.exists():
            raise TrialLogError(_MISSING.format(path))
        with _in_words(path), ExitStack() as stack:
            stack.enter_context(_claimed(path))
            connection = stack.enter_context(_connection(path, "rwc"))
            blank = _is_blank(connection, path)  # before anything is changed: the file may be someone else's
            stack.callback(_leave_one_file, connection)
            connection.execute("PRAGMA journal_mode = WAL")
            if blank:
                _create(connection, instrument)
            writer = _Writer(path, stack.enter_context(_connection(path, "rw")))
            stack.callback(writer.stop)
            log = cls(path, connection, writer, stack)
            log.check_instrument(instrument)
            log._held = stack.pop_all()
        return log

    @classmethod
    def read(cls, path: str | Path) -> TrialLog:
        """Open an existing log to read; a run may be writing to it.

        Raises
        ------
        TrialLogError
            There is no such file, or it is no trial log that this version reads.
        """
        path = Path(path)
        if not path.exists():
            raise TrialLogError(_MISSING.format(path))
        with _in_words(path), ExitStack() as stack:
            connection = stack.enter_context(_connection(path, "ro"))
            if _is_blank(connection, path):
                raise TrialLogError(f"{path}: expected a trial log, found an empty file; `datasheet build` fills one")
            log = cls(path, connection, None, stack)
            log._held = stack.pop_all()
        return log

    @staticmethod
    def set_aside(path: str | Path) -> Path | None:
        """Rename a log so that a new one can start and no reading is lost; its new name, or None if there was no log.

        Raises
        ------
        TrialLogError
            A run has it open, or the file is of another application.
        """
        path = Path(path)
        if not path.exists():
            return None
        with _in_words(path), _claimed(path):
            with _connection(path, "rw") as connection:
                _is_blank(connection, path)
                connection.execute("PRAGMA journal_mode = DELETE")  # one file holds it all, and can be renamed
            names = (path.with_name(f"{path.stem}.old{number}{path.suffix}") for number in count(1))
            aside = next(name for name in names if not name.exists())
            path.rename(aside)
        return aside

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self.close()
        else:
            self._held.close()

    def close(self) -> None:
        """Commit what is queued, and give back the file."""
        self._held.close()
        if self._writer is not None and self._writer.fault is not None:
            raise self._writer.fault

    # Writing

    def add_stimuli(self, stimuli: Iterable[Stimulus]) -> None:
        """Keep what is known of each stimulus; one that the log holds already must be the same.

        Raises
        ------
        TrialLogError
            A stimulus comes with another probe, arm, task, level or length than it had.
        """
        with _in_words(self.path):
            held = {row[0]: row for row in self._connection.execute("SELECT * FROM stimulus")}
        for stimulus in stimuli:
            row = stimulus_row(stimulus)
            if held.setdefault(stimulus.id, row) is row:
                self._writing.put(INSERT_STIMULUS, row)
            elif held[stimulus.id] != row:
                raise TrialLogError(
                    f"{self.path}: stimulus {stimulus.id} is in the log as {held[stimulus.id][1:]}, and now comes as "
                    f"{row[1:]}; one text has one probe, arm and task. Use another --out, or --fresh to start over"
                )
        self.flush()

    def record(self, trial: Trial, request: Request, reply: Reply, *, attempts: int, at: datetime) -> None:
        """Queue a reading; it counts once it is committed (:meth:`watch`, :meth:`flush`)."""
        row = (
            request.key, trial.stimulus.id, trial.order, trial.repeat,
            sum(len(text) for _, text in request.messages), attempts, _utc(at),
            reply.text, reply.finish_reason, reply.refusal, reply.reasoning, reply.prompt_tokens,
            reply.completion_tokens, reply.latency_s, reply.model, reply.fingerprint,
            json.dumps(reply.logprobs, ensure_ascii=False) if reply.logprobs else "[]",
        )  # fmt: skip
        self._writing.put(INSERT_READING, row)

    def record_failure(self, key: str, failure: JudgeError, *, attempt: int, at: datetime) -> None:
        """Queue a failed attempt at a trial; it is never a reading, so that the trial stays to be asked."""
        self._writing.put(INSERT_FAILURE, (key, attempt, failure.kind, failure.status, str(failure), _utc(at)))

    def freeze_model(self, model: str, fingerprint: str) -> str:
        """Keep the first model name that the server reports, and return the name kept ("" while there is none)."""
        if model and not self._model:
            self._model = model
            self._writing.put(INSERT_META, ("model", model))
            self._writing.put(INSERT_META, ("fingerprint", fingerprint))
        return self._model

    def watch(self, watcher: _Watcher | None) -> None:
        """Have ``watcher(readings committed, fault)`` called after each batch, in the writer's thread."""
        self._writing.watcher = watcher

    def flush(self) -> None:
        """Wait until all that was queued is on disk."""
        self._writing.flush()

    # Reading

    @property
    def instrument(self) -> dict[str, str]:
        """What the readings are of, as it was given when the log was made."""
        fields: dict[str, str] = json.loads(self._meta("instrument") or "{}")
        return fields

    def check_instrument(self, instrument: Mapping[str, str]) -> None:
        """Refuse another judge or bank than the log's, with each field that differs."""
        held = self.instrument
        if all(held.get(field) == instrument.get(field) for field in _IDENTITY):
            return
        differing = [field for field in sorted({*held, *instrument}) if held.get(field) != instrument.get(field)]
        lines = [f"  {field}: {held.get(field)!r} in the log, {instrument.get(field)!r} now" for field in differing]
        raise TrialLogError(
            "\n".join([f"{self.path} holds readings of another instrument or task bank:", *lines])
            + "\nUse another --out, or --fresh to start over"
        )

    @property
    def reported_model(self) -> str:
        """The model name that the server reported first, or ""."""
        return self._model

    def fingerprints(self) -> dict[str, int]:
        """Readings by the fingerprint that the server reported: more than one key means that it changed."""
        return self._counts("SELECT fingerprint, COUNT(*) FROM reading GROUP BY 1 ORDER BY 1")

    def failures(self) -> dict[str, int]:
        """Failed attempts by kind."""
        return self._counts("SELECT kind, COUNT(*) FROM failure GROUP BY 1 ORDER BY 1")

    def answered(self) -> set[str]:
        """Keys of the trials that have a reading."""
        with _in_words(self.path):
            return {key for (key,) in self._connection.execute("SELECT key FROM reading")}

    def readings(self, keys: Container[str] | None = None) -> Iterator[LoggedReading]:
        """The readings (only those of ``keys``, if given) in the order of their keys."""
        with _in_words(self.path):
            for row in self._connection.execute(SELECT_READINGS):
                if keys is None or row[0] in keys:
                    yield logged_reading(row)

    def verify(self) -> list[str]:
        """Faults of the file and of what it holds, one sentence each; an intact log has none."""
        try:
            damage = [row[0] for row in self._connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
            if damage:
                return [f"the database is damaged: {fault}" for fault in damage]
            return [
                sentence.format(*map(stored_text, row))
                for query, sentence in CHECKS
                for row in self._connection.execute(query)
            ]
        except sqlite3.DatabaseError as error:
            return [_sentence(self.path, error)]

    @property
    def _writing(self) -> _Writer:
        if self._writer is None:
            raise TrialLogError(f"{self.path} was opened to read; open it with TrialLog.open to write")
        return self._writer

    def _meta(self, field: str) -> str:
        with _in_words(self.path):
            row = self._connection.execute("SELECT value FROM meta WHERE field = ?", (field,)).fetchone()
        return stored_text(row[0]) if row else ""

    def _counts(self, query: str) -> dict[str, int]:
        with _in_words(self.path):
            return {stored_text(name): rows for name, rows in self._connection.execute(query)}


class _Writer:
    """The thread that commits rows in batches; after a fault it takes rows but writes none."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.fault: TrialLogError | None = None
        self.watcher: _Watcher | None = None
        self._path = path
        self._connection = connection
        self._queue: SimpleQueue[tuple[str, Row] | threading.Event | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="trial log", daemon=True)
        self._thread.start()

    def put(self, statement: str, row: Row) -> None:
        if self.fault is not None:
            raise self.fault
        self._queue.put((statement, row))

    def flush(self) -> None:
        written = threading.Event()
        self._queue.put(written)
        written.wait()
        if self.fault is not None:
            raise self.fault

    def stop(self) -> None:
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        going_on = True
        while going_on:
            rows: list[tuple[str, Row]] = []
            waiting: list[threading.Event] = []
            for item in self._gathered():
                if item is None:
                    going_on = False
                elif isinstance(item, threading.Event):
                    waiting.append(item)
                else:
                    rows.append(item)
            if rows and self.fault is None:
                self._commit(rows)
            for event in waiting:
                event.set()

    def _gathered(self) -> Iterator[tuple[str, Row] | threading.Event | None]:
        first = self._queue.get()
        yield first
        for _ in range(_BATCH_ROWS - 1):
            try:
                yield self._queue.get_nowait()
            except Empty:
                return

    def _commit(self, rows: list[tuple[str, Row]]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for statement, row in rows:
                _insert(self._connection, statement, row)
            self._connection.execute("COMMIT")
        except Exception as error:  # whatever it is, the run must hear of it: this thread has no one else to tell
            if self._connection.in_transaction:
                self._connection.rollback()
            self.fault = TrialLogError(_sentence(self._path, error))
        if self.watcher is not None:
            readings = sum(statement is INSERT_READING for statement, _ in rows)
            self.watcher(0 if self.fault else readings, self.fault)


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into a sentence that says what to do."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise TrialLogError(_sentence(path, error)) from error


def _sentence(path: Path, error: Exception) -> str:
    name = getattr(error, "sqlite_errorname", "")
    advice = next((text for prefix, text in _ADVICE.items() if name.startswith(prefix)), "the trial log failed")
    return f"{path}: {advice} ({error})"


@contextmanager
def _claimed(path: Path) -> Iterator[None]:
    """Hold the right to write, against other processes too; the system lets go of it even on kill -9."""
    with closing(sqlite3.connect(f"{path}.lock", timeout=0, isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield


@contextmanager
def _connection(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    with closing(
        sqlite3.connect(uri, uri=True, timeout=_LOCK_WAIT_S, isolation_level=None, check_same_thread=False)
    ) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        yield connection


def _leave_one_file(connection: sqlite3.Connection) -> None:
    """At rest a log is one plain file, which can be copied, and read from a folder that can't be written."""
    connection.execute("PRAGMA busy_timeout = 0")
    with suppress(sqlite3.Error):  # someone reads it, or the disk is full: the other form holds the same
        connection.execute("PRAGMA journal_mode = DELETE")


def _is_blank(connection: sqlite3.Connection, path: Path) -> bool:
    """True where nothing was ever stored; what is neither blank nor a log that this version reads is refused."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    if application == 0 and tables == 0:
        return True
    if application != APPLICATION_ID:
        raise TrialLogError(
            f"{path}: expected a trial log, found a database of another application; it was left as it is. "
            "Use another --out"
        )
    if version != SCHEMA_VERSION:
        raise TrialLogError(
            f"{path}: expected a trial log of version {SCHEMA_VERSION}, found version {version}; "
            "use the judge-datasheet that wrote it, or a newer one"
        )
    return False


def _create(connection: sqlite3.Connection, instrument: Mapping[str, str]) -> None:
    connection.executescript(SCHEMA)
    _insert(connection, INSERT_META, ("instrument", canonical_json(dict(instrument))))
    connection.execute("COMMIT")


def _insert(connection: sqlite3.Connection, statement: str, row: Row) -> None:
    try:
        connection.execute(statement, row)
    except UnicodeEncodeError:
        connection.execute(statement, [_bytes_if_no_utf8(value) for value in row])


def _bytes_if_no_utf8(value: object) -> object:
    """Half a surrogate pair is no UTF-8, which SQLite's texts are: such a text is kept as bytes, losslessly."""
    if not isinstance(value, str):
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")
    return value


def _utc(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
