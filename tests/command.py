"""The command line, run in this process as a user would run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from datasheet.cli import main


@dataclass(frozen=True)
class Run:
    code: int
    out: str
    err: str


Command = Callable[..., Run]


def run_command(capsys: pytest.CaptureFixture[str], *arguments: object) -> Run:
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    assert isinstance(stop.value.code, int)
    return Run(code=stop.value.code, out=printed.out, err=printed.err)
