"""What the commands share: exit codes, and output in which untrusted text can't act."""

from __future__ import annotations

import shutil
import sys
import time

import click

from datasheet.visible import visible

EXIT_USAGE = 2
EXIT_INCONCLUSIVE = 3
EXIT_RESUMABLE = 4
EXIT_INTERRUPTED = 130


def say(text: str) -> None:
    """A line on stderr."""
    click.echo(visible(text), err=True)


def complain(text: str) -> None:
    """An error on stderr."""
    click.echo(f"Error: {visible(text)}", err=True)


def terminal_width() -> int:
    """Columns of the terminal, within what reads well."""
    return max(60, min(shutil.get_terminal_size((100, 24)).columns, 120))


class ProgressLine:
    """Calls done, rate, failures and the time left: one line that is rewritten on a terminal, silence elsewhere."""

    def __init__(self) -> None:
        self._stream = sys.stderr
        self._shown = 0.0

    def show(
        self, *, done: int, failed: int, total: int, in_flight: int, elapsed_s: float, failures: dict[str, int]
    ) -> None:
        """Show how far a run is, at most ten times a second."""
        if not self._stream.isatty():
            return
        now = time.monotonic()
        finished = done + failed == total
        if now - self._shown < 0.1 and not finished:
            return
        self._shown = now
        rate = done / elapsed_s if elapsed_s > 0 else 0.0
        left = f", about {(total - done - failed) / rate:.0f} s left" if rate and not finished else ""
        trouble = "".join(f", {count} {kind.replace('_', ' ')}" for kind, count in sorted(failures.items()))
        text = f"{done}/{total} calls, {rate:.1f}/s, {in_flight} in flight{trouble}{left}"
        self._stream.write("\r\x1b[K" + text + ("\n" if finished else ""))
        self._stream.flush()
