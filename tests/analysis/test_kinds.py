"""Rows that are alike are found as numpy's own sort of whole rows finds them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from datasheet.analysis.kinds import distinct_rows

VALUES = st.sampled_from([-2.5, -1.0, -0.0, 0.0, 0.25, 3.0, 1e9])


@given(arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=VALUES))
def test_as_numpy_finds_them(rows: np.ndarray) -> None:
    kinds, kind = distinct_rows(rows)
    expected, inverse = np.unique(rows, axis=0, return_inverse=True)
    assert kinds.tolist() == expected.tolist()
    assert kind.tolist() == inverse.ravel().tolist()


@pytest.mark.parametrize(("n", "values"), [(3_000, 2), (3_000, 2_000)])
def test_few_and_many_different_rows(n: int, values: int) -> None:
    rows = np.random.default_rng(1).integers(0, values, (n, 3)) / 8
    kinds, kind = distinct_rows(rows)
    assert len(kinds) == len(np.unique(rows, axis=0))
    assert (kinds[kind] == rows).all()


def test_no_rows_have_no_kinds() -> None:
    kinds, kind = distinct_rows(np.zeros((0, 2)))
    assert (kinds.shape, kind.shape) == ((0, 2), (0,))
