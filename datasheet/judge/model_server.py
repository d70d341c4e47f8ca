"""A server of language models, whatever its API: asks it, and says what its answers mean."""

from __future__ import annotations

import asyncio
import difflib
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from yarl import URL

from datasheet.errors import PermanentJudgeError, TransientJudgeError
from datasheet.judge.api_error import ApiError, read_error
from datasheet.judge.completion import EmptyReplyError, OddBodyError
from datasheet.judge.http import Answer, Endpoint
from datasheet.judge.retry_after import retry_after_s
from datasheet.judge.urls import shown, visible
from datasheet.records import Reply

PREFLIGHT_TIMEOUT_S = 5.0
FIRST_CALL_ALONE_S = 10.0
"""How long the first call goes alone: what it meets, all the others would meet too."""

_OFFERED_SHOWN = 8
_OLLAMA_PORT = 11434
_DATE = re.compile(r"-20\d{6}$")  # of a snapshot of a model
_ALWAYS_SENT = {"model", "messages", "system"}
_STATUS_KINDS = {408: "timeout", 409: "server_error", 425: "server_error", 429: "rate_limit"}


class RefusedFieldError(PermanentJudgeError):
    """The server does not take a field of the request, named in ``field``, for a ``reason`` in its own words."""

    def __init__(self, message: str, *, field: str, reason: str, status: int) -> None:
        super().__init__(message, kind="parameter", status=status)
        self.field = field
        self.reason = reason


