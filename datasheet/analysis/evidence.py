"""The likelihood of the measurement model: latent evidence, a tie band, and two orders that share stable preferences.

For a pair whose content a is D quality steps better and whose other differences are x (length, filler, channels)::

    X_ab = k exp(τ z) D + γ·x + b + e_ab        X_ba = k exp(τ z) D + γ·x - b + e_ba

e_ab and e_ba are standard normal with correlation ρ, z is standard normal for each task. A reading prefers a where its
X is above c, b where it is below -c, and ties between. A pair with both orders is one of nine cells of the bivariate
normal; a reading without its partner is one of three. Each call lapses with probability λ into a uniform draw.

Pairs that look alike to the model (same ΔQ, same x, same two readings) are one *kind*: its probability is worked out
once, however many tasks and pairs show it. A pair weighs 1 over the repeats of its stimulus: repeats tell nothing of
other stimuli.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, ndtr

from datasheet.analysis.bivariate import Numbers, bvn_cdf, bvn_slopes, normal_pdf
from datasheet.analysis.kinds import distinct_rows
from datasheet.analysis.task_factor import TaskAverage
from datasheet.readings import Codes, Mask

MISSING = 2
"""Code of an order that has no valid reading."""

_LEAST_PROBABILITY = 1e-13


@dataclass(frozen=True, kw_only=True)
class PairTable:
    """What the model sees: one element (or row) a kind of pair, and how often each task shows it.

    Attributes
    ----------
    delta_q
        Quality steps by which content a is better, shape (K,).
    covariates
        Differences between the contents (a minus b) that evidence may depend on, shape (K, m).
    content_ab, content_ba
        +1 prefers a, 0 ties, -1 prefers b, :data:`MISSING` where that order has no valid reading, shape (K,).
    counts
        Weighted number of pairs of each kind in each task, sparse, shape (G, K).
    n_pairs
        Sum of the weights: stimuli, however often they were repeated.
    n_outcomes
        Verdicts that the prompt allows: 3, or 2 where none is a tie.
    """

    delta_q: Numbers
    covariates: Numbers
    content_ab: Codes
    content_ba: Codes
    counts: csr_array
    n_outcomes: int = 3

    def __len__(self) -> int:
        return len(self.delta_q)

    @classmethod
    def of_pairs(
        cls,
        *,
        delta_q: Numbers,
        covariates: Numbers,
        content_ab: Codes,
        content_ba: Codes,
        cluster: Codes,
        weight: Numbers,
        n_outcomes: int = 3,
    ) -> PairTable:
        """Kinds and counts from one element (or row) a pair; ``cluster`` holds task codes."""
        columns = np.column_stack([delta_q, covariates, content_ab, content_ba])
        kinds, kind = distinct_rows(columns)
        _, task = np.unique(cluster, return_inverse=True)
        counts = csr_array((weight, (task, kind)), shape=(int(task.max(initial=-1)) + 1, len(kinds)))
        return cls(
            delta_q=kinds[:, 0],
            covariates=kinds[:, 1:-2],
            content_ab=kinds[:, -2].astype(np.int32),
            content_ba=kinds[:, -1].astype(np.int32),
            counts=counts,
            n_outcomes=n_outcomes,
        )

    @property
    def n_clusters(self) -> int:
        """Number of tasks."""
        return int(self.counts.shape[0])

    @property
    def n_pairs(self) -> float:
        """Sum of the weights of all pairs."""
        return float(self.counts.sum())

    @cached_property
    def most_pairs(self) -> float:
        """Sum of the weights in the task that has most."""
        return float(self.counts.sum(axis=1).max(initial=0.0))

    @property
    def weight(self) -> Numbers:
        """Weighted number of pairs of each kind over all tasks, shape (K,)."""
        return np.asarray(self.counts.sum(axis=0)).ravel()

    @cached_property
    def parts(self) -> tuple[tuple[PairTable, float, bool], ...]:
        """The kinds by what their likelihood takes: (table, sign, whether quality differs).

        ``sign`` is 0 with both orders, +1 (-1) with order ab (ba) alone; without a quality difference the task factor
        changes nothing.
        """
        both = (self.content_ab != MISSING) & (self.content_ba != MISSING)
        orders = (
            (both, 0.0),
            ((self.content_ba == MISSING) & ~both, 1.0),
            ((self.content_ab == MISSING) & ~both, -1.0),
        )
        masks = (
            (chosen & ((self.delta_q != 0) == differs), sign, differs)
            for chosen, sign in orders
            for differs in (False, True)
        )
        return tuple((self.where(mask), sign, differs) for mask, sign, differs in masks if mask.any())

    def where(self, mask: Mask) -> PairTable:
        """The kinds that a mask keeps, over the same tasks."""
        return PairTable(
            delta_q=self.delta_q[mask],
            covariates=self.covariates[mask],
            content_ab=self.content_ab[mask],
            content_ba=self.content_ba[mask],
            counts=self.counts[:, np.flatnonzero(mask)],
            n_outcomes=self.n_outcomes,
        )

    def with_covariates(self, covariates: Numbers) -> PairTable:
        """The same pairs with other covariates."""
        return replace(self, covariates=covariates)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Parameters on their natural scales; evidence is in standard deviations of a reading.

    ``resolution`` k, ``slopes`` γ of shape (m,), ``position`` b, ``criterion`` c ≥ 0, ``correlation`` ρ, ``lapse_rate``
    λ, ``task_spread`` τ ≥ 0 (standard deviation of log k over tasks).
    """

    resolution: float
    slopes: Numbers
    position: float
    criterion: float
    correlation: float
    task_spread: float
    lapse_rate: float = 0.0

    @classmethod
    def from_vector(cls, theta: Numbers, *, lapse_rate: float = 0.0) -> Parameters:
        """From (k, γ…, b, log c, logit ρ, log τ)."""
        return cls(
            resolution=float(theta[0]),
            slopes=theta[1:-4],
            position=float(theta[-4]),
            criterion=float(np.exp(theta[-3])),
            correlation=float(expit(theta[-2])),
            task_spread=float(np.exp(theta[-1])),
            lapse_rate=lapse_rate,
        )


