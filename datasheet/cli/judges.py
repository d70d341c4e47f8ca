"""``datasheet judges``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from datasheet.cli.console import EXIT_USAGE, put, put_json

_config = click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A datasheet.toml; it may define any judge.",
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")


def _lines(shown: Mapping[str, object]) -> Iterator[str]:
    """Names and values, one a line; yes and no for true and false."""
    for name, value in shown.items():
        if isinstance(value, Mapping):
            value = ", ".join(f"{key} {item}" for key, item in value.items())
        if isinstance(value, bool):
            value = "yes" if value else "no"
        yield f"{name.replace('_', ' ')}: {value}"


@click.group()
def judges() -> None:
    """Judges and prompt variants."""


@judges.command("list")
@_config
@_json
def list_judges(config: Path | None, as_json: bool) -> None:
    """List the judges that --judge takes by name.

    \b
    datasheet judges list
    """
    from datasheet.config import load_config
    from datasheet.workflows.judges import listed

    rows = listed(load_config(config))
    if as_json:
        put_json(rows)
        return
    for row in rows:
        put(f"{row['name']:<18} {row['adapter']:<8} {row['model']:<36} {row['origin']}")


@judges.command("show")
@click.argument("name", metavar="NAME")
@_config
@_json
def show_judge(name: str, config: Path | None, as_json: bool) -> None:
    """Show what a judge's name stands for: model, URL, settings, and where they come from. No key is read.

    \b
    datasheet judges show qwen32b
    """
    from datasheet.config import load_config
    from datasheet.workflows.judges import shown

    settings = shown(name, load_config(config))
    if as_json:
        put_json(settings)
        return
    put(*_lines(settings))


@judges.command("check")
@click.argument("name", metavar="NAME")
@_config
@_json
def check_judge(name: str, config: Path | None, as_json: bool) -> None:
    """Make a few probe calls and say what works: the reply's format, seed, determinism, log-probabilities.

    Exits with 2 where the judge can't be asked, or none of its replies can be read.

    \b
    datasheet judges check qwen32b
    datasheet judges check python:my_module:my_function
    """
    from datasheet.config import load_config
    from datasheet.workflows.check import checked

    report = checked(name, load_config(config))
    if as_json:
        put_json(report)
    else:
        put(*_lines(report))
    raise click.exceptions.Exit(0 if report["valid_replies"] else EXIT_USAGE)


@judges.command("prompts")
@_json
def prompts(as_json: bool) -> None:
    """List the prompt variants.

    \b
    datasheet judges prompts
    """
    from datasheet.workflows.judges import prompt_variants

    rows = prompt_variants()
    if as_json:
        put_json(rows)
        return
    for row in rows:
        ties = "ties allowed" if row["ties_allowed"] else "no ties"
        put(f"{row['name']:<18} {ties:<13} {row['title']}")
