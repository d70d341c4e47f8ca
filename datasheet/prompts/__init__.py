"""Prompt variants: what a judge is shown (render) and how its reply reads (parsing). Pure functions."""

from __future__ import annotations

from datasheet.prompts.labels import label_log_probabilities, read_labels
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
    "label_log_probabilities",
    "load_variant",
    "parse",
    "parse_text",
    "read_labels",
    "render",
    "response_schema",
    "variant_content",
    "variant_from_content",
    "variant_names",
]
