"""The quality ladder: how often a judge prefers the better answer, by quality steps, arm and order.

A judge that always takes the first slot is right whenever the better answer is shown there. So the two orders weigh
alike in every share, and a share of one order alone says nothing of quality by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from datasheet.analysis.intervals import CONFIDENCE_LEVEL, ClusteredShare, Numbers
from datasheet.analysis.presentations import clusters, orders_alike, presentation_weights, share_of
from datasheet.readings import Mask, Readings
from datasheet.records import Estimate, Status

PREFIX_ARM = "prefix"
OPPOSED_ARMS = ("filled_longer", "terse_better")
"""Arms where the better answer is the shorter one."""

CONFOUNDED_WITH_POSITION = "confounded_with_position"
NEEDS_BOTH_ORDERS = "needs both orders of the same pairs"

THRESHOLD_SHARE = 0.75
"""Share of correct readings that defines the detection threshold (the paper's Δ*75)."""

EVENTS: dict[str, Callable[[Readings], Mask]] = {
    "p_correct": lambda readings: readings.content > 0,
    "miss_by_tie": lambda readings: readings.content == 0,
    "wrong_choice": lambda readings: readings.content < 0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderStep:
    """Shares at one ΔQ of one arm: they are of the same readings and sum to 1.

    ``by_order`` is how many presentations in the orders ab and ba they rest on.
    """

    arm: str
    delta_q: int
    by_order: tuple[int, int]
    p_correct: ClusteredShare
    miss_by_tie: ClusteredShare
    wrong_choice: ClusteredShare

    @property
    def in_both_orders(self) -> bool:
        """Whether content is told from slot."""
        return min(self.by_order) > 0

    @property
    def uneven(self) -> bool:
        """Whether one order has less than half as many readings as the other, and some."""
        return 0 < min(self.by_order) < max(self.by_order) / 2


def step_share(rungs: Readings, event: str) -> ClusteredShare | None:
    """Share of an event of :data:`EVENTS` over valid readings, by task."""
    return share_of(EVENTS[event](rungs), _weights(rungs), clusters(rungs), pair=rungs.stimulus)


def _weights(rungs: Readings) -> Numbers:
    return orders_alike(presentation_weights(rungs), rungs.order)


def by_order(rungs: Readings) -> tuple[int, int]:
    """Presentations with a valid reading in the orders ab and ba."""
    ab, ba = (len(np.unique(rungs.stimulus[rungs.valid & (rungs.order == code)])) for code in (0, 1))
    return ab, ba


def accuracy_among_non_ties(rungs: Readings) -> ClusteredShare | None:
    """Share of the better answer among the readings that prefer one."""
    weights = _weights(rungs) * (rungs.content != 0)
    return share_of(rungs.content > 0, weights, clusters(rungs), pair=rungs.stimulus)


def ladder_steps(readings: Readings, arm: str) -> list[LadderStep]:
    """The steps of an arm that have any valid reading, by ΔQ."""
    rungs = readings.of_probe("ladder", arm)
    steps = []
    for delta_q in np.unique(rungs.delta_q[rungs.delta_q > 0]).tolist():
        rows = rungs.where(rungs.delta_q == delta_q)
        shares = {event: step_share(rows, event) for event in EVENTS}
        present = {event: share for event, share in shares.items() if share is not None}
        if len(present) == len(EVENTS):
            steps.append(LadderStep(arm=arm, delta_q=delta_q, by_order=by_order(rows), **present))
    return steps


def accuracy_against_length(readings: Readings) -> ClusteredShare | None:
    """Accuracy among non-ties where the better answer is the shorter one: below 1/2, length leads."""
    return accuracy_among_non_ties(readings.of_probe("ladder", *OPPOSED_ARMS))


def position_flags(counts: tuple[int, int]) -> tuple[str, ...]:
    """What a share over so many presentations in the orders ab and ba is flagged with."""
    return () if min(counts) else (CONFOUNDED_WITH_POSITION,)


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
    neither an estimate nor a bound it is not resolved, and what is known stands as low and high. Steps of one order
    alone are left out, since a slot that is always taken passes for content there.
    """
    steps = [step for step in steps if step.in_both_orders]
    if not steps:
        return Estimate.absent("not_measured", NEEDS_BOTH_ORDERS)
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


def order_notes(steps: Sequence[LadderStep]) -> tuple[str, ...]:
    """What a reader should know where steps come in one order alone, or hardly in the other."""
    notes = []
    alone = sum(not step.in_both_orders for step in steps)
    if alone:
        notes.append(
            f"{alone} of {len(steps)} ladder steps (each arm counted by itself) come in one order alone, where content "
            "and slot can't be told apart: their shares are flagged, and no threshold rests on them."
        )
    uneven = [step.by_order for step in steps if step.uneven]
    if uneven:
        few, many = sorted(min(uneven, key=lambda counts: min(counts) / max(counts)))
        notes.append(
            f"{len(uneven)} of {len(steps)} ladder steps (each arm counted by itself) have less than half as many "
            f"presentations in one order as in the other (down to {few} against {many}): the orders weigh alike in all "
            "shares, and n is what that is worth."
        )
    return tuple(notes)
