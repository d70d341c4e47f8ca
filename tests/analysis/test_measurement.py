"""The measurement model: reference values of an independent program, its gradient, recovery, and degenerate data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.optimize import minimize
from scipy.special import ndtr

from datasheet.analysis.bivariate import bvn_cdf, bvn_slopes
from datasheet.analysis.derived import Uncertainty, fieller, p_correct, threshold, without_criterion
from datasheet.analysis.evidence import MISSING, PairTable, cell_probabilities, log_likelihood
from datasheet.analysis.measurement import fit_measurement
from datasheet.analysis.parameters import Parameters

NO_SPREAD = np.log(1e-9)
MID = np.array([0.6, 0.3, np.log(0.5), np.log(0.4 / 0.6), NO_SPREAD])
OTHER = np.array([1.2, 0.3, np.log(0.8), 0.0, NO_SPREAD])

# Nine counts (ab: b, tie, a by ba: b, tie, a) for ΔQ 0..5: 60, 50, 40, 30, 20 and 10 pairs.
COUNTS = [
    [8, 4, 1, 10, 8, 4, 7, 10, 8],
    [2, 1, 1, 4, 5, 4, 5, 11, 17],
    [0, 0, 0, 1, 3, 2, 2, 8, 24],
    [0, 0, 0, 0, 0, 1, 1, 4, 24],
    [0, 0, 0, 0, 0, 0, 0, 1, 19],
    [0, 0, 0, 0, 0, 0, 0, 0, 10],
]


def count_table() -> PairTable:
    cells = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    rows = [
        (delta_q, ab, ba, count)
        for delta_q, counts in enumerate(COUNTS)
        for (ab, ba), count in zip(cells, counts, strict=True)
        if count
    ]
    delta_q, ab, ba, count = (np.array(column) for column in zip(*rows, strict=True))
    return PairTable.of_pairs(
        delta_q=delta_q.astype(float),
        covariates=np.zeros((len(rows), 0)),
        content_ab=ab.astype(np.int32),
        content_ba=ba.astype(np.int32),
        cluster=np.zeros(len(rows), dtype=np.int32),
        weight=count.astype(float),
    )


def simulated(
    rng: np.random.Generator,
    *,
    k: float,
    c: float,
    b: float,
    rho: float,
    tau: float = 0.0,
    tasks: int = 20,
    lapse_rate: float = 0.0,
) -> PairTable:
    """Every ladder pair and six same-quality pairs a task, both orders, drawn from the model itself."""
    deltas = np.array([better - worse for better in range(6) for worse in range(better)] + [0] * 6, dtype=float)
    delta_q, task = np.tile(deltas, tasks), np.repeat(np.arange(tasks), len(deltas))
    slope = k * np.exp(tau * rng.standard_normal(tasks))[task]
    stable = np.sqrt(rho) * rng.standard_normal(len(task))
    contents = []
    for sign in (1, -1):
        x = slope * delta_q + stable + sign * b + np.sqrt(1 - rho) * rng.standard_normal(len(task))
        content = (x > c).astype(np.int32) - (x < -c).astype(np.int32)
        lapsed = rng.random(len(task)) < lapse_rate
        contents.append(np.where(lapsed, rng.integers(-1, 2, len(task)), content).astype(np.int32))
    return PairTable.of_pairs(
        delta_q=delta_q,
        covariates=np.zeros((len(task), 0)),
        content_ab=contents[0],
        content_ba=contents[1],
        cluster=task.astype(np.int32),
        weight=np.ones(len(task)),
    )


def test_bivariate_normal_reference_values() -> None:
    assert float(bvn_cdf(np.array(0.5), np.array(-0.3), 0.6)) == pytest.approx(0.3436225, abs=5e-8)
    assert float(bvn_cdf(np.array(0.0), np.array(0.0), 0.5)) == pytest.approx(1 / 3, abs=1e-9)


@pytest.mark.parametrize("rho", [-0.7, 0.0, 0.3, 0.95])
def test_bivariate_normal_is_the_integral_of_its_density(rho: float) -> None:
    def density(y: float, x: float) -> float:
        spread = 1 - rho * rho
        return float(np.exp(-(x * x - 2 * rho * x * y + y * y) / 2 / spread) / 2 / np.pi / np.sqrt(spread))

    for h, q in ((0.4, -0.8), (1.5, 1.1), (-0.2, 0.6)):
        area, _ = dblquad(density, -8, h, -8, q, epsabs=1e-9)
        assert float(bvn_cdf(np.array(h), np.array(q), rho)) == pytest.approx(area, abs=1e-7)


@pytest.mark.parametrize(("rho", "within"), [(0.05, 1e-9), (0.5, 1e-9), (0.9, 1e-9), (0.97, 1e-6)])
def test_bivariate_normal_is_right_far_out_in_its_tail(rho: float, within: float) -> None:
    """Against the conditional distribution, integrated to a share of its value."""

    def conditional(x: float) -> float:
        return float(np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * ndtr((-6 - rho * x) / np.sqrt(1 - rho * rho)))

    area, _ = quad(conditional, -20, -5, points=[-8, -6, -5.5, -5.1], epsabs=0, epsrel=1e-11)
    assert area < 2e-9
    assert float(bvn_cdf(np.array(-5.0), np.array(-6.0), rho)) == pytest.approx(area, rel=within)


def test_bivariate_normal_slopes_are_differences() -> None:
    h, q, rho, step = np.array([0.4, -1.2, 2.0]), np.array([-0.8, 0.3, 1.0]), 0.45, 1e-6
    by_h, by_q, by_rho = bvn_slopes(h, q, rho)
    assert by_h == pytest.approx((bvn_cdf(h + step, q, rho) - bvn_cdf(h - step, q, rho)) / 2 / step, abs=1e-8)
    assert by_q == pytest.approx((bvn_cdf(h, q + step, rho) - bvn_cdf(h, q - step, rho)) / 2 / step, abs=1e-8)
    assert by_rho == pytest.approx((bvn_cdf(h, q, rho + step) - bvn_cdf(h, q, rho - step)) / 2 / step, abs=1e-8)


REFERENCE_CELLS = [
    (MID, 0, "136450 059568 015837 169490 138346 059568 114799 169490 136450"),
    (MID, 2, "007122 009331 006296 024386 052523 058996 049249 201967 590129"),
    (OTHER, 0, "085722 047760 002184 186517 321519 047760 036298 186517 085722"),
]


@pytest.mark.parametrize(("theta", "delta_q", "cells"), REFERENCE_CELLS)
def test_reference_cells(theta: np.ndarray, delta_q: int, cells: str) -> None:  # type: ignore[type-arg]
    expected = np.array([float(f"0.{cell}") for cell in cells.split()]).reshape(3, 3)
    assert cell_probabilities(Parameters.from_vector(theta), delta_q) == pytest.approx(expected, abs=6e-7)


def test_reference_curve_and_thresholds() -> None:
    steps = np.arange(1, 6.0)
    assert p_correct(MID, steps) == pytest.approx([0.538081, 0.748383, 0.893273, 0.965649, 0.991771], abs=6e-7)
    assert float(threshold(MID)) == pytest.approx(2.008846, abs=1e-6)
    assert float(threshold(MID, without_criterion)) == pytest.approx(1.175513, abs=1e-6)
    assert float(threshold(OTHER)) == pytest.approx(1.254423, abs=1e-6)
    assert float(p_correct(OTHER, np.array(1.0))) == pytest.approx(0.648933, abs=1e-6)


def test_reference_fits_of_the_count_table() -> None:
    """Maximum likelihood, and the mode under priors on (log k, log c, b, logit ρ), of an independent program."""
    table = count_table()

    def negative(values: np.ndarray, priors: bool) -> float:  # type: ignore[type-arg]
        log_k, log_c, b, logit_rho = values
        theta = np.array([np.exp(log_k), b, log_c, logit_rho, NO_SPREAD])
        off = (values - [0, np.log(0.7), 0, -0.5]) / [1.5, 1.5, 2, 1.5]
        return -float(log_likelihood(theta, table)[0].sum()) + priors * 0.5 * float(off @ off)

    start = np.array([-0.4, -0.6, 0.2, -0.4])
    how = {"method": "Nelder-Mead", "options": {"xatol": 1e-8, "fatol": 1e-10, "maxiter": 4000}}
    mode = minimize(negative, start, args=(True,), **how)
    assert mode.x[[0, 1, 2, 3]] == pytest.approx([-0.471307, -0.686241, 0.314142, -0.580678], abs=2e-5)
    assert -mode.fun == pytest.approx(-293.026354, abs=1e-5)
    best = minimize(negative, start, args=(False,), **how)
    assert -best.fun == pytest.approx(-292.938726, abs=1e-5)
    k, c = np.exp(best.x[:2])
    assert (k, c, best.x[2]) == pytest.approx((0.623299, 0.502780, 0.314167), abs=2e-5)
    assert 1 / (1 + np.exp(-best.x[3])) == pytest.approx(0.357528, abs=2e-5)


def test_our_fit_is_near_the_maximum_likelihood_of_the_count_table() -> None:
    """The priors are weak: within a tenth of a standard error of the independent program's maximum."""
    fit = fit_measurement(count_table(), fixed=["log_task_spread"])
    assert fit.converged
    found = fit.parameters
    assert found.resolution == pytest.approx(0.623299, abs=0.1 * 0.0785 * 0.62)
    assert found.criterion == pytest.approx(0.502780, abs=0.1 * 0.0904 * 0.5)
    assert found.position == pytest.approx(0.314167, abs=0.1 * 0.0576)
    assert float(threshold(fit.theta)) == pytest.approx(1.943072, abs=0.01)


