"""What would decide an open flag: numbers of tasks that would do, and words where nobody has so many."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from datasheet.analysis.intervals import ClusteredShare
from datasheet.analysis.pairing_null import PairingNull
from datasheet.analysis.profile import Evidence, Flag, Limits, clusters_to_decide, flags_of


def share(value: float, *, clusters: int = 20, n: int = 200) -> ClusteredShare:
    return ClusteredShare(share=value, n=n, n_clusters=clusters, design_effect=1.5, independent=False)


def conservative(missed: ClusteredShare, *, unit: str = "task") -> Flag:
    nothing = dict.fromkeys(
        ("dark", "stable", "positional", "committed", "sensitive", "invalid", "against_length", "consistency", "null")
    )
    evidence = Evidence(**nothing, missed=missed, n_pairs=0, n_vacuum=0, ties_allowed=True, unit=unit)  # type: ignore[arg-type]
    return next(flag for flag in flags_of(evidence, Limits()) if flag.name == "conservative")


@pytest.mark.parametrize("value", [0.2, 0.29, 0.261])
def test_the_number_is_the_least_that_decides(value: float) -> None:
    missed = share(value)
    needed = clusters_to_decide(missed, 0.25)
    assert needed is not None

    def decided(clusters: int) -> bool:
        wider = replace(missed, n=10 * clusters, n_clusters=clusters)
        return wider.upper() <= 0.25 if value < 0.25 else wider.lower() > 0.25

    assert decided(needed)
    assert not decided(needed - 1)


def test_a_number_that_a_bank_can_hold_is_told() -> None:
    flag = conservative(share(0.2))
    assert flag.state == "open"
    assert re.fullmatch(r"about \d{2,3} tasks in all \(now 20\), if the share stays", flag.decides)


@pytest.mark.parametrize(
    ("value", "many"), [(0.261, r"about [\d,]{3,5}"), (0.2501, "over 10,000"), (0.25, "over 10,000")]
)
def test_an_absurd_number_is_called_one(value: float, many: str) -> None:
    decides = conservative(share(value)).decides
    assert re.fullmatch(
        rf"hardly more tasks: {many} in all would be needed \(now 20\), as it lies near the limit", decides
    )


def test_pairs_come_by_the_thousand() -> None:
    pairs = share(0.22, clusters=200)
    assert conservative(pairs, unit="pair").decides.startswith("about ")
    assert "pairs in all (now 200)" in conservative(pairs, unit="pair").decides
    assert conservative(pairs).decides.startswith("hardly more tasks")


def test_a_log_larger_than_any_search_is_not_told_to_shrink() -> None:
    needed = clusters_to_decide(share(0.245, clusters=20_000, n=20_000), 0.25)
    assert needed is not None
    assert needed > 20_000


def test_tests_are_told_with_the_flags_that_rest_on_them_and_in_one_style() -> None:
    null = PairingNull(
        expected={}, p_pooled=1e-5, p_stable=0.00012, p_positional=1.0, p_slot=3.1e-5,
        **dict.fromkeys(("n_committed", "first_first", "second_second", "n_pairs"), 40),
    )  # fmt: skip
    measured = dict.fromkeys(("stable", "positional", "committed"), share(0.3))
    nothing = dict.fromkeys(("dark", "sensitive", "missed", "invalid", "against_length", "consistency"))
    evidence = Evidence(**measured, **nothing, null=null, n_pairs=0, n_vacuum=0, ties_allowed=True)  # type: ignore[arg-type]
    rules = {flag.name: flag.rule.partition("; ")[2] for flag in flags_of(evidence, Limits())}
    stable = "SCS above random pairing p < 0.0001, among committed pairs p = 0.00012"
    slot = "first-first against second-second p < 0.0001"
    # Each flag tells the tests that it rests on.
    assert rules["surface-sensitive"] == stable
    assert rules["positional"] == slot
    assert rules["noisy"] == f"{stable}, PFP p = 1.0; {slot}"
