"""A trial log for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from trials.fake_judge import INSTRUMENT

from datasheet.trials.log import TrialLog


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trials.sqlite"


@pytest.fixture
def log(path: Path) -> Iterator[TrialLog]:
    with TrialLog.open(path, instrument=INSTRUMENT) as opened:
        yield opened
