"""A scriptable server on 127.0.0.1 that speaks as much of a chat API as a judge needs.

In a test, in a thread of its own::

    with LoopbackServer([Step(status=429, headers={"Retry-After": "3"}), verdict("[[A]]")]) as server:
        ...  # ask a judge at server.base_url
    assert [call.number for call in server.calls] == [0, 1]

The last step is repeated. Instead of steps, a function may answer: ``LoopbackServer(lambda call: verdict(...))``.

As a process of its own (kill tests, benchmarks), printing its port on the first line::

    python tests/loopback.py --port 0 --delay 0.05 --policy longer

There, ``GET /calls`` tells how many chat calls have come in: ``{"calls": 12}``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from aiohttp import web

CHAT_PATHS = ("/v1/chat/completions", "/v1/messages")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request as the server saw it; ``body`` is its JSON, ``at_s`` monotonic seconds, ``number`` counts from 0."""

    number: int
    path: str
    headers: Mapping[str, str]
    body: dict
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What the server does with one request.

    Attributes
    ----------
    json, text, content
        The body, one of the three.
    delay_s
        Seconds before the answer.
    close
        Cut the connection without an answer.
    cut_after
        Announce the whole body, send this many bytes of it, then cut the connection.
    chunked
        Announce no length: a body that is cut ends without its last chunk.
    stall
        Take the request and never answer.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    json: object = None
    text: str | None = None
    content: bytes | None = None
    delay_s: float = 0.0
    close: bool = False
    cut_after: int | None = None
    chunked: bool = False
    stall: bool = False

    def body(self) -> tuple[bytes, str]:
        """The body's bytes and its content type."""
        if self.content is not None:
            return self.content, "application/octet-stream"
        if self.text is not None:
            return self.text.encode(), "text/plain; charset=utf-8"
        return json.dumps(self.json).encode(), "application/json"


Script = Sequence[Step] | Callable[[Call], Step]


def completion(
    content: object,
    *,
    finish_reason: str | None = "stop",
    model: str = "fake-judge",
    usage: object = None,
    choice: Mapping[str, object] | None = None,
    **message: object,
) -> dict[str, object]:
    """The JSON of a chat completion; ``message`` adds fields to the message, ``choice`` to the choice."""
    return {
        "id": "chatcmpl-x",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, **message},
                "finish_reason": finish_reason,
                **(choice or {}),
            }
        ],
        "usage": usage or {"prompt_tokens": 60, "completion_tokens": 12, "total_tokens": 72},
    }


def verdict(text: str, *, delay_s: float = 0.0) -> Step:
    """A step that answers with an ordinary completion of this text."""
    return Step(json=completion(text), delay_s=delay_s)


