"""What readings say without a model: rates, their decomposition, the ladder's shares, and what is missing.

Each step is pure and adds estimates under the keys of the datasheet. A quantity that can't be had is there all the
same, with its status and the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from datasheet.analysis import ladder, repeatability, vacuum, validity
from datasheet.analysis.intervals import ClusteredShare
from datasheet.analysis.ladder import NEEDS_BOTH_ORDERS, LadderStep
from datasheet.analysis.model import CONFOUNDED, NO_TIES
from datasheet.analysis.presentations import share_of
from datasheet.analysis.repeatability import Unstable
from datasheet.analysis.swap_pairs import CLASSES, SwapPairs, swap_pairs
from datasheet.analysis.validity import MissingBounds
from datasheet.errors import EstimationError
from datasheet.readings import Readings
from datasheet.records import ORDERS, Estimate

IDENTITY_TOLERANCE = 1e-12
PROTOCOL_STEPS = range(1, 6)
MOST_NAMES = 20
"""Reasons and arms that a log may name are without limit; a sheet shows the commonest reasons and this many arms."""

TIE_KEYS = (
    *("dark_current", "raw_false_preference", "vacuum_difference", "one_sided_commitment", "no_preference"),
    "preference",
)

Estimates = dict[str, Estimate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What the readings say without a model.

    Attributes
    ----------
    estimates
        By key, in the order of the sheet.
    headline
        Shares by key whose limits are given in a second way too; only those that were measured.
    steps
        Ladder shares by arm and ΔQ.
    dark
        The dark current; None where it was not measured.
    pairs
        The same-quality swap pairs (arm ``same_subset``).
    missing
        Bounds by key, where readings are missing.
    unstable
        Repeated presentations whose readings differ.
    """

    estimates: Estimates
    headline: dict[str, ClusteredShare]
    steps: tuple[LadderStep, ...]
    dark: ClusteredShare | None
    pairs: SwapPairs
    missing: dict[str, MissingBounds]
    unstable: Unstable


def _estimate(share: ClusteredShare | None, needs: str, *flags: str) -> Estimate:
    return share.estimate(*flags) if share is not None else Estimate.absent("not_measured", needs)


def _needs(rows: Readings, what: str) -> str:
    """Why a quantity is not there: nobody asked, or no reply could be read."""
    if not len(rows):
        return f"needs {what}"
    return f"needs valid readings of {what}: {int(rows.valid.sum())} of {len(rows)} are valid"


def _vacuum(readings: Readings, dark: ClusteredShare | None) -> Estimates:
    probe = readings.of_probe("vacuum")
    needs = _needs(probe, "the vacuum probe")
    estimates = {"dark_current": _estimate(dark, needs)}
    for kind in probe.arm_names:
        share = vacuum.dark_current(probe.of_probe("vacuum", kind))
        if kind and share is not None:
            estimates[f"dark_current@{kind}"] = share.estimate()
    decided = needs if not probe.valid.any() else "needs a vacuum reading that is not a tie"
    estimates["vacuum_first_share"] = _estimate(vacuum.first_slot_share(probe), decided)
    return estimates


def _decomposition(same: Readings, pairs: SwapPairs) -> Estimates:
    needs = _needs(same, "the same-quality probe (arm same_subset)")
    if same.valid.any():
        needs = "needs a pair with two valid readings" if len(pairs.stimulus) else NEEDS_BOTH_ORDERS
    estimates = {"raw_false_preference": _estimate(pairs.raw_preference(), needs)}
    names = (CLASSES[0], CLASSES[1], "first_first", "second_second", *CLASSES[2:])
    estimates |= {name: _estimate(pairs.share(name), needs) for name in names}
    if pairs.n_complete:
        _check_identity(estimates)
    return estimates


def _check_identity(estimates: Estimates) -> None:
    """Classes sum to 1, and raw = SCS + PFP + OC + OSC/2: a broken identity is a fault of this program."""
    scs, pfp, osc, none, conflict = (estimates[name].estimate or 0.0 for name in CLASSES)
    raw = estimates["raw_false_preference"].estimate or 0.0
    if abs(scs + pfp + osc + none + conflict - 1) > IDENTITY_TOLERANCE:
        raise EstimationError("the classes of the same-quality decomposition do not sum to 1: please report this")
    if abs(raw - (scs + pfp + conflict + osc / 2)) > IDENTITY_TOLERANCE:
        raise EstimationError("raw false preference is not SCS + PFP + OC + OSC/2: please report this")


def _different_subset(readings: Readings) -> Estimates:
    arm = readings.of_probe("same_quality", "different_subset")
    if not len(arm):
        return {}
    pairs = swap_pairs(arm)
    needs = NEEDS_BOTH_ORDERS if arm.valid.any() else _needs(arm, "the arm different_subset")
    return {
        "preference@different_subset": _estimate(pairs.raw_preference(), needs),
        "stable_preference@different_subset": _estimate(pairs.share("stable_cross_sensitivity"), needs),
    }