REFERENCE_MODE = np.array([-0.471307, -0.686241, 0.314142, -0.580678])
"""(log k, log c, b, logit ρ) of the independent program, under its own priors."""


def reference_information() -> np.ndarray:  # type: ignore[type-arg]
    """Expected information at the reference's mode, with the precisions of its priors, by differences of the cells."""

    def cells(values: np.ndarray, delta_q: int) -> np.ndarray:  # type: ignore[type-arg]
        log_k, log_c, b, logit_rho = values
        theta = np.array([np.exp(log_k), b, log_c, logit_rho, NO_SPREAD])
        return cell_probabilities(Parameters.from_vector(theta), delta_q).ravel()

    information = np.diag(1 / np.square([1.5, 1.5, 2.0, 1.5]))
    for delta_q, counts in enumerate(COUNTS):
        above, below = (
            np.array([cells(REFERENCE_MODE + sign * step, delta_q) for step in np.eye(4) * 1e-5]) for sign in (1, -1)
        )
        slopes = (above - below) / 2e-5
        information = information + sum(counts) * (slopes / cells(REFERENCE_MODE, delta_q)) @ slopes.T
    return information


def test_reference_standard_errors_and_threshold() -> None:
    """Under the reference's priors they are its own; ours are as near as the difference of the priors lets them be.

    Not exactly the reference's, for two reasons. Ours is the observed information, the reference's the expected one;
    and we hold k to N(0, 4²) and log c to N(log .7, 2²) where it holds log k to N(0, 1.5²) and log c to N(log .7,
    1.5²). To first order that moves the mode by the covariance times the difference of the priors' gradients: by a
    fiftieth of a standard error in k, less in the others. What is left is of second order.
    """
    errors = np.array([0.078455, 0.090415, 0.057579, 0.419691])
    information = reference_information()
    assert np.sqrt(np.diag(np.linalg.inv(information))) == pytest.approx(errors, rel=2e-4)
    log_k, log_c, b, logit_rho = REFERENCE_MODE
    at_mode = np.array([np.exp(log_k), b, log_c, logit_rho, NO_SPREAD])
    assert float(threshold(at_mode)) == pytest.approx(1.941401, abs=5e-6)

    fit = fit_measurement(count_table(), fixed=["log_task_spread"])
    k = fit.theta[0]
    ours = np.sqrt(np.diag(fit.covariance))[[0, 2, 1, 3]] / [k, 1, 1, 1]
    assert ours == pytest.approx(errors, rel=0.01)
    in_k, in_c = np.exp(log_k), log_c - np.log(0.7)
    gradients = np.array([-(in_k**2) / 4**2 + log_k / 1.5**2, -in_c / 2**2 + in_c / 1.5**2, 0, 0])
    expected = REFERENCE_MODE + np.linalg.solve(information, gradients)
    assert np.abs(expected - REFERENCE_MODE).max() < 0.025 * errors.max()
    found = np.array([np.log(k), fit.theta[2], fit.theta[1], fit.theta[3]])
    assert np.abs((found - expected) / errors).max() < 2e-3
    log_k, log_c, b, logit_rho = expected
    at_expected = np.array([np.exp(log_k), b, log_c, logit_rho, NO_SPREAD])
    assert float(threshold(fit.theta)) == pytest.approx(float(threshold(at_expected)), abs=2e-4)
    assert float(threshold(fit.theta)) == pytest.approx(1.941401, rel=2e-3)


