"""Requests such as a run makes."""

from __future__ import annotations

from datasheet.prompts import canonical_replies, load_variant, render, response_schema
from datasheet.records import Request

_QUESTION = "How do I keep basil alive on a windowsill? Please say how much light and how much water it needs."
_FIRST = "Give it six hours of light, and water it when the soil feels dry."
_SECOND = "Put it somewhere nice."


def sample_request(
    *,
    question: str = _QUESTION,
    first: str = _FIRST,
    second: str = _SECOND,
    prompt: str = "default",
    repeat: int = 0,
) -> Request:
    """A request under a shipped prompt variant.

    Raises
    ------
    PromptError
        There is no such variant.
    """
    variant = load_variant(prompt)
    return Request(
        key="sample",
        messages=render(variant, question=question, first=first, second=second, reference=_FIRST),
        first=first,
        second=second,
        replies=canonical_replies(variant),
        response_schema=response_schema(variant),
        max_tokens=variant.max_tokens,
        top_logprobs=variant.top_logprobs,
        repeat=repeat,
    )
