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


@log.command("merge")
@click.argument("sources", metavar="LOG|DIR LOG|DIR...", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    required=True,
    help="Folder of the merged log; a build with this --out goes on from it.",
)
def merge(sources: tuple[Path, ...], out: Path) -> None:
    """Make one trial log of the logs that several machines made for one run.

    They must be of one judge, prompt, bank, design and seed. A trial that two of them read differently is named, and
    nothing is merged. The logs themselves stay as they are.

    \b
    datasheet log merge machine-1 machine-2 --out merged
    """
    from datasheet.workflows.logs import merge as run_merge

    merged = run_merge(sources, out)
    say(f"{out}: {merged.readings} readings of {len(sources)} logs, {merged.shared} of them in more than one")
