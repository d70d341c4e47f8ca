"""What the model says of its own fit: support for a threshold, priors, weights, warnings, and a fit that failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from observers import OBSERVERS, Observer, drawn, structure
from scipy.optimize import brentq
from scipy.stats import norm, t

from datasheet.analysis import model
from datasheet.analysis.characterise import characterise
from datasheet.analysis.measurement import MeasurementFit, fit_measurement
from datasheet.analysis.model import MODEL_KEYS, NO_TIES, ModelFinding, measure, prefix_resolution
from datasheet.readings import ReadingRow, Readings
from datasheet.records import Estimate

shown = cache(structure)
Edit = Callable[[MeasurementFit], MeasurementFit]


def many_tasks(tasks: int, *, same_quality: int = 4) -> Readings:
    """The structure of every ladder pair of a task, and some same-quality pairs, in both orders."""
    pairs = [(better, worse) for better in range(6) for worse in range(better)]
    pairs += [(2, 2)] * same_quality
    return Readings.from_rows(
        [
            ReadingRow(
                stimulus=f"{task:02}-{index:02}",
                probe="ladder" if better > worse else "same_quality",
                arm="prefix" if better > worse else "same_subset",
                task=f"task{task:02}",
                order=order,
                outcome="tie",
                delta_q=better - worse,
                level_a=better,
                level_b=worse,
            )
            for task in range(tasks)
            for index, (better, worse) in enumerate(pairs)
            for order in ("ab", "ba")
        ]
    )


def with_fit(monkeypatch: pytest.MonkeyPatch, edit: Edit) -> None:
    """Fits come out changed."""

    def changed(*args: object, **how: object) -> MeasurementFit:
        return edit(fit_measurement(*args, **how))  # type: ignore[arg-type]

    monkeypatch.setattr(model, "fit_measurement", changed)


def element(fit: MeasurementFit, name: str, value: float) -> MeasurementFit:
    """The fit with another value of an element of theta."""
    theta = fit.theta.copy()
    theta[fit.names.index(name)] = value
    return replace(fit, theta=theta)


@pytest.mark.parametrize(
    ("empirical", "bounded"),
    [
        (Estimate(status="bounded", high=1, n=100), True),
        (Estimate(status="bounded", low=5, n=100), False),
        (Estimate(status="measured", estimate=1.0, low=0.8, high=1.0, n=100), False),
        (None, False),
    ],
    ids=["at most 1", "above 5", "measured", "none"],
)
def test_a_threshold_of_at_most_one_step_is_said_only_where_the_shares_support_it(
    empirical: Estimate | None, bounded: bool
) -> None:
    readings = drawn(shown("standard"), OBSERVERS["sharp"], 0.0, np.random.default_rng(1))
    found = measure(readings, empirical=empirical)
    assert found.estimates["resolution"].status == "measured"
    threshold = found.estimates["threshold_75"]
    if bounded:
        assert (threshold.status, threshold.high, threshold.flags) == ("bounded", 1, ())
    else:
        assert (threshold.status, threshold.flags) == ("measured", ("extrapolated",))
        assert threshold.estimate is not None
        assert threshold.estimate < 1


def test_a_threshold_beyond_the_longest_step_of_the_log_is_one_above_that_step() -> None:
    """The ladder cut at two steps; the judge needs four."""
    readings = drawn(many_tasks(40), Observer(k=0.28, c=0.5, b=0.1, rho=0.3), 0.0, np.random.default_rng(2))
    whole, cut = (measure(readings.where(readings.delta_q <= top)).estimates["threshold_75"] for top in (5, 2))
    assert (whole.status, "extrapolated" in whole.flags) == ("measured", False)
    assert (cut.status, cut.estimate, cut.low, cut.high) == ("bounded", None, 2, None)


def share(delta_q: float, k: float, b: float, c: float, lapse_rate: float = 0.0) -> float:
    right = (norm.cdf(k * delta_q + b - c) + norm.cdf(k * delta_q - b - c)) / 2
    return float((1 - lapse_rate) * right + lapse_rate / 3)


def test_figures_of_a_fit_follow_from_its_parameters() -> None:
    """Thresholds by another root finder, 1/k turned over, b/k with the roots of Fieller's quadratic."""
    found = measure(drawn(shown("standard"), OBSERVERS["mid"], 0.3, np.random.default_rng(6)))
    fit = found.fit
    assert fit is not None
    own, estimates = fit.parameters, found.estimates
    k, b, c = own.resolution, own.position, own.criterion
    marginal = np.exp(own.task_spread * np.linspace(-8, 8, 4001))
    weights = norm.pdf(np.linspace(-8, 8, 4001))
    thresholds = {
        "threshold_75": lambda delta: share(delta, k, b, c) - 0.75,
        "fc75": lambda delta: share(delta, k, b, 0.0) - 0.75,
        "threshold_75_marginal": lambda delta: (
            np.average([share(delta, k * factor, b, c) for factor in marginal[::20]], weights=weights[::20]) - 0.75
        ),
    }
    for key, beyond in thresholds.items():
        assert estimates[key].estimate == pytest.approx(brentq(beyond, 0.01, 30), rel=1e-5), key
    assert estimates["threshold_75"].estimate != pytest.approx(estimates["threshold_75_marginal"].estimate, rel=1e-3)
    resolution, noise = estimates["resolution"], estimates["noise_equivalent_delta_q"]
    assert noise.estimate == pytest.approx(1 / k)
    assert (noise.low, noise.high) == pytest.approx((1 / resolution.high, 1 / resolution.low))  # type: ignore[operator]
    index = fit.names.index("position")
    along = np.zeros(len(fit.names))
    along[0], along[index] = -b / k, 1.0
    matrix = max(fit.covariance, fit.robust_covariance, key=lambda matrix: float(along @ matrix @ along))
    squared = float(t.ppf(0.975, fit.n_clusters - 1)) ** 2
    roots = np.roots(
        [
            k**2 - squared * matrix[0, 0],
            -2 * (b * k - squared * matrix[0, index]),
            b**2 - squared * matrix[index, index],
        ]
    )
    in_steps = estimates["position_in_steps"]
    assert in_steps.estimate == pytest.approx(b / k)
    assert (in_steps.low, in_steps.high) == pytest.approx(tuple(sorted(roots)))


