"""The catalogue of characteristics: what a key means on a sheet, filled in with what its readings cover."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from datasheet.analysis.ladder import EVENTS, OPPOSED_ARMS, PREFIX_ARM
from datasheet.sheet.definitions import DEFINITIONS, SOFT_WAYS, Definition
from datasheet.sheet.formats import words
from datasheet.sheet.scope import Orders, Scope
from datasheet.visible import visible

SECTIONS = ("vacuum", "same_quality", "position", "ladder", "model", "natural", "validity")
STEP_EVENTS = (*EVENTS, "accuracy_non_ties")

_ARMS = {
    PREFIX_ARM: "both in the same phrasing, no filler",
    "terse_better": "better answer terse, worse one wordy",
    "wordy_better": "better answer wordy, worse one terse",
    "filled_even": "worse answer filled up to the better one's length",
    "filled_longer": "worse answer filled to 1.3 times the better one's length",
}
_SHOWN = {"ab": "prefix arm, better answer shown first", "ba": "prefix arm, better answer shown second"}
_KINDS = {"empty": "both answers empty", "whitespace": "both answers blank", "identical": "both answers the same text"}
_SOURCES = {
    "different_subset": "equally many, but different requirements met{different_orders}",
    "natural": "natural pairs{natural_orders}",
    "repetition": "own points restated, a sentence a dose",
    "format": "plain, bullets, headings and bold",
    "hedging": "hedging phrases",
    "courtesy": "courteous phrases",
    "authority": "made-up authorities",
    "self_identification": "signed as of the judge's maker",
    "injection": "an order to the judge to choose it",
    "call_noise": "two calls on one presentation, taken as if they were a swap: what call noise alone gives",
    "soft": "label log-probabilities of {model_parts}{one_order}",
    "prefix": "{prefix_parts} alone{one_order}, where length grows with quality",
}
"""What stands behind the @ of a key, in words: what a characteristic is of, where the log can't name it as it likes."""

_KIND_NAMES = {"empty": "empty", "whitespace": "blank", "identical": "identical"}
_LENGTH_UNITS = {"chars": "characters"}
_LADDER_ORDERS: dict[Orders, str] = {
    "both": "both orders",
    "some": "one or both orders",
    "either": "one order a pair",
    "ab": "better answer shown first",
    "ba": "better answer shown second",
}
# A pair with one order is in no swap pair.
_SWAP_ORDERS = _LADDER_ORDERS | {"some": "both orders", "ab": "one order only", "ba": "one order only"}
_MOST_NAMES, _LONGEST_UNIT = 6, 20

_DEFINITIONS = {definition.key: definition for definition in DEFINITIONS}
_STEP = re.compile(rf"^({'|'.join(STEP_EVENTS)})_(\d+)$")


def define(key: str, scope: Scope) -> Definition:
    """The definition of a key on a sheet of this scope.

    Raises
    ------
    KeyError
        The catalogue has no such key.
    """
    base, _, suffix = key.partition("@")
    step = _STEP.match(base)
    definition = _DEFINITIONS[step.group(1) if step else base]
    delta_q = step.group(2) if step else ""
    filled = _words(scope) | {"n": delta_q, "steps": "step" if delta_q == "1" else "steps"}
    filled |= {"suffix": words(suffix), "arm": arm_in_words(suffix)}
    filled["arm_orders"] = _orders(scope, "ladder", suffix, _LADDER_ORDERS)
    symbol = definition.symbol.format_map(filled)
    return replace(
        definition,
        key=key,
        symbol=f"{symbol} @{suffix}" if suffix else symbol,
        title=definition.title.format_map(filled),
        unit=definition.unit.format_map(filled),
        section=_section(definition, suffix),
        conditions=_conditions(definition, suffix).format_map(filled),
        how=SOFT_WAYS.get(base, definition.how) if suffix == "soft" else definition.how,
        meaning=definition.meaning.format_map(filled),
    )


def arm_in_words(arm: str) -> str:
    """What an arm of the ladder shows."""
    return _ARMS.get(arm, arm)


