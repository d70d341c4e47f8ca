"""How long does the joint model take, all intervals included, beside an ordered probit of the same readings?

The ordered probit of statsmodels (content preferred on ΔQ and which answer was shown first) knows no pairs, no task
spread and no covariates: it is a yardstick of what fitting these readings costs at all. A judge that is all but
saturated (`qwen32-like`) or that all but fixes the first slot (`llama-like`) also needs profiles.

    python benchmarks/speed/measurement.py
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from statsmodels.miscmodels.ordinal_model import OrderedModel

from datasheet.analysis.model import measure
from datasheet.analysis.pair_table import model_rows
from datasheet.readings import Readings

sys.path.insert(0, str(Path(__file__).parents[1] / "validity"))
from observers import OBSERVERS, drawn, structure

ROUNDS = 7
WANTED_S = {"paper": 0.3}
LOGS = [
    *((design, "mid") for design in ("paper", "standard", "full")),
    ("paper", "qwen32-like"),
    ("paper", "llama-like"),
]


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def ordered_probit(readings: Readings) -> object:
    rows, _ = model_rows(readings)
    a_first = np.where(rows.order == 0, 1.0, -1.0)
    preferred = a_first * (1 - rows.outcome)
    regressors = np.column_stack([np.maximum(rows.delta_q, 0), a_first])
    return OrderedModel(preferred, regressors, distr="probit").fit(method="bfgs", disp=False)


def medians(readings: Readings) -> tuple[float, float]:
    """Seconds of both fits, run in turn."""
    rounds = [(seconds(lambda: measure(readings)), seconds(lambda: ordered_probit(readings))) for _ in range(ROUNDS)]
    ours, theirs = zip(*rounds, strict=True)
    return median(ours), median(theirs)


def main() -> None:
    print(
        f"{'design':<10} {'judge':<12} {'readings':>8} {'joint model':>12} {'ordered probit':>15} {'ratio':>6}  wanted"
    )
    for design, judge in LOGS:
        readings = drawn(structure(design), OBSERVERS[judge], 0.2, np.random.default_rng(1))
        ours, theirs = medians(readings)
        wanted = f"<= {WANTED_S[design]} s" if design in WANTED_S else ""
        times = f"{ours:>10.3f} s {theirs:>13.3f} s {ours / theirs:>6.2f}"
        print(f"{design:<10} {judge:<12} {len(readings):>8,} {times}  {wanted}")


if __name__ == "__main__":
    main()