@pytest.mark.parametrize("tau", [0.3, 0.5])
def test_the_task_spread_comes_back(tau: float) -> None:
    """Its mean over logs of many tasks, and its intervals. The prior's median is .25, so that a little is shrunk."""
    logs, observer = 12, Observer(k=0.6, c=0.5, b=0.3, rho=0.4)
    found = [
        measure(drawn(many_tasks(40), observer, tau, np.random.default_rng([7, seed]))).estimates["task_spread"]
        for seed in range(logs)
    ]
    logarithms = np.log([estimate.estimate for estimate in found])  # type: ignore[arg-type]
    error = logarithms.std(ddof=1) / np.sqrt(logs)
    assert logarithms.mean() == pytest.approx(np.log(tau), abs=3 * error + 0.05)
    covered = sum(estimate.low <= tau <= estimate.high for estimate in found)  # type: ignore[operator]
    assert covered >= 9  # P of fewer is .002 at .95
    for estimate in found:
        assert estimate.low is not None
        assert estimate.high is not None
        assert np.sqrt(estimate.low * estimate.high) == pytest.approx(estimate.estimate)
        assert "prior_limited" not in estimate.flags
    half_widths = [np.log(estimate.high / estimate.low) / 2 for estimate in found]  # type: ignore[operator]
    typical = float(np.median(half_widths)) / float(t.ppf(0.975, 39))
    assert typical == pytest.approx(logarithms.std(ddof=1), rel=0.6), "its standard uncertainty is its spread over logs"


