"""How long does one psychometric fit with its intervals take beside psignifit, and a fit in a batch of 2,000?

The data set is the 2AFC example of psignifit's documentation (13 levels, 90 readings each). Ours gives profile
intervals of threshold and width; psignifit samples a posterior over a grid. Both run in turn in one process, and both
fits are printed, to show that they agree.

    pip install -e ".[bench]"; python benchmarks/speed/psychometric.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np
import psignifit

from datasheet.analysis.psychometric import LapseRule, fit_psychometric, fit_psychometric_batch, share_correct

ROUNDS, PER_ROUND, BATCH = 5, 20, 2_000
LEVELS = np.array([10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 100]) / 10_000
CORRECT = np.array([45, 50, 44, 44, 52, 53, 62, 64, 76, 79, 88, 90, 90])
N = np.full(13, 90)

CASES: dict[str, tuple[float | LapseRule, dict[str, float]]] = {
    "lapse rate 0": (0.0, {"lambda": 0.0, "eta": 0.0}),
    "lapse rate free": ("map", {"eta": 0.0}),
}


def seconds(call: Callable[[], object], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def single(name: str, lapse_rate: float | LapseRule, fixed: dict[str, float]) -> None:
    counts = np.stack([LEVELS, CORRECT, N], axis=1)

    def theirs() -> psignifit.Result:
        return psignifit.psignifit(counts, experiment_type="2AFC", sigmoid="norm", fixed_parameters=fixed)

    def ours() -> object:
        return fit_psychometric(LEVELS, CORRECT, N, guess_rate=0.5, lapse_rate=lapse_rate)

    their_fit, our_fit = (
        theirs().parameter_estimate,
        fit_psychometric(LEVELS, CORRECT, N, guess_rate=0.5, lapse_rate=lapse_rate),
    )
    ratios = []
    for _ in range(ROUNDS):
        their_s, our_s = seconds(theirs, 1), seconds(ours, PER_ROUND)
        ratios.append(their_s / our_s)
        print(f"{name}: psignifit {their_s * 1000:8.1f} ms   ours {our_s * 1000:6.2f} ms   ratio {ratios[-1]:6.0f}")
    print(f"{name}: median ratio {median(ratios):.0f}")
    print(f"{name}: threshold {their_fit['threshold']:.6f} and {our_fit.threshold.estimate:.6f}", end="; ")
    print(f"width {their_fit['width']:.6f} and {our_fit.width.estimate:.6f}")


def batch(lapse_rate: float | LapseRule) -> None:
    rng = np.random.default_rng(1)
    shares = share_correct(LEVELS, threshold=0.0046, width=0.0047, guess_rate=0.5, lapse_rate=0.01)
    drawn = rng.binomial(90, shares, (BATCH, len(LEVELS)))
    spent_s = seconds(lambda: fit_psychometric_batch(LEVELS, drawn, N, guess_rate=0.5, lapse_rate=lapse_rate), 1)
    print(f"batch of {BATCH:,}, lapse rate {lapse_rate}: {spent_s / BATCH * 1000:.2f} ms a fit")


def main() -> None:
    for name, (lapse_rate, fixed) in CASES.items():
        single(name, lapse_rate, fixed)
    for lapse_rate in (0.0, "map"):
        batch(lapse_rate)


if __name__ == "__main__":
    main()
