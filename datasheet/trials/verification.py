"""What is wrong with the tables of a trial log, row by row."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from datasheet.trials.tables import RELATIONS, TABLES, row_faults, stored_text


def database_faults(connection: sqlite3.Connection) -> list[str]:
    """Damage of the file itself; of a damaged one no table is worth reading."""
    found = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
    return [f"the database is damaged: {fault}" for fault in found]


def relation_faults(connection: sqlite3.Connection) -> Iterator[str]:
    """What does not hold between rows, one sentence each."""
    for query, sentence in RELATIONS:
        for row in connection.execute(query):
            yield sentence.format(*map(stored_text, row))


def value_faults(connection: sqlite3.Connection) -> Iterator[str]:
    """Values that their columns can't hold, one sentence a row and column."""
    for table, name, columns in TABLES:
        labels = (name, *columns)
        # In brackets, because SQLite takes a name in quotes that it does not know for a text.
        selected = ", ".join(f"[{label}]" for label in labels)
        for values in connection.execute(f"SELECT {selected} FROM {table} ORDER BY {name}"):
            row = dict(zip(labels, values, strict=True))
            yield from row_faults(f"{table} {stored_text(row[name])!s:.80}", row, columns)
