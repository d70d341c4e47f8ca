"""Probabilities of verdicts, and their derivatives: normal distribution functions at the ends of the tie band.

Evidence X prefers a above c and b below -c. That is P(-X < -c), P(X < -c), and P(X < c) - P(X < -c) for a tie, so that
any verdict is a signed sum of distribution functions, and a pair of verdicts one of bivariate distribution functions:
one term where neither is a tie, two where one is, four where both are. A tie is worked out for X or for -X, whichever
has the band in its lower tail: there even the least of probabilities has all its digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import product
from math import log, prod

import numpy as np
from scipy.sparse import csr_array
from scipy.special import log_ndtr, ndtr

from datasheet.analysis.bivariate import LOG_ROOT_2PI, Numbers, bvn_cdf, bvn_slopes, normal_pdf
from datasheet.analysis.parameters import Parameters
from datasheet.readings import Codes

_ROUNDING = 1e-13
"""Of a pair's probability if its orders were independent: what a sum of terms may err by."""
_UNDERFLOW = 1e-290
_EITHER = 0.0
_TERMS = {1: ((-1.0, -1.0, 1.0),), 0: ((_EITHER, 1.0, 1.0), (_EITHER, -1.0, -1.0)), -1: ((1.0, -1.0, 1.0),)}
"""Of a verdict: -1 where X is turned round, the end of the band in units of c, and the sign."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The signed terms of n verdicts, or n pairs of verdicts.

    Attributes
    ----------
    row
        The verdict that each of m terms belongs to, shape (m,).
    flips, ends
        -1 where evidence is turned round, +1 where it is not, 0 where it may be; and the end of the band in units of c,
        shape (1 or 2, m, 1).
    sums
        Signs, sparse, shape (n, m).
    """

    row: Codes
    flips: Numbers
    ends: Numbers
    sums: csr_array

    def total(self, values: Numbers) -> Numbers:
        """Signed sums over the terms of each verdict: (m, q) to (n, q)."""
        return np.asarray(self.sums @ values)

    @classmethod
    def of(cls, *contents: Codes) -> Terms:
        """Of verdicts (+1 prefers a, 0 ties, -1 prefers b) in one order or in both, each of shape (n,)."""
        verdicts, orders = np.stack(contents), len(contents)
        rows, columns = [], []
        for cell in product(_TERMS, repeat=orders):
            alike = np.flatnonzero((verdicts == np.array(cell)[:, None]).all(axis=0))
            for term in product(*(_TERMS[verdict] for verdict in cell)):
                flips, ends, signs = zip(*term, strict=True)
                rows.append(alike)
                columns.append(np.repeat([[*flips, *ends, prod(signs)]], len(alike), axis=0))
        row, column = np.concatenate(rows).astype(np.int32), np.concatenate(columns).T
        shape = (verdicts.shape[1], len(row))
        return cls(
            row=row,
            flips=column[:orders, :, None],
            ends=column[orders:-1, :, None],
            sums=csr_array((column[-1], (row, np.arange(len(row)))), shape=shape),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """A function of the verdicts at each node, and its derivatives by the common mean, b, c and ρ: arrays (n, q)."""

    value: Numbers
    by_mean: Numbers
    by_position: Numbers
    by_criterion: Numbers
    by_correlation: Numbers

    @property
    def logs(self) -> Cells:
        """Logarithms of these probabilities."""
        p = np.clip(self.value, _UNDERFLOW, 1.0)
        slopes = {field.name: getattr(self, field.name) / p for field in fields(self)[1:]}
        return Cells(value=np.log(p), **slopes)

    @classmethod
    def summed(cls, parts: Sequence[tuple[float, Cells]], *, constant: float) -> Cells:
        """A weighted sum of cells of one shape; the constant is added to their values."""
        names = [field.name for field in fields(cls)]
        columns = {name: sum(weight * getattr(cells, name) for weight, cells in parts) for name in names}
        return cls(**columns | {"value": columns["value"] + constant})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """Verdicts of one order, or of both, whose probabilities are to be worked out at many parameters.

    ``content`` is +1 where a is preferred, 0 for a tie and -1 where b is, shape (n,); ``sign`` is +1 where a is shown
    first and -1 where b is. With both orders ``readings`` are the two, and these are empty and 0.
    """

    terms: Terms
    content: Codes
    sign: float
    n_outcomes: int
    readings: tuple[Verdicts, ...] = ()

    @classmethod
    def of_reading(cls, content: Codes, sign: float, *, n_outcomes: int) -> Verdicts:
        """Of one order: +1 prefers a, 0 ties, -1 prefers b, shape (n,)."""
        return cls(terms=Terms.of(content), content=content, sign=sign, n_outcomes=n_outcomes)

    @classmethod
    def of_pair(cls, content_ab: Codes, content_ba: Codes, *, n_outcomes: int) -> Verdicts:
        """Of both orders, coded alike, shape (n,) each."""
        readings = tuple(
            cls.of_reading(content, sign, n_outcomes=n_outcomes)
            for content, sign in ((content_ab, 1.0), (content_ba, -1.0))
        )
        terms, none = Terms.of(content_ab, content_ba), content_ab[:0]
        return cls(terms=terms, content=none, sign=0.0, n_outcomes=n_outcomes, readings=readings)

    def cells(self, mean: Numbers, parameters: Parameters) -> Cells:
        """Probabilities, where ``mean`` is the evidence for content a, position left aside, shape (n, q).

        Each reading may, by itself, be a uniform draw instead, at the lapse rate.
        """
        steady = self._of_pair(mean, parameters) if self.readings else self._of_reading(mean, parameters)
        keep, draw = 1 - parameters.lapse_rate, parameters.lapse_rate / self.n_outcomes
        if draw == 0:
            return steady
        if not self.readings:
            return Cells.summed([(keep, steady)], constant=draw)
        alone = [(keep * draw, reading._of_reading(mean, parameters)) for reading in self.readings]
        return Cells.summed([(keep**2, steady), *alone], constant=draw**2)

    def log_cells(self, mean: Numbers, parameters: Parameters) -> Cells:
        """Logarithms of the probabilities, however small those are.

        Where the orders pull a pair apart so far that rounding takes its probability, it counts as a share of what it
        would be if they were independent: wrong by what does not matter, and with a slope that leads back.
        """
        cells = self.cells(mean, parameters)
        logs, small = cells.logs, cells.value < _ROUNDING
        if parameters.lapse_rate > 0 or not small.any():
            return logs
        at = np.nonzero(small)
        rows, there = at[0].astype(np.int32), mean[at]
        alone = [(1.0, reading._log_alone(there, rows, parameters)) for reading in self.readings or (self,)]
        least = Cells.summed(alone, constant=log(_ROUNDING) if self.readings else 0.0)
        lost = (logs.value[at] < least.value) | (cells.value[at] < _UNDERFLOW)
        for field in fields(Cells):
            getattr(logs, field.name)[at[0][lost], at[1][lost]] = getattr(least, field.name)[lost]
        return logs

    def _of_reading(self, mean: Numbers, parameters: Parameters) -> Cells:
        (flip,), (end,) = self.terms.flips, self.terms.ends
        evidence, total = (mean + self.sign * parameters.position)[self.terms.row], self.terms.total
        flip = _turned(flip, evidence)
        at = end * parameters.criterion - flip * evidence
        slope = normal_pdf(at)
        by_mean = -total(flip * slope)
        return Cells(
            value=total(ndtr(at)),
            by_mean=by_mean,
            by_position=self.sign * by_mean,
            by_criterion=total(slope * end),
            by_correlation=np.zeros_like(mean),
        )

    def _of_pair(self, mean: Numbers, parameters: Parameters) -> Cells:
        (flip_1, flip_2), (end_1, end_2) = self.terms.flips, self.terms.ends
        centre, total = mean[self.terms.row], self.terms.total
        first, second = centre + parameters.position, centre - parameters.position
        flip_1, flip_2 = _turned(flip_1, first), _turned(flip_2, second)
        h, q = end_1 * parameters.criterion - flip_1 * first, end_2 * parameters.criterion - flip_2 * second
        turned = flip_1 * flip_2
        by_h, by_q, by_rho = bvn_slopes(h, q, turned * parameters.correlation)
        by_1, by_2 = flip_1 * by_h, flip_2 * by_q
        return Cells(
            value=total(bvn_cdf(h, q, turned * parameters.correlation)),
            by_mean=-total(by_1 + by_2),
            by_position=total(by_2 - by_1),
            by_criterion=total(by_h * end_1 + by_q * end_2),
            by_correlation=total(turned * by_rho),
        )

    def _log_alone(self, mean: Numbers, rows: Codes, parameters: Parameters) -> Cells:
        """Logarithms of this order's probabilities, in some rows at some means, shape (e,): exact however small."""
        verdict, evidence = self.content[rows], mean + self.sign * parameters.position
        ties = verdict == 0
        flip = np.where(ties, np.where(evidence < 0, -1.0, 1.0), -verdict)
        upper = np.where(ties, 1.0, -1.0) * parameters.criterion - flip * evidence
        lower = np.where(ties, -parameters.criterion - flip * evidence, -np.inf)
        log_upper = log_ndtr(upper)
        value = log_upper + np.log1p(-np.exp(log_ndtr(lower) - log_upper))
        above, below = (np.exp(-0.5 * end * end - LOG_ROOT_2PI - value) for end in (upper, lower))
        by_mean = -flip * (above - below)
        return Cells(
            value=value,
            by_mean=by_mean,
            by_position=self.sign * by_mean,
            by_criterion=np.where(ties, above + below, -above),
            by_correlation=np.zeros_like(mean),
        )


def _turned(flip: Numbers, evidence: Numbers) -> Numbers:
    """The flips of terms, shape (m, 1), those that are open such that the evidence, shape (m, q), is positive."""
    middle = evidence[:, evidence.shape[1] // 2, None]
    return np.where(flip == _EITHER, np.where(middle < 0, -1.0, 1.0), flip)
