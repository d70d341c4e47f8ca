"""Repeatability: counts worked out by hand, and observers whose call noise is planted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from datasheet.analysis.rates import rates_of
from datasheet.analysis.repeatability import (
    call_noise_share,
    repeats_as_swaps,
    self_consistency,
    unstable_presentations,
    unstable_share,
    within_stimulus_variance,
)
from datasheet.analysis.swap_pairs import swap_pairs
from datasheet.readings import ReadingRow, Readings

OUTCOME_OF = {1: "first", 0: "tie", -1: "second"}


def repeated(presentations: Sequence[str], *, tasks: int = 2) -> Readings:
    """One presentation a word: ``ft-s`` is read as first, tie, invalid and second."""
    letters = {"f": "first", "t": "tie", "s": "second", "-": None}
    rows = [
        ReadingRow(
            stimulus=f"pair{index:04}",
            probe="same_quality",
            arm="same_subset",
            task=f"task{index % tasks:02}",
            delta_q=0,
            order="ab",
            repeat=repeat,
            outcome=letters[letter],
            invalid=None if letters[letter] else "no_verdict",
        )
        for index, word in enumerate(presentations)
        for repeat, letter in enumerate(word)
    ]
    return Readings.from_rows(rows)


def observed(
    rng: np.random.Generator,
    *,
    noise: float,
    position: float = 0.0,
    criterion: float = 0.5,
    tasks: int = 20,
    pairs: int = 1,
    repeats: int = 3,
) -> Readings:
    """An observer with a stable preference in each pair, and this share of its evidence's variance anew each call."""
    rows = []
    for pair in range(tasks * pairs):
        stable = np.sqrt(1 - noise) * rng.standard_normal()
        for order, sign in (("ab", 1), ("ba", -1)):
            calls = sign * stable + position + np.sqrt(noise) * rng.standard_normal(repeats)
            slots = (calls > criterion).astype(int) - (calls < -criterion)
            rows += [
                ReadingRow(
                    stimulus=f"pair{pair:05}",
                    probe="same_quality",
                    arm="same_subset",
                    task=f"task{pair % tasks:02}",
                    delta_q=0,
                    order=order,
                    repeat=repeat,
                    outcome=OUTCOME_OF[int(slot)],
                )
                for repeat, slot in enumerate(slots)
            ]
    return Readings.from_rows(rows)


WORDS = ["fff", "fft", "fts", "ss", "t", "f-s", "--t"]


def test_what_is_counted() -> None:
    """Four presentations and the fifth, f-s, have two valid readings or more."""
    readings = repeated(WORDS)
    consistency, unstable = self_consistency(readings), unstable_share(readings)
    assert consistency is not None
    assert unstable is not None
    assert consistency.n == unstable.n == 5
    assert consistency.share == pytest.approx((1 + 1 / 3 + 0 + 1 + 0) / 5)
    assert unstable.share == pytest.approx(3 / 5)
    assert len(unstable_presentations(readings)) == 3


def test_unstable_presentations_are_listed_the_least_agreed_on_first() -> None:
    readings = repeated(["fff", "fft", "fts", "t-", "-fs", "ffffs", "stf"])
    found = unstable_presentations(readings)
    names = [found.shown.stimulus_ids[code] for code in found.shown.stimulus]
    # No two of fts, fs and stf agree; of fft a third of the pairs do, of ffffs three fifths.
    assert names == ["pair0002", "pair0004", "pair0006", "pair0001", "pair0005"]
    assert found.tallies.tolist() == [[1, 1, 1], [1, 0, 1], [1, 1, 1], [2, 1, 0], [4, 0, 1]]
    assert [found.shown.tasks[code] for code in found.shown.task] == ["task00", "task00", "task00", "task01", "task01"]


