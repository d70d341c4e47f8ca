"""A judge behind any server that speaks the OpenAI chat completions API (vLLM, llama.cpp, Ollama, gateways, OpenAI)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from datasheet.errors import UsageError
from datasheet.identity import canonical_json
from datasheet.judge.completion import read_completion
from datasheet.judge.headers import BEARER
from datasheet.judge.http import Endpoint
from datasheet.judge.model_server import ModelServer, RefusedFieldError
from datasheet.judge.tls import Tls
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
    base_url
        The server's root, its ``/v1``, or the full ``…/chat/completions``.
    api_key_env
        Name of the environment variable that holds the key. Where it is None or unset, no key is sent.
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
    timeout_s
        Seconds for one attempt, from when it is sent.
    connections
        Attempts in flight at most.
    start_hint
        What to do where no server answers, for the error message.
    key_header, headers, tls
        As for :class:`~datasheet.judge.http.Endpoint`.
    extra_body
        Further fields of the request. They are part of the judge's identity and are printed: never put a key here.

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
        base_url: str,
        api_key_env: str | None = None,
        temperature: float | None = 0.0,
        seed: int | None = None,
        max_tokens: int | None = None,
        max_tokens_field: str = "max_tokens",
        json_mode: JsonMode = "off",
        logprobs: int | None = None,
        system_role: Literal["system", "merge"] = "system",
        timeout_s: float = 120.0,
        connections: int = 64,
        key_header: str = BEARER,
        headers: Mapping[str, str] | None = None,
        tls: Tls | None = None,
        extra_body: Mapping[str, object] | None = None,
        start_hint: str = "",
    ) -> None:
        _check_settings(
            {
                "model is a name": bool(model.strip()),
                "temperature is 0 or more, or unset": temperature is None or 0 <= temperature < math.inf,
                "max_tokens is 1 or more, or unset": max_tokens is None or max_tokens >= 1,
                "max_tokens_field is max_tokens or max_completion_tokens": max_tokens_field in _MAX_TOKENS_FIELDS,
                "json_mode is off, json_object or json_schema": json_mode in ("off", "json_object", "json_schema"),
                "logprobs is 0 or more, or unset": logprobs is None or logprobs >= 0,
                "system_role is system or merge": system_role in ("system", "merge"),
                "timeout_s is above 0": 0 < timeout_s < math.inf,
                "connections is 1 or more": connections >= 1,
            }
        )
        if temperature is not None:
            temperature = float(temperature)  # 0 and 0.0 are the same instrument
        self._model = model
        self._seed = seed
        self._max_tokens = max_tokens
        self._max_tokens_field = max_tokens_field
        self._json_mode = json_mode
        self._merges = system_role == "merge"
        extra = _checked_extra(extra_body or {})
        settings = {
            "temperature": temperature,
            "seed": seed,
            "max_tokens": max_tokens,
            "json_mode": None if json_mode == "off" else json_mode,
            "logprobs": logprobs,
            "system_role": "merge" if self._merges else None,
            "extra_body": extra or None,
        }
        self._decoding = {name: value for name, value in settings.items() if value is not None}
        self._fixed_fields: dict[str, object] = {"model": model}
        if temperature is not None:
            self._fixed_fields["temperature"] = temperature
        self._logprobs = logprobs
        self._fixed_fields |= extra
        endpoint = Endpoint(
            base_url=base_url,
            call_path=_CHAT,
            api_key_env=api_key_env,
            timeout_s=timeout_s,
            connections=connections,
            key_header=key_header,
            headers=headers,
            tls=tls,
        )
        self._server = ModelServer(
            endpoint,
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
            return await self._server.ask(self._body(request))
        except RefusedFieldError as refused:
            if refused.field != sent or _MAX_TOKENS_FIELDS[sent] not in refused.reason:
                raise
        self._max_tokens_field = _MAX_TOKENS_FIELDS[sent]
        return await self._server.ask(self._body(request))

    def _body(self, request: Request) -> dict[str, object]:
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


def _check_settings(requirements: Mapping[str, bool]) -> None:
    broken = [wish for wish, holds in requirements.items() if not holds]
    if broken:
        raise UsageError(f"settings of an openai judge that do not fit: expected that {'; that '.join(broken)}")


def _checked_extra(extra_body: Mapping[str, object]) -> dict[str, object]:
    taken = sorted(extra_body.keys() & {*_OWN_FIELDS, *_MAX_TOKENS_FIELDS})
    if taken:
        raise UsageError(f"extra_body holds {', '.join(taken)}: use the judge's own settings for what they cover")
    try:
        canonical_json(dict(extra_body))
    except (TypeError, ValueError) as error:
        raise UsageError(f"extra_body holds what is no JSON: {error}") from None
    return dict(extra_body)
