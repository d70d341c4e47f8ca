"""``datasheet analyze``."""

from __future__ import annotations

from pathlib import Path

import click

from datasheet.cli.console import (
    EXIT_INCONCLUSIVE,
    EXIT_USAGE,
    complain,
    put,
    put_json_text,
    report_files,
    say,
    terminal_width,
)


@click.command()
@click.argument("source", metavar="LOG", type=click.Path(path_type=Path))
@click.option("--judge", metavar="NAME", help="Which judge, where the log holds several.")
@click.option("--prompt", metavar="NAME", help="Which prompt, where the log holds several.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Write the documents there."
)
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A datasheet.toml, for the limits of the flags.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the datasheet's JSON on stdout.")
def analyze(
    source: Path, judge: str | None, prompt: str | None, out: Path | None, config: Path | None, as_json: bool
) -> None:
    """Analyse a verdict log (JSONL), or the trial log of a build.

    Each line is one reading: {"pair": "p1", "order": "ab", "verdict": "first", "probe": "ladder", "delta_q": 1,
    "task": "t1"}; order ab shows the better answer first. Exits with 3 where nothing could be concluded.

    \b
    datasheet analyze verdicts.jsonl
    datasheet analyze verdicts.jsonl --judge gpt-4 --json
    """
    from datasheet.config import load_config
    from datasheet.workflows.analyze import analyze as run_analysis
    from datasheet.workflows.documents import sheet_json, terminal_sheet, write_documents
    from datasheet.workflows.limits import configured_limits

    result = run_analysis(source, judge=judge, prompt=prompt, limits=configured_limits(load_config(config)))
    code = 0 if result.conclusive else EXIT_INCONCLUSIVE
    if out is not None:
        documents = write_documents(result.sheet, out)
        report_files(documents)
        if documents.pdf_problem:
            complain(documents.pdf_problem)
            code = EXIT_USAGE
    if as_json:
        put_json_text(sheet_json(result.sheet))
    else:
        put(*terminal_sheet(result.sheet, width=terminal_width()))
    if not result.conclusive:
        say("Nothing could be concluded: the log measures no quantity but the invalid rate")
    raise click.exceptions.Exit(code)
