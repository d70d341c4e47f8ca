"""Builds under each shipped prompt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import Command
from loopback import Call, LoopbackServer, Step, verdict

from datasheet.prompts import variant_names


def built(command: Command, *arguments: object) -> dict:
    run = command("build", "--design", "quick", "--out", "X", "--no-render", *arguments)
    assert run.code == 0, run.err
    return json.loads(Path("X/datasheet.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("prompt", variant_names())
def test_a_simulated_judge_is_measured_under_every_prompt(command: Command, prompt: str) -> None:
    """Its dials are what they are; only the form of its replies follows the prompt."""
    Path("mine.toml").write_text('[judge.mine]\nadapter = "sim"\ninvalid_rate = 0\n')
    sheet = built(command, "--judge", "mine", "--config", "mine.toml", "--prompt", prompt)
    assert (sheet["judge"]["prompt"], sheet["validity"]["valid"]) == (prompt, 110)
    estimates = {row["key"]: row["estimate"] for row in sheet["characteristics"]}
    assert estimates["invalid_rate"] == 0
    assert estimates["p_correct_3"] > 0.7
    assert not any("not the JSON" in note or "declare another" in note for note in sheet["notes"])


def test_the_reference_of_its_task_is_shown_under_that_prompt_alone(command: Command) -> None:
    with LoopbackServer([verdict('{"verdict": "tie"}')]) as server:
        judge = f"openai:fake-judge@{server.base_url}"
        built(command, "--judge", judge, "--prompt", "reference")
        with_reference = [call.body["messages"][-1]["content"] for call in server.calls]
        built(command, "--judge", judge, "--prompt", "default", "--fresh")
        without = [call.body["messages"][-1]["content"] for call in server.calls[len(with_reference) :]]
    assert all("ANSWER FOR REFERENCE" in text for text in with_reference)
    assert len({text.partition("REFERENCE BEGINS =====")[2].partition("=====")[0] for text in with_reference}) == 10
    assert not any("REFERENCE" in text for text in without)


def test_a_checklist_is_counted_and_a_winner_declared_otherwise_is_told(command: Command) -> None:
    yes, no = (dict.fromkeys(map(str, range(1, 7)), word) for word in ("yes", "no"))

    def contrary(call: Call) -> Step:
        return verdict(json.dumps({"A": yes, "B": no, "verdict": "B" if call.number < 30 else "A"}))

    with LoopbackServer(contrary) as server:
        Path("mine.toml").write_text(
            f'[judge.mine]\nadapter = "openai"\nmodel = "fake-judge"\nurl = "{server.base_url}"\n'
            'json_mode = "json_schema"\n'
        )
        sheet = built(command, "--judge", "mine", "--config", "mine.toml", "--prompt", "checklist")
        schema = server.calls[0].body["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["A", "B", "verdict"]
    assert (
        "30 of 110 replies declare another winner than their own checklist gives: the checklist counts."
        in (sheet["notes"])
    )
    assert sheet["validity"]["valid"] == 110
    estimates = {row["key"]: row["estimate"] for row in sheet["characteristics"]}
    assert estimates["first_first"] == 1