def _bounds(content: Codes, criterion: float) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """(low, high) ends of X for each verdict, and their derivatives by c."""
    low = np.where(content == 1, criterion, np.where(content == 0, -criterion, -np.inf))
    high = np.where(content == 1, np.inf, np.where(content == 0, criterion, -criterion))
    low_slope = np.where(content == 1, 1.0, np.where(content == 0, -1.0, 0.0))
    high_slope = np.where(content == 1, 0.0, np.where(content == 0, 1.0, -1.0))
    return low, high, low_slope, high_slope


@dataclass(frozen=True, slots=True)
class _Cells:
    """log P of each row at each node, and its derivatives by the common mean, b, c and ρ: arrays (n, q)."""

    log_p: Numbers
    by_mean: Numbers
    by_position: Numbers
    by_criterion: Numbers
    by_correlation: Numbers


def _single(mean: Numbers, content: Codes, sign: float, parameters: Parameters, n_outcomes: int) -> _Cells:
    """Rows with one order: ``sign`` is +1 where a is shown first."""
    low, high, low_slope, high_slope = (end[:, None] for end in _bounds(content, parameters.criterion))
    centre = mean + sign * parameters.position
    at_low, at_high = normal_pdf(low - centre), normal_pdf(high - centre)
    keep = 1 - parameters.lapse_rate
    p = keep * (ndtr(high - centre) - ndtr(low - centre)) + parameters.lapse_rate / n_outcomes
    p = np.clip(p, _LEAST_PROBABILITY, 1.0)
    by_mean = keep * (at_low - at_high) / p
    by_criterion = keep * (at_high * high_slope - at_low * low_slope) / p
    return _Cells(np.log(p), by_mean, sign * by_mean, by_criterion, np.zeros_like(p))


