"""``datasheet log``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from datasheet.cli.build import build
from datasheet.cli.console import EXIT_RESUMABLE, EXIT_USAGE, complain, put_json, say
from datasheet.errors import UsageError

if TYPE_CHECKING:
    from datasheet.workflows.batch_import import BatchImport

_PLAN = ("judges", "prompts", "design", "bank", "repeats", "seed", "config")
"""The options of ``datasheet build`` that say what it asks: a batch file takes the same."""


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
@click.option(
    "--batch",
    is_flag=True,
    help="Write the calls that are still missing, as a batch file of the judge's provider. The options below say which "
    "calls, as for `datasheet build`.",
)
@click.pass_context
def export(
    context: click.Context, /, source: Path, target: Path, no_raw: bool, force: bool, batch: bool, **plan: Any
) -> None:
    """Write a trial log as a verdict log (JSONL), to be analysed or replayed elsewhere; or its missing calls.

    \b
    datasheet log export my-sheet verdicts.jsonl
    datasheet build --judge replay:verdicts.jsonl
    datasheet log export my-sheet requests.jsonl --batch --judge gpt
    """
    given = [name for name in _PLAN if context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE]
    if batch:
        if no_raw:
            raise UsageError("--no-raw is for verdict logs: give it to `datasheet log import` to keep no raw replies")
        _export_batch(source, target, force=force, **plan)
    elif given:
        raise UsageError(f"--{given[0].removesuffix('s')} says what a batch file asks: add --batch")
    else:
        from datasheet.workflows.logs import export as run_export

        count = run_export(source, target, raw=not no_raw, force=force)
        say(f"{target}: {count} readings")


export.params += [option for option in build.params if option.name in _PLAN]


def _export_batch(
    source: Path,
    target: Path,
    *,
    force: bool,
    judges: tuple[str, ...],
    prompts: tuple[str, ...],
    config: Path | None,
    **plan: Any,
) -> None:
    from datasheet.config import load_config
    from datasheet.workflows.batch_export import export_batch
    from datasheet.workflows.build import BuildOptions

    if len(judges) != 1 or len(prompts) != 1:
        raise UsageError("a batch file is of one run: name one --judge and one --prompt")
    options = BuildOptions(judge=judges[0], prompt=prompts[0], **plan)
    written = export_batch(source, target, options, load_config(config), force=force)
    answered = written.planned - written.requests
    say(f"{written.requests} requests for {written.format}, {answered} of {written.planned} calls were answered before")
    for file in written.files:
        say(f"  {file}")
    if written.files:
        say(f"When they are answered: datasheet log import {shlex.quote(str(source))} FILE…")


@log.command("import")
@click.argument("source", metavar="LOG|DIR", type=click.Path(path_type=Path))
@click.argument("files", metavar="FILE...", type=click.Path(path_type=Path, dir_okay=False), nargs=-1, required=True)
@click.option(
    "--no-raw",
    is_flag=True,
    help="Keep the readings, but not the judge's own words: no later parser can read them again.",
)
def import_(source: Path, files: tuple[Path, ...], no_raw: bool) -> None:
    """Read a batch's output and error files into the log that its requests were exported from.

    A part of the answers will do, and files that overlap; what failed or is missing stays to be asked, in another batch
    or by `datasheet build`. A file of another run is refused.

    \b
    datasheet log import my-sheet output.jsonl errors.jsonl
    datasheet build --judge gpt --out my-sheet
    """
    from datasheet.workflows.batch_import import import_batch

    imported = import_batch(source, files, keep_raw=not no_raw)
    _report(imported)
    untaken = imported.failed or imported.broken.count or imported.conflicts.count
    raise click.exceptions.Exit(EXIT_RESUMABLE if untaken else 0)


def _report(imported: BatchImport) -> None:
    known = f", {imported.known} were there before" if imported.known else ""
    say(f"{imported.added} readings{known}; {imported.pending} of the exported trials have none yet")
    if imported.otherwise:
        say(f"Answers that say something else than the readings in the log, which stay: {imported.otherwise}")
    for kind, count in sorted(imported.failed.items()):
        say(f"{count} {kind.replace('_', ' ')}, for example: {imported.examples[kind]}")
    for what, noted in (("lines that can't be read", imported.broken), ("trials in dispute", imported.conflicts)):
        if noted.count:
            complain(f"{noted.count} {what}, left out:\n{noted}")


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
