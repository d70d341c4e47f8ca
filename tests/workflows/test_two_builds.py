"""Two builds on one log: the second is told so, asks nothing, and leaves the first alone."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from command import Command
from loopback import Call, LoopbackServer, Step
from workflows.builds import options, wait_for_calls
from workflows.moody_server import answer

from datasheet.trials.log import TrialLog


def test_a_second_build_is_refused_while_the_first_runs(command: Command) -> None:
    go_on = threading.Event()

    def script(call: Call) -> Step:
        # The first build waits, with its calls in flight, until the second has come and gone.
        return answer(call) if go_on.is_set() else Step(status=503, text="not yet", headers={"Retry-After": "1"})

    with LoopbackServer(script) as server:
        line = options(server, "X")
        first = subprocess.Popen(
            [sys.executable, "-m", "datasheet", *map(str, line)], stderr=subprocess.PIPE, text=True
        )
        wait_for_calls(server, 1, first)
        asked = len(server.calls)
        second = command(*line)
        assert second.code == 2
        assert "in use by another run; wait until that run ends, or use another --out" in second.err
        fresh = command(*line, "--fresh")
        assert fresh.code == 2
        assert "in use by another run" in fresh.err
        assert asked > 0
        go_on.set()
        _, said = first.communicate(timeout=60)
        assert first.returncode == 0, said
    assert sorted(path.name for path in Path("X").iterdir()) == [
        "datasheet.json",
        "trials.sqlite",
        "trials.sqlite.lock",
    ]
    with TrialLog.read("X/trials.sqlite") as log:
        assert log.verify() == []
        assert len(log.answered()) == 110
