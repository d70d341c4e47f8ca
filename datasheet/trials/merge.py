"""One log of the readings that several machines made for one run.

Whatever the order of the logs, the merged one is the same; a log merged with its own copy is itself.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasheet.errors import TrialLogError
from datasheet.identity import canonical_json
from datasheet.trials.columns import EXPORTED, FAILURE, READING, STIMULUS
from datasheet.trials.database import claimed, connected, in_words, transaction
from datasheet.trials.instrument import IDENTITY, PLAN, differences, same
from datasheet.trials.log import TrialLog
from datasheet.trials.migrations import upgrade, version_of
from datasheet.trials.tables import INSERT_EXPORTED, INSERT_FAILURE, INSERT_META, INSERT_READING, INSERT_STIMULUS, Row
from datasheet.trials.verification import relation_faults
from datasheet.trials.writer import insert

_CIRCUMSTANCES = {"attempts", "at", "prompt_tokens", "cached_tokens", "completion_tokens", "latency_s", "fingerprint"}
_CIRCUMSTANCES |= {"from_batch"}
"""What may differ between two calls that gave the same reading."""

_SHOWN = 20
_FAULTS_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """What a merge did: readings of the merged log, and how many of them were in more than one log."""

    readings: int
    shared: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """What one of the logs holds, as it is stored."""

    path: Path
    instrument: Mapping[str, str]
    model: str
    fingerprint: str
    stimuli: list[Row]
    readings: list[Row]
    failures: list[Row]
    exports: list[Row]


def merge(sources: Sequence[Path], target: Path) -> Merge:
    """Write the readings and failures of several logs of one run into a new log; the logs stay as they are.

    Raises
    ------
    TrialLogError
        A log can't be read or is not intact, is of another judge, prompt, bank, plan or model than the first, or holds
        another reading of the same trial; or the target holds a log already, or can't be written.
    """
    parts = [_part(path) for path in sources]
    for part in parts[1:]:
        _check_same_run(parts[0], part)
    model = _one_model(parts)
    stimuli = _united(parts, "stimuli", _names(STIMULUS, "id"), set())
    readings = _united(parts, "readings", _names(READING), _CIRCUMSTANCES)
    failures = Counter[Row]()
    for part in parts:
        failures |= Counter(part.failures)  # as often as in the log that has it most often: a copy adds nothing
    instrument = min(canonical_json(dict(part.instrument)) for part in parts)
    meta = {"instrument": instrument, "model": model, "fingerprint": min(part.fingerprint for part in parts)}
    _write(
        target,
        [
            (INSERT_META, [row for row in meta.items() if row[1]]),
            (INSERT_STIMULUS, stimuli),
            (INSERT_READING, readings),
            (INSERT_FAILURE, sorted(failures.elements(), key=repr)),
            (INSERT_EXPORTED, _united(parts, "exports", _names(EXPORTED, "key"), set())),
        ],
    )
    logs_with = Counter(row[0] for part in parts for row in part.readings)
    return Merge(readings=len(readings), shared=sum(logs > 1 for logs in logs_with.values()))


def _part(path: Path) -> _Part:
    with TrialLog.read(path) as log:
        faults = log.verify()
        if faults:
            shown = "; ".join(faults[:_FAULTS_SHOWN])
            raise TrialLogError(
                f"{path} is not intact, and nothing was merged ({len(faults)} faults: {shown}). Restore a copy, or "
                "leave it out"
            )
        return _Part(
            path=path,
            instrument=log.instrument,
            model=log.reported_model,
            fingerprint=min(log.fingerprints(), default=""),
            stimuli=log.stored("stimulus", _names(STIMULUS, "id")),
            readings=log.stored("reading", _names(READING)),
            failures=log.stored("failure", _names(FAILURE, "key")),
            exports=log.stored("exported", _names(EXPORTED, "key")),
        )


def _names(columns: Mapping[str, Any], *first: str) -> tuple[str, ...]:
    return (*first, *columns)


def _check_same_run(first: _Part, other: _Part) -> None:
    if same(first.instrument, other.instrument, (*IDENTITY, *PLAN)):
        return
    where = (f"in {first.path}", f"in {other.path}")
    lines = differences(first.instrument, other.instrument, where=where)
    raise TrialLogError(
        "\n".join([f"{first.path} and {other.path} are not of one run, and nothing was merged:", *lines])
        + "\nMerge logs of one judge, prompt, task bank, design and seed"
    )


def _one_model(parts: Sequence[_Part]) -> str:
    """The model name that the servers reported; where some named none, the name that the others gave."""
    named = {part.model: part.path for part in parts if part.model}
    if len(named) > 1:
        told = ", ".join(f"{model!r} in {path}" for model, path in sorted(named.items()))
        raise TrialLogError(
            f"the servers reported different models, and nothing was merged: {told}. A datasheet is of one model"
        )
    return next(iter(named), "")


def _united(parts: Sequence[_Part], what: str, names: Sequence[str], may_differ: set[str]) -> list[Row]:
    """The rows of all logs, one for each key (their first column), in the order of keys.

    Of rows that differ only in what may differ, the first by date is kept, and of one date the first by content.
    """
    kept: dict[str, tuple[Row, Path]] = {}
    conflicts = []
    for part in parts:
        for row in getattr(part, what):
            held, path = kept.setdefault(row[0], (row, part.path))
            differing = [name for name, one, other in zip(names, held, row, strict=True) if one != other]
            if set(differing) - may_differ:
                conflicts.append(f"  {row[0]}: {', '.join(differing)} in {path} and {part.path}")
            elif differing:
                kept[row[0]] = min((held, path), (row, part.path), key=lambda entry: _by_date(names, entry[0]))
    if conflicts:
        shown = conflicts[:_SHOWN] + [f"  and {len(conflicts) - _SHOWN} more"] * (len(conflicts) > _SHOWN)
        raise TrialLogError(
            "\n".join([f"the logs hold different {what} under one key, and nothing was merged:", *shown])
            + "\nLeave out one of the logs; what is missing then, `datasheet build` asks"
        )
    return [kept[key][0] for key in sorted(kept)]


def _by_date(names: Sequence[str], row: Row) -> tuple[str, str]:
    return str(row[names.index("at")]), repr(row)


def _write(target: Path, tables: Iterable[tuple[str, Iterable[Row]]]) -> None:
    """Make a log in one transaction: all of it, or an empty file."""
    with in_words(target), claimed(target), connected(target, "rwc") as connection:
        if version_of(connection, target):
            raise TrialLogError(f"{target} holds a log already: name another --out")
        with transaction(connection):
            upgrade(connection, target)
            for statement, rows in tables:
                for row in rows:
                    insert(connection, statement, row)
            _check_relations(connection)


def _check_relations(connection: sqlite3.Connection) -> None:
    faults = list(relation_faults(connection))
    if faults:
        raise TrialLogError(f"the logs do not fit together, and nothing was merged: {'; '.join(faults[:_SHOWN])}")
