"""``datasheet selftest``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from datasheet.cli.console import EXIT_FAILED, EXIT_INTERRUPTED, complain, put, put_json, say

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

    try:
        result = plant_and_measure(progress=lambda number, of, fault: say(f"{number}/{of} {fault.replace('_', ' ')}"))
    except KeyboardInterrupt:
        complain("interrupted: a self-test keeps nothing, and the same command starts afresh")
        return EXIT_INTERRUPTED
    if as_json:
        put_json(result.as_dict())
    else:
        put(*_table(result))
    return EXIT_FAILED if result.failures else 0


def _table(result: SelfTest) -> list[str]:
    """A line for each planted value and each failure, then the count."""
    together = f"simultaneous {result.level:.2%}"
    lines = [f"{'fault':<20} {'shows in':<34} {'truth':>6} {'without':>7}   {'found, 95% interval':<28} {together}"]
    lines += [_line(row) for row in result.tested if row.planted or row.failure]
    planted, others = result.planted, [row for row in result.tested if not row.planted and row.p is not None]
    lines += [
        "",
        f"{sum(row.recovered for row in planted)} of {len(planted)} planted values came back: the simultaneous "
        "interval holds the true value and not that of the judge without faults.",
        f"{sum(row.covered for row in planted)} of them lie within their 95% intervals.",
        f"{sum(bool(row.failure) for row in others)} of {len(others)} other values moved, though not planted (leaks: "
        "Holm-adjusted p < .05).",
        "failed" if result.failures else "passed",
    ]
    return lines


def _line(row: Tested) -> str:
    found = row.found
    if found.estimate is None:
        shown = f"{found.status}: {found.reason}"
    else:
        low, high = ("open" if limit is None else f"{limit:.3f}" for limit in (found.low, found.high))
        shown = f"{found.estimate:.3f} ({low} to {high})"
    together = "none" if row.simultaneous is None else f"{row.simultaneous[0]:.3f} to {row.simultaneous[1]:.3f}"
    verdict = row.failure.upper() if row.failure else "recovered"
    return (
        f"{row.fault.replace('_', ' '):<20} {row.key:<34} {row.truth:>6.3f} {row.clean:>7.3f}   {shown:<28} "
        f"{together:<19} {verdict}"
    )
