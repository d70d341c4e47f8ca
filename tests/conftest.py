"""What every test gets: a command line to run, and an environment that nothing of this machine leaks into."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from command import Command, run_command


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No key, no URL and no user configuration of whoever runs the tests."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command in a folder of its own: ``command("build", "--out", "x")``."""
    monkeypatch.chdir(tmp_path)
    return partial(run_command, capsys)
