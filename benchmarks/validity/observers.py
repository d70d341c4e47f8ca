"""Is the instrument right? Planted observers, measured over and over: bias, spread, coverage and width.

Each observer's readings are drawn from its own evidence on the real stimuli of a design (levels, lengths, filler and
orders as planned), the task spread drawn anew each time. What it truly is comes from its dials, or from counting over a
large draw of its preferences where no formula holds (not from this package's rates). For each quantity: how often it is
printed as measured, bias, root mean square error, share of those intervals that hold the truth, and their mean width
over 2 t sd, the width that an interval of just the true spread would have.

    python benchmarks/validity/observers.py --design standard --replicates 2000 --observer mid --tau 0 0.2 0.3
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import t as student_t

from datasheet.analysis.intervals import Numbers
from datasheet.analysis.model import measure
from datasheet.analysis.rates import rates_of
from datasheet.readings import UNKNOWN, Codes, ReadingRow, Readings
from datasheet.records import OUTCOMES, PROBES
from datasheet.stimulus.bank import load_bank
from datasheet.stimulus.design import plan

LEAST_COVERAGE, MOST_WIDTH = 0.93, 1.3
STEPS = (1, 2, 3, 4, 5)
TRUTH_DRAWS = 4_000
LEAST_SHARE, MOST_COVERAGE, LEAST_PRINTED = 0.03, 0.99, 0.95


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

    @property
    def is_of_the_model(self) -> bool:
        """Its dials are the measurement model's parameters."""
        return not (self.lapse or self.t_noise or self.order_dependent or self.step_inequality)

    def noise(self, n: int, rng: np.random.Generator) -> Numbers:
        """Noise of unit variance."""
        return rng.standard_t(5, n) / np.sqrt(5 / 3) if self.t_noise else rng.standard_normal(n)


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
                dose=shown.dose,
            )
        )
    return Readings.from_rows(rows)


