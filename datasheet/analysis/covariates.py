"""What evidence may depend on besides quality: length, filler, the doses of channels and the wording that holds them.

A difference is a covariate only where the pairs tell it from quality and from the other differences. A pair that does
not say how long its answers are, or how much filler one of them holds, is left out rather than taken for one that has
no difference.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datasheet.analysis.bivariate import Numbers
from datasheet.analysis.ladder import PREFIX_ARM
from datasheet.readings import UNKNOWN, Mask, Readings
from datasheet.records import PROBES

LENGTH, FILLER, CHANNEL_INTERCEPT = "length", "filler", "channel_intercept"
LENGTHS = (LENGTH, FILLER)
"""Covariates that are lengths, in hundreds of the log's unit."""

LENGTH_UNIT = 100.0
_FILLED_ARMS = ("filled_even", "filled_longer")
_FEW_PAIRS = 10
"""Of fewer that differ, one may well hold the most."""
_LEAST_DIFFERENCE = 1e-6  # of the largest: what rounding may leave of a difference that the others explain


def with_known_lengths(rows: Readings) -> tuple[Readings, tuple[str, ...]]:
    """The readings whose pairs say of length and filler what the model needs, and notes on those that do not.

    Lengths that most pairs lack are no reason to leave those out: there is no length covariate then.
    """
    notes = []
    in_filler_arms = np.isin(rows.arm, _filler_arms(rows))
    rows, lost, total = _without(rows, in_filler_arms & (rows.filler_b == UNKNOWN))
    if lost:
        notes.append(
            f"{lost} of {total} pairs are of arms with filler and do not say how much (filler_b): the joint model "
            "leaves them out."
        )
    untold = rows.filler_b == UNKNOWN
    if untold.any() and (rows.filler_b > 0).any():
        pairs = len(np.unique(rows.stimulus[untold]))
        notes.append(f"{pairs} pairs of arms without filler do not say so (filler_b): taken to have none.")
    if not _length_may_count(rows):
        return rows, tuple(notes)
    kept, lost, total = _without(rows, ~_lengths_known(rows))
    if lost <= total / 2:
        rows = kept
        if lost:
            notes.append(f"{lost} of {total} pairs do not tell their lengths: the joint model leaves them out.")
    elif lost < total:
        notes.append(
            f"{lost} of {total} pairs do not tell their lengths: the joint model leaves length out, so that what it "
            "does to the judge is in the other figures."
        )
    return rows, tuple(notes)


def wording_note(names: Sequence[str]) -> tuple[str, ...]:
    """What is to be said of channel slopes that hold more than their dose, by the names of the covariates."""
    if CHANNEL_INTERCEPT in names or set(names) <= set(LENGTHS):
        return ()
    return (
        "No channel has pairs of two different doses, so that the channel slopes hold a liking for the wording of the "
        "answers with the doses, too.",
    )


def covariates_of(pairs: Readings) -> tuple[tuple[str, ...], Numbers]:
    """Differences (a minus b) that the pairs tell apart: their names, and their values, shape (n, m).

    They are length and filler, in hundreds of the length unit, doses, and the wording.

    On the prefix arm length grows with quality, so with a ladder length is a covariate only where other arms stand
    beside it. The wording is the channel intercept: 1 in each channel pair, whatever its dose, since the answer with
    the doses is always in other words than the plain one.
    """
    channel = pairs.probe == PROBES.index("channel")
    doses = {
        name: np.where(channel & (pairs.arm == pairs.arms.index(name)), np.maximum(pairs.dose, 0), 0).astype(np.float64)
        for name in pairs.of_probe("channel").arm_names
    }
    doses = {name: column for name, column in doses.items() if column.any()}
    others = {CHANNEL_INTERCEPT: channel.astype(np.float64)}
    if _length_may_count(pairs) and _lengths_known(pairs).all():
        others[LENGTH] = (pairs.length_a - pairs.length_b) / LENGTH_UNIT
    others[FILLER] = np.maximum(pairs.filler_b, 0) / LENGTH_UNIT
    held = [np.maximum(pairs.delta_q, 0).astype(np.float64), *doses.values()]
    told: dict[str, Numbers] = {}
    for name, column in others.items():
        if told_apart(column, held):
            told[name] = column
            held.append(column)
    names = (*(name for name in LENGTHS if name in told), *doses, *({CHANNEL_INTERCEPT} & told.keys()))
    columns = [(told | doses)[name] for name in names]
    return names, np.column_stack(columns) if columns else np.zeros((len(pairs), 0))