def failure(status: int, message: str, *, headers: Mapping[str, str] | None = None, **error: object) -> Step:
    """A step that answers with an OpenAI error object; ``error`` sets its type, param and code."""
    return Step(
        status=status,
        headers=headers or {},
        json={"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None, **error}},
    )


def message(*blocks: Mapping[str, object], stop_reason: str = "end_turn", **fields: object) -> dict[str, object]:
    """The JSON of a message of the Anthropic API; ``fields`` adds to it."""
    return {
        "id": "msg-x",
        "type": "message",
        "role": "assistant",
        "model": "fake-judge",
        "content": list(blocks),
        "stop_reason": stop_reason,
        "usage": {"input_tokens": 50, "output_tokens": 20},
        **fields,
    }


_ALWAYS_A = (verdict("[[A]]"),)


class LoopbackServer:
    """A context manager that serves a script on 127.0.0.1 and keeps what was asked.

    Parameters
    ----------
    script
        Steps in the order of the calls (the last is repeated), or a function from call to step.
    models
        What ``GET /v1/models`` offers: names, a step of its own, or None (404).
    serial
        Answer one call at a time, as servers with one slot do; the others queue.
    paths
        Where the script is served (POST); elsewhere the server says 404. None: everywhere.
    tls
        Serve over TLS with this context.
    """

    def __init__(
        self,
        script: Script = _ALWAYS_A,
        *,
        models: Sequence[str] | Step | None = ("fake-judge",),
        serial: bool = False,
        paths: Sequence[str] | None = CHAT_PATHS,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.calls: list[Call] = []
        self.model_calls: list[Call] = []
        self.in_flight = 0
        self.peak_in_flight = 0
        self.port = 0
        self._script = script
        self._models = models
        self._serial = serial
        self._paths = paths
        self._tls = tls

    @property
    def url(self) -> str:
        """The root of the server, without ``/v1``."""
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        """The base that a judge is pointed at."""
        return f"{self.url}/v1"

    def __enter__(self) -> LoopbackServer:
        started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(started.set)), name="loopback")
        self._thread.start()
        if not started.wait(10):
            raise RuntimeError("the loopback server did not start within 10 s")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    async def _serve(self, started: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=0.2)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self.port, backlog=1024, ssl_context=self._tls)
        await site.start()
        self.port = runner.addresses[0][1]
        started()
        await self._stopping.wait()
        await runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        received = await request.read()
        try:
            body = json.loads(received) if received else {}
        except ValueError:
            body = {}
        calls = self.model_calls if request.method == "GET" else self.calls
        call = Call(
            number=len(calls), path=request.path_qs, headers=request.headers.copy(), body=body, at_s=time.monotonic()
        )
        calls.append(call)
        step = self._step(request.method, request.path, call)
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        try:
            if self._serial:
                async with self._one_at_a_time:
                    return await self._act(request, step)
            return await self._act(request, step)
        finally:
            self.in_flight -= 1

    def _step(self, method: str, path: str, call: Call) -> Step:
        not_found = Step(status=404, text="404 page not found")
        if method == "GET":
            if self._models is None or not path.endswith("/v1/models"):
                return not_found
            if isinstance(self._models, Step):
                return self._models
            return Step(json={"object": "list", "data": [{"id": name, "object": "model"} for name in self._models]})
        if self._paths is not None and path not in self._paths:
            return not_found
        if callable(self._script):
            return self._script(call)
        return self._script[min(call.number, len(self._script) - 1)]

    async def _act(self, request: web.BaseRequest, step: Step) -> web.StreamResponse:
        if step.delay_s:
            await asyncio.sleep(step.delay_s)
        if step.stall:
            await self._stopping.wait()
        content, content_type = step.body()
        headers = {"Content-Type": content_type, **step.headers}
        if step.close or step.stall:
            _cut(request)
            return web.Response()
        if step.cut_after is not None:
            length = {} if step.chunked else {"Content-Length": str(len(content))}
            response = web.StreamResponse(status=step.status, headers={**headers, **length})
            if step.chunked:
                response.enable_chunked_encoding()
            await response.prepare(request)
            await response.write(content[: step.cut_after])
            _cut(request)
            return response
        return web.Response(status=step.status, headers=headers, body=content)


def _cut(request: web.BaseRequest) -> None:
    if request.transport is not None:
        request.transport.close()


# --- as a process of its own -----------------------------------------------------------------------------------------

_REPLIES = {"first": '{"verdict": "A"}', "second": '{"verdict": "B"}', "tie": '{"verdict": "tie"}'}
_ANSWERS = re.compile(
    "(?s)=+ ANSWER A BEGINS =+\n(.*?)=+ ANSWER A ENDS .*=+ ANSWER B BEGINS =+\n(.*?)=+ ANSWER B ENDS "
)


def longer_answer(prompt: str) -> str:
    """``first``, ``second`` or ``tie`` by the length of the two answers, as the shipped prompts delimit them."""
    found = _ANSWERS.search(prompt)
    if not found:
        return "tie"
    first, second = (len(text.split()) for text in found.groups())
    return "tie" if first == second else ("first" if first > second else "second")


def _process_handler(policy: str, delay_s: float, models: Sequence[str]) -> Callable[[web.BaseRequest], object]:
    completions = {name: json.dumps(completion(text)).encode() for name, text in _REPLIES.items()}
    offered = json.dumps({"object": "list", "data": [{"id": name, "object": "model"} for name in models]}).encode()
    headers = {"Content-Type": "application/json"}
    calls = 0

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal calls
        if request.method == "GET":
            body = json.dumps({"calls": calls}).encode() if request.path == "/calls" else offered
            return web.Response(body=body, headers=headers)
        received = await request.read()
        calls += 1
        chosen = policy
        if policy == "longer":
            chosen = longer_answer(json.loads(received)["messages"][-1]["content"])
        if delay_s:
            await asyncio.sleep(delay_s)
        return web.Response(body=completions[chosen], headers=headers)

    return handle


async def _serve_process(port: int, delay_s: float, policy: str, models: Sequence[str]) -> None:
    runner = web.ServerRunner(web.Server(_process_handler(policy, delay_s, models), access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, backlog=1024).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Serve one fixed policy until killed."""
    parser = argparse.ArgumentParser(description="A fixed judge on 127.0.0.1; prints its port.")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--delay", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--policy", choices=["longer", *_REPLIES], default="first")
    parser.add_argument("--model", action="append", default=None, help="a name that /v1/models offers")
    options = parser.parse_args()
    asyncio.run(_serve_process(options.port, options.delay, options.policy, options.model or ["fake-judge"]))


if __name__ == "__main__":
    main()
