"""Fit of the measurement model: resolution, criterion, position, stable correlation, task spread and slopes.

Maximum a posteriori with weak priors and analytic gradients. The covariance is the inverse Hessian; beside it stands
the cluster-robust one, from each task's own score, which holds where the model's own picture of the tasks does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtri

from datasheet.analysis.bivariate import Numbers
from datasheet.analysis.evidence import MISSING, PairTable, log_likelihood
from datasheet.analysis.parameters import Parameters
from datasheet.readings import Mask

_Gradient = Callable[[Numbers], Numbers]

_TAIL_NAMES = ("position", "log_criterion", "logit_correlation", "log_task_spread")
_SLOPES = slice(1, -len(_TAIL_NAMES))
_PRIOR_MEANS = {"log_criterion": np.log(0.7), "logit_correlation": -0.5, "log_task_spread": np.log(0.25)}
PRIOR_SDS = {
    "resolution": 4.0,
    "position": 2.0,
    "log_criterion": 2.0,
    "logit_correlation": 1.5,
    "log_task_spread": 0.7,
}
_SLOPE_PRIOR_SD = 5.0
"""Of the evidence that a covariate of usual size makes, whatever unit it is in."""
_NO_SPREAD, _NO_CRITERION = float(np.log(1e-9)), float(np.log(1e-9))
_BOXES = {
    "resolution": (-8.0, 8.0),
    "position": (-8.0, 8.0),
    "log_criterion": (-7.0, 3.0),
    "logit_correlation": (-7.0, 5.0),
    "log_task_spread": (-6.0, 0.5),
}
"""Where the search may go: far beyond what readings can tell apart, and near enough to compute."""
_WIDE_BOXES = {"resolution": (-100.0, 100.0), "position": (-100.0, 100.0), "log_criterion": (-7.0, 4.6)}
"""The same for parameters without a prior, which may run along a ridge."""
_SLOPE_BOX = (-100.0, 100.0)
"""Of the evidence that a covariate of usual size makes."""
_STEP = 1e-5
_POLISHING_STEPS, _HALVINGS = 20, 12
_LEAST_CURVATURE, _LEAST_SCALED = 1e-6, 1.0
_AT_EDGE = 1e-9
"""Of a box, how near to its edge is at it."""
_MORE_SEARCHES = 3
"""Where a search ends on a saddle: from where the Newton steps left it."""
GRADIENT_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementFit:
    """A fitted measurement model.

    Attributes
    ----------
    names
        Of the elements of ``theta``: resolution, slopes, position, log_criterion, logit_correlation, log_task_spread.
    theta
        Maximum a posteriori, shape (p,).
    covariance, robust_covariance
        Inverse Hessian, and the sandwich with the tasks' scores and G/(G-1), shape (p, p); 0 for what is fixed.
    free
        Elements that were fitted, shape (p,).
    log_likelihood
        At ``theta``, without the priors.
    largest_gradient
        Of the log posterior at ``theta``, in units of one posterior standard deviation: 0 at the mode.
    longest_step
        The largest ΔQ of its pairs.
    """

    names: tuple[str, ...]
    theta: Numbers
    covariance: Numbers
    robust_covariance: Numbers
    free: np.ndarray[tuple[int], np.dtype[np.bool_]]
    log_likelihood: float
    largest_gradient: float
    longest_step: float
    n_clusters: int
    n_pairs: int
    lapse_rate: float

    @property
    def converged(self) -> bool:
        """The mode was found."""
        return self.largest_gradient < GRADIENT_TOLERANCE

    @property
    def parameters(self) -> Parameters:
        """The fitted parameters on their natural scales."""
        return Parameters.from_vector(self.theta, lapse_rate=self.lapse_rate)

    @property
    def degrees_of_freedom(self) -> int:
        """Of Student's t in intervals: tasks less one."""
        return max(1, self.n_clusters - 1)


def parameter_names(covariates: Sequence[str]) -> tuple[str, ...]:
    """Names of the elements of theta."""
    return ("resolution", *covariates, *_TAIL_NAMES)


