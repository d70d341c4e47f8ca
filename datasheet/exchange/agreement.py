"""Do the lines of a verdict log agree? A reading is given once, and a pair is described alike by all its readings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datasheet.errors import VerdictLogError
from datasheet.readings import Codes, ReadingColumns

_FACTS = ("probe", "arm", "task", "delta_q", "dose")
"""What all readings of a pair have in common, whoever made them."""


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
    repeated, different = _repeated(columns, np.array(instruments)), _different(columns)
    if repeated is not None and (different is None or repeated[1] <= different[1]):
        row, again = repeated
        raise VerdictLogError(
            f"{name}: lines {lines[row]} and {lines[again]} give the same reading twice "
            f"(pair {columns.value('stimulus', row)!r:.80}, order {columns.value('order', row)}, "
            f"repeat {columns.value('repeat', row)}): keep one, or number the repeats"
        )
    if different is not None:
        row, again = different
        known, facts = (tuple(columns.value(fact, at) for fact in _FACTS) for at in different)
        raise VerdictLogError(
            f"{name}: lines {lines[row]} and {lines[again]} describe pair {columns.value('stimulus', row)!r:.80} "
            f"differently ({', '.join(_FACTS)}): {known} and {facts}"
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


def _different(columns: ReadingColumns) -> tuple[int, int] | None:
    """The first row that describes its pair otherwise than the pair's first row, behind that one."""
    stimulus = columns.codes("stimulus")
    _, first = np.unique(stimulus, return_index=True)
    differs = np.zeros(len(stimulus), dtype=bool)
    for name in _FACTS:
        fact = columns.codes(name)
        differs |= fact != fact[first[stimulus]]
    row = int(differs.argmax())
    return (int(first[stimulus[row]]), row) if differs.any() else None
