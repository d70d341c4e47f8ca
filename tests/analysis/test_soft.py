"""Soft readings: planted observers whose label probabilities follow their evidence, and independent references."""

from __future__ import annotations

from dataclasses import replace
from math import exp, inf, log

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from scipy.special import ndtri
from statsmodels.regression.linear_model import OLS

from datasheet.analysis.derived import threshold
from datasheet.analysis.soft import MOST_PARTS, SoftMeasurement, soft_measurement
from datasheet.analysis.tobit import fit_tobit
from datasheet.label_columns import LabelColumns
from datasheet.records import Estimate

STEPS = np.repeat([1, 2, 3, 4, 5, 0], [50, 40, 30, 20, 10, 60])  # the published design, in both orders
OBSERVERS = {
    "mid": (0.6, 0.5, 0.3, 0.4),
    "conservative": (2.4, 1.1, 0.2, 0.2),
    "positional": (1.6, 0.05, 0.9, 0.6),
    "conflicted": (0.55, 0.05, 2.1, 0.35),
    "saturated": (4.0, 0.5, 0.1, 0.2),
}
"""k, c, b and ρ."""


class Ladder:
    """Calls of an observer: evidence X, and the log-probabilities of its labels at a readout scale and a floor."""

    def __init__(
        self,
        name: str,
        *,
        scale: float,
        floor: float,
        copies: int = 1,
        seed: int = 1,
        tasks: int = 10,
        tau: float = 0.0,
    ) -> None:
        k, c, b, rho = OBSERVERS[name]
        rng = np.random.default_rng(seed)
        steps = np.tile(STEPS, copies)
        stable = np.sqrt(rho) * rng.standard_normal(len(steps))
        self.delta_q = np.tile(steps, 2).astype(np.int32)
        self.order = np.repeat([0, 1], len(steps)).astype(np.int32)
        self.cluster = np.tile(np.arange(len(steps)) % tasks, 2).astype(np.int32)
        slopes = k * np.exp(tau * ndtri((np.arange(tasks) + 0.5) / tasks))[self.cluster]
        noise = np.sqrt(1 - rho) * rng.standard_normal(2 * len(steps))
        shown_first = np.where(self.order == 0, 1, -1)
        evidence = slopes * self.delta_q + b * shown_first + np.tile(stable, 2) + noise
        lean = shown_first * evidence
        first, second = -np.logaddexp(0, (c - lean) / scale), -np.logaddexp(0, (c + lean) / scale)
        # P_tie = 1 - σ(u) - σ(v), in logs: σ(u) σ(v) (exp(-u-v) - 1)
        tie = first + second + np.log(np.expm1(2 * c / scale))
        self.listed = [np.where(column < log(floor), -inf, column) for column in (first, tie, second)]
        self.floor = log(floor)

    def labels(self) -> LabelColumns:
        first, tie, second = self.listed
        return LabelColumns(first=first, tie=tie, second=second, floor=np.full(len(first), self.floor))

    def clipped(self) -> LabelColumns:
        """As one would do it without a censored model: what is not listed is put at the floor."""
        columns = [np.maximum(column, self.floor) for column in self.listed]
        excess = np.log(np.exp(columns).sum(axis=0))
        first, tie, second, floor = (column - excess for column in (*columns, np.full(len(excess), self.floor)))
        return LabelColumns(first=first, tie=tie, second=second, floor=floor)

    def measured(self, labels: LabelColumns | None = None) -> SoftMeasurement:
        return soft_measurement(
            labels or self.labels(),
            delta_q=self.delta_q,
            order=self.order,
            cluster=self.cluster,
        )


def true_threshold(name: str) -> float:
    k, c, b, _ = OBSERVERS[name]
    return float(threshold(np.array([k, b, log(c), 0.0, 0.0])))


def off(estimate: Estimate, truth: float) -> float:
    assert estimate.estimate is not None
    return estimate.estimate / truth - 1


