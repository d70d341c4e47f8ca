"""Finds verdicts in brackets, and tells those that are given from those that are only talked about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from datasheet.prompts.parsing.labels import match_label, says_unoffered_label
from datasheet.prompts.parsing.reasons import NoReadingError
from datasheet.prompts.parsing.schema import Schema

DOUBLE_BRACKETS = re.compile(r"\\?\[ ?\\?\[([^\[\]\n]{1,40})\\?\] ?\\?\]")
OTHER_BRACKETS = re.compile(r"(?:(?<!\[)\[|<\|?|\()([^\[\]<>()|\n]{1,40})(?:\](?!\])|\|?>|\))")

_CONTEXT = 120  # characters on each side that tell what a mark is for
_VERDICT_WORD = (
    r"(?:verdict|answer|choice|decision|judge?ment|winner|evaluation|conclusion|rating|score|vote|assessment)"
)
_LED_IN = re.compile(rf"\b{_VERDICT_WORD}(?: is| would be)?\s*[:=-]*[\s\"'(]*$", re.IGNORECASE)
_FINAL = re.compile(r"\b(?:final|overall)\b", re.IGNORECASE)
_CONNECTED = re.compile(r"\b(?:therefore|thus|hence|so|overall|finally|choose|prefer|pick|select)\W*$", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?:;][\s\"')]*$")
_WORDLESS = re.compile(r"[\W_]*$")
_ENDS_HERE = re.compile(r"[\s\"')]*(?:$|[-–—,.;!(]|:|for a tie\b|because\b|since\b|as\b)", re.IGNORECASE)
_STRAIGHT = str.maketrans("“”„«»", '"' * 5)
_EXAMPLE = re.compile(r"\b(?:example|format|e\.g)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A label in the form that was asked for.

    ``alone``: its line holds nothing else. ``led_in``: "Verdict:" or the like stands before it. ``final``: and calls
    it the final one. ``given``: it is written as the verdict, not as the name of an answer or inside a quotation.
    """

    label: str
    start: int
    end: int
    alone: bool
    led_in: bool
    final: bool
    given: bool


def find_marks(text: str, form: re.Pattern[str], schema: Schema) -> list[Mark]:
    """Every mark of a form that holds an offered label, in order."""
    return [
        _mark(text, match.start(), match.end(), label)
        for match in form.finditer(text)
        if (label := match_label(match[1], schema)) is not None
    ]


def _mark(text: str, start: int, end: int, label: str) -> Mark:
    before = text[max(0, start - _CONTEXT) : start].rpartition("\n")[2].translate(_STRAIGHT)
    after = text[end : end + _CONTEXT].partition("\n")[0].translate(_STRAIGHT)
    quoted = before.count('"') % 2 == 1 and after.count('"') % 2 == 1
    wordless = _WORDLESS.match(before) is not None
    led_in = _LED_IN.search(before) is not None
    alone = wordless and _WORDLESS.match(after) is not None
    introduced = wordless or led_in or (not quoted and bool(_SENTENCE_END.search(before) or _CONNECTED.search(before)))
    given = introduced and _ENDS_HERE.match(after) is not None and _EXAMPLE.search(before) is None
    final = led_in and _FINAL.search(before) is not None
    return Mark(label=label, start=start, end=end, alone=alone, led_in=led_in, final=final, given=given)


def _without_listings(text: str, marks: list[Mark], offered: int) -> list[Mark]:
    """Leave out marks that go through all the labels line by line: the choices quoted, not a verdict."""
    listed: set[int] = set()
    for at in range(len(marks) - offered + 1) if offered > 2 else ():
        run = marks[at : at + offered]
        near = all(text.count("\n", a.end, b.start) <= 1 for a, b in pairwise(run))
        if near and len({mark.label for mark in run}) == offered:
            listed.update(range(at, at + offered))
    return [mark for index, mark in enumerate(marks) if index not in listed]


def given_label(text: str, form: re.Pattern[str], schema: Schema, *, cut_off: bool) -> str | None:
    """The one label that the marks of a form give as the verdict; None where no mark gives one.

    Raises
    ------
    NoReadingError
        Different verdicts are given and none of them is the final one, or the only one is not offered.
    """
    marks = find_marks(text, form, schema)
    given = [mark for mark in _without_listings(text, marks, len(schema.offered)) if mark.given]
    if cut_off:
        given = [mark for mark in given if mark.alone or mark.led_in]
    if not given:
        if not marks and any(says_unoffered_label(match[1]) for match in form.finditer(text)):
            raise NoReadingError("not_allowed")
        return None
    last = given[-1]
    others = [mark for mark in given if mark.label != last.label]
    settled = schema.last and (last.alone or last.final)
    if others and not (settled and re.search(r"\w", text[others[-1].end : last.start])):
        raise NoReadingError("conflicting")
    return last.label


def contains_verdict(text: str, schema: Schema) -> bool:
    """A text holds what a reply would write for a verdict, as a whole or as part of a sentence."""
    if schema.kind == "json":
        keys = "|".join(re.escape(key) for key in schema.keys)
        return re.search(rf"[\"']({keys})[\"'] {{0,20}}:", text, re.IGNORECASE) is not None
    return bool(find_marks(text, DOUBLE_BRACKETS, schema))
