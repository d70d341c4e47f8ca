"""Finds verdicts in brackets, and tells those that are given from those that are only talked about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from datasheet.prompts.parsing.cleaning import in_plain_characters
from datasheet.prompts.parsing.labels import match_label, says_unoffered_label
from datasheet.prompts.parsing.reasons import NoReadingError
from datasheet.prompts.parsing.schema import Schema

DOUBLE_BRACKETS = re.compile(r"\\?\[ ?\\?\[([^\[\]\n]{1,40})\\?\] ?\\?\]")
OTHER_BRACKETS = re.compile(r"(?:(?<!\[)\[|<\|?|\()([^\[\]<>()|\n]{1,40})(?:\](?!\])|\|?>|\))")

# Only a judge that repeats itself without end writes more; reading all of them would take unbounded time.
_FIRST_MARKS = 20
_LAST_MARKS = 100
_CONTEXT = 120  # characters on each side that tell what a mark is for
_VERDICT_WORD = (
    r"(?:verdict|answer|choice|decision|judge?ment|winner|evaluation|conclusion|rating|score|vote|assessment)"
)
_LED_IN = re.compile(
    rf"\b(?:{_VERDICT_WORD}(?: is| would be)?\s*[:=-]+|{_VERDICT_WORD} (?:is|would be)|verdict)[\s\"'(]*$",
    re.IGNORECASE,
)
_FINAL = re.compile(r"\b(?:final|overall)\b", re.IGNORECASE)
_CONNECTED = re.compile(r"\b(?:therefore|thus|hence|so|overall|finally|choose|prefer|pick|select)\W*$", re.IGNORECASE)
_DENIED = re.compile(r"(?:\b(?:not|never|cannot|rather than|instead of)|n't) (?:\w{1,20} ){0,3}\W*$", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?:][\s\"')]*$")
_WORDLESS = re.compile(r"[\W_]*\Z")
# What follows a verdict. After a comma, a label that nothing leads in is as likely to be the name of an answer.
_ENDS_HERE = re.compile(r"[\s\"')]*(?:$|[-–—.!:]|(?:for )?\(?a? ?tie\b|because\b|since\b|reason\b)", re.IGNORECASE)
_GOES_ON = re.compile(r"[\s\"')]*(?:[,;(]|as\b)", re.IGNORECASE)
_BESIDE = re.compile(r"[\s\"'),;/&|\]]*(?:\b(?:or|and)\b)?[\s\"'(\[]*([\w>=]{1,20})")
_STRAIGHT = str.maketrans("“”„«»", '"' * 5)
_REPORTED = re.compile(r"\b(?:says?|said|contains?|reads|writes?|wrote|includes?|ends with|claims?)\W*$", re.IGNORECASE)
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


def places(text: str, form: re.Pattern[str]) -> list[re.Match[str]]:
    """Where a form occurs in a text, in order; of very many places the first and the last ones."""
    matches = list(form.finditer(text))
    few = len(matches) <= _FIRST_MARKS + _LAST_MARKS
    return matches if few else matches[:_FIRST_MARKS] + matches[-_LAST_MARKS:]


def find_marks(text: str, form: re.Pattern[str], schema: Schema) -> list[Mark]:
    """The marks of a form that hold an offered label, in order."""
    labelled = ((match, match_label(match[1], schema)) for match in places(text, form))
    return [_mark(match, label, schema) for match, label in labelled if label is not None]


def _mark(match: re.Match[str], label: str, schema: Schema) -> Mark:
    text, start, end = match.string, match.start(), match.end()
    before = text[max(0, start - _CONTEXT) : start].rpartition("\n")[2].translate(_STRAIGHT)
    after = text[end : end + _CONTEXT].partition("\n")[0].translate(_STRAIGHT)
    wordless = _WORDLESS.match(before) is not None
    led_in = _LED_IN.search(before) is not None
    quoted = before.count('"') % 2 == 1 and after.count('"') % 2 == 1
    introduced = wordless or led_in or (not quoted and bool(_SENTENCE_END.search(before) or _CONNECTED.search(before)))
    ends = bool(_ENDS_HERE.match(after) or (led_in and _GOES_ON.match(after)))
    talked_about = any(other_use.search(before) for other_use in (_EXAMPLE, _DENIED, _REPORTED))
    return Mark(
        label=label,
        start=start,
        end=end,
        alone=wordless and _WORDLESS.match(after) is not None,
        led_in=led_in,
        final=led_in and _FINAL.search(before) is not None,
        given=introduced and ends and not talked_about and not _one_of_several(after, label, match.re, schema),
    )


def _one_of_several(after: str, label: str, form: re.Pattern[str], schema: Schema) -> bool:
    """Another label stands beside the mark ("A or B"), or another mark in the same sentence."""
    sentence = re.split(r"[.!?](?:\s|$)", after, maxsplit=1)[0]
    others = [match[1] for match in form.finditer(sentence)]
    if beside := _BESIDE.match(after):
        others.append(beside[1])
    return any(match_label(other, schema) not in (None, label) for other in others)


def _without_listings(text: str, marks: list[Mark], offered: int) -> list[Mark]:
    """Leave out marks that go through all the labels line by line: the choices quoted, not a verdict."""
    listed: set[int] = set()
    for at in range(len(marks) - offered + 1) if offered > 2 else ():
        run = marks[at : at + offered]
        near = all(text.count("\n", a.end, b.start) <= 1 for a, b in pairwise(run))
        if near and len({mark.label for mark in run}) == offered:
            listed.update(range(at, at + offered))
    return [mark for index, mark in enumerate(marks) if index not in listed]


def given_label(text: str, form: re.Pattern[str], schema: Schema, *, standing_alone: bool) -> str | None:
    """The one label that the marks of a form give as the verdict; None where no mark gives one.

    ``standing_alone``: count only marks that have a line of their own, or "Verdict:" or the like before them.

    Raises
    ------
    NoReadingError
        Different verdicts are given, and none of them is the final one.
    """
    marks = _without_listings(text, find_marks(text, form, schema), len(schema.offered))
    given = [mark for mark in marks if mark.given and (mark.alone or mark.led_in or not standing_alone)]
    if not given:
        return None
    last = given[-1]
    others = [mark for mark in given if mark.label != last.label]
    at_the_end = last.alone and _WORDLESS.match(text, last.end) is not None
    settled = schema.last and (at_the_end or last.final)
    if others and not (settled and re.search(r"\w", text[others[-1].end : last.start])):
        raise NoReadingError("conflicting")
    return last.label


def why_unread(text: str, form: re.Pattern[str], schema: Schema) -> str:
    """The reason why no mark of a form, where there are any, gives a verdict."""
    if find_marks(text, form, schema):
        return "ambiguous"
    unoffered = any(says_unoffered_label(match[1]) for match in places(text, form))
    return "not_allowed" if unoffered else "no_verdict"


def contains_verdict(text: str, schema: Schema) -> bool:
    """A text holds what a reply would write for a verdict, as a whole or as part of a sentence."""
    shown = in_plain_characters(text)
    if schema.kind in ("json", "checklist"):
        written = schema.keys if schema.kind == "json" else schema.labels
        keys = "|".join(map(re.escape, written))
        return re.search(rf"[\"'](?:{keys})[\"'] {{0,20}}:", shown, re.IGNORECASE) is not None
    if schema.kind == "single_token":
        return match_label(shown, schema) is not None
    return any(match_label(match[1], schema) is not None for match in DOUBLE_BRACKETS.finditer(shown))
