from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from stimulus.banks import make_bank

from datasheet.errors import StimulusError, UsageError
from datasheet.identity import content_id
from datasheet.records import CHANNELS, Trial
from datasheet.stimulus.bank import load_bank
from datasheet.stimulus.design import DESIGNS, plan

BANK = make_bank(20)
STANDARD = plan(BANK, "standard")


def plan_hash(trials: list[Trial]) -> str:
    return content_id([[t.stimulus.id, t.stimulus.arm, t.order, t.repeat] for t in trials])


@pytest.mark.parametrize(
    ("design", "arms"),
    [
        ("quick", {"prefix": 60, "same_subset": 40, "vacuum": 10}),
        ("paper", {"prefix": 300, "same_subset": 120, "vacuum": 30}),
        (
            "standard",
            {
                "prefix": 600,
                "terse_better": 120,
                "wordy_better": 120,
                "filled_even": 80,
                "filled_longer": 80,
                "same_subset": 240 + 80,
                "different_subset": 80,
                "vacuum": 60,
            },
        ),
    ],
)
def test_calls_by_arm(design: str, arms: dict[str, int]) -> None:
    trials = plan(BANK, design)
    found = Counter("vacuum" if t.stimulus.probe == "vacuum" else t.stimulus.arm for t in trials)
    assert found == arms
    assert len(trials) == {"quick": 110, "paper": 450, "standard": 1460}[design]
    assert len({(t.stimulus.id, t.order, t.repeat) for t in trials}) == len(trials)


def test_the_full_design_is_the_standard_one_for_every_task_and_all_channels() -> None:
    bank = load_bank("english")
    trials = plan(bank, "full")
    found = Counter("vacuum" if t.stimulus.probe == "vacuum" else t.stimulus.arm for t in trials)
    assert len(bank.tasks) == 40
    assert found == {
        "prefix": 1200,
        "terse_better": 240,
        "wordy_better": 240,
        "filled_even": 160,
        "filled_longer": 160,
        "same_subset": 480 + 160,
        "different_subset": 160,
        "vacuum": 120,
        **dict.fromkeys(CHANNELS, 240),
    }
    assert len(trials) == 4600 <= 6000
    assert len({(t.stimulus.id, t.order, t.repeat) for t in trials}) == 4600
    channel = [t for t in trials if t.stimulus.probe == "channel"]
    pairs = Counter((t.stimulus.arm, t.stimulus.dose, t.order, t.stimulus.level_a) for t in channel)
    assert pairs == {
        (arm, dose, o, level): 20 for arm in CHANNELS for dose in range(3) for o in ("ab", "ba") for level in (3, 4)
    }
    assert {t.stimulus.dose for t in trials if t.stimulus.probe != "channel"} == {None}


def test_the_full_design_keeps_under_six_thousand_calls_whatever_the_bank() -> None:
    assert len(plan(BANK, "full")) == 115 * 20
    assert len(plan(make_bank(60), "full")) == 115 * 52 <= 6000


def test_the_full_design_needs_phrases_in_the_language_of_the_bank() -> None:
    bank = replace(BANK, language="tlh")
    with pytest.raises(
        StimulusError, match=r"full needs channel phrases .* 'tlh', and there are phrases in en, pt: choose"
    ):
        plan(bank, "full")
    assert plan_hash(plan(bank, "standard")) == plan_hash(STANDARD)


def test_a_bank_that_holds_a_channel_phrase_makes_no_full_plan() -> None:
    task = BANK.tasks[3]
    spoilt = replace(task, reference=task.reference + " I may well be wrong about some of this.")
    bank = replace(BANK, tasks=(*BANK.tasks[:3], spoilt, *BANK.tasks[4:]))
    with pytest.raises(StimulusError, match=r"toy-3-sale: reference: holds 'I may well .*the channel hedging"):
        plan(bank, "full")


def test_published_ladder_has_every_pair_of_levels_in_both_orders() -> None:
    trials = [t for t in plan(BANK, "paper") if t.stimulus.probe == "ladder"]
    pairs = Counter((t.stimulus.level_a, t.stimulus.level_b, t.order) for t in trials)
    assert set(pairs.values()) == {10}
    assert Counter(t.stimulus.delta_q for t in trials) == {1: 100, 2: 80, 3: 60, 4: 40, 5: 20}


def test_quick_ladder_takes_the_middle_steps_in_turn() -> None:
    trials = [t for t in plan(BANK, "quick") if t.stimulus.probe == "ladder" and t.order == "ab"]
    assert Counter(t.stimulus.delta_q for t in trials) == {1: 10, 5: 10, 2: 4, 3: 3, 4: 3}
    assert Counter(t.stimulus.level_b for t in trials if t.stimulus.delta_q == 1) == dict.fromkeys(range(5), 2)


