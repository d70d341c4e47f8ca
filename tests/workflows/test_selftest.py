"""The self-test: faults come back where they were planted, and a pipeline that is off is found out."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from command import Command

from datasheet.stimulus.bank import load_bank
from datasheet.workflows import selftest as workflow
from datasheet.workflows.faults import FAULTS, Fault
from datasheet.workflows.selftest import SelfTest, asked, selftest

BY_NAME = {fault.name: fault for fault in FAULTS}


def outcome_with(monkeypatch: pytest.MonkeyPatch, declared: Fault, **dials: float) -> SelfTest:
    """The self-test of a fault whose judge is given other dials than are declared."""
    given = replace(declared, changes={**declared.changes, **dials})
    readings = asked(given, load_bank("english"), seed=0)
    monkeypatch.setattr(workflow, "asked", lambda *_, **__: readings)
    return selftest([declared])


def failures(result: SelfTest) -> dict[str, str]:
    return {row.key: row.failure for row in result.failures}


def test_every_fault_comes_back_and_nowhere_else(command: Command) -> None:
    run = command("selftest", "--json")
    assert run.code == 0, run.err
    found = json.loads(run.out)
    planted = [row for row in found["quantities"] if row["planted"]]
    assert {row["fault"] for row in planted} == set(BY_NAME)
    assert all(row["adjusted_p"] >= 0.05 > row["p_without_fault"] for row in planted)
    covered = [row["covered"] for row in found["quantities"] if row["p"] is not None]
    assert sum(covered) >= 0.9 * len(covered)
    assert "17/17 invalid replies" in run.err


@pytest.mark.parametrize(
    ("name", "dials", "key", "failure"),
    [
        ("dark current", {"position": 0.6}, "position", "leak"),
        ("criterion", {"length": 3.0}, "length_slope", "leak"),
        ("filler", {"invalid_rate": 0.05}, "invalid_rate", "leak"),
        ("length", {"surface": 0.9, "noise": 0.44}, "stable_cross_sensitivity", "leak"),
        ("dark current", {"vacuum_criterion": 5.0}, "dark_current", "missed"),
        ("position", {"position": 0.0}, "position", "missed"),
        ("length", {"length": 0.0}, "length_slope", "missed"),
        ("call noise", {"noise": 1.0}, "resolution", "missed"),
    ],
)
def test_a_fault_that_nobody_declared_is_a_leak_and_one_that_is_not_there_is_missed(
    monkeypatch: pytest.MonkeyPatch, name: str, dials: dict[str, float], key: str, failure: str
) -> None:
    assert failures(outcome_with(monkeypatch, BY_NAME[name], **dials))[key] == failure


def test_a_failure_is_named_and_the_exit_code_is_1(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    result = outcome_with(monkeypatch, BY_NAME["position"], position=0.0)
    monkeypatch.setattr(workflow, "selftest", lambda **_: result)
    run = command("selftest")
    assert run.code == 1
    assert "MISSED" in run.out
    assert run.out.rstrip().endswith("failed")
