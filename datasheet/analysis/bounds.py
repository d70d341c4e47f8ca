"""What the readings alone say of resolution, slopes, criterion and position: profile likelihoods without priors.

A judge that never errs, never ties, or always takes the first slot leaves a ridge: evidence, criterion and position may
all be large together. The priors then choose a point on it, and the curvature there is the priors' too. So wherever one
of the three is loosely known, each is followed outwards, the others free and without priors, until the readings object
or the edge is reached. So is a slope that is loosely known, as of a nuisance that the judge always falls for. A side on
which the readings never object is open, and no number is printed for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp, log, sqrt

import numpy as np
from scipy.optimize import brentq

from datasheet.analysis.bivariate import Numbers
from datasheet.analysis.derived import Uncertainty
from datasheet.analysis.measurement import MeasurementFit, Mode, measurement_mode
from datasheet.analysis.pair_table import ModelTable
from datasheet.records import Estimate

_EDGES = {"position": (-8.0, 8.0), "log_criterion": (-6.0, log(8.0))}
"""Beyond what readings can tell apart: 8 standard deviations, or a tie band of a four-hundredth of one."""
_LARGEST_MEAN = 40.0
"""Evidence, in standard deviations, that the longest step or largest covariate makes at the edge of its slope."""
_NO_JUDGES_MEAN = 10.0
"""Evidence beyond which a limit on the far side of 0 says nothing of a slope."""
_SPREAD = "log_task_spread"
_LOOSE = 0.5
"""A half width, in sd of evidence or log c, from which priors may matter: they are 2 to 5 wide."""
_LONGEST_FIRST_STEP = 1.0
_TOLERANCE = 0.005
"""Of the root of the deviance, in standard deviations."""
_LEAST_STEP = 1e-6


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Profiles of one fit; worked out only where they are asked for."""

    made: ModelTable
    fit: MeasurementFit
    _modes: dict[str, dict[float, Mode]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def edges(self) -> dict[str, tuple[float, float]]:
        """Those of the parameters that may be followed, and how far: what was fitted of k, slopes, c and b."""
        table, covariates = self.made.table, self.made.covariates
        longest = {"resolution": max(1.0, float(table.delta_q.max()))}
        longest |= dict(zip(covariates, np.abs(table.covariates).max(axis=0, initial=0.0), strict=True))
        edges = {name: (-_LARGEST_MEAN / size, _LARGEST_MEAN / size) for name, size in longest.items() if size}
        return {name: edge for name, edge in (edges | _EDGES).items() if self._is_free(name)}

    def _is_free(self, name: str) -> bool:
        return bool(self.fit.free[self.fit.names.index(name)])

    @cached_property
    def _loose(self) -> frozenset[str]:
        """What is so loosely known that its prior may stand behind it."""
        uncertainty = Uncertainty(fit=self.fit)
        sizes = dict(zip(self.made.covariates, self.made.table.sizes, strict=True))
        return frozenset(
            name for name in self.edges if uncertainty.quantile * uncertainty.of(name) * sizes.get(name, 1.0) > _LOOSE
        )

    def needed(self, name: str) -> bool:
        """Whether a parameter is to be followed: a slope if it is loosely known; k, c and b if one of them is."""
        slopes = set(self.made.covariates)
        return name in self._loose if name in slopes else name in self.edges and bool(self._loose - slopes)

    @cached_property
    def _best(self) -> Mode:
        return self._mode([self.fit.theta])

    @cached_property
    def curvatures(self) -> Numbers:
        """Of the log posterior at the fit, shape (p,); 0 for what is fixed."""
        free = self.fit.free
        curvatures = np.zeros(len(free))
        curvatures[free] = np.diag(np.linalg.inv(self.fit.covariance[np.ix_(free, free)]))
        return curvatures

    def _mode(self, starts: Sequence[Numbers], *held: str) -> Mode:
        fixed = [name for name in self.fit.names if not self._is_free(name)]
        return measurement_mode(
            self.made.table,
            self.made.covariates,
            fixed=[*fixed, *held],
            starts=starts,
            lapse_rate=self.fit.lapse_rate,
            without_prior=[name for name in (*self.edges, _SPREAD) if name not in held],
            curvatures=self.curvatures,
        )

    def _held(self, name: str, value: float) -> Mode:
        """The mode with a parameter held at a value, searched once."""
        index = self.fit.names.index(name)
        known = self._modes.setdefault(name, {float(self._best.theta[index]): self._best})
        if value not in known:
            known[value] = self._mode(self._starts(name, value, known), name)
        return known[value]

    def _starts(self, name: str, value: float, known: dict[float, Mode]) -> list[Numbers]:
        """Where to begin with a parameter at a value: as it goes between two modes, or beyond the nearest one."""
        below = max((at for at in known if at < value), default=None)
        above = min((at for at in known if at > value), default=None)
        if below is None or above is None:
            nearest = min(known, key=lambda at: abs(at - value))
            return self._outward(name, value, known[nearest].theta)
        share = (value - below) / (above - below)
        between = (1 - share) * known[below].theta + share * known[above].theta
        likelier = np.array(max(known[below], known[above], key=lambda mode: mode.log_posterior).theta)
        likelier[self.fit.names.index(name)] = value
        return [between, likelier]

    def _outward(self, name: str, value: float, theta: Numbers) -> list[Numbers]:
        """Where to begin farther out than any mode that is known.

        Far out, verdicts against the evidence are all equally impossible, and no slope leads back to a ridge. So the
        search also tries what keeps to one: all evidence grown alike, or the band or the position with the resolution.
        """
        index, position, criterion = self.fit.names.index(name), -4, -3
        start = np.array(theta)
        moved = abs(value - start[index]) * max(1.0, float(self.made.table.delta_q.max()))
        before, after = (exp(at) if name == "log_criterion" else at for at in (start[index], value))
        along = self.fit.covariance[index] / self.fit.covariance[index, index]
        starts = [start + (value - start[index]) * along]
        start[index] = value
        starts.append(start)
        if before * after > 0:
            grown = start * np.where(np.arange(len(start)) < len(start) + position + 1, after / before, 1.0)
            grown[criterion] += log(after / before)
            grown[index] = value
            starts.append(grown)
        if name == "resolution":
            wider, pulled = np.array(start), np.array(start)
            wider[criterion] = log(exp(start[criterion]) + moved)
            pulled[position] += moved if start[position] >= 0 else -moved
            starts += [wider, pulled]
        return [np.where(self.fit.free, at, self.fit.theta) for at in starts]

    def deviance(self, name: str, value: float) -> float:
        """Twice the loss in log likelihood with a parameter held at a value; the correlation alone keeps its prior.

        Over how much more the tasks' own scores scatter than the model has it, where they do.
        """
        index = self.fit.names.index(name)
        scatter = 1.0
        if not Uncertainty(fit=self.fit).one_task:
            scatter = max(1.0, float(self.fit.robust_covariance[index, index] / self.fit.covariance[index, index]))
        return max(0.0, 2 * (self._best.log_posterior - self._held(name, value).log_posterior) / scatter)

    def signed_root(self, name: str, value: float) -> float:
        """Root of the deviance, positive where the parameter lies above the value: as a distance in sd."""
        side = 1.0 if float(self._best.theta[self.fit.names.index(name)]) >= value else -1.0
        return side * sqrt(self.deviance(name, value))

    def limit(self, name: str, side: int) -> float | None:
        """Where the root of the deviance reaches the two-sided quantile on a side (-1 below, +1 above).

        None where the readings leave that side open: it is not reached up to the edge, which is tried as soon as one
        step has not reached it.
        """
        uncertainty = Uncertainty(fit=self.fit)
        edge = self.edges[name][side > 0]
        inside = start = float(self._best.theta[self.fit.names.index(name)])
        step = min(_LONGEST_FIRST_STEP, uncertainty.quantile * uncertainty.of(name))
        while side * (edge - inside) > 0:
            value = start + side * step if side * (edge - start) > step else edge
            if sqrt(self.deviance(name, value)) > uncertainty.quantile:
                return self._crossing(name, inside, value, uncertainty.quantile)
            if value != edge and sqrt(self.deviance(name, edge)) <= uncertainty.quantile:
                return None
            inside = value
            step *= 2
        return None

    def _crossing(self, name: str, inside: float, outside: float, quantile: float) -> float:
        """Where the root of the deviance crosses the quantile between two values."""

        def beyond(value: float) -> float:
            gap = sqrt(self.deviance(name, value)) - quantile
            return gap if abs(gap) > _TOLERANCE else 0.0

        return float(brentq(beyond, inside, outside, xtol=_LEAST_STEP))

    def _says_nothing(self, name: str, low: float | None, high: float | None) -> bool:
        """Whether limits are open, or only tell a slope from one that makes more evidence than any judge has."""
        if name in _EDGES or (low is not None and high is not None):
            return low is None and high is None
        farthest = _NO_JUDGES_MEAN / _LARGEST_MEAN * self.edges[name][1]
        return (low is None or low < -farthest) and (high is None or high > farthest)

    def stated(self, name: str, estimate: Estimate) -> Estimate:
        """An estimate as it is, or with limits from its profile, or bounded on one side, or undetermined.

        A bound is a limit of the two-sided interval that is open on its other side: which side that will be is for the
        readings to say, so that a one-sided test would let through twice as many false bounds as it promises.
        """
        if not self.needed(name):
            return estimate
        shown = exp if name == "log_criterion" else float
        low, high = (self.limit(name, side) for side in (-1, 1))
        method = f"joint model, profile likelihood, {Uncertainty(fit=self.fit).distribution}"
        if self._says_nothing(name, low, high):
            return Estimate.absent("undetermined", "the readings leave it open on both sides", n=self.fit.n_pairs)
        if low is not None and high is not None:
            wide = (*estimate.flags, "wide")
            if Uncertainty(fit=self.fit).one_task:
                return replace(estimate, flags=wide)
            return replace(estimate, low=shown(low), high=shown(high), method=method, reason="", flags=wide)
        return Estimate(
            status="bounded",
            low=None if low is None else shown(low),
            high=None if high is None else shown(high),
            n=self.fit.n_pairs,
            n_clusters=self.fit.n_clusters,
            method=method,
            flags=(*estimate.flags, "prior_limited"),
        )
