"""Programs as judges."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from asking import ask_together, request

from datasheet.errors import PermanentJudgeError, TransientJudgeError
from datasheet.judge import command
from datasheet.judge.command import CommandJudge
from datasheet.records import Reply, Request


def ask(code: str, *requests: Request, **settings: object) -> list[Reply | BaseException]:
    judge = CommandJudge(command=[sys.executable, "-c", code], **settings)  # type: ignore[arg-type]
    return asyncio.run(ask_together(judge, *(requests or (request(),))))


def only(code: str, **settings: object) -> Reply | BaseException:
    return ask(code, **settings)[0]


def text_of(answer: Reply | BaseException) -> str:
    assert isinstance(answer, Reply), answer
    return answer.text


def test_a_program_reads_one_line_of_json_and_writes_its_answer() -> None:
    code = "import json,sys; a=json.loads(sys.stdin.readline()); print(json.dumps({'text': a['first'], 'model': 'm'}))"
    answer = only(code)
    assert (text_of(answer), answer.model) == ("x", "m")  # type: ignore[union-attr]


def test_a_program_that_reads_to_the_end_of_its_input_comes_to_one() -> None:
    assert text_of(only("import sys; print(len(sys.stdin.read().splitlines()))")) == "1"


@pytest.mark.parametrize("written", ['{"verdict": "A"}', "[[A]]", '["A"]', "Verdict: A"])
def test_what_is_no_answer_in_json_is_the_reply_s_text(written: str) -> None:
    assert text_of(only(f"print({written!r})")) == written


def test_any_text_reaches_a_program(tmp_path: Path) -> None:
    odd = "\x00 \ud800 \u2028 $(touch pwned) `x` ; 'y' \n \U0001f600"
    code = f"import sys; open({str(tmp_path / 'got')!r}, 'w').write(sys.stdin.read()); print('A')"
    ask(code, request(odd))
    assert json.loads((tmp_path / "got").read_text())["messages"][1]["content"] == odd
    assert not Path("pwned").exists()


def test_a_program_need_not_read_its_input() -> None:
    assert text_of(ask("print('A')", request("word " * 100_000))[0]) == "A"


def test_no_shell_reads_the_command() -> None:
    judge = CommandJudge(command=["echo", "$HOME", "; echo B"])
    assert text_of(asyncio.run(ask_together(judge, request()))[0]) == "$HOME ; echo B"


def test_a_program_that_fails_is_asked_again_and_says_why() -> None:
    failed = only("import sys; sys.exit('no\\x1b licence')")
    assert isinstance(failed, TransientJudgeError)
    assert failed.kind == "exit"
    assert "ended with code 1: no\\x1b licence" in str(failed)


def test_a_program_that_never_ends_is_killed_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "child"
    code = (
        "import subprocess,sys,time; "
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); "
        f"open({str(started)!r}, 'w').write(str(child.pid)); time.sleep(60)"
    )
    monkeypatch.setattr(command, "_MOST_S_TO_END", 0.1)  # else a child that goes on would be waited for here
    failed = only(code, timeout_s=1.0)
    assert isinstance(failed, TransientJudgeError)
    assert (failed.kind, "did not end within 1 s" in str(failed)) == ("timeout", True)
    assert not _runs(int(started.read_text()))


def _runs(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().split()[2]
    except FileNotFoundError:
        return False


def test_a_program_that_leaves_its_group_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_MOST_S_TO_END", 0.1)
    code = (
        "import subprocess,sys,time; "
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(8)'], start_new_session=True); time.sleep(60)"
    )
    failed = only(code, timeout_s=1.0)
    assert isinstance(failed, TransientJudgeError)
    assert failed.kind == "timeout"


def test_a_cancelled_call_ends_its_program(tmp_path: Path) -> None:
    started = tmp_path / "started"
    code = f"import os,time; open({str(started)!r}, 'w').write(str(os.getpid())); time.sleep(60)"

    async def cancelled() -> None:
        judge = CommandJudge(command=[sys.executable, "-c", code])
        await judge.open()
        call = asyncio.create_task(judge.ask(request()))
        while not (started.exists() and started.read_text()):
            await asyncio.sleep(0.01)
        call.cancel()
        await asyncio.wait([call])

    asyncio.run(cancelled())
    assert not _runs(int(started.read_text()))


def test_output_without_end_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_MOST_BYTES", 100_000)
    failed = only("import sys\nfor _ in range(10_000): sys.stdout.write('x' * 10_000)")
    assert isinstance(failed, TransientJudgeError)
    assert failed.kind == "bad_body"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_keys_of_the_environment_are_in_no_reply_and_no_error(stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf-0123456789")
    code = f"import os,sys; sys.{stream}.write(os.environ['HF_TOKEN']); sys.exit({int(stream == 'stderr')})"
    answer = only(code)
    assert "[key]" in (answer.text if isinstance(answer, Reply) else str(answer))
    assert "hf-0123456789" not in repr(answer)


def test_no_more_programs_than_asked_for_run_at_the_same_time(tmp_path: Path) -> None:
    code = (
        f"import os; folder = {str(tmp_path)!r}; mine = os.path.join(folder, str(os.getpid())); open(mine, 'w'); "
        "print(len(os.listdir(folder))); os.remove(mine)"
    )
    counts = [int(text_of(answer)) for answer in ask(code, *[request()] * 6, connections=2)]
    assert max(counts) <= 2


def test_a_program_that_is_not_there_is_told_before_any_call(tmp_path: Path) -> None:
    plain = tmp_path / "plain.txt"
    plain.write_text("x")
    for program in ("no-such-program-anywhere", str(plain)):
        with pytest.raises(PermanentJudgeError, match="no program"):
            asyncio.run(CommandJudge(command=[program]).open())


def test_the_command_is_the_identity_unless_it_has_a_name() -> None:
    judge = CommandJudge(command=["judge", "--deep well"], options={"k": 1})
    assert (judge.adapter, judge.model, judge.decoding) == ("command", "judge '--deep well'", {"options": {"k": 1}})
    assert CommandJudge(command=["judge"], model="mine").model == "mine"
    assert judge.provenance == {"program": "judge '--deep well'"}
    assert os.sep not in judge.model
