"""Parsing: from the raw text of a reply to a verdict, or to the reason why there is none. Pure functions."""

from __future__ import annotations

from datasheet.prompts.parsing.checklist import DECLARED_OTHERWISE, NO, SIDES, YES
from datasheet.prompts.parsing.marks import contains_verdict
from datasheet.prompts.parsing.pairwise import OFF_FORMAT
from datasheet.prompts.parsing.reading import PARSER, parse, parse_text
from datasheet.prompts.parsing.reasons import INVALID_REASONS, REASON_SENTENCES
from datasheet.prompts.parsing.schema import FOREIGN_SCHEMAS, Kind, Schema, schema_of

__all__ = [
    "DECLARED_OTHERWISE",
    "FOREIGN_SCHEMAS",
    "INVALID_REASONS",
    "NO",
    "OFF_FORMAT",
    "PARSER",
    "REASON_SENTENCES",
    "SIDES",
    "YES",
    "Kind",
    "Schema",
    "contains_verdict",
    "parse",
    "parse_text",
    "schema_of",
]
