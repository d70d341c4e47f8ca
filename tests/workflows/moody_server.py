"""A server whose answer to a stimulus is always the same, and which fails at random in every way that servers fail."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from email.utils import formatdate

from loopback import Call, LoopbackServer, Step, completion, failure, longer_answer

WORDS = {"first": "A", "second": "B", "tie": "tie"}
PROXY_PAGE = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"


def answer(call: Call) -> Step:
    """What the judge makes of a stimulus, worded and wrapped in as many ways as servers have, and mostly a verdict."""
    prompt = call.body["messages"][-1]["content"]
    text = json.dumps({"verdict": WORDS[longer_answer(prompt)]})
    match sum(prompt.encode()) % 12:
        case 0:
            return Step(json=completion(None, refusal="I can't judge that."))
        case 1:
            return Step(json=completion(None, finish_reason="length", reasoning="Let me weigh"))
        case 2:
            return Step(json=completion([{"type": "text", "text": text}]))
        case 3:
            return Step(json=completion(text, reasoning_content="The longer one."))
        case 4:
            return Step(json=completion(f"```json\n{text}\n```\u2028\u0085"))
        case 5:
            usage = {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
            return Step(json=completion(text, usage=usage))
        case 6:
            return Step(json=completion(text, choice={"logprobs": None}))
    return Step(json=completion(text))


def refused_parameter(call: Call) -> Step:
    sent = "response_format" in call.body
    return failure(400, "Unsupported parameter", param="response_format") if sent else Step(status=503, text="busy")


FAILURES: dict[str, tuple[int, Callable[[Call], Step]]] = {
    "rate limit in seconds": (1, lambda call: failure(429, "slow down", headers={"Retry-After": "0"})),
    "rate limit until a date": (
        1,
        lambda call: failure(429, "slow", headers={"Retry-After": formatdate(usegmt=True)}),
    ),
    "rate limit of hours": (1, lambda call: failure(429, "tomorrow", headers={"Retry-After": "86400"})),
    "quota": (1, lambda call: failure(429, "You exceeded your quota", code="insufficient_quota")),
    "wrong model": (1, lambda call: failure(404, "no such model", code="model_not_found")),
    "wrong key": (1, lambda call: failure(401, "Incorrect API key")),
    "refused parameter": (1, refused_parameter),
    "hung socket": (1, lambda call: Step(stall=True)),
    "cut connection": (14, lambda call: Step(close=True)),
    "cut stream": (14, lambda call: Step(json=completion('{"verdict": "A"}'), cut_after=40)),
    "proxy page": (14, lambda call: Step(status=502, text=PROXY_PAGE)),
    "proxy page as an answer": (14, lambda call: Step(text=PROXY_PAGE)),
    "error in an answer": (14, lambda call: Step(json={"error": {"message": "Provider returned error", "code": 502}})),
    "no choices": (14, lambda call: Step(json={"id": "x", "choices": []})),
    "no content": (14, lambda call: Step(json=completion(""))),
    "no JSON": (14, lambda call: Step(text="")),
    "down": (14, lambda call: failure(500, "internal error")),
    "overloaded": (14, lambda call: failure(529, "Overloaded", type="overloaded_error")),
}
"""Each way to fail, and how often it comes in one round of all of them."""


class MoodyServer(LoopbackServer):
    """Fails on this share of the calls, each time at random; ``failed`` counts how, ``answered`` what it answered."""

    def __init__(self, rng: random.Random, *, share: float) -> None:
        super().__init__(self._mood)
        self.share = share
        self.failed: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self._rng = rng
        self._round: list[str] = []

    def _mood(self, call: Call) -> Step:
        if self._rng.random() < self.share:
            if not self._round:
                self._round = [name for name, (times, _) in FAILURES.items() for _ in range(times)]
                self._rng.shuffle(self._round)
            name = self._round.pop()
            self.failed[name] += 1
            return FAILURES[name][1](call)
        self.answered[json.dumps(call.body["messages"])] += 1
        return answer(call)
