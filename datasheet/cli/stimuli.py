"""``datasheet stimuli``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from datasheet.cli.console import EXIT_USAGE, put, put_json, say

_LONGEST_TEXT = 100_000
"""A prompt with two answers is for reading as a whole."""


@click.group()
def stimuli() -> None:
    """Task banks: the questions and graded answers that a judge is measured on."""


@stimuli.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
def list_banks(as_json: bool) -> None:
    """List the shipped banks.

    \b
    datasheet stimuli list
    """
    from datasheet.workflows.stimuli import banks

    rows = banks()
    if as_json:
        put_json(rows)
        return
    for row in rows:
        tasks = f"{row['tasks']:>3} tasks"
        put(f"{row['name']:<12} {row['language']:<4} {tasks}  {row['hash']}  {row['title']}")


@stimuli.command("show")
@click.argument("bank", default="english", metavar="[BANK]")
@click.option("--task", metavar="ID", help="One task: each answer of its ladder, and one pair as a judge sees it.")
@click.option("--prompt", default="default", show_default=True, metavar="VARIANT", help="Rendered with this prompt.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
def show_bank(bank: str, task: str | None, prompt: str, as_json: bool) -> None:
    """Show the tasks of a bank, or the ladder of one task and a prompt as the judge sees it.

    \b
    datasheet stimuli show
    datasheet stimuli show english --task missing-soup-bowls
    """
    from datasheet.workflows.stimuli import shown_bank, shown_task

    rows = shown_bank(bank) if task is None else shown_task(bank, task, prompt)
    if as_json:
        put_json(rows)
    else:
        put(*_lines(rows), most=_LONGEST_TEXT)


def _lines(shown: Mapping[str, object]) -> Iterator[str]:
    for key, value in shown.items():
        if isinstance(value, list):
            yield f"{key}:"
            yield from (f"  {item}" for item in value)
        else:
            yield f"{key}: {value}"


@stimuli.command("check")
@click.argument("bank", default="english", metavar="[BANK]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
def check(bank: str, as_json: bool) -> None:
    """Hold a bank against every gate, and name each fault with its task and field.

    \b
    datasheet stimuli check
    datasheet stimuli check my-bank.toml
    """
    from datasheet.workflows.stimuli import bank_faults

    faults = bank_faults(bank)
    if as_json:
        put_json(faults)
    else:
        for fault in faults:
            put(f"{fault['task']}  {fault['field']}: {fault['message']}")
    name = Path(bank).name
    say(f"{name}: {len(faults)} fault{'' if len(faults) == 1 else 's'}" if faults else f"{name}: every gate passed")
    raise click.exceptions.Exit(EXIT_USAGE if faults else 0)
