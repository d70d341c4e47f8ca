"""From a reply to a verdict: one reader for each kind of schema, and what the server says of the reply."""

from __future__ import annotations

import re
from collections.abc import Callable

from datasheet.prompts.parsing.checklist import read_checklist
from datasheet.prompts.parsing.cleaning import clean
from datasheet.prompts.parsing.named import read_binary, read_named_label
from datasheet.prompts.parsing.pairwise import (
    read_bracket,
    read_choice,
    read_five_level,
    read_json,
    read_output,
    read_single_token,
)
from datasheet.prompts.parsing.ranking import read_ranking
from datasheet.prompts.parsing.rating import read_rating
from datasheet.prompts.parsing.reasons import NoReadingError
from datasheet.prompts.parsing.schema import Kind, Schema, schema_of
from datasheet.prompts.parsing.two_scores import read_two_scores
from datasheet.prompts.variant import PromptVariant
from datasheet.records import Reply, Verdict

PARSER = "1"
"""Version of the parser: it changes whenever a text could read otherwise than before."""

_SERVER_REASONS = {"content_filter": "filtered", "context_length": "context_length"}
_REFUSAL = re.compile(
    r"(?:\bI(?:'m| am) (?:not able|unable)|\bI (?:cannot|can't|can not|won't|will not|must decline)|\bI decline)\b"
    r"|\b(?:I'm|I am) sorry,? but\b|\bI apologi[sz]e,? but\b",
    re.IGNORECASE,
)
_REFUSAL_WITHIN = 200  # characters from the start in which a judge declines


def parse(variant: PromptVariant, reply: Reply) -> Verdict:
    """The verdict of a reply to one of our prompts; never raises.

    What the server says comes first: a filtered or refused reply has no reading whatever its text. A reply that was
    cut off is read only where its verdict is whole and stands by itself.
    """
    if reply.finish_reason in _SERVER_REASONS:
        return Verdict(invalid=_SERVER_REASONS[reply.finish_reason])
    if reply.refusal.strip():
        return Verdict(invalid="refusal")
    cut_off = reply.finish_reason == "length"
    if cut_off and not reply.text.strip():
        return Verdict(invalid="truncated_reasoning" if reply.reasoning else "truncated")
    whole = variant.schema == "single_token"  # its limit ends the reply right after the label
    return _read(reply.text, schema_of(variant), cut_off=cut_off and not whole)


def parse_text(text: str, schema: Schema) -> Verdict:
    """The verdict of a text that was asked for in a schema; never raises."""
    return _read(text, schema, cut_off=False)


def _read(text: str, schema: Schema, *, cut_off: bool) -> Verdict:
    try:
        cleaned = clean(text)
    except NoReadingError as none:
        return Verdict(invalid=none.reason)
    try:
        return _READERS[schema.kind](_without_last_word(cleaned) if cut_off else cleaned, schema, cut_off)
    except NoReadingError as none:
        return Verdict(invalid=_explained(none.reason, cleaned, cut_off=cut_off))


def _explained(reason: str, cleaned: str, *, cut_off: bool) -> str:
    """Why there is no verdict where none was found."""
    if reason not in ("no_verdict", "ambiguous"):
        return reason
    if _REFUSAL.search(cleaned[:_REFUSAL_WITHIN]):
        return "refusal"
    return "truncated" if cut_off else reason


def _without_last_word(cleaned: str) -> str:
    """The text up to its last word, which may be cut."""
    end = len(cleaned)
    while end and cleaned[end - 1].isalnum():
        end -= 1
    return cleaned[:end]


_READERS: dict[Kind, Callable[[str, Schema, bool], Verdict]] = {
    "json": read_json,
    "bracket": read_bracket,
    "choice": read_choice,
    "output_a_b": read_output,
    "five_level": read_five_level,
    "ranking": read_ranking,
    "two_scores": read_two_scores,
    "rating": read_rating,
    "labels": read_named_label,
    "binary": read_binary,
    "single_token": read_single_token,
    "checklist": read_checklist,
}
