"""How the calls behind a verdict log went: times, tokens, dates and the names that servers gave."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

CALL_FIELDS = frozenset(("latency_s", "prompt_tokens", "cached_tokens", "completion_tokens", "at", "reported_model"))
"""The fields of a row that tell how its call went."""

_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)")


@dataclass(slots=True)
class CallColumns:
    """How the calls went, as far as a log tells: one element a row that says so."""

    latencies_s: list[float] = field(default_factory=list)
    prompt_tokens: list[int | None] = field(default_factory=list)
    cached_tokens: list[int | None] = field(default_factory=list)
    completion_tokens: list[int | None] = field(default_factory=list)
    dates: set[str] = field(default_factory=set)
    reported_models: set[str] = field(default_factory=set)

    def add(self, row: Mapping[str, Any]) -> None:
        """Take what a row tells; a value that is not what it should be is left aside."""
        latency_s = seconds_of(row.get("latency_s"))
        if latency_s is not None:
            self.latencies_s.append(latency_s)
            self.prompt_tokens.append(count_of(row.get("prompt_tokens")))
            self.cached_tokens.append(count_of(row.get("cached_tokens")))
            self.completion_tokens.append(count_of(row.get("completion_tokens")))
        date = row.get("at")
        if isinstance(date, str) and _is_date(date):
            self.dates.add(date)
        if isinstance(row.get("reported_model"), str):
            self.reported_models.add(row["reported_model"])


def _is_date(text: str) -> bool:
    try:
        return _DATE.fullmatch(text) is not None and datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def count_of(value: object) -> int | None:
    """A number of tokens, or None where a value is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def seconds_of(value: object) -> float | None:
    """A time in seconds, or None where a value is none."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9 else None
