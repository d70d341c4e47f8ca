"""The dose of a channel pair, from the design to the sheet's readings and to a verdict log and back."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from command import Command

from datasheet.records import CHANNELS
from datasheet.stimulus.design import DESIGNS


def test_doses_reach_the_sheet_and_travel_with_the_verdict_log(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DESIGNS, "quick", replace(DESIGNS["quick"], channels=True))
    assert command("build", "--design", "quick", "--out", "X", "--no-render").code == 0
    readings = json.loads(Path("X/datasheet.json").read_text(encoding="utf-8"))["readings"]
    calls = 2 * 10 * len(CHANNELS)
    assert Counter(readings["dose"]) == {-1: 110, 0: calls, 1: calls, 2: calls}

    assert command("log", "export", "X", "v.jsonl").code == 0
    rows = [json.loads(line) for line in Path("v.jsonl").read_text(encoding="utf-8").splitlines()[1:]]
    found = Counter((row["arm"], row.get("dose")) for row in rows if row["probe"] == "channel")
    assert found == {(name, dose): 20 for name in CHANNELS for dose in range(3)}
    assert all("dose" not in row for row in rows if row["probe"] != "channel")
    assert json.loads(command("analyze", "v.jsonl", "--json").out)["readings"] == readings
