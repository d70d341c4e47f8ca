"""What the commands share: exit codes, and output in which untrusted text can't act."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

import click

from datasheet.errors import UsageError
from datasheet.visible import visible

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


def put(text: str) -> None:
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
        send_to_nowhere(sys.stdout)
    except OSError as problem:
        send_to_nowhere(sys.stdout)
        raise UsageError(f"the output can't be written: {problem.strerror}") from None


def put_json(value: object) -> None:
    """A value as JSON on stdout."""
    put(json.dumps(value, indent=2) + "\n")


def send_to_nowhere(stream: TextIO) -> None:
    """What the stream still holds is dropped, also when the interpreter flushes it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def say(text: str) -> None:
    """A line on stderr; nothing where there is none."""
    with suppress(OSError):
        click.echo(visible(text), err=True)


def complain(text: str) -> None:
    """An error on stderr."""
    say(f"Error: {text}")


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
        text = f"{state.done}/{state.total} calls, {rate:.1f}/s{spent}{waiting}{trouble}{left}"
        if self._on_terminal:
            sys.stderr.write("\r\x1b[K" + text + ("\n" if finished else ""))
            sys.stderr.flush()
        else:
            say(text)
