"""The thread that commits the rows of a trial log, in batches."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeAlias

from datasheet.errors import TrialLogError
from datasheet.trials.database import fault_text, transaction
from datasheet.trials.tables import INSERT_READING, Row

Watcher: TypeAlias = Callable[[int, TrialLogError | None], object]

_BATCH_ROWS = 200


class Writer:
    """The thread that commits rows in batches; after a fault it writes no more.

    Attributes
    ----------
    fault
        What went wrong, or None.
    watcher
        Called after each batch, in this thread, with the number of readings committed and the fault.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.fault: TrialLogError | None = None
        self.watcher: Watcher | None = None
        self._path = path
        self._connection = connection
        self._queue: SimpleQueue[tuple[str, Row] | threading.Event | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="trial log", daemon=True)
        self._thread.start()

    def put(self, statement: str, row: Row) -> None:
        """Queue a row for an SQL statement; returns at once.

        Raises
        ------
        TrialLogError
            The fault of an earlier batch.
        """
        if self.fault is not None:
            raise self.fault
        self._queue.put((statement, row))

    def flush(self) -> None:
        """Wait until all that was queued is on disk.

        Raises
        ------
        TrialLogError
            Some of it could not be committed.
        """
        written = threading.Event()
        self._queue.put(written)
        written.wait()
        if self.fault is not None:
            raise self.fault

    def stop(self) -> None:
        """Commit what is queued and end the thread; a fault is kept, not raised."""
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
            with transaction(self._connection):
                for statement, row in rows:
                    insert(self._connection, statement, row)
        except Exception as error:  # whatever it is, the run must hear of it: this thread has no one else to tell
            self.fault = TrialLogError(fault_text(self._path, error))
        if self.watcher is not None:
            readings = sum(statement is INSERT_READING for statement, _ in rows)
            self.watcher(0 if self.fault else readings, self.fault)


def insert(connection: sqlite3.Connection, statement: str, row: Row) -> None:
    """Store a row; a text that is no UTF-8 is stored as bytes."""
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