def censored_sample(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    design = np.column_stack([rng.integers(0, 6, n), rng.choice([-1.0, 1.0], n)]).astype(float)
    values = design @ [1.5, 0.7] + 2.0 * rng.standard_normal(n)
    limits = rng.uniform(2.0, 5.0, n)  # of each value its own
    side = np.where(values > limits, 1, np.where(values < -limits, -1, 0)).astype(np.int32)
    return np.where(side == 0, values, side * limits), side, design


def test_without_censoring_it_is_least_squares() -> None:
    values, _, design = censored_sample(80, seed=3)
    fit = fit_tobit(values, np.zeros(80, dtype=np.int32), design)
    reference = OLS(values, design).fit()
    assert fit is not None
    assert fit.coefficients == pytest.approx(reference.params, rel=1e-9)
    assert fit.residual_sd == pytest.approx(np.sqrt(reference.mse_resid), rel=1e-9)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_tobit_is_the_maximum_of_the_likelihood(seed: int) -> None:
    values, side, design = censored_sample(120, seed)

    def negative(theta: np.ndarray) -> float:
        mean, sd = design @ theta[:2], exp(theta[2])
        each = np.where(
            side == 0,
            stats.norm.logpdf(values, mean, sd),
            np.where(side == 1, stats.norm.logsf(values, mean, sd), stats.norm.logcdf(values, mean, sd)),
        )
        return -float(each.sum())

    best = minimize(negative, [0.0, 0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10})
    fit = fit_tobit(values, side, design)
    assert fit is not None
    assert 0.2 < (side != 0).mean() < 0.8
    assert [*fit.coefficients, fit.residual_sd] == pytest.approx([*best.x[:2], exp(best.x[2])], rel=1e-4)


def test_a_fit_that_the_values_leave_open_is_none() -> None:
    side = np.zeros(6, dtype=np.int32)
    steps = np.arange(6.0)
    assert fit_tobit(steps, side, np.column_stack([steps, steps])) is None
    assert fit_tobit(2 * steps + 1, side, np.column_stack([steps, np.ones(6)])) is None


@pytest.mark.parametrize(
    ("name", "scale", "floor"),
    [
        ("mid", 0.15, 1e-6),
        ("mid", 0.4, 1e-4),
        ("conservative", 0.4, 1e-6),
        ("conservative", 0.4, 1e-9),
        ("positional", 0.15, 1e-9),
        ("positional", 0.4, 1e-6),
        ("conflicted", 0.15, 1e-9),
        ("conflicted", 0.4, 1e-4),
        ("saturated", 0.4, 1e-9),
    ],
)
def test_planted_observers_come_back(name: str, scale: float, floor: float) -> None:
    k, c, b, _ = OBSERVERS[name]
    found = Ladder(name, scale=scale, floor=floor, copies=30).measured()
    assert found.normality is not None
    assert abs(off(found.threshold, true_threshold(name))) < 0.05
    assert abs(off(found.resolution, k)) < 0.05
    assert found.position.estimate == pytest.approx(b, abs=0.05)
    if c > 0.1:
        assert abs(off(found.criterion, c)) < 0.05


@pytest.mark.parametrize(
    ("name", "scale", "floor"), [("mid", 0.15, 1e-6), ("conservative", 0.4, 1e-6), ("positional", 0.4, 1e-4)]
)
def test_clipping_at_the_floor_would_mislead_where_tobit_does_not(name: str, scale: float, floor: float) -> None:
    ladder = Ladder(name, scale=scale, floor=floor, copies=30)
    clipped = ladder.measured(ladder.clipped())
    assert clipped.censored_share == 0
    assert off(clipped.threshold, true_threshold(name)) > 0.15
    assert abs(off(ladder.measured().threshold, true_threshold(name))) < 0.05


def test_at_the_published_size_the_intervals_cover() -> None:
    k, c, b, _ = OBSERVERS["mid"]
    truths = {"resolution": k, "criterion": c, "position": b, "threshold": true_threshold("mid")}
    found = [Ladder("mid", scale=0.15, floor=1e-6, seed=seed).measured() for seed in range(100, 140)]
    for quantity, truth in truths.items():
        estimates = [getattr(measured, quantity) for measured in found]
        assert abs(float(np.mean([off(estimate, truth) for estimate in estimates]))) < 0.05
        assert sum(estimate.low <= truth <= estimate.high for estimate in estimates) >= 34


def test_the_interval_is_the_delete_a_task_jackknife() -> None:
    ladder = Ladder("mid", scale=0.15, floor=1e-6)
    full = ladder.measured()
    deleted = []
    for task in range(10):
        kept = ladder.cluster != task
        columns = {name: getattr(ladder.labels(), name)[kept] for name in ("first", "tie", "second", "floor")}
        part = soft_measurement(
            LabelColumns(**columns),
            delta_q=ladder.delta_q[kept],
            order=ladder.order[kept],
            cluster=ladder.cluster[kept],
        )
        deleted.append(part.threshold.estimate or 0.0)
    assert full.threshold.estimate is not None
    spread = np.sqrt(0.9 * ((np.log(deleted) - log(full.threshold.estimate)) ** 2).sum())
    ratio = exp(stats.t.ppf(0.975, 9) * spread)
    assert full.threshold.high == pytest.approx(full.threshold.estimate * ratio)
    assert full.threshold.low == pytest.approx(full.threshold.estimate / ratio)
    assert full.threshold.method == "Tobit, delete-a-task jackknife, t(9)"


def test_where_half_is_censored_nothing_soft_is_given() -> None:
    found = Ladder("saturated", scale=0.15, floor=1e-4).measured()
    assert found.censored_share is not None
    assert found.censored_share > 0.5
    assert found.normality is None
    for absent in (found.resolution, found.position, found.criterion, found.threshold):
        assert absent.status == "undetermined"
        assert "hard verdicts say more" in absent.reason
    assert Ladder("mid", scale=0.4, floor=1e-6).measured().threshold.status == "measured"


def test_a_value_below_the_tested_steps_is_flagged() -> None:
    assert Ladder("saturated", scale=0.4, floor=1e-30).measured().threshold.flags == ("extrapolated",)
    assert Ladder("mid", scale=0.4, floor=1e-30).measured().threshold.flags == ()


def test_normality_is_the_probability_plot_correlation() -> None:
    ladder = Ladder("mid", scale=0.4, floor=1e-30)
    first, _, second = ladder.listed
    shown_first = np.where(ladder.order == 0, 1.0, -1.0)
    # X/s is half the difference of the logits of first and second
    evidence = shown_first * (first - np.log(-np.expm1(first)) - second + np.log(-np.expm1(second))) / 2
    left = OLS(evidence, np.column_stack([ladder.delta_q, shown_first])).fit().resid
    found = ladder.measured()
    assert found.threshold.method.startswith("least squares")
    assert found.normality == pytest.approx(stats.probplot(left)[1][2], abs=1e-4)


def test_censoring_leaves_normal_residuals_normal_and_outliers_show() -> None:
    ladder = Ladder("mid", scale=0.15, floor=1e-6, copies=3)
    found = ladder.measured()
    assert found.censored_share is not None
    assert found.censored_share > 0.3
    assert found.normality is not None
    assert found.normality > 0.998
    heavy = Ladder("mid", scale=0.15, floor=1e-30, copies=3)
    swapped = np.arange(len(heavy.order)) % 20 == 0
    heavy.delta_q[swapped] = 5 - heavy.delta_q[swapped]
    odd = heavy.labels()
    outlying = soft_measurement(
        LabelColumns(
            first=np.where(swapped, odd.first - 60, odd.first), tie=odd.tie, second=odd.second, floor=odd.floor - 90
        ),
        delta_q=heavy.delta_q,
        order=heavy.order,
        cluster=heavy.cluster,
    )
    assert outlying.normality is not None
    assert outlying.normality < 0.99


def small(labels: LabelColumns, tasks: int = 3, *, ties_allowed: bool = True) -> SoftMeasurement:
    n = len(labels.first)
    return soft_measurement(
        labels,
        delta_q=(np.arange(n) % 4).astype(np.int32),
        order=(np.arange(n) // 4 % 2).astype(np.int32),
        cluster=(np.arange(n) % tasks).astype(np.int32),
        ties_allowed=ties_allowed,
    )


def made(n: int, *, tie: float = -2.0, floor: float = -30.0) -> LabelColumns:
    rng = np.random.default_rng(5)
    a_first = np.where(np.arange(n) // 4 % 2 == 0, 1, -1)
    lean = a_first * 0.8 * (np.arange(n) % 4) + rng.standard_normal(n)
    first, second = -0.2 - np.logaddexp(0, -lean), -0.2 - np.logaddexp(0, lean)
    return LabelColumns(first=first, tie=np.full(n, tie), second=second, floor=np.full(n, floor))


def test_where_no_tie_is_allowed_there_is_no_criterion() -> None:
    found = small(made(48, tie=-inf), ties_allowed=False)
    assert found.criterion.status == "not_applicable"
    k, b = found.resolution.estimate, found.position.estimate
    expected = threshold(np.array([k, b, -100.0, 0.0, 0.0]))
    assert found.threshold.estimate == pytest.approx(float(expected))


def test_a_tie_below_the_floor_bounds_the_criterion_from_above() -> None:
    listed, unlisted = small(made(48, tie=-9.0, floor=-9.0)), small(made(48, tie=-inf, floor=-9.0))
    assert listed.criterion.status == "measured"
    assert unlisted.criterion.status == "bounded"
    assert unlisted.criterion.high == listed.criterion.high
    assert (unlisted.threshold.status, unlisted.threshold.estimate) == ("bounded", None)
    assert unlisted.threshold.high == listed.threshold.high


def test_one_task_has_no_interval_and_says_so() -> None:
    found = small(made(48), tasks=1)
    assert found.resolution.estimate is not None
    assert (found.resolution.low, found.resolution.high) == (None, None)
    assert "one task only" in found.resolution.reason


def test_calls_without_candidates_are_in_no_number() -> None:
    whole = made(48)
    blank = np.arange(48) >= 40
    found = small(
        LabelColumns(
            **{name: np.where(blank, -inf, getattr(whole, name)) for name in ("first", "tie", "second")},
            floor=np.where(blank, np.nan, whole.floor),
        )
    )
    assert (found.n_calls, found.resolution.n) == (40, 40)
    none = small(LabelColumns(**dict.fromkeys(("first", "tie", "second"), np.full(4, -inf)), floor=np.full(4, np.nan)))
    assert (none.resolution.status, none.n_calls, none.censored_share) == ("not_measured", 0, None)
    assert "ask the judge for log-probabilities" in none.resolution.reason


@pytest.mark.parametrize("tie", [-2.0, -inf])
def test_a_call_that_lists_neither_answer_is_censored(tie: float) -> None:
    """Whether it lists a tie, or no label at all."""
    whole = made(48)
    only_tie = np.arange(48) < 16
    found = small(
        LabelColumns(
            first=np.where(only_tie, -inf, whole.first),
            tie=np.where(only_tie, tie, whole.tie),
            second=np.where(only_tie, -inf, whole.second),
            floor=whole.floor,
        )
    )
    assert (found.n_calls, found.censored_share) == (48, 1 / 3)
    assert found.normality is not None
    beside = small(replace(whole, **{name: getattr(whole, name)[16:] for name in ("first", "tie", "second", "floor")}))
    assert found.resolution.estimate == pytest.approx(beside.resolution.estimate)


def test_evidence_that_does_not_vary_leaves_the_fit_open() -> None:
    same = np.full(24, -1.1)
    found = small(LabelColumns(first=same, tie=same, second=same, floor=same * 9))
    assert found.resolution.status == "undetermined"
    assert "leave the fit open" in found.resolution.reason


def test_other_differences_between_the_answers_are_no_resolution() -> None:
    ladder = Ladder("mid", scale=0.4, floor=1e-30, copies=10)
    words = 0.2 * ladder.delta_q + 0.3 * np.random.default_rng(2).standard_normal(len(ladder.delta_q))
    pull = np.where(ladder.order == 0, 1.5, -1.5) * words / 0.4  # of the longer answer's label, in readout scales
    columns = [column + sign * pull / 2 for column, sign in zip(ladder.listed, (1, 0, -1), strict=True)]
    first, tie, second = columns - np.log(np.exp(columns).sum(axis=0))
    labels = LabelColumns(first=first, tie=tie, second=second, floor=np.full(len(first), -1e3))

    def resolution(covariates: np.ndarray | None) -> float:
        found = soft_measurement(
            labels,
            delta_q=ladder.delta_q,
            order=ladder.order,
            cluster=ladder.cluster,
            covariates=covariates,
        )
        assert found.resolution.estimate is not None
        return found.resolution.estimate

    plain = ladder.measured().resolution.estimate
    assert plain is not None
    assert resolution(None) > 1.2 * plain
    assert resolution(words[:, None]) == pytest.approx(plain, rel=0.1)


@pytest.mark.parametrize("floor", [1e-30, 1e-6])
def test_tasks_that_differ_in_resolution_are_not_taken_for_noise(floor: float) -> None:
    k, c, b, _ = OBSERVERS["mid"]
    found = Ladder("mid", scale=0.4, floor=floor, copies=30, tasks=30, tau=0.5).measured()
    assert abs(off(found.resolution, k)) < 0.06
    assert abs(off(found.criterion, c)) < 0.05
    assert found.position.estimate == pytest.approx(b, abs=0.05)
    assert abs(off(found.threshold, true_threshold("mid"))) < 0.06


def test_a_call_that_was_repeated_counts_once() -> None:
    """One presentation asked a thousand times changes nothing: each of its calls weighs a thousandth."""
    ladder, repeats = Ladder("mid", scale=0.4, floor=1e-6), 1000
    rows = np.concatenate([np.arange(len(ladder.order)), np.full(repeats - 1, 7)])
    weight = np.where(rows == 7, 1 / repeats, 1.0)
    once = ladder.measured()
    often = soft_measurement(
        ladder.labels().where(rows),
        delta_q=ladder.delta_q[rows],
        order=ladder.order[rows],
        cluster=ladder.cluster[rows],
        weight=weight,
    )
    for name in ("resolution", "position", "criterion", "threshold"):
        one, many = getattr(once, name), getattr(often, name)
        assert (many.estimate, many.low, many.high) == pytest.approx((one.estimate, one.low, one.high), rel=1e-6)
    assert often.resolution.n == once.resolution.n


def test_two_tasks_that_differ_leave_the_limits_open() -> None:
    """Student's t on one degree of freedom times a wide spread says nothing, and is not printed as if it did."""
    found = [Ladder("mid", scale=0.4, floor=1e-30, tasks=2, tau=1.0, seed=seed).measured() for seed in range(8)]
    for measured in found:
        for estimate in (measured.resolution, measured.position, measured.criterion, measured.threshold):
            if estimate.status == "measured":
                assert estimate.high is not None
                assert estimate.high <= 60
    assert any(measured.threshold.status == "undetermined" for measured in found)


def test_many_tasks_are_left_out_in_groups() -> None:
    few = Ladder("mid", scale=0.4, floor=1e-30, copies=4, tasks=MOST_PARTS).measured()
    many = Ladder("mid", scale=0.4, floor=1e-30, copies=4, tasks=10 * MOST_PARTS).measured()
    assert few.resolution.method.endswith("delete-a-task jackknife, t(39)")
    assert many.resolution.method.endswith("delete-a-group (of 40) jackknife, t(39)")
    assert many.resolution.n_clusters == 10 * MOST_PARTS
    assert (many.resolution.low, many.resolution.high) == (few.resolution.low, few.resolution.high)