@pytest.mark.parametrize("lapse_rate", [0.0, 0.02])
def test_the_gradient_is_that_of_the_likelihood(lapse_rate: float) -> None:
    rng = np.random.default_rng(0)
    n = 300
    table = PairTable.of_pairs(
        delta_q=rng.integers(0, 6, n).astype(float),
        covariates=rng.normal(size=(n, 2)),
        content_ab=rng.choice([-1, 0, 1, MISSING], n).astype(np.int32),
        content_ba=rng.choice([-1, 0, 1], n).astype(np.int32),
        cluster=rng.integers(0, 20, n).astype(np.int32),
        weight=rng.choice([1.0, 0.5], n),
    )
    theta = np.array([0.5, 0.3, -0.2, 0.4, np.log(0.6), -0.3, np.log(0.3)])
    _, scores = log_likelihood(theta, table, lapse_rate=lapse_rate)
    for index, step in enumerate(np.eye(len(theta)) * 1e-5):
        above, below = (log_likelihood(theta + sign * step, table, lapse_rate=lapse_rate)[0] for sign in (1, -1))
        assert scores[:, index] == pytest.approx((above - below) / 2e-5, abs=1e-5)


def test_cells_sum_to_one_with_lapses() -> None:
    parameters = Parameters(
        resolution=0.8,
        slopes=np.zeros(0),
        position=0.4,
        criterion=0.5,
        correlation=0.3,
        task_spread=0.0,
        lapse_rate=0.05,
    )
    assert cell_probabilities(parameters, 2).sum() == pytest.approx(1)


