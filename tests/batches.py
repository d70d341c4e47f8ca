"""A provider that answers batch files as the loopback server of the builds would answer the same calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from loopback import Call, Step
from workflows.moody_server import answer

Answering = Callable[[Call], Step]


def openai_line(custom_id: str, body: object, *, status: int = 200, error: object = None) -> dict[str, Any]:
    """A line of an OpenAI output or error file, of a call that was made."""
    response = {"status_code": status, "request_id": f"req-{custom_id[-4:]}", "body": body}
    return {"id": f"batch_req_{custom_id[-4:]}", "custom_id": custom_id, "response": response, "error": error}


def expired_line(custom_id: str) -> dict[str, Any]:
    """A line of an OpenAI error file, of a call that was not made."""
    error = {"code": "batch_expired", "message": "This request could not be executed in time."}
    return {"id": "batch_req_x", "custom_id": custom_id, "response": None, "error": error}


def vllm_failure(custom_id: str, error: object, *, status: int = 400) -> dict[str, Any]:
    """A line of vLLM's offline runner for a call that failed: no body, and the error beside it."""
    return openai_line(custom_id, None, status=status, error=error)


def anthropic_line(custom_id: str, kind: str, **fields: object) -> dict[str, Any]:
    """A line of Anthropic's results."""
    return {"custom_id": custom_id, "result": {"type": kind, **fields}}


def asked(path: str | Path) -> dict[str, dict[str, Any]]:
    """The bodies in a file of requests, by their ids."""
    text = Path(path).read_text(encoding="utf-8")
    if text.startswith('{"requests"'):
        return {request["custom_id"]: request["params"] for request in json.loads(text)["requests"]}
    return {request["custom_id"]: request["body"] for request in map(json.loads, text.splitlines())}


def documents(path: str | Path, answering: Answering) -> dict[str, Any]:
    """What a server would have answered to each request of a file, by their ids."""
    return {
        custom_id: answering(Call(number=number, path="", headers={}, body=body, at_s=0.0)).json
        for number, (custom_id, body) in enumerate(asked(path).items())
    }


def answers(path: str | Path, answering: Answering = answer) -> list[dict[str, Any]]:
    """A line for each request of an OpenAI file, all of which succeeded."""
    return [openai_line(custom_id, document) for custom_id, document in documents(path, answering).items()]


def write_lines(path: str | Path, lines: Iterable[object]) -> Path:
    """Write values as lines of JSON; a text is written as it is."""
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    Path(path).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return Path(path)
