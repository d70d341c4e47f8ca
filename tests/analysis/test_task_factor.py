"""The task factor integrated out: against adaptive quadrature, at a few pairs a task and at thousands."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import check_grad
from scipy.special import stdtrit
from scipy.stats import multivariate_normal, norm

from datasheet.analysis.derived import Uncertainty
from datasheet.analysis.evidence import PairTable, log_likelihood
from datasheet.analysis.measurement import fit_measurement
from datasheet.analysis.task_factor import TaskAverage

K, B, C, RHO = 0.6, 0.3, 0.5, 0.4


def drawn(rng: np.random.Generator, *, tasks: int, pairs: int, tau: float) -> PairTable:
    """Ladder pairs of 1 to 5 steps, and a quarter as many of equal quality."""
    steps = np.array([better - worse for better in range(6) for worse in range(better)], dtype=float)
    delta_q = np.tile(np.concatenate([np.resize(steps, pairs), np.zeros(pairs // 4)]), tasks)
    task = np.repeat(np.arange(tasks), pairs + pairs // 4)
    mean = K * np.exp(tau * rng.standard_normal(tasks))[task] * delta_q + np.sqrt(RHO) * rng.standard_normal(len(task))
    evidence = [mean + sign * B + np.sqrt(1 - RHO) * rng.standard_normal(len(task)) for sign in (1, -1)]
    ab, ba = ((x > C).astype(np.int32) - (x < -C).astype(np.int32) for x in evidence)
    return PairTable.of_pairs(
        delta_q=delta_q,
        covariates=np.zeros((len(task), 0)),
        content_ab=ab,
        content_ba=ba,
        cluster=task.astype(np.int32),
        weight=np.ones(len(task)),
    )


def cell(mean: float, ab: int, ba: int) -> float:
    """Probability of two readings, by another program's bivariate normal."""
    ends = {1: (C, np.inf), 0: (-C, C), -1: (-np.inf, -C)}
    (low_1, high_1), (low_2, high_2) = ends[ab], ends[ba]
    both = multivariate_normal([mean + B, mean - B], [[1, RHO], [RHO, 1]])
    return float(both.cdf([high_1, high_2], lower_limit=[low_1, low_2]))


def by_quadrature(table: PairTable, task: int, tau: float) -> float:
    """Log likelihood of a task with the factor integrated by adaptive quadrature around its mode."""
    counts = table.counts[[task]].toarray()[0]
    rows = np.flatnonzero(counts)

    def log_integrand(z: float) -> float:
        return float(norm.logpdf(z)) + sum(
            counts[row]
            * np.log(
                1e-300 + cell(K * np.exp(tau * z) * table.delta_q[row], table.content_ab[row], table.content_ba[row])
            )
            for row in rows
        )

    grid = np.linspace(-3.5, 3.5, 57)
    values = [log_integrand(z) for z in grid]
    peak, at = max(values), float(grid[int(np.argmax(values))])
    area, _ = quad(lambda z: np.exp(log_integrand(z) - peak), at - 3, at + 3, points=[at - 0.1, at, at + 0.1], limit=60)
    return peak + float(np.log(area))


@pytest.mark.parametrize(("pairs", "tau"), [(15, 0.2), (200, 0.3), (400, 0.6), (2000, 0.5), (2000, 1.0)])
def test_likelihood_of_a_task_is_its_integral(pairs: int, tau: float) -> None:
    table = drawn(np.random.default_rng(3), tasks=2, pairs=pairs, tau=tau)
    theta = np.array([K, B, np.log(C), np.log(RHO / (1 - RHO)), np.log(tau)])
    values, _ = log_likelihood(theta, table)
    assert values[0] == pytest.approx(by_quadrature(table, 0, tau), abs=0.01)


@pytest.mark.parametrize("tau", [0.02, 0.25, 0.5, 1.1])
def test_gradient_is_that_of_the_sum(tau: float) -> None:
    table = drawn(np.random.default_rng(4), tasks=3, pairs=400, tau=0.4)
    theta = np.array([0.7, 0.2, np.log(0.4), 0.1, np.log(tau)])
    _, slopes = log_likelihood(theta, table)
    error = check_grad(
        lambda values: log_likelihood(values, table)[0].sum(),
        lambda values: log_likelihood(values, table)[1].sum(axis=0),
        theta,
    )
    assert error < 1e-4 * float(np.abs(slopes.sum(axis=0)).max())


def test_averaging_a_known_function() -> None:
    """E exp(s z) = exp(s²/2) for a standard normal z."""
    average = TaskAverage.for_pairs(1)
    slope = np.array([0.5, -1.0])
    values, _ = average(slope[:, None] * average.nodes - 9)
    assert values + 9 == pytest.approx(slope**2 / 2, abs=1e-3)


@pytest.mark.parametrize("pairs", [200, 1000])
def test_intervals_hold_with_many_pairs_a_task(pairs: int) -> None:
    """Between tasks lies what many pairs can't average out: an interval that forgets it holds in one log of five."""
    logs, tasks, tau = 40, 20, 0.3
    resolution, errors = 0, []
    for seed in range(logs):
        fit = fit_measurement(drawn(np.random.default_rng([pairs, seed]), tasks=tasks, pairs=pairs, tau=tau))
        assert fit.converged
        errors.append(float(fit.theta[0]) - K)
        resolution += abs(errors[-1]) <= stdtrit(tasks - 1, 0.975) * Uncertainty(fit=fit).of("resolution")
    assert resolution >= 34  # of 40 at .95, fewer in one run of 1,000
    sampling_sd = K * tau / np.sqrt(tasks)
    assert abs(np.mean(errors)) < 3 * sampling_sd / np.sqrt(logs)


def test_a_mode_is_found_wherever_it_lies() -> None:
    """A log whose task spread lies where a rule that depends on the spread would change its nodes."""
    for tau in (0.3, 0.32, 0.6, 0.64):
        table = drawn(np.random.default_rng(135), tasks=20, pairs=600, tau=tau)
        fits = [
            fit_measurement(table, start=np.array([K, B, np.log(C), -0.4, np.log(spread)])) for spread in (0.2, tau, 1)
        ]
        assert all(fit.converged for fit in fits)
        assert np.ptp([fit.theta for fit in fits], axis=0).max() < 1e-3
