"""``datasheet build``."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from datasheet.cli.console import (
    EXIT_INCONCLUSIVE,
    EXIT_RESUMABLE,
    EXIT_USAGE,
    ProgressLine,
    complain,
    put_json,
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
@click.option(
    "--budget",
    metavar="N|MONEY",
    help="Stop before this command has made more than N calls, or spent more than an amount such as 5USD, retries and "
    "failed calls too. Each run has its budget anew: earlier runs do not count. Money needs the judge's prices.",
)
@click.option("--dry-run", is_flag=True, help="Say what it would cost and what it buys, without a call or a file.")
@click.option("--fresh", is_flag=True, help="Start over; the old trial log is kept under another name.")
@click.option(
    "--no-raw",
    is_flag=True,
    help="Keep the readings, but not the judge's own words: no later parser can read them again.",
)
@click.option("--no-render", is_flag=True, help="Write datasheet.json only.")
@click.option("--json", "as_json", is_flag=True, help="Print the datasheet's JSON on stdout, or the plan's.")
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
    budget: str | None,
    dry_run: bool,
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
    datasheet build --judge qwen32b --dry-run
    datasheet build --judge openai:llama3.1@http://127.0.0.1:11434/v1
    """
    from datasheet.config import load_config
    from datasheet.workflows.build import DEFAULT_JUDGE, BuildOptions
    from datasheet.workflows.build import build as run_build
    from datasheet.workflows.spending import Budget, check_budget

    settings = load_config(config)
    pairs = [(judge, prompt) for judge in judges or (DEFAULT_JUDGE,) for prompt in prompts]
    if len(set(pairs)) < len(pairs):
        raise UsageError("a judge and prompt are named twice: name each once")
    if as_json and len(pairs) > 1:
        raise UsageError("--json prints one datasheet: name one judge and one prompt")
    folders = [_folder(out, judge, prompt, several=len(pairs) > 1) for judge, prompt in pairs]
    left = None if budget is None else Budget.from_text(budget)
    if left is not None:
        check_budget(left, judges or (DEFAULT_JUDGE,), settings)
    announce = _print_plan if dry_run and as_json else partial(_announce, in_full=dry_run)
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
            budget=left,
            dry_run=dry_run,
        )
        result = run_build(options, settings, announce=announce, progress=ProgressLine().show)
        if dry_run:
            continue
        left = None if left is None else left.less(result.spent)
        codes.append(_report(result, as_json))
    # A broken environment outranks a run to be gone on with, and that an inconclusive one.
    worst = next((code for code in (EXIT_USAGE, EXIT_RESUMABLE, EXIT_INCONCLUSIVE) if code in codes), 0)
    raise click.exceptions.Exit(worst)


def _folder(out: Path | None, judge: str, prompt: str, *, several: bool) -> Path | None:
    """The folder of one of several sheets, or the one that was asked for."""
    from datasheet.workflows.build import folder_name

    return out / folder_name(judge, prompt) if out is not None and several else out


def _announce(plan: Announcement, *, in_full: bool) -> None:
    from datasheet.workflows.foretold import foretold

    kept = plan.planned - plan.to_ask
    known = f", {kept} of them already in {plan.folder}" if kept else ""
    simulated = " (simulated: no network, no model)" if plan.simulated else ""
    say(f"{plan.judge}{simulated}, prompt {plan.prompt}, design {plan.design}: {plan.planned} calls{known}")
    if plan.to_ask or in_full:
        for line in foretold(plan.forecast, plan.precision, simulated=plan.simulated):
            say(f"  {line}")


def _print_plan(plan: Announcement) -> None:
    put_json({**asdict(plan), "folder": str(plan.folder)})


def _spent(result: BuildResult) -> str:
    """What a run spent: calls, and money where it was counted in money."""
    calls = 0 if result.outcome is None else result.outcome.calls
    money = "" if result.unit == "calls" else f" and {result.unit} {result.spent:.4g} at most"
    return f"{calls:,} calls{money} spent"


def _report(result: BuildResult, as_json: bool) -> int:
    """Say what a build did; the exit code."""
    outcome = result.outcome
    if outcome is not None and outcome.paused is not None:
        say(f"Paused: {outcome.paused.reason}")
        say(f"This run: {_spent(result)}, {outcome.answered:,} replies, each of them kept")
        if outcome.paused.resume_at is None:
            say("The same command goes on from here, with its budget anew")
        else:
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
