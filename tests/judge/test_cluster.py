"""A judge on two worker processes of a real Dask cluster on this machine."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Thread

import pytest
from command import Command
from distributed import LocalCluster
from judge.on_workers import HOURS, WRONG_KEY, on_cluster, telling
from loopback import LoopbackServer
from trials.fake_judge import INSTRUMENT, FakeJudge, plan
from workflows.builds import figures
from workflows.moody_server import answer

from datasheet.config import load_config
from datasheet.errors import JudgeError, PermanentJudgeError, StimulusError, TransientJudgeError
from datasheet.judge import cluster
from datasheet.judge.catalogue import find_judge, make_judge
from datasheet.records import Lexicon
from datasheet.trials.log import TrialLog
from datasheet.trials.pending import Planned
from datasheet.trials.runner import RunOutcome
from datasheet.workflows.asking import ask


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """Address of a cluster of two processes."""
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    ) as started:
        yield started.scheduler_address


def asked(judge: cluster.ClusterJudge, folder: Path, planned: list[Planned], concurrency: int = 8) -> RunOutcome:
    return asyncio.run(ask(planned, judge, folder / "trials.sqlite", INSTRUMENT, concurrency=concurrency))


def processes(folder: Path) -> dict[str, int]:
    """By the key of a call, the process that made it last."""
    return {path.name: int(text) for path in folder.iterdir() if (text := path.read_text(encoding="utf-8"))}


def test_every_trial_is_answered_once_and_the_workers_share_them(scheduler: str, tmp_path: Path) -> None:
    told = tmp_path / "told"
    told.mkdir()
    planned = plan(60)
    outcome = asked(on_cluster(telling(told, latency_s=0.02), scheduler), tmp_path, planned)
    assert (outcome.answered, outcome.calls, outcome.failed) == (60, 60, {})
    shares = Counter(processes(told).values())
    assert os.getpid() not in shares
    assert len(shares) == 2
    assert min(shares.values()) > 15
    with TrialLog.read(tmp_path / "trials.sqlite") as log:
        assert log.verify() == []
        assert log.answered() == {request.key for _, request in planned}


def test_a_lost_worker_costs_its_calls_and_no_reading(scheduler: str, tmp_path: Path) -> None:
    told = tmp_path / "told"
    told.mkdir()
    planned = plan(80)

    def kill_one() -> None:
        while len(made := processes(told)) < 20:
            time.sleep(0.01)
        os.kill(made.popitem()[1], signal.SIGKILL)

    killer = Thread(target=kill_one)
    killer.start()
    outcome = asked(on_cluster(telling(told, latency_s=0.05), scheduler), tmp_path, planned)
    killer.join()
    assert (outcome.answered, outcome.failed) == (80, {})
    assert 0 < outcome.retried <= 8
    with TrialLog.read(tmp_path / "trials.sqlite") as log:
        assert log.verify() == []
        assert log.answered() == {request.key for _, request in planned}


def test_what_stops_a_run_stops_it_from_a_worker_too(scheduler: str, tmp_path: Path) -> None:
    with pytest.raises(PermanentJudgeError, match="401: set THE_KEY") as stopped:
        asked(on_cluster(telling(tmp_path, failure=WRONG_KEY), scheduler), tmp_path, plan(40), concurrency=4)
    assert (stopped.value.kind, stopped.value.status) == ("auth", 401)
    paused = asked(on_cluster(telling(tmp_path, failure=HOURS), scheduler), tmp_path, plan(40), concurrency=4)
    assert paused.paused is not None
    assert paused.calls <= 4


def test_a_worker_that_can_not_open_the_judge_is_named(scheduler: str, tmp_path: Path) -> None:
    with pytest.raises(PermanentJudgeError, match=r"worker tcp://127\.0\.0\.1:\d+: 401: set THE_KEY"):
        asked(on_cluster(telling(tmp_path, opens=False), scheduler), tmp_path, plan(4))


def test_a_worker_without_the_packages_is_named(scheduler: str, tmp_path: Path) -> None:
    class OnlyHere(FakeJudge):
        def __reduce__(self) -> tuple[object, ...]:
            return (__import__, ("no_such_package",))

    with pytest.raises(PermanentJudgeError, match=r"can't build the judge .* same packages"):
        asked(on_cluster(partial(type, OnlyHere()), scheduler), tmp_path, plan(4))  # type: ignore[arg-type]


def test_the_sheet_is_that_of_the_local_engine(scheduler: str, command: Command) -> None:
    with LoopbackServer(answer) as server:
        line = ["build", "--judge", f"openai:fake-judge@{server.base_url}", "--design", "quick", "--no-render"]
        assert command(*line, "--out", "here").code == 0
        assert command(*line, "--out", "there", "--engine", "dask", "--scheduler", scheduler).code == 0
        assert len(server.calls) == 220
    assert figures("there") == figures("here")


def test_without_a_scheduler_workers_are_started_here(command: Command) -> None:
    run = command("build", "--design", "quick", "--no-render", "--out", "X", "--engine", "dask")
    assert run.code == 0, run.err
    assert "Traceback" not in run.err
    assert command("build", "--design", "quick", "--no-render", "--out", "Y").code == 0
    assert figures("X") == figures("Y")


def test_a_scheduler_that_does_not_answer_is_said(monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    monkeypatch.setattr(cluster, "CONNECT_S", 0.3)
    run = command("build", "--design", "quick", "--out", "X", "--engine", "dask", "--scheduler", "tcp://127.0.0.1:9")
    assert run.code == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in run.err
    assert not Path("X").exists()


def test_a_cluster_without_workers_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cluster, "WORKER_WAIT_S", 0.3)
    with (
        LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0") as empty,
        pytest.raises(PermanentJudgeError, match="has had no worker"),
    ):
        asked(on_cluster(telling(tmp_path), empty.scheduler_address), tmp_path, plan(4))


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    run = command("build", "--design", "quick", "--out", "X", "--engine", "dask")
    assert run.code == 2
    assert "pip install 'judge-datasheet[dask]'" in run.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["--scheduler", "tcp://127.0.0.1:8786"], "add --engine dask"),
        (["--judge", "replay:x.sqlite", "--engine", "dask"], "leave out --engine"),
    ],
)
def test_an_engine_that_makes_no_sense_is_refused(command: Command, line: list[str], said: str) -> None:
    run = command("build", "--design", "quick", "--out", "X", *line)
    assert run.code == 2
    assert said in run.err


def test_no_key_goes_to_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes over the wire names the variable; each worker reads its own."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    spec = find_judge("openai:fake-judge@https://api.openai.com/v1", load_config(None))
    sent = pickle.dumps(partial(make_judge, spec, lexicon=Lexicon(requirements={}), connections=4))
    assert b"OPENAI_API_KEY" in sent
    assert b"sk-secret" not in sent


@pytest.mark.parametrize("error", [WRONG_KEY, HOURS, StimulusError("two faults", ("one", "two"))])
def test_errors_cross_processes_whole(error: Exception) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), str(back), vars(back)) == (type(error), str(error), vars(error))
    assert isinstance(back, JudgeError | StimulusError)
    assert not isinstance(back, TransientJudgeError) or back.retry_after_s == 10_800.0
