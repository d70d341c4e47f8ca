"""Do the intervals of clustered shares hold what they promise?

Beta-binomial clusters with a known share; the share of simulated logs whose 95% interval holds it, and the mean width,
for the default (Wilson on the effective n, t quantile), Wilson as if all readings were independent, and the percentile
bootstrap over clusters; over the first 1,000 logs, for the beta-binomial interval that stands beside the default.
``zeros`` is the share of logs without a single success, frequent at small shares with strong clustering.

    python benchmarks/validity/intervals.py
"""

from __future__ import annotations

import numpy as np

from datasheet.analysis.intervals import clustered_share, wilson

REPLICATES, RESAMPLES, POSTERIORS = 2_000, 999, 1_000
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
    (10, 6, 0.03, 0.3),
    (10, 6, 0.05, 0.3),
    (20, 6, 0.03, 0.3),
]

NAMES = ("default", "beta-binomial", "independent", "bootstrap")


def main() -> None:
    rng = np.random.default_rng(3)
    print("clusters  size  share   ICC   zeros  " + "".join(f"{name:<17}" for name in NAMES))
    for clusters, size, share, icc in CELLS:
        scale = (1 - icc) / icc
        hits = rng.binomial(size, rng.beta(share * scale, (1 - share) * scale, (REPLICATES, clusters)))
        weights = rng.multinomial(clusters, np.full(clusters, 1 / clusters), RESAMPLES) / clusters
        bootstrap = np.quantile(hits / size @ weights.T, [0.025, 0.975], axis=1).T
        shares = [clustered_share(row.astype(float), np.full(clusters, float(size))) for row in hits]
        default = np.array([found.interval() for found in shares])
        naive = np.array([wilson(found.share, found.n, 1.959964) for found in shares])
        beside = np.array([found.beta_binomial() for found in shares[:POSTERIORS]])
        cells = []
        for limits in (default, beside, naive, bootstrap):
            covered = ((limits[:, 0] <= share) & (share <= limits[:, 1])).mean()
            cells.append(f"{covered:.3f} ({(limits[:, 1] - limits[:, 0]).mean():.3f})")
        zeros = (hits.sum(axis=1) == 0).mean()
        row = f"{clusters:>8} {size:>5} {share:>6} {icc:>5} {zeros:>7.3f}  " + "".join(f"{cell:<17}" for cell in cells)
        print(row)


if __name__ == "__main__":
    main()
