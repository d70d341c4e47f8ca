"""Reads a chat completion, in every shape that servers give it, into a :class:`~datasheet.records.Reply`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeGuard

from datasheet.records import Reply

# Servers write -9999 (and the like) for a candidate that they did not rate: a marker, not a probability.
_LEAST_LOGPROB = -9000.0
_TEXT_PARTS = ("text", "output_text")
# The logarithm of 1, and what rounding adds to it.
_MOST_LOGPROB = 0.01
# No count of tokens comes near; a trial log's integers end at 2**63.
_MOST_TOKENS = 2**53


class OddBodyError(ValueError):
    """A body that is no chat completion; its text says what was found."""


class EmptyReplyError(ValueError):
    """A completion without any reply, for no reason that the server gives."""


def read_completion(document: object) -> Reply:
    """The reply in the first choice of a chat completion.

    Reasoning is kept apart from the text. A reply that was cut off, filtered or refused before its first word is a
    reply too, with an empty text and its reason.

    Raises
    ------
    OddBodyError
        The body has another shape.
    EmptyReplyError
        There is no choice, or the model stopped by itself without a word.
    """
    completion = as_mapping(document, "the body")
    choices = completion.get("choices")
    if choices == []:
        raise EmptyReplyError("choices is an empty list")
    if not isinstance(choices, list):
        raise OddBodyError("there is no list of choices")
    choice = as_mapping(choices[0], "the first choice")
    message = as_mapping(choice.get("message"), "the first choice's message")
    text, refusal = _message_texts(message)
    finish_reason = as_text(choice.get("finish_reason"))
    if not text and not refusal and finish_reason in ("", "stop"):
        raise EmptyReplyError(f"content is empty, finish_reason is {finish_reason or 'null'}")
    usage = completion.get("usage")
    tokens = usage if isinstance(usage, dict) else {}
    return Reply(
        text=text,
        finish_reason=finish_reason,
        refusal=refusal,
        reasoning=as_text(message.get("reasoning_content")) or as_text(message.get("reasoning")),
        prompt_tokens=token_count(tokens.get("prompt_tokens")),
        cached_tokens=cached_count(_cached(tokens), tokens.get("prompt_tokens")),
        completion_tokens=token_count(tokens.get("completion_tokens")),
        model=as_text(completion.get("model")),
        fingerprint=as_text(completion.get("system_fingerprint")),
        logprobs=first_token_logprobs(choice.get("logprobs")),
    )


def first_token_logprobs(logprobs: object) -> tuple[tuple[str, float], ...]:
    """Candidates (token, natural log probability) at the first token; nothing where the shape is unknown.

    Both shapes are read: the chat one (``content[0].top_logprobs``, a list of tokens) and the one of legacy
    completions (``tokens``, ``token_logprobs`` and ``top_logprobs``, a mapping for each token). The token that was
    written counts where there is no list of the likeliest: one that is drawn from outside the list would say of the
    others that they are less likely still, which nobody knows. A list with a probability above 1 is none.
    """
    if not isinstance(logprobs, dict):
        return ()
    content = logprobs.get("content")
    if isinstance(content, list):
        first = _first(content)
        if not isinstance(first, dict):
            return ()
        rated = first.get("top_logprobs")
        listed = [entry for entry in rated if isinstance(entry, dict)] if isinstance(rated, list) else []
        pairs = [(entry.get("token"), entry.get("logprob")) for entry in listed or [first]]
    else:
        top = _first(logprobs.get("top_logprobs"))
        written = (_first(logprobs.get("tokens")), _first(logprobs.get("token_logprobs")))
        pairs = list(top.items()) if isinstance(top, dict) and top else [written]
    return checked_candidates(
        tuple((token, value) for token, value in pairs if isinstance(token, str) and _is_number(value))
    )


def checked_candidates(candidates: Iterable[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    """Candidates as they are, those that stand for "never" left out; none at all where one is likelier than 1."""
    candidates = tuple(candidates)
    if any(logprob > _MOST_LOGPROB for _, logprob in candidates):
        return ()
    return tuple((token, float(logprob)) for token, logprob in candidates if logprob >= _LEAST_LOGPROB)


def text_of_parts(parts: Iterable[object]) -> str:
    """The text of the text parts of a list, never that of reasoning."""
    texts = (part.get("text") for part in parts if isinstance(part, dict) and part.get("type") in _TEXT_PARTS)
    return "".join(map(as_text, texts))


def _message_texts(message: Mapping[str, object]) -> tuple[str, str]:
    """What a message says, and how it refuses: each in a field of its own, or as a part of the content."""
    content, refusal = message.get("content"), as_text(message.get("refusal"))
    if content is None or isinstance(content, str):
        return content or "", refusal
    if not isinstance(content, list):
        raise OddBodyError(f"content is a {type(content).__name__}, neither a text nor a list of parts")
    refused = (part for part in content if isinstance(part, dict) and part.get("type") == "refusal")
    return text_of_parts(content), refusal or "".join(as_text(part.get("refusal")) for part in refused)


def as_mapping(value: object, name: str) -> Mapping[str, object]:
    """The value, which must be a JSON object."""
    if not isinstance(value, dict):
        raise OddBodyError(f"{name} is a {type(value).__name__}, not an object")
    return value


def _first(value: object) -> object:
    return value[0] if isinstance(value, Sequence) and value else None


def as_text(value: object) -> str:
    """The value if it is text, else ""."""
    return value if isinstance(value, str) else ""


def token_count(value: object) -> int | None:
    """The value if it can be a number of tokens."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= _MOST_TOKENS else None


def cached_count(cached: object, prompt: object) -> int | None:
    """Prompt tokens that the server had cached, if they can be a part of the prompt's."""
    part, whole = token_count(cached), token_count(prompt)
    return part if part is not None and whole is not None and part <= whole else None


def _cached(usage: Mapping[str, object]) -> object:
    details = usage.get("prompt_tokens_details")
    return details.get("cached_tokens") if isinstance(details, dict) else usage.get("prompt_cache_hit_tokens")


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
