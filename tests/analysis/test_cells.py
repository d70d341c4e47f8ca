"""Probabilities of verdicts far out, where a sum of distribution functions would leave nothing but rounding."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr, logsumexp
from scipy.stats import norm

from datasheet.analysis.cells import Verdicts
from datasheet.analysis.parameters import Parameters

VERDICTS = list(product((-1, 0, 1), repeat=2))


def judge(position: float, correlation: float) -> Parameters:
    return Parameters(
        resolution=1.0, slopes=np.zeros(0), position=position, criterion=0.7, correlation=correlation, task_spread=1e-9
    )


def both_orders() -> Verdicts:
    ab, ba = np.array(VERDICTS, dtype=np.int32).T
    return Verdicts.of_pair(ab, ba, n_outcomes=3)


def by_quadrature(verdicts: tuple[int, int], mean: float, parameters: Parameters) -> float:
    """Log probability: the second reading given the first, integrated over the first in units of its largest value."""
    c, b, rho = parameters.criterion, parameters.position, parameters.correlation
    ends = {1: (c, np.inf), 0: (-c, c), -1: (-np.inf, -c)}
    (low, high), (from_, to) = ends[verdicts[0]], ends[verdicts[1]]

    def log_density(x: float) -> float:
        centre = mean - b + rho * (x - mean - b)
        upper, lower = ((end - centre) / np.sqrt(1 - rho * rho) for end in (to, from_))
        if lower > 0:
            upper, lower = -lower, -upper
        inside = log_ndtr(upper) + np.log1p(-np.exp(log_ndtr(lower) - log_ndtr(upper)))
        return float(norm.logpdf(x - mean - b) + inside)

    grid = np.linspace(max(low, -40.0), min(high, 40.0), 4001)
    at = grid[int(np.argmax([log_density(x) for x in grid]))]
    most = log_density(at)
    pieces = [end for end in (at - 1, at - 0.1, at, at + 0.1, at + 1) if low < end < high]
    area, _ = quad(lambda x: np.exp(log_density(x) - most), max(low, at - 12), min(high, at + 12), points=pieces,
                   epsabs=0, epsrel=1e-10, limit=200)  # fmt: skip
    return most + float(np.log(area))


@pytest.mark.parametrize(("mean", "position"), [(0.0, 0.0), (7.0, 0.5), (-7.0, 0.5), (1.0, 6.0), (-12.0, 1.0)])
def test_log_cells_have_their_digits_however_small_the_probability(mean: float, position: float) -> None:
    parameters = judge(position, 0.5)
    logs = both_orders().log_cells(np.full((9, 1), mean), parameters).value[:, 0]
    expected = np.array([by_quadrature(verdicts, mean, parameters) for verdicts in VERDICTS])
    floor = np.array([expected_alone(verdicts, mean, parameters) for verdicts in VERDICTS]) + np.log(1e-13)
    assert min(expected) < -40 or mean == 0
    well_above = expected > floor + 3
    assert logs[well_above] == pytest.approx(expected[well_above], rel=1e-6, abs=1e-8)
    assert logs[~well_above] == pytest.approx(np.maximum(expected, floor)[~well_above], abs=0.05)


def expected_alone(verdicts: tuple[int, int], mean: float, parameters: Parameters) -> float:
    """Log probability if the orders were independent."""
    total, c = 0.0, parameters.criterion
    for verdict, sign in zip(verdicts, (1, -1), strict=True):
        x = abs(mean + sign * parameters.position) if verdict == 0 else verdict * (mean + sign * parameters.position)
        total += float(log_ndtr(x - c)) if verdict else float(logsumexp(log_ndtr([c - x, -c - x]), b=[1, -1]))
    return total


def test_no_mean_is_so_far_out_that_the_log_cells_are_level() -> None:
    """A search must find its way back: each log probability falls with a mean that goes against it, and says so."""
    verdicts = both_orders()
    wrong = [VERDICTS.index(pair) for pair in ((-1, -1), (-1, 0), (0, -1), (0, 0))]
    means = np.array([5.0, 9.0, 30.0, 60.0, 200.0])
    cells = verdicts.log_cells(np.tile(means, (9, 1)), judge(0.4, 0.6))
    assert (np.diff(cells.value[wrong], axis=1) < 0).all()
    near = verdicts.log_cells(np.tile(means + 1e-5, (9, 1)), judge(0.4, 0.6))
    slopes = (near.value - cells.value)[wrong] / 1e-5
    assert cells.by_mean[wrong] == pytest.approx(slopes, rel=5e-3)


def test_log_cells_of_one_order_are_exact() -> None:
    verdicts = Verdicts.of_reading(np.array([1, 0, -1], dtype=np.int32), 1.0, n_outcomes=3)
    logs = verdicts.log_cells(np.full((3, 1), -20.0), judge(0.0, 0.5)).value[:, 0]
    tie = logsumexp(norm.logcdf([-19.3, -20.7]), b=[1, -1])
    assert logs == pytest.approx([norm.logcdf(-20.7), tie, norm.logcdf(19.3)], rel=1e-9, abs=1e-15)
