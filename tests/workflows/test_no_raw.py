"""A build that keeps no raw replies: the same readings, without a word of the judge's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from command import Command
from loopback import Call, LoopbackServer, Step, completion

from datasheet.trials.log import TrialLog

SECRET = "the judge's own words"
PARTS = ("characteristics", "readings", "profile", "validity", "decomposition", "curves")


def script(call: Call) -> Step:
    """Replies of every kind: verdicts in prose, refusals, cut replies, none at all."""
    kind = len(json.dumps(call.body)) % 5
    if kind == 0:
        return Step(json=completion(None, refusal=SECRET))
    if kind == 1:
        return Step(json=completion(f"{SECRET}, and no verdict", finish_reason="length", reasoning=SECRET))
    return Step(json=completion(f'{SECRET}: {{"verdict": "{"A" if kind == 2 else "tie"}"}}', reasoning=SECRET))


def build(command: Command, server: LoopbackServer, out: str, *more: str) -> dict[str, Any]:
    judge = f"openai:fake-judge@{server.base_url}"
    options = ("--design", "quick", "--no-render", "--concurrency", 16)
    run = command("build", "--judge", judge, *options, "--out", out, *more)
    assert run.code == 0, run.err
    return sheet_in(out)


def sheet_in(out: str) -> dict[str, Any]:
    return json.loads(Path(out, "datasheet.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def test_readings_are_kept_and_words_are_not(command: Command) -> None:
    with LoopbackServer(script) as server:
        whole, bare = build(command, server, "whole"), build(command, server, "bare", "--no-raw")
    for part in PARTS:
        assert bare[part] == whole[part], part
    assert len(bare["validity"]["invalid"]) > 1
    assert SECRET.encode() in Path("whole/trials.sqlite").read_bytes()
    for file in Path("bare").iterdir():
        assert SECRET.encode() not in file.read_bytes(), file
    assert command("log", "verify", "bare").code == 0
    analysed = json.loads(command("analyze", "bare", "--json").out)
    assert analysed["readings"] == whole["readings"]
    assert analysed["characteristics"] == whole["characteristics"]


def test_the_sheet_says_what_can_not_be_read_again(command: Command) -> None:
    with LoopbackServer(script) as server:
        sheet = build(command, server, "bare", "--no-raw")
        assert any("own words were not kept for 110 of 110 readings" in note for note in sheet["notes"])
        assert any(f"as the parser {sheet['provenance']['parser']} read them" in note for note in sheet["notes"])
        assert not any("own words" in note for note in build(command, server, "whole")["notes"])


def test_a_log_without_words_is_exported_and_can_not_be_replayed(command: Command) -> None:
    with LoopbackServer(script) as server:
        sheet = build(command, server, "bare", "--no-raw")
    assert command("log", "export", "bare", "v.jsonl").code == 0
    assert SECRET not in Path("v.jsonl").read_text(encoding="utf-8")
    assert json.loads(command("analyze", "v.jsonl", "--json").out)["characteristics"] == sheet["characteristics"]
    run = command("build", "--judge", "replay:v.jsonl", "--design", "quick", "--out", "again")
    assert run.code == 2
    assert "can't be replayed without the fields" in run.err


def test_an_export_without_words_has_no_refusal_in_words(command: Command) -> None:
    with LoopbackServer(script) as server:
        build(command, server, "whole")
    command("log", "export", "whole", "v.jsonl", "--no-raw")
    assert SECRET not in Path("v.jsonl").read_text(encoding="utf-8")


def test_what_an_earlier_run_kept_stays(command: Command) -> None:
    steps = [Step(json=completion(f'{SECRET} {{"verdict": "A"}}'))] * 20
    steps += [Step(status=429, headers={"Retry-After": "9999"}, text="later")]
    with LoopbackServer(steps) as server:
        judge = f"openai:fake-judge@{server.base_url}"
        line = ("build", "--judge", judge, "--design", "quick", "--out", "X", "--no-render", "--concurrency", 1)
        assert command(*line).code == 4
    with LoopbackServer(script) as server:
        server_of_later = f"openai:fake-judge@{server.base_url}"
        assert command(*line[:2], server_of_later, *line[3:], "--no-raw").code == 0
    with TrialLog.read("X/trials.sqlite") as log:
        kept = [reading.kept is None for reading in log.readings()]
    assert (kept.count(True), kept.count(False)) == (20, 90)
    assert any("were not kept for 90 of 110 readings" in note for note in sheet_in("X")["notes"])
