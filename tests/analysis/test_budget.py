"""The budget of a win rate: against win rates drawn call by call, and the published example of its formula."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from datasheet.analysis.budget import Budget, Orders, Study, effective_degrees_of_freedom, win_rate_budget
from datasheet.analysis.characterise import BUDGET_STUDIES
from datasheet.analysis.parameters import Parameters

MID = Parameters(
    resolution=0.8, slopes=np.zeros(0), position=0.5, criterion=0.5, correlation=0.4, task_spread=0.3, lapse_rate=0.0
)
TASKS = 20
LINES = ("sampling", "surface", "order", "repeat", "criterion")


def budget(
    parameters: Parameters,
    *,
    n_prompts: int = 100,
    quality_mean: float = 0.7,
    quality_sd: float = 1.0,
    orders: Orders = 2,
    repeats: int = 1,
    u_log_c: float = 0.0,
    n_outcomes: int = 3,
) -> Budget:
    covariance = np.zeros((5, 5))
    covariance[-3, -3] = u_log_c**2
    study = Study(n_prompts=n_prompts, quality_mean=quality_mean, quality_sd=quality_sd, orders=orders, repeats=repeats)
    return win_rate_budget(parameters, covariance, study, degrees_of_freedom=TASKS - 1, n_outcomes=n_outcomes)


def drawn_win_rates(
    parameters: Parameters,
    *,
    n_prompts: int = 100,
    quality_mean: float = 0.7,
    quality_sd: float = 1.0,
    orders: Orders = 2,
    repeats: int = 1,
    u_log_c: float = 0.0,
    n_outcomes: int = 3,
    studies: int = 2500,
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Win rates of many studies, each with its own prompts and its own criterion, drawn call by call."""
    rng = np.random.default_rng(20)
    prompts = (studies, n_prompts)
    c = parameters.criterion * np.exp(u_log_c * rng.standard_normal((studies, 1, 1, 1)))
    slope = parameters.resolution * np.exp(parameters.task_spread * rng.standard_normal(prompts))
    stable = slope * (quality_mean + quality_sd * rng.standard_normal(prompts))
    stable += np.sqrt(parameters.correlation) * rng.standard_normal(prompts)
    slots = np.array([1.0, -1.0]) if orders == 2 else rng.choice([1.0, -1.0], size=(*prompts, 1))
    noise = np.sqrt(1 - parameters.correlation) * rng.standard_normal((*prompts, orders, repeats))
    evidence = (stable[..., None] + parameters.position * slots)[..., None] + noise
    wins = ((evidence > c) * 1.0 + (evidence > -c)) / 2
    lapsed = rng.random(wins.shape) < parameters.lapse_rate
    anything = rng.integers(0, n_outcomes, wins.shape) / (n_outcomes - 1)
    return np.asarray(np.where(lapsed, anything, wins).mean(axis=(1, 2, 3)))


CASES = {
    "one order": (MID, {"orders": 1}),
    "both orders": (MID, {"orders": 2}),
    "repeats": (MID, {"orders": 1, "repeats": 3, "n_prompts": 60}),
    "unknown criterion": (replace(MID, criterion=1.2), {"u_log_c": 0.25, "n_prompts": 200, "quality_mean": 1.5}),
    "led by position": (replace(MID, position=2.0, criterion=0.1), {"orders": 1, "n_prompts": 60}),
    "strong surface": (replace(MID, correlation=0.9), {"n_prompts": 60}),
    "no spread of quality": (replace(MID, task_spread=0.6), {"quality_sd": 0.0, "quality_mean": 1.0}),
    "prefers the worse": (replace(MID, resolution=-0.6), {"orders": 1}),
    "lapses": (replace(MID, lapse_rate=0.15), {"orders": 1, "n_prompts": 60}),
    "no ties": (replace(MID, criterion=1e-9, lapse_rate=0.1), {"n_prompts": 60, "n_outcomes": 2}),
}


@pytest.mark.parametrize("case", CASES)
def test_uncertainty_is_the_spread_of_drawn_win_rates(case: str) -> None:
    parameters, how = CASES[case]
    found, drawn = budget(parameters, **how), drawn_win_rates(parameters, **how)  # type: ignore[arg-type]
    assert found.standard_uncertainty == pytest.approx(float(drawn.std(ddof=1)), rel=0.1)
    # The mean is of the first order in the criterion, whose own spread bends it a little.
    assert found.win_rate == pytest.approx(float(drawn.mean()), abs=0.005)


OBSERVERS = {
    "mid": MID,
    "led by position": replace(MID, position=1.5, criterion=0.1),
    "conservative": replace(MID, criterion=1.4, resolution=1.6, correlation=0.2),
}


