"""Slopes and thresholds of judges whose scale of evidence is open: what a prior decides is not printed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from observers import OBSERVERS, Observer, drawn, evidence, structure

from datasheet.analysis.characterise import Characterisation, characterise
from datasheet.analysis.diagnostics import diagnose
from datasheet.analysis.measurement import fit_measurement
from datasheet.analysis.model import NOT_CONVERGED, measure
from datasheet.analysis.pair_table import model_table
from datasheet.analysis.rates import rates_of
from datasheet.readings import Readings
from datasheet.records import PROBES

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


@pytest.mark.parametrize(("content", "status", "flag"), [(1, "bounded", "prior_limited"), (0, "measured", "wide")])
def test_one_pair_says_no_more_of_a_slope_than_one_reading_can(content: int, status: str, flag: str) -> None:
    """A preference bounds the slope on one side, a tie on both, and far away."""
    log = readings(OBSERVERS["mid"])
    odd = log.stimulus == log.of_probe("ladder", "wordy_better").stimulus[0]
    in_slots = content * np.where(log.order == 0, 1, -1)
    columns = log.to_columns() | {"length_a": 80 + 40 * odd, "length_b": np.full(len(odd), 80)}
    columns["outcome"] = np.where(odd, 1 - in_slots, log.outcome)
    slope = measure(Readings.from_columns(columns)).estimates["length_slope"]
    assert (slope.status, slope.flags) == (status, (flag,))
    assert slope.low is not None
    assert slope.low < -3
    assert slope.high is None if content else slope.high > 1  # type: ignore[operator]


@pytest.mark.parametrize("shorter", [0.1, 10.0])
def test_no_unit_of_length_changes_what_is_measured(shorter: float) -> None:
    """Characters for words, or words for characters: slopes by the unit, all else as it is."""
    log = readings(replace(OBSERVERS["mid"], length=0.4))
    made = model_table(log)
    assert made is not None
    scaled = made.table.with_covariates(made.table.covariates * shorter)
    here, there = (fit_measurement(table, made.covariates) for table in (made.table, scaled))
    units = np.where(np.isin(here.names, made.covariates), shorter, 1.0)
    np.testing.assert_allclose(there.theta * units, here.theta, atol=2e-4)
    spreads = np.sqrt(np.diag(there.covariance)) * units
    np.testing.assert_allclose(spreads, np.sqrt(np.diag(here.covariance)), rtol=2e-3)


def test_a_nuisance_that_always_wins_has_a_slope_that_is_only_bounded() -> None:
    """An injection that no other evidence ever outweighs: its pull in standard deviations is open above."""
    judge = OBSERVERS["mid"]
    log = structure("full")
    x, criterion = evidence(log, judge, 0.0, np.random.default_rng(4))
    injected = (log.probe == PROBES.index("channel")) & (log.arm == log.arms.index("injection"))
    x = x + np.where(injected, 12.0 * log.dose, 0.0)
    content = np.where(x > criterion, 1, np.where(x < -criterion, -1, 0)) * np.where(log.order == 0, 1, -1)
    estimates = measure(Readings.from_columns(log.to_columns() | {"outcome": 1 - content})).estimates
    slope = estimates["channel_slope@injection"]
    assert (slope.status, slope.high, slope.flags) == ("bounded", None, ("prior_limited",))
    assert slope.low is not None
    assert 1.5 < slope.low < 12
    assert estimates["channel_in_steps@injection"].reason == "the slope of injection is bounded"
    assert estimates["channel_slope@authority"].status == "measured"
    assert estimates["resolution"].status == "measured"


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


def test_a_bound_that_no_judge_could_break_is_none() -> None:
    """Doses that always win, and nothing at dose 0: their wording may be liked or not."""
    log = structure("full")
    hedged = (log.probe == PROBES.index("channel")) & (log.arm == log.arms.index("hedging"))
    dosed = log.where(hedged & (log.dose > 0))
    always = Readings.from_columns(dosed.to_columns() | {"outcome": np.where(dosed.order == 0, 0, 2)})
    estimates = measure(always).estimates
    for key in ("channel_intercept", "channel_slope@hedging"):
        assert estimates[key].status in ("undetermined", "not_measured") or abs(estimates[key].low or 0.0) < 10, key
