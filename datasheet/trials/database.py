"""A trial log as a SQLite file: opening it, holding it against other runs, and SQLite's errors in words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from datasheet.errors import TrialLogError
from datasheet.trials.file_system import refuse_network

_LOCK_WAIT_S = 30.0
_CLAIM_WAIT_S = 0.2  # where two runs start at once, one of them gets the claim
MOST_CELL_BYTES = 64_000_000
"""Of one text in a log, as of a line of a verdict log: a judge's answer is 8 MB at most."""

_DAMAGED = "the trial log is damaged; restore a copy, or use another --out"
_ADVICE = {
    "SQLITE_TOOBIG": f"expected texts of at most {MOST_CELL_BYTES:,} bytes in the trial log, found a longer one: it"
    " was edited or damaged; restore a copy, or use another --out",
    "SQLITE_BUSY": "the trial log is in use by another run; wait until that run ends, or use another --out",
    "SQLITE_LOCKED": "the trial log is in use by another run; wait until that run ends, or use another --out",
    "SQLITE_NOTADB": "expected a trial log, found a file of another kind; it was left as it is. Use another --out",
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_FULL": "the disk is full; what was committed is safe. Free some space, and the same command goes on",
    "SQLITE_IOERR": "the disk refused a write or read, and may be full; what was committed is safe. Free some space,"
    " and the same command goes on",
    "SQLITE_READONLY": "the trial log can't be written; give yourself the right to write it and its folder,"
    " or use another --out",
    "SQLITE_ERROR": "the trial log lacks a table or column that it should have, or holds a text that is none: it was"
    " edited or damaged; restore a copy, or use another --out",
    "SQLITE_CANTOPEN": "the trial log can't be opened; it must be a file in a folder that exists and that you may"
    " write to",
}


@contextmanager
def in_words(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into a sentence that says what to do.

    Raises
    ------
    TrialLogError
        An error of SQLite or of the file system came up in the block.
    """
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise TrialLogError(fault_text(path, error)) from error


def fault_text(path: Path, error: Exception) -> str:
    """What failed, and what to do about it."""
    unnamed = "SQLITE_ERROR" if isinstance(error, sqlite3.OperationalError) else ""  # a text that is no UTF-8
    name = getattr(error, "sqlite_errorname", unnamed)
    advice = next((text for prefix, text in _ADVICE.items() if name.startswith(prefix)), "the trial log failed")
    return f"{path}: {advice} ({error})"


def exists(path: Path) -> bool:
    """Whether there is a file of this name.

    Raises
    ------
    TrialLogError
        There is a folder of this name.
    """
    if path.is_dir():
        raise TrialLogError(
            f"{path}: expected the file of a trial log, found a folder; name the log in it, or use another --out"
        )
    return path.exists()


@contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Hold the right to write, against other processes too; the system lets go of it even on kill -9.

    Raises
    ------
    TrialLogError
        The file is where a lock holds nobody off.
    """
    refuse_network(path)
    with closing(sqlite3.connect(f"{path}.lock", timeout=_CLAIM_WAIT_S, isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield


@contextmanager
def connected(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """A connection, proved by a first statement; ``mode`` is ``"ro"``, ``"rw"`` or, to make the file, ``"rwc"``."""
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    with closing(
        sqlite3.connect(uri, uri=True, timeout=_LOCK_WAIT_S, isolation_level=None, check_same_thread=False)
    ) as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_CELL_BYTES)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        yield connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All statements of the block on disk at its end, or none of them."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.rollback()


def recover(path: Path) -> None:
    """Roll back what a killed run left half done: a connection that only reads may not, and would refuse the file."""
    try:
        with connected(path, "ro"):  # its first statement looks for a journal
            return
    except sqlite3.OperationalError as error:
        if not error.sqlite_errorname.startswith("SQLITE_READONLY"):
            raise
    with connected(path, "rw"):
        return


def refuse_damage(connection: sqlite3.Connection, path: Path) -> None:
    """Look through every page of a log once: a tenth of a second for 100,000 readings.

    Raises
    ------
    TrialLogError
        A page is damaged.
    """
    fault = next(row[0] for row in connection.execute("PRAGMA quick_check(1)"))
    if fault != "ok":
        raise TrialLogError(f"{path}: {_DAMAGED} ({fault})")


def leave_one_file(connection: sqlite3.Connection) -> None:
    """At rest a log is one plain file, which can be copied, and read from a folder that can't be written."""
    connection.execute("PRAGMA busy_timeout = 0")
    with suppress(sqlite3.Error):  # someone reads it, or the disk is full: the other form holds the same
        connection.execute("PRAGMA journal_mode = DELETE")
