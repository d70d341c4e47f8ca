"""Do the intervals of clustered shares hold what they promise?

Beta-binomial clusters with a known share; the share of simulated logs whose 95% interval holds it, and the mean width,
for the default (Wilson on the effective n, t quantile), Wilson as if all readings were independent, and the percentile
bootstrap over clusters.

    python benchmarks/validity/intervals.py
"""

from __future__ import annotations

import numpy as np

from datasheet.analysis.intervals import clustered_share, wilson

REPLICATES, RESAMPLES = 2_000, 999
# clusters, readings a cluster, share, intraclass correlation
CELLS = [
    (10, 6, 0.5, 0.1),
    (10, 6, 0.9, 0.1),
    (10, 6, 0.05, 0.1),
    (10, 10, 0.9, 0.2),
    (10, 10, 0.5, 0.2),
    (10, 12, 0.25, 0.3),
    (20, 10, 0.9, 0.2),
    (20, 6, 0.05, 0.1),
]


def main() -> None:
    rng = np.random.default_rng(3)
    print("clusters  size  share   ICC   default        as if independent   cluster bootstrap")
    for clusters, size, share, icc in CELLS:
        scale = (1 - icc) / icc
        hits = rng.binomial(size, rng.beta(share * scale, (1 - share) * scale, (REPLICATES, clusters)))
        weights = rng.multinomial(clusters, np.full(clusters, 1 / clusters), RESAMPLES) / clusters
        resampled = np.quantile(hits / size @ weights.T, [0.025, 0.975], axis=1)
        found = {"default": np.empty((REPLICATES, 2)), "naive": np.empty((REPLICATES, 2)), "bootstrap": resampled.T}
        for row, counts in enumerate(hits):
            limits = clustered_share(counts.astype(float), np.full(clusters, float(size))).interval()
            assert limits is not None
            found["default"][row] = limits
            found["naive"][row] = wilson(counts.sum() / (clusters * size), clusters * size, 1.959964)
        cells = []
        for limits in found.values():
            covered = ((limits[:, 0] <= share) & (share <= limits[:, 1])).mean()
            cells.append(f"{covered:.3f} ({(limits[:, 1] - limits[:, 0]).mean():.3f})")
        print(f"{clusters:>8} {size:>5} {share:>6} {icc:>5}   " + "  ".join(f"{cell:<17}" for cell in cells))


if __name__ == "__main__":
    main()
