"""stimuli, judges, log, init, render and show, as a user meets them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
from command import Command
from loopback import LoopbackServer, verdict
from stimulus.banks import bank_tables, make_bank, to_toml

from datasheet.analysis.profile import Limits
from datasheet.cli import datasheet

HEAVY = ("numpy", "scipy", "statsmodels", "jinja2", "weasyprint", "aiohttp", "jsonschema", "pypdf")


def every_command() -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []

    def walk(group: click.Group, path: tuple[str, ...]) -> None:
        for name, child in group.commands.items():
            found.append((*path, name))
            if isinstance(child, click.Group):
                walk(child, (*path, name))

    walk(datasheet, ())
    return found


@pytest.mark.parametrize("path", every_command(), ids=" ".join)
def test_every_command_has_help_with_an_example(command: Command, path: tuple[str, ...]) -> None:
    run = command(*path, "--help")
    assert run.code == 0
    leaf = datasheet
    for name in path:
        leaf = leaf.commands[name]  # type: ignore[union-attr, assignment]
    if not isinstance(leaf, click.Group):
        assert re.search(rf"^\s+datasheet {' '.join(path)}", run.out, re.MULTILINE)


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from datasheet.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.splitlines()[-1] == "[]"


def test_the_shipped_bank_passes_every_gate(command: Command) -> None:
    run = command("stimuli", "check")
    assert (run.code, run.out) == (0, "")
    assert "every gate passed" in run.err
    listed = json.loads(command("stimuli", "list", "--json").out)
    assert listed[0]["name"] == "english"
    assert listed[0]["tasks"] >= 20


def test_a_bank_with_ten_faults_names_all_ten(command: Command) -> None:
    tables = bank_tables(make_bank(12))
    tasks = tables["task"]
    names = [task["id"] for task in tasks]
    tasks[0]["filler"] = tasks[0]["filler"][:4]
    tasks[1]["requirement"][2]["asked"] = "nobody asks for this"
    tasks[2]["requirement"][0]["terse"] = tasks[2]["requirement"][0]["plain"]
    tasks[3]["requirement"][1]["wordy"] = "Far too short."
    tasks[4]["openings"] = [tasks[4]["openings"][0]] * 2
    del tasks[5]["reference"]
    tasks[6]["requirement"] = tasks[6]["requirement"][:4]
    tasks[7]["question"] += " [[A]]"
    tasks[8]["requirement"][3]["plain"] = "Then " + tasks[8]["requirement"][3]["plain"]
    tasks[9]["id"] = names[10]
    Path("bank.toml").write_text(to_toml(tables), encoding="utf-8")
    run = command("stimuli", "check", "bank.toml", "--json")
    assert run.code == 2
    faults = json.loads(run.out)
    found = {(fault["task"], fault["field"].split(".")[0]) for fault in faults}
    expected = {
        (names[0], "filler"),
        (names[1], "requirement"),
        (names[2], "requirement"),
        (names[3], "requirement"),
        (names[4], "openings"),
        (names[5], "reference"),
        (names[6], "requirement"),
        (names[7], "question"),
        (names[8], "requirement"),
        (names[10], "id"),
    }
    assert expected <= found, expected - found
    assert not {task for task, _ in found} - {task for task, _ in expected} - {names[10]}
    text = command("stimuli", "check", "bank.toml").out
    assert all(name in text for name in (*names[:9], names[10]))


def test_a_task_is_shown_as_the_judge_sees_it(command: Command) -> None:
    task = json.loads(command("stimuli", "show", "--json").out)["tasks"][0].split()[0]
    shown = json.loads(command("stimuli", "show", "english", "--task", task, "--prompt", "bracket", "--json").out)
    assert len(shown["answers"]) == 6
    assert shown["question"] in shown["messages"][-1]
    assert "[[A]]" in "".join(shown["messages"])
    assert command("stimuli", "show", "english", "--task", "nope").code == 2


def test_judges_are_listed_and_shown(command: Command) -> None:
    names = {row["name"] for row in json.loads(command("judges", "list", "--json").out)}
    assert {"qwen32b", "qwen14b", "llama8b", "sim:careful", "sim:coin-flip"} <= names
    shown = json.loads(command("judges", "show", "sim:careful", "--json").out)
    assert shown["dials"]["criterion"] == 0.6
    prompts = {row["name"]: row for row in json.loads(command("judges", "prompts", "--json").out)}
    assert {"default", "strict-tie", "bracket", "forced-choice", "logprob", "reasoned", "checklist"} < set(prompts)
    assert prompts["forced-choice"]["ties_allowed"] is False


def test_judges_check_says_what_works(command: Command) -> None:
    with LoopbackServer([verdict('{"verdict": "tie"}')]) as server:
        run = command("judges", "check", f"openai:fake-judge@{server.base_url}", "--json")
        report = json.loads(run.out)
        assert len(server.calls) == 3 + 4
    assert run.code == 0
    assert (report["valid_replies"], report["calls"], report["equal_over_equal_calls"]) == (3, 3, True)
    assert report["json_schema"] == "yes"
    assert report["log_probabilities"] == "no: accepted, but none came back"


def test_a_log_is_verified_and_exported(command: Command) -> None:
    command("build", "--design", "quick", "--out", "X", "--no-render")
    assert command("log", "verify", "X").code == 0
    assert command("log", "export", "X", "v.jsonl").code == 0
    lines = Path("v.jsonl").read_text(encoding="utf-8").splitlines()
    header, row = json.loads(lines[0]), json.loads(lines[1])
    assert (header["format"], header["version"], header["judge"]) == ("judge-datasheet-verdicts", 1, "sim:careful")
    assert len(lines) == 111
    assert {"pair", "order", "verdict", "probe", "arm", "task", "trial", "raw"} <= set(row)
    refused = command("log", "export", "X", "v.jsonl")
    assert refused.code == 2
    assert "--force" in refused.err
    assert command("log", "export", "X", "v.jsonl", "--force", "--no-raw").code == 0
    assert '"raw"' not in Path("v.jsonl").read_text(encoding="utf-8")


def test_what_is_no_log_is_refused(command: Command) -> None:
    Path("not.sqlite").write_text("hello", encoding="utf-8")
    assert command("log", "verify", "not.sqlite").code == 2
    assert command("log", "verify", "nowhere").code == 2


def test_a_verdict_log_is_sent_to_the_command_that_reads_it(command: Command) -> None:
    Path("v.jsonl").write_text('{"pair": "p", "order": "ab", "verdict": "tie", "probe": "vacuum"}\n', encoding="utf-8")
    for arguments in (("log", "verify", "v.jsonl"), ("log", "export", "v.jsonl", "w.jsonl")):
        run = command(*arguments)
        assert run.code == 2
        assert "v.jsonl is no trial log: expected the trials.sqlite of a build" in run.err
        assert "`datasheet analyze` reads verdict logs" in run.err
        assert "--out" not in run.err
    Path("notes.txt").write_text("hello", encoding="utf-8")
    assert "analyze" not in command("log", "verify", "notes.txt").err


def test_a_page_for_a_browser_is_not_taken_for_a_broken_sheet(command: Command) -> None:
    command("build", "--design", "quick", "--out", "X")
    run = command("show", "X/datasheet.html")
    assert run.code == 2
    assert "X/datasheet.html is a page for a browser" in run.err
    assert "datasheet.json or datasheet.pdf beside it, or their folder" in run.err
    assert "JSON:" not in run.err


def test_the_template_names_every_limit_with_its_default(command: Command) -> None:
    assert command("init").code == 0
    written = Path("datasheet.toml").read_text(encoding="utf-8")
    offered = tomllib.loads(re.sub("^# ?", "", written[written.index("# [limits]") :], flags=re.MULTILINE))
    assert offered["limits"] == Limits().as_dict()


def test_documents_again_from_any_form(command: Command) -> None:
    command("build", "--design", "quick", "--out", "X")
    for source in ("X/datasheet.json", "X/datasheet.pdf"):
        run = command("render", source, "--out", "Y")
        assert run.code == 0, run.err
        for name in ("datasheet.json", "datasheet.html", "datasheet.pdf"):
            assert (Path("Y") / name).read_bytes() == (Path("X") / name).read_bytes(), (source, name)
    assert command("render", "X/trials.sqlite", "--out", "Z").code == 0
    command("log", "export", "X", "v.jsonl")
    assert command("render", "v.jsonl", "--out", "W").code == 0


def test_a_sheet_is_shown(command: Command) -> None:
    command("build", "--design", "quick", "--out", "X")
    run = command("show", "X/datasheet.pdf")
    assert run.code == 0
    assert "SIMULATED" in run.out
    assert "Dark current" in run.out
    assert json.loads(command("show", "X", "--json").out)["format"] == "judge-datasheet"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is not the JSON"),
        (b"{}", "not a datasheet"),
        (b'{"format": "judge-datasheet", "version": 7}', "reads version 1"),
        (b'{"format": "judge-datasheet", "version": 1}', "breaks the schema"),
        (b"%PDF-1.7 broken", "damaged"),
        (b"[" * 50_000, "is not the JSON"),
        (b'{"format": NaN}', "is not the JSON"),
    ],
)
def test_what_is_no_sheet_is_refused(command: Command, content: bytes, complaint: str) -> None:
    Path("sheet.json").write_bytes(content)
    run = command("show", "sheet.json")
    assert run.code == 2
    assert complaint in run.err


def test_init_writes_a_file_that_is_read(command: Command) -> None:
    assert command("init").code == 0
    text = Path("datasheet.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text) == {}
    uncommented = "\n".join(re.sub(r"^# ?(?=\[|[a-z_A-Z]+ = )", "", line) for line in text.splitlines())
    assert {"judge", "keys", "limits"} == set(tomllib.loads(uncommented))
    again = command("init")
    assert again.code == 2
    assert "exists already" in again.err
    Path("mine.toml").write_text(uncommented, encoding="utf-8")
    Path("datasheet.toml").unlink()
    shown = json.loads(command("judges", "show", "my-observer", "--config", "mine.toml", "--json").out)
    assert shown["dials"]["position"] == 0.8


def test_limits_of_ones_own_are_used_and_printed(command: Command) -> None:
    Path("datasheet.toml").write_text("[limits]\ndark = 0.9\n", encoding="utf-8")
    command("build", "--judge", "sim:first-slot", "--design", "paper", "--out", "X", "--no-render")
    sheet = json.loads(Path("X/datasheet.json").read_text(encoding="utf-8"))
    assert sheet["limits"]["dark"] == 0.9
    assert "dark" not in sheet["profile"]["flags"]
    Path("datasheet.toml").write_text("[limits]\ndrak = 0.9\n", encoding="utf-8")
    run = command("build", "--out", "Y")
    assert run.code == 2
    assert "no limit 'drak'" in run.err


def test_output_that_the_console_can_not_show_is_replaced(tmp_path: Path) -> None:
    """A console in the C locale shows what it can; the files are UTF-8 all the same."""
    run = subprocess.run(
        [sys.executable, "-m", "datasheet", "build", "--design", "quick", "--out", str(tmp_path / "Δ")],
        capture_output=True,
        env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PATH": "/usr/bin:/bin"},
    )
    assert run.returncode == 0, run.stderr
    shown = subprocess.run(
        [sys.executable, "-m", "datasheet", "show", str(tmp_path / "Δ")],
        capture_output=True,
        env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PATH": "/usr/bin:/bin"},
    )
    assert shown.returncode == 0, shown.stderr
    assert b"Dark current" in shown.stdout


def test_every_task_of_the_bank_can_be_shown(command: Command) -> None:
    tasks = json.loads(command("stimuli", "show", "--json").out)["tasks"]
    assert len(tasks) == 40
    shown = command("stimuli", "show", "english", "--task", tasks[-1].split()[0])
    assert shown.code == 0, shown.err