def _log_odds(pairs: SwapPairs) -> Estimate:
    """½·ln(FF/SS): the position effect in logits where no tie occurs; with ties it is biased and not given."""
    if not pairs.n_complete:
        return Estimate.absent("not_measured", "needs pairs that were read in both orders")
    if (pairs.complete & ((pairs.slot_ab == 0) | (pairs.slot_ba == 0))).any():
        return Estimate.absent(
            "not_applicable", "ties occur, which bias ½·ln(FF/SS): the joint model's position is used"
        )
    first = pairs.in_class("first_first")
    same_slot = first | pairs.in_class("second_second")
    share = share_of(first, pairs.weight * same_slot, pairs.cluster)
    if share is None:
        return Estimate.absent("undetermined", "no pair was given to the same slot in both orders", n=pairs.n_complete)
    interval = share.interval() or (0.0, 1.0)
    low, high = (None if limit in (0.0, 1.0) else log(limit / (1 - limit)) / 2 for limit in interval)
    how = {"n": round(share.n), "n_clusters": share.n_clusters, "method": f"½·logit of FF/(FF + SS); {share.method}"}
    if share.share not in (0.0, 1.0):
        odds = log(share.share / (1 - share.share)) / 2
        open_side = "" if None not in (low, high) else "too few same-slot pairs to bound that side"
        return Estimate(estimate=odds, low=low, high=high, reason=open_side, **how)  # type: ignore[arg-type]
    if low is None and high is None:
        return Estimate.absent("undetermined", "all same-slot pairs fell on one slot, in one task", n=round(share.n))
    return Estimate(status="bounded", low=low, high=high, **how)  # type: ignore[arg-type]


def _natural(readings: Readings) -> Estimates:
    probe = readings.of_probe("natural")
    if not len(probe):
        return {}
    pairs = swap_pairs(probe)
    names = ("first_first", "second_second", "one_sided_commitment")
    estimates = {f"{name}@natural": _estimate(pairs.share(name), NEEDS_BOTH_ORDERS) for name in names}
    estimates["position_log_odds@natural"] = _log_odds(pairs)
    return estimates


def _step_keys(step: LadderStep, suffix: str, *flags: str) -> Estimates:
    flags = (*flags, *ladder.position_flags(step.by_order))
    return {
        f"p_correct_{step.delta_q}{suffix}": step.p_correct.estimate(*flags),
        f"miss_by_tie_{step.delta_q}{suffix}": step.miss_by_tie.estimate(*flags),
        f"wrong_choice_{step.delta_q}{suffix}": step.wrong_choice.estimate(*flags),
    }


def _prefix_step(rungs: Readings, step: LadderStep, *flags: str) -> Estimates:
    """A step of the prefix arm: its shares, the accuracy among non-ties, and P_correct by order."""
    estimates = _step_keys(step, "", *flags)
    estimates[f"accuracy_non_ties_{step.delta_q}"] = _estimate(
        ladder.accuracy_among_non_ties(rungs),
        "every reading is a tie",
        *(*flags, *ladder.position_flags(step.by_order)),
    )
    for code, order in enumerate(ORDERS):
        share = ladder.step_share(rungs.where(rungs.order == code), "p_correct")
        if share is not None:
            estimates[f"p_correct_{step.delta_q}@{order}"] = share.estimate(*flags)
    return estimates


def _ladder(readings: Readings, steps: tuple[LadderStep, ...]) -> Estimates:
    probe = readings.of_probe("ladder")
    flags = CONFOUNDED if set(probe.arm_names) == {ladder.PREFIX_ARM} else ()
    rungs = readings.of_probe("ladder", ladder.PREFIX_ARM)
    prefix = {step.delta_q: step for step in steps if step.arm == ladder.PREFIX_ARM}
    estimates: Estimates = {}
    for delta_q in sorted({*PROTOCOL_STEPS, *prefix}):
        at = rungs.where(rungs.delta_q == delta_q)
        if delta_q in prefix:
            estimates |= _prefix_step(at, prefix[delta_q], *flags)
            continue
        reason = _needs(at, f"the ladder probe, prefix arm, at ΔQ {delta_q}")
        for name in (*ladder.EVENTS, "accuracy_non_ties"):
            estimates[f"{name}_{delta_q}"] = Estimate.absent("not_measured", reason)
    estimates["threshold_75_empirical"] = (
        ladder.empirical_threshold(list(prefix.values()), *flags)
        if prefix
        else Estimate.absent("not_measured", _needs(rungs, "the ladder probe, prefix arm"))
    )
    opposed = readings.of_probe("ladder", *ladder.OPPOSED_ARMS)
    needs = _needs(opposed, "the ladder arms filled_longer and terse_better (design standard)")
    estimates["accuracy_against_length"] = _estimate(
        ladder.accuracy_against_length(readings),
        "every reading is a tie" if opposed.valid.any() else needs,
        *ladder.position_flags(ladder.by_order(opposed)),
    )
    for step in steps:
        if step.arm != ladder.PREFIX_ARM:
            estimates |= _step_keys(step, f"@{step.arm}")
    return estimates


