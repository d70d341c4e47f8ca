"""A build whose disk is full or whose folder can't be written: an error in words, an intact log, no reading lost."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from loopback import LoopbackServer
from workflows.builds import CALLS, answered, figures, killed_after, options, slowly
from workflows.moody_server import answer

FULL_BYTES = 60_000
"""A log of this design is larger."""

_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, _CAP_FOWNER = 24, 1, 3


def full_disk() -> None:
    """No file of this process may grow beyond a size that the whole log is over."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (FULL_BYTES, resource.RLIM_INFINITY))


def heeding_permissions() -> None:
    """What the next program may do is what the file's permissions say, also where root runs it."""
    if os.geteuid() == 0:
        for capability in (_CAP_DAC_OVERRIDE, _CAP_FOWNER):
            ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def datasheet(*arguments: object, under: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "datasheet", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=under, timeout=120)


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(answer) as server:
        yield server


def build(server: LoopbackServer, out: Path, under: Callable[[], None] | None = None) -> tuple[int, str]:
    run = datasheet(*options(server, out), under=under)
    assert "Traceback" not in run.stderr
    return run.returncode, run.stderr


def test_a_full_disk_ends_the_build_and_the_same_command_goes_on(server: LoopbackServer, tmp_path: Path) -> None:
    out = tmp_path / "full"
    code, said = build(server, out, under=full_disk)
    assert code == 2
    assert "may be full" in said or "is full" in said
    assert "Free some space, and the same command goes on" in said
    kept, asked = answered(out), len(server.calls)
    assert 0 < len(kept) < CALLS
    assert build(server, out)[0] == 0
    assert len(server.calls) - asked == CALLS - len(kept)
    assert build(server, tmp_path / "calm")[0] == 0
    assert figures(out) == figures(tmp_path / "calm")


def test_a_disk_too_full_for_the_sheet_leaves_the_log_as_it_was(server: LoopbackServer, tmp_path: Path) -> None:
    out = tmp_path / "full"
    assert build(server, out)[0] == 0
    (out / "datasheet.json").unlink()
    before = (out / "trials.sqlite").read_bytes()
    code, said = build(server, out, under=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
    assert code == 2
    assert f"{out} can't be written: File too large" in said
    assert [path.name for path in out.iterdir() if path.suffix != ".lock"] == ["trials.sqlite"]
    assert (out / "trials.sqlite").read_bytes() == before


@pytest.fixture
def half(tmp_path: Path) -> Path:
    """A folder with the log of a build that was killed."""
    out = tmp_path / "half"
    with LoopbackServer(slowly) as server:
        killed_after(server, out, 40)
    assert 0 < len(answered(out)) < CALLS
    return out


@pytest.mark.parametrize("which", ["folder", "folder and files"])
def test_a_folder_that_can_not_be_written_is_said_and_its_log_stays(
    server: LoopbackServer, half: Path, which: str
) -> None:
    kept, asked = answered(half), len(server.calls)
    files = [*half.iterdir()] if which == "folder and files" else []
    for path in (*files, half):
        path.chmod(0o555)
    try:
        code, said = build(server, half, under=heeding_permissions)
        assert code == 2
        if files:
            assert "can't be written; give yourself the right to write it and its folder" in said
            assert len(server.calls) == asked
        else:
            assert "datasheet.json.part can't be written: Permission denied" in said
        assert answered(half) >= kept
        inside = build(server, half / "deeper", under=heeding_permissions)
        assert inside[0] == 2
        assert f"the folder {half / 'deeper'} can't be made: Permission denied" in inside[1]
    finally:
        for path in (half, *files):
            path.chmod(0o755)
    assert build(server, half)[0] == 0
    assert len(answered(half)) == CALLS


def test_a_log_that_may_only_be_read_is_said_and_can_be_read(server: LoopbackServer, tmp_path: Path) -> None:
    out = tmp_path / "sheet"
    assert build(server, out)[0] == 0
    files = [out, *out.iterdir()]
    for file in files:
        file.chmod(0o555)
    try:
        for reading in (["log", "verify"], ["analyze"]):
            run = datasheet(*reading, out, under=heeding_permissions)
            assert run.returncode == 0, run.stderr
    finally:
        for file in files:
            file.chmod(0o755)