def _priors(names: tuple[str, ...], table: PairTable, without: Sequence[str] = ()) -> tuple[Numbers, Numbers]:
    """Means and standard deviations; infinite for those without a prior."""
    means = np.array([_PRIOR_MEANS.get(name, 0.0) for name in names], dtype=np.float64)
    sds = np.array([PRIOR_SDS.get(name, _SLOPE_PRIOR_SD) for name in names])
    sds[_SLOPES] /= table.sizes
    sds[[name in without for name in names]] = np.inf
    return means, sds


def _moment_start(table: PairTable, names: tuple[str, ...], fixed: Sequence[str]) -> Numbers:
    """A start from shares: position and criterion from the readings at ΔQ 0, resolution from those above.

    A task spread or a criterion that is fixed is none.
    """

    def quantile(hits: Numbers, weight: Numbers) -> float:
        return float(ndtri((hits @ weight + 0.5) / (weight.sum() + 1.0)))

    slots, deltas, weights = [], [], []
    for content, sign in ((table.content_ab, 1), (table.content_ba, -1)):
        valid = content != MISSING
        slots.append(sign * content[valid])
        deltas.append(table.delta_q[valid])
        weights.append(table.weight[valid])
    slot, delta, weight = np.concatenate(slots), np.concatenate(deltas), np.concatenate(weights)
    level = delta == (0 if (delta == 0).any() else delta.min())
    first, second = (quantile((slot[level] == value) * 1.0, weight[level]) for value in (1, -1))
    position, criterion = (first - second) / 2, max(0.05, -(first + second) / 2)
    steps = []
    content = np.concatenate(
        [table.content_ab[table.content_ab != MISSING], table.content_ba[table.content_ba != MISSING]]
    )
    for step in np.unique(delta[delta > 0]):
        at = delta == step
        right, wrong = (quantile((content[at] == value) * 1.0, weight[at]) for value in (1, -1))
        steps.append((right - wrong) / 2 / step)
    start = {name: _PRIOR_MEANS.get(name, 0.0) for name in names}
    start |= {"position": position, "log_criterion": float(np.log(criterion))}
    start["resolution"] = float(np.clip(np.median(steps), -3, 3)) if steps else 0.0
    absent = {"log_task_spread": _NO_SPREAD, "log_criterion": _NO_CRITERION}
    start |= {name: value for name, value in absent.items() if name in fixed}
    return np.array([start[name] for name in names])


