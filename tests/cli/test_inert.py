"""Whatever a judge, a bank, a configuration, a log or a server says, on the terminal it merely stands there."""

from __future__ import annotations

import ast
import json
import logging
import sqlite3
import sys
import unicodedata
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from command import Command, Run
from loopback import LoopbackServer, Step, completion
from sheet.samples import make_sheet
from stimulus.banks import bank_tables, make_bank, to_toml

import datasheet
from datasheet.cli import console
from datasheet.sheet.schema import dump_sheet
from datasheet.stimulus.design import DESIGNS
from datasheet.trials.runner import Progress
from datasheet.visible import MOST_CHARACTERS

FORGED = "Error: forged"
EVIL = f"<\x1b[2J\x9b1m\x07\r\x7f\u202e\u2066\u200b\u200d\xad\u3164\U000e0041\ufeff\u2028\x85\n{FORGED}\r{FORGED}\n>"
ROW = {"pair": "p1", "order": "ab", "verdict": "first", "probe": "ladder", "delta_q": 1, "task": "t"}


def acting(text: str) -> set[str]:
    """Characters that do something or can't be seen, line ends apart."""
    return {
        c for c in text if c != "\n" and (unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") or c == "\u3164")
    }


def assert_inert(run: Run) -> None:
    for printed in (run.out, run.err):
        assert not acting(printed)
        assert not [line for line in printed.splitlines() if line.startswith(FORGED)]
        assert "Traceback" not in printed


def assert_shown_inert(run: Run) -> None:
    assert_inert(run)
    assert "U+001B[2J" in run.out + run.err or "x1b[2J" in run.out + run.err or "u001b[2J" in run.out + run.err


@pytest.fixture(autouse=True)
def small_design(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DESIGNS, "quick", replace(DESIGNS["quick"], n_tasks=1))


def build(command: Command, *arguments: object, out: str = "X") -> Run:
    return command("build", *arguments, "--design", "quick", "--out", out, "--no-render")


@pytest.mark.parametrize(
    "step",
    [
        Step(status=400, text=EVIL),
        Step(status=400, json={"error": {"message": EVIL, "type": EVIL, "param": EVIL, "code": EVIL}}),
        Step(status=404, json={"error": EVIL}),
        Step(status=401, json={"error": {"message": EVIL}}),
        Step(status=307, headers={"Location": "http://\u202e%1b[2J.example/\u202e"}, text=EVIL),
        Step(json=completion("A", model=EVIL)),
        Step(json=completion('{"verdict": "' + EVIL)),
        Step(json={"choices": [{"message": {"content": EVIL, "refusal": EVIL}, "finish_reason": EVIL}]}),
    ],
)
def test_replies_and_errors_of_a_server(command: Command, step: Step) -> None:
    with LoopbackServer([step], models=("fake-judge", EVIL)) as server:
        judge = f"openai:fake-judge@{server.base_url}"
        runs = [
            build(command, "--judge", judge),
            command("judges", "check", judge),
            build(command, "--judge", f"openai:other@{server.base_url}", out="Y"),
            command("show", "X"),
            command("show", "X", "--json"),
            command("log", "verify", "X"),
        ]
    for run in runs:
        assert_inert(run)
    assert_shown_inert(runs[2])


def test_the_errors_of_programs_and_functions(command: Command) -> None:
    Path("loud.py").write_text(
        f"import sys\ndef judge(asked): raise ValueError({EVIL!r})\nif __name__ == '__main__': sys.exit({EVIL!r})\n",
        encoding="utf-8",
    )
    for judge in (
        "python:loud:judge",
        f"command:{sys.executable} -X utf8 loud.py",
        f"python:{EVIL}:f",
        f"command:{EVIL}",
    ):
        run = command("judges", "check", judge)
        assert run.code == 2
        assert_shown_inert(run)


def test_a_verdict_log(command: Command) -> None:
    log = Path("log.jsonl")
    rows = [ROW, ROW | {"order": "ba", "pair": "p2", "task": EVIL}]
    header = {"format": "judge-datasheet-verdicts", "version": 1, "judge": EVIL, "prompt": EVIL, "length_unit": EVIL}
    log.write_text("\n".join(map(json.dumps, [header, *rows])), encoding="utf-8")
    assert_shown_inert(command("analyze", log))
    shown = command("analyze", log, "--json")
    assert_shown_inert(shown)
    assert json.loads(shown.out)["judge"]["name"] == EVIL
    for broken in (
        {"order": EVIL},
        {EVIL: 1, "pair": 1},
        {"verdict": EVIL},
        {"judge": EVIL, "pair": "p9"},
        {"probe": EVIL},
    ):
        log.write_text(
            "\n".join(map(json.dumps, [ROW, ROW | {"order": "ba", "judge": "x"} | broken])), encoding="utf-8"
        )
        run = command("analyze", log)
        assert_inert(run)


def test_a_datasheet(command: Command) -> None:
    sheet = make_sheet(tasks=3, arms=(EVIL,), hostile=EVIL)
    Path("datasheet.json").write_bytes(dump_sheet(sheet))
    assert_shown_inert(command("show", "datasheet.json"))
    shown = command("show", "datasheet.json", "--json")
    assert_shown_inert(shown)
    assert json.loads(shown.out) == json.loads(dump_sheet(sheet))
    assert_inert(command("render", "datasheet.json", "--out", "again"))
    Path("datasheet.json").write_bytes(dump_sheet(sheet | {EVIL: 1}))
    assert_inert(command("show", "datasheet.json"))
    Path("datasheet.json").write_text(json.dumps({"format": "judge-datasheet", "version": EVIL}), encoding="utf-8")
    assert_inert(command("show", "datasheet.json"))


def as_toml(text: str) -> str:
    """JSON as TOML wants it: a character beyond 16 bits in one escape, and delete escaped too."""
    return text.replace("\\udb40\\udc41", "\\U000e0041").replace("\x7f", "\\u007f")


def test_a_bank(command: Command) -> None:
    bank = make_bank(3)
    task = replace(bank.tasks[0], question=EVIL, id=EVIL, filler=(EVIL,))
    Path("bank.toml").write_text(
        as_toml(to_toml(bank_tables(replace(bank, title=EVIL, tasks=(task, *bank.tasks[1:]))))), encoding="utf-8"
    )
    assert_shown_inert(command("stimuli", "check", "bank.toml"))
    assert_shown_inert(command("stimuli", "check", "bank.toml", "--json"))
    assert_inert(command("stimuli", "show", "bank.toml"))
    assert_inert(command("stimuli", "show", "bank.toml", "--task", EVIL))
    assert_inert(build(command, "--bank", "bank.toml"))


def test_a_configuration(command: Command) -> None:
    name = as_toml(json.dumps(EVIL))
    for text in (
        f'[judge.x]\nadapter = "openai"\nmodel = {name}\nurl = "http://127.0.0.1:9/v1"\n',
        f"[judge.{name}]\nadapter = 'sim'\n",
        f"[judge.x]\nadapter = {name}\n",
        f"[{name}]\nx = 1\n",
        f'[judge.x]\nadapter = "openai"\nmodel = "m"\nurl = {name}\n',
        f'[judge.x]\nadapter = "openai"\nmodel = "m"\nurl = "http://127.0.0.1:9/v1"\n{name} = 1\n',
        f"[limits]\n{name} = 1\n",
        f"[keys]\n{name} = 1\n",
        f"x = {EVIL}",
    ):
        Path("own.toml").write_text(text, encoding="utf-8")
        for arguments in (("list",), ("list", "--json"), ("show", "x"), ("show", "x", "--json"), ("check", "x")):
            run = command("judges", *arguments, "--config", "own.toml")
            assert "not TOML" not in run.err or text.startswith("x = <")
            assert_inert(run)


def test_names_on_the_command_line(command: Command) -> None:
    """A shell's pattern brings the names of files that someone else has named."""
    name = EVIL.replace("/", "")
    Path(name).write_text("{}", encoding="utf-8")
    for arguments in (
        ("show", name),
        ("analyze", name),
        ("render", name),
        ("log", "verify", name),
        ("log", "export", name, name),
        ("stimuli", "show", name),
        ("stimuli", "check", name),
        ("judges", "show", name),
        ("judges", "list", "--config", name),
        ("build", "--prompt", name),
        ("build", "--bank", name),
        ("build", "--design", name),
        ("build", "--out", name),
        (name,),
        ("show", "a", name),
        ("build", f"--{name}"),
    ):
        run = command(*arguments)
        assert run.code == 2, arguments
        assert_inert(run)
        assert "U+001B" in run.err or "x1b" in run.err, arguments


def test_a_trial_log(command: Command) -> None:
    assert build(command).code == 0
    with closing(sqlite3.connect("X/trials.sqlite")) as connection, connection:
        connection.execute("UPDATE stimulus SET probe = ?, task = ?", (EVIL, EVIL))
        connection.execute("UPDATE meta SET value = ?", (EVIL,))
    assert_shown_inert(command("log", "verify", "X"))
    assert_shown_inert(command("log", "verify", "X", "--json"))
    for run in (command("analyze", "X"), command("log", "export", "X", "out.jsonl"), build(command)):
        assert_inert(run)


def test_the_kinds_of_failures_in_the_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    state = Progress(done=1, failed=0, total=1, in_flight=0, oldest_s=0.0, elapsed_s=1.0, failures={EVIL: 1})
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    console.ProgressLine().show(state)
    assert not acting(capsys.readouterr().err.removeprefix("\r\x1b[K"))


def test_what_libraries_log(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What pypdf finds odd in a PDF, for example, it quotes."""
    monkeypatch.setattr(logging, "lastResort", None)
    console.prepare()
    assert logging.lastResort is not None
    logging.lastResort.handle(logging.LogRecord("pypdf", logging.WARNING, "", 0, "odd: %s", (EVIL,), None))
    told = capsys.readouterr().err
    assert told.startswith("odd: <U+001B[2J")
    assert not acting(told)


def test_a_long_text_is_cut_and_says_so(command: Command) -> None:
    run = command("judges", "show", "x" * 50_000)
    assert len(run.err) < MOST_CHARACTERS + 100
    assert "more characters]" in run.err


def test_json_keeps_its_value_and_has_nothing_that_acts(capsys: pytest.CaptureFixture[str]) -> None:
    value = {EVIL: [EVIL, "é\U0001f600", {"\x00\x7f": "\ud800\\u202e\\"}]}
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=2)):
        console.put_json_text(text)
        printed = capsys.readouterr().out
        assert json.loads(printed) == value
        assert not acting(printed)


def test_only_the_console_prints() -> None:
    """Every way to the terminal leads through the one module that makes texts inert."""
    package = Path(datasheet.__file__).parent
    elsewhere, here = [], 0
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            written = ast.unparse(node) if isinstance(node, ast.Attribute | ast.Name | ast.ImportFrom) else ""
            prints = written in ("print", "sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__")
            prints |= written in ("click.echo", "click.secho", "click.echo_via_pager", "click.prompt", "click.confirm")
            prints |= written in ("os.write", "warnings.warn") or written.endswith("problem.show")
            prints |= isinstance(node, ast.ImportFrom) and node.module in ("click", "sys", "logging", "warnings")
            here += prints and path.name == "console.py"
            if prints and path != package / "cli" / "console.py":
                elsewhere.append(f"{path.name}: {written}")
    assert here > 3
    assert elsewhere == []
