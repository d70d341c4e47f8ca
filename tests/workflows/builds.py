"""Builds against a loopback server: their command line, one that is killed midway, and what a sheet says."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from loopback import Call, LoopbackServer, Step
from workflows.moody_server import answer

from datasheet.trials.log import TrialLog

CALLS = 110
"""Of the design that :func:`options` names."""


def options(server: LoopbackServer, out: str | Path, *more: object) -> list[object]:
    """The command line of a quick build."""
    judge = f"openai:fake-judge@{server.base_url}"
    return ["build", "--judge", judge, "--design", "quick", "--no-render", "--out", out, *more]


def slowly(call: Call) -> Step:
    """An answer that leaves time to kill who waits for it."""
    return Step(json=answer(call).json, delay_s=0.05)


def wait_for_calls(server: LoopbackServer, calls: int, build: subprocess.Popen[Any]) -> None:
    """Wait until a server has had so many calls, or the build has ended."""
    while len(server.calls) < calls and build.poll() is None:
        time.sleep(0.002)


def killed_after(server: LoopbackServer, out: str | Path, calls: int) -> None:
    """A build that dies after so many calls, with two in flight at most; the server should answer slowly."""
    line = [sys.executable, "-m", "datasheet", *map(str, options(server, out, "--concurrency", 2))]
    build = subprocess.Popen(line, stderr=subprocess.DEVNULL)
    wait_for_calls(server, calls, build)
    build.send_signal(signal.SIGKILL)
    assert build.wait() == -signal.SIGKILL


def answered(out: str | Path) -> set[str]:
    """Keys of the trials that an intact log has a reading of."""
    with TrialLog.read(Path(out) / "trials.sqlite") as log:
        assert log.verify() == []
        return log.answered()


def figures(out: str | Path) -> dict[str, Any]:
    """What a sheet says of the judge, whatever it is called and however the run went."""
    sheet = json.loads((Path(out) / "datasheet.json").read_text(encoding="utf-8"))
    return {name: sheet[name] for name in ("readings", "characteristics", "profile", "design", "validity")}
