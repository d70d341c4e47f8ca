"""Reads a conclusion in plain words ("Therefore, Assistant A is better"), where the asked form is absent.

A sentence concludes only if it says that one answer as a whole is better, chosen or equal. A sentence that denies,
supposes, asks, reports, or speaks of one aspect does not; conclusions that differ leave no reading.
"""

from __future__ import annotations

import re

from datasheet.prompts.parsing.labels import NOUNS
from datasheet.prompts.parsing.reasons import NoReadingError
from datasheet.prompts.parsing.schema import Schema
from datasheet.records import Outcome

_SENTENCES = 200  # that may conclude, from the end
_LENGTH = 1_000  # characters of a sentence that are read, from its end

# An answer that is named becomes one of these characters, which cleaned text can't hold.
_FIRST, _SECOND = "\x01", "\x02"
_ONE = f"[{_FIRST}{_SECOND}]"
_OUTCOME: dict[str, Outcome] = {_FIRST: "first", _SECOND: "second"}
_ORDINALS: dict[str, Outcome] = {"1": "first", "2": "second", "first": "first", "second": "second"}

_DEGREES = "clearly|slightly|much|far|significantly|marginally|somewhat|overall|generally|definitely|ultimately"
_SURELY = rf"(?:(?:{_DEGREES}|the|a|an|my|considered) )"
_BETTER = r"(?:better|best|superior|preferable|preferred|winner)"
_NOUN = rf"(?:{NOUNS}|one|overall|job|of the two)"
_REASON = r" (?:because|since|as it|due to|for the given|in answering)\b"
# What may follow, so that it is the answer as a whole that is better, not its style or its structure.
_AS_A_WHOLE = rf"(?: {_NOUN})*(?=\W*$|[.,;:!]| than {_ONE}|{_REASON})"
_WORDS = r"(?:[\w',-]{1,30} )"
_WILL = r"(?:(?:would|will|must|have to|do|therefore|thus|personally|strongly|slightly|clearly|still) )"
_VERB_WELL = "performs|performed|does|did|answers|answered|responds|responded"
_VERB_GIVES = "provides|provided|gives|gave|offers|offered|is|was|has|wrote"
_ALL = rf"(?:{_ONE} (?:and|nor|or) {_ONE}|(?:both|the|of) (?:the )?(?:two )?{NOUNS}|both of them|they)"

_CHOICES = (
    re.compile(rf"(?P<one>{_ONE}) (?:is|was|performs|performed|does|did) {_SURELY}{{0,4}}{_BETTER}{_AS_A_WHOLE}"),
    re.compile(rf"(?P<one>{_ONE}) (?:{_VERB_WELL}) {_WORDS}{{0,4}}?better than {_ONE}"),
    re.compile(rf"(?P<one>{_ONE}) (?:{_VERB_GIVES}) {_WORDS}{{0,4}}?better (?:{_NOUN} )+than {_ONE}"),
    re.compile(rf"(?P<one>{_ONE}) wins{_AS_A_WHOLE}"),
    re.compile(
        rf"\b(?:i|we) {_WILL}{{0,3}}(?:choose|prefer|select|pick|favou?r) (?P<one>{_ONE})(?! (?:or|and) {_ONE})"
    ),
    re.compile(
        rf"\b(?:winner|{_BETTER}(?:[- ]performing)?(?: {_NOUN})+) ?(?:is:?|:) ?(?P<one>{_ONE})"
        r"(?=\W*$|[.,;]| because\b| as\b)"
    ),
    re.compile(rf"{_ONE} (?:is|was) {_SURELY}{{0,4}}worse than (?P<one>{_ONE})"),
)
_TIES = (
    re.compile(
        r"\b(?:(?:it|this|result|verdict|outcome|evaluation|comparison|decision)(?:'s| is| was| must be)"
        r"|call it|declare)(?: [a-z]{1,20}){0,2} tie(?=\W*$|[.,;:!]| between\b)"
    ),
    re.compile(
        rf"\bneither (?:{_ALL}|{NOUNS}|of them) (?:is|are|was|can be|could be) {_SURELY}{{0,4}}{_BETTER}\b"
        rf"|\bneither (?:{_ALL}|{NOUNS}|of them) (?:provides|provided|gives|gave) a better {NOUNS}"
    ),
    re.compile(rf"{_ALL} (?:are|were) {_SURELY}{{0,2}}equally (?:good|bad|strong|valid|well)\b"),
)
_TRIGGER = re.compile(rf"{_ONE}|\btie\b|\bneither\b|\bequally\b")