class ModelServer:
    """One model behind an API over HTTP.

    Parameters
    ----------
    read
        The reply in the document of an answer that succeeded.
    field_hints
        What to do where the server refuses a field of the request, by its name.
    roles_hint
        What to do where it takes no system message; "" where nothing is left to do.
    start_hint
        What to do where no server answers.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        model: str,
        read: Callable[[object], Reply],
        field_hints: Mapping[str, str],
        other_field_hint: str,
        roles_hint: str = "",
        start_hint: str = "",
    ) -> None:
        self.endpoint = endpoint
        self._model = model
        self._read = read
        self._field_hints = field_hints
        self._other_field_hint = other_field_hint
        self._roles_hint = roles_hint
        self._start_hint = start_hint
        self._first: asyncio.Future[PermanentJudgeError | None] | None = None

    async def open(self) -> None:
        """Read the key, make the connections, and ask the server for its models.

        Servers without a list of models are taken as they are.

        Raises
        ------
        PermanentJudgeError
            Nothing answers, the key is refused, or the model is not among those offered.
        """
        self._first = None
        await self.endpoint.open()
        try:
            await self._preflight()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Give back connections."""
        await self.endpoint.close()

    async def ask(self, body: Mapping[str, object]) -> Reply:
        """One attempt at one call; the first one goes ahead of the others, so that a fault of all is met once.

        A prompt that the server filters or that is too long for the model gives an empty reply with that finish
        reason: it is a datum of this stimulus, not a failure of the judge.

        Raises
        ------
        TransientJudgeError
            ``kind`` is rate_limit, server_error, timeout, connection, bad_body or empty.
        PermanentJudgeError
            ``kind`` is auth, quota, roles, parameter, redirect, not_found or refused.
        """
        if self._first is None:
            self._first = asyncio.get_running_loop().create_future()
            try:
                reply = await self._attempt(body)
            except BaseException as error:
                self._first.set_result(error if isinstance(error, PermanentJudgeError) else None)
                raise
            self._first.set_result(None)
            return reply
        if not self._first.done():
            await asyncio.wait([self._first], timeout=FIRST_CALL_ALONE_S)
            fault = self._first.result() if self._first.done() else None
            if fault is not None:
                raise fault
        return await self._attempt(body)

    async def _attempt(self, body: Mapping[str, object]) -> Reply:
        answer = await self.endpoint.send("POST", self.endpoint.call_url, content=json.dumps(body).encode())
        document = _document(answer.text)
        error = read_error(document)
        if error is None and 200 <= answer.status < 300:
            return self._reply(document, answer)
        return self._unread(error or ApiError(message=answer.text), answer, body.keys() - _ALWAYS_SENT)

    def _reply(self, document: object, answer: Answer) -> Reply:
        try:
            return replace(self._read(document), latency_s=answer.latency_s)
        except (EmptyReplyError, OddBodyError) as error:
            kind = "empty" if isinstance(error, EmptyReplyError) else "bad_body"
            raise TransientJudgeError(f"{self._answered(answer)} ({error})", kind=kind, status=answer.status) from None

    def _unread(self, error: ApiError, answer: Answer, sent: Collection[str]) -> Reply:
        """What an error stands for: a datum of this stimulus, a reason to try again, or the end of the run."""
        succeeded = 200 <= answer.status < 300
        status = error.status or answer.status if succeeded else answer.status
        datum = error.datum(200 if succeeded else status)
        if datum:
            return Reply(text="", finish_reason=datum, latency_s=answer.latency_s)
        permanent = self._permanent(error, answer, status, sent)
        if permanent is not None:
            raise permanent
        kind = _STATUS_KINDS.get(status, "server_error")
        if status < 300:
            kind = {"rate_limit": "rate_limit", "overloaded": "server_error"}.get(error.meaning, "bad_body")
        asked_wait_s = retry_after_s(answer.headers)
        raise TransientJudgeError(
            self._answered(answer),
            kind=kind,
            status=answer.status,
            retry_after_s=error.retry_after_s if asked_wait_s is None else asked_wait_s,
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
            return self._denied(answer, self.endpoint.call_url)
        elif status in (400, 422, 500) and error.meaning == "roles" and self._roles_hint:
            kind, hint = "roles", f"this model takes no system message: {self._roles_hint}"
        elif refused:
            hint = f"{refused} is not taken: {self._field_hints.get(refused, self._other_field_hint)}"
            said = f"{self._answered(answer)}; {hint}"
            return RefusedFieldError(said, field=refused, reason=error.message, status=answer.status)
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
        variable = self.endpoint.api_key_env
        if variable is None:
            hint = (
                "this server wants a key, and none is bound to it: bind the environment variable that holds it to this "
                "host under [keys] in your own datasheet.toml (`datasheet init --user`)"
            )
        elif self.endpoint.has_key:
            hint = f"the key in {variable} is not accepted: set {variable} to one that may use {self._model}"
        else:
            hint = f"no key was sent: set the environment variable {variable}"
        return PermanentJudgeError(f"{self._answered(answer, url)}; {hint}", kind="auth", status=answer.status)

    def _answered(self, answer: Answer, url: URL | None = None) -> str:
        body = visible(answer.text.strip()) or "(an empty body)"
        where = shown(url or self.endpoint.call_url)
        return f"{where} answered HTTP {answer.status}{self.endpoint.through_proxy()}: {body}"

    async def _preflight(self) -> None:
        url = self.endpoint.url("/models")
        try:
            answer = await self.endpoint.send("GET", url, timeout_s=PREFLIGHT_TIMEOUT_S)
        except TransientJudgeError as error:
            if error.kind == "bad_body":
                return
            usual = f"start a server, for example `vllm serve {self._model}`" if self.endpoint.loopback else "check it"
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


def _document(text: str) -> object:
    """The JSON of a body, or None: also where it is nested too deeply to be one of ours."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _offered(document: object) -> list[str]:
    """Names of a list of models; nothing where it is malformed, a mere part or empty, which many servers' lists are."""
    listed = document.get("data") if isinstance(document, dict) and not document.get("has_more") else None
    if not isinstance(listed, list):
        return []
    return [entry["id"] for entry in listed if isinstance(entry, dict) and isinstance(entry.get("id"), str)]


def _same_model(asked: str, offered: str) -> bool:
    """Whether a server that lists one name would take the other: tags, folders and dates may be left out."""
    names = (asked, f"{asked}:latest", asked.partition(":")[0])
    undated = _DATE.sub("", offered)
    return offered in names or offered.endswith(f"/{asked}") or undated in (asked, asked.removesuffix("-latest"))


def _redirect_hint(location: str) -> str:
    try:
        target = URL(location)
        host = f"{target.scheme}://{target.host}" if target.host else "another path of the same host"
    except ValueError:
        host = "an unreadable place"
    return f"it points to {visible(host)}, and redirects are not followed, so that no key travels: name the final URL"
