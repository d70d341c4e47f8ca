"""Readings: the one type between logs and analysis, as columns of integer codes.

Slot and content meet here and nowhere else: a verdict is stored by slot (first, tie, second), and :attr:`Readings.slot`
and :attr:`Readings.content` give it as signed numbers in either frame.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from datasheet.errors import EstimationError
from datasheet.label_columns import LABELS, LabelColumns
from datasheet.records import ORDERS, OUTCOMES, PROBES, LabelLogProbabilities

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
    labels: LabelLogProbabilities | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """Readings of one instrument, one element of each column a reading, sorted by stimulus, order and repeat.

    The order of the rows that they were made from leaves no trace. Codes: ``probe``, ``order`` and ``outcome`` index
    ``PROBES``, ``ORDERS`` and ``OUTCOMES`` of :mod:`datasheet.records`; ``stimulus``, ``task``, ``arm`` and ``invalid``
    index their own tables; -1 is "not known", "no outcome" or "not invalid". Lengths are in ``length_unit``. ``labels``
    holds the log-probabilities of the labels, None where no reading has any.

    Raises
    ------
    EstimationError
        Columns differ in length, a code has no meaning, or a reading has both an outcome and a reason why it is
        invalid, or neither.
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
    labels: LabelColumns | None = None

    def __post_init__(self) -> None:
        lengths = {len(getattr(self, name)) for name in _CODES}
        if self.labels is not None:
            lengths.add(len(self.labels))
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
        rows: Iterable[ReadingRow],
        *,
        ties_allowed: bool = True,
        length_unit: str = "words",
        notes: tuple[str, ...] = (),
    ) -> Readings:
        """Columns from rows, in an order that depends on their content alone.

        Raises
        ------
        EstimationError
            The rows do not fit together (:class:`Readings`).
        """
        columns = ReadingColumns()
        for row in rows:
            columns.add({name: getattr(row, name) for name in (*_CODES, "labels")})
        return columns.readings(ties_allowed=ties_allowed, length_unit=length_unit, notes=notes)

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
                labels=LabelColumns.from_columns(columns["labels"]) if "labels" in columns else None,
            )
        except (KeyError, TypeError, ValueError, OverflowError) as problem:
            raise EstimationError(f"the embedded readings can't be used: {problem!r}") from None

    def to_columns(self) -> dict[str, Any]:
        """Columns and tables as plain lists, for JSON."""
        columns: dict[str, Any] = {name: getattr(self, name).tolist() for name in _CODES}
        columns |= {table: list(getattr(self, table)) for table in _TABLES.values()}
        if self.labels is not None:
            columns["labels"] = self.labels.to_columns()
        return columns | {
            "ties_allowed": self.ties_allowed,
            "length_unit": self.length_unit,
            "notes": list(self.notes),
        }

    def where(self, rows: Mask | npt.NDArray[np.intp]) -> Readings:
        """The readings that a mask of shape (n,) keeps, or those of some row numbers; the tables stay as they are."""
        at = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        labels = None if self.labels is None else self.labels.where(at)
        return replace(self, **{name: getattr(self, name)[at] for name in _CODES}, labels=labels)

    @property
    def valid(self) -> Mask:
        """Which readings have a verdict, shape (n,)."""
        return np.asarray(self.outcome != UNKNOWN)

    @property
    def slot(self) -> Codes:
        """+1 prefers the first slot, -1 the second, 0 a tie or no valid reading; shape (n,)."""
        return np.where(self.valid, 1 - self.outcome, 0).astype(np.int32)

    @property
    def content(self) -> Codes:
        """+1 prefers content a (the better or canonical one), -1 b, 0 a tie or no valid reading; shape (n,)."""
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


class ReadingColumns:
    """Columns that readings are added to one by one, without an object for each: what large logs are read into.

    A value of a table gets the next code when it is first met; :meth:`readings` numbers the values in their own order.
    Log-probabilities of labels take room for those readings alone that have them.
    """

    def __init__(self) -> None:
        self._columns = {name: array("i") for name in _CODES}
        self._codes: dict[str, dict[Any, int]] = {name: {} for name in _TABLES}
        self._codes |= {name: {value: code for code, value in enumerate(names)} for name, names in _NAMES.items()}
        self._coded = [(name, self._columns[name].append, codes) for name, codes in self._codes.items()]
        self._plain = [(name, column.append) for name, column in self._columns.items() if name not in self._codes]

        self._labelled, self._labels = array("i"), {name: array("d") for name in LABELS}

    def __len__(self) -> int:
        return len(self._columns["stimulus"])

    def add(self, reading: Mapping[str, Any]) -> None:
        """Add a reading, its values by column; what is None or not there is not known, other names are left aside."""
        labels = reading.get("labels")
        if labels is not None:
            self._labelled.append(len(self))
            for name, values in self._labels.items():
                values.append(getattr(labels, name))
        for name, append, codes in self._coded:
            value = reading.get(name)
            append(UNKNOWN if value is None else codes.setdefault(value, len(codes)))
        for name, append in self._plain:
            value = reading.get(name)
            append(UNKNOWN if value is None else value)

    def codes(self, name: str) -> Codes:
        """A column as it stands, in the order of the rows, shape (n,)."""
        return np.array(self._columns[name], dtype=np.int32)

    def value(self, name: str, row: int) -> Any:
        """What a row was given in a column; None where it was not."""
        code = self._columns[name][row]
        if code == UNKNOWN or name not in self._codes:
            return None if code == UNKNOWN else code
        return list(self._codes[name])[code]

    def readings(
        self,
        kept: Mask | None = None,
        *,
        ties_allowed: bool = True,
        length_unit: str = "words",
        notes: tuple[str, ...] = (),
    ) -> Readings:
        """The readings (those that a mask keeps, if given), in an order that depends on their content alone.

        Raises
        ------
        EstimationError
            They do not fit together (:class:`Readings`).
        """
        columns: dict[str, Any] = {name: self.codes(name) for name in _CODES}
        rows = np.arange(len(self)) if kept is None else np.flatnonzero(kept)
        columns = {name: column[rows] for name, column in columns.items()}
        tables: dict[str, Any] = {}
        for name, table in _TABLES.items():
            columns[name], tables[table] = _by_value(columns[name], tuple(self._codes[name]))
        at = np.lexsort([columns[name] for name in ("repeat", "order", "stimulus")])
        columns = {name: column[at] for name, column in columns.items()} | {"labels": self._label_columns(rows[at])}
        return Readings(**columns, **tables, ties_allowed=ties_allowed, length_unit=length_unit, notes=notes)

    def _label_columns(self, rows: npt.NDArray[np.intp]) -> LabelColumns | None:
        """Those of some rows; None where none of them has any."""
        if not np.isin(rows, self._labelled).any():
            return None
        columns = {}
        for name, values in self._labels.items():
            column = np.full(len(self), np.nan if name == "floor" else -np.inf)
            column[np.array(self._labelled)] = values
            columns[name] = column[rows]
        return LabelColumns(**columns)


def _by_value(codes: Codes, values: tuple[str, ...]) -> tuple[Codes, tuple[str, ...]]:
    """A column with the values that occur in it numbered in their own order, and those values."""
    used = np.flatnonzero(np.bincount(codes[codes != UNKNOWN], minlength=len(values)))
    ranked = sorted(used.tolist(), key=values.__getitem__)
    renumbered = np.full(len(values) + 1, UNKNOWN, dtype=np.int32)  # the last is where UNKNOWN, -1, points to
    renumbered[ranked] = np.arange(len(ranked))
    return renumbered[codes], tuple(values[code] for code in ranked)