def like_length(pairs: Readings, names: Sequence[str]) -> bool:
    """Whether a ladder of these pairs can't tell quality from length, by the names of the covariates.

    Its answers differ in length, or do not say that they don't, and length is no covariate.
    """
    rungs = pairs.of_probe("ladder")
    alike = _lengths_known(rungs) & (rungs.length_a == rungs.length_b)
    return LENGTH not in names and not bool(alike.all())


def _untypical(pairs: Readings, names: Sequence[str], covariates: Numbers) -> list[tuple[str, str, float]]:
    """What one pair alone holds more than half of: the covariate, the pair, and its share of the sum of squares."""
    found = []
    for name, column in zip(names, covariates.T, strict=True):
        squares = column**2
        most, differ = int(squares.argmax()), int((squares > 0).sum())
        if differ > _FEW_PAIRS and squares[most] > squares.sum() / 2:
            pair = pairs.stimulus_ids[pairs.stimulus[most]]
            found.append((name, pair, float(squares[most] / squares.sum())))
    return found


def untypical_notes(pairs: Readings, names: Sequence[str], covariates: Numbers) -> tuple[str, ...]:
    """On pairs that outweigh all others in a covariate, shape (n, m), as a mistyped length does."""
    return tuple(
        f"The pair {pair!r:.60} alone holds {share:.1%} of what the pairs differ by in {name.replace('_', ' ')}: the "
        "slope of it rests on that pair, and the resolution with it. Is its value right?"
        for name, pair, share in _untypical(pairs, names, covariates)
    )


def like_position(pairs: Readings, names: Sequence[str], covariates: Numbers) -> tuple[str, ...]:
    """The covariates, shape (n, m), that these pairs can't tell from a pull of the slot.

    All are shown in one order, where such a pull is an intercept.
    """
    held = [np.ones(len(pairs)), np.maximum(pairs.delta_q, 0).astype(np.float64)]
    columns = list(covariates.T)
    return tuple(
        name for at, name in enumerate(names) if not told_apart(columns[at], [*held, *columns[:at], *columns[at + 1 :]])
    )


def _filler_arms(rows: Readings) -> list[int]:
    """Codes of the arms that hold filler: by their name, or as some pair says."""
    named = {code for code, name in enumerate(rows.arms) if name in _FILLED_ARMS}
    return sorted(named | set(np.unique(rows.arm[rows.filler_b > 0]).tolist()))


def _length_may_count(rows: Readings) -> bool:
    arms = set(rows.of_probe("ladder").arm_names)
    return not arms or bool(arms - {PREFIX_ARM})


def _lengths_known(rows: Readings) -> Mask:
    return np.asarray((rows.length_a != UNKNOWN) & (rows.length_b != UNKNOWN))


def _without(rows: Readings, untold: Mask) -> tuple[Readings, int, int]:
    """The readings of all other pairs, how many pairs are left out, and how many there were."""
    lost, total = np.unique(rows.stimulus[untold]), len(np.unique(rows.stimulus))
    return rows.where(~np.isin(rows.stimulus, lost)), len(lost), total


def told_apart(column: Numbers, others: Sequence[Numbers]) -> bool:
    """Whether a column is more than a sum of multiples of some others (or than nothing)."""
    present = np.column_stack([other / np.abs(other).max() for other in others if other.any()] or [column * 0])
    weights, *_ = np.linalg.lstsq(present.T @ present, present.T @ column, rcond=None)
    left = np.abs(column - present @ weights)
    return bool(left.max(initial=0.0) > _LEAST_DIFFERENCE * np.abs(column).max(initial=0.0))
