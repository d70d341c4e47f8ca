"""Do the widths and the smallest detectable effects that are told before a run come true?

Shares are drawn from beta-binomial tasks of the planned correlation, readings of the joint model from the planning
observer, with the task spread that it has. For each quantity: the planned half-width, the mean one of the limits that
the logs get, and how often the planned smallest effect is detected by a t test at 5% (wanted: 80%).

    python benchmarks/validity/plans.py --design paper
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from math import log, sqrt

import numpy as np
from scipy.special import stdtrit

from datasheet.analysis.intervals import clustered_share
from datasheet.analysis.model import measure
from datasheet.analysis.parameters import Parameters
from datasheet.analysis.power import PLANNED, WITHIN_TASK_CORRELATION, PlannedWidth, planned_widths
from datasheet.readings import Readings
from datasheet.records import Estimate
from datasheet.stimulus.bank import load_bank
from datasheet.stimulus.design import plan
from datasheet.workflows.precision import planned_readings

MODEL_KEYS = ("threshold_75", "resolution", "criterion", "position")


def readings_drawn(planned: Readings, observer: Parameters, rng: np.random.Generator) -> Readings:
    """Readings of an observer at the presentations of a plan."""
    spread = np.exp(observer.task_spread * rng.standard_normal(len(planned.tasks)))
    stable = sqrt(observer.correlation) * rng.standard_normal(len(planned.stimulus_ids))
    noise = sqrt(1 - observer.correlation) * rng.standard_normal(len(planned))
    quality = observer.resolution * spread[planned.task] * np.maximum(planned.delta_q, 0)
    side = np.where(planned.order == 0, 1, -1)
    evidence = quality + stable[planned.stimulus] + side * observer.position + noise
    content = (evidence > observer.criterion).astype(np.int32) - (evidence < -observer.criterion).astype(np.int32)
    return replace(planned, outcome=(1 - side * content).astype(np.int32))


def successes_drawn(share: float, sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Successes in tasks of these sizes, with the planned correlation within tasks."""
    weight = 1 / WITHIN_TASK_CORRELATION - 1
    return rng.binomial(sizes.astype(int), rng.beta(share * weight, (1 - share) * weight, len(sizes))).astype(float)


def share_figures(width: PlannedWidth, replicates: int, rng: np.random.Generator) -> tuple[float, float]:
    """Mean half-width, and the share of comparisons that detect the planned difference."""
    sizes = np.full(width.n_clusters, width.n / width.n_clusters)
    other = width.value + (width.detectable if width.value <= 0.5 else -width.detectable)
    halves, detected = [], 0
    for _ in range(replicates):
        counts = [successes_drawn(share, sizes, rng) for share in (width.value, other)]
        low, high = clustered_share(counts[0], sizes).interval() or (0.0, 1.0)
        halves.append((high - low) / 2)
        difference = (counts[1] - counts[0]) / sizes
        error = difference.std(ddof=1) / sqrt(len(sizes))
        detected += abs(difference.mean()) > stdtrit(len(sizes) - 1, 0.975) * error
    return float(np.mean(halves)), detected / replicates


def model_figures(
    planned: Readings, widths: Sequence[PlannedWidth], replicates: int, rng: np.random.Generator
) -> dict[str, tuple[float, float]]:
    """The same of the quantities of the joint model; those of the resolution serve for the threshold, too."""
    by_key = {width.key: width for width in widths}
    changed = {
        "resolution": replace(PLANNED, resolution=PLANNED.resolution * by_key["resolution"].detectable),
        "criterion": replace(PLANNED, criterion=PLANNED.criterion * by_key["criterion"].detectable),
        "position": replace(PLANNED, position=PLANNED.position + by_key["position"].detectable),
    }
    halves: dict[str, list[float]] = {key: [] for key in MODEL_KEYS}
    detected = dict.fromkeys(MODEL_KEYS, 0)
    for _ in range(replicates):
        base = measure(readings_drawn(planned, PLANNED, rng)).estimates
        for key in MODEL_KEYS:
            low, high = base[key].low, base[key].high
            if low is not None and high is not None:
                halves[key].append((high - low) / 2)
        for key, observer in changed.items():
            other = measure(readings_drawn(planned, observer, rng)).estimates
            for told in ("resolution", "threshold_75") if key == "resolution" else (key,):
                detected[told] += apart(base[told], other[told], ratio=by_key[told].ratio)
    return {key: (float(np.mean(halves[key])), detected[key] / replicates) for key in MODEL_KEYS}


def apart(one: Estimate, other: Estimate, *, ratio: bool) -> bool:
    """Whether two measured quantities differ, by their limits."""
    centres, variances = [], []
    for found in (one, other):
        if found.estimate is None or found.low is None or found.high is None or (ratio and found.low <= 0):
            return False
        values = [log(value) if ratio else value for value in (found.low, found.estimate, found.high)]
        centres.append(values[1])
        variances.append(((values[2] - values[0]) / 2) ** 2)
    return abs(centres[0] - centres[1]) > sqrt(sum(variances))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--design", default="paper")
    parser.add_argument(
        "--replicates", type=int, default=200, help="logs of the joint model; ten times so many of shares"
    )
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    planned = planned_readings(plan(load_bank("english"), options.design), ties_allowed=True)
    widths = planned_widths(planned)
    figures = model_figures(planned, widths, options.replicates, rng)
    print(f"{'quantity':<30}{'planned ±':>10}{'found ±':>9}{'effect':>8}{'detected':>10}")
    for width in widths:
        found = figures.get(width.key) or share_figures(width, 10 * options.replicates, rng)
        effect = f"{'×' if width.ratio else ''}{width.detectable:.3f}"
        print(f"{width.key:<30}{width.half_width:>10.3f}{found[0]:>9.3f}{effect:>8}{found[1]:>10.2f}")


if __name__ == "__main__":
    main()
