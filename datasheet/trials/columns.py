"""What each column of a trial log holds: a log is a file, and a file may have been edited or damaged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from datasheet.records import ORDERS, Probe
from datasheet.strict_json import decode
from datasheet.trials.kept_verdict import kept_verdict

_MOST_COUNT = 2**53
_MOST_CODE = 2**31 - 1  # columns of readings are 32 bits wide
_LONGEST_LATENCY_S = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """What a value should be, in words and as a test."""

    wish: str
    fits: Callable[[Any], bool]


def _whole(low: int, high: int) -> Column:
    return Column(
        wish=f"a whole number of {low} or more", fits=lambda value: type(value) is int and low <= value <= high
    )


def _or_nothing(column: Column) -> Column:
    return Column(wish=f"{column.wish}, or nothing", fits=lambda value: value is None or column.fits(value))


def _one_of(names: tuple[str, ...]) -> Column:
    return Column(wish=f"one of {', '.join(names)}", fits=lambda value: value in names)


def _is_date(value: object) -> bool:
    """Whether a value is a moment as the log writes it, ``2026-11-30T12:00:00Z``."""
    try:
        return isinstance(value, str) and len(value) == 20 and value[-1] == "Z" and bool(datetime.fromisoformat(value))
    except ValueError:
        return False


def _is_seconds(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value <= _LONGEST_LATENCY_S


def _is_candidates(value: object) -> bool:
    """Whether a text is a JSON list of (token, log probability)."""
    try:
        candidates = decode(value) if isinstance(value, str) else None
    except ValueError:
        return False
    return isinstance(candidates, list) and all(
        isinstance(candidate, list) and [type(part) for part in candidate] in ([str, float], [str, int])
        for candidate in candidates
    )


def _is_json_object(value: object) -> bool:
    """Whether a text is a JSON object."""
    try:
        return isinstance(value, str) and isinstance(decode(value), dict)
    except ValueError:
        return False


def _is_kept_verdict(value: object) -> bool:
    """Whether a value is a verdict as the log keeps it, or the empty text."""
    try:
        return isinstance(value, str) and (kept_verdict(value) is not None or not value)
    except ValueError:
        return False


def _is_digits(value: object, pattern: str) -> bool:
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None


TEXT = Column(wish="text", fits=lambda value: isinstance(value, str))
_NAME = Column(wish="text that is not empty", fits=lambda value: isinstance(value, str) and value != "")
_CODE = _whole(0, _MOST_CODE)
_COUNT = _whole(0, _MOST_COUNT)
_DATE = Column(wish="a date and time such as 2026-11-30T12:00:00Z", fits=_is_date)

STIMULUS: Mapping[str, Column] = {
    "probe": _one_of(get_args(Probe)),
    "arm": TEXT,
    "task": TEXT,
    "level_a": _or_nothing(_CODE),
    "level_b": _or_nothing(_CODE),
    "filler_b": _CODE,
    "dose": _or_nothing(_CODE),
    "length_a": _CODE,
    "length_b": _CODE,
}
READING: Mapping[str, Column] = {
    "key": _NAME,
    "stimulus": _NAME,
    "order": _one_of(ORDERS),
    "repeat": _CODE,
    "prompt_characters": _COUNT,
    "attempts": _whole(1, _MOST_COUNT),
    "at": _DATE,
    "text": TEXT,
    "finish_reason": TEXT,
    "refusal": TEXT,
    "reasoning": TEXT,
    "prompt_tokens": _or_nothing(_COUNT),
    "completion_tokens": _or_nothing(_COUNT),
    "latency_s": Column(wish="a number of seconds", fits=_is_seconds),
    "model": TEXT,
    "fingerprint": TEXT,
    "logprobs": Column(wish="a JSON list of pairs of token and log probability", fits=_is_candidates),
    "verdict": Column(wish="a verdict as JSON, or an empty text", fits=_is_kept_verdict),
    "from_batch": Column(wish="0 or 1", fits=lambda value: type(value) is int and value in (0, 1)),
    "cached_tokens": _or_nothing(_COUNT),
}
EXPORTED: Mapping[str, Column] = {name: READING[name] for name in ("stimulus", "order", "repeat", "prompt_characters")}
FAILURE: Mapping[str, Column] = {
    "attempt": _whole(1, _MOST_COUNT),
    "kind": TEXT,
    "status": _or_nothing(_COUNT),
    "message": TEXT,
    "at": _DATE,
}
INSTRUMENT: Mapping[str, Column] = {
    **dict.fromkeys(("judge_id", "bank_hash"), _NAME),
    **dict.fromkeys(("judge", "model", "adapter", "prompt", "prompt_hash", "rubric_hash", "bank", "design"), TEXT),
    "decoding": Column(wish="a JSON object", fits=_is_json_object),
    "simulated": _one_of(("yes", "no")),
    "seed": Column(wish="a whole number", fits=lambda value: _is_digits(value, r"-?[0-9]{1,100}")),
    "repeats": Column(wish="a whole number, or an empty text", fits=lambda value: _is_digits(value, r"[0-9]{0,100}")),
}
"""What is kept of an instrument at least; whatever else is kept is text."""


def faults(row: Mapping[str, Any], columns: Mapping[str, Column]) -> Iterator[str]:
    """One clause for each value of a row that is not what its column holds."""
    for name, column in columns.items():
        if not column.fits(row[name]):
            found = "nothing" if row[name] is None else f"{row[name]!r:.60}"
            yield f"{name} should be {column.wish}, found {found}"


def level_fault(level_a: object, level_b: object) -> str:
    """What is wrong with the two levels of a stimulus, or ""."""
    if (level_a is None) == (level_b is None) and (
        not isinstance(level_a, int) or not isinstance(level_b, int) or level_a >= level_b
    ):
        return ""
    return f"levels {level_a!r:.60} and {level_b!r:.60}; expected both or neither, and the first at least the second"
