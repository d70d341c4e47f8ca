"""A judge behind any server that speaks the OpenAI chat completions API (vLLM, llama.cpp, Ollama, gateways, OpenAI)."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Collection, Mapping
from typing import Literal

from yarl import URL

from datasheet.errors import PermanentJudgeError, TransientJudgeError, UsageError
from datasheet.identity import canonical_json
from datasheet.judge.api_error import ApiError, read_error
from datasheet.judge.completion import EmptyReplyError, OddBodyError, read_completion
from datasheet.judge.http import Answer, Endpoint, retry_after_s, shown, visible
from datasheet.records import Reply, Request

JsonMode = Literal["off", "json_object", "json_schema"]

PREFLIGHT_TIMEOUT_S = 5.0

_CHAT = "/chat/completions"
_OFFERED_SHOWN = 8
_OLLAMA_PORT = 11434
_MAX_TOKENS_FIELDS = ("max_tokens", "max_completion_tokens")
# Fields with a setting of their own, and two that would change the shape of the reply.
_OWN_FIELDS = {"model", "messages", "temperature", "seed", "response_format", "logprobs", "top_logprobs", "n", "stream"}
# Truncated prompts show in the token count alone. Ordinary prose has 4 to 5 characters a token, the longest-worded
# languages and code with deep indents up to 6 or so; above 8 the model can't have seen the whole text. Servers that cut
# do so at 2,048 tokens and more, so that a prompt below 8 times that is never suspected for its odd characters.
_MOST_CHARACTERS_PER_TOKEN = 8
_LEAST_CUT_TOKENS = 2_000
_STATUS_KINDS = {408: "timeout", 409: "server_error", 425: "server_error", 429: "rate_limit"}
_SETTINGS = {
    "temperature": "leave the judge's temperature unset",
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
        self._start_hint = start_hint
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
        self._endpoint = Endpoint(
            base_url=base_url, call_path=_CHAT, api_key_env=api_key_env, timeout_s=timeout_s, connections=connections
        )

    def __repr__(self) -> str:
        return f"OpenAIJudge(model={self._model!r}, base_url={shown(self._endpoint.base)!r})"

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
        return {"url": shown(self._endpoint.base), "api_key_env": self._endpoint.api_key_env or ""}

    async def open(self) -> None:
        """Read the key, make the connections, and ask the server for its models.

        Servers without a list of models are taken as they are.

        Raises
        ------
        PermanentJudgeError
            Nothing answers, the key is refused, or the model is not among those offered.
        """
        await self._endpoint.open()
        try:
            await self._preflight()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Give back connections."""
        await self._endpoint.close()

    async def ask(self, request: Request) -> Reply:
        """One attempt at one call.

        A prompt that the server filters or that is too long for the model gives an empty reply with that finish
        reason: it is a datum of this stimulus, not a failure of the judge.

        Raises
        ------
        TransientJudgeError
            ``kind`` is rate_limit, server_error, timeout, connection, bad_body or empty.
        PermanentJudgeError
            ``kind`` is auth, quota, roles, parameter, redirect, not_found or refused.
        """
        body = self._body(request)
        answer = await self._endpoint.send("POST", self._endpoint.call_url, content=json.dumps(body).encode())
        document = _document(answer.text)
        error = read_error(document)
        if error is None and 200 <= answer.status < 300:
            return self._reply(document, answer)
        return self._unread(error or ApiError(message=answer.text), answer, body.keys() - {"model", "messages"})

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

    def _reply(self, document: object, answer: Answer) -> Reply:
        try:
            return read_completion(document, latency_s=answer.latency_s)
        except EmptyReplyError as error:
            raise TransientJudgeError(
                f"{self._answered(answer)} ({error})", kind="empty", status=answer.status
            ) from None
        except OddBodyError as error:
            raise TransientJudgeError(
                f"{self._answered(answer)} ({error})", kind="bad_body", status=answer.status
            ) from None

    def _unread(self, error: ApiError, answer: Answer, sent: Collection[str]) -> Reply:
        """What an error stands for: a datum of this stimulus, a reason to try again, or the end of the run."""
        succeeded = 200 <= answer.status < 300
        status = error.status or answer.status if succeeded else answer.status
        about_request = succeeded or status in (400, 403, 413, 422, 500)
        if about_request and error.meaning in ("content_filter", "context_length"):
            return Reply(text="", finish_reason=error.meaning, latency_s=answer.latency_s)
        permanent = self._permanent(error, answer, status, sent)
        if permanent is not None:
            raise permanent
        kind = _STATUS_KINDS.get(status, "server_error")
        if status < 300:
            kind = {"rate_limit": "rate_limit", "overloaded": "server_error"}.get(error.meaning, "bad_body")
        raise TransientJudgeError(
            self._answered(answer), kind=kind, status=answer.status, retry_after_s=retry_after_s(answer.headers)
        )

    def _permanent(
        self, error: ApiError, answer: Answer, status: int, sent: Collection[str]
    ) -> PermanentJudgeError | None:
        """The error that stops the run, with what to do about it; None where another attempt may succeed."""
        kind, hint = "", ""
        refused = error.refused_field(sent) if status in (400, 422, 500, 501) else ""
        if status == 402 or error.meaning == "quota":
            kind, hint = "quota", "the account has no credit left: add some, then run the same command again"
        elif status in (401, 403):
            return self._denied(answer, self._endpoint.call_url)
        elif status in (400, 422, 500) and error.meaning == "roles" and not self._merges:
            kind, hint = "roles", 'this model takes no system message: set the judge\'s system_role = "merge"'
        elif refused:
            kind, hint = "parameter", f"{refused} is not taken: {_SETTINGS.get(refused, _EXTRA_SETTING)}"
        elif 300 <= status < 400:
            kind, hint = "redirect", _redirect_hint(answer.headers.get("Location", ""))
        elif status in (404, 405):
            kind, hint = "not_found", f"check the URL and that this server has the model {self._model}"
        elif 400 <= status < 500 and status not in _STATUS_KINDS:
            kind, hint = "refused", "the server takes no such request: see what it says, and the judge's settings"
        return (
            PermanentJudgeError(f"{self._answered(answer)}; {hint}", kind=kind, status=answer.status) if kind else None
        )

    def _denied(self, answer: Answer, url: URL) -> PermanentJudgeError:
        variable = self._endpoint.api_key_env
        if variable is None:
            hint = (
                "this server wants a key, and none is bound to it: bind the environment variable that holds it to this "
                "host under [keys] in your own datasheet.toml (`datasheet init --user`)"
            )
        elif self._endpoint.has_key:
            hint = f"the key in {variable} is not accepted: set {variable} to one that may use {self._model}"
        else:
            hint = f"no key was sent: set the environment variable {variable}"
        return PermanentJudgeError(f"{self._answered(answer, url)}; {hint}", kind="auth", status=answer.status)

    def _answered(self, answer: Answer, url: URL | None = None) -> str:
        body = visible(answer.text.strip()) or "(an empty body)"
        where = shown(url or self._endpoint.call_url)
        return f"{where} answered HTTP {answer.status}{self._endpoint.through_proxy()}: {body}"

    async def _preflight(self) -> None:
        url = self._endpoint.url("/models")
        try:
            answer = await self._endpoint.send("GET", url, timeout_s=PREFLIGHT_TIMEOUT_S)
        except TransientJudgeError as error:
            if error.kind == "bad_body":
                return
            usual = f"start a server, for example `vllm serve {self._model}`" if self._endpoint.loopback else "check it"
            if f":{_OLLAMA_PORT}/" in shown(url):
                usual = "start it with `ollama serve`"
            raise PermanentJudgeError(
                f"{error}: {self._start_hint or usual}, or name another judge with `--judge openai:MODEL@URL` or in a "
                "datasheet.toml",
                kind="unreachable",
            ) from None
        if answer.status in (401, 403):
            raise self._denied(answer, url)
        offered = _offered(_document(answer.text)) if answer.status == 200 else []
        if offered and not any(_same_model(self._model, name) for name in offered):
            likeliest = sorted(
                offered, key=lambda name: difflib.SequenceMatcher(None, name, self._model).ratio(), reverse=True
            )
            names = ", ".join(visible(name) for name in likeliest[:_OFFERED_SHOWN])
            more = ", …" if len(offered) > _OFFERED_SHOWN else ""
            raise PermanentJudgeError(
                f"{shown(url)} does not offer the model {self._model}; name one of the {len(offered)} that it offers: "
                f"{names}{more}",
                kind="model",
            )


