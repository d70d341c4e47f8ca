"""``datasheet selftest``: known faults planted in simulated judges, and whether each comes back, and nowhere else.

Every judge goes the whole way: stimuli, prompts, calls, trial log, parsing, analysis. Of a few dozen 95% intervals one
or two miss the truth in an intact instrument, so none of them decides anything on its own. Planted values are held
against simultaneous intervals: with each at the level 1 - .05/m, all m of them hold their truths in at least 95% of
self-tests (Bonferroni). All other values are one family of hypotheses under Holm's control, at the same significance.
Seeds are fixed, and the outcome with them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from datasheet.analysis import ladder, repeatability, validity
from datasheet.analysis.characterise import Characterisation, characterise
from datasheet.analysis.intervals import ClusteredShare
from datasheet.analysis.multiplicity import holm
from datasheet.analysis.point_null import parameter_p, rare_share_p
from datasheet.judge.simulated import SimulatedJudge
from datasheet.prompts import load_variant
from datasheet.readings import Readings
from datasheet.records import Estimate
from datasheet.stimulus.bank import TaskBank, load_bank
from datasheet.stimulus.design import plan
from datasheet.stimulus.lexicon import make_lexicon
from datasheet.trials.log import TrialLog
from datasheet.workflows.asking import ask
from datasheet.workflows.context import LOG_NAME
from datasheet.workflows.faults import CLEAN, FAULTS, Fault, true_values
from datasheet.workflows.instrument import Instrument
from datasheet.workflows.logged import read_run

__all__ = ["Limits", "SelfTest", "Tested", "selftest"]

SIGNIFICANCE = 0.05
_BANK, _PROMPT, _CONCURRENCY = "english", "default", 64
_SEEDS_APART, _BISECTIONS, _FARTHEST = 1_000, 40, 1_000.0

Limits = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """One quantity of one judge, held against what it truly is.

    Attributes
    ----------
    planted
        The fault must show in it.
    truth, clean
        Its true value, and that of the judge without faults.
    found
        As the sheet prints it, with its 95% interval.
    simultaneous
        Limits that hold for all planted values together; None for other values, and where the readings give none.
    p, adjusted_p
        That it has its true value, also with Holm's adjustment over the values that are not planted; None where the
        readings can't test it.
    """

    fault: str
    key: str
    planted: bool
    truth: float
    clean: float
    found: Estimate
    simultaneous: Limits | None
    p: float | None
    adjusted_p: float | None = None

    @property
    def covered(self) -> bool:
        """The 95% interval, as printed, holds the true value."""
        low, high = self.found.low, self.found.high
        measured = self.found.status in ("measured", "bounded")
        return measured and (low is None or low <= self.truth) and (high is None or self.truth <= high)

    @property
    def recovered(self) -> bool:
        """Planted, and the simultaneous interval holds the true value and not that of the judge without faults."""
        if not self.planted or self.simultaneous is None:
            return False
        low, high = self.simultaneous
        return low <= self.truth <= high and not low <= self.clean <= high

    @property
    def failure(self) -> str:
        """A miss where a planted value does not come back, a leak where another one is not what it is; else ""."""
        if self.planted:
            return "" if self.recovered else "missed"
        return "leak" if self.adjusted_p is not None and self.adjusted_p < SIGNIFICANCE else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTest:
    """Every quantity of every judge; ``level`` is that of each simultaneous interval."""

    tested: tuple[Tested, ...]
    level: float

    @property
    def planted(self) -> tuple[Tested, ...]:
        """What the faults must show in."""
        return tuple(row for row in self.tested if row.planted)

    @property
    def failures(self) -> tuple[Tested, ...]:
        """Misses and leaks."""
        return tuple(row for row in self.tested if row.failure)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "passed": not self.failures,
            "significance": SIGNIFICANCE,
            "simultaneous_level": self.level,
            "quantities": [
                {
                    "fault": row.fault,
                    "key": row.key,
                    "planted": row.planted,
                    "truth": row.truth,
                    "without_fault": row.clean,
                    "status": row.found.status,
                    "estimate": row.found.estimate,
                    "low": row.found.low,
                    "high": row.found.high,
                    "covered": row.covered,
                    "simultaneous_low": row.simultaneous and row.simultaneous[0],
                    "simultaneous_high": row.simultaneous and row.simultaneous[1],
                    "recovered": row.recovered if row.planted else None,
                    "p": row.p,
                    "adjusted_p": row.adjusted_p,
                    "failure": row.failure,
                }
                for row in self.tested
            ],
        }


def selftest(
    faults: Sequence[Fault] = FAULTS, *, seed: int = 0, progress: Callable[[int, int, str], None] = lambda *_: None
) -> SelfTest:
    """Plant each fault, measure the judge that has it, and hold every quantity against its true value.

    Parameters
    ----------
    seed
        Of the judges.
    progress
        Told of each fault before its judge is asked: its number, how many there are, its name.
    """
    bank = load_bank(_BANK)
    level = 1 - SIGNIFICANCE / sum(len(fault.shows) for fault in faults)
    rows: list[Tested] = []
    for number, fault in enumerate(faults):
        progress(number + 1, len(faults), fault.name)
        readings = asked(fault, bank, seed=seed * _SEEDS_APART + number)
        rows += _held(fault, readings, characterise(readings), level)
    adjusted = holm([None if row.planted else row.p for row in rows])
    tested = tuple(replace(row, adjusted_p=p) for row, p in zip(rows, adjusted, strict=True))
    return SelfTest(tested=tested, level=level)


def asked(fault: Fault, bank: TaskBank, *, seed: int) -> Readings:
    """The readings of a judge with a fault, through prompts, calls, a trial log and the parser."""
    judge = SimulatedJudge(fault.dials, make_lexicon(bank), name=fault.name, seed=seed)
    instrument = Instrument(name=judge.model, judge=judge, variant=load_variant(_PROMPT))
    planned = instrument.requests(plan(bank, fault.design))
    described = instrument.described(bank, design=fault.design, seed=0, repeats=None)
    with TemporaryDirectory() as folder:
        path = Path(folder) / LOG_NAME
        asyncio.run(ask(planned, judge, path, described, concurrency=_CONCURRENCY))
        with TrialLog.read(path) as log:
            return read_run(log, instrument.variant).readings


def _held(fault: Fault, readings: Readings, found: Characterisation, level: float) -> list[Tested]:
    """Each quantity of a judge beside its true value."""
    truths, clean = true_values(fault.dials, readings), true_values(CLEAN, readings)
    shares = _shares(readings, found)

    def p(key: str, value: float) -> float | None:
        if key == "criterion" and value <= 0:
            return 0.0
        if key not in shares:
            name = key.removeprefix("channel_slope@").removesuffix("_slope")
            return parameter_p(found.model, name, value)
        share = shares[key]
        return None if share is None else rare_share_p(share, value)

    def simultaneous(key: str) -> Limits | None:
        if key in shares:
            share = shares[key]
            return None if share is None else share.interval(level)
        estimate = found.estimates[key]
        return None if estimate.estimate is None else inverted(partial(p, key), estimate, level)

    return [
        Tested(
            fault=fault.name,
            key=key,
            planted=key in fault.shows,
            truth=truth,
            clean=clean[key],
            found=found.estimates[key],
            simultaneous=simultaneous(key) if key in fault.shows else None,
            p=p(key, truth),
        )
        for key, truth in truths.items()
        if key in found.estimates
    ]


def inverted(p: Callable[[float], float | None], estimate: Estimate, level: float) -> Limits | None:
    """The limits between which lie the values that a test does not refute at 1 - level.

    None where it tests none, or where a side is open: without a printed limit, or not refuted a thousand times as far.

    Parameters
    ----------
    p
        Of a value: 1 at the estimate, and falling to both sides of it.
    """
    centre, printed = estimate.estimate, (estimate.low, estimate.high)
    if centre is None or p(centre) is None:
        return None

    def holds(value: float) -> bool:
        return (p(value) or 0.0) >= 1 - level

    def limit(step: float) -> float | None:
        inside, outside = 0.0, step
        while holds(centre + outside):
            inside, outside = outside, 2 * outside
            if abs(outside) > _FARTHEST * abs(step):
                return None
        for _ in range(_BISECTIONS):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if holds(centre + middle) else (inside, middle)
        return centre + outside

    low, high = (None if at is None or at == centre else limit(at - centre) for at in printed)
    return None if low is None or high is None else (low, high)


def _shares(readings: Readings, found: Characterisation) -> dict[str, ClusteredShare | None]:
    """The quantities that are shares, with what their tests rest on."""
    top = next((step for step in found.rates.steps if (step.arm, step.delta_q) == (ladder.PREFIX_ARM, 5)), None)
    return {
        "dark_current": found.rates.dark,
        "stable_cross_sensitivity": found.rates.pairs.share("stable_cross_sensitivity"),
        "positional_false_preference": found.rates.pairs.share("positional_false_preference"),
        "p_correct_5": None if top is None else top.p_correct,
        "self_consistency": repeatability.self_consistency(readings),
        "invalid_rate": validity.invalid_share(readings),
    }
