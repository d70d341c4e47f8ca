"""Verdict logs with the counts that give the figures published in arXiv 2606.15610, Tables 3 and 4.

The ladder has 50/40/30/20/10 pairs for ΔQ 1..5, each in two orders. Which task a pair belonged to is not published:
here they are dealt out in turn, so the intervals are not the paper's.
"""

from __future__ import annotations

from readings_made import ladder_rows, same_quality_rows, vacuum_rows

from datasheet.readings import ReadingRow


def published(*, dark: int, classes: dict[str, int], ladder: dict[int, tuple[int, int, int]]) -> list[ReadingRow]:
    return [
        *vacuum_rows(first=dark, tie=30 - dark),
        *same_quality_rows(**classes),
        *ladder_rows(ladder),
    ]


LLAMA8B = published(
    dark=20,
    classes={"stable": 2, "first_first": 58},
    ladder={1: (52, 0, 48), 2: (44, 0, 36), 3: (40, 0, 20), 4: (31, 0, 9), 5: (18, 0, 2)},
)
QWEN14B = published(
    dark=0,
    classes={"stable": 27, "first_first": 32, "one_sided": 1},
    ladder={1: (92, 2, 6), 2: (78, 0, 2), 3: (60, 0, 0), 4: (40, 0, 0), 5: (20, 0, 0)},
)
QWEN32B = published(
    dark=0,
    classes={"first_first": 5, "one_sided": 21, "none": 34},
    ladder={1: (94, 6, 0), 2: (80, 0, 0), 3: (60, 0, 0), 4: (40, 0, 0), 5: (20, 0, 0)},
)
STRICT_TIE = published(
    dark=0,
    classes={"none": 60},
    ladder={1: (50, 50, 0), 2: (76, 4, 0), 3: (60, 0, 0), 4: (40, 0, 0), 5: (20, 0, 0)},
)
PUBLISHED = {
    # judge: DC, raw, SCS, PFP, OSC, NP, empirical threshold (estimate or "≤ 1"), profile, class
    "llama8b": (LLAMA8B, 0.667, 1.000, 0.033, 0.967, 0.000, 0.000, 4, "presentation-conflicted", "B"),
    "qwen14b": (QWEN14B, 0.000, 0.992, 0.450, 0.533, 0.017, 0.000, "≤ 1", "mixed stable-positional", "A, Δ0 caveat"),
    "qwen32b": (QWEN32B, 0.000, 0.258, 0.000, 0.083, 0.350, 0.567, "≤ 1", "vacuum-clean", "A"),
}
