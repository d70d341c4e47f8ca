"""Verdicts that a log keeps in the place of the judge's own words."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from trials.fake_judge import INSTRUMENT, OK, START, plan

from datasheet.errors import TrialLogError
from datasheet.records import Reply, Verdict
from datasheet.trials.kept_verdict import KeptVerdict, ReplyReader
from datasheet.trials.log import TrialLog

VERDICTS = [
    Verdict(outcome="first"),
    Verdict(outcome="tie", abstained=True, flags=("off_format", "x")),
    Verdict(invalid="refusal"),
    Verdict(outcome="second", strength=2),
    Verdict(score=0.5),
    Verdict(score=0),
    Verdict(label="\ud800"),
]


def kept_in(path: Path, verdict: Verdict, reply: Reply = OK) -> None:
    """A log of one reading, kept as a verdict."""
    reader = ReplyReader(parser="reader 7", read=lambda reply: verdict)
    with TrialLog.open(path, instrument=INSTRUMENT, instead_of_raw=reader) as log:
        ((trial, request),) = plan(1)
        log.add_stimuli([trial.stimulus])
        log.record(trial, request, reply, attempts=1, at=START)


@pytest.mark.parametrize("verdict", VERDICTS)
def test_a_verdict_comes_back_with_its_parser_and_without_the_words(tmp_path: Path, verdict: Verdict) -> None:
    reply = replace(OK, reasoning="so", refusal="no", latency_s=0.5, logprobs=(("A", -0.5),))
    kept_in(tmp_path / "log", verdict, reply)
    with TrialLog.read(tmp_path / "log") as log:
        (reading,) = log.readings()
        assert log.verify() == []
    assert reading.kept == KeptVerdict(parser="reader 7", verdict=verdict)
    assert reading.reply == replace(reply, text="", reasoning="", refusal="")


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "[]",
        "{}",
        '{"parser": "p"}',
        '{"parser": "p", "outcome": "third"}',
        '{"parser": "p", "outcome": "tie", "invalid": "refusal"}',
        '{"parser": "p", "outcome": "tie", "abstained": 1}',
        '{"parser": "p", "outcome": "tie", "flags": "off"}',
        '{"parser": "p", "outcome": "tie", "more": 1}',
        '{"parser": 1, "outcome": "tie"}',
    ],
)
def test_a_kept_verdict_that_was_edited_is_named(tmp_path: Path, text: str) -> None:
    kept_in(tmp_path / "log", VERDICTS[0])
    with closing(sqlite3.connect(tmp_path / "log")) as connection, connection:
        connection.execute("UPDATE reading SET verdict = ?", (text,))
    with TrialLog.read(tmp_path / "log") as log:
        with pytest.raises(TrialLogError, match="verdict should be a verdict as JSON"):
            list(log.readings())
        assert len(log.verify()) == 1
