"""The quality ladder: how often a judge prefers the better answer, by quality steps, arm and order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from datasheet.analysis.intervals import CONFIDENCE_LEVEL, ClusteredShare
from datasheet.analysis.presentations import clusters, presentation_weights, share_of
from datasheet.readings import Mask, Readings
from datasheet.records import Estimate, Status

PREFIX_ARM = "prefix"
OPPOSED_ARMS = ("filled_longer", "terse_better")
"""Arms where the better answer is the shorter one."""

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


def step_share(rungs: Readings, event: str) -> ClusteredShare | None:
    """Share of an event of :data:`EVENTS` over valid readings, by task."""
    return share_of(EVENTS[event](rungs), presentation_weights(rungs), clusters(rungs), pair=rungs.stimulus)


def accuracy_among_non_ties(rungs: Readings) -> ClusteredShare | None:
    """Share of the better answer among the readings that prefer one."""
    weights = presentation_weights(rungs) * (rungs.content != 0)
    return share_of(rungs.content > 0, weights, clusters(rungs), pair=rungs.stimulus)


def ladder_steps(readings: Readings, arm: str) -> list[LadderStep]:
    """The steps of an arm that have any valid reading, by ΔQ."""
    rungs = readings.of_probe("ladder", arm)
    steps = []
    for delta_q in np.unique(rungs.delta_q[rungs.delta_q > 0]).tolist():
        shares = {event: step_share(rungs.where(rungs.delta_q == delta_q), event) for event in EVENTS}
        present = {event: share for event, share in shares.items() if share is not None}
        if len(present) == len(EVENTS):
            steps.append(LadderStep(arm=arm, delta_q=delta_q, **present))
    return steps


def accuracy_against_length(readings: Readings) -> ClusteredShare | None:
    """Accuracy among non-ties where the better answer is the shorter one: below 1/2, length leads."""
    return accuracy_among_non_ties(readings.of_probe("ladder", *OPPOSED_ARMS))


def _first_reached(steps: list[LadderStep], reaches: Callable[[ClusteredShare], bool]) -> int | None:
    """The smallest tested ΔQ from which every step reaches, or None."""
    found = None
    for step in reversed(steps):
        if not reaches(step.p_correct):
            break
        found = step.delta_q
    return found


def _last_missed(steps: list[LadderStep], level: float) -> int | None:
    """The largest tested ΔQ that is shown to lie below the threshold: its upper limit is under .75."""
    missed = [step.delta_q for step in steps if step.p_correct.upper(level) < THRESHOLD_SHARE]
    return max(missed, default=None)


def empirical_threshold(steps: list[LadderStep], *flags: str) -> Estimate:
    """The smallest tested ΔQ from which P_correct stays at or above .75, censored only where that is supported.

    At the first step it is printed ``≤`` only if the one-sided lower limit of P_correct there reaches .75; above the
    last step ``>`` only if the upper limit there stays below. Its low is the largest step that is shown to lie below
    the threshold (so the threshold is above it), its high the smallest step from which the lower limits reach .75. With
    neither an estimate nor a bound it is not resolved, and what is known stands as low and high.
    """
    found = _first_reached(steps, lambda share: share.share >= THRESHOLD_SHARE)
    first, last = steps[0], steps[-1]
    if found == first.delta_q and first.p_correct.lower() >= THRESHOLD_SHARE:
        return _threshold(steps, flags, status="bounded", high=first.delta_q)
    if found is None and last.p_correct.upper() < THRESHOLD_SHARE:
        return _threshold(steps, flags, status="bounded", low=last.delta_q)
    tail = (1 + CONFIDENCE_LEVEL) / 2
    low = _last_missed(steps, tail)
    high = _first_reached(steps, lambda share: share.lower(tail) >= THRESHOLD_SHARE)
    if found is None or found == first.delta_q:
        known = [f"above {low}"] * (low is not None) + [f"at most {high}"] * (high is not None)
        reason = f"not resolved{': ' if known else ''}{' and '.join(known)}; more tasks would decide"
        return _threshold(steps, flags, status="undetermined", low=low, high=high, reason=reason)
    open_sides = ["no step is shown to lie below it"] * (low is None)
    open_sides += ["no step is shown to lie above it"] * (high is None)
    return _threshold(steps, flags, estimate=found, low=low, high=high, reason="; ".join(open_sides))


def _threshold(
    steps: list[LadderStep],
    flags: tuple[str, ...],
    *,
    status: Status = "measured",
    estimate: float | None = None,
    low: float | None = None,
    high: float | None = None,
    reason: str = "",
) -> Estimate:
    return Estimate(
        status=status,
        estimate=estimate,
        low=low,
        high=high,
        n=round(sum(step.p_correct.n for step in steps)),
        n_clusters=max(step.p_correct.n_clusters for step in steps),
        method=f"smallest tested ΔQ from which P_correct stays ≥ {THRESHOLD_SHARE}; above low, at most high",
        reason=reason,
        flags=flags,
    )
