"""Faults that a simulated judge can be given, and what each quantity of a sheet then truly is.

The clean judge sees quality, keeps a criterion, and has no fault. What a fault does not touch has the clean judge's
value still, or one that follows from the dials: a slot that pulls makes stable preferences rarer, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import hypot
from statistics import NormalDist

import numpy as np

from datasheet.analysis.evidence import cell_probabilities
from datasheet.analysis.parameters import Parameters
from datasheet.judge.simulated import Dials
from datasheet.readings import Readings
from datasheet.records import CHANNELS

CLEAN = Dials(sensitivity=0.9, criterion=0.6, vacuum_criterion=5.0)
_phi = NormalDist().cdf


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A judge with one fault: the clean judge's dials but for some.

    ``shows`` are the keys that must show it; ``design`` is one that can, for each key by far more than chance allows.
    """

    name: str
    changes: Mapping[str, float]
    shows: tuple[str, ...]
    design: str = "full"

    @property
    def dials(self) -> Dials:
        """All dials of the judge."""
        return replace(CLEAN, **self.changes)


_COIN = {"sensitivity": 0.0, "criterion": 0.0, "vacuum_criterion": 0.0}
FAULTS = (
    Fault(name="dark current", changes={"vacuum_criterion": 1.5}, shows=("dark_current",)),
    Fault(name="position", changes={"position": 0.8}, shows=("position", "positional_false_preference")),
    Fault(name="surface", changes={"surface": 0.8, "noise": 0.6}, shows=("stable_cross_sensitivity",)),
    Fault(name="criterion", changes={"criterion": 1.2}, shows=("criterion",)),
    Fault(name="length", changes={"length": 2.0}, shows=("length_slope",)),
    Fault(name="filler", changes={"filler": 2.5}, shows=("filler_slope",)),
    *(Fault(name=channel, changes={channel: 0.8}, shows=(f"channel_slope@{channel}",)) for channel in CHANNELS),
    Fault(name="wording", changes={"wording": 0.4}, shows=("channel_intercept",)),
    Fault(name="lapse", changes={"lapse_rate": 0.15}, shows=("p_correct_5", "dark_current")),
    Fault(name="call noise", changes={"noise": 2.0}, shows=("resolution",)),
    Fault(name="coin flip", changes=_COIN, shows=("resolution", "dark_current", "p_correct_5")),
    Fault(name="invalid replies", changes={"invalid_rate": 0.1}, shows=("invalid_rate",)),
)


def true_values(dials: Dials, readings: Readings) -> dict[str, float]:
    """What each tested quantity truly is for a judge with these dials, by its key.

    The model's resolution and criterion are left out under lapses, which it holds at 0 (the sheet says how far they
    would move), and its criterion where it is 0, the edge of its range.

    Parameters
    ----------
    readings
        For the lengths of the answers that were shown; no outcome is looked at.
    """
    dials = _in_standard_deviations(dials)
    values = {
        "dark_current": _dark_current(dials),
        **_of_equal_pairs(dials, readings),
        "p_correct_5": _p_correct(dials, 5),
        "position": dials.position,
        "length_slope": dials.length,
        "filler_slope": dials.filler,
        "invalid_rate": dials.invalid_rate,
        **{f"channel_slope@{channel}": float(getattr(dials, channel)) for channel in CHANNELS},
        "channel_intercept": dials.wording,
    }
    if not dials.lapse_rate:
        values["resolution"] = dials.sensitivity
        if dials.criterion:
            values["criterion"] = dials.criterion
    return values


def _in_standard_deviations(dials: Dials) -> Dials:
    """The same judge with its evidence in standard deviations of a reading, the unit of a sheet."""
    sd = hypot(dials.surface, dials.noise)
    scaled = ("sensitivity", "criterion", "position", "surface", "noise", "length", "filler", "wording", *CHANNELS)
    vacuum = None if dials.vacuum_criterion is None else dials.vacuum_criterion / sd
    return replace(dials, **{name: getattr(dials, name) / sd for name in scaled}, vacuum_criterion=vacuum)


def _dark_current(dials: Dials) -> float:
    """Share of readings that prefer where both answers are one text: no stable preference, and noise of its own."""
    criterion = dials.criterion if dials.vacuum_criterion is None else dials.vacuum_criterion
    preferred = sum(_phi((side * dials.position - criterion) / dials.noise) for side in (1, -1))
    return (1 - dials.lapse_rate) * preferred + dials.lapse_rate * 2 / 3


def _p_correct(dials: Dials, delta_q: int) -> float:
    """On the prefix arm, lengths left aside: at five steps they add to what is nearly 1 already."""
    evidence = dials.sensitivity * delta_q - dials.criterion
    right = sum(_phi(evidence + side * dials.position) for side in (1, -1)) / 2
    return (1 - dials.lapse_rate) * right + dials.lapse_rate / 3


def _of_equal_pairs(dials: Dials, readings: Readings) -> dict[str, float]:
    """Decomposition and self-consistency of equal answers, averaged over those that were shown.

    Answer b of such a pair is in the second wording, so that a liking for it is a stable preference for b.
    """
    same = readings.of_probe("same_quality", "same_subset")
    once = same.where((same.order == 0) & (same.repeat == 0))
    again = np.isin(once.stimulus, same.stimulus[same.repeat > 0])
    pulls = dials.length * (once.length_a - once.length_b) / 100 - dials.wording
    cells = [_cells(dials, mean=pull, position=dials.position) for pull in pulls]
    # Two calls in one order share the sign of the position, as two orders share that of a difference in content.
    repeated = [
        np.trace(_cells(dials, mean=pull + side * dials.position, position=0.0))
        for pull in pulls[again]
        for side in (1, -1)
    ]
    return {
        "stable_cross_sensitivity": float(np.mean([cell[0, 0] + cell[2, 2] for cell in cells])),
        "positional_false_preference": float(np.mean([cell[0, 2] + cell[2, 0] for cell in cells])),
        "self_consistency": float(np.mean(repeated)),
    }


def _cells(dials: Dials, *, mean: float, position: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    parameters = Parameters(
        resolution=mean,
        slopes=np.zeros(0),
        position=position,
        criterion=dials.criterion,
        correlation=dials.surface**2,
        task_spread=0.0,
        lapse_rate=dials.lapse_rate,
    )
    return cell_probabilities(parameters, 1.0)
