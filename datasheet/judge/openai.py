"""A judge behind any server that speaks the OpenAI chat completions API (vLLM, llama.cpp, Ollama, gateways, OpenAI)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Unpack

from datasheet.errors import UsageError
from datasheet.judge.completion import read_completion
from datasheet.judge.http import Endpoint, EndpointOptions
from datasheet.judge.model_server import ModelServer, RefusedFieldError
from datasheet.judge.settings import OPENAI, check_settings
from datasheet.judge.urls import shown
from datasheet.records import Reply, Request

JsonMode = Literal["off", "json_object", "json_schema"]

_CHAT = "/chat/completions"
# The two names of one limit, each with the other that a server may want instead.
_MAX_TOKENS_FIELDS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
# Fields with a setting of their own, and two that would change the shape of the reply.
_OWN_FIELDS = {"model", "messages", "temperature", "seed", "response_format", "logprobs", "top_logprobs", "n", "stream"}
_SETTINGS = {
    "temperature": 'leave the judge\'s temperature unset (temperature = "unset" in a datasheet.toml)',
    "seed": "leave the judge's seed unset",
    "max_tokens": 'set the judge\'s max_tokens_field = "max_completion_tokens", or a smaller max_tokens',
    "max_completion_tokens": 'set the judge\'s max_tokens_field = "max_tokens", or a smaller max_tokens',
    "response_format": 'set the judge\'s json_mode to another of "off", "json_object" and "json_schema"',
    "logprobs": "leave the judge's logprobs unset, or set it to 0 where it is the prompt that asks for candidates",
    "top_logprobs": "ask for fewer with the judge's own logprobs (0 asks for none, whatever the prompt wants)",
}
_EXTRA_SETTING = "take it out of the judge's extra_body"


class OpenAIJudge:
    """A judge that is asked through the chat completions API.

    By default only the basic fields are sent (model, messages, temperature, max_tokens); each other one only when its
    setting is given, since strict servers refuse what they do not know.

    Parameters
    ----------
    temperature
        None leaves it to the server.
    seed
        The request's seed is this plus the number of the repeat, so that a repeat is a fresh call. None sends none.
    max_tokens
        Instead of what the prompt variant asks for.
    json_mode
        How a reply's JSON Schema is asked for: ``"json_schema"`` (OpenAI, vLLM), ``"json_object"`` with the schema
        beside it (llama.cpp), or not at all.
    logprobs
        Number of candidates asked for at each token of the reply, whatever the prompt asks for; 0 asks for none. None
        leaves it to the prompt.
    system_role
        ``"merge"`` puts the system text in front of the first user message, for models without a system role.
    extra_body
        Further fields of the request. They are part of the judge's identity and are printed: never put a key here.
    start_hint
        What to do where no server answers, for the error message.
    endpoint
        Where the server is and how it is called, as for :class:`~datasheet.judge.http.Endpoint`.

    Raises
    ------
    UsageError
        A setting that can't be used.
    """

    adapter = "openai"
    simulated = False

    def __init__(
        self,
        *,
        model: str,
        temperature: float | None = 0.0,
        seed: int | None = None,
        max_tokens: int | None = None,
        max_tokens_field: str = "max_tokens",
        json_mode: JsonMode = "off",
        logprobs: int | None = None,
        system_role: Literal["system", "merge"] = "system",
        extra_body: Mapping[str, object] | None = None,
        start_hint: str = "",
        **endpoint: Unpack[EndpointOptions],
    ) -> None:
        given = {
            "model": model,
            "temperature": temperature,
            "seed": seed,
            "max_tokens": max_tokens,
            "max_tokens_field": max_tokens_field,
            "json_mode": json_mode,
            "logprobs": logprobs,
            "system_role": system_role,
            "extra_body": extra_body,
        }
        check_settings({name: value for name, value in given.items() if value is not None}, OPENAI, "an openai judge")
        if temperature is not None:
            temperature = float(temperature)  # 0 and 0.0 are the same instrument
        self._model = model
        self._seed = seed
        self._max_tokens = max_tokens
        self._max_tokens_field = max_tokens_field
        self._json_mode = json_mode
        self._merges = system_role == "merge"
        served = Endpoint(call_path=_CHAT, **endpoint)
        extra = _checked_extra(extra_body or {})
        settings = {
            "temperature": temperature,
            "seed": seed,
            "max_tokens": max_tokens,
            "json_mode": None if json_mode == "off" else json_mode,
            "logprobs": logprobs,
            "system_role": "merge" if self._merges else None,
            "extra_body": extra or None,
            "certificate_verified": served.verified,
        }
        self._decoding = {name: value for name, value in settings.items() if value is not None}
        self._fixed_fields: dict[str, object] = {"model": model}
        if temperature is not None:
            self._fixed_fields["temperature"] = temperature
        self._logprobs = logprobs
        self._fixed_fields |= extra
        self._server = ModelServer(
            served,
            model=model,
            read=read_completion,
            field_hints=_SETTINGS,
            other_field_hint=_EXTRA_SETTING,
            roles_hint="" if self._merges else 'set the judge\'s system_role = "merge"',
            start_hint=start_hint,
        )

    def __repr__(self) -> str:
        return f"OpenAIJudge(model={self._model!r}, base_url={shown(self._server.endpoint.base)!r})"

    @property
    def model(self) -> str:
        """Name of the model as it is asked for."""
        return self._model

    @property
    def decoding(self) -> Mapping[str, object]:
        """The settings that shape the reply and are not left to the server."""
        return self._decoding

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
        """As :meth:`ModelServer.ask`.

        A server that wants the limit of tokens under its other name, and says so, is given it from then on: it is the
        same limit. Nothing else is adapted, since any other change would make another instrument.
        """
        sent = self._max_tokens_field
        try:
            return await self._server.ask(self.body(request))
        except RefusedFieldError as refused:
            if refused.field != sent or _MAX_TOKENS_FIELDS[sent] not in refused.reason:
                raise
        self._max_tokens_field = _MAX_TOKENS_FIELDS[sent]
        return await self._server.ask(self.body(request))

    def body(self, request: Request) -> dict[str, object]:
        """What is sent for a request, as JSON values."""
        messages = [{"role": role, "content": text} for role, text in request.messages]
        if self._merges:
            messages = _merged(messages)
        body = {**self._fixed_fields, "messages": messages}
        body[self._max_tokens_field] = self._max_tokens or request.max_tokens
        candidates = request.top_logprobs if self._logprobs is None else self._logprobs
        if candidates:
            body |= {"logprobs": True, "top_logprobs": candidates}
        if self._seed is not None:
            body["seed"] = self._seed + request.repeat
        if request.response_schema is not None and self._json_mode == "json_object":
            body["response_format"] = {"type": "json_object", "schema": request.response_schema}
        elif request.response_schema is not None and self._json_mode == "json_schema":
            named = {"name": "verdict", "schema": request.response_schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return body


def _merged(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """The messages with every system text put in front of the first of the user."""
    system = [message["content"] for message in messages if message["role"] == "system"]
    others = [message for message in messages if message["role"] != "system"]
    if not system:
        return others
    at = next((i for i, message in enumerate(others) if message["role"] == "user"), None)
    if at is None:
        return [{"role": "user", "content": "\n\n".join(system)}, *others]
    others[at] = {"role": "user", "content": "\n\n".join([*system, others[at]["content"]])}
    return others


def _checked_extra(extra_body: Mapping[str, object]) -> dict[str, object]:
    taken = sorted(extra_body.keys() & {*_OWN_FIELDS, *_MAX_TOKENS_FIELDS})
    if taken:
        raise UsageError(f"extra_body holds {', '.join(taken)}: use the judge's own settings for what they cover")
    return dict(extra_body)
