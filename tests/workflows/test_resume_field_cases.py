"""Kinds of interruption that have cost other tools their readings, or mixed readings of two instruments."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from command import Command
from loopback import Call, LoopbackServer, Step, completion, failure, verdict
from workflows.builds import CALLS, answered, figures, killed_after, options, slowly
from workflows.moody_server import PROXY_PAGE, answer

from datasheet.resources import templates_folder
from datasheet.trials.log import TrialLog
from datasheet.trials.retry_policy import RetryPolicy

LOG = Path("X/trials.sqlite")


def paused_after(calls: int) -> Callable[[Call], Step]:
    """A server that answers so many calls, and then wants hours of rest."""
    return lambda call: answer(call) if call.number < calls else failure(429, "rest", headers={"Retry-After": "86400"})


# S02: a torn tail


def test_s02_a_torn_tail_costs_only_its_own_readings(command: Command) -> None:
    with LoopbackServer(slowly) as server:
        killed_after(server, "X", 60)
        waiting = LOG.with_name("trials.sqlite-wal")  # where the last readings are before they go into the log
        waiting.write_bytes(waiting.read_bytes()[:-1000])
        before = len(server.calls)
        kept = answered("X")
        assert 0 < len(kept) < 60
        run = command(*options(server, "X"))
        assert run.code == 0, run.err
        assert len(server.calls) - before == CALLS - len(kept)
    assert len(answered("X")) == CALLS


def test_s02_damage_in_the_middle_stops_with_an_error(command: Command) -> None:
    with LoopbackServer(paused_after(100)) as server:
        assert command(*options(server, "X", "--concurrency", 1)).code == 4
        damaged = bytearray(LOG.read_bytes())
        middle = len(damaged) // 2 // 4096 * 4096
        damaged[middle : middle + 4096] = b"\x5a" * 4096
        LOG.write_bytes(damaged)
        run = command(*options(server, "X"))
    assert run.code == 2
    assert f"{LOG}: the trial log is damaged; restore a copy, or use another --out" in run.err
    assert command("log", "verify", "X").code == 2


def test_s02_a_torn_line_of_a_verdict_log_is_named(command: Command) -> None:
    with LoopbackServer(answer) as server:
        command(*options(server, "X"))
    command("log", "export", "X", "v.jsonl")
    whole = Path("v.jsonl").read_text(encoding="utf-8")
    for torn, line in ((whole[:-40], CALLS + 1), (whole.replace('"order":', '"order', 7), 2)):
        Path("v.jsonl").write_text(torn, encoding="utf-8")
        run = command("analyze", "v.jsonl")
        assert run.code == 2
        assert f"v.jsonl line {line}" in run.err


# S03: line separators within a reply


def test_s03_separators_in_a_reply_cut_no_reading(command: Command) -> None:
    text = 'first\u2028second\u0085third\x0b\x0c\x1c\r\n {"verdict": "A"}'
    with LoopbackServer([verdict(text)]) as server:
        assert command(*options(server, "X")).code == 0
        assert command(*options(server, "X")).code == 0
        assert len(server.calls) == CALLS
    with TrialLog.read(LOG) as log:
        assert [reading.reply.text for reading in log.readings()] == [text] * CALLS
    assert command("log", "export", "X", "v.jsonl").code == 0
    lines = Path("v.jsonl").read_bytes().rstrip(b"\n").split(b"\n")
    assert [json.loads(line)["raw"] for line in lines[1:]] == [text] * CALLS
    again = json.loads(command("analyze", "v.jsonl", "--json").out)
    assert again["readings"] == figures("X")["readings"]
    assert command("build", "--judge", "replay:v.jsonl", *options(server, "Y")[3:]).code == 0


# S05, S08: another instrument in the same folder


def config(server: LoopbackServer, **settings: object) -> list[object]:
    """A build of a judge with these settings."""
    table = {"adapter": "openai", "model": "fake-judge", "url": server.base_url, **settings}
    lines = [f"{name} = {json.dumps(value)}" for name, value in table.items()]
    Path("judges.toml").write_text("\n".join(["[judge.mine]", *lines, ""]), encoding="utf-8")
    return ["build", "--judge", "mine", "--config", "judges.toml", *options(server, "X")[3:]]


@pytest.mark.parametrize("other", [{"temperature": 0.7}, {"temperature": "unset"}, {"seed": 1}, {"model": "another"}])
def test_s05_another_sampling_is_refused_and_asks_nothing(command: Command, other: dict[str, object]) -> None:
    with LoopbackServer(answer, models=("fake-judge", "another")) as server:
        assert command(*config(server, temperature=0.0)).code == 0
        before, calls = LOG.read_bytes(), len(server.calls)
        run = command(*config(server, **{"temperature": 0.0, **other}))
        assert run.code == 2
        assert "holds readings of another instrument" in run.err
        (field,) = other
        assert f"  {'model' if field == 'model' else 'decoding'}: '" in run.err
        assert "Use another --out, or --fresh" in run.err
        assert len(server.calls) == calls
        assert LOG.read_bytes() == before
        assert command(*config(server, **{"temperature": 0.0, **other}), "--out", "Y").code == 0
        assert len(server.calls) == calls + CALLS


def test_s05_s08_one_word_of_the_prompt_makes_another_instrument(command: Command) -> None:
    shutil.copytree(templates_folder() / "prompts" / "default", "mine")
    with LoopbackServer(paused_after(50)) as server:
        line = options(server, "X", "--concurrency", 1, "--prompt", "mine")
        assert command(*line).code == 4
        before, calls = LOG.read_bytes(), len(server.calls)
        system = Path("mine/system.txt")
        system.write_text(system.read_text(encoding="utf-8").replace(" ", " really ", 1), encoding="utf-8")
        run = command(*line)
        assert run.code == 2
        assert "  prompt_hash: '" in run.err
        assert "  judge_id: '" in run.err
        assert len(server.calls) == calls
    assert LOG.read_bytes() == before
    assert not Path("X/datasheet.json").exists()


def test_s08_another_prompt_in_the_folder_of_a_killed_run_is_refused(command: Command) -> None:
    with LoopbackServer(slowly) as server:
        killed_after(server, "X", 50)
        kept = answered("X")
        run = command(*options(server, "X", "--prompt", "strict-tie"))
        assert run.code == 2
        assert "  prompt: 'default' in the log, 'strict-tie' now" in run.err
        assert answered("X") == kept
        assert command(*options(server, "X", "--prompt", "strict-tie", "--fresh")).code == 0
    with TrialLog.read("X/trials.old1.sqlite") as log:  # and what was there is kept
        assert log.answered() == kept


# S06: a kill


def test_s06_after_a_kill_the_same_command_asks_what_is_missing(command: Command) -> None:
    with LoopbackServer(slowly) as server:
        killed_after(server, "X", 7)
        kept = answered("X") if LOG.exists() else set()
        assert len(kept) <= 9
        assert command(*options(server, "X")).code == 0
        assert CALLS <= len(server.calls) <= CALLS + 2 + 7
        assert answered("X") > kept
        asked = Counter(json.dumps(call.body["messages"]) for call in server.calls)
        assert len(asked) == CALLS
        assert command(*options(server, "Y")).code == 0
    assert figures("X") == figures("Y")


# A failure is no reading


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries without waiting."""
    monkeypatch.setattr(RetryPolicy, "wait_s", lambda policy, attempt, rng: 0.0)


FAILURES = {
    "server_error": failure(500, "down"),
    "connection": Step(close=True),
    "empty": Step(json=completion("")),
    "bad_body": Step(text=PROXY_PAGE),
}


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("kind", FAILURES)
def test_a_failure_is_no_reading_and_is_asked_again(command: Command, kind: str) -> None:
    broken = True

    def script(call: Call) -> Step:
        return FAILURES[kind] if broken and "laptops" in json.dumps(call.body) else answer(call)

    with LoopbackServer(script) as server:
        first = command(*options(server, "X"))
        assert first.code == 4
        with TrialLog.read(LOG) as log:
            missing = CALLS - len(log.answered())
            named = log.failures()
        assert 0 < missing < CALLS
        assert f"{missing} trials have no reply ({missing} {kind.replace('_', ' ')})" in first.err
        assert set(named) == {kind}
        assert named[kind] >= 3 * missing
        assert figures("X")["validity"]["readings"] == CALLS - missing
        broken, calls = False, len(server.calls)
        assert command(*options(server, "X")).code == 0
        assert len(server.calls) - calls == missing
        assert command(*options(server, "Y")).code == 0
    assert len(answered("X")) == CALLS
    assert figures("X")["readings"] == figures("Y")["readings"]