def test_a_task_spread_of_two_tasks_is_not_printed() -> None:
    """Two tasks alike tell nothing: posterior and prior are all but the same."""
    readings = drawn(shown("paper"), OBSERVERS["mid"], 0.2, np.random.default_rng(1))
    spread = measure(readings.where(readings.task < 2)).estimates["task_spread"]
    assert (spread.status, spread.estimate) == ("undetermined", None)
    assert "prior" in spread.reason or "the resolution is undetermined" in spread.reason


@pytest.mark.parametrize(("key", "name", "prior_sd"), [
    ("task_spread", "log_task_spread", 0.7),
    ("stable_correlation", "logit_correlation", 1.5),
])  # fmt: skip
@pytest.mark.parametrize(("share_of_prior", "status"), [(0.79, "measured"), (0.81, "undetermined")])
def test_a_posterior_as_wide_as_four_fifths_of_its_prior_is_not_printed(
    key: str, name: str, prior_sd: float, share_of_prior: float, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def widened(fit: MeasurementFit) -> MeasurementFit:
        index, covariance = fit.names.index(name), fit.covariance.copy()
        covariance[index, index] = (share_of_prior * prior_sd) ** 2
        return replace(fit, covariance=covariance)

    with_fit(monkeypatch, widened)
    found = measure(drawn(shown("standard"), OBSERVERS["mid"], 0.2, np.random.default_rng(1))).estimates[key]
    assert found.status == status


def repeated(readings: Readings, times: int, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Readings:
    """The readings with further repeats, alike, of those in a mask."""
    columns = readings.to_columns()
    ends = np.concatenate([np.arange(len(readings)), *[np.flatnonzero(mask)] * (times - 1)])
    repeat = np.concatenate([np.zeros(len(readings), dtype=int)] + [np.full(mask.sum(), i) for i in range(1, times)])
    rows = {key: np.asarray(value)[ends] for key, value in columns.items() if len(np.shape(value)) == 1
            and len(value) == len(readings) and key not in ("tasks", "arms", "stimulus_ids")}  # fmt: skip
    return Readings.from_columns(columns | rows | {"repeat": repeat})


def alike(one: dict[str, Estimate], other: dict[str, Estimate]) -> None:
    for key, estimate in one.items():
        again = other[key]
        assert again.status == estimate.status, key
        for figure in ("estimate", "low", "high", "n", "n_clusters"):
            value, same = getattr(estimate, figure), getattr(again, figure)
            assert same == (None if value is None else pytest.approx(value, abs=2e-5, rel=2e-5)), (key, figure)


@pytest.mark.parametrize("times", [2, 3])
def test_repeats_that_agree_change_no_estimate_and_no_interval(times: int) -> None:
    """Repeats tell of the call's own noise, not of other stimuli; invalid replies are a share of calls."""
    readings = drawn(shown("paper"), OBSERVERS["mid"], 0.2, np.random.default_rng(1))
    assert set(readings.repeat) == {0}
    once = characterise(readings)
    again = characterise(repeated(readings, times, np.ones(len(readings), dtype=bool)))
    assert once.model.made is not None
    assert again.model.made is not None
    assert again.model.made.table.n_pairs == pytest.approx(once.model.made.table.n_pairs)
    of_calls = {key for key, estimate in once.estimates.items() if estimate.status == "not_measured"}
    alike(
        {key: e for key, e in once.estimates.items() if key not in of_calls and not key.startswith("invalid_rate")},
        again.estimates,
    )
    alike(once.model.estimates, again.model.estimates)


def test_a_stimulus_asked_three_times_counts_as_one() -> None:
    """Only one task's stimuli are repeated: it weighs no more than before against the others."""
    readings = drawn(shown("paper"), OBSERVERS["mid"], 0.2, np.random.default_rng(1))
    alike(measure(readings).estimates, measure(repeated(readings, 3, readings.task == 0)).estimates)


@pytest.mark.parametrize(
    ("spread", "tasks", "warned"), [(0.41, 19, True), (0.39, 19, False), (0.41, 20, False), (2.0, 2, True)]
)
def test_much_spread_over_few_tasks_is_warned_of(
    spread: float, tasks: int, warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_fit(monkeypatch, lambda fit: element(replace(fit, n_clusters=tasks), "log_task_spread", np.log(spread)))
    notes = measure(drawn(shown("paper"), OBSERVERS["mid"], 0.2, np.random.default_rng(1))).notes
    about = [note for note in notes if f"tau {spread:.2f}" in note]
    assert bool(about) is warned
    assert len(notes) == len(about)
    if warned:
        assert f"only {tasks}:" in about[0]
        assert "too narrow" in about[0]


def not_found(fit: MeasurementFit) -> MeasurementFit:
    return replace(fit, largest_gradient=0.25)


def unconverged(readings: Readings) -> ModelFinding:
    found = measure(readings)
    assert found.fit is not None
    assert not found.fit.converged
    (note,) = (note for note in found.notes if "converge" in note)
    assert "0.25" in note
    assert "none of its values is given" in note
    return found


def test_a_fit_that_was_not_found_gives_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = drawn(shown("standard"), OBSERVERS["mid"], 0.2, np.random.default_rng(1))
    n_pairs = round(measure(readings).made.table.n_pairs)  # type: ignore[union-attr]
    with_fit(monkeypatch, not_found)
    found = unconverged(readings).estimates
    assert set(found) == set(MODEL_KEYS)
    for key, estimate in found.items():
        assert (estimate.status, estimate.estimate, estimate.low, estimate.high) == ("undetermined", None, None, None)
        assert (estimate.n, "did not converge" in estimate.reason) == (n_pairs, True), key
    (prefix,) = prefix_resolution(readings).values()
    assert (prefix.status, prefix.estimate, prefix.low, prefix.high) == ("undetermined", None, None, None)
    whole = characterise(readings)
    assert whole.budgets == ()
    assert any("did not converge" in note for note in whole.notes)
    assert {h.p for h in whole.hypotheses if h.key in ("resolution", "criterion")} == {None}


def test_a_criterion_that_the_prompt_fixes_is_no_finding_of_a_fit_either(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = drawn(shown("paper"), replace(OBSERVERS["mid"], c=1e-9, vacuum_criterion=1e-9), 0.0,
                    np.random.default_rng(1)).to_columns()  # fmt: skip
    with_fit(monkeypatch, not_found)
    found = unconverged(Readings.from_columns(columns | {"ties_allowed": False})).estimates
    assert (found["criterion"].status, found["criterion"].reason) == ("not_applicable", NO_TIES)
    assert {found[key].status for key in MODEL_KEYS if key != "criterion"} == {"undetermined"}


@pytest.mark.parametrize(("lengths", "told"), [(20_000, True), (5, False)])
def test_lengths_put_together_are_told(lengths: int, told: bool) -> None:
    """Lengths that differ in every pair make too many kinds of pairs for the model; a few lengths don't."""
    rng = np.random.default_rng(3)
    rows = [
        ReadingRow(
            stimulus=f"{pair:05}",
            probe="ladder",
            arm="prefix" if pair % 2 else "terse_wordy",
            task=f"task{pair % 20:02}",
            order=order,
            outcome=("first", "second", "tie", "first")[pair % 4],
            delta_q=1 + pair % 3,
            length_a=100 + length,
            length_b=100,
        )
        for pair, length in enumerate(rng.integers(0, lengths, 2500))
        for order in ("ab", "ba")
    ]
    notes = measure(Readings.from_rows(rows)).notes
    assert any("Lengths were" in note and ("rounded" in note or "bins" in note) for note in notes) is told
