"""Planted observers measured over and over: no bias, intervals that hold the truth, and that are no wider than needed.

The fast layer of ``benchmarks/validity/observers.py``: few logs, so that its bounds leave room for chance.
"""

from __future__ import annotations

import numpy as np
import pytest
from observers import LEAST_COVERAGE, LEAST_SHARE, MOST_WIDTH, RATES, worths

LOGS, DRAWS = 40, 400
LEAST_COVERS = 0.75
"""Of 40 intervals; that fewer hold the truth has a chance of 1 in 100,000 where 93% of them do."""

ROOM = 1.4
"""For chance in a ratio to a standard deviation of 40 values, three of its standard errors."""


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
