"""Do the intervals of the joint model hold when tasks have hundreds or thousands of pairs?

Then what tasks differ by is nearly all of the uncertainty, and a model that integrates over it too coarsely prints
intervals that are far too narrow. 20 tasks of ladder pairs and a quarter as many of equal quality, both orders, from
the model itself: k .6, c .5, b .3, rho .4.

    python benchmarks/validity/many_pairs.py --pairs 1000 --tau 0.3
"""

from __future__ import annotations

import argparse
from math import log

import numpy as np

from datasheet.analysis.derived import Uncertainty
from datasheet.analysis.evidence import PairTable
from datasheet.analysis.measurement import fit_measurement
from datasheet.analysis.threads import one_thread

TASKS = 20
K, C, B, RHO = 0.6, 0.5, 0.3, 0.4
STEPS = [better - worse for better in range(6) for worse in range(better)]


def drawn(rng: np.random.Generator, pairs: int, tau: float) -> PairTable:
    delta_q = np.tile(np.concatenate([np.resize(STEPS, pairs), np.zeros(pairs // 4)]), TASKS).astype(float)
    task = np.repeat(np.arange(TASKS), pairs + pairs // 4)
    mean = K * np.exp(tau * rng.standard_normal(TASKS))[task] * delta_q + np.sqrt(RHO) * rng.standard_normal(len(task))
    evidence = [mean + sign * B + np.sqrt(1 - RHO) * rng.standard_normal(len(task)) for sign in (1, -1)]
    ab, ba = ((x > C).astype(np.int32) - (x < -C).astype(np.int32) for x in evidence)
    return PairTable.of_pairs(
        delta_q=delta_q,
        covariates=np.zeros((len(task), 0)),
        content_ab=ab,
        content_ba=ba,
        cluster=task.astype(np.int32),
        weight=np.ones(len(task)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1000, help="ladder pairs a task")
    parser.add_argument("--tau", type=float, default=0.3)
    parser.add_argument("--replicates", type=int, default=400)
    options = parser.parse_args()
    truth = {"resolution": K, "log_criterion": log(C), "position": B, "log_task_spread": log(options.tau)}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in truth}
    with one_thread():
        for seed in range(options.replicates):
            fit = fit_measurement(drawn(np.random.default_rng([options.pairs, seed]), options.pairs, options.tau))
            uncertainty = Uncertainty(fit=fit)
            for name in truth:
                value = float(fit.theta[fit.names.index(name)])
                found[name].append((value, uncertainty.quantile * uncertainty.of(name)))
    print(f"{options.pairs} pairs a task, tau {options.tau:g}, {options.replicates} logs")
    for name, value in truth.items():
        values, halves = np.array(found[name]).T
        covers = np.mean(np.abs(values - value) <= halves)
        print(f"{name:<16} bias {values.mean() - value:+.4f}  sd {values.std():.4f}  covers {covers:.3f}")


if __name__ == "__main__":
    main()
