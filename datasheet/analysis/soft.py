"""Soft readings: the evidence behind a verdict, from the log-probabilities of its label.

Where a label's probability is a logistic function of the evidence X with readout scale s,
logit P_first = (X - c)/s and logit P_second = (-X - c)/s. So half their difference is X/s and half their sum, turned
over, is c/s. X/s is regressed on ΔQ, on which answer was shown first, and on the other differences that the joint model
knows; in residual standard deviations its first two slopes are the resolution k and the position b, and c/s is the
criterion c. Tasks differ in resolution, which widens the evidence at larger ΔQ. Taken for noise that would lower all
three (in simulation with a task spread of .2, c by 7%: its interval covered it in 15 of 40 logs), so the spread is
fitted beside them.

A server lists a few candidates only. A label for an answer that is not among them is censored, not clipped: all that is
known is that X lies beyond a limit. The gain over hard verdicts is largest for a judge that is always right; the price
is that the evidence is taken to be normal far from the threshold, so the normality of the residuals and the hard
estimate stand beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import exp, inf, log, sqrt

import numpy as np
from scipy.special import ndtri, stdtrit

from datasheet.analysis.bivariate import Numbers
from datasheet.analysis.derived import reach, threshold
from datasheet.analysis.intervals import CONFIDENCE_LEVEL
from datasheet.analysis.soft_regression import LEAST_K, GradedSample, SpreadFit, graded_samples
from datasheet.analysis.threads import one_thread
from datasheet.label_columns import LabelColumns
from datasheet.readings import Codes, Mask
from datasheet.records import Estimate
from datasheet.seeds import child_rng

MOST_CENSORED = 0.5
"""Share of censored calls from which on hard verdicts say more than soft ones."""

MOST_PARTS = 40
"""The jackknife leaves out a task at a time, or a group of tasks where there are more than so many."""

_WIDEST = 12.0
_WIDE = "the tasks differ so much that the limits leave it open: more tasks would tell"
_QUANTITIES = ("resolution", "position", "log_criterion", "log_threshold")


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftMeasurement:
    """What the log-probabilities say of a judge.

    Attributes
    ----------
    resolution, position, criterion
        k, b and c in standard deviations of evidence.
    threshold
        Δ*75 on a typical task, in quality steps.
    n_calls
        Calls that list candidates; those that list the label of neither answer tell the fit nothing.
    censored_share
        Share of them where the label of an answer is below the floor.
    normality
        Probability plot correlation of the residuals: 1 where they are normal. None without a fit.
    """

    resolution: Estimate
    position: Estimate
    criterion: Estimate
    threshold: Estimate
    n_calls: int
    censored_share: float | None
    normality: float | None


def soft_measurement(
    labels: LabelColumns,
    *,
    delta_q: Codes,
    order: Codes,
    cluster: Codes,
    covariates: Numbers | None = None,
    weight: Numbers | None = None,
    ties_allowed: bool = True,
) -> SoftMeasurement:
    """Resolution, position, criterion and threshold from log-probabilities, with delete-a-task jackknife intervals.

    Parameters
    ----------
    delta_q, order, cluster
        Quality steps, order code (0 shows content a first) and task code of each call, shape (n,).
    covariates
        Other differences between the contents (a minus b) that evidence may depend on, shape (n, m).
    weight
        What each call counts, shape (n,): 1 over the repeats of its presentation, which tell nothing of other ones.
    ties_allowed
        The prompt has a label for a tie.
    """
    listed = ~np.isnan(labels.floor)
    counted = np.ones(len(labels)) if weight is None else weight
    a_first = np.where(order == 0, 1.0, -1.0)
    others = np.zeros((len(labels), 0)) if covariates is None else covariates
    design = np.column_stack([delta_q, a_first, others])
    calls = _calls(labels.where(listed), design[listed], cluster[listed], counted[listed], ties_allowed=ties_allowed)
    with one_thread():
        fits = _fits(calls) if calls.censored_share < MOST_CENSORED else None
        if fits is None:
            resolution = position = criterion = steps = _no_estimate(calls)
        else:
            resolution, position, criterion, steps = _estimates(calls, fits, ties_allowed=ties_allowed)
    return SoftMeasurement(
        resolution=resolution,
        position=position,
        criterion=criterion,
        threshold=steps,
        n_calls=int(listed.sum()),
        censored_share=calls.censored_share if listed.any() else None,
        normality=None if fits is None else _normality(calls, fits.whole),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Calls:
    """Calls that list candidates, in content terms: the evidence is for content a.

    ``side`` is 0 where both answers' labels are listed, +1 where only that of content a is (-1: of b), 2 where neither
    is. ``evidence`` is X/s where the side is 0, else how far above c/s its size is known to lie. ``criterion`` is c/s,
    NaN where the side is not 0. A tie that is not listed is taken at the floor, or at what the listed labels leave
    where that is less, which makes c/s an upper limit.
    """

    evidence: Numbers
    side: Codes
    criterion: Numbers
    tie_listed: Mask
    design: Numbers
    cluster: Codes
    weight: Numbers

    @property
    def censored_share(self) -> float:
        """1 where there is no call at all."""
        return float(np.average(self.side != 0, weights=self.weight)) if len(self.side) else 1.0

    @property
    def n(self) -> int:
        """Presentations, however often they were repeated."""
        return round(float(self.weight.sum()))

    def where(self, kept: Mask) -> _Calls:
        return _Calls(**{item.name: getattr(self, item.name)[kept] for item in fields(self)})


def weighted_median(values: Numbers, weight: Numbers) -> float:
    """The least value up to which half of the weight lies; arrays of shape (n,), n at least 1."""
    at = np.argsort(values)
    reached = np.cumsum(weight[at])
    return float(values[at][np.searchsorted(reached, reached[-1] / 2)])


def _calls(labels: LabelColumns, design: Numbers, cluster: Codes, weight: Numbers, *, ties_allowed: bool) -> _Calls:
    first, second, floor = labels.first, labels.second, labels.floor
    tie = np.full(len(first), -inf)
    if ties_allowed:
        with np.errstate(divide="ignore"):  # nothing left
            left = np.log(np.maximum(0.0, 1 - labels.mass))
        tie = np.where(np.isfinite(labels.tie), labels.tie, np.minimum(floor, left))
    a_first = design[:, 1]
    known, neither = np.isfinite(first) & np.isfinite(second), ~np.isfinite(first) & ~np.isfinite(second)
    side = np.where(known, 0, np.where(neither, 2, np.where(np.isfinite(first), a_first, -a_first)))
    with np.errstate(invalid="ignore"):  # -inf less -inf, where a label is not listed: masked below
        logit_first, logit_second = first - np.logaddexp(tie, second), second - np.logaddexp(tie, first)
        evidence = a_first * (logit_first - logit_second) / 2
        beyond = np.logaddexp(np.maximum(first, second), tie) - floor
        criterion = -(logit_first + logit_second) / 2
    return _Calls(
        evidence=np.where(known, evidence, beyond),
        side=side.astype(np.int32),
        criterion=np.where(known, criterion, np.nan),
        tie_listed=np.isfinite(labels.tie),
        design=design,
        cluster=cluster,
        weight=weight,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fit:
    """A regression of X/s, and c/s; ``longest_step`` is the largest ΔQ of its calls."""

    evidence: SpreadFit
    criterion: float
    longest_step: float

    @property
    def quantities(self) -> Numbers:
        """k on a typical task, b, log c and log Δ*75: infinite where there is none."""
        regression = self.evidence.regression
        mean_k, b = regression.coefficients[:2] / regression.residual_sd
        # Of a lognormal resolution, the median from its mean and its standard deviation over tasks.
        k = mean_k * abs(mean_k) / max(float(np.hypot(mean_k, self.evidence.spread)), LEAST_K)
        with np.errstate(divide="ignore"):
            log_criterion = np.log(self.criterion / regression.residual_sd)
            theta = np.array([k, b, max(log_criterion, -100.0), 0.0, 0.0])
            found = threshold(theta, longest_step=self.longest_step)
            return np.array([k, b, log_criterion, np.log(found)])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fits:
    """A fit of all calls, and one without each part of the tasks: None where they leave it open."""

    whole: _Fit
    without: tuple[_Fit | None, ...]
    n_clusters: int


def _fits(calls: _Calls) -> _Fits | None:
    """Fits over the calls that show a side; None where they leave that of all of them open."""
    if not (calls.side == 0).any():
        return None
    tasks, task = np.unique(calls.cluster, return_inverse=True)
    part, n_parts = (task % MOST_PARTS).astype(np.int32), min(len(tasks), MOST_PARTS)
    shown = calls.where(calls.side != 2)
    signed = np.where(shown.side == 0, shown.evidence, shown.side * shown.evidence)
    whole, *without = graded_samples(
        np.column_stack([-shown.design, signed]),
        side=shown.side,
        delta_q=shown.design[:, 0],
        weight=shown.weight,
        part=part[calls.side != 2],
        n_parts=n_parts,
    )
    known = calls.side == 0
    longest_step = float(shown.design[:, 0].max())

    def fit(sample: GradedSample, kept: Mask, near: SpreadFit | None = None) -> _Fit | None:
        if not kept.any():
            return None
        criterion = max(0.0, weighted_median(calls.criterion[kept], calls.weight[kept]))
        evidence = sample.at_criterion(criterion).fit(near)
        return None if evidence is None else _Fit(evidence=evidence, criterion=criterion, longest_step=longest_step)

    best = fit(whole, known)
    if best is None:
        return None
    alone = n_parts == 1
    refits = (
        ()
        if alone
        else (fit(sample, known & (part != left_out), best.evidence) for left_out, sample in enumerate(without))
    )
    return _Fits(whole=best, without=tuple(refits), n_clusters=len(tasks))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Jackknife:
    """Standard uncertainties over tasks of a fit's quantities (None where a part can't be left out), and their t."""

    spreads: dict[str, float] | None
    n_parts: int
    n_clusters: int
    n: int
    method: str
    reason: str

    def limits(self, name: str, value: float) -> tuple[float, float] | None:
        if self.spreads is None or not np.isfinite(self.spreads[name]):
            return None
        half = float(stdtrit(self.n_parts - 1, (1 + CONFIDENCE_LEVEL) / 2)) * self.spreads[name]
        return value - half, value + half

    def estimate(self, value: float, limits: tuple[float, float] | None, *flags: str) -> Estimate:
        low, high = limits or (None, None)
        return Estimate(
            estimate=value,
            low=low,
            high=high,
            n=self.n,
            n_clusters=self.n_clusters,
            method=self.method,
            reason="" if limits else self.reason,
            flags=flags,
        )


def _jackknifed(calls: _Calls, fits: _Fits) -> _Jackknife:
    n_parts = max(1, len(fits.without))
    method = "Tobit" if (calls.side != 0).any() else "least squares"
    spreads, reason = None, "one task only: an interval needs the spread between at least two tasks"
    if n_parts > 1:
        found = [refit.quantities for refit in fits.without if refit is not None]
        reason = "without one of the tasks the calls leave the quantity open"
        if len(found) == n_parts:
            with np.errstate(invalid="ignore"):  # an infinite quantity has no spread
                shifts = np.array(found) - fits.whole.quantities
            variances = (n_parts - 1) / n_parts * (shifts**2).sum(axis=0)
            spreads = {name: sqrt(variance) for name, variance in zip(_QUANTITIES, variances.tolist(), strict=True)}
            kind = "task" if n_parts == fits.n_clusters else f"group (of {n_parts})"
            method += f", delete-a-{kind} jackknife, t({n_parts - 1})"
    return _Jackknife(
        spreads=spreads, n_parts=n_parts, n_clusters=fits.n_clusters, n=calls.n, method=method, reason=reason
    )


def _no_estimate(calls: _Calls) -> Estimate:
    """Why there is no fit."""
    n, share = calls.n, calls.censored_share
    if n == 0:
        reason = "no call lists the candidates of its first token: ask the judge for log-probabilities"
        return Estimate.absent("not_measured", reason)
    if share >= MOST_CENSORED:
        reason = (
            f"{share:.0%} of the calls leave the label of an answer below the listed log-probabilities, "
            "so that hard verdicts say more: ask the server for more candidates"
        )
        return Estimate.absent("undetermined", reason, n=n)
    reason = (
        "the calls leave the fit open: it needs ΔQ above 0, at two values or in both orders, and evidence that varies"
    )
    return Estimate.absent("undetermined", reason, n=n)


def _estimates(calls: _Calls, fits: _Fits, *, ties_allowed: bool) -> tuple[Estimate, Estimate, Estimate, Estimate]:
    """Resolution, position, criterion and threshold."""
    jackknife = _jackknifed(calls, fits)
    k, b, log_criterion, log_threshold = fits.whole.quantities.tolist()
    k_limits = jackknife.limits("resolution", k)
    b_limits = jackknife.limits("position", b)
    open_ended = Estimate.absent("undetermined", _WIDE, n=jackknife.n)
    if not ties_allowed:
        reason = "the prompt allows no tie, which fixes the criterion at 0"
        criterion = Estimate.absent("not_applicable", reason, n=jackknife.n)
    else:
        criterion = _criterion(calls, jackknife, log_criterion)
    return (
        open_ended if _is_wide(k_limits) else jackknife.estimate(k, k_limits),
        open_ended if _is_wide(b_limits) else jackknife.estimate(b, b_limits),
        criterion,
        _threshold(calls, jackknife, (k, k_limits), log_threshold, criterion),
    )


def _is_wide(limits: tuple[float, float] | None) -> bool:
    """Whether limits leave everything open: in standard deviations (each step's), no judge is so far out."""
    return limits is not None and limits[1] - limits[0] > 2 * _WIDEST


def _threshold(
    calls: _Calls,
    jackknife: _Jackknife,
    k: tuple[float, tuple[float, float] | None],
    log_threshold: float,
    criterion: Estimate,
) -> Estimate:
    """Δ*75 where resolution and criterion are known; a bound where the criterion is one, or beyond the tested steps."""

    def absent(reason: str) -> Estimate:
        return Estimate.absent("undetermined", reason, n=jackknife.n)

    def bounded(*, low: float | None = None, high: float | None = None) -> Estimate:
        how = jackknife.method
        return Estimate(
            status="bounded", low=low, high=high, n=jackknife.n, n_clusters=jackknife.n_clusters, method=how
        )

    if criterion.status == "undetermined":
        return absent(f"the criterion is not known: {criterion.reason}")
    if k[0] <= 0 or (k[1] is not None and k[1][0] <= 0):
        return absent("the resolution is not clearly above 0")
    tested = calls.design[:, 0][calls.design[:, 0] > 0]
    farthest = reach(float(tested.max()))
    if not np.isfinite(log_threshold):
        return absent(f"the fitted curve does not reach 0.75 within {farthest:.0f} steps")
    log_limits = jackknife.limits("log_threshold", log_threshold)
    if log_limits is not None and log_limits[1] > log(farthest):
        return absent("the tasks differ so much that no upper limit can be given: more tasks would tell")
    limits = _exponential(log_limits)
    if criterion.status == "bounded":
        return bounded(high=limits[1] if limits else exp(log_threshold))
    if limits and limits[0] > tested.max():
        return bounded(low=float(tested.max()))
    outside = not tested.min() <= exp(log_threshold) <= tested.max()
    return jackknife.estimate(exp(log_threshold), limits, *(["extrapolated"] * outside))


def _criterion(calls: _Calls, jackknife: _Jackknife, log_criterion: float) -> Estimate:
    """The criterion; an upper limit of it where most calls do not list the tie."""
    if not np.isfinite(log_criterion):
        return Estimate.absent("undetermined", "the tie has no probability that can be told from 0", n=jackknife.n)
    log_limits = jackknife.limits("log_criterion", log_criterion)
    if log_limits is not None and log_limits[1] > log(_WIDEST):
        return Estimate.absent("undetermined", _WIDE, n=jackknife.n)
    limits = _exponential(log_limits)
    if calls.tie_listed[calls.side == 0].mean() > 0.5:
        return jackknife.estimate(exp(log_criterion), limits)
    return Estimate(
        status="bounded",
        high=limits[1] if limits else exp(log_criterion),
        n=jackknife.n,
        n_clusters=jackknife.n_clusters,
        method=jackknife.method,
        reason="most calls leave the tie below the listed log-probabilities",
    )


def _exponential(limits: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if limits is None else (exp(limits[0]), exp(min(limits[1], 700.0)))


def _normality(calls: _Calls, fit: _Fit) -> float:
    """Probability plot correlation of the residuals with Filliben's normal scores (1975, Technometrics 17:111)."""
    shown = calls.where(calls.side != 2)
    scale = np.hypot(1.0, fit.evidence.spread * shown.design[:, 0])
    values = np.where(shown.side == 0, shown.evidence, shown.side * (shown.evidence - fit.criterion))
    residuals = fit.evidence.regression.residuals(
        values / scale, shown.side, shown.design / scale[:, None], child_rng(0, "soft residuals")
    )
    n = len(residuals)
    medians = (np.arange(1, n + 1) - 0.3175) / (n + 0.365)
    medians[[0, -1]] = 1 - 0.5 ** (1 / n), 0.5 ** (1 / n)
    return float(np.corrcoef(np.sort(residuals), ndtri(medians))[0, 1])
