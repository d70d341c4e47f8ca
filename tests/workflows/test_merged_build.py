"""`datasheet log merge`: what two machines read, and a build that goes on from both."""

from __future__ import annotations

from pathlib import Path

from command import Command
from loopback import Call, LoopbackServer, Step
from workflows.builds import figures
from workflows.moody_server import answer


def build(command: Command, out: str, *, calls: int = 110, **plan: object) -> tuple[int, int]:
    """Build at a server that has so many calls to give; the exit code, and the calls that it answered."""

    def script(call: Call) -> Step:
        if call.number < calls:
            return answer(call)
        return Step(status=429, headers={"Retry-After": "9999"}, text="come back later")

    with LoopbackServer(script) as server:
        options = {"judge": f"openai:fake-judge@{server.base_url}", "design": "quick", "concurrency": 1, **plan}
        line = [part for name, value in options.items() for part in (f"--{name}", value)]
        run = command("build", *line, "--out", out, "--no-render")
        return run.code, min(len(server.calls), calls)


def test_a_build_goes_on_from_what_two_machines_read(command: Command) -> None:
    assert build(command, "one", calls=30) == (4, 30)
    assert build(command, "two", calls=50) == (4, 50)
    run = command("log", "merge", "one", "two/trials.sqlite", "--out", "new/merged")
    assert run.code == 0, run.err
    assert "50 readings of 2 logs, 30 of them in more than one" in run.err
    assert command("log", "verify", "new/merged").code == 0
    assert build(command, "new/merged") == (0, 60)
    assert build(command, "calm") == (0, 110)
    assert figures("new/merged") == figures("calm")


def test_what_can_not_be_merged_is_said(command: Command) -> None:
    build(command, "one", calls=3)
    build(command, "other", calls=3, prompt="strict-tie")
    Path("verdicts.jsonl").write_text('{"pair": "p"}\n', encoding="utf-8")
    for sources, complaint in [
        (["one", "other"], "prompt: 'default' in one/trials.sqlite, 'strict-tie' in other/trials.sqlite"),
        (["one"], "two logs or more"),
        (["one", "nowhere"], "no such file"),
        (["one", "verdicts.jsonl"], "`datasheet analyze` reads verdict logs"),
    ]:
        run = command("log", "merge", *sources, "--out", "all")
        assert run.code == 2
        assert complaint in run.err
        assert not Path("all/trials.sqlite").exists()
    Path("file").write_text("", encoding="utf-8")
    run = command("log", "merge", "one", "one", "--out", "file/all")
    assert (run.code, "can't be made" in run.err) == (2, True)
