"""What the trials of a plan buy: the planned trials as columns for :mod:`datasheet.analysis.power`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from datasheet.analysis.power import SYSTEMS, PlannedWidth, SystemsCompared, planned_widths, systems_compared
from datasheet.readings import ReadingRow, Readings
from datasheet.records import Trial, word_count
from datasheet.sheet.catalogue import define
from datasheet.sheet.scope import scope_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """Widths and smallest detectable effects of a plan, and what comparisons of systems take.

    Attributes
    ----------
    widths
        For the planning observer of :mod:`datasheet.analysis.power`.
    symbols
        Of their keys.
    """

    widths: tuple[PlannedWidth, ...]
    symbols: Mapping[str, str]
    systems: tuple[SystemsCompared, ...]

    def width(self, planned: PlannedWidth) -> str:
        """A half-width with its symbol."""
        return f"{self.symbols[planned.key]} {planned.value:.2f} ±{planned.half_width:.2f}"

    def effect(self, planned: PlannedWidth) -> str:
        """A smallest detectable effect with its symbol."""
        return f"{self.symbols[planned.key]} {'×' if planned.ratio else ''}{planned.detectable:.2f}"


def precision_of(trials: Sequence[Trial], *, ties_allowed: bool) -> Precision:
    """What some trials buy, under a prompt that allows ties or does not."""
    readings = planned_readings(trials, ties_allowed=ties_allowed)
    widths, scope = planned_widths(readings), scope_of(readings)
    return Precision(
        widths=widths,
        symbols={width.key: define(width.key, scope).symbol for width in widths},
        systems=tuple(map(systems_compared, SYSTEMS)),
    )


def planned_readings(trials: Sequence[Trial], *, ties_allowed: bool) -> Readings:
    """A reading for each trial, all of the same outcome."""
    rows = (
        ReadingRow(
            stimulus=trial.stimulus.id,
            probe=trial.stimulus.probe,
            arm=trial.stimulus.arm,
            task=trial.stimulus.task,
            order=trial.order,
            repeat=trial.repeat,
            outcome="first",
            delta_q=trial.stimulus.delta_q if trial.stimulus.level_a is not None else None,
            level_a=trial.stimulus.level_a,
            level_b=trial.stimulus.level_b,
            length_a=word_count(trial.stimulus.answer_a),
            length_b=word_count(trial.stimulus.answer_b),
            filler_b=trial.stimulus.filler_b,
            dose=trial.stimulus.dose,
        )
        for trial in trials
    )
    return Readings.from_rows(rows, ties_allowed=ties_allowed)
