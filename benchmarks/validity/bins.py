"""What do bins of lengths cost in a large log?

Logs of 100,000 readings whose every pair has lengths of its own, from observers with a known resolution k and a known
liking for length g. The joint model is fitted on lengths in bins four ways, about as many kinds of pairs in each: the
mean over all pairs of a bin that are alike but for their verdicts, with what that takes given back (as on the sheet)
and without; the mean over those with the same verdicts; the middle of the bin. For each way the mean difference of k
and g, in percent, from bins so fine that they lose nothing, and from the truth, each with its standard error.

    python benchmarks/validity/bins.py --replicates 20
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from datasheet.analysis import length_bins
from datasheet.analysis.covariates import covariates_of
from datasheet.analysis.evidence import PairTable
from datasheet.analysis.intervals import Numbers
from datasheet.analysis.length_bins import without_loss_to_bins
from datasheet.analysis.measurement import fit_measurement
from datasheet.analysis.pair_table import ModelTable, model_table
from datasheet.readings import UNKNOWN, Readings
from datasheet.records import PROBES

K, C, B, RHO, FILLER = 0.6, 0.5, 0.3, 0.4, 1.0
ARMS = ("filled_even", "prefix", "same_subset", "terse_better")
WAYS = ("as on the sheet", "as fitted", "means by verdicts", "middles")
FINE_KINDS, MIDDLE_WIDTHS = 12_000, (0.1, 0.2, 0.3, 0.4)


def log(n_readings: int, length_slope: float, rng: np.random.Generator, *, n_tasks: int = 1000) -> Readings:
    """So many readings, both orders of each pair, of an observer with this liking for 100 words."""
    n = n_readings // 2
    pair = np.arange(n)
    ladder = pair % 7 < 5
    arm = np.where(ladder, np.array([1, 3, 0])[pair % 3], 2)
    delta_q = np.where(ladder, pair % 5 + 1, 0)
    length_a, length_b = rng.integers(40, 160, (2, n))
    filler = np.where(arm == 0, rng.integers(20, 60, n), 0)
    content = K * delta_q + length_slope * (length_a - length_b) / 100 + FILLER * filler / 100
    content = content + np.sqrt(RHO) * rng.standard_normal(n)
    x = content[:, None] + np.array([B, -B]) + np.sqrt(1 - RHO) * rng.standard_normal((n, 2))
    slot = np.where(x > C, 1, np.where(x < -C, -1, 0)) * np.array([1, -1])
    of_pair = {
        "stimulus": pair,
        "task": pair % n_tasks,
        "probe": np.where(ladder, PROBES.index("ladder"), PROBES.index("same_quality")),
        "arm": arm,
        "delta_q": delta_q,
        "length_a": length_a,
        "length_b": length_b,
        "filler_b": filler,
    }
    columns = {name: np.repeat(values, 2) for name, values in of_pair.items()}
    nothing, zero = np.full(2 * n, UNKNOWN), np.zeros(2 * n, dtype=int)
    columns |= dict.fromkeys(("level_a", "level_b", "dose", "invalid"), nothing) | dict.fromkeys(
        ("repeat", "abstained"), zero
    )
    columns |= {"order": np.tile([0, 1], n), "outcome": (1 - slot).ravel()}
    tables = {"stimulus_ids": map(str, pair), "tasks": map(str, range(n_tasks)), "arms": ARMS, "invalid_reasons": ()}
    return Readings.from_columns(columns | tables | {"ties_allowed": True, "length_unit": "words"})


def tables(readings: Readings) -> dict[str, ModelTable]:
    """The pairs with lengths binned in each of the ways."""
    made = model_table(readings)
    assert made is not None
    pairs = readings.where(readings.order == 0)
    verdicts = np.column_stack([pairs.content, readings.where(readings.order == 1).content]).astype(np.float64)
    names, covariates = covariates_of(pairs)
    steps, weight = pairs.delta_q[:, None].astype(np.float64), np.ones(len(pairs))
    by_verdict = length_bins.binned_lengths(
        covariates,
        lengths=np.ones(len(names), dtype=np.bool_),
        alike=np.column_stack([steps, verdicts]),
        verdicts=verdicts,
        weight=weight,
    )

    def table(values: Numbers) -> ModelTable:
        binned = PairTable.of_pairs(
            delta_q=steps[:, 0],
            covariates=values,
            content_ab=verdicts[:, 0].astype(np.int32),
            content_ba=verdicts[:, 1].astype(np.int32),
            cluster=pairs.task,
            weight=weight,
        )
        return replace(made, table=binned, within_bins=made.within_bins * 0)

    middles = (table(np.round(covariates / width) * width) for width in MIDDLE_WIDTHS)
    middle = next(made for made in middles if len(made.table) <= length_bins.BINNED_KINDS)
    as_fitted = replace(made, within_bins=made.within_bins * 0)
    return dict(zip(WAYS, (made, as_fitted, table(by_verdict.covariates), middle), strict=True))


def fine(readings: Readings) -> ModelTable:
    """The pairs in so many bins that nothing is lost."""
    usual, length_bins.BINNED_KINDS = length_bins.BINNED_KINDS, FINE_KINDS
    made = model_table(readings)
    length_bins.BINNED_KINDS = usual
    assert made is not None
    return made


def k_and_g(made: ModelTable) -> Numbers:
    """The estimates of both."""
    fit = without_loss_to_bins(fit_measurement(made.table, made.covariates), made.within_bins)
    return np.array([fit.theta[0], fit.theta[fit.names.index("length")]])


def errors(length_slope: float, replicates: int, *, readings: int) -> dict[str, Numbers]:
    """For each way k and g over those of fine bins, less 1, and over the truth, less 1: arrays (replicates, 4)."""
    truth = np.array([K, length_slope])
    found: dict[str, list[Numbers]] = {way: [] for way in WAYS}
    for seed in range(replicates):
        drawn = log(readings, length_slope, np.random.default_rng(seed))
        reference = k_and_g(fine(drawn))
        for way, made in tables(drawn).items():
            values = k_and_g(made)
            found[way].append(np.concatenate([values / reference - 1, values / truth - 1]))
    return {way: np.array(rows) for way, rows in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--readings", type=int, default=100_000)
    options = parser.parse_args()
    heads = ("k, off fine", "g, off fine", "k, off truth", "g, off truth")
    print(f"{'g':>4} {'way':<20} " + " ".join(f"{head:>18}" for head in heads))
    for length_slope in (0.5, 1.0, 2.0, 4.0):
        for way, rows in errors(length_slope, options.replicates, readings=options.readings).items():
            spread = rows.std(axis=0, ddof=1) / np.sqrt(len(rows))
            figures = (f"{m:>+9.2%} ± {s:.2%}" for m, s in zip(rows.mean(axis=0), spread, strict=True))
            print(f"{length_slope:>4} {way:<20} " + " ".join(f"{figure:>18}" for figure in figures), flush=True)


if __name__ == "__main__":
    main()
