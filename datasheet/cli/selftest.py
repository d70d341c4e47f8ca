"""``datasheet selftest``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from datasheet.cli.console import EXIT_FAILED, put, put_json, say

if TYPE_CHECKING:
    from datasheet.workflows.selftest import SelfTest, Tested


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on stdout.")
def selftest(as_json: bool) -> int:
    """Plant known faults in simulated judges and see that each comes back, and nowhere else.

    Exit code 1 where a planted fault is missed, or another quantity is not what it truly is.

    \b
    datasheet selftest
    """
    from datasheet.workflows.selftest import selftest as plant_and_measure

    result = plant_and_measure(progress=lambda number, of, fault: say(f"{number}/{of} {fault.replace('_', ' ')}"))
    if as_json:
        put_json(result.as_dict())
    else:
        put(_table(result))
    return EXIT_FAILED if result.failures else 0


def _table(result: SelfTest) -> str:
    """A line for each planted value and each failure, then the count."""
    lines = [f"{'fault':<20} {'shows in':<34} {'truth':>6} {'without':>7}   found, 95% interval"]
    lines += [_line(row) for row in result.tested if row.planted or row.failure]
    planted, others = result.planted, [row for row in result.tested if not row.planted and row.p is not None]
    lines += [
        "",
        f"{sum(row.recovered for row in planted)} of {len(planted)} planted values came back; "
        f"{sum(row.covered for row in planted)} lie within their 95% intervals.",
        f"{sum(bool(row.failure) for row in others)} of {len(others)} other values moved, though not planted (leaks).",
        "failed" if result.failures else "passed",
    ]
    return "\n".join(lines) + "\n"


def _line(row: Tested) -> str:
    found = row.found
    if found.estimate is None:
        shown = f"{found.status}: {found.reason}"
    else:
        low, high = ("open" if limit is None else f"{limit:.3f}" for limit in (found.low, found.high))
        shown = f"{found.estimate:.3f} ({low} to {high})"
    chance = "" if row.covered else f", off as chance allows (p = {row.p:.2g})"
    verdict = row.failure.upper() if row.failure else f"recovered{chance}"
    return (
        f"{row.fault.replace('_', ' '):<20} {row.key:<34} {row.truth:>6.3f} {row.clean:>7.3f}   {shown:<28} {verdict}"
    )
