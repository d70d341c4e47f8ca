"""The versions of a trial log, as named steps from an empty file to the present tables.

A log's version is the number of steps that it has been through. A new log goes through all of them, so that it has
the same tables as one that was upgraded. A step that a release has shipped is never edited: a change is a new step.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from datasheet.errors import TrialLogError
from datasheet.trials.database import MOST_CELL_BYTES, connected, fault_text, recover, transaction

APPLICATION_ID = int.from_bytes(b"JDtl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step: what it brings, and the statements that bring it."""

    name: str
    statements: tuple[str, ...]


MIGRATIONS = (
    Migration(
        name="readings and failures",
        statements=(
            f"PRAGMA application_id = {APPLICATION_ID}",
            "CREATE TABLE meta (field TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
            """CREATE TABLE stimulus (
                id TEXT PRIMARY KEY, probe TEXT NOT NULL, arm TEXT NOT NULL, task TEXT NOT NULL, level_a INTEGER,
                level_b INTEGER, filler_b INTEGER NOT NULL, dose INTEGER, length_a INTEGER NOT NULL,
                length_b INTEGER NOT NULL
            ) WITHOUT ROWID""",
            """CREATE TABLE reading (
                key TEXT PRIMARY KEY, stimulus TEXT NOT NULL REFERENCES stimulus (id), "order" TEXT NOT NULL,
                repeat INTEGER NOT NULL, prompt_characters INTEGER NOT NULL, attempts INTEGER NOT NULL,
                at TEXT NOT NULL, text TEXT NOT NULL, finish_reason TEXT NOT NULL, refusal TEXT NOT NULL,
                reasoning TEXT NOT NULL, prompt_tokens INTEGER, completion_tokens INTEGER, latency_s REAL NOT NULL,
                model TEXT NOT NULL, fingerprint TEXT NOT NULL, logprobs TEXT NOT NULL
            )""",
            """CREATE TABLE failure (
                key TEXT NOT NULL, attempt INTEGER NOT NULL, kind TEXT NOT NULL, status INTEGER,
                message TEXT NOT NULL, at TEXT NOT NULL
            )""",
        ),
    ),
    Migration(
        name="verdicts kept without the raw reply",
        statements=("ALTER TABLE reading ADD COLUMN verdict TEXT NOT NULL DEFAULT ''",),
    ),
    Migration(
        name="calls made in batches, and prompt tokens that the server had cached",
        statements=(
            "ALTER TABLE reading ADD COLUMN from_batch INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE reading ADD COLUMN cached_tokens INTEGER",
            """CREATE TABLE exported (
                key TEXT PRIMARY KEY, stimulus TEXT NOT NULL REFERENCES stimulus (id), "order" TEXT NOT NULL,
                repeat INTEGER NOT NULL, prompt_characters INTEGER NOT NULL
            ) WITHOUT ROWID""",
        ),
    ),
)


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """The version of a log; 0 where nothing was ever stored.

    Raises
    ------
    TrialLogError
        It is no log, or one of a newer version.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    if application == 0 and tables == 0:
        return 0
    if application != APPLICATION_ID:
        raise TrialLogError(
            f"{path}: expected a trial log, found a database of another application; it was left as it is. "
            "Use another --out"
        )
    if version > len(MIGRATIONS):
        raise TrialLogError(
            f"{path}: expected a trial log of version {len(MIGRATIONS)} or older, found version {version}, of a newer "
            "judge-datasheet; it was left as it is. Update judge-datasheet, or use another --out"
        )
    if version < 1:
        raise TrialLogError(
            f"{path}: expected a trial log of version 1 or newer, found version {version}: it was edited or damaged. "
            "Restore a copy, or use another --out"
        )
    acting = connection.execute("SELECT type, name FROM sqlite_master WHERE type IN ('view', 'trigger')").fetchone()
    if acting is not None:
        raise TrialLogError(
            f"{path}: expected tables alone, found the {acting[0]} {acting[1]!r:.80}, which may run without end or "
            "change what is stored: it was edited. Restore a copy, or use another --out"
        )
    return int(version)


def upgrade(connection: sqlite3.Connection, path: Path) -> None:
    """Take a log through the steps that it has not been through, in a transaction of the caller.

    Raises
    ------
    TrialLogError
        A step failed; with the transaction rolled back, the log is as it was.
    sqlite3.Error
        The log can't be written.
    """
    version = version_of(connection, path)
    for number, step in enumerate(MIGRATIONS[version:], start=version + 1):
        try:
            for statement in step.statements:
                connection.execute(statement)
        except sqlite3.Error as error:
            raise TrialLogError(
                f"{fault_text(path, error)}. The step to version {number} of the log ({step.name}) failed; the log "
                f"stays as it was, of version {version}"
            ) from error
    # Also where there is nothing to do: a log that can't be written is found before any call is paid for.
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


@contextmanager
def to_read(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that only reads; a log of an older version is upgraded in a copy, and its file left as it is.

    Raises
    ------
    TrialLogError
        It is no log, or one of a newer version.
    """
    recover(path)
    with connected(path, "ro") as connection:
        if version_of(connection, path) in (0, len(MIGRATIONS)):
            yield connection
            return
        with closing(sqlite3.connect("", isolation_level=None, check_same_thread=False)) as copy:
            connection.backup(copy)
            copy.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_CELL_BYTES)
            with transaction(copy):
                upgrade(copy, path)
            yield copy