def fit_measurement(
    table: PairTable,
    covariates: Sequence[str] = (),
    *,
    lapse_rate: float = 0.0,
    fixed: Sequence[str] = (),
    start: Numbers | None = None,
) -> MeasurementFit:
    """Fit the measurement model.

    Parameters
    ----------
    covariates
        Names of the table's covariates, for their slopes.
    fixed
        Names of parameters that stay at their start: a task spread with one task, a criterion without ties, …
    start
        Start values of all parameters, shape (m + 5,); from the shares of the table if None.

    Raises
    ------
    ValueError
        The table is empty, or the names do not fit its covariates.
    """
    if not len(table) or table.covariates.shape[1] != len(covariates):
        raise ValueError("the model needs pairs, and a name for each covariate")
    starts = [_moment_start(table, parameter_names(covariates), fixed) if start is None else start]
    posterior, boxes, nearly = _searched(table, covariates, lapse_rate, fixed, starts)
    free, names = posterior.free, parameter_names(covariates)
    peak = _polished(nearly, boxes, posterior)
    for _ in range(_MORE_SEARCHES):
        if peak.largest_gradient < GRADIENT_TOLERANCE:
            break
        peak = _polished(_descended(posterior, peak.values, boxes, None), boxes, posterior)
    inverse = peak.inverse
    covariance, robust = np.zeros((2, len(names), len(names)))
    covariance[np.ix_(free, free)] = inverse
    scores = posterior.scores(peak.values)
    factor = table.n_clusters / (table.n_clusters - 1) if table.n_clusters > 1 else 1.0
    robust[np.ix_(free, free)] = inverse @ scores.T @ scores @ inverse * factor
    return MeasurementFit(
        names=names,
        theta=posterior.at(peak.values),
        covariance=covariance,
        robust_covariance=robust,
        free=free,
        log_likelihood=posterior.penalty(peak.values) - peak.negative,
        largest_gradient=peak.largest_gradient,
        longest_step=float(table.delta_q.max()),
        n_clusters=table.n_clusters,
        n_pairs=round(table.n_pairs),
        lapse_rate=lapse_rate,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """Where a posterior is largest: ``theta`` of shape (p,).

    ``log_likelihood`` is without the priors, ``log_posterior`` with those that were used, but for their constants.
    """

    theta: Numbers
    log_likelihood: float
    log_posterior: float


def measurement_mode(
    table: PairTable,
    covariates: Sequence[str],
    *,
    lapse_rate: float,
    fixed: Sequence[str],
    starts: Sequence[Numbers],
    without_prior: Sequence[str] = (),
    curvatures: Numbers | None = None,
) -> Mode:
    """The mode alone, without the curvature that its uncertainty needs; some parameters may go without a prior.

    The search begins at the likeliest of some starts. It is quicker where curvatures near by are known, shape (p,).
    """
    posterior, _, nearly = _searched(table, covariates, lapse_rate, fixed, starts, without_prior, curvatures)
    value, _ = posterior.negative(nearly)
    return Mode(theta=posterior.at(nearly), log_likelihood=posterior.penalty(nearly) - value, log_posterior=-value)


def _searched(
    table: PairTable,
    covariates: Sequence[str],
    lapse_rate: float,
    fixed: Sequence[str],
    starts: Sequence[Numbers],
    without_prior: Sequence[str] = (),
    curvatures: Numbers | None = None,
) -> tuple[_Posterior, Numbers, Numbers]:
    """The posterior, the boxes of its free parameters, and its mode as a quasi-Newton search finds it."""
    names = parameter_names(covariates)
    free = np.array([name not in fixed for name in names])
    usual = _BOXES | {name: box for name, box in _WIDE_BOXES.items() if name in without_prior}
    boxes = np.array([usual.get(name, _SLOPE_BOX) for name in names])
    boxes[_SLOPES] /= table.sizes[:, None]
    within = [np.where(free, np.clip(start, *boxes.T), start) for start in starts]
    theta = within[0]
    if len(within) > 1:
        theta = max(within, key=lambda start: float(log_likelihood(start, table, lapse_rate=lapse_rate)[0].sum()))
    boxes = boxes[free]
    priors = _priors(names, table, without_prior)
    posterior = _Posterior(table=table, theta=theta, free=free, priors=priors, lapse_rate=lapse_rate)
    known = None if curvatures is None else curvatures[free]
    return posterior, boxes, _descended(posterior, theta[free], boxes, known)


def _descended(posterior: _Posterior, start: Numbers, boxes: Numbers, curvatures: Numbers | None) -> Numbers:
    """The mode as a quasi-Newton search finds it, in steps of about one standard deviation of each parameter."""

    if not len(start):
        return start
    if curvatures is None:
        curvatures = np.abs(np.diag(_differenced(start, posterior.gradient(start), posterior.gradient)))
    scale = 1 / np.sqrt(np.maximum(curvatures, np.maximum(posterior.precisions, _LEAST_SCALED)))

    def scaled(values: Numbers) -> tuple[float, Numbers]:
        value, gradient = posterior.negative(values * scale)
        return value, gradient * scale

    best = minimize(scaled, start / scale, jac=True, method="L-BFGS-B", bounds=boxes / scale[:, None],
                    options={"maxiter": 200, "ftol": 1e-12, "gtol": 1e-4})  # fmt: skip
    return np.asarray(np.clip(best.x * scale, *boxes.T))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Posterior:
    """The log posterior as a function of the free parameters; the others stay as they are in ``theta``."""

    table: PairTable
    theta: Numbers
    free: np.ndarray[tuple[int], np.dtype[np.bool_]]
    priors: tuple[Numbers, Numbers]
    lapse_rate: float

    def at(self, values: Numbers) -> Numbers:
        """All parameters, with these values for the free ones."""
        theta = self.theta.copy()
        theta[self.free] = values
        return theta

    def _off(self, values: Numbers) -> tuple[Numbers, Numbers]:
        """Distances from the priors' means in their standard deviations, and those."""
        means, sds = (prior[self.free] for prior in self.priors)
        return (values - means) / sds, sds

    @property
    def precisions(self) -> Numbers:
        """Of the priors of the free parameters, shape (free,)."""
        return np.asarray(1 / self.priors[1][self.free] ** 2)

    def penalty(self, values: Numbers) -> float:
        """Minus the log prior, but for its constant."""
        off, _ = self._off(values)
        return 0.5 * float((off**2).sum())

    def scores(self, values: Numbers) -> Numbers:
        """Each task's gradient of the log likelihood by the free parameters, shape (G, free)."""
        _, scores = log_likelihood(self.at(values), self.table, lapse_rate=self.lapse_rate)
        return scores[:, self.free]

    def negative(self, values: Numbers) -> tuple[float, Numbers]:
        """Minus the log posterior, and its gradient."""
        likelihoods, scores = log_likelihood(self.at(values), self.table, lapse_rate=self.lapse_rate)
        off, sds = self._off(values)
        gradient = scores[:, self.free].sum(axis=0) - off / sds
        return self.penalty(values) - float(likelihoods.sum()), -gradient

    def gradient(self, values: Numbers) -> Numbers:
        """Of minus the log posterior."""
        return self.negative(values)[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Peak:
    """Where a search ended: values of the free parameters, and minus the log posterior there with its derivatives.

    ``at_edge`` marks what is at an edge of its box beyond which the posterior still rises: the search is done with it.
    """

    values: Numbers
    negative: float
    gradient: Numbers
    hessian: Numbers
    at_edge: Mask

    @property
    def inverse(self) -> Numbers:
        """Of the Hessian, shape (free, free)."""
        return np.asarray(np.linalg.inv(self.hessian))

    @property
    def largest_gradient(self) -> float:
        """In standard deviations, of the parameters that are at no edge."""
        scaled = np.abs(self.gradient) * np.sqrt(np.diag(self.inverse))
        return float(scaled[~self.at_edge].max(initial=0.0))


def _polished(start: Numbers, boxes: Numbers, posterior: _Posterior) -> _Peak:
    """Newton steps from a mode that is nearly there, with the Hessian from differences of the analytic gradient.

    What is at the edge of its box stays there while the others move. A step that leads down is halved.
    """
    peak = _peak(start, *posterior.negative(start), boxes, posterior)
    for _ in range(_POLISHING_STEPS):
        inner = ~peak.at_edge
        step = np.zeros_like(start)
        step[inner] = np.linalg.solve(peak.hessian[np.ix_(inner, inner)], peak.gradient[inner])
        if float(peak.gradient @ step) < GRADIENT_TOLERANCE**2 / 4:
            break
        step = np.clip(step, -0.5, 0.5)
        for _ in range(_HALVINGS):
            moved = np.clip(peak.values - step, boxes[:, 0], boxes[:, 1])
            negative, gradient = posterior.negative(moved)
            if negative <= peak.negative:
                break
            step = step / 2
        else:
            break
        peak = _peak(moved, negative, gradient, boxes, posterior)
    return peak


def _peak(values: Numbers, negative: float, gradient: Numbers, boxes: Numbers, posterior: _Posterior) -> _Peak:
    # A search ends at an edge but for rounding.
    reach = _AT_EDGE * (boxes[:, 1] - boxes[:, 0])
    below, above = values <= boxes[:, 0] + reach, values >= boxes[:, 1] - reach
    return _Peak(
        values=values,
        negative=negative,
        gradient=gradient,
        hessian=_hessian(values, gradient, posterior.gradient),
        at_edge=np.asarray((below & (gradient > 0)) | (above & (gradient < 0))),
    )


def _hessian(mode: Numbers, gradient: Numbers, gradient_at: _Gradient) -> Numbers:
    """Symmetric, its curvatures kept above a floor: a flat direction has a large variance, never a negative one."""
    values, vectors = np.linalg.eigh(_differenced(mode, gradient, gradient_at))
    return np.asarray(vectors * np.maximum(values, _LEAST_CURVATURE) @ vectors.T)


def _differenced(values: Numbers, gradient: Numbers, gradient_at: _Gradient) -> Numbers:
    """Symmetric matrix of the differences of a gradient, shape (p, p)."""
    steps = np.eye(len(values)) * _STEP
    columns = np.array([(gradient_at(values + step) - gradient) / _STEP for step in steps])
    return np.asarray((columns + columns.T) / 2)
