"""The progress of a run, on a terminal and elsewhere."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from datasheet.cli import console
from datasheet.trials.runner import Progress

STATE = Progress(
    done=30, failed=0, total=110, in_flight=3, oldest_s=95.0, elapsed_s=60.0, failures={"timeout": 4, "server_error": 1}
)


def test_where_stderr_is_no_terminal_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = console.ProgressLine()
    line.show(STATE)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(console, "_QUIET_S", 0.0)
    line.show(STATE)
    told = capsys.readouterr().err
    assert told == (
        "30/110 calls, 0.5/s, 3 in flight (the oldest for 95 s), 1 server error, 4 timeout, about 160 s left\n"
    )


def test_money_that_was_spent_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(console, "_QUIET_S", 0.0)
    console.ProgressLine().show(replace(STATE, spent=1.25, unit="USD"))
    assert "30/110 calls, 0.5/s, USD 1.25 spent, 3 in flight" in capsys.readouterr().err


def test_on_a_terminal_the_line_is_rewritten(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    console.ProgressLine().show(
        Progress(done=110, failed=0, total=110, in_flight=0, oldest_s=0.0, elapsed_s=55.0, failures={})
    )
    assert capsys.readouterr().err == "\r\x1b[K110/110 calls, 2.0/s\n"


def test_without_any_stderr_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    console.ProgressLine().show(STATE)
    console.say("nobody hears this")
