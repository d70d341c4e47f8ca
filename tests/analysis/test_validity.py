"""Planted observers measured over and over: no bias, intervals that hold the truth, and that are no wider than needed.

The fast layer of ``benchmarks/validity/observers.py``: few logs, so that its bounds leave room for chance.
"""

from __future__ import annotations

import numpy as np
import pytest
from lapses import JUDGES, replicate
from observers import LEAST_COVERAGE, LEAST_SHARE, MOST_WIDTH, OBSERVERS, RATES, true_threshold, worths

LOGS, DRAWS, LAPSING_LOGS = 40, 400, 8
LEAST_COVERS = 0.75
"""Of 40 intervals; that fewer hold the truth has a chance of 1 in 100,000 where 93% of them do."""

ROOM = 1.4
"""For chance in a ratio to a standard deviation of 40 values, three of its standard errors."""

MOST_ERRORS = 3.5
"""Standard errors of the mean of 40 logs that a parameter may be off: a chance of 1 in 800 for each where none is."""

MISFIT = 0.05
"""The share of its threshold that an observer outside of the model may be off besides."""

KNOWN_TO_BE_OFF = {"lapses": ("threshold_75",)}
"""What the sheet warns of."""


@pytest.mark.parametrize(
    ("design", "name", "tau"),
    [
        ("standard", "mid", 0.2),
        ("paper", "mid", 0.0),
        ("paper", "llama-like", 0.2),
        ("paper", "heavy-surface", 0.3),
        ("paper", "t-noise", 0.0),
        ("paper", "unequal-steps", 0.2),
        ("paper", "order-dependent", 0.0),
        ("paper", "lapses", 0.2),
    ],
)
def test_a_planted_observer_is_measured_right(design: str, name: str, tau: float) -> None:
    found = worths(design, name, tau, replicates=LOGS, draws=DRAWS)
    printed = {key: worth for key, worth in found.items() if worth.printed > LEAST_COVERAGE}
    assert {"stable_cross_sensitivity", "positional_false_preference", "p_correct_1"} <= printed.keys()
    for key, worth in printed.items():
        assert worth.covers >= LEAST_COVERS, key
        if np.isfinite(worth.width) and (key not in RATES or LEAST_SHARE <= worth.truth <= 1 - LEAST_SHARE):
            assert worth.width <= MOST_WIDTH * ROOM, key
    assert np.mean([worth.covers for worth in printed.values()]) >= LEAST_COVERAGE
    for key in RATES:
        if key in printed and printed[key].standard_error > 0:
            assert abs(printed[key].bias) <= 4 * printed[key].standard_error + 0.002, key
    parameters = printed.keys() - set(RATES) - set(KNOWN_TO_BE_OFF.get(name, ()))
    own = OBSERVERS[name].is_of_the_model
    assert not own or {"resolution", "position", "threshold_75"} <= parameters
    for key in parameters:
        worth = printed[key]
        room = 0.0 if own else MISFIT * worth.truth
        assert abs(worth.bias) <= MOST_ERRORS * worth.standard_error + room, key


def test_a_judge_that_lapses_is_warned_of_and_its_threshold_is_too_high_by_what_the_rate_of_lapses_tells() -> None:
    """In the benchmark 99% of logs are warned of; the threshold is 0.22 steps too high, at the best rate 0.01 off."""
    name = "lapses in 5%"
    assert JUDGES[name] == OBSERVERS["lapses"]
    warned, printed, mended = np.array(
        [replicate(seed, design="standard", name=name, tau=0.2) for seed in range(LAPSING_LOGS)], dtype=float
    ).T
    assert warned.sum() >= LAPSING_LOGS - 1
    truth = true_threshold(OBSERVERS["lapses"])
    assert 0.1 < np.mean(printed) - truth < 0.4
    assert abs(np.mean(mended) - truth) < 0.1
