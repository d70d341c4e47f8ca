"""Canonical JSON and content hashes: what makes two instruments, stimuli or trials the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from datasheet.records import Order

_HEX_DIGITS = 16


def canonical_json(value: object) -> str:
    """JSON with sorted keys, no spaces and no NaN: equal values give equal text on every machine."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def content_id(value: object) -> str:
    """The first 64 bits of the SHA-256 of a value's canonical JSON, in hex."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()[:_HEX_DIGITS]


def stimulus_id(question: str, answer_a: str, answer_b: str) -> str:
    """Content hash of all that a judge could see of a stimulus. The order belongs to the trial."""
    return content_id(["stimulus", question, answer_a, answer_b])


def judge_id(*, adapter: str, model: str, prompt_hash: str, rubric_hash: str, decoding: Mapping[str, object]) -> str:
    """Identity of an instrument: adapter kind, model, prompt variant, rubric and decoding settings.

    Not the URL and not the parser's version: both are provenance.
    """
    return content_id(["judge", adapter, model, prompt_hash, rubric_hash, dict(decoding)])


def trial_key(judge: str, messages: Sequence[tuple[str, str]], order: Order, repeat: int) -> str:
    """Key of a trial in a log: the instrument, the rendered messages, the order and the repeat."""
    digest = hashlib.sha256(f"{judge}\x00{order}\x00{repeat}".encode())
    for role, text in messages:
        digest.update(b"\x00" + role.encode() + b"\x00" + text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[: 2 * _HEX_DIGITS]
