"""Calls that are made in batches: what is asked, and what an answer means, are what they are in a live call."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from asking import ask, ask_step, ask_together, judge_of, request
from loopback import LoopbackServer, Step, completion, failure, message

from datasheet.errors import JudgeError, TransientJudgeError
from datasheet.judge.anthropic import AnthropicJudge
from datasheet.judge.batch import BatchJudge, read_batched
from datasheet.judge.scrubbing import Scrubber
from datasheet.judge.simulated import OBSERVERS, SimulatedJudge
from datasheet.records import Lexicon, Reply

SCHEMA = {"type": "object", "properties": {"verdict": {"enum": ["A", "B", "tie"]}}}
ASKED = request("Compare \ud800 these.", schema=SCHEMA, repeat=2, top_logprobs=20)
TOP = {
    "token": "A",
    "logprob": -0.1,
    "top_logprobs": [{"token": "A", "logprob": -0.1}, {"token": "B", "logprob": -9999}],
}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"seed": 7, "json_mode": "json_schema", "max_tokens_field": "max_completion_tokens"},
        {"system_role": "merge", "json_mode": "json_object", "extra_body": {"top_k": 1}, "temperature": None},
    ],
    ids=["basic", "openai", "local"],
)
def test_the_body_is_the_one_that_a_live_call_sends(settings: dict[str, object]) -> None:
    with LoopbackServer() as server:
        ask(server, ASKED, **settings)
        judge = judge_of(server, **settings)
        assert judge.body(ASKED) == server.calls[0].body
    assert isinstance(judge, BatchJudge)


def test_the_body_of_a_message_is_the_one_that_a_live_call_sends() -> None:
    with LoopbackServer([Step(json=message({"type": "text", "text": "[[A]]"}))]) as server:
        judge = AnthropicJudge(model="fake-judge", base_url=server.base_url, extra_body={"top_k": 1})
        asyncio.run(ask_together(judge, ASKED))
        assert judge.body(ASKED) == server.calls[0].body
    assert isinstance(judge, BatchJudge)


def test_a_judge_without_batches_is_none() -> None:
    assert not isinstance(SimulatedJudge(OBSERVERS["careful"], Lexicon(requirements={}), name="careful"), BatchJudge)


def read(step: Step, adapter: str = "openai", *, status: int | None = None) -> Reply:
    return read_batched(adapter, step.json, status or step.status, scrub=Scrubber())


@pytest.mark.parametrize(
    "step",
    [
        Step(json=completion('{"verdict": "A"}')),
        Step(json=completion(None, refusal="I can't judge that.")),
        Step(json=completion(None, finish_reason="length", reasoning="Let me weigh")),
        Step(json=completion([{"type": "text", "text": "[[A]]"}], reasoning_content="The longer one.")),
        Step(json=completion("A", choice={"logprobs": {"content": [TOP]}})),
        Step(json={**completion("half \ud800"), "system_fingerprint": "fp-1", "usage": None}),
        failure(400, "This model's maximum context length is 9 tokens", code="context_length_exceeded"),
        failure(400, "The response was filtered", code="content_filter"),
        Step(json={"error": {"message": "blocked by the content filter", "code": 400}}),
    ],
)
def test_a_reply_is_the_one_that_a_live_call_gives(step: Step) -> None:
    assert read(step) == replace(ask_step(step), latency_s=0.0)


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (Step(json=completion("")), "empty"),
        (Step(json={"id": "x", "choices": []}), "empty"),
        (Step(json={"id": "x"}), "bad_body"),
        (Step(json="text"), "bad_body"),
        (failure(429, "slow down"), "server_error"),
        (failure(429, "Rate limit reached", code="rate_limit_exceeded"), "rate_limit"),
        (failure(429, "You exceeded your quota", code="insufficient_quota"), "quota"),
        (failure(400, "Unsupported parameter: 'max_tokens'", param="max_tokens"), "refused"),
        (failure(404, "no such model", code="model_not_found"), "refused"),
        (failure(503, "busy"), "server_error"),
        (Step(status=500, json=None), "server_error"),
    ],
)
def test_what_is_no_reply_to_a_live_call_is_none_here(step: Step, kind: str) -> None:
    with pytest.raises(JudgeError):
        ask_step(step)
    with pytest.raises(TransientJudgeError) as left:
        read(step)
    assert (left.value.kind, left.value.status) == (kind, step.status)


def test_an_error_of_unknown_status_is_read_by_its_words() -> None:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 5"}}
    assert read_batched("anthropic", error, None, scrub=Scrubber()).finish_reason == "context_length"
    for code, kind in (("invalid_request_error", "refused"), ("api_error", "server_error"), ("billing_error", "quota")):
        with pytest.raises(TransientJudgeError) as left:
            read_batched("anthropic", {"error": {"type": code, "message": "no"}}, None, scrub=Scrubber())
        assert left.value.kind == kind


def test_a_key_that_an_answer_holds_is_not_kept() -> None:
    secret = "sk-secret-secret"
    with pytest.raises(TransientJudgeError) as left:
        read_batched("openai", {"error": {"message": f"Incorrect key {secret}"}}, 401, scrub=Scrubber([secret]))
    assert str(left.value) == "Incorrect key [key]"
    assert read_batched("openai", completion(f"key: {secret}"), 200, scrub=Scrubber([secret])).text == "key: [key]"
