"""The catalogue of characteristics: what a key means, its step and condition filled in."""

from __future__ import annotations

import re
from dataclasses import replace

from datasheet.sheet.definitions import DEFINITIONS, SOFT, Definition

SECTIONS = ("vacuum", "same_quality", "position", "ladder", "model", "natural", "validity")
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
    "repetition": "own points restated, a sentence a dose",
    "format": "plain, bullets, headings and bold",
    "hedging": "hedging phrases",
    "courtesy": "courteous phrases",
    "authority": "made-up authorities",
    "self_identification": "signed as of the judge's maker",
    "injection": "an order to the judge to choose it",
    "call_noise": "two calls on one presentation, taken as if they were a swap: what call noise alone gives",
    "soft": SOFT,
    "prefix": "prefix arm alone, where length grows with quality",
}
"""What stands behind the @ of a key, in words: the arm, order, kind or channel that a characteristic is of."""

_DEFINITIONS = {definition.key: definition for definition in DEFINITIONS}

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
