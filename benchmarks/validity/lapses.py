"""How often does a sheet warn of lapses, of judges that lapse and of judges that do not?

Planted observers at a design, measured over and over: the share of logs whose readings refute "no lapses" at .05, so
that the joint model's figures carry a flag; and the median threshold as printed, and at the lapse rate that fits best.

    python benchmarks/validity/lapses.py --replicates 300
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
from observers import OBSERVERS, Observer, drawn, structure, true_threshold

from datasheet.analysis.diagnostics import diagnose
from datasheet.analysis.model import measure

JUDGES: Mapping[str, Observer] = {
    **{f"lapses in {rate:.0%}": replace(OBSERVERS["lapses"], lapse=rate) for rate in (0.02, 0.05, 0.15)},
    **{name: OBSERVERS[name] for name in ("mid", "sharp", "qwen32-like", "llama-like", "heavy-surface")},
    **{name: OBSERVERS[name] for name in ("order-dependent", "unequal-steps", "t-noise")},
}


def replicate(seed: int, *, design: str, name: str, tau: float) -> tuple[bool, float, float]:
    """Whether a log is warned of, its threshold as printed, and at the best lapse rate."""
    model = measure(drawn(structure(design), JUDGES[name], tau, np.random.default_rng(seed)))
    found, printed = diagnose(model), model.estimates["threshold_75"].estimate
    best = found.likeliest_lapses
    mended = None if best is None else best.threshold_75
    return bool(found.notes), np.nan if printed is None else printed, np.nan if mended is None else mended


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--design", default="standard")
    parser.add_argument("--tau", type=float, default=0.2)
    parser.add_argument("--replicates", type=int, default=300)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    print(f"{'judge':<16} {'warned':>7} {'true Δ*75':>10} {'printed':>8} {'at best rate':>13}")
    for name, observer in JUDGES.items():
        one = partial(replicate, design=options.design, name=name, tau=options.tau)
        with ProcessPoolExecutor(options.workers) as pool:
            table = np.array(list(pool.map(one, range(options.replicates), chunksize=8)), dtype=float)
        warned = table[:, 0].mean()
        printed, mended = np.nanmedian(table[:, 1:], axis=0)
        print(
            f"{name:<16} {warned:>7.3f} {true_threshold(observer):>10.3f} {printed:>8.3f} {mended:>13.3f}", flush=True
        )


if __name__ == "__main__":
    main()