@pytest.mark.parametrize("study", BUDGET_STUDIES, ids=lambda study: f"{study.better_share:.0%}-{study.orders}")
@pytest.mark.parametrize("observer", OBSERVERS)
def test_the_protocols_of_a_sheet_hold_against_drawn_win_rates(observer: str, study: Study) -> None:
    how = {name: getattr(study, name) for name in ("n_prompts", "quality_mean", "quality_sd", "orders")}
    found = budget(OBSERVERS[observer], u_log_c=0.1, **how)
    drawn = drawn_win_rates(OBSERVERS[observer], u_log_c=0.1, **how)
    assert found.standard_uncertainty == pytest.approx(float(drawn.std(ddof=1)), rel=0.1)
    assert found.win_rate == pytest.approx(float(drawn.mean()), abs=0.005)


def test_the_protocols_are_one_order_and_both_of_unequal_and_equal_systems() -> None:
    assert [(round(study.better_share, 12), study.orders) for study in BUDGET_STUDIES] == [
        *((0.6, 1), (0.6, 2), (0.5, 1), (0.5, 2)),
    ]
    unequal = budget(MID, u_log_c=0.1, quality_mean=BUDGET_STUDIES[0].quality_mean, orders=1)
    assert all(line.contribution > 0 for line in unequal.lines)