@pytest.mark.parametrize("lapse_rate", [0.02, 0.4])
@pytest.mark.parametrize("delta_q", [0, 2])
def test_lapses_replace_each_call_by_itself(lapse_rate: float, delta_q: int) -> None:
    """A call stays with 1 - λ, or is any of three verdicts: that matrix applied to each order's verdict in turn."""
    steady = Parameters.from_vector(MID)
    stays = (1 - lapse_rate) * np.eye(3) + lapse_rate / 3
    expected = stays @ cell_probabilities(steady, delta_q) @ stays.T
    lapsing = Parameters.from_vector(MID, lapse_rate=lapse_rate)
    assert cell_probabilities(lapsing, delta_q) == pytest.approx(expected, abs=1e-9)


PLANTED = [
    {"k": 0.6, "c": 0.5, "b": 0.3, "rho": 0.4, "tau": 0.2},
    {"k": 1.6, "c": 0.3, "b": 0.9, "rho": 0.6, "tau": 0.0},
    {"k": 0.55, "c": 0.3, "b": 1.2, "rho": 0.35, "tau": 0.3},
]


@pytest.mark.parametrize("planted", PLANTED)
def test_planted_parameters_come_back(planted: dict[str, float]) -> None:
    """Over twelve logs the means lie within three of their standard errors, and no fit is off by six."""
    logs = 12
    offs = []
    for seed in range(logs):
        fit = fit_measurement(simulated(np.random.default_rng(seed), **planted))
        assert fit.converged
        uncertainty = Uncertainty(fit=fit)
        for name, truth in (
            ("resolution", planted["k"]),
            ("log_criterion", np.log(planted["c"])),
            ("position", planted["b"]),
        ):
            value = float(fit.theta[fit.names.index(name)])
            offs.append((value - truth) / uncertainty.of(name))
    by_parameter = np.array(offs).reshape(logs, 3)
    assert np.abs(by_parameter.mean(axis=0)).max() < 3 / np.sqrt(logs) + 0.3
    assert np.abs(by_parameter).max() < 6


