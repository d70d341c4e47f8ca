"""Lengths of a large log put into bins, so that few kinds of pairs remain to be worked out.

All pairs of a bin get the mean of their true lengths, over pairs that are alike in all else that the model knows of
them *but their verdicts*. A true length is then its bin's mean and a remainder that the mean tells nothing of (Berkson
1950, J. Am. Stat. Assoc. 45:164), and the remainder is noise: a share v of a reading's variance, which takes a share
of 1 - sqrt(1 - v) from resolution, slopes, position and criterion alike, and is given back. Means over pairs of one
verdict, or bins of round numbers, would bias a slope by the share of the length's variance that lies within bins, which
is far more and not known (``benchmarks/validity/bins.py``). So that v is small, the bin whose lengths differ most is
halved, again and again.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit

from datasheet.analysis.bivariate import Numbers
from datasheet.analysis.kinds import Indices, distinct_rows
from datasheet.analysis.measurement import MeasurementFit
from datasheet.readings import Mask

MOST_KINDS, BINNED_KINDS = 2_000, 1_000
"""With more kinds of pairs than the first, lengths are put into as many bins as make about the second."""

_MOST_LOST = 0.5
_LEAST_CORRELATION = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Binned:
    """Covariates of pairs, shape (n, m), and the covariance that their lengths have within bins, shape (m, m)."""

    covariates: Numbers
    within: Numbers


def binned_lengths(covariates: Numbers, *, lengths: Mask, alike: Numbers, verdicts: Numbers, weight: Numbers) -> Binned:
    """Covariates with lengths put into bins; as they are where they make few enough kinds of pairs.

    Parameters
    ----------
    covariates
        Of each pair, shape (n, m).
    lengths
        Which of them are lengths, shape (m,).
    alike
        What else the model knows of a pair, its verdicts aside, shape (n, p).
    verdicts
        What makes kinds of pairs that are alike, shape (n, q).
    weight
        Of each pair in a mean, shape (n,).
    """
    within = np.zeros((covariates.shape[1], covariates.shape[1]))
    kinds = distinct_rows(np.column_stack([covariates, alike, verdicts]))[0]
    if not lengths.any() or len(kinds) <= MOST_KINDS:
        return Binned(covariates=covariates, within=within)
    group = distinct_rows(np.column_stack([covariates[:, ~lengths], alike]))[1]
    verdict = distinct_rows(verdicts)[1]
    binned = covariates.copy()
    binned[:, lengths] = _means_of_bins(covariates[:, lengths], group, verdict, weight)
    off = covariates - binned
    within[:] = (off * weight[:, None]).T @ off / weight.sum()
    return Binned(covariates=binned, within=within)


def _means_of_bins(values: Numbers, group: Indices, verdict: Indices, weight: Numbers) -> Numbers:
    """For each row the mean over its bin, each group a bin at first, halved where the squares are largest."""
    order = np.argsort(group, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    bins = [_Bin.of(values, weight, rows) for rows in parts]
    heap = [(-bin_.squares, place) for place, bin_ in enumerate(bins)]
    heapq.heapify(heap)
    n_kinds = sum(_n_distinct(verdict[bin_.rows]) for bin_ in bins)
    while heap and n_kinds < BINNED_KINDS:
        squares, place = heapq.heappop(heap)
        if not squares:
            break
        whole = bins[place]
        halves = [_Bin.of(values, weight, rows) for rows in whole.halves(values)]
        bins[place] = halves[0]
        bins.append(halves[1])
        n_kinds += sum(_n_distinct(verdict[half.rows]) for half in halves) - _n_distinct(verdict[whole.rows])
        for at, half in zip((place, len(bins) - 1), halves, strict=True):
            heapq.heappush(heap, (-half.squares, at))
    means = np.empty_like(values)
    for bin_ in bins:
        means[bin_.rows] = bin_.mean
    return means


@dataclass(frozen=True, slots=True)
class _Bin:
    """Some rows, their mean, and the weighted squares of the column that differs most from it."""

    rows: Indices
    mean: Numbers
    column: int
    squares: float

    @classmethod
    def of(cls, values: Numbers, weight: Numbers, rows: Indices) -> _Bin:
        at, share = values[rows], weight[rows]
        mean = share @ at / share.sum()
        squares = share @ (at - mean) ** 2
        column = int(np.argmax(squares))
        # What rounding leaves of equal values is no difference: such a bin can't be halved.
        differs = 0 < np.count_nonzero(at[:, column] > mean[column]) < len(rows)
        return cls(rows, mean, column, float(squares[column]) * differs)

    def halves(self, values: Numbers) -> tuple[Indices, Indices]:
        """The rows below the mean and those above."""
        above = values[self.rows, self.column] > self.mean[self.column]
        return self.rows[~above], self.rows[above]


def _n_distinct(codes: Indices) -> int:
    return int(np.count_nonzero(np.bincount(codes)))


def loss_to_bins(fit: MeasurementFit, within: Numbers) -> float:
    """Variance of the evidence within bins, as a share of a reading's variance where only the bin is known."""
    slopes = fit.parameters.slopes
    return float(np.clip(slopes @ within @ slopes, 0.0, _MOST_LOST))


def without_loss_to_bins(fit: MeasurementFit, within: Numbers) -> MeasurementFit:
    """A fit on binned lengths, in standard deviations of a reading whose lengths are known.

    Parameters
    ----------
    within
        Covariance of the covariates within bins (:class:`Binned`).
    """
    lost = loss_to_bins(fit, within)
    if not lost:
        return fit
    theta, scale = fit.theta.copy(), np.full(len(fit.theta), 1 / np.sqrt(1 - lost))
    tail = {name: fit.names.index(name) for name in ("log_criterion", "logit_correlation", "log_task_spread")}
    scale[list(tail.values())] = 1.0
    theta *= scale
    if fit.free[tail["log_criterion"]]:
        theta[tail["log_criterion"]] -= np.log(1 - lost) / 2
    at = tail["logit_correlation"]
    if fit.free[at]:
        # The two orders of a pair share what its bin hides.
        apparent = float(expit(theta[at]))
        stable = max((apparent - lost) / (1 - lost), _LEAST_CORRELATION)
        scale[at] = apparent * (1 - apparent) / (stable * (1 - stable) * (1 - lost))
        theta[at] = logit(stable)
    by = np.outer(scale, scale)
    return replace(fit, theta=theta, covariance=fit.covariance * by, robust_covariance=fit.robust_covariance * by)
