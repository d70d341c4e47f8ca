"""The trial log: every reply that a judge gave, on disk before it counts.

Rows are committed in batches by one writer thread (WAL, ``synchronous=FULL``), so that thousands of calls need
dozens of disk flushes and a killed run loses nothing that was committed. Raw replies are kept as they came;
parsing is a later, pure step. A failed attempt is a row of its own and never a reading.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

from datasheet.errors import JudgeError, TrialLogError
from datasheet.identity import canonical_json
from datasheet.records import Reply, Request, Stimulus, Trial
from datasheet.strict_json import decode
from datasheet.trials.columns import INSTRUMENT, faults
from datasheet.trials.database import (
    claimed,
    connected,
    exists,
    fault_text,
    in_words,
    leave_one_file,
    recover,
    refuse_damage,
    transaction,
)
from datasheet.trials.instrument import IDENTITY, differences, same
from datasheet.trials.kept_verdict import ReplyReader
from datasheet.trials.migrations import to_read, upgrade, version_of
from datasheet.trials.tables import (
    INSERT_EXPORTED,
    INSERT_FAILURE,
    INSERT_META,
    INSERT_READING,
    INSERT_STIMULUS,
    SELECT_READINGS,
    LoggedReading,
    Presentation,
    Row,
    logged_reading,
    reading_row,
    stimulus_row,
    stored_text,
)
from datasheet.trials.verification import database_faults, relation_faults, value_faults
from datasheet.trials.writer import Watcher, Writer, insert

LEAST_ERROR_STATUS = 400
"""An attempt that a server answered with such a status, or a higher one, was not billed."""

_EDITED = "the log was edited or damaged: restore a copy, or use another --out"
_MISSING = "{}: expected a trial log, found no such file; `datasheet build` makes one"


class TrialLog:
    """The trials of one instrument on one bank, as a file.

    Made by :meth:`open` (to write; one writer at a time, for as long as it is open) or :meth:`read`, closed by
    :meth:`close` or at the end of a ``with`` block. Every method raises TrialLogError where the file fails.
    """

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        held: ExitStack,
        writer: Writer | None = None,
        reader: ReplyReader | None = None,
    ) -> None:
        self.path = path
        self._connection = connection
        self._held = held
        self._writer = writer
        self._reader = reader
        self._model = self._meta("model")

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        instrument: Mapping[str, str],
        create: bool = True,
        instead_of_raw: ReplyReader | None = None,
    ) -> TrialLog:
        """Open a log to write, and make it where there is none (unless ``create`` is false).

        A log of an older version is upgraded.

        Parameters
        ----------
        instrument
            What the readings are of: ``judge_id``, ``bank_hash`` and whatever else tells it apart, stored once.
        instead_of_raw
            Reads the verdict of each reply, which is kept, and the judge's own words are not. None: they are kept.

        Raises
        ------
        TrialLogError
            The file is no trial log, is of another instrument or bank, of a newer version, in use, or can't be written.
        """
        path = Path(path)
        with in_words(path), ExitStack() as stack:
            if not exists(path) and not create:
                raise TrialLogError(_MISSING.format(path))
            stack.enter_context(claimed(path))
            connection = stack.enter_context(connected(path, "rwc"))
            version = version_of(connection, path)  # before anything is changed: the file may be someone else's
            refuse_damage(connection, path)  # a page that no statement of a run reads would go unseen, and be added to
            stack.callback(leave_one_file, connection)
            connection.execute("PRAGMA journal_mode = WAL")
            with transaction(connection):
                upgrade(connection, path)
                if version == 0:
                    insert(connection, INSERT_META, ("instrument", canonical_json(dict(instrument))))
            writer = Writer(path, stack.enter_context(connected(path, "rw")))
            stack.callback(writer.stop)
            log = cls(path, connection, stack, writer, instead_of_raw)
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
        with in_words(path), ExitStack() as stack:
            if not exists(path):
                raise TrialLogError(_MISSING.format(path))
            connection = stack.enter_context(to_read(path))
            if version_of(connection, path) == 0:
                raise TrialLogError(f"{path}: expected a trial log, found an empty file; `datasheet build` fills one")
            log = cls(path, connection, stack)
            log._held = stack.pop_all()
        return log

    @classmethod
    def answered_in(cls, path: str | Path, instrument: Mapping[str, str]) -> set[str]:
        """Keys of the trials that a log holds a reading of: none where no log is, or a run ended before it filled one.

        Raises
        ------
        TrialLogError
            The file is no trial log that this version reads, or is of another instrument or bank.
        """
        path = Path(path)
        with in_words(path):
            if not exists(path):
                return set()
            recover(path)
            with connected(path, "ro") as connection:
                if version_of(connection, path) == 0:
                    return set()
        with cls.read(path) as log:
            log.check_instrument(instrument)
            return log.answered()

    @staticmethod
    def set_aside(path: str | Path) -> Path | None:
        """Rename a log so that a new one can start and no reading is lost; its new name, or None if there was no log.

        Raises
        ------
        TrialLogError
            A run has it open, or the file is of another application.
        """
        path = Path(path)
        with in_words(path):
            if not exists(path):
                return None
        with in_words(path), claimed(path):
            with connected(path, "rw") as connection:
                version_of(connection, path)
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
        """Commit what is queued, and give back the file.

        Raises
        ------
        TrialLogError
            Some of it was not committed.
        """
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
        with in_words(self.path):
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
        shown = Presentation.of(trial, request)
        self._writing.put(
            INSERT_READING, reading_row(shown, reply, self._reader, attempts=attempts, at=_utc(at), from_batch=False)
        )

    def record_batched(self, shown: Presentation, reply: Reply, *, at: datetime) -> None:
        """Queue a reading whose reply came in a batch file."""
        self._writing.put(
            INSERT_READING, reading_row(shown, reply, self._reader, attempts=1, at=_utc(at), from_batch=True)
        )

    def add_exported(self, planned: Iterable[tuple[Trial, Request]]) -> None:
        """Keep what the readings of trials that are asked in a batch will say of them."""
        for trial, request in planned:
            self._writing.put(INSERT_EXPORTED, Presentation.of(trial, request).row)
        self.flush()

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

    def watch(self, watcher: Watcher | None) -> None:
        """Have ``watcher(readings committed, fault)`` called after each batch, in the writer's thread."""
        self._writing.watcher = watcher

    def flush(self) -> None:
        """Wait until all that was queued is on disk."""
        self._writing.flush()

    # Reading

    @property
    def instrument(self) -> dict[str, str]:
        """What the readings are of, as it was given when the log was made.

        Raises
        ------
        TrialLogError
            The log was edited, so that it is no object of texts or lacks what tells an instrument apart.
        """
        place = f"{self.path}: the field 'instrument' of the table 'meta'"
        try:
            held = decode(self._meta("instrument"))
        except ValueError as error:
            raise TrialLogError(f"{place} should be JSON: {error}; {_EDITED}") from None
        if not isinstance(held, dict) or not all(isinstance(value, str) for value in held.values()):
            raise TrialLogError(f"{place} should be an object of texts; {_EDITED}")
        clauses = list(faults({**dict.fromkeys(INSTRUMENT), **held}, INSTRUMENT))
        if clauses:
            raise TrialLogError(f"{place} does not fit: {'; '.join(clauses)}; {_EDITED}")
        return held

    def check_instrument(self, instrument: Mapping[str, str]) -> None:
        """Refuse another judge or bank than the log's, with each field that differs.

        Raises
        ------
        TrialLogError
            The judge or the bank is another one.
        """
        held = self.instrument
        if same(held, instrument, IDENTITY):
            return
        raise TrialLogError(
            "\n".join(
                [f"{self.path} holds readings of another instrument or task bank:", *differences(held, instrument)]
            )
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

    def failures_maybe_billed(self) -> int:
        """Failed attempts that no server answered with an error: a reply that did not come, or could not be used."""
        query = "SELECT kind, COUNT(*) FROM failure WHERE status IS NULL OR status < {} GROUP BY 1"
        return sum(self._counts(query.format(LEAST_ERROR_STATUS)).values())

    def answered(self) -> set[str]:
        """Keys of the trials that have a reading."""
        with in_words(self.path):
            return {key for (key,) in self._connection.execute("SELECT key FROM reading")}

    def readings(self, keys: Container[str] | None = None) -> Iterator[LoggedReading]:
        """The readings (only those of ``keys``, if given) in the order of their keys."""
        with in_words(self.path):
            for row in self._connection.execute(SELECT_READINGS):
                if keys is None or row[0] in keys:
                    yield self._logged(row)

    def stored(self, table: str, columns: Sequence[str]) -> list[Row]:
        """All rows of a table, as they are stored."""
        selected = ", ".join(f"[{column}]" for column in columns)
        with in_words(self.path):
            return self._connection.execute(f"SELECT {selected} FROM {table}").fetchall()

    def verify(self) -> list[str]:
        """Faults of the file and of what it holds, one sentence each; an intact log has none."""
        try:
            return database_faults(self._connection) or [
                *self._instrument_fault(),
                *relation_faults(self._connection),
                *value_faults(self._connection),
            ]
        except sqlite3.DatabaseError as error:
            return [fault_text(self.path, error)]

    def _instrument_fault(self) -> list[str]:
        try:
            self.instrument  # noqa: B018 - it is checked when it is read
        except TrialLogError as error:
            return [str(error)]
        return []

    def _logged(self, row: Row) -> LoggedReading:
        try:
            return logged_reading(row)
        except ValueError as error:
            raise TrialLogError(f"{self.path}: reading {stored_text(row[0])!s:.80}: {error}; {_EDITED}") from None

    @property
    def _writing(self) -> Writer:
        if self._writer is None:
            raise TrialLogError(f"{self.path} was opened to read; open it with TrialLog.open to write")
        return self._writer

    def _meta(self, field: str) -> str:
        with in_words(self.path):
            row = self._connection.execute("SELECT value FROM meta WHERE field = ?", (field,)).fetchone()
        value = stored_text(row[0]) if row else ""
        if not isinstance(value, str):
            raise TrialLogError(
                f"{self.path}: the field {field!r} of the table 'meta' should be text, found {value!r:.60}; {_EDITED}"
            )
        return value

    def _counts(self, query: str) -> dict[str, int]:
        with in_words(self.path):
            counts = {stored_text(name): rows for name, rows in self._connection.execute(query)}
        odd = next((name for name in counts if not isinstance(name, str)), None)
        if odd is not None:
            raise TrialLogError(f"{self.path}: a kind or fingerprint should be text, found {odd!r:.60}; {_EDITED}")
        return counts


def _utc(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