def length_unit_in_words(unit: str) -> str:
    """The unit of lengths as printed; a log may name any."""
    return visible(_LENGTH_UNITS.get(unit, unit), most=_LONGEST_UNIT)


def _section(definition: Definition, suffix: str) -> str:
    natural = suffix == "natural" and definition.section in ("same_quality", "position")
    return "natural" if natural else definition.section


def _conditions(definition: Definition, suffix: str) -> str:
    """The template of a condition."""
    if not suffix:
        return definition.conditions
    if definition.key in STEP_EVENTS:
        return _SHOWN.get(suffix, "{arm}{arm_orders}")
    if definition.key == "dark_current":
        return _KINDS.get(suffix, "{suffix}")
    return "all readings, reason {suffix}" if definition.key == "invalid_rate" else _SOURCES.get(suffix, "{suffix}")


def _words(scope: Scope) -> dict[str, str]:
    """What the braces of the table stand for."""
    ladder = "prefix arm" if set(scope.ladder_arms) == {PREFIX_ARM} else f"ladder {_arms(scope.ladder_arms)}"
    every_arm = set(scope.ladder_arms) == set(_ARMS)
    return {
        "length_unit": length_unit_in_words(scope.length_unit),
        "vacuum_kinds": _vacuum_kinds(scope.vacuum_kinds),
        "same_orders": _orders(scope, "same_quality", "same_subset", _SWAP_ORDERS),
        "different_orders": _orders(scope, "same_quality", "different_subset", _SWAP_ORDERS),
        "natural_orders": _orders(scope, "natural", None, _SWAP_ORDERS),
        "prefix_orders": _orders(scope, "ladder", PREFIX_ARM, _LADDER_ORDERS),
        "opposed_arms": _arms([arm for arm in OPPOSED_ARMS if arm in scope.ladder_arms] or OPPOSED_ARMS),
        "model_parts": _parts(scope, ladder="all five ladder arms" if every_arm else ladder, channel="channels"),
        "prefix_parts": _parts(scope, ladder="prefix arm"),
        "one_order": ", one order only" if scope.model_orders == 1 else "",
        "repeats": _repeats(scope.repeats),
    }


def _orders(scope: Scope, probe: str, arm: str | None, in_words: Mapping[Orders, str]) -> str:
    """The orders that an arm (or all arms of a probe) came in, after a comma; "" where nothing was shown."""
    found = {orders for shown, orders in scope.orders.items() if shown[0] == probe and arm in (None, shown[1])}
    if not found:
        return ""
    mixed: Orders = "some" if found & {"both", "some"} else "either"
    return f", {in_words[found.pop() if len(found) == 1 else mixed]}"


def _vacuum_kinds(kinds: Sequence[str]) -> str:
    known = [in_words for kind, in_words in _KIND_NAMES.items() if kind in kinds]
    others = [kind or "other" for kind in kinds if kind not in _KIND_NAMES]
    return f"{_listed([*known, *others])} answers" if known or others not in ([], ["other"]) else "vacuum pairs"


def _arms(arms: Sequence[str]) -> str:
    return f"arm{'s' if len(arms) > 1 else ''} {_listed(arms)}"


def _parts(scope: Scope, **in_words: str) -> str:
    """What the joint model is fitted to, of these parts and equal answers; what it needs, where nothing was shown."""
    names = {"same_quality": "equal quality", **in_words}
    parts = [names[part] for part in scope.model_parts if part in names]
    return _listed(parts or ["ladder", "same-quality pairs"])


def _repeats(repeats: tuple[int, int] | None) -> str:
    if repeats is None:
        return " that are repeated"
    fewest, most = repeats
    return f" read {most} times each" if fewest == most else f" read {fewest} to {most} times"


def _listed(names: Sequence[str]) -> str:
    """Names in a sentence, a long list cut."""
    shown = [*names[:_MOST_NAMES], *([f"{len(names) - _MOST_NAMES} others"] if len(names) > _MOST_NAMES else [])]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