def drawn_readings(
    parameters: Parameters, study: Study, rng: np.random.Generator, n: int, *, slots: float | None = None
) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Scores of two readings each of many prompts that share the prompt, then the preference, then the order too."""

    def drawn(scale: float = 1.0) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return scale * rng.standard_normal(n)

    def slot() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return rng.choice([1.0, -1.0], n) if slots is None else np.full(n, slots)

    slope = parameters.resolution * np.exp(parameters.task_spread * rng.standard_normal(n))
    quality = slope * (study.quality_mean + study.quality_sd * rng.standard_normal(n))
    surface, noise = np.sqrt(parameters.correlation), np.sqrt(1 - parameters.correlation)
    stable, first = drawn(surface), slot()

    def score(preference: np.ndarray, shown: np.ndarray) -> np.ndarray:
        evidence = quality + preference + parameters.position * shown + drawn(noise)
        return ((evidence > parameters.criterion) * 1.0 + (evidence > -parameters.criterion)) / 2

    return {
        "reading": score(stable, first),
        "prompt": score(drawn(surface), slot()),
        "preference": score(stable, slot()),
        "order": score(stable, first),
    }


@pytest.mark.parametrize("observer", OBSERVERS)
def test_each_line_is_a_difference_of_drawn_covariances(observer: str) -> None:
    """Two readings of a prompt vary together by what they share: the lines are what each further share adds."""
    study, parameters = BUDGET_STUDIES[0], OBSERVERS[observer]
    drawn = drawn_readings(parameters, study, np.random.default_rng(4), 4_000_000)
    together = [float(np.cov(drawn["reading"], drawn[name])[0, 1]) for name in ("prompt", "preference", "order")]
    expected = np.diff([0.0, *together, float(drawn["reading"].var())])
    how = {name: getattr(study, name) for name in ("n_prompts", "quality_mean", "quality_sd", "orders")}
    found = budget(parameters, **how)
    for line, variance in zip(found.lines, expected, strict=False):
        # A line that is a thousandth of the whole is not resolved to a tenth by any number of draws.
        slack = 0.001 * found.standard_uncertainty**2
        assert line.contribution**2 == pytest.approx(variance / study.n_prompts, rel=0.1, abs=slack), line.name


@pytest.mark.parametrize("observer", OBSERVERS)
def test_a_system_that_is_always_first_gains_what_drawn_readings_say(observer: str) -> None:
    study, parameters = BUDGET_STUDIES[0], OBSERVERS[observer]
    rng, n = np.random.default_rng(8), 400_000
    first, any_slot = (drawn_readings(parameters, study, rng, n, slots=slots)["reading"] for slots in (1.0, None))
    how = {name: getattr(study, name) for name in ("n_prompts", "quality_mean", "quality_sd", "orders")}
    error = float(first.mean() - any_slot.mean())
    assert budget(parameters, **how).always_first_error == pytest.approx(error, abs=0.004)


def test_a_perfect_judge_reads_the_share_of_better_answers() -> None:
    sharp = replace(MID, resolution=500.0, position=0.0, task_spread=0.0)
    study = BUDGET_STUDIES[1]
    found = budget(sharp, quality_mean=study.quality_mean, orders=2)
    assert found.win_rate == pytest.approx(study.better_share, abs=0.002)
    assert Study(n_prompts=2, quality_mean=0.0, quality_sd=0.0).better_share == 0.5


def test_expanded_uncertainty_covers() -> None:
    found, drawn = budget(MID, orders=1), drawn_win_rates(MID, orders=1)
    covered = np.abs(drawn - found.win_rate) < found.expanded_uncertainty
    assert 0.93 < covered.mean() < 0.975


def test_each_line_is_the_variance_that_goes_when_its_source_goes() -> None:
    """Without lapses: calls without end leave no call noise, both orders no order, and nothing stable no surface."""
    found = {line.name: line.contribution**2 for line in budget(MID, orders=1).lines}
    endless = drawn_win_rates(replace(MID, correlation=0.4), orders=1, repeats=40, n_prompts=40, studies=1500)
    both = drawn_win_rates(MID, orders=2, repeats=20, n_prompts=40, studies=1500)
    assert 40 * endless.var() == pytest.approx(
        100 * (found["sampling"] + found["surface"] + found["order"] + found["repeat"] / 40), rel=0.1
    )
    assert 40 * both.var() == pytest.approx(
        100 * (found["sampling"] + found["surface"] + found["repeat"] / 40), rel=0.1
    )
    assert budget(replace(MID, correlation=0.0)).lines[1].contribution == pytest.approx(0, abs=1e-9)


def test_shares_add_up_and_sensitivities_give_the_contributions() -> None:
    found = budget(MID, orders=1, u_log_c=0.2)
    assert tuple(line.name for line in found.lines) == LINES
    assert sum(line.share for line in found.lines) == pytest.approx(1)
    variance = sum((line.sensitivity * line.standard_uncertainty) ** 2 for line in found.lines)
    assert variance == pytest.approx(found.standard_uncertainty**2)
    for line in found.lines:
        assert line.share == pytest.approx(line.contribution**2 / variance)


def test_criterion_sensitivity_is_the_derivative_of_the_win_rate() -> None:
    step = 1e-5
    high, low = (budget(replace(MID, criterion=0.5 + sign * step)).win_rate for sign in (1, -1))
    line = budget(MID, u_log_c=0.2).lines[-1]
    assert line.sensitivity == pytest.approx(abs(high - low) / (2 * step), rel=1e-5)
    assert line.standard_uncertainty == pytest.approx(0.5 * 0.2)


def test_what_shrinks_with_what() -> None:
    few = {line.name: line.contribution for line in budget(MID, orders=1, u_log_c=0.2, n_prompts=50).lines}
    many = {line.name: line.contribution for line in budget(MID, orders=1, u_log_c=0.2, n_prompts=200).lines}
    for name in ("sampling", "surface", "order", "repeat"):
        assert many[name] == pytest.approx(few[name] / 2)
    assert many["criterion"] == pytest.approx(few["criterion"]) != 0
    assert budget(MID, orders=2).lines[2].contribution == 0
    assert budget(replace(MID, position=0.0), orders=1).lines[2].contribution == pytest.approx(0, abs=1e-9)


def test_two_equal_systems_win_half_each() -> None:
    found = budget(MID, quality_mean=0.0, orders=1, u_log_c=0.3)
    assert found.win_rate == pytest.approx(0.5)
    assert found.lines[-1].contribution == pytest.approx(0, abs=1e-12)


def test_degrees_of_freedom_of_the_published_example() -> None:
    """JCGM 100:2008, G.4.2: relative uncertainties .25, .57 and .82 percent from 10, 5 and 15 readings."""
    assert effective_degrees_of_freedom([0.25, 0.57, 0.82], [9, 4, 14]) == pytest.approx(19.0, abs=0.05)


def test_degrees_of_freedom_lie_between_those_of_the_lines() -> None:
    found = budget(MID, orders=1, u_log_c=0.2)
    assert [line.degrees_of_freedom for line in found.lines] == [99, 19, 19, 19, 19]
    assert 19 < found.effective_degrees_of_freedom < 99 + 4 * 19
    assert found.expanded_uncertainty > 1.96 * found.standard_uncertainty


def test_a_judge_that_is_always_wrong_leaves_nothing_uncertain() -> None:
    found = budget(replace(MID, resolution=-8.0, task_spread=0.0), quality_mean=8.0, quality_sd=0.0)
    assert found.win_rate == found.standard_uncertainty == found.expanded_uncertainty == 0
    assert {line.share for line in found.lines} == {0.0}


@pytest.mark.parametrize("wrong", [{"n_prompts": 1}, {"orders": 3}, {"repeats": 0}, {"quality_sd": -1.0}])
def test_impossible_studies_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="a budget needs"):
        budget(MID, **wrong)  # type: ignore[arg-type]
