"""What a build will take and what it buys, in the words that stand before its first call."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from datasheet.analysis.intervals import CONFIDENCE_LEVEL
from datasheet.analysis.power import DETECTED_WIN_RATE, PLANNED, POWER, WITHIN_TASK_CORRELATION
from datasheet.sheet.formats import counted, money, percent
from datasheet.workflows.forecast import Cost, Forecast
from datasheet.workflows.precision import Precision

NO_PRICES = "not known: needs prices in the judge's configuration ([judge.NAME.prices])"


def foretold(forecast: Forecast, precision: Precision, *, simulated: bool) -> Iterator[str]:
    """Lines on the calls that are still to be made, and on the plan as a whole."""
    if forecast.calls and not simulated:
        cached = f", {forecast.cached_tokens:,} of them in a cached prefix" if forecast.cached_tokens else ""
        yield (
            f"Tokens: about {forecast.prompt_tokens:,} of prompts{cached}, {forecast.completion_tokens:,} of replies "
            f"(at most {forecast.most_completion_tokens:,}): {forecast.tokens_by}"
        )
        yield f"Cost: {NO_PRICES if forecast.cost is None else _cost(forecast.cost)}"
        how_long = "not known" if forecast.seconds is None else f"about {_duration(forecast.seconds)}"
        yield f"Time: {how_long}: {forecast.time_by}"
    yield (
        f"What the plan buys, half-widths at {percent(CONFIDENCE_LEVEL)}: "
        f"{', '.join(map(precision.width, precision.widths))}"
    )
    yield (
        f"Smallest difference between two judges or prompts that it detects in {POWER:.0%} of cases: "
        f"{', '.join(map(precision.effect, precision.widths))}"
    )
    yield (
        f"(for a middling judge, k {PLANNED.resolution:g}, c {PLANNED.criterion:g}, b {PLANNED.position:g}, "
        f"ρ {PLANNED.correlation:g}, τ {PLANNED.task_spread:g}, and a correlation of {WITHIN_TASK_CORRELATION:g} "
        "within tasks; × is a ratio)"
    )
    compared = (
        f"{row.systems} systems {row.calls:,} ({counted(row.comparisons, 'comparison')} of {row.prompts} prompts)"
        for row in precision.systems
    )
    yield (
        f"Calls to compare systems two by two with this judge in both orders, so that a win rate of "
        f"{DETECTED_WIN_RATE:.0%} is told from 50% in {POWER:.0%} of cases: {', '.join(compared)}"
    )


def _cost(cost: Cost) -> str:
    said = f"about {money(cost.estimate, cost.currency)}, {money(cost.most, cost.currency)} with the longest replies"
    if cost.without_cache is not None:
        said += f"; {money(cost.without_cache, cost.currency)} if the server caches nothing"
    if cost.batch is not None:
        said += f"; {money(cost.batch, cost.currency)} as a batch"
    return f"{said}; retries come on top"


def _duration(seconds: float) -> str:
    """Hours, minutes and seconds."""
    return str(timedelta(seconds=round(seconds)))
