"""kill -9 at random moments of a build against a slow server: nothing lost, nothing asked twice, the same result."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from datasheet.sheet.schema import load_sheet
from datasheet.trials.log import TrialLog

KILLS = 20
CONCURRENCY = 3
CALLS = 110
LOOPBACK = Path(__file__).parents[1] / "loopback.py"


@pytest.fixture
def server() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, str(LOOPBACK), "--port", "0", "--delay", "0.1", "--policy", "longer"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def calls_so_far(server: str) -> int:
    with urllib.request.urlopen(f"{server}/calls") as reply:
        return int(json.load(reply)["calls"])


def start(server: str, out: Path) -> subprocess.Popen[bytes]:
    judge = f"openai:fake-judge@{server}/v1"
    options = ["--judge", judge, "--design", "quick", "--concurrency", str(CONCURRENCY), "--no-render"]
    return subprocess.Popen(
        [sys.executable, "-m", "datasheet", "build", *options, "--out", str(out)],
        stderr=subprocess.DEVNULL,
        env={**os.environ, "NO_PROXY": "127.0.0.1"},
    )


def readings_in(log: Path) -> dict[str, str]:
    if not log.exists():
        return {}
    with TrialLog.read(log) as opened:
        assert opened.verify() == []
        return {reading.key: f"{reading.at} {reading.reply.text}" for reading in opened.readings()}


def result(out: Path) -> dict[str, object]:
    sheet = load_sheet((out / "datasheet.json").read_bytes(), "datasheet.json")
    for timed in ("operation", "provenance"):
        sheet.pop(timed)
    return sheet


def test_kill_9_at_twenty_random_moments(server: str, tmp_path: Path) -> None:
    rng = random.Random(20)
    out, log = tmp_path / "killed", tmp_path / "killed" / "trials.sqlite"
    kept: dict[str, str] = {}
    killed_while_calling = 0
    for kill in range(KILLS):
        build = start(server, out)
        if kill % 5 == 4:
            time.sleep(rng.uniform(0.0, 1.0))  # anywhere, from start-up on
        else:
            wanted = calls_so_far(server) + rng.randint(1, 7)
            while calls_so_far(server) < wanted and build.poll() is None:
                time.sleep(0.005)
            time.sleep(rng.uniform(0.0, 0.12))
            killed_while_calling += build.poll() is None
        build.send_signal(signal.SIGKILL)
        build.wait()
        now = readings_in(log)
        assert now.items() >= kept.items(), "a finished trial was lost or asked again"
        kept = now
    assert killed_while_calling >= 12
    assert 0 < len(kept) < CALLS

    assert start(server, out).wait() == 0
    final = readings_in(log)
    assert final.items() >= kept.items()
    assert len(final) == CALLS
    assert CALLS <= calls_so_far(server) <= CALLS + KILLS * CONCURRENCY

    before = calls_so_far(server)
    calm = tmp_path / "calm"
    assert start(server, calm).wait() == 0
    assert calls_so_far(server) == before + CALLS
    assert result(out) == result(calm)
