"""Profiles without priors: limits that another program finds, and figures of saturated judges that stay open."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from observers import OBSERVERS, Observer, drawn, structure
from published import QWEN32B, STRICT_TIE
from readings_made import ladder_rows, same_quality_rows
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit
from scipy.stats import multivariate_normal, t

from datasheet.analysis.measurement import fit_measurement, measurement_mode
from datasheet.analysis.model import ModelFinding, measure
from datasheet.analysis.pair_table import model_table
from datasheet.analysis.point_null import parameter_p
from datasheet.readings import ReadingRow, Readings

PAIRS, TASKS = 60, 10


def logs() -> dict[str, list[ReadingRow]]:
    right = dict.fromkeys(range(1, 6), (60, 0, 0))
    return {
        "all ties": same_quality_rows(none=PAIRS),
        "never errs": [*same_quality_rows(none=60), *ladder_rows(right)],
        "published": QWEN32B,
        "published strict": STRICT_TIE,
        "ordinary": [
            *same_quality_rows(stable=12, first_first=14, one_sided=18, none=16),
            *ladder_rows({1: (70, 25, 25), 2: (90, 20, 10), 3: (100, 15, 5), 5: (59, 1, 0)}),
        ],
    }


@cache
def found(name: str) -> ModelFinding:
    return measure(Readings.from_rows(logs()[name]))


def tied_deviance(criterion: float) -> float:
    """Twice the loss of ``PAIRS`` pairs that tie in both orders, the best correlation under its prior free."""

    def loss(logit: float) -> float:
        rho = float(expit(logit))
        both = multivariate_normal([0, 0], [[1, rho], [rho, 1]])
        p = float(both.cdf([criterion, criterion], lower_limit=[-criterion, -criterion]))
        return -PAIRS * np.log(p) + ((logit + 0.5) / 1.5) ** 2 / 2

    return 2 * float(minimize_scalar(loss, bounds=(-6, 4.9), method="bounded").fun)


def test_the_bound_of_a_judge_that_always_ties_is_that_of_its_likelihood() -> None:
    quantile = float(t.ppf(0.975, TASKS - 1))
    expected = brentq(lambda criterion: tied_deviance(criterion) - quantile**2, 0.5, 5)
    criterion = found("all ties").estimates["criterion"]
    assert (criterion.status, criterion.high) == ("bounded", None)
    assert criterion.low == pytest.approx(expected, rel=0.01)


def test_a_judge_that_never_errs_or_doubts_has_no_scale() -> None:
    """Resolution and criterion are only known to be large; a position of any size could hide behind the criterion."""
    estimates = found("never errs").estimates
    for key in ("resolution", "criterion"):
        assert (estimates[key].status, estimates[key].high) == ("bounded", None), key
        assert estimates[key].low > 1.5  # type: ignore[operator]
    assert estimates["position"].status == "undetermined"


@pytest.mark.parametrize("ties_to", [0, 2])
def test_a_judge_without_noise_converges_however_much_of_it_is_read(ties_to: int) -> None:
    """It ties up to a step and is right beyond, in 300 pairs of each step: its band ends between two steps."""
    steps = {step: (0, 300, 0) if step <= ties_to else (300, 0, 0) for step in range(1, 6)}
    finding = measure(Readings.from_rows([*same_quality_rows(none=300), *ladder_rows(steps)]))
    assert finding.fit is not None
    assert finding.fit.converged
    resolution, criterion = finding.estimates["resolution"], finding.estimates["criterion"]
    assert resolution.low is not None
    assert criterion.low is not None
    assert (resolution.high, criterion.high) == (None, None)
    assert resolution.low > 5
    assert ties_to < criterion.low / resolution.low < ties_to + 1


def test_a_search_that_rounding_keeps_off_an_edge_is_done_with_it() -> None:
    """The resolution of these is beyond the box of the search, and ended at the last number below its edge."""
    steps = dict.fromkeys(range(1, 6), (1240, 0, 0))
    made = model_table(Readings.from_rows([*same_quality_rows(none=620, tasks=100), *ladder_rows(steps, tasks=100)]))
    assert made is not None
    fit = fit_measurement(made.table, made.covariates)
    assert fit.converged
    assert fit.parameters.resolution == pytest.approx(8.0)


@pytest.mark.parametrize("name", ["published", "published strict"])
def test_published_judges_that_are_saturated_have_a_resolution_that_is_open_above(name: str) -> None:
    """Errors at no step but the first: k, c and b may grow together, which no prior is to decide."""
    resolution = found(name).estimates["resolution"]
    assert (resolution.status, resolution.high, resolution.flags[-1]) == ("bounded", None, "prior_limited")
    criterion = found(name).estimates["criterion"]
    assert criterion.status == "bounded" or criterion.high > 2 * criterion.estimate  # type: ignore[operator]


@pytest.mark.parametrize("name", ["published", "published strict", "never errs"])
def test_p_of_no_resolution_says_what_its_bound_says(name: str) -> None:
    model = found(name)
    low = model.estimates["resolution"].low
    assert low is not None
    assert low > 0
    p = parameter_p(model, "resolution", 0.0)
    assert p is not None
    assert p < 0.05
    assert parameter_p(model, "resolution", low) == pytest.approx(0.05, abs=0.006)


@pytest.mark.parametrize("key", ["resolution", "criterion", "position"])
def test_limits_of_a_loosely_known_parameter_are_where_its_p_is_a_twentieth(key: str) -> None:
    model = measure(drawn(structure("paper"), OBSERVERS["qwen32-like"], 0.2, np.random.default_rng(0)))
    estimate = model.estimates[key]
    assert "wide" in estimate.flags
    for limit in (estimate.low, estimate.high):
        assert limit is not None
        assert parameter_p(model, key, limit) == pytest.approx(0.05, abs=0.006)


def test_an_ordinary_judge_needs_no_profile() -> None:
    model = found("ordinary")
    assert model.bounds is not None
    assert not any(model.bounds.needed(name) for name in model.bounds.edges)
    assert {model.estimates[key].status for key in ("resolution", "criterion", "position")} == {"measured"}


def test_a_limit_lies_on_the_highest_mode_there() -> None:
    """Where nearly all verdicts go to the first slot, a search may end on a far lower mode, all evidence huge."""
    judge = Observer(k=0.5, c=0.05, b=4.0, rho=0.3)
    model = measure(drawn(structure("paper"), judge, 0.2, np.random.default_rng(2)))
    assert model.made is not None
    assert model.fit is not None
    table, criterion = model.made.table, model.estimates["criterion"]
    assert (criterion.status, criterion.low) == ("bounded", None)

    def highest(log_criterion: float, *fixed: str) -> float:
        """Over searches from many places."""
        free = {"resolution", "position", "log_criterion", "log_task_spread"} - set(fixed)
        starts = [np.array([k, b, log_criterion, -0.5, -1.5]) for k in (0.1, 0.5, 1, 3) for b in (1, 2, 3, 4, 6, 10)]
        return max(
            measurement_mode(
                table, (), lapse_rate=0, fixed=fixed, starts=[at], without_prior=sorted(free)
            ).log_posterior
            for at in starts
        )

    loss = 2 * (highest(-7.0) - highest(float(np.log(criterion.high)), "log_criterion"))  # type: ignore[arg-type]
    index = model.fit.names.index("log_criterion")
    scatter = max(1.0, model.fit.robust_covariance[index, index] / model.fit.covariance[index, index])
    assert np.sqrt(loss / scatter) == pytest.approx(t.ppf(0.975, TASKS - 1), abs=0.02)
