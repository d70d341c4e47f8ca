"""Are channel slopes told from a liking for the wording that holds the doses?

In a channel pair the answer with the doses is always in the other wording, at dose 0 too. Observers with a known liking
for that wording and a known slope on one channel (authority) are measured over and over on the stimuli of the design
`full`: mean estimate, standard error of that mean, and the share of 95% intervals that hold the truth; also with the
covariate of the wording taken out, which is what it is for.

    python benchmarks/validity/channels.py --replicates 400
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
from observers import OBSERVERS, evidence, structure

from datasheet.analysis.covariates import CHANNEL_INTERCEPT
from datasheet.analysis.derived import Uncertainty
from datasheet.analysis.measurement import fit_measurement
from datasheet.analysis.pair_table import ModelTable, model_table
from datasheet.readings import UNKNOWN, Readings
from datasheet.records import CHANNELS, PROBES

OBSERVER, TAU = replace(OBSERVERS["mid"], length=0.4), 0.2
SWAYED, SLOPE = "authority", 0.8
KEYS = (*CHANNELS, CHANNEL_INTERCEPT, "resolution", "length", "filler", "position", "log_criterion")
shown = cache(structure)


def drawn(readings: Readings, wording: float, rng: np.random.Generator) -> Readings:
    """Readings of an observer that likes the second wording so much, and what sways it."""
    x, criterion = evidence(readings, OBSERVER, TAU, rng)
    channel = readings.probe == PROBES.index("channel")
    in_arm = [channel & (readings.arm == readings.arms.index(name)) for name in (SWAYED,)]
    x = x + np.where(channel, wording, 0.0) + sum(np.where(mask, SLOPE * readings.dose, 0.0) for mask in in_arm)
    same = (readings.probe == PROBES.index("same_quality")) & (readings.arm == readings.arms.index("same_subset"))
    x = x - np.where(same, wording, 0.0)  # there it is answer b that is in the second wording
    preferred = np.where(x > criterion, 1, np.where(x < -criterion, -1, 0)) * np.where(readings.order == 0, 1, -1)
    codes = {"outcome": 1 - preferred, "invalid": np.full(len(readings), UNKNOWN)}
    return Readings.from_columns(readings.to_columns() | codes)


def truths(wording: float) -> dict[str, float]:
    """What each parameter truly is."""
    return {
        **dict.fromkeys(CHANNELS, 0.0),
        SWAYED: SLOPE,
        CHANNEL_INTERCEPT: wording,
        "resolution": OBSERVER.k,
        "length": OBSERVER.length,
        "filler": OBSERVER.filler,
        "position": OBSERVER.b,
        "log_criterion": float(np.log(OBSERVER.c)),
    }


def without_intercept(made: ModelTable) -> ModelTable:
    """The same pairs with the covariate of the wording left out."""
    kept = [name != CHANNEL_INTERCEPT for name in made.covariates]
    names = tuple(name for name in made.covariates if name != CHANNEL_INTERCEPT)
    return replace(made, covariates=names, table=made.table.with_covariates(made.table.covariates[:, kept]))


def replicate(seed: int, *, design: str, wording: float, intercept: bool) -> dict[str, tuple[float, float]]:
    """Estimate and half-width of each parameter from one log."""
    made = model_table(drawn(shown(design), wording, np.random.default_rng(seed)))
    assert made is not None
    made = made if intercept else without_intercept(made)
    fit = fit_measurement(made.table, made.covariates)
    uncertainty = Uncertainty(fit=fit)
    return {
        key: (float(fit.theta[fit.names.index(key)]), uncertainty.quantile * uncertainty.of(key))
        for key in KEYS
        if key in fit.names
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """Mean estimate over logs, the standard error of that mean, and the share of intervals that hold the truth."""

    truth: float
    mean: float
    standard_error: float
    covers: float


def recovered(
    replicates: int, *, wording: float, intercept: bool = True, design: str = "full", workers: int = 1
) -> dict[str, Recovery]:
    """Each parameter over so many logs."""
    one = partial(replicate, design=design, wording=wording, intercept=intercept)
    if workers > 1:
        with ProcessPoolExecutor(workers) as pool:
            logs: Sequence[dict[str, tuple[float, float]]] = list(pool.map(one, range(replicates), chunksize=8))
    else:
        logs = [one(seed) for seed in range(replicates)]
    found = {}
    for key, truth in truths(wording).items():
        if key in logs[0]:
            value, half = np.array([log[key] for log in logs]).T
            found[key] = Recovery(
                truth=truth,
                mean=float(value.mean()),
                standard_error=float(value.std(ddof=1) / np.sqrt(replicates)),
                covers=float((np.abs(value - truth) <= half).mean()),
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    for wording, intercept in ((0.4, True), (0.0, True), (0.4, False)):
        print(f"\nliking {wording:g}, intercept {'fitted' if intercept else 'left out'}: {options.replicates} logs")
        found = recovered(options.replicates, wording=wording, intercept=intercept, workers=options.workers)
        for key, row in found.items():
            off = (row.mean - row.truth) / row.standard_error
            print(
                f"{key:<22} truth {row.truth:>6.3f}  mean {row.mean:>6.3f} ± {row.standard_error:.3f} "
                f"({off:>+5.1f} se)  covers {row.covers:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
