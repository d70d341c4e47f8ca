"""The quality ladder: how often a judge prefers the better answer, by quality steps, arm and order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from datasheet.analysis.intervals import CONFIDENCE_LEVEL, ClusteredShare
from datasheet.analysis.presentations import clusters, presentation_weights, share_of
from datasheet.readings import Mask, Readings
from datasheet.records import Estimate

PREFIX_ARM = "prefix"
THRESHOLD_SHARE = 0.75
"""Share of correct readings that defines the detection threshold (the paper's Δ*75)."""

EVENTS: dict[str, Callable[[Readings], Mask]] = {
    "p_correct": lambda readings: readings.content > 0,
    "miss_by_tie": lambda readings: readings.content == 0,
    "wrong_choice": lambda readings: readings.content < 0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderStep:
    """Shares at one ΔQ of one arm: they are of the same readings and sum to 1."""

    arm: str
    delta_q: int
    p_correct: ClusteredShare
    miss_by_tie: ClusteredShare
    wrong_choice: ClusteredShare


def step_share(readings: Readings, event: str) -> ClusteredShare | None:
    """Share of an event of :data:`EVENTS` over valid readings, by task."""
    return share_of(EVENTS[event](readings), presentation_weights(readings), clusters(readings))


def accuracy_among_non_ties(readings: Readings) -> ClusteredShare | None:
    """Share of the better answer among the readings that prefer one."""
    decided = readings.where(readings.content != 0)
    return share_of(decided.content > 0, presentation_weights(decided), clusters(decided))


def ladder_steps(ladder: Readings, arm: str) -> list[LadderStep]:
    """The steps of an arm that have any valid reading, by ΔQ."""
    rungs = ladder.of_probe("ladder", arm)
    steps = []
    for delta_q in np.unique(rungs.delta_q[rungs.delta_q > 0]).tolist():
        shares = {event: step_share(rungs.where(rungs.delta_q == delta_q), event) for event in EVENTS}
        present = {event: share for event, share in shares.items() if share is not None}
        if len(present) == len(EVENTS):
            steps.append(LadderStep(arm=arm, delta_q=delta_q, **present))
    return steps


def _smallest_from_which(steps: list[LadderStep], reaches: Callable[[ClusteredShare], bool]) -> int | None:
    """The smallest ΔQ from which every step reaches, or None."""
    found = None
    for step in reversed(steps):
        if not reaches(step.p_correct):
            break
        found = step.delta_q
    return found


def empirical_threshold(steps: list[LadderStep], *flags: str) -> Estimate:
    """The smallest tested ΔQ from which P_correct stays at or above .75, censored only where that is supported.

    Below the first step it is printed ``≤`` only if the one-sided lower limit of P_correct there reaches .75, above the
    last step ``>`` only if the upper limit there stays below; else it is undetermined. The limits of a threshold inside
    the ladder are the smallest ΔQ from which the upper, and the lower, limits of P_correct stay above .75.
    """
    method = f"smallest ΔQ from which P_correct stays ≥ {THRESHOLD_SHARE}; limits from those of P_correct"
    if not steps:
        return Estimate.absent("not_measured", "needs valid readings of the ladder probe, prefix arm")
    n, n_clusters = round(sum(step.p_correct.n for step in steps)), steps[0].p_correct.n_clusters
    first, last = steps[0], steps[-1]
    found = _smallest_from_which(steps, lambda share: share.share >= THRESHOLD_SHARE)
    lower, upper = first.p_correct.lower(), last.p_correct.upper()
    if found == first.delta_q and lower >= THRESHOLD_SHARE:
        return Estimate(status="bounded", high=first.delta_q, n=n, n_clusters=n_clusters, method=method, flags=flags)
    if found is None and upper < THRESHOLD_SHARE:
        return Estimate(status="bounded", low=last.delta_q, n=n, n_clusters=n_clusters, method=method, flags=flags)
    if found == first.delta_q:
        return Estimate.absent(
            "undetermined",
            f"P_correct({first.delta_q}) is {first.p_correct.share:.3f}, but its one-sided 95% lower limit "
            f"{lower:.3f} does not reach {THRESHOLD_SHARE}: more tasks would decide",
            n=n,
        )
    if found is None:
        return Estimate.absent(
            "undetermined",
            f"P_correct({last.delta_q}) is {last.p_correct.share:.3f} and its one-sided 95% upper limit {upper:.3f} "
            f"is not below {THRESHOLD_SHARE}: more tasks would decide",
            n=n,
        )
    tail = (1 + CONFIDENCE_LEVEL) / 2
    low = _smallest_from_which(steps, lambda share: share.upper(tail) >= THRESHOLD_SHARE)
    high = _smallest_from_which(steps, lambda share: share.lower(tail) >= THRESHOLD_SHARE)
    open_sides = []
    if low == first.delta_q:
        low = None
        open_sides.append(f"the lower limit lies below the first step ({first.delta_q})")
    if high is None:
        open_sides.append(f"the upper limit lies beyond the last step ({last.delta_q})")
    return Estimate(
        estimate=found,
        low=low,
        high=high,
        n=n,
        n_clusters=n_clusters,
        method=method,
        reason="; ".join(open_sides),
        flags=flags,
    )
