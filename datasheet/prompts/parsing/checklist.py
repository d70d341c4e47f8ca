"""Reads a checklist that was gone through for each of two answers: the one that meets more items wins."""

from __future__ import annotations

from typing import Any

from datasheet.prompts.parsing.json_reply import Members, as_members, objects, value_under
from datasheet.prompts.parsing.labels import match_label
from datasheet.prompts.parsing.reasons import NoReadingError
from datasheet.prompts.parsing.schema import Schema
from datasheet.records import Outcome, Verdict

SIDES: tuple[Outcome, ...] = ("first", "second")
DECLARED_OTHERWISE = "declared_otherwise"
"""Flag of a verdict that the judge declared another one than."""

YES, NO = "yes", "no"
_MET = {YES: True, "true": True, NO: False, "false": False}


def read_checklist(cleaned: str, schema: Schema, cut_off: bool) -> Verdict:
    """The answer that meets more items; as many in both are a tie.

    A verdict that is declared beside them is only held against the count.

    Raises
    ------
    NoReadingError
        There is no such object; an answer or an item is missing; an item is neither yes nor no; or the reply has
        several checklists that differ.
    """
    found = list(objects(cleaned))
    if not found:
        raise NoReadingError("no_verdict")
    verdicts = [_verdict(members, schema) for members in found if value_under(members, _sides(schema)[:1])]
    if not verdicts:
        raise NoReadingError("no_verdict" if cut_off else "missing_key")
    if len({verdict.outcome for verdict in verdicts}) > 1 and not schema.last:
        raise NoReadingError("conflicting")
    return verdicts[-1]


def _verdict(members: Members, schema: Schema) -> Verdict:
    first, second = (_items_met(_value(members, side), schema.items) for side in _sides(schema))
    outcome: Outcome = "first" if first > second else "second" if second > first else "tie"
    declared = _declared(members, schema)
    return Verdict(outcome=outcome, flags=() if declared in (None, outcome) else (DECLARED_OTHERWISE,))


def _items_met(answers: Any, items: int) -> int:
    """Number of items that are met, from an object by number or a list in order."""
    by_number = as_members(answers)
    if by_number is not None:
        answers = [_value(by_number, str(number)) for number in range(1, items + 1)]
        if len({name.strip() for name, _ in by_number}) > items:
            raise NoReadingError("not_allowed")
    if not isinstance(answers, list) or len(answers) != items:
        raise NoReadingError("missing_key")
    met = [_MET.get(str(answer).strip().casefold()) if isinstance(answer, str | bool) else None for answer in answers]
    if None in met:
        raise NoReadingError("not_allowed")
    return sum(map(bool, met))


def _value(members: Members, key: str) -> Any:
    values = value_under(members, (key,))
    if not values:
        raise NoReadingError("missing_key")
    return values[0]


def _declared(members: Members, schema: Schema) -> Outcome | None:
    """The verdict that the judge itself declares, where it does."""
    written = next((value for value in value_under(members, schema.keys) if isinstance(value, str)), "")
    label = match_label(written, schema)
    return None if label is None else schema.labels[label]


def _sides(schema: Schema) -> tuple[str, str]:
    """The keys of the two answers: their labels."""
    first, second = (next(label for label, meant in schema.labels.items() if meant == side) for side in SIDES)
    return first, second
