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
from itertools import product

import numpy as np
from scipy.sparse import csr_array

from datasheet.analysis.bivariate import Numbers
from datasheet.analysis.cells import Cells, Verdicts
from datasheet.analysis.kinds import distinct_rows
from datasheet.analysis.parameters import Parameters
from datasheet.analysis.task_factor import TaskAverage
from datasheet.readings import Codes, Mask

MISSING = 2
"""Code of an order that has no valid reading."""


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
        """Kinds and counts from columns of shape (n,), ``covariates`` (n, m); ``cluster`` holds task codes."""
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

    @cached_property
    def sizes(self) -> Numbers:
        """Root mean square of each covariate over the pairs where it is not 0, shape (m,); 1 where it always is."""
        weights = self.weight @ (self.covariates != 0)
        squares = self.weight @ self.covariates**2
        return np.sqrt(np.where(weights > 0, squares / np.maximum(weights, 1e-300), 1.0))

    @property
    def weight(self) -> Numbers:
        """Weighted number of pairs of each kind over all tasks, shape (K,)."""
        return np.asarray(self.counts.sum(axis=0)).ravel()

    @cached_property
    def parts(self) -> tuple[tuple[PairTable, Verdicts, bool], ...]:
        """The kinds by what their likelihood takes: (table, its verdicts, whether quality differs).

        Both orders, order ab alone, order ba alone; without a quality difference the task factor changes nothing.
        """
        has_ab, has_ba = self.content_ab != MISSING, self.content_ba != MISSING
        differs = self.delta_q != 0
        parts = []
        for shown, different in product((has_ab & has_ba, has_ab & ~has_ba, has_ba & ~has_ab), (False, True)):
            rows = self.where(shown & (differs == different))
            if len(rows):
                parts.append((rows, rows._verdicts(), different))
        return tuple(parts)

    def _verdicts(self) -> Verdicts:
        """Where all kinds have the same orders."""
        if (self.content_ba == MISSING).all():
            return Verdicts.of_reading(self.content_ab, 1.0, n_outcomes=self.n_outcomes)
        if (self.content_ab == MISSING).all():
            return Verdicts.of_reading(self.content_ba, -1.0, n_outcomes=self.n_outcomes)
        return Verdicts.of_pair(self.content_ab, self.content_ba, n_outcomes=self.n_outcomes)

    def where(self, mask: Mask) -> PairTable:
        """The kinds that a mask of shape (K,) keeps, over the same tasks."""
        return PairTable(
            delta_q=self.delta_q[mask],
            covariates=self.covariates[mask],
            content_ab=self.content_ab[mask],
            content_ba=self.content_ba[mask],
            counts=self.counts[:, np.flatnonzero(mask)],
            n_outcomes=self.n_outcomes,
        )

    def with_covariates(self, covariates: Numbers) -> PairTable:
        """The same pairs with other covariates, shape (K, m)."""
        return replace(self, covariates=covariates)


def cell_probabilities(parameters: Parameters, delta_q: float) -> Numbers:
    """The nine cells of a pair on a typical task, at equal length: ab by ba, each as (b, tie, a), shape (3, 3)."""
    outcomes = np.array([-1, 0, 1], dtype=np.int32)
    ab, ba = np.repeat(outcomes, 3), np.tile(outcomes, 3)
    mean = np.full((9, 1), parameters.resolution * delta_q)
    return Verdicts.of_pair(ab, ba, n_outcomes=3).cells(mean, parameters).value.reshape(3, 3)


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
        _Part.of(rows, verdicts, average.nodes if differs else np.zeros(1), parameters)
        for rows, verdicts, differs in table.parts
    ]
    totals = np.zeros((table.n_clusters, len(average.nodes)))
    for part in parts:
        totals += part.rows.counts @ part.cells.value
    values, shares = average(totals)
    slopes = np.zeros((table.n_clusters, len(theta)))
    for part in parts:
        share = shares if len(part.nodes) > 1 else shares.sum(axis=1, keepdims=True)
        for index, column in enumerate(part.columns(parameters)):
            slopes[:, index] += ((part.rows.counts @ column) * share).sum(axis=1)
    return values, slopes


@dataclass(frozen=True, slots=True)
class _Part:
    """Some rows, their log cells at each node, and their quality differences stretched by the task factor, (n, q)."""

    rows: PairTable
    nodes: Numbers
    cells: Cells
    stretched: Numbers

    @classmethod
    def of(cls, rows: PairTable, verdicts: Verdicts, nodes: Numbers, parameters: Parameters) -> _Part:
        stretched = rows.delta_q[:, None] * np.exp(parameters.task_spread * nodes)
        mean = parameters.resolution * stretched + (rows.covariates @ parameters.slopes)[:, None]
        return cls(rows, nodes, verdicts.log_cells(mean, parameters), stretched)

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
