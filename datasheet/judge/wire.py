"""What passes between us and a judge that is a function or a program: a request as JSON, and its answer.

The request is an object: ``messages`` (each with ``role`` and ``content``), ``first`` and ``second`` (the two answers
as shown), ``repeat`` (0 is the first call on a presentation), ``max_tokens``, ``response_schema`` (or null),
``top_logprobs`` (or null), and ``options`` from the judge's settings.

The answer is the reply's text; or an object with ``text`` and any of ``finish_reason``, ``refusal``, ``reasoning``,
``model``, ``prompt_tokens``, ``cached_tokens`` (a part of them), ``completion_tokens`` and ``logprobs`` (pairs of a
token and its natural log-probability, at the first token); or an object with ``error`` (a sentence), and ``retry``
(false where no further call can succeed) or ``retry_after_s``. Any other object is the reply itself, in JSON.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeGuard

from datasheet.errors import PermanentJudgeError, TransientJudgeError
from datasheet.judge.completion import as_text, cached_count, checked_candidates, token_count
from datasheet.judge.scrubbing import Scrubber
from datasheet.judge.urls import visible
from datasheet.records import Reply, Request

_TEXTS = ("text", "finish_reason", "refusal", "reasoning", "model")
_COUNTS = ("prompt_tokens", "cached_tokens", "completion_tokens")
_KEY_VARIABLE = re.compile(r"(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD)$")


def as_json(request: Request, options: Mapping[str, object]) -> dict[str, object]:
    """The request as an object of JSON values."""
    return {
        "messages": [{"role": role, "content": text} for role, text in request.messages],
        "first": request.first,
        "second": request.second,
        "repeat": request.repeat,
        "max_tokens": request.max_tokens,
        "response_schema": request.response_schema,
        "top_logprobs": request.top_logprobs,
        "options": dict(options),
    }


def environment_scrubber() -> Scrubber:
    """Takes the keys of the environment, which functions and programs can read, out of what they say."""
    return Scrubber(value for name, value in os.environ.items() if _KEY_VARIABLE.search(name.upper()))


def read_answer(answer: object, judge: str, *, latency_s: float, scrub: Scrubber) -> Reply:
    """The reply in an answer, without the secrets that ``scrub`` knows.

    Raises
    ------
    TransientJudgeError
        The answer is an error that may pass, or empty.
    PermanentJudgeError
        The answer is an error that no retry mends, or no answer as described above.
    """
    if isinstance(answer, str):
        answer = {"text": answer}
    if not isinstance(answer, Mapping):
        raise _misfit(judge, f"a text or an object, found {type(answer).__name__}")
    if "error" in answer:
        raise _error(answer, judge, scrub)
    if "text" not in answer:
        answer = {"text": _dumped(answer, judge)}
    reply = scrubbed(_reply(answer, judge, latency_s), scrub)
    if not reply.text and not reply.refusal and reply.finish_reason in ("", "stop"):
        raise TransientJudgeError(f"{judge} answered without a word", kind="empty")
    return reply


def scrubbed(reply: Reply, scrub: Scrubber) -> Reply:
    """The reply without secrets in any of its texts."""
    clean: dict[str, Any] = {name: scrub(getattr(reply, name)) for name in _TEXTS}
    return replace(reply, **clean)


def _reply(answer: Mapping[str, object], judge: str, latency_s: float) -> Reply:
    known = (*_TEXTS, *_COUNTS, "logprobs")
    unknown = [str(name) for name in answer if name not in known]
    if unknown:
        raise _misfit(judge, f"fields of {', '.join(known)}, found {visible(unknown[0])!r}")
    odd = [name for name in _TEXTS if not isinstance(answer.get(name) or "", str)]
    odd += [name for name in _COUNTS if answer.get(name) is not None and token_count(answer[name]) is None]
    if odd:
        kind = "text" if odd[0] in _TEXTS else "a number of tokens"
        raise _misfit(judge, f"{kind} in {odd[0]!r}, found {type(answer[odd[0]]).__name__}")
    return Reply(
        text=as_text(answer.get("text")),
        finish_reason=as_text(answer.get("finish_reason")),
        refusal=as_text(answer.get("refusal")),
        reasoning=as_text(answer.get("reasoning")),
        model=as_text(answer.get("model")),
        prompt_tokens=token_count(answer.get("prompt_tokens")),
        cached_tokens=cached_count(answer.get("cached_tokens"), answer.get("prompt_tokens")),
        completion_tokens=token_count(answer.get("completion_tokens")),
        latency_s=latency_s,
        logprobs=_candidates(answer.get("logprobs") or (), judge),
    )


def _candidates(listed: object, judge: str) -> tuple[tuple[str, float], ...]:
    pairs = list(listed) if isinstance(listed, list | tuple) else [listed]
    found = []
    for pair in pairs:
        token, logprob = pair if isinstance(pair, list | tuple) and len(pair) == 2 else (None, None)
        if not isinstance(token, str) or not _is_real(logprob):
            raise _misfit(judge, "pairs of a token and a number in 'logprobs'")
        found.append((token, float(logprob)))
    return checked_candidates(found)


def _is_real(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _error(answer: Mapping[str, object], judge: str, scrub: Scrubber) -> TransientJudgeError | PermanentJudgeError:
    said = f"{judge} says: {visible(scrub(str(answer['error'])))}"
    if answer.get("retry") is False:
        return PermanentJudgeError(said, kind="refused")
    wait_s = answer.get("retry_after_s")
    asked = float(wait_s) if isinstance(wait_s, int | float) and 0 <= wait_s < math.inf else None
    return TransientJudgeError(said, kind="rate_limit" if asked else "server_error", retry_after_s=asked)


def _dumped(answer: Mapping[str, object], judge: str) -> str:
    try:
        return json.dumps(dict(answer), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        raise _misfit(judge, "an object of JSON values") from None


def _misfit(judge: str, expected: str) -> PermanentJudgeError:
    return PermanentJudgeError(
        f"{judge} gave no answer that can be read: expected {expected} (see the section on judges in the README)",
        kind="contract",
    )
