"""The standard design on a server that fails in every way, while its runner is killed: nothing is lost or made up."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from workflows.moody_server import FAILURES, MoodyServer

from datasheet.sheet.schema import load_sheet
from datasheet.trials.log import TrialLog

KILLS = 20
CALLS = 1460
CONCURRENCY = 32
LONGEST_BEFORE_A_KILL = 60  # calls; so that most of the design is still to be asked when the last kill comes
MOST_STARTS = 120

RUNNERS = """
import json, os, sys
from datasheet.cli import main
from datasheet.workflows import build  # loaded once: a start of a runner costs no second

for line in sys.stdin:
    runner = os.fork()
    if not runner:
        main(json.loads(line))
    print(runner, flush=True)
    _, status = os.waitpid(runner, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""


class Runners:
    """Processes that run the command line, one after the other."""

    def __init__(self) -> None:
        self.parent = subprocess.Popen(
            [sys.executable, "-c", RUNNERS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
        )
        self.runner = 0

    def start(self, *arguments: object) -> None:
        assert self.parent.stdin is not None
        self.parent.stdin.write(json.dumps([str(argument) for argument in arguments]).encode() + b"\n")
        self.runner = self._number()

    def ended(self) -> bool:
        assert self.parent.stdout is not None
        return bool(select.select([self.parent.stdout], [], [], 0)[0])

    def kill(self) -> int:
        """Kill the runner, if it has not ended by itself; its exit code."""
        if not self.ended():
            os.kill(self.runner, signal.SIGKILL)
        return self.wait()

    def wait(self) -> int:
        return self._number()

    def _number(self) -> int:
        assert self.parent.stdout is not None
        return int(self.parent.stdout.readline())


@pytest.fixture
def runners() -> Iterator[Runners]:
    runners = Runners()
    yield runners
    assert runners.parent.stdin is not None
    assert runners.parent.stdout is not None
    runners.parent.stdin.close()
    runners.parent.wait()
    runners.parent.stdout.close()


def command_line(server: MoodyServer, out: Path) -> list[object]:
    config = out.parent / "datasheet.toml"
    judge = {"adapter": "openai", "model": "fake-judge", "url": server.base_url, "json_mode": "json_schema"}
    lines = [f'{name} = "{value}"' for name, value in judge.items()]
    config.write_text("\n".join(["[judge.moody]", *lines, "timeout_s = 1.0", ""]), encoding="utf-8")
    options = ["--design", "standard", "--concurrency", CONCURRENCY, "--no-render"]
    return ["build", "--judge", "moody", "--config", config, *options, "--out", out]


def readings_in(log: Path) -> dict[str, str]:
    """What each trial was answered, of a log that is intact."""
    if not log.exists() or not log.stat().st_size:
        return {}
    with TrialLog.read(log) as opened:
        assert opened.verify() == []
        return {reading.key: repr((reading.reply.text, reading.reply.refusal)) for reading in opened.readings()}


def figures(out: Path) -> dict[str, Any]:
    """A sheet without what tells how the run went."""
    sheet = load_sheet((out / "datasheet.json").read_bytes(), "datasheet.json")
    for timed in ("operation", "provenance"):
        sheet.pop(timed)
    sheet["notes"] = [note for note in sheet["notes"] if "timed out" not in note]
    return sheet


def test_a_run_that_fails_and_is_killed_gives_the_sheet_of_a_calm_one(runners: Runners, tmp_path: Path) -> None:
    rng = random.Random(7)
    out, log = tmp_path / "chaos", tmp_path / "chaos" / "trials.sqlite"
    with MoodyServer(rng, share=0.13) as server:
        line = command_line(server, out)
        codes: list[int] = []
        kept: dict[str, str] = {}
        while codes.count(-signal.SIGKILL) < KILLS:
            assert len(codes) < MOST_STARTS
            runners.start(*line)
            wanted = len(server.calls) + rng.randint(1, LONGEST_BEFORE_A_KILL)
            while len(server.calls) < wanted and not runners.ended():
                time.sleep(0.002)
            codes.append(runners.kill())
            now = readings_in(log)
            assert now.items() >= kept.items(), "a reading was lost, or asked again"
            kept = now
        assert 0 < len(kept) < CALLS
        while codes[-1] != 0:
            assert len(codes) < MOST_STARTS
            runners.start(*line)
            codes.append(runners.wait())
        readings = readings_in(log)
        assert readings.items() >= kept.items()
        assert len(readings) == CALLS
        assert set(codes) <= {0, 2, 4, -signal.SIGKILL}
        assert sum(server.answered.values()) <= CALLS + len(codes) * CONCURRENCY
        assert len(server.failed) == len(FAILURES)

        server.share = 0.0
        runners.start(*command_line(server, tmp_path / "calm"))
        assert runners.wait() == 0
    assert readings_in(tmp_path / "calm" / "trials.sqlite") == readings
    assert figures(out) == figures(tmp_path / "calm")
    with TrialLog.read(log) as opened:
        named = opened.failures()
    assert {"rate_limit", "quota", "auth", "timeout", "connection", "bad_body", "empty"} <= set(named)
    assert "" not in named
