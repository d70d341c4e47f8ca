"""``datasheet log``."""

from __future__ import annotations

from pathlib import Path

import click

from datasheet.cli.console import EXIT_USAGE, complain, put_json, say


@click.group()
def log() -> None:
    """Trial logs: the record of every call that a build made."""


@log.command("verify")
@click.argument("source", metavar="LOG|DIR", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the faults as JSON on stdout.")
def verify(source: Path, as_json: bool) -> None:
    """Check that a trial log is intact.

    \b
    datasheet log verify my-sheet
    """
    from datasheet.workflows.logs import verify as run_verify

    faults = run_verify(source)
    if as_json:
        put_json(faults)
    for fault in faults:
        complain(fault)
    if not faults:
        say(f"{source}: intact")
    raise click.exceptions.Exit(EXIT_USAGE if faults else 0)


@log.command("export")
@click.argument("source", metavar="LOG|DIR", type=click.Path(path_type=Path))
@click.argument("target", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--no-raw", is_flag=True, help="Leave out the judge's own words: to analyse, but not to replay.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
def export(source: Path, target: Path, no_raw: bool, force: bool) -> None:
    """Write a trial log as a verdict log (JSONL), to be analysed or replayed elsewhere.

    \b
    datasheet log export my-sheet verdicts.jsonl
    datasheet build --judge replay:verdicts.jsonl
    """
    from datasheet.workflows.logs import export as run_export

    count = run_export(source, target, raw=not no_raw, force=force)
    say(f"{target}: {count} readings")