def test_repeats_and_kinds_change_nothing() -> None:
    """The same pairs as single rows, as repeats of weight one half, and with tasks named otherwise: the same fit."""
    table = simulated(np.random.default_rng(1), k=0.6, c=0.5, b=0.3, rho=0.4)
    counts = table.counts.toarray()
    task, kind = np.nonzero(counts)
    half = PairTable.of_pairs(
        delta_q=np.tile(table.delta_q[kind], 2),
        covariates=np.zeros((2 * len(kind), 0)),
        content_ab=np.tile(table.content_ab[kind], 2),
        content_ba=np.tile(table.content_ba[kind], 2),
        cluster=np.tile(100 - task, 2).astype(np.int32),
        weight=np.tile(counts[task, kind] / 2, 2),
    )
    one, other = fit_measurement(table), fit_measurement(half)
    assert other.theta == pytest.approx(one.theta, abs=1e-4)
    assert other.n_pairs == one.n_pairs


@pytest.mark.parametrize("tasks", [4, 12])
def test_the_robust_covariance_is_the_sandwich_of_the_tasks_scores_with_its_correction_for_few(tasks: int) -> None:
    """Each task's score by differences of its own likelihood; G/(G-1) as in Cameron & Miller (2015), eq. 12."""
    table = simulated(np.random.default_rng(4), k=0.6, c=0.5, b=0.3, rho=0.4, tau=0.2, tasks=tasks)
    fit = fit_measurement(table)
    assert fit.free.all()
    steps = np.eye(len(fit.theta)) * 1e-5
    above, below = (np.array([log_likelihood(fit.theta + sign * step, table)[0] for step in steps]) for sign in (1, -1))
    scores = (above - below) / 2e-5
    assert scores.shape == (len(fit.theta), tasks)
    meat = sum(np.outer(score, score) for score in scores.T) * tasks / (tasks - 1)
    expected = fit.covariance @ meat @ fit.covariance
    assert fit.robust_covariance == pytest.approx(expected, rel=1e-4, abs=1e-6 * float(np.abs(expected).max()))


def test_fieller_covers_the_ratio_of_two_normals() -> None:
    rng = np.random.default_rng(2)
    truth, covered = 0.5, 0
    for _ in range(2000):
        x, y = rng.normal(1.0, 0.3), rng.normal(2.0, 0.4)
        limits = fieller(x, y, variances=(0.09, 0.16), covariance=0.0, quantile=1.959964)
        covered += limits is None or limits[0] <= truth <= limits[1]
    assert covered / 2000 == pytest.approx(0.95, abs=0.015)
    assert fieller(1.0, 0.1, variances=(0.1, 0.1), covariance=0.0, quantile=1.96) is None