def evidence(shown: Readings, observer: Observer, tau: float, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Evidence for content a in each reading, and its criterion: stable for a stimulus, fresh noise in each call."""
    n = len(shown)
    slope = observer.k * np.exp(tau * rng.standard_normal(len(shown.tasks)))[shown.task]
    stable = np.sqrt(observer.rho) * rng.standard_normal(len(shown.stimulus_ids))[shown.stimulus]
    sign = np.where(shown.order == 0, 1.0, -1.0)
    vacuum = shown.probe == PROBES.index("vacuum")
    quality = np.where(shown.delta_q > 0, shown.delta_q, 0.0)
    centre = (np.maximum(shown.level_a, 0) + np.maximum(shown.level_b, 0) + 1) / 2 - 3
    quality = quality * (1 + observer.step_inequality * centre / 2)
    slope = slope * (1 + observer.order_dependent * sign)
    content = slope * quality + observer.length * (shown.length_a - shown.length_b) / 100
    content = np.where(vacuum, 0.0, content + observer.filler * shown.filler_b / 100 + stable)
    spread = np.where(vacuum, 1.0, np.sqrt(1 - observer.rho))
    x = content + sign * observer.b + spread * observer.noise(n, rng)
    return x, np.where(vacuum, observer.vacuum_criterion, observer.c)


def preferences(shown: Readings, observer: Observer, tau: float, rng: np.random.Generator) -> Codes:
    """Preferred slot of each reading: +1 the first, 0 a tie, -1 the second."""
    x, criterion = evidence(shown, observer, tau, rng)
    preferred = np.where(x > criterion, 1, np.where(x < -criterion, -1, 0)) * np.where(shown.order == 0, 1, -1)
    lapsed = rng.random(len(shown)) < observer.lapse
    return np.where(lapsed, rng.integers(-1, 2, len(shown)), preferred).astype(np.int32)


def drawn(shown: Readings, observer: Observer, tau: float, rng: np.random.Generator) -> Readings:
    """Readings of an observer."""
    outcome = 1 - preferences(shown, observer, tau, rng)
    return Readings.from_columns(shown.to_columns() | {"outcome": outcome, "invalid": np.full(len(shown), UNKNOWN)})


def truths(shown: Readings, observer: Observer, tau: float, draws: int = TRUTH_DRAWS) -> dict[str, float]:
    """What each quantity truly is: rates by counting over a large draw of preferences, parameters from the dials."""
    rng = np.random.default_rng(99)
    first_repeat = shown.repeat == 0
    in_same = (shown.probe == PROBES.index("same_quality")) & first_repeat
    in_same &= shown.arm == shown.arms.index("same_subset")
    ab, ba = (np.flatnonzero(in_same & (shown.order == code)) for code in (0, 1))  # sorted by stimulus, so in pairs
    in_prefix = (shown.probe == PROBES.index("ladder")) & (shown.arm == shown.arms.index("prefix"))
    sign = np.where(shown.order == 0, 1, -1)
    sums: Counter[str] = Counter()
    for _ in range(draws):
        slot = preferences(shown, observer, tau, rng)
        sums["dark_current"] += (slot[shown.probe == PROBES.index("vacuum")] != 0).mean()
        sums["stable_cross_sensitivity"] += (slot[ab] * slot[ba] < 0).mean()
        sums["positional_false_preference"] += (slot[ab] * slot[ba] > 0).mean()
        for step in STEPS:
            at = in_prefix & (shown.delta_q == step)
            sums[f"p_correct_{step}"] += ((slot * sign)[at] == 1).mean()
    found = {key: total / draws for key, total in sums.items()}
    if observer.is_of_the_model:
        found |= {"resolution": observer.k, "criterion": observer.c, "position": observer.b}
        found |= {"length_slope": observer.length, "filler_slope": observer.filler}
    if observer.k > 0:
        found["threshold_75"] = true_threshold(observer)
    return found


def true_threshold(observer: Observer) -> float:
    """ΔQ at which three readings in four are right, on a typical task and at equal length, by bisection on a draw.

    Where steps are unequal this is averaged over the places that a ladder has for a difference; between whole steps,
    the share is interpolated on the scale of normal quantiles.
    """
    rng = np.random.default_rng(98)
    sign = np.repeat([1.0, -1.0], TRUTH_DRAWS * 50)
    n = len(sign)
    noise = np.sqrt(observer.rho) * rng.standard_normal(n) + np.sqrt(1 - observer.rho) * observer.noise(n, rng)
    place = rng.random(n)

    def right(delta_q: float) -> float:
        centre = np.floor(place * (len(STEPS) + 1 - delta_q)) - (len(STEPS) - delta_q) / 2
        quality = delta_q * (1 + observer.step_inequality * centre / 2)
        slope = observer.k * (1 + observer.order_dependent * sign)
        share = float((slope * quality + sign * observer.b + noise > observer.c).mean())
        return (1 - observer.lapse) * share + observer.lapse / len(OUTCOMES)

    if observer.step_inequality:
        shares = [right(step) for step in STEPS]
        return float(np.interp(ndtri(0.75), ndtri(shares), STEPS))
    return float(brentq(lambda delta_q: right(delta_q) - 0.75, 0.0, 60.0, xtol=1e-4))


KEYS = (
    *("dark_current", "stable_cross_sensitivity", "positional_false_preference"),
    *(f"p_correct_{step}" for step in STEPS),
    *("resolution", "criterion", "position", "threshold_75", "length_slope", "filler_slope"),
)
RATES = KEYS[: 3 + len(STEPS)]


def replicate(seed: int, *, design: str, name: str, tau: float) -> dict[str, tuple[str, float, float, float]]:
    """One log's estimates: status, estimate, low, high."""
    readings = drawn(_shown(design), OBSERVERS[name], tau, np.random.default_rng(seed))
    rates = rates_of(readings).estimates
    empirical = rates["threshold_75_empirical"]
    found = rates | measure(readings, empirical=empirical).estimates
    return {
        key: (
            found[key].status,
            np.nan if found[key].estimate is None else found[key].estimate,
            -np.inf if found[key].low is None else found[key].low,
            np.inf if found[key].high is None else found[key].high,
        )
        for key in KEYS
    }


_STRUCTURES: dict[str, Readings] = {}


def _shown(design: str) -> Readings:
    if design not in _STRUCTURES:
        _STRUCTURES[design] = structure(design)
    return _STRUCTURES[design]


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What the estimates of a quantity are worth over many logs; all but ``printed`` are of those that are measured.

    ``width`` is the mean width of an interval over 2 t sd; NaN without a spread or a closed interval.
    """

    truth: float
    printed: float
    bias: float = np.nan
    rmse: float = np.nan
    standard_error: float = np.nan
    covers: float = np.nan
    width: float = np.nan

    @classmethod
    def of(cls, truth: float, found: Sequence[tuple[str, float, float, float]], quantile: float) -> Worth:
        """Of (status, estimate, low, high) for each log."""
        measured = np.array([row[1:] for row in found if row[0] == "measured"])
        printed = len(measured) / len(found)
        if len(measured) < 2:
            return cls(truth=truth, printed=printed)
        value, low, high = measured.T
        sd, closed = float(value.std(ddof=1)), np.isfinite(high - low)
        return cls(
            truth=truth,
            printed=printed,
            bias=float(value.mean()) - truth,
            rmse=float(np.sqrt(((value - truth) ** 2).mean())),
            standard_error=sd / float(np.sqrt(len(value))),
            covers=float(((low <= truth) & (truth <= high)).mean()),
            width=float((high - low)[closed].mean() / (2 * quantile * sd)) if sd > 0 and closed.any() else np.nan,
        )

    def marks(self, key: str) -> list[str]:
        """What is to be said of it beside the figures."""
        wide_matters = key not in RATES or LEAST_SHARE <= self.truth <= 1 - LEAST_SHARE
        return [
            *(["UNDER-COVERS"] if self.covers < LEAST_COVERAGE else []),
            *(["wide"] if wide_matters and self.width > MOST_WIDTH else []),
            *(["conservative"] if self.covers > MOST_COVERAGE else []),
            *([] if self.printed > LEAST_PRINTED else ["seldom measured"]),
        ]


def worths(
    design: str, name: str, tau: float, *, replicates: int, workers: int = 1, draws: int = TRUTH_DRAWS
) -> dict[str, Worth]:
    """Of each quantity that the observer has a truth of."""
    shown = _shown(design)
    truth = truths(shown, OBSERVERS[name], tau, draws)
    one = partial(replicate, design=design, name=name, tau=tau)
    if workers > 1:
        with ProcessPoolExecutor(workers) as pool:
            logs = list(pool.map(one, range(replicates), chunksize=8))
    else:
        logs = list(map(one, range(replicates)))
    quantile = float(student_t.ppf(0.975, len(shown.tasks) - 1))
    return {key: Worth.of(truth[key], [log[key] for log in logs], quantile) for key in KEYS if key in truth}


def report(design: str, name: str, tau: float, replicates: int, workers: int) -> None:
    """Print a table for one observer and task spread."""
    found = worths(design, name, tau, replicates=replicates, workers=workers)
    print(f"\n{name}, {design}, tau {tau:g}: {replicates} logs")
    print(f"{'quantity':<28} {'truth':>7} {'printed':>8} {'bias':>8} {'rmse':>7} {'covers':>7} {'width/2t sd':>12}")
    for key, worth in found.items():
        figures = f"{worth.bias:>+8.3f} {worth.rmse:>7.3f} {worth.covers:>7.3f} {worth.width:>12.2f}"
        print(
            f"{key:<28} {worth.truth:>7.3f} {worth.printed:>8.3f} {figures}  {', '.join(worth.marks(key))}", flush=True
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
