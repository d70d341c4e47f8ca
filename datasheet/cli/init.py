"""``datasheet init``."""

from __future__ import annotations

from pathlib import Path

import click

from datasheet.cli.console import say
from datasheet.errors import UsageError


@click.command()
@click.option("--user", is_flag=True, help="In your own configuration folder, which may bind keys to hosts.")
def init(user: bool) -> None:
    """Write a commented datasheet.toml, here or in your own configuration folder.

    \b
    datasheet init
    datasheet init --user
    """
    from datasheet.config import FILE_NAME, user_folder
    from datasheet.resources import templates_folder

    target = (user_folder() if user else Path()) / FILE_NAME
    if target.exists():
        raise UsageError(f"{target} exists already: edit it, or move it away first")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((templates_folder() / "config" / FILE_NAME).read_bytes())
    except OSError as problem:
        raise UsageError(f"{target} can't be written: {problem.strerror}") from None
    say(f"  {target}")
