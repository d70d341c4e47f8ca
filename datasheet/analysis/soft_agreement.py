"""Do the log-probabilities of labels belong to the verdicts that stand beside them?

A verdict is the likeliest label where the judge is asked for it greedily, and one drawn by the probabilities where it
is asked at a temperature. In neither case is the label of the other answer likelier than the verdict's more often than
not. That is what happens where probabilities are given by content instead of slot (in one of the two orders) or with
labels swapped (in both), and figures made of them would be of something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, sqrt

import numpy as np

from datasheet.label_columns import LabelColumns
from datasheet.readings import UNKNOWN, Codes
from datasheet.records import OUTCOMES, Estimate

MOST_UNLIKELY = 0.05
"""Share of verdicts that are not their likeliest label, from which on figures carry a flag."""

DISAGREE_FLAG = "labels_disagree"
APART_FLAG = "soft_and_hard_apart"
_TIE = OUTCOMES.index("tie")
_SHOWN = ("first", "second")
_SURE_SD = 4.0
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelAgreement:
    """Verdicts beside the labels of their calls.

    Attributes
    ----------
    n
        Calls with a verdict that list any label.
    n_likeliest
        Those whose verdict is their likeliest label.
    n_drawn
        As many would be, on average, if verdicts were drawn by the probabilities.
    mixed_up
        Why the probabilities can't be those of the verdicts; "" where they may.
    """

    n: int
    n_likeliest: int
    n_drawn: float
    mixed_up: str

    @property
    def disagrees(self) -> bool:
        """Whether more than a small share of verdicts are not their likeliest label."""
        return self.n - self.n_likeliest > MOST_UNLIKELY * self.n


def label_agreement(labels: LabelColumns, *, outcome: Codes, order: Codes) -> LabelAgreement:
    """Hold verdicts (slot outcome codes, -1 where there is none) against the labels of their calls, shape (n,) each."""
    told = (labels.mass > 0) & (outcome != UNKNOWN)
    shown, verdict, kept = labels.where(told), outcome[told], order[told]
    shares = np.exp([shown.first, shown.tie, shown.second])
    own, most = shares[verdict, np.arange(len(verdict))], shares.max(axis=0, initial=0.0)
    return LabelAgreement(
        n=len(verdict),
        n_likeliest=int((own >= most * (1 - _ROUNDING)).sum()),
        n_drawn=float((most / shown.mass).sum()),
        mixed_up=next(filter(None, (_mixed_up(shares, verdict, kept == code, code) for code in (0, 1))), ""),
    )


def apart_flagged(hard: Mapping[str, Estimate], soft: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Soft figures, by key with ``@soft``, flagged where their limits and the hard figure's exclude each other.

    Both are of the same calls: one of them rests on what does not hold, as evidence that is normal.
    """
    return {
        key: replace(figure, flags=(*figure.flags, APART_FLAG))
        if _exclude_each_other(figure, hard.get(key.removesuffix("@soft")))
        else figure
        for key, figure in soft.items()
    }


def _exclude_each_other(one: Estimate, other: Estimate | None) -> bool:
    known = ("measured", "bounded")
    if other is None or one.status not in known or other.status not in known:
        return False
    (low, high), (least, most) = (
        (-inf if limits.low is None else limits.low, inf if limits.high is None else limits.high)
        for limits in (one, other)
    )
    return low > most or high < least


def _mixed_up(shares: np.ndarray, verdict: Codes, chosen: np.ndarray, code: int) -> str:
    """Why the probabilities of one order belong to other labels.

    Of calls whose verdict is an answer, so many rate the other answer's label higher: none where verdicts are the
    likeliest label, and at most one half, however high the temperature, where they are drawn. Surely more than one half
    is no readout of these verdicts.
    """
    answers = shares[[0, -1]][:, chosen & (verdict != _TIE)]
    verdicts = verdict[chosen & (verdict != _TIE)] // 2
    own, other = answers[verdicts, np.arange(len(verdicts))], answers[1 - verdicts, np.arange(len(verdicts))]
    against, told = int((other > own).sum()), int((other != own).sum())
    if against - told / 2 <= _SURE_SD * sqrt(told) / 2:
        return ""
    return (
        f"where answer a is shown {_SHOWN[code]}, {against} of {told} verdicts for an answer have a likelier label of "
        "the other: the probabilities are not by slot, as verdicts are, or their labels are swapped"
    )
