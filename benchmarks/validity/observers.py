"""Is the instrument right? Planted observers, measured over and over: bias, spread, coverage and width.

Each observer's readings are drawn from its own evidence on the real stimuli of a design (levels, lengths, filler and
orders as planned), the task spread drawn anew each time. What it truly is comes from its dials, or from averaging over
a large draw where no formula holds. For each quantity: mean, spread, share of intervals that hold the truth, and mean
width over 2 t sd, the width that an interval of just the true spread would have.

    python benchmarks/validity/observers.py --design standard --replicates 2000 --observer mid --tau 0 0.2 0.3
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.stats import t as student_t

from datasheet.analysis.characterise import characterise, rates_of
from datasheet.analysis.derived import p_correct_marginal, threshold
from datasheet.readings import UNKNOWN, ReadingRow, Readings
from datasheet.records import OUTCOMES, PROBES
from datasheet.stimulus.bank import load_bank
from datasheet.stimulus.design import plan

LEAST_COVERAGE, MOST_WIDTH = 0.93, 1.3
STEPS = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer:
    """Parameters of the measurement model, and ways to break its assumptions."""

    k: float
    c: float
    b: float
    rho: float
    length: float = 0.0
    filler: float = 0.0
    vacuum_criterion: float = 1.5
    lapse: float = 0.0
    t_noise: bool = False
    order_dependent: float = 0.0
    step_inequality: float = 0.0


OBSERVERS: Mapping[str, Observer] = {
    "mid": Observer(k=0.6, c=0.5, b=0.3, rho=0.4),
    "sharp": Observer(k=1.6, c=0.4, b=0.5, rho=0.5),
    "qwen32-like": Observer(k=2.4, c=1.1, b=0.2, rho=0.2),
    "llama-like": Observer(k=0.55, c=0.05, b=2.1, rho=0.35),
    "length-lover": Observer(k=0.0, c=0.5, b=0.2, rho=0.3, length=4.0),
    "filler-hater": Observer(k=0.0, c=0.5, b=0.2, rho=0.3, filler=4.0),
    "quality-and-filler": Observer(k=0.6, c=0.5, b=0.2, rho=0.4, filler=2.0),
    "prefers-short": Observer(k=0.6, c=0.5, b=0.2, rho=0.4, length=-2.0),
    "lapses": Observer(k=0.9, c=0.5, b=0.3, rho=0.4, lapse=0.05),
    "t-noise": Observer(k=0.6, c=0.5, b=0.3, rho=0.4, t_noise=True),
    "order-dependent": Observer(k=0.6, c=0.5, b=0.3, rho=0.4, order_dependent=0.2),
    "unequal-steps": Observer(k=0.6, c=0.5, b=0.3, rho=0.4, step_inequality=0.4),
    "heavy-surface": Observer(k=0.6, c=0.5, b=0.3, rho=0.8),
}


def structure(design: str) -> Readings:
    """The readings of a design with all outcomes unknown: what was shown, and in which order."""
    rows = []
    for trial in plan(load_bank("english"), design):
        shown = trial.stimulus
        rows.append(
            ReadingRow(
                stimulus=shown.id,
                probe=shown.probe,
                arm=shown.arm,
                task=shown.task,
                order=trial.order,
                repeat=trial.repeat,
                outcome="tie",
                delta_q=shown.delta_q if shown.level_a is not None else None,
                level_a=shown.level_a,
                level_b=shown.level_b,
                length_a=len(shown.answer_a.split()),
                length_b=len(shown.answer_b.split()),
                filler_b=shown.filler_b,
            )
        )
    return Readings.from_rows(rows)


def drawn(shown: Readings, observer: Observer, tau: float, rng: np.random.Generator) -> Readings:
    """Readings of an observer: one stable preference a stimulus, fresh noise a call."""
    n = len(shown)
    slope = observer.k * np.exp(tau * rng.standard_normal(len(shown.tasks)))[shown.task]
    stable = np.sqrt(observer.rho) * rng.standard_normal(len(shown.stimulus_ids))[shown.stimulus]
    noise = rng.standard_t(5, n) / np.sqrt(5 / 3) if observer.t_noise else rng.standard_normal(n)
    sign = np.where(shown.order == 0, 1.0, -1.0)
    vacuum = shown.probe == PROBES.index("vacuum")
    quality = np.where(shown.delta_q > 0, shown.delta_q, 0.0)
    if observer.step_inequality:
        centre = (np.maximum(shown.level_a, 0) + np.maximum(shown.level_b, 0) + 1) / 2 - 3
        quality = quality * (1 + observer.step_inequality * centre / 2)
    slope = slope * (1 + observer.order_dependent * sign)
    content = slope * quality + observer.length * (shown.length_a - shown.length_b) / 100
    content = content + observer.filler * shown.filler_b / 100 + np.where(vacuum, 0.0, stable)
    spread = np.where(vacuum, 1.0, np.sqrt(1 - observer.rho))
    x = np.where(vacuum, 0.0, content) + sign * observer.b + spread * noise
    criterion = np.where(vacuum, observer.vacuum_criterion, observer.c)
    preferred = np.where(x > criterion, 1, np.where(x < -criterion, -1, 0)) * sign
    outcome = (1 - preferred).astype(np.int32)
    lapsed = rng.random(n) < observer.lapse
    outcome = np.where(lapsed, rng.integers(0, len(OUTCOMES), n), outcome).astype(np.int32)
    columns = shown.to_columns() | {"outcome": outcome.tolist(), "invalid": [UNKNOWN] * n}
    return Readings.from_columns(columns)


def truths(shown: Readings, observer: Observer, tau: float) -> dict[str, float]:
    """What each quantity truly is: rates by a large draw of the observer itself, parameters from its dials."""
    rng = np.random.default_rng(99)
    sums: dict[str, list[float]] = {}
    for _ in range(400):
        for key, estimate in rates_of(drawn(shown, observer, tau, rng)).estimates.items():
            if estimate.estimate is not None:
                sums.setdefault(key, []).append(estimate.estimate)
    found = {key: float(np.mean(values)) for key, values in sums.items()}
    plain = not (observer.lapse or observer.t_noise or observer.order_dependent or observer.step_inequality)
    if plain:
        found |= {"resolution": observer.k, "criterion": observer.c, "position": observer.b}
        found |= {"length_slope": observer.length, "filler_slope": observer.filler}
        if observer.k > 0:
            theta = np.array([observer.k, observer.b, np.log(observer.c), 0.0, np.log(max(tau, 1e-9))])
            found["threshold_75"] = float(threshold(theta))
            found["threshold_75_marginal"] = float(threshold(theta, p_correct_marginal))
    return found


KEYS = (
    *("dark_current", "stable_cross_sensitivity", "positional_false_preference"),
    *(f"p_correct_{step}" for step in STEPS),
    *("resolution", "criterion", "position", "threshold_75", "threshold_75_marginal", "length_slope", "filler_slope"),
)


def replicate(seed: int, *, design: str, name: str, tau: float) -> dict[str, tuple[str, float, float, float]]:
    """One log's estimates: status, estimate, low, high."""
    shown = _shown(design)
    found = characterise(drawn(shown, OBSERVERS[name], tau, np.random.default_rng(seed)))
    return {
        key: (
            estimate.status,
            np.nan if estimate.estimate is None else estimate.estimate,
            -np.inf if estimate.low is None else estimate.low,
            np.inf if estimate.high is None else estimate.high,
        )
        for key, estimate in found.estimates.items()
        if key in KEYS
    }


