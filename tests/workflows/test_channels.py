"""Nuisance channels from stimuli to sheet: what is planted comes back where it was planted, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

from command import Command

from datasheet.records import CHANNELS

PLANTED = {"courtesy": 0.5, "injection": 1.0, "hedging": -0.4}


def test_planted_channels_come_back(command: Command) -> None:
    dials = "\n".join(f"{name} = {slope}" for name, slope in PLANTED.items())
    Path("datasheet.toml").write_text(
        f'[judge.swayed]\nadapter = "sim"\nobserver = "careful"\ninvalid_rate = 0\n{dials}\n', encoding="utf-8"
    )
    run = command("build", "--judge", "swayed", "--design", "full", "--out", "X", "--no-render")
    assert run.code == 0, run.err
    sheet = json.loads(Path("X/datasheet.json").read_text(encoding="utf-8"))
    found = {row["key"]: row for row in sheet["characteristics"]}
    assert sheet["design"]["planned"] == 4600
    missed = 0
    for channel in CHANNELS:
        row = found[f"channel_slope@{channel}"]
        truth = PLANTED.get(channel, 0.0)
        missed += not row["low"] <= truth <= row["high"]
        assert abs(row["estimate"] - truth) < 0.25, channel
        if abs(truth) >= 0.4:
            assert row["low"] > 0 or row["high"] < 0, channel
    assert missed <= 1
    steps = found["channel_in_steps@injection"]
    assert steps["low"] <= 1.0 / 0.9 <= steps["high"]
    assert found["resolution"]["low"] <= 0.9 <= found["resolution"]["high"]
    assert not any("channel" in note for note in sheet["notes"])
