"""What the commands share: exit codes, and the only way to the terminal, on which untrusted text can't act."""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from datasheet.errors import UsageError
from datasheet.visible import MOST_CHARACTERS, visible_json, visible_record

if TYPE_CHECKING:
    from datasheet.workflows.build import Progress
    from datasheet.workflows.documents import Documents

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INCONCLUSIVE = 3
EXIT_RESUMABLE = 4
EXIT_INTERRUPTED = 130

_QUIET_S = 30.0
"""Where stderr is no terminal, a line of progress at most this often."""

_LONG_S = 10.0
"""A call that has waited this long is worth a word."""


def prepare() -> None:
    """Have stdout and stderr write any text, and the complaints of libraries pass through :func:`say` too."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    logging.lastResort = _Said(logging.WARNING)


class _Said(logging.Handler):
    """Where libraries log to: what they say of a hostile file quotes it."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


def put(*lines: str, most: int = MOST_CHARACTERS) -> None:
    """Lines on stdout, each cut at ``most`` characters; a line break in one of them goes on indented.

    Raises
    ------
    UsageError
        Stdout can't be written (a full disk).
    """
    _write("".join(f"{visible_record(line.removesuffix(chr(10)), most=most)}\n" for line in lines))


def put_json(value: object) -> None:
    """A value as JSON on stdout."""
    put_json_text(json.dumps(value, indent=2))


def put_json_text(text: str) -> None:
    """The text of a JSON value on stdout."""
    _write(visible_json(text).removesuffix("\n") + "\n")


def _write(text: str) -> None:
    """Text on stdout, the whole of it or none: a reader that goes away is no error of ours.

    Raises
    ------
    UsageError
        Stdout can't be written (a full disk).
    """
    if sys.stdout is None:
        raise UsageError("the output can't be written: stdout is closed")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        let_go_of_stdout()
    except OSError as problem:
        let_go_of_stdout()
        raise UsageError(f"the output can't be written: {problem.strerror}") from None


def let_go_of_stdout() -> None:
    """What stdout still holds is dropped, also when the interpreter flushes it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    """A line on stderr; nothing where there is none. A line break in it goes on indented."""
    with suppress(OSError):
        click.echo(visible_record(text), err=True)


def complain(text: str) -> None:
    """An error on stderr."""
    say(f"Error: {text}")


def complain_of_usage(problem: click.ClickException) -> None:
    """An error of click's on stderr, with the usage of the command."""
    context = getattr(problem, "ctx", None)
    if context is not None:
        say(context.get_usage())
        say(f"Try '{context.command_path} --help' for help.")
    complain(problem.format_message())


def report_files(documents: Documents) -> None:
    """Name the files that were written, those that were removed, and what sheet was in their place."""
    for file in documents.files:
        say(f"  {file}")
    for file in documents.removed:
        say(f"  {file} was of another sheet, and is removed")
    if documents.replaced:
        say(f"Note: {documents.replaced}")


def terminal_width() -> int:
    """Columns of the terminal, within what reads well."""
    return max(60, min(shutil.get_terminal_size((100, 24)).columns, 120))


class ProgressLine:
    """How far a run is: a line that is rewritten on a terminal, and elsewhere one now and then."""

    def __init__(self) -> None:
        self._shown = time.monotonic()
        self._on_terminal = sys.stderr is not None and sys.stderr.isatty()

    def show(self, state: Progress) -> None:
        """Show how far a run is: ten times a second on a terminal, every half minute elsewhere."""
        finished = state.done + state.failed == state.total
        now = time.monotonic()
        if now - self._shown < (0.1 if self._on_terminal else _QUIET_S) and not (finished and self._on_terminal):
            return
        self._shown = now
        rate = state.done / state.elapsed_s if state.elapsed_s > 0 else 0.0
        to_go = state.total - state.done - state.failed
        left = f", about {to_go / rate:.0f} s left" if rate and not finished else ""
        trouble = "".join(f", {count} {kind.replace('_', ' ')}" for kind, count in sorted(state.failures.items()))
        oldest = f" (the oldest for {state.oldest_s:.0f} s)" if state.oldest_s >= _LONG_S else ""
        waiting = "" if finished else f", {state.in_flight} in flight{oldest}"
        spent = "" if state.unit == "calls" else f", {state.unit} {state.spent:.4g} spent"
        text = visible_record(f"{state.done}/{state.total} calls, {rate:.1f}/s{spent}{waiting}{trouble}{left}")
        if self._on_terminal:
            sys.stderr.write("\r\x1b[K" + text + ("\n" if finished else ""))
            sys.stderr.flush()
        else:
            say(text)