_STRUCTURES: dict[str, Readings] = {}


def _shown(design: str) -> Readings:
    if design not in _STRUCTURES:
        _STRUCTURES[design] = structure(design)
    return _STRUCTURES[design]


def report(design: str, name: str, tau: float, replicates: int, workers: int) -> None:
    """Print a table for one observer and task spread."""
    shown = _shown(design)
    truth = truths(shown, OBSERVERS[name], tau)
    with ProcessPoolExecutor(workers) as pool:
        logs = list(pool.map(partial(replicate, design=design, name=name, tau=tau), range(replicates), chunksize=8))
    quantile = float(student_t.ppf(0.975, len(shown.tasks) - 1))
    print(f"\n{name}, {design}, tau {tau:g}: {replicates} logs")
    print(f"{'quantity':<30} {'truth':>8} {'mean':>8} {'sd':>7} {'printed':>8} {'covers':>7} {'width/2t sd':>12}")
    for key in KEYS:
        if key not in truth:
            continue
        rows = np.array([log[key][1:] for log in logs])
        measured = np.array([log[key][0] in ("measured", "bounded") for log in logs])
        covered = (rows[:, 1] <= truth[key] + 1e-12) & (truth[key] - 1e-12 <= rows[:, 2])
        values = rows[np.isfinite(rows).all(axis=1)]
        sd = float(values[:, 0].std(ddof=1)) if len(values) > 1 else np.nan
        ratio = float((values[:, 2] - values[:, 1]).mean() / (2 * quantile * sd)) if sd > 0 else np.nan
        rate = key.split("_")[0] in ("dark", "stable", "positional", "p") and key != "position"
        inner = not rate or 0.03 <= truth[key] <= 0.97
        mark = ""
        if covered[measured].mean() < LEAST_COVERAGE:
            mark = "  UNDER-COVERS"
        elif inner and ratio > MOST_WIDTH:
            mark = "  wide"
        mean = float(values[:, 0].mean()) if len(values) else np.nan
        print(
            f"{key:<30} {truth[key]:>8.3f} {mean:>8.3f} {sd:>7.3f} {measured.mean():>8.3f} "
            f"{covered[measured].mean():>7.3f} {ratio:>12.2f}{mark}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--design", default="standard")
    parser.add_argument("--observer", nargs="+", default=list(OBSERVERS), choices=list(OBSERVERS))
    parser.add_argument("--tau", nargs="+", type=float, default=[0.0, 0.2, 0.3])
    parser.add_argument("--replicates", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    for name in options.observer:
        for tau in options.tau:
            report(options.design, name, tau, options.replicates, options.workers)


if __name__ == "__main__":
    main()
