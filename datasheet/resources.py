"""Finds the data that ship with the package: task banks and templates."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


@cache
def _root() -> Path:
    """The folder that holds ``stimuli`` and ``templates``: the checkout's, when run from one, else the wheel's copy."""
    checkout = _PACKAGE.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / "stimuli").is_dir():
        return checkout
    return _PACKAGE / "_data"


def stimuli_folder() -> Path:
    """The folder of the shipped task banks."""
    return _root() / "stimuli"


def templates_folder() -> Path:
    """The folder of prompt variants, report templates and schemas."""
    return _root() / "templates"
