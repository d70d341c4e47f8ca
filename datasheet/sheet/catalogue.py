"""The catalogue of characteristics: for each key its symbol, title, unit, condition and section.

Every figure of a sheet explains itself from this table and from nowhere else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

SECTIONS = ("vacuum", "same_quality", "position", "ladder", "model", "natural", "validity")


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What a key means.

    Attributes
    ----------
    symbol
        As printed, with the condition where there is one.
    title
        A plain name.
    conditions
        On what it was measured.
    meaning
        One sentence for a reader who meets it for the first time.
    """

    key: str
    symbol: str
    title: str
    unit: str
    section: str
    conditions: str
    meaning: str


_SAME = "equal quality, same requirements met, both orders"
_VACUUM = "empty, blank and identical answers"
_LADDER = "prefix arm, both orders"
_MODEL = "joint model, all arms"

_TABLE: tuple[tuple[str, str, str, str, str, str, str], ...] = (
    (
        "dark_current",
        "DC",
        "Dark current",
        "share",
        "vacuum",
        _VACUUM,
        "Share of readings that prefer an answer where there is nothing to prefer.",
    ),
    (
        "vacuum_first_share",
        "DC₁",
        "Lean of the dark current",
        "share",
        "vacuum",
        _VACUUM,
        "Of the vacuum readings that are not ties, the share that falls on the answer shown first.",
    ),
    (
        "raw_false_preference",
        "raw",
        "Raw false preference",
        "share",
        "same_quality",
        _SAME,
        "Share of single readings that prefer an answer although the quality is equal: a mixture of what follows.",
    ),
    (
        "stable_cross_sensitivity",
        "SCS",
        "Stable cross-sensitivity",
        "share",
        "same_quality",
        _SAME,
        "Pairs where the same text wins in both orders: a stable preference for something other than quality.",
    ),
    (
        "positional_false_preference",
        "PFP",
        "Positional false preference",
        "share",
        "same_quality",
        _SAME,
        "Pairs where the same slot wins in both orders.",
    ),
    (
        "first_first",
        "FF",
        "First slot in both orders",
        "share",
        "same_quality",
        _SAME,
        "Pairs where the answer shown first wins both times.",
    ),
    (
        "second_second",
        "SS",
        "Second slot in both orders",
        "share",
        "same_quality",
        _SAME,
        "Pairs where the answer shown second wins both times.",
    ),
    (
        "one_sided_commitment",
        "OSC",
        "One-sided commitment",
        "share",
        "same_quality",
        _SAME,
        "Pairs where one order gives a preference and the other a tie.",
    ),
    ("no_preference", "NP", "No preference", "share", "same_quality", _SAME, "Pairs that tie in both orders."),
    (
        "other_conflict",
        "OC",
        "Other conflict",
        "share",
        "same_quality",
        _SAME,
        "Pairs in no other class; nothing with three verdicts.",
    ),
    (
        "preference",
        "pref",
        "Preference between different contents",
        "share",
        "same_quality",
        "equally many, but different requirements met, both orders",
        "How often the judge weighs one requirement above another; not a false preference.",
    ),
    (
        "stable_preference",
        "pref stable",
        "Stable preference between different contents",
        "share",
        "same_quality",
        "equally many, but different requirements met, both orders",
        "Pairs where the same content wins in both orders: how firmly the judge weighs requirements.",
    ),
    (
        "position_log_odds",
        "½ ln(FF/SS)",
        "Position, log odds",
        "logit",
        "position",
        _SAME,
        "The pull of the first slot in logits; only where no tie can occur.",
    ),
    (
        "p_correct",
        "P_correct({n})",
        "Better answer preferred",
        "share",
        "ladder",
        _LADDER,
        "Share of readings that prefer the answer that is {n} quality {steps} better.",
    ),
    (
        "miss_by_tie",
        "tie({n})",
        "Missed by a tie",
        "share",
        "ladder",
        _LADDER,
        "Share of readings that call a tie although one answer is {n} {steps} better.",
    ),
    (
        "wrong_choice",
        "wrong({n})",
        "Worse answer preferred",
        "share",
        "ladder",
        _LADDER,
        "Share of readings that prefer the answer that is {n} {steps} worse.",
    ),
    (
        "accuracy_non_ties",
        "acc({n})",
        "Accuracy among non-ties",
        "share",
        "ladder",
        _LADDER,
        "Share of the better answer among the readings that prefer one, at {n} {steps}.",
    ),
    (
        "threshold_75_empirical",
        "Δ*75 emp",
        "Detection threshold, empirical",
        "quality steps",
        "ladder",
        _LADDER,
        "The smallest difference from which at least three readings in four prefer the better answer.",
    ),
    (
        "threshold_75",
        "Δ*75",
        "Detection threshold, typical task",
        "quality steps",
        "model",
        _MODEL,
        "The difference at which three readings in four are right, on a typical task.",
    ),
    (
        "threshold_75_marginal",
        "Δ*75 pop",
        "Detection threshold, population of tasks",
        "quality steps",
        "model",
        _MODEL,
        "The difference at which three readings in four are right, averaged over tasks.",
    ),
    (
        "fc75",
        "FC75",
        "Criterion-free threshold",
        "quality steps",
        "model",
        _MODEL,
        "The threshold if the judge never called a tie.",
    ),
    (
        "resolution",
        "k",
        "Resolution",
        "sd per step",
        "model",
        _MODEL,
        "Standard deviations of evidence that one quality step is worth.",
    ),
    (
        "criterion",
        "c",
        "Criterion",
        "sd",
        "model",
        _MODEL,
        "How much evidence the judge wants before it prefers an answer.",
    ),
    ("position", "b", "Position", "sd", "model", _MODEL, "Evidence that the first slot is given for nothing."),
    (
        "position_in_steps",
        "b/k",
        "Position in quality steps",
        "quality steps",
        "model",
        _MODEL,
        "Quality steps that the first slot is worth against a neutral one; a swap is worth twice that.",
    ),
    (
        "stable_correlation",
        "rho",
        "Stable correlation",
        "1",
        "model",
        _MODEL,
        "Share of the evidence's variance that stays when the order is swapped.",
    ),
    ("task_spread", "tau", "Task spread", "log k", "model", _MODEL, "How much the resolution differs between tasks."),
    (
        "noise_equivalent_delta_q",
        "NEΔQ",
        "Noise-equivalent ΔQ",
        "quality steps",
        "model",
        _MODEL,
        "The quality difference that is as large as the noise of a reading.",
    ),
    ("length_slope", "g", "Length", "sd per 100 words", "model", _MODEL, "Evidence that 100 more words are worth."),
    ("filler_slope", "h", "Filler", "sd per 100 words", "model", _MODEL, "Evidence that 100 words of filler cost."),
    (
        "self_consistency",
        "r",
        "Self-consistency",
        "share",
        "validity",
        "repeated presentations",
        "The chance that two fresh calls on the same input give the same verdict.",
    ),
    (
        "invalid_rate",
        "inv",
        "Invalid readings",
        "share",
        "validity",
        "all readings",
        "Share of replies that give no valid reading; they are missing data, never ties.",
    ),
)

