"""Reads two scores, the first answer's and the second's: "8 9" on a line, or one line for each answer."""

from __future__ import annotations

import re

from datasheet.prompts.parsing.labels import NOUNS
from datasheet.prompts.parsing.number import on_scale
from datasheet.prompts.parsing.reasons import NoReadingError
from datasheet.prompts.parsing.schema import Schema
from datasheet.records import Outcome, Verdict

_SCORE = r"([-+]?\d{1,9}(?:\.\d{1,9})?)"
_PAIR = re.compile(
    rf"^[^\w\n(\[+-]{{0,9}}(?:[a-z ]{{1,30}}:)? {{0,9}}[(\[]?"
    rf"{_SCORE}(?: {{0,3}}[,;&] {{0,3}}| {{1,9}}){_SCORE}[)\]]?\W*$",
    re.IGNORECASE,
)
_ONE_ANSWER = re.compile(
    rf"^\W{{0,9}}{NOUNS} ?([12ab])(?:'s)?(?: score| rating)? ?[:=] ?{_SCORE}(?:/\d{{1,3}})?(?=\W{{0,9}}$| ?[(;,]|\. )",
    re.IGNORECASE,
)
_SIDES = {"1": 0, "a": 0, "2": 1, "b": 1}
_LINE = 200  # characters of a line of scores


def read_two_scores(cleaned: str, schema: Schema, cut_off: bool) -> Verdict:
    """The answer with the higher score; equal scores are a tie.

    Raises
    ------
    NoReadingError
        An answer has no score, or several that differ, or one that lies off the scale.
    """
    lines = [line for line in cleaned.splitlines() if line and len(line) <= _LINE]
    first, second = _pair(lines) or _one_by_one(lines)
    difference = on_scale(first, schema) - on_scale(second, schema)
    outcome: Outcome = "first" if difference > 0 else "second" if difference < 0 else "tie"
    return Verdict(outcome=outcome)


def _pair(lines: list[str]) -> tuple[str, str] | None:
    """Two scores on one line: the first line where they stand as asked, else the only such line."""
    pairs = [(match[1], match[2]) for line in lines if (match := _PAIR.match(line))]
    if lines and _PAIR.match(lines[0]):
        return pairs[0]
    if len(set(pairs)) > 1:
        raise NoReadingError("conflicting")
    return pairs[0] if pairs else None


def _one_by_one(lines: list[str]) -> tuple[str, str]:
    """One score for each answer on lines of their own."""
    scores: tuple[set[str], set[str]] = (set(), set())
    for line in lines:
        if match := _ONE_ANSWER.match(line):
            scores[_SIDES[match[1].lower()]].add(match[2])
    if any(len(side) > 1 for side in scores):
        raise NoReadingError("conflicting")
    if not all(scores):
        raise NoReadingError("no_verdict")
    return scores[0].pop(), scores[1].pop()