def test_only_arms_that_measure_position_show_both_orders() -> None:
    orders: dict[str, set[str]] = {}
    for trial in STANDARD:
        orders.setdefault(trial.stimulus.id, set()).add(trial.order)
    for trial in STANDARD:
        stimulus = trial.stimulus
        if stimulus.probe == "vacuum":
            assert orders[stimulus.id] == {"ab"}
        else:
            both = stimulus.arm in ("prefix", "same_subset", "different_subset")
            assert len(orders[stimulus.id]) == (2 if both else 1)


@pytest.mark.parametrize("arm", ["terse_better", "wordy_better", "filled_even", "filled_longer"])
@pytest.mark.parametrize("seed", [0, 7])
def test_single_orders_are_balanced_within_arm_and_step(arm: str, seed: int) -> None:
    members = [t for t in plan(BANK, "standard", seed=seed) if t.stimulus.arm == arm]
    found = Counter((t.stimulus.delta_q, t.order) for t in members)
    assert all(found[delta_q, "ab"] == found[delta_q, "ba"] for delta_q, _ in found)


def test_base_levels_and_subset_levels_are_used_equally_often() -> None:
    filled = [t.stimulus for t in STANDARD if t.stimulus.arm == "filled_even"]
    assert Counter(s.level_b for s in filled if s.delta_q == 1) == dict.fromkeys(range(5), 8)
    terse = {
        (t.stimulus.task, t.stimulus.level_a, t.stimulus.level_b) for t in STANDARD if t.stimulus.arm == "terse_better"
    }
    wordy = {
        (t.stimulus.task, t.stimulus.level_a, t.stimulus.level_b) for t in STANDARD if t.stimulus.arm == "wordy_better"
    }
    assert terse == wordy
    assert len(terse) == 120
    different = [t.stimulus for t in STANDARD if t.stimulus.arm == "different_subset" and t.order == "ab"]
    assert Counter(s.level_a for s in different) == dict.fromkeys(range(1, 5), 10)


def test_one_same_subset_pair_a_task_is_read_three_times_in_each_order() -> None:
    again = Counter((t.stimulus.task, t.stimulus.id, t.order) for t in STANDARD if t.repeat == 2)
    assert set(again.values()) == {1}
    assert Counter(task for task, _, _ in again) == dict.fromkeys([task.id for task in BANK.tasks], 2)
    levels = {t.stimulus.level_a for t in STANDARD if t.repeat == 2}
    assert levels == set(range(6))


def test_repeats_hold_for_every_presentation() -> None:
    trials = plan(BANK, "standard", repeats=2)
    assert len(trials) == 2 * 1380
    assert Counter(t.repeat for t in trials) == {0: 1380, 1: 1380}


def test_arms_are_spread_over_the_sequence() -> None:
    half = Counter(t.stimulus.arm for t in STANDARD[:730])
    whole = Counter(t.stimulus.arm for t in STANDARD)
    assert all(0.25 < half[arm] / whole[arm] < 0.75 for arm in whole if whole[arm] >= 60)


def test_the_seed_changes_chains_filler_and_sequence_and_nothing_else_does() -> None:
    assert plan_hash(plan(BANK, "paper")) == plan_hash(plan(make_bank(20), "paper"))
    assert plan_hash(plan(BANK, "paper", seed=1)) != plan_hash(plan(BANK, "paper"))
    assert {t.stimulus for t in plan(BANK, "paper")} <= {t.stimulus for t in STANDARD}
    assert {t.stimulus for t in plan(make_bank(23), "standard")} == {t.stimulus for t in STANDARD}


def test_the_plan_does_not_depend_on_the_process() -> None:
    script = (
        "from stimulus.banks import make_bank; from stimulus.test_design import plan_hash; "
        "from datasheet.stimulus.design import plan; print(plan_hash(plan(make_bank(20), 'standard', seed=5)))"
    )
    hashes = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path(__file__).parents[1])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for hash_seed in ("1", "2")
    }
    assert hashes == {plan_hash(plan(BANK, "standard", seed=5))}


def test_a_small_bank_says_what_the_design_needs() -> None:
    with pytest.raises(StimulusError, match=r"standard needs 20 tasks, and the bank toys-12 has 12.*quick or paper"):
        plan(make_bank(12), "standard")
    with pytest.raises(StimulusError, match=r"quick needs 10 tasks, and the bank toys-3 has 3: add tasks$"):
        plan(make_bank(3), "quick")


def test_wrong_options_are_refused() -> None:
    with pytest.raises(UsageError, match=f"choose one of {', '.join(DESIGNS)}"):
        plan(BANK, "huge")
    with pytest.raises(UsageError, match="1 or more, found 0"):
        plan(BANK, "quick", repeats=0)


def test_a_bank_that_breaks_a_gate_makes_no_plan() -> None:
    bank = make_bank(20)
    short = tuple(bank.tasks[3].filler[:2])
    object.__setattr__(bank.tasks[3], "filler", short)
    with pytest.raises(StimulusError, match="toy-3-sale: ladder/filled_") as caught:
        plan(bank, "standard")
    assert all(fault.startswith("toy-3-sale") for fault in caught.value.faults)
