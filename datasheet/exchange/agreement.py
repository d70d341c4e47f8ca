"""Do the lines of a verdict log agree? A reading is given once, and a pair is described alike by all its readings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from datasheet.errors import VerdictLogError
from datasheet.readings import UNKNOWN, Codes, ReadingColumns

_FACTS = ("probe", "arm", "task", "delta_q", "dose")
"""What all readings of a pair have in common, whoever made them."""

_SIZES = ("level_a", "level_b", "length_a", "length_b", "filler_b")
"""What all readings of a pair by one judge have in common where they tell it: judges may count tokens of their own."""


def refuse_disagreement(
    columns: ReadingColumns, *, lines: Sequence[int], instruments: Sequence[int], name: str
) -> None:
    """Hold the rows of a log to each other.

    Parameters
    ----------
    lines, instruments
        Line number and number of the judge and prompt of each row.
    name
        The file's name, for messages.

    Raises
    ------
    VerdictLogError
        A reading is given twice, or a pair is described in two ways; the message names the first such line and the one
        that it does not fit.
    """
    repeated, different = _repeated(columns, np.array(instruments)), _different(columns, np.array(instruments))
    if repeated is not None and (different is None or repeated[1] <= different[1]):
        row, again = repeated
        raise VerdictLogError(
            f"{name}: lines {lines[row]} and {lines[again]} give the same reading twice "
            f"(pair {columns.value('stimulus', row)!r:.80}, order {columns.value('order', row)}, "
            f"repeat {columns.value('repeat', row)}): keep one, or number the repeats"
        )
    if different is not None:
        row, again, facts = different
        known, other = (tuple(columns.value(fact, at) for fact in facts) for at in (row, again))
        raise VerdictLogError(
            f"{name}: lines {lines[row]} and {lines[again]} describe pair {columns.value('stimulus', row)!r:.80} "
            f"differently ({', '.join(facts)}): {known} and {other}; a and b are the same two answers in both orders"
        )


def _repeated(columns: ReadingColumns, instruments: Codes) -> tuple[int, int] | None:
    """The first row that gives a reading again, behind the row that gave it before."""
    keys = [*(columns.codes(name) for name in ("repeat", "order", "stimulus")), instruments]
    at = np.lexsort(keys)  # stable: equal readings stay in the order of their lines
    equal = np.logical_and.reduce([key[at][1:] == key[at][:-1] for key in keys])
    if not equal.any():
        return None
    second = at[1:][equal]
    which = int(second.argmin())
    return int(at[:-1][equal][which]), int(second[which])


def _different(columns: ReadingColumns, instruments: Codes) -> tuple[int, int, tuple[str, ...]] | None:
    """The first row that describes its pair otherwise than the first that tells, behind that one; and in what."""
    stimulus = columns.codes("stimulus")
    facts = np.column_stack([columns.codes(name) for name in _FACTS])
    found = [_first_other(facts, stimulus, np.arange(len(stimulus)), _FACTS)]
    by_judge = stimulus.astype(np.int64) * (int(instruments.max(initial=0)) + 1) + instruments
    for name in _SIZES:
        size = columns.codes(name)
        found.append(_first_other(size[:, None], by_judge, np.flatnonzero(size != UNKNOWN), (name,)))
    return min(filter(None, found), key=lambda at: at[1], default=None)


def _first_other(
    values: Codes, pair: npt.NDArray[np.integer[Any]], telling: npt.NDArray[np.intp], names: tuple[str, ...]
) -> tuple[int, int, tuple[str, ...]] | None:
    """The first of the telling rows whose values, shape (n, m), are not those of the first that tells of its pair."""
    _, first, place = np.unique(pair[telling], return_index=True, return_inverse=True)
    before = telling[first[place]]
    differs = (values[telling] != values[before]).any(axis=1)
    at = int(differs.argmax()) if differs.any() else None
    return None if at is None else (int(before[at]), int(telling[at]), names)
