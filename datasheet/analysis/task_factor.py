"""The factor by which tasks differ, integrated out.

A task's log resolution is that of a typical task plus τz, z standard normal. The likelihood of a task is an average
over z, and how finely z must be looked at depends on what the task tells: after a thousand pairs it is known to a
tenth, and the nodes of a fixed Gauss-Hermite rule lie too far apart to see it. What does not depend on the task is how
the log likelihood of one pair bends with z. It is worked out on a coarse grid for each kind of pair; the sum over a
task's pairs is carried to a grid as fine as the task with most pairs needs, and summed there, where equal steps are all
but exact. What is carried, by a cubic spline, is the root of minus that sum: where verdicts become all but impossible
from one node to the next it rises in a straight line, on which a spline swings little, and its square is never below 0.
Both grids stay where they are whatever the parameters, so that the gradient is that of the sum itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import ceil, sqrt

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import logsumexp

from datasheet.analysis.bivariate import Numbers

_FARTHEST = 4.0
_NODES_A_UNIT = ((500.0, 6), (np.inf, 12))
"""Up to how many pairs a task, how many nodes in a unit of z.

At a task spread of .6 a spline between them errs by less than .01 in the log likelihood of a task. They don't depend on
the spread: a likelihood that changes its nodes on the way has a step there, in which a search is caught.
"""
_FINE_STEPS_A_SD = 1.0
"""Fine steps in one standard deviation of what a task's pairs tell of z: equal steps are then exact to 1e-8."""
_INFORMATION_A_PAIR = 1.0
"""About log k, at most, of a pair in two orders; the task spread itself is taken to be at most 1."""
_LEAST_LOSS = 1e-12
"""A task whose verdicts are likelier than that is certain: the root has a kink at 0."""
_COARSEST, _FINEST = 6, 400
"""Fine steps in a unit of z."""

_HERMITE_NODES, _HERMITE_WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
AVERAGING_NODES: Numbers = np.asarray(_HERMITE_NODES, dtype=np.float64)
"""Gauss-Hermite nodes for averages of curves over tasks, with :data:`AVERAGING_WEIGHTS`."""
AVERAGING_WEIGHTS: Numbers = np.asarray(_HERMITE_WEIGHTS / _HERMITE_WEIGHTS.sum(), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class TaskAverage:
    """The average over z of likelihoods known at some nodes: a spline to fine values of z, and their log weights.

    ``nodes`` has shape (q,), ``spline`` (F, q), ``log_weights`` (F,).
    """

    nodes: Numbers
    spline: Numbers
    log_weights: Numbers

    @classmethod
    def for_pairs(cls, most_pairs: float) -> TaskAverage:
        """Fine enough for a task with so many pairs."""
        steps = next(steps for limit, steps in _NODES_A_UNIT if most_pairs <= limit)
        sd = 1 / sqrt(1 + _INFORMATION_A_PAIR * most_pairs)
        fine = min(_FINEST, max(_COARSEST, ceil(_FINE_STEPS_A_SD / sd)))
        return _average(steps, ceil(fine / steps) * steps)

    def __call__(self, log_likelihoods: Numbers) -> tuple[Numbers, Numbers]:
        """Log of the average likelihood of each task, and how much each node counts for its gradient.

        Parameters
        ----------
        log_likelihoods
            Of each task at the nodes, shape (G, q).

        Returns
        -------
        Arrays of shapes (G,) and (G, q): the gradient of the first by anything is the second, times the gradients of
        the log likelihoods at the nodes, summed over nodes.
        """
        roots = np.sqrt(np.maximum(-log_likelihoods, _LEAST_LOSS))
        fine = roots @ self.spline.T
        weighted = self.log_weights - fine * fine
        most = weighted.max(axis=1, keepdims=True)
        shares = np.exp(weighted - most)
        sums = shares.sum(axis=1, keepdims=True)
        by_root = (shares * fine / sums) @ self.spline
        return np.asarray((most + np.log(sums))[:, 0]), np.asarray(by_root / roots * (-log_likelihoods > _LEAST_LOSS))


@cache
def _average(steps: int, fine_steps: int) -> TaskAverage:
    """With so many nodes and fine steps in a unit of z."""
    nodes, fine = (np.linspace(-_FARTHEST, _FARTHEST, round(2 * _FARTHEST * n) + 1) for n in (steps, fine_steps))
    log_density = -0.5 * fine**2
    spline = CubicSpline(nodes, np.eye(len(nodes)))(fine)
    return TaskAverage(nodes, np.asarray(spline), np.asarray(log_density - logsumexp(log_density)))
