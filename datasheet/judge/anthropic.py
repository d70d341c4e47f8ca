"""A judge behind the Anthropic Messages API, or a server that speaks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

from datasheet.errors import UsageError
from datasheet.judge.completion import (
    EmptyReplyError,
    OddBodyError,
    as_mapping,
    as_text,
    text_of_parts,
    token_count,
)
from datasheet.judge.http import Endpoint, EndpointOptions
from datasheet.judge.model_server import ModelServer
from datasheet.judge.settings import ANTHROPIC, check_settings
from datasheet.judge.urls import shown
from datasheet.records import Reply, Request

_MESSAGES = "/messages"
_VERSION = "2023-06-01"
_KEY_HEADER = "x-api-key"
# Fields with a setting of their own, and one that would change the shape of the reply.
_OWN_FIELDS = {"model", "messages", "system", "max_tokens", "temperature", "stream"}
_SETTINGS = {
    "temperature": 'leave the judge\'s temperature unset (temperature = "unset" in a datasheet.toml)',
    "max_tokens": "set a smaller max_tokens",
}
# Why a reply ended, in the words that the parser knows.
_FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
_PROMPT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicJudge:
    """A judge that is asked through the Messages API, which has neither a seed nor log-probabilities.

    Parameters
    ----------
    temperature
        None leaves it to the server.
    max_tokens
        Instead of what the prompt variant asks for.
    extra_body
        Further fields of the request, as ``thinking``. They are part of the judge's identity and are printed.
    start_hint
        What to do where no server answers, for the error message.
    endpoint
        Where the server is and how it is called, as for :class:`~datasheet.judge.http.Endpoint`; the key goes in
        ``x-api-key`` where no other header is named.

    Raises
    ------
    UsageError
        A setting that can't be used.
    """

    adapter = "anthropic"
    simulated = False

    def __init__(
        self,
        *,
        model: str,
        temperature: float | None = 0.0,
        max_tokens: int | None = None,
        extra_body: Mapping[str, object] | None = None,
        start_hint: str = "",
        **endpoint: Unpack[EndpointOptions],
    ) -> None:
        endpoint.setdefault("key_header", _KEY_HEADER)
        served = Endpoint(call_path=_MESSAGES, fixed_headers={"anthropic-version": _VERSION}, **endpoint)
        settings = {
            "temperature": None if temperature is None else float(temperature),
            "max_tokens": max_tokens,
            "extra_body": dict(extra_body) if extra_body else None,
        }
        self.model = model
        given = {name: value for name, value in settings.items() if value is not None}
        check_settings({"model": model, **given}, ANTHROPIC, "an anthropic judge")
        unverified = {} if served.verified is None else {"certificate_verified": served.verified}
        self.decoding: Mapping[str, object] = {**given, **unverified}
        taken = sorted(_OWN_FIELDS.intersection(extra_body or ()))
        if taken:
            raise UsageError(f"extra_body holds {', '.join(taken)}: use the judge's own settings for what they cover")
        self._server = ModelServer(
            served,
            model=model,
            read=read_message,
            field_hints=_SETTINGS,
            other_field_hint="take it out of the judge's extra_body",
            start_hint=start_hint,
        )

    def __repr__(self) -> str:
        return f"AnthropicJudge(model={self.model!r}, base_url={shown(self._server.endpoint.base)!r})"

    @property
    def provenance(self) -> Mapping[str, str]:
        """Where the judge was asked: a URL without user, key or query, and the name of the key's variable."""
        return self._server.endpoint.provenance

    async def open(self) -> None:
        """As :meth:`ModelServer.open`."""
        await self._server.open()

    async def close(self) -> None:
        """Give back connections."""
        await self._server.close()

    async def ask(self, request: Request) -> Reply:
        """As :meth:`ModelServer.ask`."""
        return await self._server.ask(self.body(request))

    def body(self, request: Request) -> dict[str, object]:
        """What is sent for a request, as JSON values."""
        system = "\n\n".join(text for role, text in request.messages if role == "system")
        body: dict[str, object] = {
            "model": self.model,
            "max_tokens": self.decoding.get("max_tokens", request.max_tokens),
            "messages": [{"role": role, "content": text} for role, text in request.messages if role != "system"],
        }
        if system:
            body["system"] = system
        if "temperature" in self.decoding:
            body["temperature"] = self.decoding["temperature"]
        extra = self.decoding.get("extra_body")
        return body | extra if isinstance(extra, dict) else body


def read_message(document: object) -> Reply:
    """The reply in a message: its text blocks joined, its thinking kept apart.

    Raises
    ------
    OddBodyError
        The body has another shape.
    EmptyReplyError
        The model stopped by itself without a word.
    """
    message = as_mapping(document, "the body")
    blocks = message.get("content")
    if not isinstance(blocks, list):
        raise OddBodyError("there is no list of content blocks")
    text = text_of_parts(blocks)
    stop_reason = as_text(message.get("stop_reason"))
    finish_reason = _FINISH_REASONS.get(stop_reason, stop_reason)
    if not text and finish_reason in ("", "stop"):
        raise EmptyReplyError(f"content holds no text, stop_reason is {stop_reason or 'null'}")
    found = message.get("usage")
    usage = found if isinstance(found, dict) else {}
    counted = [token_count(usage.get(name)) for name in _PROMPT_TOKENS]
    return Reply(
        text=text,
        finish_reason=finish_reason,
        refusal=stop_reason if stop_reason == "refusal" else "",
        reasoning="".join(as_text(block.get("thinking")) for block in blocks if isinstance(block, dict)),
        prompt_tokens=None if counted[0] is None else sum(count or 0 for count in counted),
        cached_tokens=None if counted[0] is None else counted[-1],
        completion_tokens=token_count(usage.get("output_tokens")),
        model=as_text(message.get("model")),
    )
