"""``datasheet render`` and ``datasheet show``."""

from __future__ import annotations

from pathlib import Path

import click

from datasheet.cli.console import EXIT_USAGE, complain, put, put_json_text, report_files, terminal_width


@click.command()
@click.argument("source", metavar="SHEET|LOG", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder of the documents. Default: where the source is.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A datasheet.toml, for the limits of the flags (where the source is a log).",
)
def render(source: Path, out: Path | None, config: Path | None) -> None:
    """Write the documents again, from a datasheet (JSON, PDF or folder) or a log.

    \b
    datasheet render my-sheet
    datasheet render review.pdf --out again
    """
    from datasheet.config import load_config
    from datasheet.workflows.analyze import sheet_of
    from datasheet.workflows.documents import write_documents
    from datasheet.workflows.limits import configured_limits

    sheet = sheet_of(source, configured_limits(load_config(config)))
    documents = write_documents(sheet, out or (source if source.is_dir() else source.parent))
    report_files(documents)
    if documents.pdf_problem:
        complain(documents.pdf_problem)
        raise click.exceptions.Exit(EXIT_USAGE)


@click.command()
@click.argument("source", metavar="SHEET", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the datasheet's JSON on stdout.")
def show(source: Path, as_json: bool) -> None:
    """Show a datasheet (JSON, PDF or folder) in the terminal.

    \b
    datasheet show my-sheet
    datasheet show review.pdf --json
    """
    from datasheet.workflows.documents import read_sheet, sheet_json, terminal_sheet

    sheet = read_sheet(source)
    if as_json:
        put_json_text(sheet_json(sheet))
    else:
        put(*terminal_sheet(sheet, width=terminal_width()))