def _corner(
    end_1: Numbers, end_2: Numbers, mean_1: Numbers, mean_2: Numbers, rho: float
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """The bivariate normal below two ends, and its derivatives by both and by ρ; ends may be infinite.

    Most corners of most cells have an infinite end, where one variable is left or none: only the others need the
    bivariate function, which costs a hundred times as much.
    """
    h, q = end_1 - mean_1, end_2 - mean_2
    below_h, below_q = ndtr(h), ndtr(q)
    at = np.minimum(below_h, below_q)
    d_1, d_2 = normal_pdf(h) * below_q, normal_pdf(q) * below_h
    d_rho = np.zeros_like(at)
    finite = np.isfinite(end_1[:, 0]) & np.isfinite(end_2[:, 0])
    if finite.any():
        at[finite] = bvn_cdf(h[finite], q[finite], rho)
        d_1[finite], d_2[finite], d_rho[finite] = bvn_slopes(h[finite], q[finite], rho)
    return at, d_1, d_2, d_rho


def _double(mean: Numbers, ab: Codes, ba: Codes, parameters: Parameters, n_outcomes: int) -> _Cells:
    """Rows with both orders: rectangles of the bivariate normal, by the four corners."""
    low_1, high_1, low_slope_1, high_slope_1 = (end[:, None] for end in _bounds(ab, parameters.criterion))
    low_2, high_2, low_slope_2, high_slope_2 = (end[:, None] for end in _bounds(ba, parameters.criterion))
    mean_1, mean_2 = mean + parameters.position, mean - parameters.position
    corners = (
        (high_1, high_slope_1, high_2, high_slope_2, 1.0),
        (low_1, low_slope_1, high_2, high_slope_2, -1.0),
        (high_1, high_slope_1, low_2, low_slope_2, -1.0),
        (low_1, low_slope_1, low_2, low_slope_2, 1.0),
    )
    rho, lapse = parameters.correlation, parameters.lapse_rate
    p = np.zeros_like(mean)
    by_1, by_2, by_c, by_rho = (np.zeros_like(mean) for _ in range(4))
    for end_1, slope_1, end_2, slope_2, sign in corners:
        at, d_1, d_2, d_rho = _corner(end_1, end_2, mean_1, mean_2, rho)
        p += sign * at
        by_1 -= sign * d_1
        by_2 -= sign * d_2
        by_c += sign * (d_1 * slope_1 + d_2 * slope_2)
        by_rho += sign * d_rho
    if lapse > 0:
        keep, spread = 1 - lapse, lapse / n_outcomes
        steady = replace(parameters, lapse_rate=0.0)
        first = _single(mean, ab, 1.0, steady, n_outcomes)
        second = _single(mean, ba, -1.0, steady, n_outcomes)
        p_1, p_2 = np.exp(first.log_p), np.exp(second.log_p)
        p = keep**2 * p + keep * spread * (p_1 + p_2) + spread**2
        by_1 = keep**2 * by_1 + keep * spread * p_1 * first.by_mean
        by_2 = keep**2 * by_2 + keep * spread * p_2 * second.by_mean
        by_c = keep**2 * by_c + keep * spread * (p_1 * first.by_criterion + p_2 * second.by_criterion)
        by_rho = keep**2 * by_rho
    p = np.clip(p, _LEAST_PROBABILITY, 1.0)
    return _Cells(np.log(p), (by_1 + by_2) / p, (by_1 - by_2) / p, by_c / p, by_rho / p)


def cell_probabilities(parameters: Parameters, delta_q: float) -> Numbers:
    """The nine cells of a pair on a typical task, at equal length: ab by ba, each as (b, tie, a), shape (3, 3)."""
    outcomes = np.array([-1, 0, 1], dtype=np.int32)
    ab, ba = np.repeat(outcomes, 3), np.tile(outcomes, 3)
    mean = np.full((9, 1), parameters.resolution * delta_q)
    return np.exp(_double(mean, ab, ba, parameters, 3).log_p).reshape(3, 3)


def log_likelihood(theta: Numbers, table: PairTable, *, lapse_rate: float = 0.0) -> tuple[Numbers, Numbers]:
    """Marginal log likelihood of each task, the task factor integrated out, and its gradient.

    Parameters
    ----------
    theta
        (k, γ…, b, log c, logit ρ, log τ), shape (m + 5,).

    Returns
    -------
    Log likelihoods, shape (G,), and their derivatives by theta, shape (G, m + 5).
    """
    parameters = Parameters.from_vector(theta, lapse_rate=lapse_rate)
    average = TaskAverage.for_pairs(table.most_pairs)
    parts = [
        _Part.of(rows, sign, average.nodes if differs else np.zeros(1), parameters)
        for rows, sign, differs in table.parts
    ]
    totals = np.zeros((table.n_clusters, len(average.nodes)))
    for part in parts:
        totals += part.rows.counts @ part.cells.log_p
    values, shares = average(totals)
    slopes = np.zeros((table.n_clusters, len(theta)))
    for part in parts:
        share = shares if len(part.nodes) > 1 else shares.sum(axis=1, keepdims=True)
        for index, column in enumerate(part.columns(parameters)):
            slopes[:, index] += ((part.rows.counts @ column) * share).sum(axis=1)
    return values, slopes


@dataclass(frozen=True, slots=True)
class _Part:
    """Some rows, their cells at each node, and their quality differences stretched by the task factor, (n, q)."""

    rows: PairTable
    nodes: Numbers
    cells: _Cells
    stretched: Numbers

    @classmethod
    def of(cls, rows: PairTable, sign: float, nodes: Numbers, parameters: Parameters) -> _Part:
        stretched = rows.delta_q[:, None] * np.exp(parameters.task_spread * nodes)
        mean = parameters.resolution * stretched + (rows.covariates @ parameters.slopes)[:, None]
        if sign == 0.0:
            cells = _double(mean, rows.content_ab, rows.content_ba, parameters, rows.n_outcomes)
        else:
            content = rows.content_ab if sign > 0 else rows.content_ba
            cells = _single(mean, content, sign, parameters, rows.n_outcomes)
        return cls(rows, nodes, cells, stretched)

    def columns(self, parameters: Parameters) -> Iterator[Numbers]:
        """Derivatives of the log probabilities by each element of theta, arrays (n, q)."""
        rho, by_mean = parameters.correlation, self.cells.by_mean
        yield by_mean * self.stretched
        for covariate in self.rows.covariates.T:
            yield by_mean * covariate[:, None]
        yield self.cells.by_position
        yield self.cells.by_criterion * parameters.criterion
        yield self.cells.by_correlation * rho * (1 - rho)
        yield by_mean * parameters.resolution * self.stretched * self.nodes * parameters.task_spread
