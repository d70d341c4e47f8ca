"""Readers of a verdict on two answers that is written as text: the asked form first, then any other clear one."""

from __future__ import annotations

import re
from dataclasses import replace

from datasheet.prompts.parsing.json_reply import read_json_label
from datasheet.prompts.parsing.labels import match_label
from datasheet.prompts.parsing.marks import DOUBLE_BRACKETS, OTHER_BRACKETS, given_label, why_unread
from datasheet.prompts.parsing.prose import concluded_outcome
from datasheet.prompts.parsing.reasons import NoReadingError
from datasheet.prompts.parsing.schema import Schema
from datasheet.records import Outcome, Verdict

OFF_FORMAT = "off_format"
"""Flag of a verdict that is clear and in another form than the one that was asked for."""

_FIELD = re.compile(
    r"\b(?:(?:my|the|final|overall) ){0,3}(?:choice|verdict|winner|decision)(?: is)? ?[:=-] {0,9}"
    r"[\"']?(\w{1,20})\b[\"']?",
    re.IGNORECASE,
)
_OUTPUT = re.compile(r"\boutput ?\(?([a-z])\)?+(?![\w:])", re.IGNORECASE)
_BARE_LABEL = 40  # characters of a reply that is a label and nothing else


def read_json(cleaned: str, schema: Schema, cut_off: bool) -> Verdict:
    """The label under the verdict's key; no prose in its stead.

    Raises
    ------
    NoReadingError
        There is no such label, or there are several that differ.
    """
    return label_verdict(read_json_label(cleaned, schema), schema)


def read_bracket(cleaned: str, schema: Schema, cut_off: bool) -> Verdict:
    """[[A]], else a clear verdict in other words.

    Raises
    ------
    NoReadingError
        No verdict is clear, or it is not one that is offered, or verdicts differ.
    """
    return _read_marked(cleaned, schema, cut_off, DOUBLE_BRACKETS)


def read_choice(cleaned: str, schema: Schema, cut_off: bool) -> Verdict:
    """Read "Choice: A", else a clear verdict in other words.

    Raises
    ------
    NoReadingError
        No verdict is clear, or it is not one that is offered, or verdicts differ.
    """
    return _read_marked(cleaned, schema, cut_off, _FIELD)


def read_output(cleaned: str, schema: Schema, cut_off: bool) -> Verdict:
    """Read "Output (a)" on a line of its own, or a sentence that says which output is better; they must agree.

    The headings of quoted outputs look the same, so that two different lines conflict whatever their order.

    Raises
    ------
    NoReadingError
        Neither names an output, a tie is said where none is offered, or they differ.
    """
    label = given_label(cleaned, _OUTPUT, schema, standing_alone=True)
    outcome = None if cut_off else concluded_outcome(cleaned, schema)
    if label is None:
        return _outcome_verdict(outcome, schema)
    if outcome not in (None, schema.labels[label]):
        raise NoReadingError("conflicting")
    return label_verdict(label, schema)


def read_five_level(cleaned: str, schema: Schema, cut_off: bool) -> Verdict:
    """[[A>>B]] to [[B>>A]], with the strength of the preference.

    Raises
    ------
    NoReadingError
        No mark gives an offered label, or several give different ones.
    """
    cleaned = cleaned.replace("&gt;", ">").replace("&lt;", "<")
    label = given_label(cleaned, DOUBLE_BRACKETS, schema, standing_alone=cut_off)
    flags: tuple[str, ...] = ()
    if label is None:
        label, flags = _in_other_marks(cleaned, schema, cut_off), (OFF_FORMAT,)
    if label is None:
        raise NoReadingError(why_unread(cleaned, DOUBLE_BRACKETS, schema))
    return Verdict(outcome=schema.labels[label], strength=label.count(">") or None, flags=flags)


def read_single_token(cleaned: str, schema: Schema, cut_off: bool) -> Verdict:
    """A label and nothing else.

    Raises
    ------
    NoReadingError
        The text is anything else.
    """
    label = _bare_label(cleaned, schema)
    if label is None:
        raise NoReadingError("no_verdict")
    return label_verdict(label, schema)


def label_verdict(label: str, schema: Schema, *flags: str) -> Verdict:
    """The verdict that an offered label stands for."""
    if label == schema.abstention:
        return Verdict(outcome="tie", abstained=True, flags=flags)
    return Verdict(outcome=schema.labels[label], flags=flags)


def _outcome_verdict(outcome: Outcome | None, schema: Schema, *flags: str) -> Verdict:
    if outcome is None:
        raise NoReadingError("no_verdict")
    if outcome == "tie" and not schema.ties_allowed:
        raise NoReadingError("not_allowed")
    return Verdict(outcome=outcome, flags=flags)


def _read_marked(cleaned: str, schema: Schema, cut_off: bool, form: re.Pattern[str]) -> Verdict:
    """The verdict in the asked form, else a clear one in another form."""
    label = given_label(cleaned, form, schema, standing_alone=cut_off)
    if label is not None:
        return label_verdict(label, schema)
    label = _in_other_marks(cleaned, schema, cut_off)
    if label is not None:
        return label_verdict(label, schema, OFF_FORMAT)
    outcome = None if cut_off else concluded_outcome(cleaned, schema)
    if outcome is None:
        raise NoReadingError("no_verdict" if cut_off else why_unread(cleaned, form, schema))
    return _outcome_verdict(outcome, schema, OFF_FORMAT)


def _in_other_marks(cleaned: str, schema: Schema, cut_off: bool) -> str | None:
    """The label in [A], <|A|> or (A), in "Verdict: A", or that is the whole reply.

    The headings of quoted answers look the same, so that two different ones conflict whatever their order.
    """
    strict = replace(schema, last=False)
    for form, standing_alone in ((OTHER_BRACKETS, True), (_FIELD, cut_off)):
        label = given_label(cleaned, form, strict, standing_alone=standing_alone)
        if label is not None:
            return label
    return None if cut_off else _bare_label(cleaned, schema)


def _bare_label(cleaned: str, schema: Schema) -> str | None:
    return match_label(cleaned, schema) if len(cleaned) <= _BARE_LABEL else None
