"""How long a server asks to wait, in every form in which servers say so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# Nobody asks for a wait of thirty years: such a number is a time of day, in seconds since 1970.
_LEAST_UNIX_TIME_S = 1e9


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait: ``retry-after-ms``, or ``Retry-After`` as a number or a date.

    A date is held against the server's own clock, where its answer is dated. None where it says nothing, nothing
    readable, or a time that has passed.
    """
    for name, per_second in (("retry-after-ms", 1000.0), ("Retry-After", 1.0)):
        asked = headers.get(name, "").strip()
        if not asked:
            continue
        try:
            wait_s = float(asked.removesuffix("s")) / per_second
            if wait_s >= _LEAST_UNIX_TIME_S:
                wait_s -= _now(headers).timestamp()
        except ValueError:
            wait_s = _seconds_until(asked, headers)
        if math.isfinite(wait_s) and wait_s >= 0:
            return wait_s
    return None


def _seconds_until(asked: str, headers: Mapping[str, str]) -> float:
    until = _moment(asked)
    return math.nan if until is None else (until - _now(headers)).total_seconds()


def _now(headers: Mapping[str, str]) -> datetime:
    """The time of day on the server's clock, else on ours."""
    return _moment(headers.get("Date", "")) or datetime.now(UTC)


def _moment(text: str) -> datetime | None:
    """A moment in one of the three forms of HTTP dates or in ISO 8601; UTC where it names no zone."""
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            moment = read(text)
        except (TypeError, ValueError, OverflowError):
            continue
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return None