_DEFINITIONS = {
    row[0]: Definition(
        key=row[0], symbol=row[1], title=row[2], unit=row[3], section=row[4], conditions=row[5], meaning=row[6]
    )
    for row in _TABLE
}

_CONDITIONS = {
    "ab": "prefix arm, better answer shown first",
    "ba": "prefix arm, better answer shown second",
    "terse_better": "better answer terse, worse one wordy",
    "wordy_better": "better answer wordy, worse one terse",
    "filled_even": "worse answer filled up to the better one's length",
    "filled_longer": "worse answer filled to 1.3 times the better one's length",
    "empty": "both answers empty",
    "whitespace": "both answers blank",
    "identical": "both answers the same text",
    "different_subset": "equally many, but different requirements met",
    "natural": "natural pairs, both orders",
}

_STEP = re.compile(r"^(p_correct|miss_by_tie|wrong_choice|accuracy_non_ties)_(\d+)$")


def define(key: str) -> Definition:
    """The definition of a key, its step and condition filled in.

    Raises
    ------
    KeyError
        The catalogue has no such key.
    """
    base, _, condition = key.partition("@")
    step = _STEP.match(base)
    definition = _DEFINITIONS[step.group(1) if step else base]
    symbol, meaning, conditions = definition.symbol, definition.meaning, definition.conditions
    if step:
        delta_q = step.group(2)
        symbol = symbol.replace("{n}", delta_q)
        meaning = meaning.replace("{n}", delta_q).replace("{steps}", "step" if delta_q == "1" else "steps")
    section = definition.section
    if condition:
        conditions = _CONDITIONS.get(condition, condition)
        section = "natural" if condition == "natural" else section
        symbol = f"{symbol} @{condition}"
    return replace(definition, key=key, symbol=symbol, meaning=meaning, conditions=conditions, section=section)