def _validity(readings: Readings) -> Estimates:
    estimates = {"invalid_rate": _estimate(validity.invalid_share(readings), "needs readings")}
    common, rest = validity.commonest_reasons(readings, MOST_NAMES)
    for reason in common:
        estimates[f"invalid_rate@{reason}"] = _estimate(validity.invalid_share(readings, reason), "needs readings")
    if rest:
        estimates["invalid_rate@other"] = _estimate(validity.invalid_share(readings, *rest), "needs readings")
    consistency = repeatability.self_consistency(readings)
    needs = "needs repeats: two valid readings of one presentation"
    estimates["self_consistency"] = _estimate(consistency, needs)
    estimates["unstable_share"] = _estimate(repeatability.unstable_share(readings), needs)
    swaps = repeatability.repeats_as_swaps(readings)
    for name in ("stable_cross_sensitivity", "positional_false_preference"):
        estimates[f"{name}@call_noise"] = _estimate(swaps.share(name), needs)
    for key, found in (
        ("within_stimulus_variance", repeatability.within_stimulus_variance(readings)),
        ("call_noise_share", repeatability.call_noise_share(readings)),
    ):
        estimates[key] = found if found is not None else Estimate.absent("not_measured", needs)
    return estimates


def _missing(readings: Readings, pairs: SwapPairs) -> dict[str, MissingBounds]:
    probe = readings.of_probe("vacuum")
    bounds = {}
    if readings.ties_allowed:
        bounds["dark_current"] = validity.reading_bounds(probe, probe.slot != 0, both_orders_as_one=True)
    for name in ("stable_cross_sensitivity", "positional_false_preference"):
        bounds[name] = validity.pair_bounds(pairs, name)
    rungs = readings.of_probe("ladder", ladder.PREFIX_ARM)
    for delta_q in PROTOCOL_STEPS:
        bounds[f"p_correct_{delta_q}"] = validity.step_bounds(rungs.where(rungs.delta_q == delta_q))
    return {key: bound for key, bound in bounds.items() if bound is not None}


def _headline(
    readings: Readings, pairs: SwapPairs, steps: tuple[LadderStep, ...], dark: ClusteredShare | None
) -> dict[str, ClusteredShare]:
    names = ("stable_cross_sensitivity", "positional_false_preference")
    shares = {"dark_current": dark if readings.ties_allowed else None} | {name: pairs.share(name) for name in names}
    prefix = {step.delta_q: step.p_correct for step in steps if step.arm == ladder.PREFIX_ARM}
    shares |= {f"p_correct_{delta_q}": prefix.get(delta_q) for delta_q in PROTOCOL_STEPS}
    shares["invalid_rate"] = validity.invalid_share(readings)
    return {key: share for key, share in shares.items() if share is not None}


def _arms_shown(rungs: Readings) -> tuple[str, ...]:
    """The prefix arm, and as many others as a sheet shows."""
    others = [arm for arm in rungs.arm_names if arm != ladder.PREFIX_ARM]
    prefix = [ladder.PREFIX_ARM] if len(others) < len(rungs.arm_names) else []
    return tuple(sorted(prefix + others[:MOST_NAMES]))


def rates_of(readings: Readings) -> Rates:
    """Every quantity that needs no model.

    Raises
    ------
    EstimationError
        There are no readings at all.
    """
    if not len(readings):
        raise EstimationError("there are no readings to analyse: the log holds none")
    same = readings.of_probe("same_quality", "same_subset")
    pairs = swap_pairs(same)
    rungs = readings.of_probe("ladder")
    steps = tuple(step for arm in _arms_shown(rungs) for step in ladder.ladder_steps(readings, arm))
    dark = vacuum.dark_current(readings.of_probe("vacuum"))
    estimates = _vacuum(readings, dark) | _decomposition(same, pairs)
    estimates["vacuum_difference"] = vacuum.vacuum_difference(dark, pairs.raw_preference())
    estimates["position_log_odds"] = _log_odds(pairs)
    estimates |= _different_subset(readings) | _ladder(readings, steps) | _natural(readings) | _validity(readings)
    if not readings.ties_allowed:
        tie_keys = {key for key in estimates if key.split("@")[0] in TIE_KEYS or key.startswith("miss_by_tie")}
        estimates |= {key: Estimate.absent("not_applicable", NO_TIES) for key in tie_keys}
    return Rates(
        estimates=estimates,
        headline=_headline(readings, pairs, steps, dark),
        steps=steps,
        dark=dark,
        pairs=pairs,
        missing=_missing(readings, pairs),
        unstable=repeatability.unstable_presentations(readings),
    )
