"""What the readings of a sheet cover: arms, orders, kinds, repeats and the unit of lengths, as facts without words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from datasheet.analysis.pair_table import dosed
from datasheet.readings import Readings
from datasheet.records import PROBES

Orders = Literal["both", "some", "either", "ab", "ba"]
"""Every stimulus in both orders; some of them; each in one, and both occur; all in ab; all in ba."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What was shown, whether or not the replies could be read.

    Attributes
    ----------
    length_unit
        As the log names it.
    vacuum_kinds, ladder_arms
        Those that occur, sorted.
    orders
        By probe and arm.
    model_parts
        What the joint model is fitted to: any of ``ladder``, ``same_quality`` and ``channel``.
    model_orders
        How many of the two orders occur there.
    repeats
        Fewest and most valid readings of a presentation that has two or more; None where none has.
    """

    length_unit: str
    vacuum_kinds: tuple[str, ...]
    ladder_arms: tuple[str, ...]
    orders: Mapping[tuple[str, str], Orders]
    model_parts: tuple[str, ...]
    model_orders: int
    repeats: tuple[int, int] | None


def scope_of(readings: Readings) -> Scope:
    """The scope of some readings."""
    ladder = readings.of_probe("ladder")
    parts = {
        "ladder": ladder,
        "same_quality": readings.of_probe("same_quality", "same_subset"),
        "channel": dosed(readings),
    }
    return Scope(
        length_unit=readings.length_unit,
        vacuum_kinds=readings.of_probe("vacuum").arm_names,
        ladder_arms=ladder.arm_names,
        orders=_orders(readings),
        model_parts=tuple(name for name, part in parts.items() if len(part)),
        model_orders=len(np.unique(np.concatenate([part.order for part in parts.values()]))),
        repeats=_repeats(readings),
    )


def _orders(readings: Readings) -> dict[tuple[str, str], Orders]:
    """How the stimuli of each probe and arm were shown."""
    n_arms, n_stimuli = len(readings.arms) or 1, len(readings.stimulus_ids) or 1
    place = readings.probe.astype(np.int64) * n_arms + readings.arm
    pairs, pair = np.unique(place * n_stimuli + readings.stimulus, return_inverse=True)
    ab, ba = (np.isin(np.arange(len(pairs)), pair[readings.order == code]) for code in (0, 1))
    places, at = np.unique(pairs // n_stimuli, return_inverse=True)
    counts = np.array([np.bincount(at, weights=shown) for shown in (np.ones(len(pairs)), ab & ba, ab, ba)])
    return {
        (PROBES[code // n_arms], readings.arms[code % n_arms]): _named(*counted)
        for code, counted in zip(places.tolist(), counts.T.tolist(), strict=True)
    }


def _named(pairs: float, in_both: float, in_ab: float, in_ba: float) -> Orders:
    if in_both:
        return "both" if in_both == pairs else "some"
    if in_ab and in_ba:
        return "either"
    return "ab" if in_ab else "ba"


def _repeats(readings: Readings) -> tuple[int, int] | None:
    """Fewest and most valid readings of a repeated presentation."""
    valid = readings.where(readings.valid)
    calls = np.unique(valid.stimulus.astype(np.int64) * 2 + valid.order, return_counts=True)[1]
    repeated = calls[calls > 1]
    return (int(repeated.min()), int(repeated.max())) if len(repeated) else None
