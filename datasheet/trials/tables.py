"""The tables of the trial log, what must hold in them, and the way from a row to a record."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

from datasheet.records import Order, Reply, Request, Stimulus, Trial, word_count
from datasheet.trials.columns import EXPORTED, FAILURE, READING, STIMULUS, Column, faults, level_fault
from datasheet.trials.kept_verdict import KeptVerdict, ReplyReader, kept_text, kept_verdict

INSERT_STIMULUS = "INSERT INTO stimulus VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_READING = (
    f"INSERT INTO reading ({', '.join(f'[{name}]' for name in READING)}) VALUES ({', '.join('?' * len(READING))})"
)
INSERT_EXPORTED = "INSERT OR IGNORE INTO exported VALUES (?, ?, ?, ?, ?)"
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
_COLUMNS = (*_TRIAL_FIELDS, *_REPLY_FIELDS, "verdict", "from_batch")
SELECT_READINGS = f"""
SELECT key, stimulus AS stimulus_id, probe, arm, task, level_a, level_b, filler_b, dose, length_a, length_b,
       "order", repeat, prompt_characters, attempts, at, {", ".join(_REPLY_FIELDS)}, verdict,
       from_batch
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
    (
        "SELECT key, stimulus FROM exported WHERE stimulus NOT IN (SELECT id FROM stimulus)",
        "exported trial {} is of stimulus {}, which the log does not hold",
    ),
)
"""What must hold between rows: a query that finds what breaks it, and the sentence for each row found."""

TABLES: tuple[tuple[str, str, Mapping[str, Column]], ...] = (
    ("stimulus", "id", STIMULUS),
    ("reading", "key", READING),
    ("failure", "key", FAILURE),
    ("exported", "key", EXPORTED),
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
    from_batch
        The reply came in a provider's batch file, so that its latency is not known (0).
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
    from_batch: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """What the row of a reading says of its trial; ``prompt_characters`` counts those of all messages."""

    key: str
    stimulus_id: str
    order: Order
    repeat: int
    prompt_characters: int

    @classmethod
    def of(cls, trial: Trial, request: Request) -> Self:
        """The presentation that a trial's request makes."""
        return cls(
            key=request.key,
            stimulus_id=trial.stimulus.id,
            order=trial.order,
            repeat=trial.repeat,
            prompt_characters=sum(len(text) for _, text in request.messages),
        )

    @classmethod
    def from_row(cls, row: Row) -> Self:
        """The presentation in a row of the table ``exported``.

        Raises
        ------
        ValueError
            A value that its column can't hold.
        """
        held = dict(zip(("key", *EXPORTED), map(stored_text, row), strict=True))
        found = list(faults(held, EXPORTED))
        if found:
            raise ValueError("; ".join(found))
        return cls(stimulus_id=held.pop("stimulus"), **held)

    @property
    def row(self) -> Row:
        """The presentation as a row of the table ``exported``."""
        return (self.key, self.stimulus_id, self.order, self.repeat, self.prompt_characters)


def stimulus_row(stimulus: Stimulus) -> Row:
    """What is kept of a stimulus: its place in the design and its lengths in words."""
    return (
        stimulus.id, stimulus.probe, stimulus.arm, stimulus.task, stimulus.level_a, stimulus.level_b,
        stimulus.filler_b, stimulus.dose, word_count(stimulus.answer_a), word_count(stimulus.answer_b),
    )  # fmt: skip


def reading_row(
    shown: Presentation, reply: Reply, reader: ReplyReader | None, *, attempts: int, at: str, from_batch: bool
) -> Row:
    """A reply to a presentation as a row for ``INSERT_READING``; a reader keeps its verdict instead of its words."""
    verdict = ""
    if reader is not None:
        verdict = kept_text(reader, reply)
        reply = replace(reply, text="", refusal="", reasoning="")
    held = {name: getattr(reply, name) for name in _REPLY_FIELDS}
    held["logprobs"] = json.dumps(reply.logprobs, ensure_ascii=False) if reply.logprobs else "[]"
    held |= dict(zip(("key", *EXPORTED), shown.row, strict=True))
    held |= {"attempts": attempts, "at": at, "verdict": verdict, "from_batch": int(from_batch)}
    return tuple(held[name] for name in READING)


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
    return LoggedReading(
        **trial, reply=Reply(**reply), kept=kept_verdict(held["verdict"]), from_batch=bool(held["from_batch"])
    )


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