_DENIED = re.compile(r"\b(?:not|never|no|nor|cannot|hardly|doubt|den(?:y|ies)|disagree|false|untrue|wrong)\b|n't\b")
_OPINION_DENIED = re.compile(
    rf"(?:\b(?:not|never|cannot|hardly)|n't) {_WORDS}{{0,2}}?"
    r"(?:think|believe|agree|conclude|find|consider|mean|clear|true|convinced|sure|the case)\b"
)
_SUPPOSED = re.compile(r"\b(?:if|whether|unless|either|might|may|could|claim\w*|says?|said|argu\w*|thinks|suggests?)\b")
_CONDITIONED = re.compile(r"\W{0,3}\b(?:if|unless|when|provided|assuming|depending|only)\b")
_ONE_ASPECT = re.compile(
    rf"(?: than {_ONE})?,? (?:in|on|at|for|with|regarding|concerning)\b"
    r"(?! (?:answering|providing|following|addressing|responding|this|every|all|general|the given|the user)\b)"
)
_OF_AN_ANSWER = re.compile(r"\b(?:of|by|from|in|with|for|about|on) $")
_WHOLE_ANSWER = re.compile(rf"\b{NOUNS} (?:\w{{1,20}} )?(?:of|by|from) $")
_TAKEN_BACK = re.compile(rf"\b(?:but|however|although|though|yet)\b[^{_FIRST}{_SECOND}]*{_ONE}")


def concluded_outcome(text: str, schema: Schema) -> Outcome | None:
    """The one outcome that the sentences of a text conclude; None where none does.

    Raises
    ------
    NoReadingError
        The conclusions differ.
    """
    sentences = [part[-_LENGTH:] for part in re.split(r"(?<=[.!?])\s+|\n", _with_answers_named(text, schema).lower())]
    telling = [sentence for sentence in sentences if _TRIGGER.search(sentence)][-_SENTENCES:]
    concluded = {outcome for sentence in telling if (outcome := _conclusion(sentence)) is not None}
    if len(concluded) > 1:
        raise NoReadingError("conflicting")
    return concluded.pop() if concluded else None


def _with_answers_named(text: str, schema: Schema) -> str:
    """The text with every name of an answer ("Output (b)", "[[A]]", "the second answer") as one character."""
    outcomes = {**_ORDINALS, **{label.casefold(): outcome for label, outcome in schema.labels.items()}}

    def name(match: re.Match[str]) -> str:
        outcome = outcomes.get(next(filter(None, match.groups())).casefold())
        return {"first": _FIRST, "second": _SECOND}.get(outcome or "", match[0])

    labels = "|".join(re.escape(label) for label, outcome in outcomes.items() if outcome != "tie")
    possessive = rf"(?:'s? {NOUNS})?"
    named = re.compile(
        rf"\[{{0,2}}\b{NOUNS} ?[\[(\"']{{0,2}}({labels})\b(?:[\])\"]|'(?!s)){{0,2}}{possessive}"
        rf"|(?:\[\[|\[|<\|)({labels})(?:\]\]|\]|\|>){possessive}"
        rf"|\bthe (first|second) {NOUNS}",
        re.IGNORECASE,
    )
    return named.sub(name, text)


def _conclusion(sentence: str) -> Outcome | None:
    """The outcome that one sentence concludes."""
    if sentence.rstrip(" \"')").endswith("?"):
        return None
    found: set[Outcome] = set()
    for pattern in (*_CHOICES, *_TIES):
        for match in pattern.finditer(sentence):
            if not (_is_withdrawn(match) or _is_of_one_aspect(match)):
                found.add("tie" if pattern in _TIES else _OUTCOME[match["one"]])
    return found.pop() if len(found) == 1 else None


def _is_withdrawn(conclusion: re.Match[str]) -> bool:
    """What stands around a conclusion denies it, supposes it, reports it or takes it back."""
    before, after = conclusion.string[: conclusion.start()], conclusion.string[conclusion.end() :]
    inside = "" if conclusion[0].startswith("neither") else conclusion[0]
    clause = re.split(r"[,;:]", before)[-1]
    if clause.lstrip().startswith("that "):
        clause = before
    return bool(
        _DENIED.search(clause + inside)
        or _OPINION_DENIED.search(before)
        or _SUPPOSED.search(before)
        or _CONDITIONED.match(after)
        or _TAKEN_BACK.search(after)
    )


def _is_of_one_aspect(conclusion: re.Match[str]) -> bool:
    """A conclusion speaks of something about an answer, or of the answer in one respect."""
    before = conclusion.string[: conclusion.start()]
    of_a_part = _OF_AN_ANSWER.search(before) is not None and _WHOLE_ANSWER.search(before) is None
    return (conclusion[0][0] in _OUTCOME and of_a_part) or bool(_ONE_ASPECT.match(conclusion.string, conclusion.end()))
