"""What every test gets: a command line to run, and an environment that nothing of this machine leaks into."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path

import pytest
from command import Command, run_command


def pytest_configure() -> None:
    """Processes of tests hear Ctrl-C, also where a shell started the tests in the background and so ignores it."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No key, no URL and no user configuration of whoever runs the tests."""
    for api in ("OPENAI", "ANTHROPIC"):
        monkeypatch.delenv(f"{api}_API_KEY", raising=False)
        monkeypatch.delenv(f"{api}_BASE_URL", raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command in a folder of its own: ``command("build", "--out", "x")``."""
    monkeypatch.chdir(tmp_path)
    return partial(run_command, capsys)
