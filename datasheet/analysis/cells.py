"""Probabilities of verdicts, and their derivatives: normal distribution functions at the ends of the tie band.

Evidence X prefers a above c and b below -c. That is P(-X < -c), P(X < -c), and P(X < c) - P(X < -c) for a tie, so that
any verdict is a signed sum of distribution functions, and a pair of verdicts one of bivariate distribution functions:
one term where neither is a tie, two where one is, four where both are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import product
from math import prod

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtr

from datasheet.analysis.bivariate import Numbers, bvn_cdf, bvn_slopes, normal_pdf
from datasheet.analysis.parameters import Parameters
from datasheet.readings import Codes

_LEAST_PROBABILITY = 1e-13
_TERMS = {1: ((-1.0, 1.0, 1.0),), 0: ((1.0, 1.0, 1.0), (1.0, -1.0, -1.0)), -1: ((1.0, -1.0, 1.0),)}
"""Of a verdict: whether X is turned round, the end of the band in units of c, and the sign."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The signed terms of n verdicts, or n pairs of verdicts.

    Attributes
    ----------
    row
        The verdict that each of m terms belongs to, shape (m,).
    flips, ends
        -1 where evidence is turned round, else +1; and the end of the band in units of c, shape (1 or 2, m, 1).
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
        """Logarithms of probabilities; those below 1e-13, which rounding may have made, count as that."""
        p = np.clip(self.value, _LEAST_PROBABILITY, 1.0)
        return Cells(
            value=np.log(p),
            by_mean=self.by_mean / p,
            by_position=self.by_position / p,
            by_criterion=self.by_criterion / p,
            by_correlation=self.by_correlation / p,
        )

    @classmethod
    def summed(cls, parts: Sequence[tuple[float, Cells]], *, constant: float) -> Cells:
        """A weighted sum of cells of one shape; the constant is added to their values."""
        names = [field.name for field in fields(cls)]
        columns = {name: sum(weight * getattr(cells, name) for weight, cells in parts) for name in names}
        return cls(**columns | {"value": columns["value"] + constant})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """Verdicts of one order, or of both, whose probabilities are to be worked out at many parameters.

    ``sign`` is +1 where a is shown first and -1 where b is; with both orders it is 0, and ``readings`` are the two.
    """

    terms: Terms
    sign: float
    n_outcomes: int
    readings: tuple[Verdicts, ...] = ()

    @classmethod
    def of_reading(cls, content: Codes, sign: float, *, n_outcomes: int) -> Verdicts:
        """Of one order: +1 prefers a, 0 ties, -1 prefers b, shape (n,)."""
        return cls(terms=Terms.of(content), sign=sign, n_outcomes=n_outcomes)

    @classmethod
    def of_pair(cls, content_ab: Codes, content_ba: Codes, *, n_outcomes: int) -> Verdicts:
        """Of both orders, coded alike, shape (n,) each."""
        readings = tuple(
            cls.of_reading(content, sign, n_outcomes=n_outcomes)
            for content, sign in ((content_ab, 1.0), (content_ba, -1.0))
        )
        return cls(terms=Terms.of(content_ab, content_ba), sign=0.0, n_outcomes=n_outcomes, readings=readings)

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

    def _of_reading(self, mean: Numbers, parameters: Parameters) -> Cells:
        (flip,), (end,) = self.terms.flips, self.terms.ends
        at = flip * (end * parameters.criterion - self.sign * parameters.position - mean[self.terms.row])
        slope, total = flip * normal_pdf(at), self.terms.total
        by_mean = -total(slope)
        return Cells(
            value=total(ndtr(at)),
            by_mean=by_mean,
            by_position=self.sign * by_mean,
            by_criterion=total(slope * end),
            by_correlation=np.zeros_like(mean),
        )

    def _of_pair(self, mean: Numbers, parameters: Parameters) -> Cells:
        (flip_1, flip_2), (end_1, end_2) = self.terms.flips, self.terms.ends
        centre, turned, total = mean[self.terms.row], flip_1 * flip_2, self.terms.total
        h = flip_1 * (end_1 * parameters.criterion - parameters.position - centre)
        q = flip_2 * (end_2 * parameters.criterion + parameters.position - centre)
        by_h, by_q, by_rho = bvn_slopes(h, q, turned * parameters.correlation)
        by_1, by_2 = flip_1 * by_h, flip_2 * by_q
        return Cells(
            value=total(bvn_cdf(h, q, turned * parameters.correlation)),
            by_mean=-total(by_1 + by_2),
            by_position=total(by_2 - by_1),
            by_criterion=total(by_1 * end_1 + by_2 * end_2),
            by_correlation=total(turned * by_rho),
        )
