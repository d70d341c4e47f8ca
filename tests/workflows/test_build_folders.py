"""What a build leaves in its folder, and what it refuses to overwrite or to begin with."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command import Command
from loopback import Call, LoopbackServer, Step, verdict
from stimulus.banks import bank_tables, make_bank, to_toml

from datasheet.resources import templates_folder
from datasheet.workflows.build import folder_name


def sheet_in(folder: str) -> dict[str, Any]:
    return json.loads((Path(folder) / "datasheet.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def test_a_bank_that_breaks_a_gate_is_refused_before_any_call(command: Command) -> None:
    tables: Any = bank_tables(make_bank(12))
    tables["task"][3]["requirement"][1]["asked"] = "nobody asks for this"
    Path("bank.toml").write_text(to_toml(tables), encoding="utf-8")
    with LoopbackServer([verdict('{"verdict": "A"}')]) as server:
        judge = f"openai:fake-judge@{server.base_url}"
        run = command("build", "--judge", judge, "--bank", "bank.toml", "--design", "quick", "--out", "X")
        assert server.calls == server.model_calls == []
    assert run.code == 2
    assert tables["task"][3]["id"] in run.err
    assert "stimuli check bank.toml" in run.err


def test_the_gates_on_the_sheet_count_what_they_were_held_against(command: Command) -> None:
    command("build", "--design", "quick", "--out", "X", "--no-render")
    gates = sheet_in("X")["validity"]["gates"]
    assert "strict prefix property: 30 pairs" in gates
    assert "identical where they must be: 10 pairs" in gates
    assert not any("filled" in gate for gate in gates)


def test_a_folder_never_holds_two_sheets(command: Command) -> None:
    command("build", "--design", "quick", "--out", "X")
    run = command("build", "--design", "paper", "--out", "X", "--no-render")
    assert run.code == 0
    assert {path.name for path in Path("X").iterdir()} & {"datasheet.html", "datasheet.pdf"} == set()
    assert "datasheet.pdf was of another sheet, and is removed" in run.err
    command("build", "--design", "paper", "--out", "X")
    kept = Path("X/datasheet.pdf").stat().st_mtime_ns
    command("build", "--design", "paper", "--out", "X", "--no-render")
    command("build", "--design", "paper", "--out", "X")
    assert Path("X/datasheet.pdf").stat().st_mtime_ns == kept


def test_a_larger_sheet_is_not_replaced_in_silence(command: Command) -> None:
    quiet = command("build", "--design", "quick", "--out", "X", "--no-render")
    assert "is replaced" not in quiet.err + command("build", "--design", "paper", "--out", "X", "--no-render").err
    run = command("build", "--design", "quick", "--out", "X", "--no-render")
    assert "the sheet that was here (design paper, 450 readings) is replaced by one of 110" in run.err
    assert "to have it again, run with the same --out: datasheet build" in run.err
    again = command("build", "--design", "paper", "--out", "X", "--no-render")
    assert "450 calls, 450 of them already in X" in again.err
    assert "is replaced" not in again.err
    assert "is replaced" not in command("build", "--design", "paper", "--out", "X", "--no-render").err


def test_a_sheet_of_another_judge_is_not_replaced_in_silence(command: Command) -> None:
    row = {"pair": "p", "order": "ab", "verdict": "tie", "probe": "vacuum", "judge": "one"}
    Path("one.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    Path("other.jsonl").write_text(json.dumps(row | {"judge": "other"}) + "\n", encoding="utf-8")
    assert "is replaced" not in command("analyze", "one.jsonl", "--out", "X").err
    run = command("analyze", "other.jsonl", "--out", "X")
    assert "the sheet of one that was here (design not given, 1 readings) is replaced" in run.err
    Path("X/datasheet.json").write_text('{"judge": []}', encoding="utf-8")
    assert "is replaced" not in command("analyze", "one.jsonl", "--out", "X").err


def test_documents_are_written_all_or_none(command: Command) -> None:
    command("build", "--design", "quick", "--out", "X")
    before = {path.name: path.read_bytes() for path in Path("X").iterdir()}
    Path("X/datasheet.pdf").unlink()
    Path("X/datasheet.pdf").mkdir()
    for more in ((), ("--no-render",)):
        run = command("build", "--design", "paper", "--out", "X", *more)
        assert run.code == 2, run.err
        assert "datasheet.pdf can't be written" in run.err
        for name in ("datasheet.json", "datasheet.html"):
            assert Path("X", name).read_bytes() == before[name]
        assert not list(Path("X").glob("*.part"))


def test_names_that_differ_give_folders_that_differ() -> None:
    long = "openai:" + "m" * 80
    names = ["a.b", "a-b", "A-B", "a b", "../../x", "x", f"{long}1", f"{long}2", "sim:careful"]
    folders = [folder_name(name, "default") for name in names]
    assert len(set(folders)) == len(names)
    assert not any("/" in folder or folder.startswith(".") for folder in folders)
    assert folders[-1] == "sim-careful_default"


def test_a_place_that_can_not_be_written_is_said(command: Command) -> None:
    Path("file").write_text("", encoding="utf-8")
    for arguments in (
        ("build", "--design", "quick", "--out", "file/x"),
        ("init",),
    ):
        Path("datasheet.toml").mkdir(exist_ok=True)
        run = command(*arguments)
        assert run.code == 2, arguments
        assert "Traceback" not in run.err


def test_an_export_never_replaces_its_own_log(command: Command) -> None:
    command("build", "--design", "quick", "--out", "X", "--no-render")
    before = Path("X/trials.sqlite").read_bytes()
    run = command("log", "export", "X", "X/trials.sqlite", "--force")
    assert run.code == 2
    assert "is the log itself" in run.err
    assert Path("X/trials.sqlite").read_bytes() == before
    for target in ("nowhere/v.jsonl", "X"):
        assert command("log", "export", "X", target, "--force").code == 2


def test_a_prompt_of_ones_own_is_read_back_without_its_folder(command: Command) -> None:
    shutil.copytree(templates_folder() / "prompts" / "default", "mine")
    system = Path("mine/system.txt")
    system.write_text(system.read_text(encoding="utf-8") + "\nTake your time.\n", encoding="utf-8")
    assert command("build", "--prompt", "mine", "--design", "quick", "--out", "X", "--no-render").code == 0
    sheet = sheet_in("X")
    assert "--prompt mine" in sheet["provenance"]["command"]
    shutil.rmtree("mine")
    analysed = command("analyze", "X", "--json")
    assert analysed.code == 0, analysed.err
    assert json.loads(analysed.out)["characteristics"] == sheet["characteristics"]
    assert command("log", "export", "X", "v.jsonl").code == 0


def test_an_exported_log_carries_plan_and_dates(command: Command) -> None:
    command("build", "--design", "quick", "--seed", 3, "--out", "X", "--no-render")
    command("log", "export", "X", "v.jsonl")
    lines = [json.loads(line) for line in Path("v.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (lines[0]["design"], lines[0]["seed"]) == ("quick", 3)
    dated = [{**line, "at": "2025-03-01T10:00:00Z"} if "at" in line else line for line in lines]
    Path("old.jsonl").write_text("\n".join(map(json.dumps, dated)) + "\n", encoding="utf-8")
    analysed = json.loads(command("analyze", "old.jsonl", "--json").out)
    assert analysed["provenance"]["last_trial"] == "2025-03-01T10:00:00Z"
    assert (analysed["design"]["name"], analysed["design"]["seed"]) == ("quick", 3)
    assert analysed["operation"]["calls"] == 110
    command("build", "--judge", "replay:old.jsonl", "--design", "quick", "--seed", 3, "--out", "Y", "--no-render")
    replayed = sheet_in("Y")
    assert replayed["provenance"]["first_trial"] == "2025-03-01T10:00:00Z"
    assert replayed["operation"]["last_at"] == "2025-03-01T10:00:00Z"


def test_a_trial_log_of_another_judge_is_not_taken_for_the_one_asked_for(command: Command) -> None:
    command("build", "--design", "quick", "--out", "X", "--no-render")
    assert command("analyze", "X", "--judge", "sim:careful").code == 0
    run = command("analyze", "X", "--judge", "nobody")
    assert run.code == 2
    assert "not of 'nobody'" in run.err


def test_documents_of_a_log_use_the_configured_limits(command: Command) -> None:
    command("build", "--judge", "sim:first-slot", "--design", "paper", "--out", "X", "--no-render")
    command("log", "export", "X", "v.jsonl")
    Path("datasheet.toml").write_text("[limits]\ndark = 0.9\n", encoding="utf-8")
    assert command("render", "v.jsonl", "--out", "Y").code == 0
    assert sheet_in("Y")["limits"]["dark"] == 0.9


def test_an_unfinished_build_says_what_to_do(command: Command) -> None:
    steps = [verdict('{"verdict": "A"}')] * 3 + [Step(status=429, headers={"Retry-After": "9999"}, text="later")]
    with LoopbackServer(steps) as server:
        judge = f"openai:fake-judge@{server.base_url}"
        assert command("build", "--judge", judge, "--design", "quick", "--out", "X", "--concurrency", 1).code == 4
    run = command("show", "X")
    assert run.code == 2
    assert "not finished" in run.err


def test_far_too_few_prompt_tokens_are_told(command: Command) -> None:
    """A long prompt of which the server counts a few tokens, not the same number each time."""
    tables: Any = bank_tables(make_bank(10))
    for task in tables["task"]:
        task["question"] = task["question"] + " " + "Please mind every word of this. " * 700
    Path("bank.toml").write_text(to_toml(tables), encoding="utf-8")

    def script(call: Call) -> Step:
        step = verdict('{"verdict": "A"}')
        body = dict(step.json or {})
        body["usage"] = {"prompt_tokens": 900 + call.number % 7, "completion_tokens": 5, "total_tokens": 905}
        return Step(json=body)

    with LoopbackServer(script) as server:
        judge = f"openai:fake-judge@{server.base_url}"
        run = command(
            "build", "--judge", judge, "--bank", "bank.toml", "--design", "quick", "--out", "X", "--no-render"
        )
        assert run.code == 0, run.err
    assert any("far fewer prompt tokens" in note for note in sheet_in("X")["notes"])


@pytest.mark.parametrize(
    "command_line", [["show", "X"], ["analyze", "X", "--json"], ["judges", "list", "--json"], ["build", "--help"]]
)
def test_output_that_can_not_be_written(command: Command, command_line: list[str]) -> None:
    """A full disk behind stdout is an error in words; a reader that went away is none."""
    command("build", "--design", "quick", "--out", "X", "--no-render")
    ours = [sys.executable, "-m", "datasheet", *command_line]
    with open("/dev/full", "wb") as full:
        run = subprocess.run(ours, stdout=full, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 2
    assert "the output can't be written" in run.stderr
    assert "Traceback" not in run.stderr
    read_end, write_end = os.pipe()
    os.close(read_end)
    gone = subprocess.run(ours, stdout=write_end, stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    assert (gone.returncode, gone.stderr.count("Traceback")) == (0, 0)


def test_ctrl_c_is_130_and_resumable(tmp_path: Path) -> None:
    def slow(call: Call) -> Step:
        return verdict('{"verdict": "A"}', delay_s=0.1)

    with LoopbackServer(slow) as server:
        ours = [sys.executable, "-m", "datasheet", "build", "--judge", f"openai:fake-judge@{server.base_url}"]
        build = subprocess.Popen(
            [*ours, "--design", "quick", "--no-render", "--out", str(tmp_path / "X")],
            stderr=subprocess.PIPE,
            text=True,
        )
        while len(server.calls) < 20 and build.poll() is None:
            time.sleep(0.01)
        build.send_signal(signal.SIGINT)
        _, said = build.communicate()
        assert build.returncode == 130
        assert "the same command goes on" in said
        before = len(server.calls)
        again = subprocess.run([*ours, "--design", "quick", "--no-render", "--out", str(tmp_path / "X")])
        assert again.returncode == 0
        assert len(server.calls) - before <= 110 - 20 + 8
