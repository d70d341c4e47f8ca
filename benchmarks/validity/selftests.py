"""How often does the self-test fail an intact instrument?

`datasheet selftest` has one fixed seed. Here it runs with others: for each, the planted values that are missed, the
values that leak, and how many 95% and simultaneous intervals hold their truths.

    python benchmarks/validity/selftests.py --seeds 1 21
"""

from __future__ import annotations

import argparse

from datasheet.workflows.selftest import Tested, selftest


def held(rows: tuple[Tested, ...]) -> int:
    """How many simultaneous intervals hold the truth."""
    limits = [(row.truth, row.simultaneous) for row in rows]
    return sum(found is not None and found[0] <= truth <= found[1] for truth, found in limits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs=2, type=int, default=(1, 21), metavar=("FIRST", "BEYOND"))
    options = parser.parse_args()
    totals = dict.fromkeys(("planted", "missed", "held", "covered", "others", "others covered", "leaks"), 0)
    failed, seeds = 0, range(*options.seeds)
    for seed in seeds:
        result = selftest(seed=seed)
        others = [row for row in result.tested if not row.planted and row.p is not None]
        counts = {
            "planted": len(result.planted),
            "missed": sum(not row.recovered for row in result.planted),
            "held": held(result.planted),
            "covered": sum(row.covered for row in result.planted),
            "others": len(others),
            "others covered": sum(row.covered for row in others),
            "leaks": sum(bool(row.failure) for row in others),
        }
        totals = {name: totals[name] + count for name, count in counts.items()}
        failed += bool(result.failures)
        names = ", ".join(f"{row.failure} {row.key} ({row.fault})" for row in result.failures)
        print(f"seed {seed}: {counts} {names}", flush=True)
    print(f"{failed} of {len(seeds)} self-tests failed; {totals}")


if __name__ == "__main__":
    main()