def test_the_two_orders_of_a_stimulus_are_two_presentations() -> None:
    rows = [
        ReadingRow(stimulus="s", probe="ladder", arm="prefix", delta_q=1, order=order, repeat=repeat, outcome=outcome)
        for order, outcomes in (("ba", ("first", "tie")), ("ab", ("tie", "tie")))
        for repeat, outcome in enumerate(outcomes)
    ]
    found = unstable_presentations(Readings.from_rows(rows))
    assert (found.shown.order.tolist(), found.tallies.tolist()) == ([1], [[1, 1, 0]])


def test_within_stimulus_variance_is_the_mean_of_numpys() -> None:
    slots = [[1, 1, 1], [1, 1, 0], [1, 0, -1], [-1, -1], [1, -1]]
    found = within_stimulus_variance(repeated(WORDS))
    assert found is not None
    assert found.estimate == pytest.approx(np.mean([np.var(calls, ddof=1) for calls in slots]))
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low < found.estimate < found.high <= 2


def test_without_repeats_nothing_is_said() -> None:
    for readings in (repeated(["f", "t", "s"]), repeated(["f-", "-t"]), repeated([])):
        assert self_consistency(readings) is None
        assert unstable_share(readings) is None
        assert within_stimulus_variance(readings) is None
        assert call_noise_share(readings) is None
        assert len(unstable_presentations(readings)) == 0
        assert repeats_as_swaps(readings).n_complete == 0
        assert repeats_as_swaps(readings).share("positional_false_preference") is None


def test_where_all_repeats_agree_the_upper_limits_still_stand() -> None:
    readings = repeated(["fff"] * 15 + ["ttt"] * 10 + ["sss"] * 15, tasks=10)
    unstable, variance, noise = unstable_share(readings), within_stimulus_variance(readings), call_noise_share(readings)
    assert unstable is not None
    assert variance is not None
    assert noise is not None
    assert unstable.share == variance.estimate == noise.estimate == 0
    assert 0.05 < unstable.estimate().high < 0.15  # type: ignore[operator]
    assert variance.high == pytest.approx(2 * unstable.estimate().high)  # type: ignore[operator]
    assert noise.high is not None
    assert 0 < noise.high < 0.2


def test_noise_can_not_show_where_every_reading_is_alike() -> None:
    found = call_noise_share(repeated(["fff"] * 20, tasks=10))
    assert found is not None
    assert found.status == "undetermined"


def test_one_task_gives_no_interval_and_says_so() -> None:
    readings = repeated(["ff", "ft", "ss", "tt"], tasks=1)
    for found in (within_stimulus_variance(readings), call_noise_share(readings)):
        assert found is not None
        assert (found.low, found.high) == (None, None)
        assert "one task" in found.reason


def test_a_coin_flipped_on_each_call_is_all_noise() -> None:
    found = call_noise_share(observed(np.random.default_rng(3), noise=1.0, pairs=30))
    assert found is not None
    assert found.high == 1
    assert found.estimate == pytest.approx(1, abs=0.06)


def test_noise_beyond_chance_is_cut_at_all_of_it() -> None:
    found = call_noise_share(repeated(["fs"] * 20, tasks=10))
    assert found is not None
    assert found.estimate == 1


@pytest.mark.parametrize(
    ("noise", "position", "criterion"), [(0.1, 0.0, 0.5), (0.4, 0.3, 0.2), (0.7, 1.0, 0.8), (0.4, 0.5, 0.0)]
)
def test_planted_noise_comes_back(noise: float, position: float, criterion: float) -> None:
    rng = np.random.default_rng(11)
    large = call_noise_share(observed(rng, noise=noise, position=position, criterion=criterion, pairs=100))
    assert large is not None
    assert large.estimate == pytest.approx(noise, rel=0.08)


def test_intervals_of_planted_noise_cover() -> None:
    rng, covered, studies = np.random.default_rng(12), 0, 200
    for _ in range(studies):
        found = call_noise_share(observed(rng, noise=0.3, position=0.3))
        assert found is not None
        covered += found.low <= 0.3 <= found.high  # type: ignore[operator]
    assert covered / studies > 0.94


