"""Which differences between answers the model is given: what the pairs tell apart, and nothing they do not tell."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from channels import drawn, recovered
from observers import OBSERVERS, structure
from observers import drawn as answered

from datasheet.analysis.characterise import characterise
from datasheet.analysis.covariates import CHANNEL_INTERCEPT, covariates_of
from datasheet.analysis.model import ModelFinding, measure
from datasheet.analysis.pair_table import model_rows
from datasheet.readings import UNKNOWN, Readings
from datasheet.records import CHANNELS, PROBES

shown = cache(structure)


@cache
def full() -> Readings:
    """The design `full`, answered by an observer that heeds one channel and likes the other wording."""
    return drawn(shown("full"), 0.4, np.random.default_rng(5))


@cache
def standard() -> Readings:
    return answered(shown("standard"), OBSERVERS["quality-and-filler"], 0.2, np.random.default_rng(4))


def finding(readings: Readings) -> ModelFinding:
    return measure(readings)


def of_probes(readings: Readings, *names: str) -> Readings:
    return readings.where(np.isin(readings.probe, [PROBES.index(name) for name in names]))


def names_of(readings: Readings) -> tuple[str, ...]:
    return covariates_of(model_rows(readings)[0])[0]


def with_column(readings: Readings, name: str, values: object) -> Readings:
    return Readings.from_columns(readings.to_columns() | {name: values})


def untold(readings: Readings, name: str, pairs: np.ndarray) -> Readings:  # type: ignore[type-arg]
    """The same readings, some pairs of which do not tell a length."""
    return with_column(readings, name, np.where(np.isin(readings.stimulus, pairs), UNKNOWN, getattr(readings, name)))


def test_channel_slopes_hold_nothing_of_a_liking_for_the_wording() -> None:
    """A few of the logs of ``benchmarks/validity/channels.py``: unbiased with the intercept, and not without."""
    found = recovered(6, wording=0.4)
    assert found.keys() >= {*CHANNELS, CHANNEL_INTERCEPT}
    for key in (*CHANNELS, CHANNEL_INTERCEPT):
        assert found[key].mean == pytest.approx(found[key].truth, abs=4 * found[key].standard_error + 0.01), key
    biased = recovered(6, wording=0.4, intercept=False)
    assert all(biased[name].mean > biased[name].truth + 0.15 for name in CHANNELS)


def test_the_intercept_is_printed_beside_the_slopes_where_a_channel_has_two_doses() -> None:
    estimate = finding(full()).estimates["channel_intercept"]
    assert estimate.low is not None
    assert 0 < estimate.low < 0.4 < estimate.high  # type: ignore[operator]


def test_a_single_dose_does_not_tell_the_wording_and_the_sheet_says_so() -> None:
    readings = full()
    one_dose = readings.where((readings.dose == UNKNOWN) | (readings.dose == 1))
    found = finding(one_dose)
    assert found.estimates["channel_intercept"].status == "not_measured"
    assert "two doses" in found.estimates["channel_intercept"].reason
    assert any("hold a liking for the wording" in note for note in found.notes)
    assert found.estimates["channel_slope@hedging"].estimate == pytest.approx(0.4, abs=0.35)
    two = readings.where(
        (readings.dose == UNKNOWN) | (readings.dose == 1) | (readings.arms.index("format") == readings.arm)
    )
    assert CHANNEL_INTERCEPT in names_of(two)
    assert not any("wording" in note for note in finding(two).notes)


def test_a_channel_without_a_dose_above_0_has_no_slope() -> None:
    readings = full()
    found = finding(readings.where(readings.dose <= 0)).estimates
    assert found["channel_slope"].status == "not_measured"
    assert found["channel_intercept"].estimate == pytest.approx(0.4, abs=0.3)


def test_channels_length_and_filler_need_no_ladder() -> None:
    found = finding(of_probes(full(), "same_quality", "channel")).estimates
    for channel in CHANNELS:
        slope, in_steps = found[f"channel_slope@{channel}"], found[f"channel_in_steps@{channel}"]
        assert slope.estimate == pytest.approx(0.8 * (channel == "authority"), abs=0.5), channel
        assert (in_steps.status, in_steps.reason) == ("not_measured", "needs the ladder probe")
    assert found["length_slope"].status == "measured"
    assert found["length_in_steps"].status == "not_measured"
    assert found["resolution"].status == "not_measured"
    same = of_probes(standard(), "same_quality")
    filled = with_column(same, "filler_b", same.stimulus % 3 * 20)
    assert finding(filled).estimates["filler_slope"].status == "measured"


def test_pairs_without_lengths_are_left_out_and_counted() -> None:
    readings = standard()
    ladder = np.unique(readings.of_probe("ladder").stimulus)
    for lost, name in ((ladder[:1], "length_a"), (ladder[::5], "length_b")):
        found = finding(untold(readings, name, lost))
        assert found.fit is not None
        others = finding(readings.where(~np.isin(readings.stimulus, lost)))
        assert found.fit.theta == pytest.approx(others.fit.theta)  # type: ignore[union-attr]
        assert found.estimates["length_slope"].status == "measured"
        assert any(note.startswith(f"{len(lost)} of ") and "leaves them out" in note for note in found.notes)


def test_lengths_that_most_pairs_lack_are_no_covariate_and_the_sheet_says_so() -> None:
    readings = standard()
    lost = np.unique(readings.stimulus)[::3]
    found = finding(untold(readings, "length_a", np.setdiff1d(readings.stimulus, lost)))
    assert found.estimates["length_slope"].status == "not_measured"
    assert found.fit is not None
    assert found.fit.n_pairs == finding(readings).fit.n_pairs  # type: ignore[union-attr]
    assert any("leaves length out" in note for note in found.notes)


def test_no_lengths_at_all_are_a_reason_and_no_note() -> None:
    readings = standard()
    found = finding(untold(readings, "length_a", readings.stimulus))
    assert "needs the answers' lengths" in found.estimates["length_slope"].reason
    assert found.notes == ()


def test_filler_that_is_not_told_is_not_taken_for_none() -> None:
    readings = standard()
    filled = np.isin(readings.arm, [readings.arms.index(name) for name in ("filled_even", "filled_longer")])
    lost = np.unique(readings.stimulus[filled])[:7]
    found = finding(untold(readings, "filler_b", lost))
    assert found.fit is not None
    others = finding(readings.where(~np.isin(readings.stimulus, lost)))
    assert found.fit.theta == pytest.approx(others.fit.theta)  # type: ignore[union-attr]
    assert any(note.startswith("7 of ") and "filler_b" in note for note in found.notes)


def test_filler_that_only_filled_pairs_tell_is_none_elsewhere_and_the_sheet_says_so() -> None:
    readings = standard()
    bare = with_column(readings, "filler_b", np.where(readings.filler_b == 0, UNKNOWN, readings.filler_b))
    found = finding(bare)
    assert found.fit is not None
    assert found.fit.theta == pytest.approx(finding(readings).fit.theta)  # type: ignore[union-attr]
    assert any("taken to have none" in note for note in found.notes)


def test_a_log_that_only_has_pairs_of_untold_filler_says_why_nothing_is_measured() -> None:
    readings = standard()
    filled = readings.where(readings.filler_b > 0)
    found = characterise(with_column(filled, "filler_b", np.full(len(filled), UNKNOWN)))
    assert found.estimates["resolution"].status == "not_measured"
    assert any("do not say how much" in note for note in found.notes)


def test_without_the_pairs_of_untold_filler_a_prefix_ladder_is_confounded_with_length() -> None:
    readings = standard()
    arms = [readings.arms.index(name) for name in ("prefix", "filled_even", "same_subset")]
    kept = readings.where(np.isin(readings.arm, arms))
    found = finding(with_column(kept, "filler_b", np.where(kept.filler_b > 0, UNKNOWN, kept.filler_b)))
    assert "confounded_with_length" in found.estimates["resolution"].flags


def test_a_difference_that_others_explain_is_none_whatever_its_size() -> None:
    readings = replace(standard(), filler_b=np.where(standard().delta_q > 0, standard().delta_q * 1_000_000, 0))
    assert names_of(readings) == ("length",)
    few = with_column(standard(), "length_a", np.maximum(standard().length_b, 0) + standard().filler_b)
    assert names_of(few) == ("length",)  # length and filler are one and the same difference


def in_arm(name: str, **lengths: int) -> Readings:
    """A ladder of one arm whose better answer is 15 words longer a step, read by a judge that loves length."""
    log = shown("paper")
    columns = log.to_columns() | {"length_a": 30 + 15 * np.maximum(log.delta_q, 0), "length_b": np.full(len(log), 30)}
    judged = answered(Readings.from_columns(columns), OBSERVERS["length-lover"], 0.0, np.random.default_rng(3))
    told = judged.to_columns() | {key: np.full(len(log), value) for key, value in lengths.items()}
    return Readings.from_columns(told | {"arms": [name if arm == "prefix" else arm for arm in log.arms]})


@pytest.mark.parametrize("arm", ["prefix", "human"])
@pytest.mark.parametrize("lengths", [{}, {"length_a": UNKNOWN, "length_b": UNKNOWN}])
def test_what_length_may_have_made_is_flagged_whatever_the_arm_is_called(arm: str, lengths: dict[str, int]) -> None:
    resolution = finding(in_arm(arm, **lengths)).estimates["resolution"]
    assert resolution.estimate == pytest.approx(0.6, abs=0.15), "the judge sees no quality at all"
    assert "confounded_with_length" in resolution.flags


def test_answers_of_one_length_are_not_confounded_with_it() -> None:
    assert finding(in_arm("human", length_a=50, length_b=50)).estimates["resolution"].flags == ()


def test_a_pair_that_outweighs_all_others_is_named() -> None:
    """A length with a digit too many, or some: the slope, and with it the resolution, rest on that pair."""
    log = standard()
    wrong = np.where(log.stimulus == 7, 50_000, log.length_a)
    (note,) = (note for note in finding(with_column(log, "length_a", wrong)).notes if "alone holds" in note)
    assert repr(log.stimulus_ids[7]) in note
    assert "in length" in note
    assert not any("alone holds" in note for note in finding(log).notes)
