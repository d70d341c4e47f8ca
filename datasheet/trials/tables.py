"""The tables of the trial log, what must hold in them, and the way from a row to a record."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from datasheet.records import Order, Reply, Stimulus, word_count
from datasheet.trials.columns import FAILURE, READING, STIMULUS, Column, faults, level_fault
from datasheet.trials.kept_verdict import KeptVerdict, kept_verdict

INSERT_STIMULUS = "INSERT INTO stimulus VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_READING = "INSERT INTO reading VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_FAILURE = "INSERT INTO failure VALUES (?, ?, ?, ?, ?, ?)"
INSERT_META = "INSERT OR IGNORE INTO meta VALUES (?, ?)"
_TRIAL_FIELDS = (
    "key", "stimulus_id", "probe", "arm", "task", "level_a", "level_b", "filler_b", "dose", "length_a", "length_b",
    "order", "repeat", "prompt_characters", "attempts", "at",
)  # fmt: skip
_REPLY_FIELDS = (
    "text", "finish_reason", "refusal", "reasoning", "prompt_tokens", "cached_tokens", "completion_tokens", "latency_s",
    "model", "fingerprint", "logprobs",
)  # fmt: skip
_COLUMNS = (*_TRIAL_FIELDS, *_REPLY_FIELDS, "verdict")
SELECT_READINGS = f"""
SELECT key, stimulus AS stimulus_id, probe, arm, task, level_a, level_b, filler_b, dose, length_a, length_b,
       "order", repeat, prompt_characters, attempts, at, {", ".join(_REPLY_FIELDS)}, verdict
FROM reading LEFT JOIN stimulus ON stimulus.id = reading.stimulus ORDER BY key
"""
RELATIONS = (
    ("SELECT key FROM reading GROUP BY key HAVING COUNT(*) > 1", "trial {} has more than one reading"),
    (
        'SELECT stimulus, "order", repeat FROM reading GROUP BY 1, 2, 3 HAVING COUNT(*) > 1',
        "stimulus {}, order {}, repeat {} has readings under more than one key",
    ),
    (
        "SELECT key, stimulus FROM reading WHERE stimulus NOT IN (SELECT id FROM stimulus)",
        "reading {} is of stimulus {}, which the log does not hold",
    ),
)
"""What must hold between rows: a query that finds what breaks it, and the sentence for each row found."""

TABLES: tuple[tuple[str, str, Mapping[str, Column]], ...] = (
    ("stimulus", "id", STIMULUS),
    ("reading", "key", READING),
    ("failure", "key", FAILURE),
)
"""Each table with the column that names a row, and what its other columns hold."""
Row: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedReading:
    """A stored reply with what is known of its trial and its stimulus; no answer texts.

    Attributes
    ----------
    length_a, length_b
        Words of the two answers.
    prompt_characters
        Characters of all messages that were sent.
    attempts
        Calls that it took, the successful one among them.
    at
        When the reply came: ISO 8601, UTC, in seconds.
    kept
        The verdict that was kept in the place of the judge's own words; None where ``reply`` has them.
    """

    key: str
    stimulus_id: str
    probe: str
    arm: str
    task: str
    level_a: int | None
    level_b: int | None
    filler_b: int
    dose: int | None
    length_a: int
    length_b: int
    order: Order
    repeat: int
    prompt_characters: int
    attempts: int
    at: str
    reply: Reply
    kept: KeptVerdict | None = None


def stimulus_row(stimulus: Stimulus) -> Row:
    """What is kept of a stimulus: its place in the design and its lengths in words."""
    return (
        stimulus.id, stimulus.probe, stimulus.arm, stimulus.task, stimulus.level_a, stimulus.level_b,
        stimulus.filler_b, stimulus.dose, word_count(stimulus.answer_a), word_count(stimulus.answer_b),
    )  # fmt: skip


def logged_reading(row: Row) -> LoggedReading:
    """A row of ``SELECT_READINGS`` as a record.

    Raises
    ------
    ValueError
        A value that its column can't hold.
    """
    held = dict(zip(_COLUMNS, map(stored_text, row), strict=True))
    if held["probe"] is None:
        raise ValueError(f"its stimulus {held['stimulus_id']!r:.60} is not in the log")
    checked = {**held, "stimulus": held["stimulus_id"]}
    found = [*faults(checked, READING), *faults(checked, STIMULUS), level_fault(held["level_a"], held["level_b"])]
    if any(found):
        raise ValueError("; ".join(filter(None, found)))
    reply = {name: held[name] for name in _REPLY_FIELDS}
    reply["logprobs"] = tuple((token, logprob) for token, logprob in json.loads(reply["logprobs"]))
    trial = {name: held[name] for name in _TRIAL_FIELDS}
    return LoggedReading(**trial, reply=Reply(**reply), kept=kept_verdict(held["verdict"]))


def row_faults(name: str, row: Mapping[str, Any], columns: Mapping[str, Column]) -> Iterator[str]:
    """Sentences on one row of a table."""
    held = {column: stored_text(value) for column, value in row.items()}
    clauses = list(faults(held, columns))
    if "level_a" in columns:
        clauses.append(level_fault(held["level_a"], held["level_b"]))
    yield from (f"{name}: {clause}" for clause in clauses if clause)


def stored_text(value: Any) -> Any:
    """A stored value as it came in: bytes are a text that was no UTF-8, or else a fault, and stay bytes."""
    try:
        return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return value
