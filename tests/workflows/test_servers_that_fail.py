"""Builds at servers that stop answering: what is said, once, with which exit code, and what the next build asks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import Command
from loopback import Call, LoopbackServer, Step, failure, message, verdict

from datasheet.trials.log import TrialLog

GOOD = verdict('{"verdict": "A"}')
CALLS = 110
NO_CREDIT = failure(429, "You exceeded your current quota.", code="insufficient_quota")
HOURS = failure(429, "slow down", headers={"Retry-After": "10800"})


def build(command: Command, server: LoopbackServer, *arguments: object) -> object:
    judge = f"openai:fake-judge@{server.base_url}"
    return command("build", "--judge", judge, "--design", "quick", "--out", "X", "--no-render", *arguments)


@pytest.mark.parametrize(
    ("stop", "code", "said"),
    [(NO_CREDIT, 2, "the account has no credit left"), (HOURS, 4, "the same command goes on")],
)
def test_a_build_stops_once_and_the_next_one_asks_what_is_missing(
    command: Command, stop: Step, code: int, said: str
) -> None:
    with LoopbackServer(lambda call: stop if call.number >= 40 else GOOD) as server:
        run = build(command, server, "--concurrency", 16)
        asked = len(server.calls)
    assert (run.code, run.err.count(said)) == (code, 1)  # type: ignore[attr-defined]
    assert 40 < asked <= 40 + 16
    with TrialLog.read("X/trials.sqlite") as log:
        assert len(log.answered()) == 40
        assert log.verify() == []
    with LoopbackServer([GOOD]) as server:
        # Another port is another URL, and no other instrument.
        assert build(command, server).code == 0  # type: ignore[attr-defined]
        assert len(server.calls) == CALLS - 40
    sheet = json.loads(Path("X/datasheet.json").read_text(encoding="utf-8"))
    assert (sheet["validity"]["readings"], sheet["validity"]["valid"]) == (CALLS, CALLS)


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (NO_CREDIT, "no credit left"),
        (failure(404, "The model does not exist", code="model_not_found"), "has the model fake-judge"),
        (failure(400, "Unsupported value: 'temperature' does not support 0.0."), 'temperature = "unset"'),
        (failure(401, "Incorrect API key"), "wants a key"),
    ],
)
def test_what_every_call_would_meet_costs_one_call_and_one_sentence(command: Command, refusal: Step, said: str) -> None:
    with LoopbackServer([refusal], models=None) as server:
        run = build(command, server, "--concurrency", 32)
        assert len(server.calls) == 1
    assert (run.code, run.err.count(said)) == (2, 1)  # type: ignore[attr-defined]


def test_a_server_that_wants_the_other_name_of_the_limit_costs_one_call_more(command: Command) -> None:
    def renamed(call: Call) -> Step:
        return failure(400, "Use 'max_completion_tokens'.", param="max_tokens") if "max_tokens" in call.body else GOOD

    with LoopbackServer(renamed) as server:
        assert build(command, server, "--concurrency", 32).code == 0  # type: ignore[attr-defined]
        assert len(server.calls) == CALLS + 1
        assert build(command, server).code == 0  # type: ignore[attr-defined]
        assert len(server.calls) == CALLS + 1


def test_a_judge_behind_the_messages_api_is_measured(command: Command) -> None:
    thinking = {"type": "thinking", "thinking": '{"verdict": "B"}', "signature": "x"}

    def answered(call: Call) -> Step:
        if call.number == 5:
            return Step(status=529, json={"type": "error", "error": {"type": "overloaded_error", "message": "x"}})
        if call.number == 6:
            return Step(json=message(stop_reason="refusal"))
        return Step(json=message(thinking, {"type": "text", "text": '{"verdict": "A"}'}))

    with LoopbackServer(answered) as server:
        judge = f"anthropic:fake-judge@{server.base_url}"
        run = command("build", "--judge", judge, "--design", "quick", "--out", "X", "--no-render")
        assert len(server.calls) == CALLS + 1
    assert run.code == 0, run.err
    sheet = json.loads(Path("X/datasheet.json").read_text(encoding="utf-8"))
    assert (sheet["judge"]["adapter"], sheet["validity"]["invalid"]) == ("anthropic", {"refusal": 1})
    assert (sheet["validity"]["valid"], sheet["operation"]["failed_attempts"]) == (CALLS - 1, {"server_error": 1})
