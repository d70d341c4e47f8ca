from __future__ import annotations

import pytest

from datasheet.stimulus.bank import bank_names, load_bank
from datasheet.stimulus.bank_gates import check_bank
from datasheet.stimulus.design import DESIGNS, plan
from datasheet.stimulus.pair_gates import check_stimuli


def test_the_english_bank_ships() -> None:
    assert "english" in bank_names()
    bank = load_bank("english")
    assert bank.language == "en"
    assert len(bank.tasks) >= 40
    assert len({task.domain for task in bank.tasks}) >= 8


def test_every_shipped_bank_passes_the_gates() -> None:
    assert {name: check_bank(name) for name in bank_names()} == {name: [] for name in bank_names()}


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_english_bank_serves_every_design(design: str, seed: int) -> None:
    assert check_stimuli(trial.stimulus for trial in plan(load_bank("english"), design, seed=seed)) == []
