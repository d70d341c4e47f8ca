"""Log-probabilities beside readings: carried, written as JSON and read back, and refused where they can't be."""

from __future__ import annotations

import json
from math import inf, log, nan

import numpy as np
import pytest
from readings_made import ReadingRow

from datasheet.errors import EstimationError
from datasheet.readings import Readings
from datasheet.records import LabelLogProbabilities

LISTED = LabelLogProbabilities(first=log(0.7), tie=-inf, second=log(0.2), floor=log(0.01))


def readings() -> Readings:
    shown = {"probe": "ladder", "arm": "prefix", "delta_q": 1, "order": "ab", "outcome": "first"}
    return Readings.from_rows(
        [ReadingRow(stimulus="b", labels=LISTED, **shown), ReadingRow(stimulus="a", **shown)]  # type: ignore[arg-type]
    )


def test_they_follow_their_readings() -> None:
    made = readings()
    assert made.labels is not None
    assert made.labels.first.tolist() == [-inf, log(0.7)]
    assert np.isnan(made.labels.floor).tolist() == [True, False]
    kept = made.where(made.stimulus == 1)
    assert kept.labels is not None
    assert kept.labels.mass.tolist() == pytest.approx([0.9])


def test_they_come_back_from_json() -> None:
    made = readings()
    columns = json.loads(json.dumps(made.to_columns(), allow_nan=False))
    assert columns["labels"]["tie"] == [None, None]
    assert columns["labels"]["floor"] == [None, log(0.01)]
    assert Readings.from_columns(columns).to_columns() == made.to_columns()


def test_readings_without_any_have_no_such_columns() -> None:
    made = readings()
    bare = Readings.from_rows([ReadingRow(stimulus="a", probe="natural", order="ab", outcome="tie")])
    assert bare.labels is None
    assert "labels" not in bare.to_columns()
    assert made.labels is not None


@pytest.mark.parametrize(
    "change",
    [
        {"first": [log(0.7)]},
        {"first": [None, 0.1]},
        {"first": [None, "x"]},
        {"first": [None, nan]},
        {"floor": [None, None]},
        {"floor": [None, log(0.5)]},
        {"floor": [None, inf]},
        {"tie": 3},
        {"tie": None},
    ],
)
def test_columns_that_can_not_be_are_refused(change: dict[str, object]) -> None:
    columns = readings().to_columns()
    columns["labels"] |= change
    with pytest.raises(EstimationError):
        Readings.from_columns(columns)
    for odd in ([], 5, None, {"first": []}):
        with pytest.raises(EstimationError):
            Readings.from_columns(columns | {"labels": odd})
