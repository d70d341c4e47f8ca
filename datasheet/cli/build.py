"""``datasheet build``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from datasheet.cli.console import (
    EXIT_INCONCLUSIVE,
    EXIT_RESUMABLE,
    EXIT_USAGE,
    ProgressLine,
    complain,
    put_json_text,
    report_files,
    say,
)
from datasheet.errors import UsageError

if TYPE_CHECKING:
    from datasheet.workflows.build import Announcement, BuildResult


@click.command()
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="NAME",
    help="A judge (see `datasheet judges list`), or openai:MODEL@URL, anthropic:MODEL, local:FILE, "
    "python:MODULE:FUNCTION, command:PROGRAM, replay:LOG, sim:NAME. Default: the embedded simulated judge. Repeatable.",
)
@click.option(
    "--prompt",
    "prompts",
    multiple=True,
    metavar="VARIANT",
    default=("default",),
    show_default=True,
    help="A prompt variant (see `datasheet judges prompts`), or a folder of your own. Repeatable.",
)
@click.option(
    "--design",
    type=click.Choice(["quick", "paper", "standard", "full"]),
    default="standard",
    show_default=True,
    help="How much is measured: 110, 450 or 1,460 calls; full adds nuisance channels, 4,600 calls.",
)
@click.option("--bank", default="english", show_default=True, metavar="NAME|FILE", help="The task bank.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder of the sheet. Default: datasheets/JUDGE_PROMPT_DESIGN.",
)
@click.option(
    "--concurrency", type=click.IntRange(1, 1024), default=8, show_default=True, help="Calls in flight at a time."
)
@click.option(
    "--engine",
    type=click.Choice(["local", "dask"]),
    default="local",
    show_default=True,
    help="Where calls are made: in this process, or on the workers of a Dask cluster (extra `dask`).",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="A running Dask cluster, as tcp://HOST:8786. Default: workers on this machine.",
)
@click.option(
    "--repeats",
    type=click.IntRange(1, 100),
    metavar="N",
    help="Fresh calls on each presentation. Default: the design's own.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31 - 1),
    default=0,
    show_default=True,
    help="Draws the chains, the arms and the sequence of the stimuli.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A datasheet.toml; it may define any judge.",
)
@click.option("--fresh", is_flag=True, help="Start over; the old trial log is kept under another name.")
@click.option(
    "--no-raw",
    is_flag=True,
    help="Keep the readings, but not the judge's own words: no later parser can read them again.",
)
@click.option("--no-render", is_flag=True, help="Write datasheet.json only.")
@click.option("--json", "as_json", is_flag=True, help="Print the datasheet's JSON on stdout.")
def build(
    judges: tuple[str, ...],
    prompts: tuple[str, ...],
    design: str,
    bank: str,
    out: Path | None,
    concurrency: int,
    engine: Literal["local", "dask"],
    scheduler: str | None,
    repeats: int | None,
    seed: int,
    config: Path | None,
    fresh: bool,
    no_raw: bool,
    no_render: bool,
    as_json: bool,
) -> None:
    """Measure a judge and write its datasheet: JSON, HTML and PDF.

    Stops and goes on: every reply is kept in the folder's trials.sqlite, and the same command asks only what is
    missing. Several judges or prompts make a sheet each, in a folder each.

    \b
    datasheet build --out my-sheet
    datasheet build --judge qwen32b --prompt strict-tie --design paper
    datasheet build --judge openai:llama3.1@http://127.0.0.1:11434/v1
    """
    from datasheet.config import load_config
    from datasheet.workflows.build import DEFAULT_JUDGE, BuildOptions
    from datasheet.workflows.build import build as run_build

    settings = load_config(config)
    pairs = [(judge, prompt) for judge in judges or (DEFAULT_JUDGE,) for prompt in prompts]
    if len(set(pairs)) < len(pairs):
        raise UsageError("a judge and prompt are named twice: name each once")
    if as_json and len(pairs) > 1:
        raise UsageError("--json prints one datasheet: name one judge and one prompt")
    folders = [_folder(out, judge, prompt, several=len(pairs) > 1) for judge, prompt in pairs]
    codes = []
    for (judge, prompt), folder in zip(pairs, folders, strict=True):
        options = BuildOptions(
            judge=judge,
            prompt=prompt,
            design=design,
            bank=bank,
            out=folder,
            concurrency=concurrency,
            engine=engine,
            scheduler=scheduler,
            repeats=repeats,
            seed=seed,
            fresh=fresh,
            keep_raw=not no_raw,
            render=not no_render,
        )
        result = run_build(options, settings, announce=_announce, progress=ProgressLine().show)
        codes.append(_report(result, as_json))
    # A broken environment outranks a run to be gone on with, and that an inconclusive one.
    worst = next((code for code in (EXIT_USAGE, EXIT_RESUMABLE, EXIT_INCONCLUSIVE) if code in codes), 0)
    raise click.exceptions.Exit(worst)


def _folder(out: Path | None, judge: str, prompt: str, *, several: bool) -> Path | None:
    """The folder of one of several sheets, or the one that was asked for."""
    from datasheet.workflows.build import folder_name

    return out / folder_name(judge, prompt) if out is not None and several else out


def _announce(plan: Announcement) -> None:
    kept = plan.planned - plan.to_ask
    known = f", {kept} of them already in {plan.folder}" if kept else ""
    simulated = " (simulated: no network, no model)" if plan.simulated else ""
    say(f"{plan.judge}{simulated}, prompt {plan.prompt}, design {plan.design}: {plan.planned} calls{known}")


def _report(result: BuildResult, as_json: bool) -> int:
    """Say what a build did; the exit code."""
    outcome = result.outcome
    if outcome is not None and outcome.paused is not None:
        say(f"Paused: {outcome.paused.reason}")
        say(f"Come back after {outcome.paused.resume_at:%Y-%m-%d %H:%M:%S} UTC: the same command goes on")
        return EXIT_RESUMABLE
    if result.sheet is None or result.documents is None:
        raise UsageError("the build ended without a sheet: please report this")
    if as_json:
        from datasheet.workflows.documents import sheet_json

        put_json_text(sheet_json(result.sheet))
    say(result.sheet["summary"]["sentence"])
    report_files(result.documents)
    if result.documents.pdf_problem:
        complain(result.documents.pdf_problem)
        return EXIT_USAGE
    if outcome is not None and outcome.failed:
        kinds = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in sorted(outcome.failed.items()))
        say(f"{result.unanswered} trials have no reply ({kinds}): the same command asks them again")
        return EXIT_RESUMABLE
    if not result.conclusive:
        say("Nothing could be concluded: no reading is valid, and only the invalid rate is known")
        return EXIT_INCONCLUSIVE
    return 0
