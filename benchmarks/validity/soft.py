"""What are soft readings worth beside hard ones? Both from the same calls of planted observers, over and over.

The observer's evidence gives its verdict, and the log-probabilities of its labels by a logistic readout; labels below
the floor are not listed. For each judge, readout scale and floor: the share of censored calls, bias and coverage of the
soft threshold and parameters, and the variance of the hard threshold over that of the soft one (on a log scale), which
is by how much more calls the verdicts alone would need.

    python benchmarks/validity/soft.py --replicates 200
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from math import log

import numpy as np
from observers import OBSERVERS, Observer, evidence, structure, true_threshold

from datasheet.analysis.model import measure
from datasheet.analysis.soft_readings import soft_characteristics
from datasheet.label_columns import LabelColumns
from datasheet.readings import UNKNOWN, Readings

JUDGES = ("mid", "qwen32-like", "sharp", "llama-like")
SCALES = (0.15, 0.4)
FLOORS = (1e-4, 1e-6, 1e-9)
KEYS = ("resolution", "criterion", "position", "threshold_75")


def drawn(shown: Readings, observer: Observer, tau: float, scale: float, floor: float, seed: int) -> Readings:
    """Verdicts and log-probabilities of the same calls."""
    x, criterion = evidence(shown, observer, tau, np.random.default_rng(seed))
    lean = np.where(shown.order == 0, x, -x)
    first, second = -np.logaddexp(0, (criterion - lean) / scale), -np.logaddexp(0, (criterion + lean) / scale)
    tie = first + second + np.log(np.expm1(2 * criterion / scale))
    columns = {"first": first, "tie": tie, "second": second}
    labels = LabelColumns(
        **{name: np.where(column < log(floor), -np.inf, column) for name, column in columns.items()},
        floor=np.full(len(x), log(floor)),
    )
    outcome = np.where(lean > criterion, 0, np.where(lean < -criterion, 2, 1))
    columns = shown.to_columns() | {"outcome": outcome, "invalid": np.full(len(x), UNKNOWN)}
    return Readings.from_columns(columns | {"labels": labels.to_columns()})


def replicate(seed: int, *, design: str, name: str, tau: float, scale: float, floor: float) -> list[float]:
    """Censored share, hard threshold, then soft (estimate, low, high) for each key; NaN where there is none."""
    readings = drawn(structure(design), OBSERVERS[name], tau, scale, floor, seed)
    hard = measure(readings).estimates["threshold_75"]
    found = soft_characteristics(readings)
    soft = [found.figures[f"{key}@soft"] for key in KEYS]
    values = [found.descriptions["censored_share"].estimate, hard.estimate]
    values += [value for estimate in soft for value in (estimate.estimate, estimate.low, estimate.high)]
    return [np.nan if value is None else value for value in values]


def row(design: str, name: str, tau: float, scale: float, floor: float, replicates: int, workers: int) -> str:
    """One line of the table."""
    observer = OBSERVERS[name]
    truths = np.array([observer.k, observer.c, observer.b, true_threshold(observer)])
    made = partial(replicate, design=design, name=name, tau=tau, scale=scale, floor=floor)
    with ProcessPoolExecutor(workers) as pool:
        table = np.array(list(pool.map(made, range(replicates), chunksize=4)))
    censored, hard, soft = table[:, 0], table[:, 1], table[:, 2:].reshape(replicates, len(KEYS), 3)
    usable = np.isfinite(soft[:, :, 0]).all(axis=1)
    head = f"{name:<12} {scale:>5g} {floor:>6.0e} {censored.mean():>9.2f} {usable.mean():>7.2f}"
    if usable.sum() < 2:
        return head
    value, low, high = soft[usable].transpose(2, 1, 0)
    covers = ((low <= truths[:, None]) & (truths[:, None] <= high)).mean(axis=1)
    both = usable & np.isfinite(hard)
    gain = np.log(hard[both]).var() / np.log(soft[both, -1, 0]).var() if both.sum() > 1 else np.nan
    bias = value[-1].mean() / truths[-1] - 1
    return f"{head} {bias:>+8.1%} " + " ".join(f"{share:>6.3f}" for share in covers) + f" {gain:>9.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--design", default="paper")
    parser.add_argument("--tau", type=float, default=0.2)
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    print(f"{options.design}, tau {options.tau:g}: {options.replicates} logs a row; coverage of k, c, b and Δ*75")
    print("judge        scale  floor  censored  usable  bias Δ*  cov k  cov c  cov b cov Δ* hard/soft")
    for name in JUDGES:
        for scale in SCALES:
            for floor in FLOORS:
                cell = (options.design, name, options.tau, scale, floor, options.replicates, options.workers)
                print(row(*cell), flush=True)


if __name__ == "__main__":
    main()
