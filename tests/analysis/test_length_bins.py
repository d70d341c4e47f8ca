"""Lengths in bins: the bins are what they should be, and what they take from the estimates is given back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bins import K, k_and_g, log

from datasheet.analysis import length_bins
from datasheet.analysis.length_bins import binned_lengths, without_loss_to_bins
from datasheet.analysis.measurement import fit_measurement
from datasheet.analysis.model import measure
from datasheet.analysis.pair_table import ModelTable, model_table
from datasheet.readings import Readings

LENGTH_SLOPE = 3.0


@pytest.fixture(scope="module")
def readings() -> Readings:
    """4,000 readings of an observer that length moves by one and a half standard deviations."""
    return log(4_000, LENGTH_SLOPE, np.random.default_rng(1), n_tasks=100)


def made_of(readings: Readings, monkeypatch: pytest.MonkeyPatch, most_kinds: int) -> ModelTable:
    limited(monkeypatch, most_kinds)
    made = model_table(readings)
    assert made is not None
    return made


def limited(monkeypatch: pytest.MonkeyPatch, kinds: int) -> None:
    """Bins that make so many kinds, and none where there are no more."""
    monkeypatch.setattr(length_bins, "MOST_KINDS", kinds)
    monkeypatch.setattr(length_bins, "BINNED_KINDS", kinds)


def pairs(rng: np.random.Generator, n: int = 5_000) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
    """Pairs of which the verdict follows the length, and three weights."""
    steps, dose = rng.integers(0, 3, n), rng.integers(0, 2, n)
    length = rng.normal(0, 1, n)
    verdict = np.sign(length + rng.normal(0, 1, n))
    weight = rng.choice([0.25, 0.5, 1.0], n)
    return {"length": length, "steps": steps, "dose": dose, "verdict": verdict, "weight": weight}


def binned(of: dict[str, np.ndarray]) -> length_bins.Binned:  # type: ignore[type-arg]
    return binned_lengths(
        np.column_stack([of["length"], of["dose"]]),
        lengths=np.array([True, False]),
        alike=of["steps"][:, None],
        verdicts=of["verdict"][:, None],
        weight=of["weight"],
    )


def test_a_bin_is_of_pairs_that_are_alike_but_for_their_verdicts_and_has_their_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limited(monkeypatch, 200)
    of = pairs(np.random.default_rng(1))
    found = binned(of)
    assert (found.covariates[:, 1] == of["dose"]).all()
    means, bins = np.unique(found.covariates[:, 0], return_inverse=True)
    assert 60 < len(means) < 120
    lost = 0.0
    for place, mean in enumerate(means):
        inside = bins == place
        assert np.average(of["length"][inside], weights=of["weight"][inside]) == pytest.approx(mean)
        assert len(np.unique(of["steps"][inside] * 2 + of["dose"][inside])) == 1
        lost += (of["weight"][inside] * (of["length"][inside] - mean) ** 2).sum()
    assert found.within[0, 0] == pytest.approx(lost / of["weight"].sum())
    assert found.within[0, 0] < 0.01
    assert (found.within[1], found.within[0, 1]) == (pytest.approx([0, 0]), 0)


def test_the_verdicts_do_not_move_the_means(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turned verdicts leave the bins as they are: a mean that knew them would bias the slope."""
    limited(monkeypatch, 200)
    of = pairs(np.random.default_rng(2))
    turned = of | {"verdict": -of["verdict"]}
    assert (binned(of).covariates == binned(turned).covariates).all()


def test_a_length_far_out_costs_the_others_no_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, 200)
    of = pairs(np.random.default_rng(3))
    of["length"][7] = 1e4
    found = binned(of)
    assert found.covariates[7, 0] == 1e4
    assert found.within[0, 0] < 0.01


def test_few_kinds_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    of = pairs(np.random.default_rng(4), 300)
    of["length"] = np.round(of["length"])
    for most in (1_000, 40):  # in the second, bins end where their lengths are equal
        limited(monkeypatch, most)
        found = binned(of)
        assert found.within.shape == (2, 2)
        assert most == 40 or (found.covariates[:, 0] == of["length"]).all()
    rounding = of | {"length": np.full(300, 0.1) * (1 + 1e-16 * np.arange(300))}
    assert binned(rounding).within == pytest.approx(np.zeros((2, 2)), abs=1e-12)


def test_what_bins_take_is_given_back(readings: Readings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the same readings without bins: as fitted 1.2% too small and more, on the sheet not by half a percent."""
    exact = made_of(readings, monkeypatch, 10**9)
    coarse = made_of(readings, monkeypatch, 400)
    assert not exact.within_bins.any()
    whole = fit_measurement(exact.table, exact.covariates)
    fitted = fit_measurement(coarse.table, coarse.covariates)
    back = without_loss_to_bins(fitted, coarse.within_bins)
    assert len(coarse.table) < 420
    at = {name: whole.names.index(name) for name in ("resolution", "length", "position", "log_criterion")}
    for name in ("resolution", "length", "position"):
        assert fitted.theta[at[name]] / whole.theta[at[name]] < 0.988, name
        assert back.theta[at[name]] / whole.theta[at[name]] == pytest.approx(1, abs=0.005), name
    assert np.exp(back.theta[at["log_criterion"]] - whole.theta[at["log_criterion"]]) == pytest.approx(1, abs=0.005)
    assert back.parameters.correlation == pytest.approx(whole.parameters.correlation, abs=0.01)
    for index, name in enumerate(whole.names):
        if name != "log_task_spread":
            ratio = back.covariance[index, index] / whole.covariance[index, index]
            assert ratio == pytest.approx(1, abs=0.1), name


def test_k_and_the_length_slope_are_the_planted_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean over some logs of the size where bins begin; their standard errors are 1.4% and 1.1%."""
    limited(monkeypatch, 400)
    logs = [log(6_000, LENGTH_SLOPE, np.random.default_rng(seed), n_tasks=100) for seed in range(6)]
    found = [k_and_g(made_of(readings, monkeypatch, 400)) for readings in logs]
    ratios = np.mean(found, axis=0) / [K, LENGTH_SLOPE]
    assert ratios == pytest.approx(1, abs=0.035)


def test_the_sheet_says_what_bins_took(readings: Readings, monkeypatch: pytest.MonkeyPatch) -> None:
    made_of(readings, monkeypatch, 400)
    (note,) = (note for note in measure(readings).notes if "bins" in note)
    assert "takes about 1." in note
    assert "given back" in note
    limited(monkeypatch, 10**9)
    assert not any("bins" in note for note in measure(readings).notes)


def test_a_fit_in_which_bins_take_nothing_stays_as_it_is(readings: Readings, monkeypatch: pytest.MonkeyPatch) -> None:
    made = made_of(readings, monkeypatch, 400)
    fit = fit_measurement(made.table, made.covariates)
    assert without_loss_to_bins(fit, made.within_bins * 0) is fit
    absurd = without_loss_to_bins(replace(fit, theta=fit.theta * 100), made.within_bins)
    assert np.isfinite(absurd.theta).all()
    assert np.isfinite(absurd.covariance).all()
