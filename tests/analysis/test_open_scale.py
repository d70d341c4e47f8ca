"""Slopes and thresholds of judges whose scale of evidence is open: what a prior decides is not printed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from observers import OBSERVERS, Observer, drawn, structure

from datasheet.analysis.characterise import Characterisation, characterise
from datasheet.analysis.diagnostics import diagnose
from datasheet.analysis.model import NOT_CONVERGED, measure
from datasheet.analysis.rates import rates_of
from datasheet.readings import Readings

SATURATED = Observer(k=40.0, c=8.0, b=0.2, rho=0.3, length=15.0)


@cache
def readings(judge: Observer) -> Readings:
    return drawn(structure("standard"), judge, 0.0, np.random.default_rng(1))


@cache
def found(judge: Observer) -> Characterisation:
    return characterise(readings(judge))


@pytest.mark.parametrize(
    "judge", [SATURATED, replace(SATURATED, k=0.0, c=40.0, length=0.0), replace(SATURATED, k=0.0, b=60.0, c=0.1)]
)
def test_no_slope_is_printed_where_all_evidence_may_be_as_large_as_one_likes(judge: Observer) -> None:
    estimates = found(judge).estimates
    for key in ("length_slope", "length_in_steps", "filler_slope", "filler_in_steps"):
        assert estimates[key].status == "undetermined", (key, estimates[key])
    assert found(judge).diagnostics.base_level_slope.status == "undetermined"


def test_a_slope_that_a_few_readings_leave_to_its_prior_is_undetermined() -> None:
    """Lengths that differ by a word tell nothing of the pull of a hundred."""
    columns = readings(OBSERVERS["mid"]).to_columns()
    one_longer = np.array(columns["length_a"]) % 2
    alike = columns | {"length_a": 80 + one_longer, "length_b": np.full(len(one_longer), 80)}
    slope = measure(Readings.from_columns(alike)).estimates["length_slope"]
    assert slope.status == "undetermined"
    assert "little more" in slope.reason
    assert measure(readings(OBSERVERS["mid"])).estimates["length_slope"].status == "measured"


def test_what_the_shares_say_of_the_top_step_is_not_said_of_the_threshold_without_a_criterion() -> None:
    """A wide tie band hides differences that a judge without it would see."""
    log = drawn(structure("paper"), Observer(k=0.6, c=6.0, b=0.3, rho=0.4), 0.0, np.random.default_rng(3))
    estimates = measure(log, empirical=rates_of(log).estimates["threshold_75_empirical"]).estimates
    threshold, without = estimates["threshold_75"], estimates["fc75"]
    assert (threshold.status, threshold.low) == ("bounded", 5)
    assert without.low is None or without.low < 1.5, "its true threshold without the criterion is about 1.2"


def test_nothing_is_said_of_the_steps_by_a_fit_that_did_not_converge() -> None:
    model = measure(readings(OBSERVERS["mid"]))
    assert model.fit is not None
    failed = replace(model, fit=replace(model.fit, largest_gradient=1.0))
    diagnostics = diagnose(failed)
    assert diagnostics.steps_p is None
    assert (diagnostics.base_level_slope.status, diagnostics.base_level_slope.reason) == ("undetermined", NOT_CONVERGED)


def test_one_task_says_nothing_of_others() -> None:
    """No bound, no budget, and no ratio to a resolution that is not apart from 0 within it."""
    log = drawn(structure("standard"), Observer(k=0.02, c=0.5, b=0.3, rho=0.4), 0.0, np.random.default_rng(2))
    alone = characterise(log.where(log.task == log.task[0]))
    statuses = {key: alone.estimates[key].status for key in ("threshold_75", "fc75", "noise_equivalent_delta_q")}
    assert set(statuses.values()) == {"undetermined"}, statuses
    assert alone.budgets == ()
