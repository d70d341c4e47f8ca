"""Readings: the one type between logs and analysis, as columns of integer codes.

Slot and content meet here and nowhere else: a verdict is stored by slot (first, tie, second), and :attr:`Readings.slot`
and :attr:`Readings.content` give it as signed numbers in either frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from datasheet.errors import EstimationError
from datasheet.records import ORDERS, OUTCOMES, PROBES

Codes = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

UNKNOWN = -1
"""Code of a value that a log does not give (no task, no level, no length)."""

_TABLES = {"stimulus": "stimulus_ids", "task": "tasks", "arm": "arms", "invalid": "invalid_reasons"}
_NAMES = {"probe": PROBES, "order": ORDERS, "outcome": OUTCOMES}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingRow:
    """One reading as a log gives it; None is "not given"."""

    stimulus: str
    probe: str
    order: str
    outcome: str | None
    invalid: str | None = None
    abstained: bool = False
    arm: str = ""
    task: str | None = None
    delta_q: int | None = None
    level_a: int | None = None
    level_b: int | None = None
    length_a: int | None = None
    length_b: int | None = None
    filler_b: int | None = None
    dose: int | None = None
    repeat: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """Readings of one instrument, one element of each column a reading, sorted by stimulus, order and repeat.

    The order of the rows that they were made from leaves no trace. Codes: ``probe``, ``order`` and ``outcome`` index
    ``PROBES``, ``ORDERS`` and ``OUTCOMES`` of :mod:`datasheet.records`; ``stimulus``, ``task``, ``arm`` and ``invalid``
    index their own tables; -1 is "not known", "no outcome" or "not invalid". Lengths are in ``length_unit``.
    """

    stimulus: Codes
    task: Codes
    probe: Codes
    arm: Codes
    delta_q: Codes
    level_a: Codes
    level_b: Codes
    length_a: Codes
    length_b: Codes
    filler_b: Codes
    dose: Codes
    order: Codes
    repeat: Codes
    outcome: Codes
    invalid: Codes
    abstained: Codes
    stimulus_ids: tuple[str, ...]
    tasks: tuple[str, ...]
    arms: tuple[str, ...]
    invalid_reasons: tuple[str, ...]
    ties_allowed: bool = True
    length_unit: str = "words"
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        lengths = {len(getattr(self, name)) for name in _CODES}
        if len(lengths) != 1:
            raise EstimationError(f"readings need columns of one length, found lengths {sorted(lengths)}")
        limits = {name: len(getattr(self, table)) for name, table in _TABLES.items()}
        limits |= {name: len(names) for name, names in _NAMES.items()} | {"abstained": 2}
        for name, limit in limits.items():
            column = getattr(self, name)
            floor = 0 if name in ("stimulus", "probe", "arm", "order", "abstained") else UNKNOWN
            if column.size and (column.min() < floor or column.max() >= limit):
                raise EstimationError(f"column {name!r} of the readings holds a code outside {floor}..{limit - 1}")
        if ((self.outcome == UNKNOWN) != (self.invalid != UNKNOWN)).any():
            raise EstimationError(
                "a reading has either an outcome or a reason why it is invalid, never both or neither"
            )
        if not self.ties_allowed and (self.outcome == OUTCOMES.index("tie")).any():
            raise EstimationError("the log says that ties are not allowed (ties_allowed false), yet a verdict is a tie")

    def __len__(self) -> int:
        return len(self.stimulus)

    @classmethod
    def from_rows(
        cls,
        rows: Sequence[ReadingRow],
        *,
        ties_allowed: bool = True,
        length_unit: str = "words",
        notes: tuple[str, ...] = (),
    ) -> Readings:
        """Columns from rows, in an order that depends on their content alone."""
        rows = sorted(rows, key=attrgetter("stimulus", "order", "repeat"))
        columns: dict[str, Any] = {}
        tables: dict[str, Any] = {}
        for name, table in _TABLES.items():
            values = [getattr(row, name) for row in rows]
            tables[table] = tuple(sorted({value for value in values if value is not None}))
            code_of = {value: code for code, value in enumerate(tables[table])}
            columns[name] = np.array([code_of.get(value, UNKNOWN) for value in values], dtype=np.int32)
        for name, names in _NAMES.items():
            code = {value: index for index, value in enumerate(names)}
            columns[name] = np.array([code.get(getattr(row, name), UNKNOWN) for row in rows], dtype=np.int32)
        for name in set(_CODES).difference(_TABLES, _NAMES):
            given = [getattr(row, name) for row in rows]
            columns[name] = np.array([UNKNOWN if value is None else int(value) for value in given], dtype=np.int32)
        return cls(**columns, **tables, ties_allowed=ties_allowed, length_unit=length_unit, notes=notes)

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> Readings:
        """Readings from the ``readings`` object of a datasheet (:meth:`to_columns`).

        Raises
        ------
        EstimationError
            A column is missing or holds codes that nothing explains.
        """
        try:
            codes: dict[str, Any] = {name: np.asarray(columns[name], dtype=np.int32) for name in _CODES}
            tables: dict[str, Any] = {
                table: tuple(str(value) for value in columns[table]) for table in _TABLES.values()
            }
            return cls(
                **codes,
                **tables,
                ties_allowed=bool(columns["ties_allowed"]),
                length_unit=str(columns["length_unit"]),
                notes=tuple(columns.get("notes", ())),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as problem:
            raise EstimationError(f"the embedded readings can't be used: {problem!r}") from None

    def to_columns(self) -> dict[str, Any]:
        """Columns and tables as plain lists, for JSON."""
        columns: dict[str, Any] = {name: getattr(self, name).tolist() for name in _CODES}
        columns |= {table: list(getattr(self, table)) for table in _TABLES.values()}
        return columns | {
            "ties_allowed": self.ties_allowed,
            "length_unit": self.length_unit,
            "notes": list(self.notes),
        }

    def where(self, rows: Mask | npt.NDArray[np.intp]) -> Readings:
        """The readings that a mask keeps, or those of some row numbers; the tables stay as they are."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _CODES})

    @property
    def valid(self) -> Mask:
        """Readings with a verdict."""
        return np.asarray(self.outcome != UNKNOWN)

    @property
    def slot(self) -> Codes:
        """+1 prefers the first slot, -1 the second, 0 a tie or no valid reading."""
        return np.where(self.valid, 1 - self.outcome, 0).astype(np.int32)

    @property
    def content(self) -> Codes:
        """+1 prefers content a (the better or canonical one), -1 content b, 0 a tie or no valid reading."""
        return np.where(self.order == 0, self.slot, -self.slot).astype(np.int32)

    def of_probe(self, probe: str, *arms: str) -> Readings:
        """The readings of one probe, and of some of its arms where any are named."""
        mask = self.probe == PROBES.index(probe)
        if arms:
            mask &= np.isin(self.arm, [code for code, arm in enumerate(self.arms) if arm in arms])
        return self.where(mask)

    @property
    def arm_names(self) -> tuple[str, ...]:
        """Arms that occur among these readings, sorted."""
        return tuple(self.arms[code] for code in np.unique(self.arm))


_CODES = tuple(item.name for item in fields(Readings) if item.type == "Codes")
"""The columns, in the order of the fields."""