def test_repeats_as_swaps_count_every_pair_of_calls() -> None:
    """fft: one pair of three prefers the same, two tie on one side; ft, ss: one pair each; stimuli weigh 1."""
    pairs = repeats_as_swaps(repeated(["fft", "fs", "ss", "tt", "f"]))
    assert pairs.n_complete == 4
    shares = {
        "stable_cross_sensitivity": (1 / 3 + 0 + 1 + 0) / 4,
        "positional_false_preference": 1 / 4,
        "one_sided_commitment": (2 / 3) / 4,
        "no_preference": 1 / 4,
    }
    for name, expected in shares.items():
        found = pairs.share(name)
        assert found is not None
        assert found.n == pytest.approx(4)
        assert found.share == pytest.approx(expected)


def test_the_rates_of_call_noise_are_there_as_counted_by_hand() -> None:
    """Of the pairs of calls on five presentations, stimuli weighing 1; beside them the rates of the swaps themselves.

    fft: ff prefers the same, ft twice is one-sided. fs contradicts itself. fss: ss the same, fs twice contradicts. ss
    and ff are the same. None was shown in the other order, so that there is no swap.
    """
    estimates = rates_of(repeated(["fft", "fs", "fss", "ss", "ff", "f-", "t"])).estimates
    stable, contradicted = (
        estimates[f"{name}@call_noise"] for name in ("stable_cross_sensitivity", "positional_false_preference")
    )
    assert (stable.status, stable.n) == (contradicted.status, contradicted.n) == ("measured", 5)
    assert stable.estimate == pytest.approx((1 / 3 + 0 + 1 / 3 + 1 + 1) / 5)
    assert contradicted.estimate == pytest.approx((0 + 1 + 2 / 3 + 0 + 0) / 5)
    assert estimates["stable_cross_sensitivity"].status == "not_measured"
    once = rates_of(repeated(["f", "s", "t-"])).estimates
    for name in ("stable_cross_sensitivity", "positional_false_preference"):
        assert once[f"{name}@call_noise"].status == "not_measured"
        assert "repeats" in once[f"{name}@call_noise"].reason


def test_two_orders_of_a_stimulus_share_its_weight() -> None:
    readings = observed(np.random.default_rng(5), noise=0.5, pairs=2)
    found = repeats_as_swaps(readings).share("positional_false_preference")
    assert found is not None
    assert found.n == pytest.approx(40)


def test_noise_alone_gives_the_contradictions_of_the_model() -> None:
    """With a position, a swap contradicts itself far more often than two calls on one order do."""
    noise, position, criterion = 0.3, 1.0, 0.2
    readings = observed(np.random.default_rng(6), noise=noise, position=position, criterion=criterion, pairs=100)
    two_calls = multivariate_normal(mean=[position, -position], cov=[[1, noise - 1], [noise - 1, 1]])
    expected = 2 * float(two_calls.cdf([-criterion, -criterion], lower_limit=None))
    alone = repeats_as_swaps(readings).share("positional_false_preference")
    swapped = swap_pairs(readings).share("positional_false_preference")
    assert alone is not None
    assert swapped is not None
    assert alone.share == pytest.approx(expected, abs=0.01)
    assert swapped.share > 5 * alone.share


def test_without_a_position_a_swap_is_as_good_as_a_repeat() -> None:
    readings = observed(np.random.default_rng(7), noise=0.5, criterion=0.4, pairs=100)
    alone, swapped = repeats_as_swaps(readings), swap_pairs(readings)
    for name in ("stable_cross_sensitivity", "positional_false_preference", "one_sided_commitment", "no_preference"):
        one, other = alone.share(name), swapped.share(name)
        assert one is not None
        assert other is not None
        assert one.share == pytest.approx(other.share, abs=0.015)
