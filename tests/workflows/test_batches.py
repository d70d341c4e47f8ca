"""`datasheet log export --batch` and `log import`: the calls of a live build, made by a provider in its own time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from batches import answers, anthropic_line, asked, documents, expired_line, openai_line, vllm_failure, write_lines
from command import Command
from loopback import Call, LoopbackServer, Step, completion, longer_answer, message
from workflows.builds import CALLS, answered, figures
from workflows.moody_server import WORDS, answer

from datasheet.trials.log import TrialLog

JUDGE = "openai:fake-judge@http://127.0.0.1:9/v1"  # nobody listens there, and nobody need


def exported(command: Command, out: str, file: str, *more: object, judge: str = JUDGE) -> None:
    chosen = () if "--judge" in more else ("--judge", judge)
    run = command("log", "export", out, file, "--batch", "--design", "quick", *chosen, *more)
    assert run.code == 0, run.err


def built(command: Command, out: str, judge: str = JUDGE) -> int:
    return command("build", "--judge", judge, "--design", "quick", "--no-render", "--out", out).code


def replies(out: str) -> dict[str, Any]:
    with TrialLog.read(Path(out) / "trials.sqlite") as log:
        assert log.verify() == []
        return {logged.key: logged for logged in log.readings()}


@pytest.fixture
def live(command: Command) -> str:
    """A build that asked a server."""
    with LoopbackServer(answer) as server:
        assert built(command, "live", f"openai:fake-judge@{server.base_url}") == 0
    return "live"


def test_a_batch_gives_the_sheet_of_a_live_run_without_a_call(command: Command, live: str) -> None:
    exported(command, "batch", "requests.jsonl")
    lines = answers("requests.jsonl")
    run = command("log", "import", "batch", write_lines("output.jsonl", reversed(lines)))
    assert (run.code, f"{CALLS} readings; 0 of the exported trials have none yet" in run.err) == (0, True), run.err
    assert built(command, "batch") == 0
    assert figures("batch") == figures(live)
    ours, theirs = replies("batch"), replies(live)
    assert ours.keys() == theirs.keys()
    for key, logged in ours.items():
        fields = (
            "text",
            "finish_reason",
            "refusal",
            "reasoning",
            "prompt_tokens",
            "completion_tokens",
            "model",
            "logprobs",
        )
        assert [getattr(logged.reply, name) for name in fields] == [getattr(theirs[key].reply, name) for name in fields]
        assert (logged.from_batch, theirs[key].from_batch, logged.attempts) == (True, False, 1)
    sheet = json.loads(Path("batch/datasheet.json").read_text(encoding="utf-8"))
    assert sheet["provenance"]["calls_by_batch"] == f"{CALLS} of {CALLS}"
    assert sheet["operation"]["calls"] == CALLS
    assert sheet["operation"]["latency_median_s"] is None
    assert command("log", "export", "batch", "verdicts.jsonl").code == 0
    _, *rows = map(json.loads, Path("verdicts.jsonl").read_text(encoding="utf-8").split("\n")[:-1])
    assert {(row["from_batch"], "latency_s" in row) for row in rows} == {(True, False)}
    assert "calls_by_batch" not in json.loads(Path(live, "datasheet.json").read_text(encoding="utf-8"))["provenance"]


def test_what_a_batch_left_open_is_asked_live_or_in_another_batch(command: Command, live: str) -> None:
    exported(command, "batch", "requests.jsonl")
    lines = answers("requests.jsonl")
    names = [line["custom_id"] for line in lines]
    output = write_lines("output.jsonl", lines[:60])
    errors = write_lines("errors.jsonl", [*map(expired_line, names[60:80]), vllm_failure(names[80], "out of memory")])
    run = command("log", "import", "batch", errors, output)
    assert run.code == 4
    assert "60 readings; 50 of the exported trials have none yet" in run.err
    assert "20 expired, for example: the provider says: expired" in run.err
    assert "1 refused, for example: out of memory" in run.err
    exported(command, "batch", "rest.jsonl")
    assert list(asked("rest.jsonl")) == names[60:]
    second = write_lines("second.jsonl", answers("rest.jsonl")[:20])
    run = command("log", "import", "batch", second)
    assert (run.code, "20 readings; 30 of the exported" in run.err) == (0, True), run.err
    with LoopbackServer(answer) as server:
        assert built(command, "batch", f"openai:fake-judge@{server.base_url}") == 0
        assert len(server.calls) == 30
    assert figures("batch") == figures(live)
    sheet = json.loads(Path("batch/datasheet.json").read_text(encoding="utf-8"))
    assert sheet["provenance"]["calls_by_batch"] == f"80 of {CALLS}"
    assert sheet["operation"]["failed_attempts"] == {"expired": 20, "refused": 1}


def test_an_import_that_was_cut_short_is_completed_by_the_same_command(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported(command, "batch", "requests.jsonl")
    file = write_lines("output.jsonl", answers("requests.jsonl"))
    record, left = TrialLog.record_batched, iter(range(30))

    def interrupted(*reading: Any, **when: Any) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        record(*reading, **when)

    with monkeypatch.context() as patch:
        patch.setattr(TrialLog, "record_batched", interrupted)
        assert command("log", "import", "batch", file).code == 130
    assert len(answered("batch")) == 30
    run = command("log", "import", "batch", file)
    assert (run.code, "80 readings, 30 were there before; 0 of" in run.err) == (0, True), run.err


def test_a_second_import_changes_nothing(command: Command) -> None:
    exported(command, "batch", "requests.jsonl")
    lines = answers("requests.jsonl")
    file = write_lines("output.jsonl", [*lines[:50], *map(expired_line, [lines[50]["custom_id"]])])
    assert command("log", "import", "batch", file).code == 4
    before = Path("batch/trials.sqlite").read_bytes()
    run = command("log", "import", "batch", file, file)
    assert (run.code, "0 readings, 50 were there before; 60 of" in run.err, "1 expired" in run.err) == (4, True, True)
    assert Path("batch/trials.sqlite").read_bytes() == before


@pytest.mark.parametrize(
    "other",
    [
        ("--judge", "openai:other@http://127.0.0.1:9/v1"),
        ("--prompt", "strict-tie"),
        ("--bank", "bank.toml"),
        ("--seed", 1),
    ],
    ids=lambda other: other[0],
)
def test_a_file_of_another_run_is_refused_and_nothing_is_written(command: Command, other: tuple[object, ...]) -> None:
    bank = (Path(__file__).parents[2] / "stimuli/english.toml").read_text(encoding="utf-8")
    Path("bank.toml").write_text(bank.replace("Odile", "Odette"), encoding="utf-8")
    exported(command, "batch", "requests.jsonl")
    exported(command, "other", "others.jsonl", *other)
    own, foreign = answers("requests.jsonl"), answers("others.jsonl")
    known = {line["custom_id"] for line in own}
    strange = [line for line in foreign if line["custom_id"] not in known]
    file = write_lines("mixed.jsonl", [*own[:5], *strange])
    before = Path("batch/trials.sqlite").read_bytes()
    run = command("log", "import", "batch", file)
    assert run.code == 2
    assert f"{len(strange)} lines answer requests that were not exported from this log, and nothing was" in run.err
    assert "mixed.jsonl line 6: jd-" in run.err
    assert Path("batch/trials.sqlite").read_bytes() == before


def test_broken_lines_are_named_and_the_others_are_read(command: Command) -> None:
    exported(command, "batch", "requests.jsonl")
    lines = [json.dumps(line) for line in answers("requests.jsonl")]
    names = list(asked("requests.jsonl"))
    odd = [
        "",
        "null",
        json.dumps({"custom_id": names[0]}),
        json.dumps({"response": None}),
        '{"custom_id": "a',
        lines[1][:50],
    ]
    run = command("log", "import", "batch", write_lines("output.jsonl", [lines[0], *odd, lines[2]]))
    assert (run.code, "2 readings; 108 of the exported" in run.err) == (4, True), run.err
    for sentence in (
        "output.jsonl line 3: expected a JSON object, found NoneType",
        "output.jsonl line 4: no answer in the format of OpenAI",
        "output.jsonl line 5: no custom_id",
        "output.jsonl line 6: not JSON",
        "output.jsonl line 7: not JSON",
    ):
        assert sentence in run.err


def test_of_many_broken_lines_the_first_are_shown_and_all_are_counted(command: Command) -> None:
    exported(command, "batch", "requests.jsonl")
    run = command("log", "import", "batch", write_lines("output.jsonl", [*answers("requests.jsonl")[:1], *["{"] * 30]))
    assert (run.code, run.err.count("not JSON")) == (4, 10)
    assert "30 lines that can't be read, left out:" in run.err
    assert "and 20 more" in run.err


def test_answers_that_contradict_each_other_are_named_and_none_is_taken(command: Command) -> None:
    exported(command, "batch", "requests.jsonl")
    first, second, *_ = answers("requests.jsonl")
    otherwise = openai_line(first["custom_id"], completion('{"verdict": "none of them"}'))
    one, two = write_lines("one.jsonl", [first, second]), write_lines("two.jsonl", [second, otherwise])
    run = command("log", "import", "batch", one, two)
    key = first["custom_id"].rpartition("-")[2]
    assert f"trial {key}: 2 different answers (one.jsonl line 1; two.jsonl line 2)" in run.err
    assert (run.code, answered("batch")) == (4, {second["custom_id"].rpartition("-")[2]})
    assert command("log", "import", "batch", one).code == 0
    run = command("log", "import", "batch", two)
    assert (run.code, "something else than the readings in the log, which stay: 1" in run.err) == (0, True)


def test_answers_of_another_model_are_refused(command: Command) -> None:
    exported(command, "batch", "requests.jsonl")
    lines = answers("requests.jsonl")
    moved = openai_line(lines[3]["custom_id"], completion('{"verdict": "A"}', model="fake-judge-2"))
    run = command("log", "import", "batch", write_lines("both.jsonl", [*lines[:3], moved]))
    assert (run.code, "2 models, and nothing was imported" in run.err, answered("batch")) == (2, True, set())
    assert command("log", "import", "batch", write_lines("one.jsonl", lines[:3])).code == 0
    run = command("log", "import", "batch", write_lines("moved.jsonl", [moved]))
    assert (run.code, "'fake-judge-2': moved.jsonl line 1" in run.err, len(answered("batch"))) == (2, True, 3)


def as_claude(call: Call) -> Step:
    """A plain verdict, as a message."""
    verdict = WORDS[longer_answer(call.body["messages"][-1]["content"])]
    return Step(json=message({"type": "text", "text": json.dumps({"verdict": verdict})}))


def test_message_batches_give_the_sheet_of_a_live_run(command: Command) -> None:
    exported(command, "batch", "requests.json", judge="anthropic:fake-judge")
    lines = [
        anthropic_line(custom_id, "succeeded", message=document)
        for custom_id, document in documents("requests.json", as_claude).items()
    ]
    names = [line["custom_id"] for line in lines]
    error = {"type": "error", "error": {"type": "api_error", "message": "Internal server error"}}
    failed = [
        anthropic_line(names[0], "canceled"),
        anthropic_line(names[1], "expired"),
        anthropic_line(names[2], "errored", error=error),
    ]
    run = command("log", "import", "batch", write_lines("results.jsonl", [*lines[3:], *failed]))
    assert run.code == 4
    assert "107 readings; 3 of the exported trials have none yet" in run.err
    for told in ("1 canceled", "1 expired", "1 server error, for example: Internal server error"):
        assert told in run.err
    assert command("log", "import", "batch", write_lines("again.jsonl", lines)).code == 0
    with LoopbackServer(as_claude) as server:
        for out in ("batch", "live"):
            assert built(command, out, f"anthropic:fake-judge@{server.base_url}") == 0
        assert len(server.calls) == CALLS
    assert figures("batch") == figures("live")


def test_a_batch_may_keep_no_raw_replies(command: Command) -> None:
    exported(command, "batch", "requests.jsonl")
    file = write_lines("output.jsonl", answers("requests.jsonl"))
    assert command("log", "import", "batch", file, "--no-raw").code == 0
    assert {logged.reply.text for logged in replies("batch").values()} == {""}
    assert command("log", "import", "batch", file).code == 0
    assert {logged.reply.text for logged in replies("batch").values()} == {""}


def test_what_is_asked_in_vain_is_said(command: Command) -> None:
    batch = ("--batch", "--design", "quick")
    for line, complaint in [
        (
            ("export", "new", "f", *batch, "--judge", "sim:careful"),
            "adapters openai and anthropic; sim:careful is of sim",
        ),
        (("export", "new", "f", *batch), "name one --judge"),
        (("export", "new", "f", "--judge", JUDGE), "add --batch"),
        (("export", "new", "f", *batch, "--judge", JUDGE, "--no-raw"), "--no-raw is for verdict logs"),
        (("import", "new", "f"), "no such file"),
    ]:
        run = command("log", *line)
        assert (run.code, complaint in run.err) == (2, True), (line, run.err)
    assert not Path("new").exists()
    exported(command, "batch", "requests.jsonl")
    run = command("log", "export", "batch", "requests.jsonl", *batch, "--judge", JUDGE)
    assert (run.code, "requests.jsonl exists already" in run.err) == (2, True)
    run = command("log", "export", "batch", "batch/trials.sqlite", *batch, "--judge", JUDGE, "--force")
    assert (run.code, "is the log itself" in run.err) == (2, True)
    assert command("log", "verify", "batch").code == 0
    run = command("log", "import", "batch", "requests.jsonl")
    assert (run.code, "found no answer in it" in run.err) == (2, True)
    run = command("log", "import", "batch", "nowhere.jsonl")
    assert (run.code, "nowhere.jsonl can't be read" in run.err) == (2, True)
    with LoopbackServer(answer) as server:
        assert built(command, "live", f"openai:fake-judge@{server.base_url}") == 0
    run = command("log", "import", "live", "requests.jsonl")
    assert (run.code, "nothing was exported from this log" in run.err) == (2, True)
    run = command("log", "export", "live", "none.jsonl", *batch, "--judge", JUDGE)
    assert (run.code, "0 requests for OpenAI, 110 of 110" in run.err, Path("none.jsonl").exists()) == (0, True, False)
