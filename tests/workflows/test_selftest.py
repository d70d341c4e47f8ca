"""The self-test: faults come back where they were planted, and an instrument that is off is found out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from command import Command
from scipy.stats import norm
from scipy.stats import t as student_t

from datasheet.analysis.characterise import Characterisation, characterise
from datasheet.analysis.point_null import parameter_p
from datasheet.readings import Readings
from datasheet.records import CHANNELS, Estimate
from datasheet.stimulus.bank import load_bank
from datasheet.workflows import selftest as workflow
from datasheet.workflows.faults import CLEAN, FAULTS, Fault, true_values
from datasheet.workflows.selftest import Limits, SelfTest, asked, inverted, selftest

BY_NAME = {fault.name: fault for fault in FAULTS}
PLANTED = sum(len(fault.shows) for fault in FAULTS)


NEED_THE_FULL_DESIGN = (  # for doses, or for a resolution known well enough to be seen off by 30%
    *CHANNELS,
    "wording",
    "call noise",
    "dark current",
)


def declared(name: str) -> Fault:
    """A fault, on `standard` where that tells what the tests ask, since it takes a third of the calls."""
    return BY_NAME[name] if name in NEED_THE_FULL_DESIGN else replace(BY_NAME[name], design="standard")


@cache
def answered(name: str, **dials: float) -> Readings:
    """The readings of a judge with a fault, and with other dials than are declared."""
    fault = declared(name)
    return asked(replace(fault, changes={**fault.changes, **dials}), load_bank("english"), seed=0)


@cache
def characterised(name: str, **dials: float) -> Characterisation:
    return characterise(answered(name, **dials))


def as_found(found: Characterisation) -> Characterisation:
    return found


def outcome_with(
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    altered: Callable[[Characterisation], Characterisation] = as_found,
    **dials: float,
) -> SelfTest:
    """The self-test of one fault whose judge is given other dials than are declared, or whose analysis is off."""
    monkeypatch.setattr(workflow, "asked", lambda *_, **__: answered(name, **dials))
    monkeypatch.setattr(workflow, "characterise", lambda _: altered(characterised(name, **dials)))
    return selftest([declared(name)])


def failures(result: SelfTest) -> dict[str, str]:
    return {row.key: row.failure for row in result.failures}


def with_scaled(name: str, factor: float) -> Callable[[Characterisation], Characterisation]:
    """What an analysis finds whose joint model gives one parameter times a factor, its interval with it."""

    def altered(found: Characterisation) -> Characterisation:
        fit, estimate = found.model.fit, found.estimates[name]
        assert fit is not None
        assert estimate.estimate is not None
        assert estimate.low is not None
        assert estimate.high is not None
        scale = np.where([other == name for other in fit.names], factor, 1.0)
        by = np.outer(scale, scale)
        off = replace(
            fit, theta=fit.theta * scale, covariance=fit.covariance * by, robust_covariance=fit.robust_covariance * by
        )
        low, high = sorted((estimate.low * factor, estimate.high * factor))
        printed = replace(estimate, estimate=estimate.estimate * factor, low=low, high=high)
        estimates = found.estimates | {name: printed}
        return replace(found, estimates=estimates, model=replace(found.model, fit=off, estimates=estimates))

    return altered


def test_every_fault_comes_back_and_nowhere_else(command: Command) -> None:
    run = command("selftest", "--json")
    assert run.code == 0, run.err
    found = json.loads(run.out)
    assert found["simultaneous_level"] == pytest.approx(1 - 0.05 / PLANTED)
    planted = [row for row in found["quantities"] if row["planted"]]
    assert {(row["fault"], row["key"]) for row in planted} == {(f.name, key) for f in FAULTS for key in f.shows}
    for row in planted:
        low, high = row["simultaneous_low"], row["simultaneous_high"]
        assert row["recovered"], row
        assert low <= row["truth"] <= high, row
        assert not low <= row["without_fault"] <= high, row
        assert low <= row["low"] <= row["estimate"] <= row["high"] <= high, row
    others = [row for row in found["quantities"] if not row["planted"]]
    assert all(row["adjusted_p"] is None or row["adjusted_p"] >= 0.05 for row in others)
    assert {row["key"] for row in others if row["fault"] == "wording"} > {"channel_slope@format", "criterion"}
    covered = [row["covered"] for row in found["quantities"] if row["status"] == "measured"]
    assert len(covered) > 300
    assert sum(covered) >= 0.9 * len(covered)
    assert f"{len(FAULTS)}/{len(FAULTS)} invalid replies" in run.err


@pytest.mark.parametrize(
    ("name", "dials", "key", "failure"),
    [
        ("dark current", {"position": 0.6}, "position", "leak"),
        ("criterion", {"length": 3.0}, "length_slope", "leak"),
        ("filler", {"invalid_rate": 0.05}, "invalid_rate", "leak"),
        ("length", {"surface": 0.9, "noise": 0.44}, "stable_cross_sensitivity", "leak"),
        ("format", {"wording": 0.5}, "channel_intercept", "leak"),
        ("wording", {"hedging": 0.4}, "channel_slope@hedging", "leak"),
        ("dark current", {"vacuum_criterion": 5.0}, "dark_current", "missed"),
        ("position", {"position": 0.0}, "position", "missed"),
        ("length", {"length": 0.0}, "length_slope", "missed"),
        ("wording", {"wording": 0.0}, "channel_intercept", "missed"),
        ("call noise", {"noise": 1.0}, "resolution", "missed"),
    ],
)
def test_a_fault_that_nobody_declared_is_a_leak_and_one_that_is_not_there_is_missed(
    monkeypatch: pytest.MonkeyPatch, name: str, dials: dict[str, float], key: str, failure: str
) -> None:
    assert failures(outcome_with(monkeypatch, name, **dials))[key] == failure


@pytest.mark.parametrize(
    ("limits", "failure"),
    [
        ((0.6, 0.9), ""),
        ((-0.1, 0.9), "missed"),  # wide enough for anything: it tells the fault from none no better than a guess does
        ((0.0, 0.9), "missed"),
        ((-0.2, 0.2), "missed"),
        ((0.3, 0.5), "missed"),
        (None, "missed"),
    ],
)
def test_a_planted_value_comes_back_only_if_its_interval_holds_it_and_not_that_of_no_fault(
    limits: Limits | None, failure: str
) -> None:
    row = workflow.Tested(
        fault="position",
        key="position",
        planted=True,
        truth=0.8,
        clean=0.0,
        found=Estimate(estimate=0.75, low=0.6, high=0.9, n=100),
        simultaneous=limits,
        p=0.5,
    )
    assert row.covered
    assert row.failure == failure
    assert row.recovered is (failure == "")
    assert SelfTest(tested=(row,), level=0.99).failures == ((row,) if failure else ())


def test_a_fault_too_small_to_be_told_from_none_is_missed_though_its_interval_holds_it() -> None:
    """The whole way: the judge has what is declared, and the interval holds that, but 0 too."""
    small = Fault(name="position", changes={"position": 0.03}, shows=("position",), design="standard")
    result = selftest([small])
    (row,) = result.planted
    assert row.simultaneous is not None
    low, high = row.simultaneous
    assert low < 0 < 0.03 < high
    assert row.covered
    assert failures(result) == {"position": "missed"}


@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_a_resolution_that_is_off_by_30_percent_is_missed_where_it_is_planted_and_a_leak_elsewhere(
    monkeypatch: pytest.MonkeyPatch, factor: float
) -> None:
    off = with_scaled("resolution", factor)
    assert failures(outcome_with(monkeypatch, "call noise", off)) == {"resolution": "missed"}
    assert failures(outcome_with(monkeypatch, "dark current", off)) == {"resolution": "leak"}


def test_a_position_of_the_wrong_sign_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert failures(outcome_with(monkeypatch, "position", with_scaled("position", -1.0))) == {"position": "missed"}


@pytest.mark.parametrize(
    ("name", "altered", "dials", "verdict"),
    [
        ("call noise", with_scaled("resolution", 1.3), {}, "MISSED"),
        ("position", with_scaled("position", -1.0), {}, "MISSED"),
        ("dark current", as_found, {"position": 0.6}, "LEAK"),
    ],
)
def test_each_failure_is_named_and_the_exit_code_is_1(
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    altered: Callable[[Characterisation], Characterisation],
    dials: dict[str, float],
    verdict: str,
) -> None:
    result = outcome_with(monkeypatch, name, altered, **dials)
    monkeypatch.setattr(workflow, "selftest", lambda **_: result)
    run = command("selftest")
    assert run.code == 1
    assert verdict in run.out
    assert run.out.rstrip().endswith("failed")
    assert not json.loads(command("selftest", "--json").out)["passed"]


def test_both_intervals_are_shown_and_named(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    result = outcome_with(monkeypatch, "position")
    monkeypatch.setattr(workflow, "selftest", lambda **_: result)
    run = command("selftest")
    assert run.code == 0
    assert "95% interval" in run.out
    assert "simultaneous 97.50%" in run.out  # two values are planted


def test_a_simultaneous_interval_is_the_inverse_of_the_test_at_its_level(monkeypatch: pytest.MonkeyPatch) -> None:
    found = characterised("criterion")
    fit, estimate = found.model.fit, found.estimates["criterion"]
    assert fit is not None
    level = 1 - 0.05 / PLANTED
    limits = inverted(lambda value: parameter_p(found.model, "criterion", value) if value > 0 else 0.0, estimate, level)
    index = fit.names.index("log_criterion")
    u = max(np.sqrt(matrix[index, index]) for matrix in (fit.covariance, fit.robust_covariance))
    half = student_t.ppf((1 + level) / 2, fit.degrees_of_freedom) * u
    assert limits == pytest.approx(np.exp(fit.theta[index] + [-half, half]))
    (row,) = (row for row in outcome_with(monkeypatch, "criterion").planted if row.key == "criterion")
    assert row.simultaneous == pytest.approx((estimate.low, estimate.high))  # one value is planted: the 95% interval


def test_what_has_no_test_or_no_interval_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    estimate = Estimate(estimate=0.5, low=0.4, high=0.6, n=10)
    assert inverted(lambda _: None, estimate, 0.99) is None
    assert inverted(lambda _: 1.0, Estimate.absent("undetermined", "why"), 0.99) is None
    assert inverted(lambda _: 1.0, Estimate(estimate=0.5, low=0.4, reason="open", n=10), 0.99) is None

    def undetermined(found: Characterisation) -> Characterisation:
        return replace(found, estimates=found.estimates | {"criterion": Estimate.absent("undetermined", "why")})

    assert failures(outcome_with(monkeypatch, "criterion", undetermined)) == {"criterion": "missed"}


def test_what_a_liking_for_the_wording_truly_does_to_equal_pairs() -> None:
    """Both orders on either side of a mean of -0.4, worked out here with independent noise in each."""
    readings = answered("wording")
    found, clean = true_values(BY_NAME["wording"].dials, readings), true_values(CLEAN, readings)
    b, a = norm.cdf(0.4 - 0.6), norm.cdf(-0.4 - 0.6)
    assert found["stable_cross_sensitivity"] == pytest.approx(a * a + b * b)
    assert found["positional_false_preference"] == pytest.approx(2 * a * b)
    assert found["channel_intercept"] == 0.4
    same = found.keys() - {"stable_cross_sensitivity", "positional_false_preference", "self_consistency"}
    assert {key: found[key] for key in same} == {key: clean[key] for key in same} | {"channel_intercept": 0.4}
    estimates = characterised("wording").estimates
    sensitivity = estimates["stable_cross_sensitivity"]
    assert sensitivity.low is not None
    assert sensitivity.low < found["stable_cross_sensitivity"] < sensitivity.high  # type: ignore[operator]


def test_an_interrupted_self_test_says_that_it_keeps_nothing(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(**_: object) -> SelfTest:
        raise KeyboardInterrupt

    monkeypatch.setattr(workflow, "selftest", stopped)
    run = command("selftest")
    assert run.code == 130
    assert "keeps nothing" in run.err
    assert "goes on" not in run.err
