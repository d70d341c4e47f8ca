"""The analysis as a whole: published figures, laws, degenerate logs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from published import PUBLISHED, QWEN32B, STRICT_TIE, published
from readings_made import ladder_rows, same_quality, same_quality_rows, vacuum_rows

from datasheet.analysis.characterise import Characterisation, characterise, profile_from
from datasheet.analysis.model import NO_TIES
from datasheet.analysis.pairing_null import pairing_null
from datasheet.analysis.rates import rates_of
from datasheet.errors import EstimationError
from datasheet.readings import ReadingRow, Readings


def states(found: Characterisation) -> dict[str, str]:
    return {flag.name: flag.state for flag in found.profile.flags}


def value(found: object, key: str) -> float | None:
    return found.estimates[key].estimate  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("judge", sorted(PUBLISHED))
def test_published_rows(judge: str) -> None:
    rows, dark, raw, scs, pfp, osc, none, threshold, profile, letter = PUBLISHED[judge]
    found = characterise(Readings.from_rows(rows))
    keys = (
        "dark_current",
        "raw_false_preference",
        "stable_cross_sensitivity",
        "positional_false_preference",
        "one_sided_commitment",
        "no_preference",
    )
    for key, expected in zip(keys, (dark, raw, scs, pfp, osc, none), strict=True):
        assert value(found, key) == pytest.approx(expected, abs=5e-4), key
    estimate = found.estimates["threshold_75_empirical"]
    if threshold == "≤ 1":
        assert (estimate.status, estimate.high, estimate.estimate) == ("bounded", 1, None)
    else:
        assert (estimate.status, estimate.estimate) == ("measured", threshold)
    assert (found.profile.name, found.profile.class_letter) == (profile, letter)


def test_published_strict_tie_row() -> None:
    found = characterise(Readings.from_rows(STRICT_TIE))
    assert value(found, "raw_false_preference") == 0
    assert value(found, "p_correct_1") == 0.5
    assert value(found, "wrong_choice_1") == 0
    assert value(found, "miss_by_tie_1") == 0.5
    assert value(found, "accuracy_non_ties_1") == 1
    assert value(found, "p_correct_5") == 1
    assert states(found)["conservative"] == "raised"


def test_other_counts_give_other_figures() -> None:
    rows = published(
        dark=3, classes={"stable": 6, "second_second": 12, "none": 42}, ladder={1: (70, 10, 20), 5: (20, 0, 0)}
    )
    found = characterise(Readings.from_rows(rows))
    assert value(found, "dark_current") == pytest.approx(0.1)
    assert value(found, "stable_cross_sensitivity") == pytest.approx(0.1)
    assert value(found, "second_second") == pytest.approx(0.2)
    assert value(found, "raw_false_preference") == pytest.approx(0.3)
    assert value(found, "p_correct_1") == pytest.approx(0.7)
    assert value(found, "accuracy_non_ties_1") == pytest.approx(70 / 90)


def test_raw_intervals_of_independent_pairs() -> None:
    """60 pairs without tasks; limits worked out independently, with the design effect of scores in {0, 1/2, 1}."""
    cases = [
        ({"first_first": 60}, 1.0, 0.9398, 1.0),
        ({"stable": 27, "first_first": 32, "one_sided": 1}, 0.9917, 0.9540, 0.9985),
        ({"first_first": 5, "one_sided": 21, "none": 34}, 0.2583, 0.1853, 0.3479),
    ]
    for classes, share, low, high in cases:
        rows = [replace(row, task=None) for row in same_quality_rows(**classes)]
        estimate = characterise(Readings.from_rows(rows)).estimates["raw_false_preference"]
        assert (estimate.estimate, estimate.low, estimate.high) == pytest.approx((share, low, high), abs=5e-5)


def coin_flip(seed: int) -> Readings:
    """A judge that flips a fair coin on each call: SCS and PFP are both near .5 and mean nothing."""
    rng = np.random.default_rng(seed)
    flips = [(str(ab), str(ba)) for ab, ba in rng.choice(["first", "second"], size=(120, 2))]
    rows = [
        *same_quality_rows(tasks=20, readings=flips),
        *vacuum_rows(first=30, tie=30, tasks=20),
        *ladder_rows({1: (50, 0, 50), 5: (10, 0, 10)}, tasks=20),
    ]
    return Readings.from_rows(rows)


def test_a_coin_flip_is_noisy_and_never_mixed() -> None:
    """Each of two tests errs in one log of twenty, so about nine coin flips in ten are called noisy."""
    logs = [coin_flip(seed) for seed in range(40)]
    profiles = []
    for log in logs:
        rates = rates_of(log)
        profiles.append(profile_from(log, rates, pairing_null(rates.pairs, rng=np.random.default_rng(0))))
    assert sum(profile.name == "noisy" for profile in profiles) >= 32
    assert not any(profile.name == "mixed stable-positional" for profile in profiles)


def test_a_prompt_without_ties() -> None:
    rows = [
        *same_quality_rows(stable=20, first_first=30, second_second=10),
        *vacuum_rows(first=30),
        *ladder_rows({1: (80, 0, 20), 5: (20, 0, 0)}),
    ]
    found = characterise(Readings.from_rows(rows, ties_allowed=False))
    for key in ("dark_current", "raw_false_preference", "no_preference", "one_sided_commitment", "criterion"):
        assert found.estimates[key].status == "not_applicable", key
        assert found.estimates[key].reason == NO_TIES
    assert value(found, "stable_cross_sensitivity") == pytest.approx(1 / 3)
    assert value(found, "positional_false_preference") == pytest.approx(2 / 3)
    assert value(found, "position_log_odds") == pytest.approx(np.log(30 / 10) / 2)
    assert found.profile.name != "vacuum-clean"
    assert states(found)["dark"] == "not_applicable"


def test_a_tie_where_none_is_allowed_is_refused() -> None:
    with pytest.raises(EstimationError, match="ties are not allowed"):
        same_quality(ties_allowed=False, none=1)


def test_one_order_measures_what_it_can() -> None:
    rows = [row for row in (*QWEN32B, *()) if row.order == "ab"]
    found = characterise(Readings.from_rows(rows))
    assert found.estimates["stable_cross_sensitivity"].status == "not_measured"
    assert "needs both orders" in found.estimates["stable_cross_sensitivity"].reason
    assert found.estimates["p_correct_1"].status == "measured"
    assert found.anything_measured


def test_all_ties_bound_the_threshold() -> None:
    rows = [*same_quality_rows(none=60), *vacuum_rows(tie=30), *ladder_rows({1: (0, 100, 0), 5: (0, 20, 0)})]
    found = characterise(Readings.from_rows(rows))
    threshold = found.estimates["threshold_75_empirical"]
    assert (threshold.status, threshold.low, threshold.high) == ("bounded", 5, None)
    assert value(found, "raw_false_preference") == 0
    assert found.profile.name == "insensitive"


def test_all_invalid_concludes_nothing() -> None:
    rows = [replace(row, outcome=None, invalid="no_verdict") for row in QWEN32B]
    found = characterise(Readings.from_rows(rows))
    assert not found.anything_measured
    assert value(found, "invalid_rate") == 1
    assert value(found, "invalid_rate@no_verdict") == 1


def test_no_readings_at_all() -> None:
    with pytest.raises(EstimationError, match="no readings"):
        characterise(Readings.from_rows([]))


def test_too_few_pairs_are_undetermined_whatever_they_show() -> None:
    rows = [*same_quality_rows(first_first=19), *vacuum_rows(tie=30)]
    assert characterise(Readings.from_rows(rows)).profile.name == "undetermined"


def test_twelve_vacuum_readings_are_never_clean() -> None:
    rows = [row for row in QWEN32B if row.probe != "vacuum"] + vacuum_rows(tie=12)
    assert characterise(Readings.from_rows(rows)).profile.name == "undetermined"


def test_repeats_do_not_inflate_n() -> None:
    rows = same_quality_rows(stable=10, none=10)
    tripled = [replace(row, repeat=repeat) for row in rows for repeat in range(3)]
    once, thrice = characterise(Readings.from_rows(rows)), characterise(Readings.from_rows(tripled))
    for key in ("stable_cross_sensitivity", "raw_false_preference", "no_preference"):
        one, three = once.estimates[key], thrice.estimates[key]
        assert (three.n, three.n_clusters) == (one.n, one.n_clusters)
        assert (three.estimate, three.low, three.high) == pytest.approx((one.estimate, one.low, one.high))
    assert value(thrice, "self_consistency") == 1
    assert once.estimates["self_consistency"].status == "not_measured"


def test_self_consistency_counts_agreeing_pairs_of_repeats() -> None:
    outcomes = ["first", "first", "tie"]
    rows = [
        ReadingRow(stimulus="s", probe="same_quality", arm="same_subset", order="ab", repeat=i, outcome=outcome)
        for i, outcome in enumerate(outcomes)
    ]
    found = characterise(Readings.from_rows(rows))
    assert value(found, "self_consistency") == pytest.approx(1 / 3)
    assert len(found.rates.unstable) == 1


def test_both_orders_of_an_identical_pair_count_once() -> None:
    rows = vacuum_rows(first=4, tie=8)
    other = [replace(row, order="ba", outcome="tie") for row in rows]
    found = characterise(Readings.from_rows([*rows, *other]))
    assert value(found, "dark_current") == pytest.approx(4 / 24)
    assert found.estimates["dark_current"].n == 12
    assert any("both orders of vacuum pairs" in note for note in found.notes)


def test_bounds_weigh_repeats_as_the_share_does() -> None:
    """Twenty pairs of which five were read three times, one repeat unreadable."""
    rows = same_quality_rows(stable=4, none=16)
    repeated = [replace(row, repeat=repeat) for row in rows[:10] for repeat in (1, 2)]
    holed = [replace(row, outcome=None, invalid="refusal") if row.repeat == 2 and row.stimulus == "same0000" else row
             for row in [*rows, *repeated]]  # fmt: skip
    found = characterise(Readings.from_rows(holed))
    bound = found.rates.missing["stable_cross_sensitivity"]
    assert bound.lowest <= value(found, "stable_cross_sensitivity") <= bound.highest  # type: ignore[operator]
    assert (bound.lowest, bound.highest) == pytest.approx(((4 - 1 / 3) / 20, 0.2))


def test_missing_readings_are_bounded_not_guessed() -> None:
    rows = ladder_rows({1: (60, 20, 20)})
    holed = [replace(row, outcome=None, invalid="refusal") if i < 10 else row for i, row in enumerate(rows)]
    found = characterise(Readings.from_rows(holed))
    bound = found.rates.missing["p_correct_1"]
    assert (bound.lowest, bound.highest, bound.missing, bound.total) == (0.5, 0.6, 10, 100)
    # All that are lost were shown the better answer first: each order weighs alike, however many it lost.
    assert value(found, "p_correct_1") == pytest.approx((40 / 40 + 10 / 50) / 2)


def test_the_prefix_arm_alone_is_confounded_with_length() -> None:
    alone = characterise(Readings.from_rows(QWEN32B))
    assert alone.estimates["p_correct_1"].flags == ("confounded_with_length",)
    filled = [replace(row, stimulus=f"f{row.stimulus}", arm="filled_even") for row in ladder_rows({1: (20, 0, 0)})]
    both = characterise(Readings.from_rows([*QWEN32B, *filled]))
    assert both.estimates["p_correct_1"].flags == ()
    assert value(both, "p_correct_1@filled_even") == 1


def test_a_threshold_is_censored_only_where_supported() -> None:
    """P_correct(1) = .8 over ten tasks does not show that the threshold lies at or below 1."""
    found = characterise(Readings.from_rows(ladder_rows({1: (16, 4, 0), 2: (20, 0, 0)})))
    threshold = found.estimates["threshold_75_empirical"]
    assert threshold.status == "undetermined"
    assert "more tasks would decide" in threshold.reason


def test_a_stray_row_without_a_task_does_not_undo_the_clusters() -> None:
    rows = ladder_rows({1: (60, 20, 20)})
    whole = characterise(Readings.from_rows(rows)).estimates["p_correct_1"]
    holed = [replace(row, task=None) if row.stimulus == "ladder1-0000" else row for row in rows]
    found = characterise(Readings.from_rows(holed))
    assert found.estimates["p_correct_1"].n_clusters == whole.n_clusters + 1  # type: ignore[operator]
    assert any("2 readings name no task" in note for note in found.notes)


def test_a_log_without_tasks_says_so() -> None:
    found = characterise(Readings.from_rows([replace(row, task=None) for row in QWEN32B]))
    assert found.estimates["p_correct_1"].n_clusters is None
    assert any("names no tasks" in note for note in found.notes)
    assert not any("tasks in all" in flag.decides for flag in found.profile.flags)


def test_keeping_to_either_slot_is_not_noise() -> None:
    rows = [
        *same_quality_rows(first_first=30, second_second=30),
        *vacuum_rows(tie=30),
        *ladder_rows({1: (80, 0, 20), 5: (20, 0, 0)}),
    ]
    found = characterise(Readings.from_rows(rows))
    assert states(found)["noisy"] == "cleared"
    assert found.profile.name == "presentation-conflicted"


def test_repeats_that_agree_deny_noise() -> None:
    """A coin that falls the same way each time it is asked the same question is no noise of the call."""
    rng = np.random.default_rng(9)
    flips = [(str(ab), str(ba)) for ab, ba in rng.choice(["first", "second"], size=(60, 2))]
    once = [*same_quality_rows(readings=flips), *vacuum_rows(tie=30), *ladder_rows({1: (80, 0, 20), 5: (20, 0, 0)})]
    thrice = [replace(row, repeat=repeat) for row in once for repeat in range(3)]
    assert characterise(Readings.from_rows(once)).profile.name == "noisy"
    assert states(characterise(Readings.from_rows(thrice)))["noisy"] == "cleared"


def test_few_committed_pairs_do_not_show_noise() -> None:
    same = same_quality_rows(stable=10, first_first=5, second_second=5)
    rows = [*same, *vacuum_rows(tie=30), *ladder_rows({5: (20, 0, 0)})]
    assert states(characterise(Readings.from_rows(rows)))["noisy"] == "open"


def test_length_leads_where_the_better_answer_loses_by_being_shorter() -> None:
    """A clean vacuum and stable, unswayed pairs do not make class A of a judge that length leads."""
    against = [
        replace(row, stimulus=f"{arm}{row.stimulus}", arm=arm)
        for arm in ("filled_longer", "terse_better")
        for row in ladder_rows({1: (2, 0, 38), 2: (4, 0, 36)})
    ]
    found = characterise(Readings.from_rows([*QWEN32B, *against]))
    assert states(found)["length-led"] == "raised"
    assert (found.profile.name, found.profile.class_letter) == ("length-led", None)
    assert value(found, "accuracy_against_length") == pytest.approx(12 / 160)
    assert states(characterise(Readings.from_rows(QWEN32B)))["length-led"] == "not_measured"
    tied = [replace(row, outcome="tie") for row in against]
    assert states(characterise(Readings.from_rows([*QWEN32B, *tied])))["length-led"] == "not_measured"


def test_a_threshold_in_a_gap_of_the_ladder_is_as_wide_as_the_gap() -> None:
    found = characterise(Readings.from_rows(ladder_rows({1: (10, 0, 90), 5: (98, 2, 0)})))
    threshold = found.estimates["threshold_75_empirical"]
    assert (threshold.estimate, threshold.low, threshold.high) == (5, 1, 5)


def test_beyond_the_ladder_is_said_only_where_supported() -> None:
    """P_correct(5) = .70 over ten tasks does not show that the threshold lies beyond 5."""
    found = characterise(Readings.from_rows(ladder_rows({1: (10, 0, 90), 5: (14, 0, 6)})))
    threshold = found.estimates["threshold_75_empirical"]
    assert (threshold.status, threshold.low, threshold.high) == ("undetermined", 1, None)
    assert "above 1" in threshold.reason
    shown = characterise(Readings.from_rows(ladder_rows({1: (10, 0, 90), 5: (10, 0, 90)}))).estimates
    assert (shown["threshold_75_empirical"].status, shown["threshold_75_empirical"].low) == ("bounded", 5)


def test_steps_beyond_the_protocols_are_measured_too() -> None:
    found = characterise(Readings.from_rows(ladder_rows({1: (10, 0, 90), 7: (98, 2, 0)})))
    assert value(found, "p_correct_7") == pytest.approx(0.98)
    assert found.estimates["p_correct_5"].status == "not_measured"


def test_two_orders_that_pull_apart_narrow_the_share() -> None:
    """A judge that always takes the first slot is right in exactly half of the readings of each pair."""
    rows = [replace(row, outcome="first") for row in ladder_rows({1: (100, 0, 0)})]
    estimate = characterise(Readings.from_rows(rows)).estimates["p_correct_1"]
    assert estimate.estimate == 0.5
    assert estimate.high - estimate.low < 0.12  # type: ignore[operator]


def test_unreadable_replies_are_not_called_unasked() -> None:
    rows = [replace(row, outcome=None, invalid="refusal") for row in QWEN32B]
    found = characterise(Readings.from_rows(rows))
    assert found.estimates["dark_current"].reason == "needs valid readings of the vacuum probe: 0 of 30 are valid"
    assert found.profile.name == "unreliable readings"


def test_what_is_not_analysed_is_said() -> None:
    rows = [
        *QWEN32B,
        *[replace(row, stimulus=f"c{row.stimulus}", probe="channel", arm="courtesy") for row in vacuum_rows(tie=3)],
        *[replace(row, stimulus=f"p{row.stimulus}", arm="paraphrase") for row in same_quality_rows(none=2)],
    ]
    notes = " ".join(characterise(Readings.from_rows(rows)).notes)
    assert "3 readings of the channel probe name no channel that is known, or no dose" in notes
    assert "4 same-quality readings of the arm 'paraphrase'" in notes


def test_an_undetermined_profile_says_what_it_lacks() -> None:
    found = characterise(Readings.from_rows([*same_quality_rows(stable=15), *vacuum_rows(tie=30)]))
    assert found.profile.decides == "5 more complete same-quality pairs"


def test_reasons_and_arms_without_limit_are_pooled_and_said() -> None:
    invalid = [
        replace(row, stimulus=f"i{index}", outcome=None, invalid=f"reason {index:03}")
        for index, row in enumerate(vacuum_rows(tie=90))
    ]
    arms = [
        replace(row, stimulus=f"a{index}{row.stimulus}", arm=f"arm{index:02}")
        for index in range(30)
        for row in ladder_rows({1: (2, 0, 0)})
    ]
    found = characterise(Readings.from_rows([*QWEN32B, *invalid, *arms]))
    assert sum(key.startswith("invalid_rate@") for key in found.estimates) == 21
    assert found.estimates["invalid_rate@other"].estimate == pytest.approx(70 / (len(QWEN32B) + 90 + 60))
    assert "p_correct_1@arm19" in found.estimates
    assert "p_correct_1@arm20" not in found.estimates
    assert any("31 arms" in note for note in found.notes)


def test_steps_far_beyond_the_ladder_give_no_warning() -> None:
    found = characterise(Readings.from_rows(ladder_rows({1: (50, 0, 50), 100: (12, 0, 8)})))
    assert found.estimates["p_correct_100"].status == "measured"
