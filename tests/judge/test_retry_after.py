"""How long a server asks to wait."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from datasheet.judge.retry_after import retry_after_s

DATE = "Sun, 06 Nov 1994 08:49:37 GMT"


@pytest.fixture(params=["UTC", "America/New_York"])
def _zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_zone")
@pytest.mark.parametrize(
    "until",
    [
        "Sun, 06 Nov 1994 08:50:07 GMT",
        "Sunday, 06-Nov-94 08:50:07 GMT",
        "Sun Nov  6 08:50:07 1994",
        "Sun, 06 Nov 1994 08:50:07 -0000",
        "Sun, 06 Nov 1994 09:50:07 +0100",
        "1994-11-06T08:50:07Z",
        "1994-11-06T08:50:07",
        "1994-11-06 10:50:07+02:00",
    ],
)
def test_a_date_of_any_form_is_held_against_the_server_s_own_clock(until: str) -> None:
    """Also where the client's clock is decades off, and in whatever zone it stands."""
    assert retry_after_s({"Retry-After": until, "Date": DATE}) == 30


def test_without_a_date_of_the_answer_our_clock_serves() -> None:
    assert retry_after_s({"Retry-After": DATE}) is None
    asked = retry_after_s({"Retry-After": "Fri, 06 Nov 2093 08:49:37 GMT", "Date": "soon"})
    assert asked == pytest.approx(datetime(2093, 11, 6, 8, 49, 37, tzinfo=UTC).timestamp() - time.time(), abs=60)


@pytest.mark.parametrize(
    ("asked", "wait_s"),
    [("12", 12), (" 12 ", 12), ("12s", 12), ("0", 0), ("784111807", 784_111_807), ("999999999", 999_999_999)],
)
def test_a_number_is_of_seconds(asked: str, wait_s: float) -> None:
    assert retry_after_s({"Retry-After": asked, "Date": DATE}) == wait_s


def test_a_number_beyond_thirty_years_is_a_time_of_day() -> None:
    date = "Fri, 01 Jan 2100 00:00:00 GMT"
    assert retry_after_s({"Retry-After": "4102444830", "Date": date}) == 30
    assert retry_after_s({"Retry-After": "4102444770", "Date": date}) is None


def test_nothing_asked_is_no_wait() -> None:
    assert retry_after_s({}) is None
