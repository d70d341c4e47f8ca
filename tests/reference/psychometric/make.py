"""Writes the reference cases that scipy's and statsmodels' general optimisers give; shares no code with the package.

    python tests/reference/psychometric/make.py

The likelihood is written out from its definition; the maximum is the best of many starts of scipy's L-BFGS-B polished
by Nelder and Mead's simplex; each limit is Brent's root of a profile that is maximised anew at every value. The cases
of the beetles are statsmodels' GLM. The three cases of psignifit are not made here: its licence keeps it out of the
project, and they hold its printed output.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from math import log
from pathlib import Path

import numpy as np
import scipy
import statsmodels
from scipy.optimize import brentq, minimize
from scipy.special import expit
from scipy.stats import chi2, norm
from statsmodels.genmod.families import Binomial
from statsmodels.genmod.families.links import CLogLog, Logit, Probit
from statsmodels.genmod.generalized_linear_model import GLM

FOLDER = Path(__file__).parent
SCIPY = f"scipy {scipy.__version__} (L-BFGS-B, Nelder-Mead, brentq), numpy {np.__version__}: make.py"
STATSMODELS = f"statsmodels {statsmodels.__version__} GLM(Binomial): make.py"

TWO_AFC = {
    "levels": [0.001, 0.0015, 0.002, 0.0025, 0.003, 0.0035, 0.004, 0.0045, 0.005, 0.006, 0.007, 0.008, 0.01],
    "correct": [45, 50, 44, 44, 52, 53, 62, 64, 76, 79, 88, 90, 90],
    "n": [90] * 13,
}
PALAMEDES = {
    "levels": [0.01, 0.03, 0.05, 0.07, 0.09, 0.11],
    "correct": [59, 53, 68, 83, 92, 99],
    "n": [100] * 6,
}
BEETLES = {
    "levels": [1.6907, 1.7242, 1.7552, 1.7842, 1.8113, 1.8369, 1.8610, 1.8839],
    "correct": [6, 13, 18, 28, 52, 53, 61, 60],
    "n": [59, 60, 62, 56, 63, 59, 62, 60],
}
LAPSING = {
    "levels": [1, 2, 3, 4, 6, 8, 12, 16],
    "correct": [21, 22, 28, 31, 36, 38, 36, 37],
    "n": [40] * 8,
}
TWO_AFC_SOURCE = "the 2AFC example of psignifit's documentation (Schütt et al. 2016, Vision Research 122:105)"
PALAMEDES_SOURCE = "Palamedes' demonstration of PFML_Fit (Prins and Kingdom 2018, Frontiers in Psychology 9:1250)"
BEETLES_SOURCE = "Bliss (1935, Annals of Applied Biology 22:134): beetles killed by log10 dose of carbon disulphide"
LAPSING_SOURCE = "made up: a curve that levels off below 1"

CURVES: dict[str, tuple[Callable[[np.ndarray], np.ndarray], float, float]] = {
    "probit": (norm.cdf, 2 * norm.ppf(0.95), 0.0),
    "logit": (expit, 2 * log(19), 0.0),
    "gumbel": (lambda u: 1 - np.exp(-np.exp(np.minimum(u, 700.0))), log(log(0.05) / log(0.95)), log(log(2))),
}


class Reference:
    """A negative log-likelihood, penalised where the lapse rate has a prior, and what follows from it."""

    def __init__(self, counts: dict[str, list[float]], family: str, guess_rate: float, lapse_rate: float | str) -> None:
        self.x, self.k, self.n = (np.array(counts[name], dtype=float) for name in ("levels", "correct", "n"))
        self.curve, self.guess_rate, self.lapse_rate = CURVES[family], guess_rate, lapse_rate
        span = self.x[-1] - self.x[0]
        self.bounds = [(self.x[0] - 5 * span, self.x[-1] + 5 * span), (log(span / 100), log(span * 50)), (0, 0.5)]
        if not isinstance(lapse_rate, str):
            self.bounds[2] = (lapse_rate, lapse_rate)

    def __call__(self, point: np.ndarray) -> float:
        t, s, lapse = point
        curve, scale, offset = self.curve
        share = self.guess_rate + (1 - self.guess_rate - lapse) * curve(scale * (self.x - t) / np.exp(s) + offset)
        share = np.clip(share, 1e-12, 1 - 1e-12)
        value = -(self.k * np.log(share) + (self.n - self.k) * np.log1p(-share)).sum()
        return float(value - (9 * np.log1p(-lapse) if self.lapse_rate == "map" else 0.0))

    def best(self, held: dict[int, float]) -> tuple[float, np.ndarray]:
        """The minimum with some parameters held, and where it is."""
        bounds = [(held[i], held[i]) if i in held else bound for i, bound in enumerate(self.bounds)]
        free = [i for i, (low, high) in enumerate(bounds) if low < high]

        def of_free(part: np.ndarray) -> float:
            point = np.array([low for low, _ in bounds], dtype=float)
            point[free] = part
            return self(point)

        inside = [bounds[i] for i in free]
        found = None
        for t in np.linspace(self.x[0], self.x[-1], 4):
            for share in (0.2, 0.6, 1.5):
                start = np.array([t, log(share * (self.x[-1] - self.x[0])), 0.02])[free]
                start = np.clip(start, [low for low, _ in inside], [high for _, high in inside])
                tried = minimize(of_free, start, method="L-BFGS-B", bounds=inside)
                if found is None or tried.fun < found.fun:
                    found = tried
        options = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 5000}
        polished = minimize(of_free, found.x, method="Nelder-Mead", bounds=inside, options=options)
        found = polished if polished.fun < found.fun else found
        point = np.array([low for low, _ in bounds], dtype=float)
        point[free] = found.x
        return float(found.fun), point

    def limits(self, parameter: int, peak: float, at: float) -> tuple[float, float]:
        half = chi2.ppf(0.95, 1) / 2

        def excess(value: float) -> float:
            return self.best({parameter: value})[0] - peak - half

        low, high = self.bounds[parameter]
        return float(brentq(excess, low, at, xtol=1e-9)), float(brentq(excess, at, high, xtol=1e-9))

    def expected(self) -> dict[str, object]:
        peak, point = self.best({})
        threshold, width = self.limits(0, peak, point[0]), self.limits(1, peak, point[1])
        penalty = 9 * np.log1p(-point[2]) if self.lapse_rate == "map" else 0.0
        return {
            "threshold": point[0],
            "width": float(np.exp(point[1])),
            "slope": self.curve[1] / float(np.exp(point[1])) / (log(10) if self.curve is CURVES["gumbel"] else 1),
            "lapse_rate": point[2],
            "log_likelihood": -(peak + penalty),
            "threshold_limits": list(threshold),
            "width_limits": np.exp(width).tolist(),
        }


def write(name: str, case: dict[str, object]) -> None:
    def rounded(value: object) -> object:
        if isinstance(value, dict):
            return {key: rounded(part) for key, part in value.items()}
        if isinstance(value, list):
            return [rounded(part) for part in value]
        return float(f"{value:.8g}") if isinstance(value, float) else value

    text = json.dumps(rounded(case), indent=1, ensure_ascii=False)
    (FOLDER / f"case_{name}.json").write_text(text + "\n", encoding="utf-8")


def profiled(
    name: str,
    source: str,
    counts: dict[str, list[float]],
    family: str,
    guess_rate: float,
    lapse_rate: float | str,
) -> None:
    options = {"family": family, "guess_rate": guess_rate, "lapse_rate": lapse_rate}
    case = {
        "description": f"maximum likelihood and 95% profile limits, {family}, lapse rate {lapse_rate}",
        "source": source,
        "made_with": SCIPY,
        "data": counts | options,
        "expected": Reference(counts, family, guess_rate, lapse_rate).expected(),
        "rtol": 1e-4,
    }
    write(name, case)


def linear(family: str, link: object) -> None:
    x, k, n = (np.array(BEETLES[name], dtype=float) for name in ("levels", "correct", "n"))
    fitted = GLM(np.column_stack([k, n - k]), np.column_stack([np.ones_like(x), x]), Binomial(link)).fit(tol=1e-12)
    intercept, slope = (float(part) for part in fitted.params)
    _, scale, offset = CURVES[family]
    share = fitted.fittedvalues
    expected = {
        "threshold": (offset - intercept) / slope,
        "width": scale / slope,
        "log_likelihood": float((k * np.log(share) + (n - k) * np.log1p(-share)).sum()),
        "deviance": float(fitted.deviance),
    }
    case = {
        "description": f"generalised linear model of the beetles, {family}: no guesses, no lapses",
        "source": BEETLES_SOURCE,
        "made_with": STATSMODELS,
        "data": BEETLES | {"family": family, "guess_rate": 0.0, "lapse_rate": 0.0},
        "expected": expected,
        "rtol": 1e-6,
    }
    write(f"beetles_{family}", case)


def main() -> None:
    for family, lapse_rate in (("probit", 0.0), ("probit", 0.02), ("logit", 0.0), ("logit", 0.02)):
        profiled(f"2afc_{family}_{lapse_rate:g}", TWO_AFC_SOURCE, TWO_AFC, family, 0.5, lapse_rate)
    for family, lapse_rate in (("logit", 0.0), ("logit", 0.02), ("probit", 0.0)):
        profiled(f"palamedes_{family}_{lapse_rate:g}", PALAMEDES_SOURCE, PALAMEDES, family, 0.5, lapse_rate)
    for family, lapse_rate in (("probit", "mle"), ("logit", "map"), ("gumbel", "map"), ("gumbel", 0.05)):
        profiled(f"lapsing_{family}_{lapse_rate}", LAPSING_SOURCE, LAPSING, family, 0.5, lapse_rate)
    for family, link in (("logit", Logit()), ("probit", Probit()), ("gumbel", CLogLog())):
        linear(family, link)


if __name__ == "__main__":
    main()
