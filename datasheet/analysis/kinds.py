"""Rows of a table that are alike, found column by column: far faster on large tables than sorting whole rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from datasheet.analysis.bivariate import Numbers

Indices = npt.NDArray[np.intp]


def distinct_rows(rows: Numbers) -> tuple[Numbers, Indices]:
    """The different rows of a table, in ascending order, and which of them each row is.

    Returns
    -------
    Arrays of shapes (K, m) and (n,): what ``numpy.unique(rows, axis=0, return_inverse=True)`` gives.
    """
    n = len(rows)
    kind, count = np.zeros(n, dtype=np.intp), min(n, 1)
    for column in rows.T:
        values, rank = np.unique(column, return_inverse=True)
        kind, count = _renumbered(kind * len(values) + rank, count * len(values))
    example = np.empty(count, dtype=np.intp)
    example[kind] = np.arange(n)
    return rows[example], kind


def _renumbered(codes: Indices, limit: int) -> tuple[Indices, int]:
    """Codes below a limit with those that occur numbered in order, and how many do."""
    if limit > 4 * len(codes):
        values, codes = np.unique(codes, return_inverse=True)
        return codes, len(values)
    occurs = np.zeros(limit, dtype=bool)
    occurs[codes] = True
    number = np.cumsum(occurs) - 1
    return number[codes], int(occurs.sum())
