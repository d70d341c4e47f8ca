"""The measurement model on logs: length told from quality, and degenerate logs that never give a wild number."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from observers import OBSERVERS, drawn, structure
from published import LLAMA8B, QWEN32B
from readings_made import ladder_rows, same_quality_rows, vacuum_rows

from datasheet.analysis.intervals import ONE_TASK
from datasheet.analysis.model import MODEL_KEYS, NO_TIES, measure, prefix_resolution
from datasheet.readings import ReadingRow, Readings
from datasheet.records import Estimate

shown = cache(structure)
LOGS = 5


def measured(readings: Readings) -> dict[str, Estimate]:
    return measure(readings).estimates


@pytest.mark.parametrize(
    "name", ["mid", "length-lover", "filler-hater", "quality-and-filler", "prefers-short"], ids=str
)
def test_quality_is_told_from_length_and_filler(name: str) -> None:
    """The mean resolution over a few logs lies within two of its standard errors of the truth, slopes likewise."""
    observer = OBSERVERS[name]
    found = [measured(drawn(shown("standard"), observer, 0.2, np.random.default_rng(seed))) for seed in range(LOGS)]
    for key, truth, spread in (
        ("resolution", observer.k, 0.05),
        ("length_slope", observer.length, 0.35),
        ("filler_slope", observer.filler, 0.45),
    ):
        mean = np.mean([estimates[key].estimate for estimates in found])  # type: ignore[misc]
        assert mean == pytest.approx(truth, abs=2 * spread / np.sqrt(LOGS)), key


def test_the_prefix_arm_alone_takes_length_for_quality() -> None:
    """A pure length-lover: the prefix-only reading is high and labelled, the resolution is nil."""
    readings = drawn(shown("standard"), OBSERVERS["length-lover"], 0.0, np.random.default_rng(1))
    prefix = prefix_resolution(readings)["resolution@prefix"]
    assert prefix.low is not None
    assert prefix.low > 0.4
    assert prefix.flags == ("confounded_with_length",)
    estimates = measured(readings)
    resolution = estimates["resolution"]
    assert resolution.low is not None
    assert resolution.high is not None
    assert resolution.low < 0 < resolution.high < 0.2
    for key in ("position_in_steps", "length_in_steps", "filler_in_steps"):
        assert estimates[key].status == "undetermined", key
        assert "resolution" in estimates[key].reason
    assert estimates["noise_equivalent_delta_q"].status == "undetermined"
    assert estimates["threshold_75"].status in ("bounded", "undetermined")


def test_the_published_design_is_flagged_as_confounded() -> None:
    estimates = measured(drawn(shown("paper"), OBSERVERS["mid"], 0.2, np.random.default_rng(2)))
    for key in ("resolution", "threshold_75", "fc75"):
        assert "confounded_with_length" in estimates[key].flags
    assert estimates["length_slope"].status == "not_measured"
    for name in ("length", "filler"):
        slope, in_steps = estimates[f"{name}_slope"], estimates[f"{name}_in_steps"]
        assert (in_steps.status, in_steps.reason) == (slope.status, slope.reason)
    assert "tell length from quality" in estimates["length_slope"].reason


def test_length_and_filler_in_quality_steps_are_their_slopes_over_the_resolution() -> None:
    estimates = measured(drawn(shown("standard"), OBSERVERS["quality-and-filler"], 0.2, np.random.default_rng(4)))
    for name in ("length", "filler"):
        slope, in_steps = estimates[f"{name}_slope"], estimates[f"{name}_in_steps"]
        assert in_steps.estimate == pytest.approx(slope.estimate / estimates["resolution"].estimate)  # type: ignore[operator]
        assert in_steps.low is not None
        assert in_steps.high is not None
        assert in_steps.low < in_steps.estimate < in_steps.high  # type: ignore[operator]
        assert (in_steps.low > 0) == (slope.low > 0)  # type: ignore[operator]


def test_a_position_that_is_only_bounded_has_no_worth_in_quality_steps() -> None:
    """A judge that takes the first slot nearly always: how strong that pull is stays open upwards."""
    observer = replace(OBSERVERS["mid"], k=0.6, c=0.05, b=6.0)
    estimates = measured(drawn(shown("paper"), observer, 0.2, np.random.default_rng(1)))
    position, in_steps = estimates["position"], estimates["position_in_steps"]
    assert (position.status, position.high) == ("bounded", None)
    assert position.low is not None
    assert 2 < position.low < 6
    assert (in_steps.status, in_steps.reason) == ("undetermined", "the position is bounded")


def test_a_judge_that_is_always_right_has_a_threshold_of_one_step_at_most() -> None:
    """Its resolution is only known to be above something, and so is no reason to call the threshold open."""
    rows = [*same_quality_rows(none=60), *ladder_rows(dict.fromkeys(range(1, 6), (60, 0, 0)))]
    readings = Readings.from_rows(rows)
    estimates = measure(readings, empirical=Estimate(status="bounded", high=1, n=1)).estimates
    assert estimates["resolution"].status == "bounded"
    for key in ("threshold_75", "threshold_75_marginal", "fc75"):
        assert (estimates[key].status, estimates[key].high, estimates[key].low) == ("bounded", 1, None)
    unsupported = measured(readings)["threshold_75"]
    assert (unsupported.status, unsupported.reason) == ("undetermined", "the resolution is bounded")


@pytest.mark.parametrize("words_a_step", [0, 20])
def test_lengths_that_do_not_differ_from_quality_are_no_covariate(words_a_step: int) -> None:
    columns = drawn(shown("standard"), OBSERVERS["mid"], 0.0, np.random.default_rng(3)).to_columns()
    lengths = [100 + words_a_step * max(step, 0) for step in columns["delta_q"]]
    flat = columns | {"length_a": lengths, "length_b": [100] * len(lengths), "filler_b": [0] * len(lengths)}
    estimates = measured(Readings.from_columns(flat))
    for key in ("length_slope", "length_in_steps", "filler_slope"):
        assert estimates[key].status == "not_measured", key
    assert estimates["resolution"].status == "measured"


def test_values_far_beyond_any_bank_make_no_wild_number() -> None:
    rows = [
        *same_quality_rows(none=12),
        *(replace(row, delta_q=1_000_000, level_a=None, level_b=None) for row in ladder_rows({1: (12, 0, 0)})),
    ]
    sane(measured(Readings.from_rows(rows)))


def sane(estimates: dict[str, Estimate]) -> None:
    """Every key is there, and no number is one that readings could not show."""
    assert set(estimates) - {"channel_slope"} == set(MODEL_KEYS)
    for key, estimate in estimates.items():
        for number in (estimate.estimate, estimate.low, estimate.high):
            assert number is None or abs(number) <= 61, (key, estimate)


def degenerate_logs() -> dict[str, list[ReadingRow]]:
    ladder = {1: (80, 10, 10), 3: (60, 0, 0), 5: (20, 0, 0)}
    same = same_quality_rows(stable=10, first_first=15, one_sided=15, none=20)
    mixed = [*same, *ladder_rows(ladder)]
    return {
        "all ties": [replace(row, outcome="tie") for row in mixed],
        "all first slot": [replace(row, outcome="first") for row in mixed],
        "saturated": [*same_quality_rows(none=60), *ladder_rows({1: (100, 0, 0), 5: (20, 0, 0)})],
        "one task": [replace(row, task="only") for row in mixed],
        "no tasks": [replace(row, task=None) for row in mixed],
        "one order": [row for row in mixed if row.order == "ab"],
        "no ladder": same,
        "no same quality": ladder_rows(ladder),
        "always wrong": ladder_rows({1: (0, 0, 100), 5: (0, 0, 20)}),
        "one pair": ladder_rows({1: (2, 0, 0)}),
        "vacuum only": vacuum_rows(tie=10),
    }


@pytest.mark.parametrize("name", sorted(degenerate_logs()))
def test_degenerate_logs_give_statuses_and_bounds(name: str) -> None:
    sane(measured(Readings.from_rows(degenerate_logs()[name])))


def test_what_each_degenerate_log_can_and_can_not_say() -> None:
    found = {
        name: measured(Readings.from_rows(rows))
        for name, rows in degenerate_logs().items()
        if name in ("all ties", "all first slot", "saturated", "one order", "no ladder", "vacuum only", "one task")
    }
    for log, bounded, key in (("all ties", 2, "criterion"), ("all first slot", 2, "position")):
        estimates = found[log]
        assert (estimates[key].status, estimates[key].high) == ("bounded", None), log
        assert estimates[key].low > bounded  # type: ignore[operator]
        others = {"criterion", "position", "resolution"} - {key}
        assert {estimates[other].status for other in others} == {"undetermined"}, log
    saturated = found["saturated"]["resolution"]
    assert (saturated.status, saturated.high) == ("bounded", None)
    assert saturated.low is not None
    assert 0.3 < saturated.low < 6
    assert found["one order"]["position"].status == "not_measured"
    assert found["one order"]["resolution"].status in ("measured", "bounded")
    assert found["no ladder"]["criterion"].status == "measured"
    assert found["no ladder"]["resolution"].status == "not_measured"
    assert found["vacuum only"]["criterion"].status == "not_measured"
    assert found["one task"]["task_spread"].status == "not_measured"
    for key in ("resolution", "criterion", "position", "threshold_75"):
        estimate = found["one task"][key]
        assert (estimate.status, estimate.low, estimate.high, estimate.reason) == ("measured", None, None, ONE_TASK)


def test_a_judge_that_may_tie_and_never_does_is_measured_however_many_its_readings() -> None:
    """Its criterion runs to the edge of where the search goes, which is no failure to converge."""
    readings = drawn(shown("full"), replace(OBSERVERS["mid"], c=0.0), 0.0, np.random.default_rng(1))
    found = measure(readings)
    assert found.fit is not None
    assert found.fit.converged
    assert (found.estimates["criterion"].status, found.estimates["criterion"].low) == ("bounded", None)
    resolution = found.estimates["resolution"]
    assert resolution.low is not None
    assert resolution.low < 0.6 < resolution.high  # type: ignore[operator]


def test_a_prompt_without_ties_has_no_criterion() -> None:
    rows = [row for row in LLAMA8B if row.outcome != "tie"]
    estimates = measured(Readings.from_rows(rows, ties_allowed=False))
    assert (estimates["criterion"].status, estimates["criterion"].reason) == ("not_applicable", NO_TIES)
    assert estimates["resolution"].status == "measured"
    assert estimates["position"].status in ("measured", "bounded")


def test_the_published_judges_come_out_as_they_should() -> None:
    """Position decides for the one; for the other, clear differences and a wide tie band."""
    llama, qwen = (measured(Readings.from_rows(rows)) for rows in (LLAMA8B, QWEN32B))
    assert llama["position"].low is not None
    assert llama["position"].low > 1
    assert qwen["resolution"].status == "bounded"
    assert qwen["resolution"].low > 2  # type: ignore[operator]
    assert qwen["criterion"].low is not None
    assert qwen["criterion"].low > 0.5
