"""Log-probabilities of labels as columns, beside the readings that they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from datasheet.errors import EstimationError

LogProbabilities = npt.NDArray[np.float64]

MASS_TOLERANCE = 1e-6
"""How far rounding may carry probabilities beyond their limits."""
PRINTED_TOLERANCE = 0.02
"""How far it may carry the sum of three that were written with two digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelColumns:
    """Natural log-probabilities of the labels at the first token, one element a reading: shape (n,) each.

    Attributes
    ----------
    first, tie, second
        -inf where the label is not among the listed candidates.
    floor
        The smallest listed log-probability of the call: what is not listed lies below. NaN where the call has no
        candidates at all.

    Raises
    ------
    EstimationError
        Columns differ in length, probabilities sum to more than 1, or a label is listed below the floor.
    """

    first: LogProbabilities
    tie: LogProbabilities
    second: LogProbabilities
    floor: LogProbabilities

    def __post_init__(self) -> None:
        if len({len(getattr(self, name)) for name in LABELS}) != 1:
            raise EstimationError("log-probabilities of labels need columns of one length")
        listed, known = np.array([self.first, self.tie, self.second]), ~np.isnan(self.floor)
        if np.isnan(listed).any() or np.isinf(self.floor).any() or (self._sum > 1 + 2 * MASS_TOLERANCE).any():
            raise EstimationError("the probabilities of the labels of a reading are numbers and sum to at most 1")
        below = (listed > -np.inf) & ~(known & (listed >= self.floor - 2 * MASS_TOLERANCE))
        if below.any():
            raise EstimationError("a label is listed below the smallest listed log-probability of its reading")

    def __len__(self) -> int:
        return len(self.first)

    @property
    def mass(self) -> LogProbabilities:
        """Probability of any label, by reading, shape (n,): the rest went to tokens that are no verdict."""
        return np.minimum(1.0, self._sum)

    @property
    def _sum(self) -> LogProbabilities:
        """The same as it is summed, where rounding may carry it beyond 1."""
        return np.asarray(np.exp(np.logaddexp(np.logaddexp(self.first, self.tie), self.second)))

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> LabelColumns:
        """From lists with None for what is not listed (:meth:`to_columns`)."""
        absent = dict.fromkeys(LABELS, -np.inf) | {"floor": np.nan}
        return cls(
            **{
                name: np.array([absent[name] if value is None else value for value in columns[name]], dtype=np.float64)
                for name in LABELS
            }
        )

    def to_columns(self) -> dict[str, list[float | None]]:
        """Lists for JSON, None for what is not listed."""
        return {
            name: [value if np.isfinite(value) else None for value in getattr(self, name).tolist()] for name in LABELS
        }

    def where(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> LabelColumns:
        """Those that a mask of shape (n,) keeps, or those of some row numbers."""
        return LabelColumns(**{name: getattr(self, name)[rows] for name in LABELS})


LABELS = tuple(item.name for item in fields(LabelColumns))
"""The columns, in the order of the fields."""
