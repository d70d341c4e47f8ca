"""`datasheet judges check`: what a few probe calls show of any judge, and of servers that promise too much."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command import Command
from loopback import Call, LoopbackServer, Step, completion, failure, message, verdict

TIE = '{"verdict": "tie"}'
FIRST = {"content": [{"token": "A", "logprob": -0.1, "top_logprobs": [{"token": "A", "logprob": -0.1}]}]}


def report_of(command: Command, judge: str, code: int = 0) -> dict:
    run = command("judges", "check", judge, "--json")
    assert run.code == code, run.err
    return json.loads(run.out)


def test_a_server_that_does_all_of_it(command: Command) -> None:
    def able(call: Call) -> Step:
        return Step(json=completion(TIE, choice={"logprobs": FIRST if "logprobs" in call.body else None}))

    with LoopbackServer(able) as server:
        report = report_of(command, f"openai:fake-judge@{server.base_url}")
        assert len(server.calls) == 3 + 4
    assert {
        what: report[what] for what in ("json_schema", "json_object", "seed", "log_probabilities")
    } == dict.fromkeys(("json_schema", "json_object", "seed", "log_probabilities"), "yes")
    assert (report["valid_replies"], report["equal_over_equal_calls"], report["token_counts"]) == (3, True, True)
    assert (report["model"], report["reported_model"]) == ("fake-judge", "fake-judge")
    assert "invalid_because" not in report


def test_a_server_that_takes_everything_and_does_nothing_of_it(command: Command) -> None:
    """Field case A14: a schema that is silently not enforced; and log-probabilities that are null."""
    with LoopbackServer([Step(json=completion("I prefer A.", choice={"logprobs": None}))]) as server:
        report = report_of(command, f"openai:fake-judge@{server.base_url}", code=2)
    assert (report["valid_replies"], report["invalid_because"]) == (0, "no_verdict")
    assert report["json_schema"] == report["json_object"] == "no: accepted, but the reply is not JSON"
    assert report["log_probabilities"] == "no: accepted, but none came back"


def test_a_server_that_says_no_to_a_field_is_quoted(command: Command) -> None:
    def strict(call: Call) -> Step:
        refused = sorted(call.body.keys() & {"seed", "response_format", "logprobs"})
        return failure(400, "unknown field\x1b", param=refused[0]) if refused else verdict(TIE)

    with LoopbackServer(strict) as server:
        report = report_of(command, f"openai:fake-judge@{server.base_url}")
        printed = command("judges", "check", f"openai:fake-judge@{server.base_url}").out
    for what in ("json_schema", "json_object", "seed", "log_probabilities"):
        assert report[what].startswith(f"no: {server.base_url}/chat/completions answered HTTP 400")
    assert "equal over equal calls: yes" in printed
    assert "\x1b" not in printed


def test_a_judge_that_draws_is_told(command: Command) -> None:
    with LoopbackServer(lambda call: verdict('{"verdict": "AB"}'.replace("AB", "AB"[call.number % 2]))) as server:
        report = report_of(command, f"openai:fake-judge@{server.base_url}")
    assert report["equal_over_equal_calls"] is False


def test_the_messages_api_has_neither_seed_nor_candidates(command: Command) -> None:
    with LoopbackServer([Step(json=message({"type": "text", "text": TIE}))]) as server:
        report = report_of(command, f"anthropic:fake-judge@{server.base_url}")
        assert len(server.calls) == 3 + 1
    assert report["log_probabilities"] == "no: none came back"
    assert not {"seed", "json_schema", "json_object"} & report.keys()


@pytest.mark.parametrize("adapter", ["python", "command"])
def test_functions_and_programs_are_checked_too(command: Command, adapter: str) -> None:
    Path("my_checked_judge.py").write_text(
        "import json\n"
        "def judge(asked=None):\n"
        f"    return {{'text': '{TIE}', 'logprobs': [['A', -0.1]]}}\n"
        "if __name__ == '__main__':\n"
        "    print(json.dumps(judge()))\n"
    )
    what = {"python": "my_checked_judge:judge", "command": f"{sys.executable} my_checked_judge.py"}[adapter]
    report = report_of(command, f"{adapter}:{what}")
    assert (report["valid_replies"], report["log_probabilities"], report["token_counts"]) == (3, "yes", False)


def test_a_simulated_judge_can_do_what_is_asked(command: Command) -> None:
    assert report_of(command, "sim:careful")["log_probabilities"] == "yes"


def test_a_judge_that_can_not_be_asked_is_one_sentence(command: Command) -> None:
    with LoopbackServer(models=["other"]) as server:
        run = command("judges", "check", f"openai:fake-judge@{server.base_url}", "--json")
    assert (run.code, run.out) == (2, "")
    assert "name one of the 1 that it offers: other" in run.err


def test_a_replayed_log_has_nothing_to_probe(command: Command) -> None:
    assert "nothing to probe" in command("judges", "check", "replay:x.jsonl").err


def test_a_judge_is_shown_without_what_its_headers_say(command: Command) -> None:
    Path("mine.toml").write_text(
        '[judge.mine]\nadapter = "openai"\nmodel = "m"\nurl = "http://127.0.0.1:1/v1?key=hunter2hunter2"\n'
        'headers = {X-Team = "hunter3hunter3"}\ntls = {verify = false}\n'
        '[judge.program]\nadapter = "command"\ncommand = ["judge", "a b"]\n'
    )
    run = command("judges", "show", "mine", "--config", "mine.toml", "--json")
    shown = json.loads(run.out)
    assert (shown["headers"], shown["base_url"], shown["tls"]) == ("X-Team", "http://127.0.0.1:1/v1", {"verify": False})
    assert "hunter" not in run.out
    assert json.loads(command("judges", "show", "program", "--config", "mine.toml", "--json").out)["command"] == [
        "judge",
        "a b",
    ]
    rows = {row["name"]: row for row in json.loads(command("judges", "list", "--config", "mine.toml", "--json").out)}
    assert (rows["program"]["adapter"], rows["program"]["model"]) == ("command", "judge a b")
    assert rows["mine"]["model"] == "m"