def looks_truncated(prompt_characters: int, prompt_tokens: int | None) -> bool:
    """Whether a server seems to have cut a long prompt in silence: it counts too few tokens for its characters.

    A cut to half and less is found; a smaller one can't be told from a text of long words.
    """
    if prompt_tokens is None or prompt_characters < _LEAST_CUT_TOKENS * _MOST_CHARACTERS_PER_TOKEN:
        return False
    return prompt_tokens * _MOST_CHARACTERS_PER_TOKEN < prompt_characters


def _document(text: str) -> object:
    """The JSON of a body, or None: also where it is nested too deeply to be one of ours."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


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


def _offered(document: object) -> list[str]:
    """Names of a list of models; nothing where it is malformed or empty, which many servers' lists are."""
    listed = document.get("data") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        return []
    return [entry["id"] for entry in listed if isinstance(entry, dict) and isinstance(entry.get("id"), str)]


def _same_model(asked: str, offered: str) -> bool:
    """Whether a server that lists one name would take the other: tags and folders may be left out."""
    return offered in (asked, f"{asked}:latest", asked.partition(":")[0]) or offered.endswith(f"/{asked}")


def _redirect_hint(location: str) -> str:
    try:
        target = URL(location)
        host = f"{target.scheme}://{target.host}" if target.host else "another path of the same host"
    except ValueError:
        host = "an unreadable place"
    return f"it points to {visible(host)}, and redirects are not followed, so that no key travels: name the final URL"


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
