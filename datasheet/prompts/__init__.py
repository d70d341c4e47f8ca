"""Prompt variants: what a judge is shown (render) and how its reply reads (parsing). Pure functions."""

from __future__ import annotations

from datasheet.prompts.parsing import INVALID_REASONS, PARSER, REASON_SENTENCES, parse, parse_text
from datasheet.prompts.render import canonical_replies, contains_verdict_syntax, render, response_schema
from datasheet.prompts.variant import PromptVariant, load_variant, variant_content, variant_from_content, variant_names

__all__ = [
    "INVALID_REASONS",
    "PARSER",
    "REASON_SENTENCES",
    "PromptVariant",
    "canonical_replies",
    "contains_verdict_syntax",
    "load_variant",
    "parse",
    "parse_text",
    "render",
    "response_schema",
    "variant_content",
    "variant_from_content",
    "variant_names",
]
