"""What is read from a chat completion, and what is none."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest
from asking import ask_step
from loopback import Step, completion

from datasheet.errors import TransientJudgeError
from datasheet.judge.completion import first_token_logprobs
from datasheet.judge.http import BODY_LIMIT_BYTES
from datasheet.records import Reply

SCHEMA = {"type": "object", "properties": {"verdict": {"enum": ["A", "B", "tie"]}}}


@pytest.mark.parametrize(
    ("usage", "cached"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 40}}, 40),
        ({"prompt_cache_hit_tokens": 30}, 30),
        ({"prompt_tokens_details": {"cached_tokens": 0}}, 0),
        ({"prompt_tokens_details": None}, None),
        ({"prompt_tokens_details": {"cached_tokens": 61}}, None),
        ({"prompt_tokens_details": {"cached_tokens": "40"}}, None),
        ({}, None),
    ],
)
def test_cached_tokens_are_a_part_of_the_prompt_or_not_believed(usage: dict[str, object], cached: int | None) -> None:
    body = completion("[[A]]", usage={"prompt_tokens": 60, "completion_tokens": 1, **usage})
    assert ask_step(Step(json=body)).cached_tokens == cached


def test_a_whole_reply() -> None:
    body = completion("[[A]]", model="real-name", reasoning_content="so") | {"system_fingerprint": "fp_1"}
    reply = ask_step(Step(json=body, delay_s=0.05))
    assert reply.latency_s >= 0.05
    assert reply == Reply(
        text="[[A]]",
        finish_reason="stop",
        reasoning="so",
        prompt_tokens=60,
        completion_tokens=12,
        latency_s=reply.latency_s,
        model="real-name",
        fingerprint="fp_1",
    )


@pytest.mark.parametrize("tokens", [None, "60", -1, 1.5, True, [], {}, 10**400])
def test_odd_counts_and_names_are_left_out(tokens: object) -> None:
    body = completion("[[A]]", finish_reason=None, usage={"prompt_tokens": tokens}, reasoning=7, refusal=[])
    reply = ask_step(Step(json=body | {"model": None, "system_fingerprint": 3}))
    assert reply == Reply(text="[[A]]", latency_s=reply.latency_s)


def test_odd_usage_is_left_out() -> None:
    assert ask_step(Step(json=completion("[[A]]") | {"usage": None})).prompt_tokens is None


def test_text_parts_are_joined_and_thoughts_are_not() -> None:
    parts = [
        {"type": "thinking", "thinking": "[[B]]", "text": "[[B]]"},
        {"type": "text", "text": "[["},
        "odd",
        {"type": "text", "text": "A]]"},
    ]
    assert ask_step(Step(json=completion(parts))).text == "[[A]]"


def test_a_refusal_is_a_reply() -> None:
    reply = ask_step(Step(json=completion(None, refusal="I can't compare these.")))
    assert (reply.text, reply.refusal) == ("", "I can't compare these.")


@pytest.mark.parametrize("reason", ["length", "content_filter", "tool_calls"])
def test_an_empty_text_with_a_reason_is_a_reply(reason: str) -> None:
    reply = ask_step(Step(json=completion("", finish_reason=reason)))
    assert (reply.text, reply.finish_reason) == ("", reason)


@pytest.mark.parametrize("reason", ["stop", None, ""])
@pytest.mark.parametrize("content", [None, "", []])
def test_an_empty_text_without_a_reason_is_transient(content: object, reason: str | None) -> None:
    with pytest.raises(TransientJudgeError) as error:
        ask_step(Step(json=completion(content, finish_reason=reason)))
    assert error.value.kind == "empty"


@pytest.mark.parametrize(
    "step",
    [
        Step(json=[]),
        Step(json="[[A]]"),
        Step(json={}),
        Step(json={"choices": None}),
        Step(json={"choices": {"0": 1}}),
        Step(json={"choices": ["[[A]]"]}),
        Step(json={"choices": [{"text": "[[A]]"}]}),
        Step(json=completion(8)),
        Step(json=completion({"text": "[[A]]"})),
        Step(text="[" * 200_000),
        Step(text='{"choices": [' + "9" * 10_000),
        Step(text='data: {"choices": []}\n\n'),
        Step(content=b"\xff\xfe\x00"),
        Step(status=204),
    ],
)
def test_a_body_of_another_shape_is_transient(step: Step) -> None:
    with pytest.raises(TransientJudgeError) as error:
        ask_step(step)
    assert error.value.kind == "bad_body"


@pytest.mark.parametrize("packed", ["", "gzip", "deflate"])
def test_a_body_without_end_is_not_read_to_its_end(packed: str) -> None:
    body = json.dumps(completion("[[A]]" + " " * 4 * BODY_LIMIT_BYTES)).encode()
    packer = {"gzip": gzip.compress, "deflate": zlib.compress}
    step = Step(content=packer[packed](body, 1), headers={"Content-Encoding": packed}) if packed else Step(content=body)
    with pytest.raises(TransientJudgeError, match="longer than 8,000,000 bytes") as error:
        ask_step(step)
    assert error.value.kind == "bad_body"


def test_a_body_with_a_byte_order_mark_is_read() -> None:
    assert ask_step(Step(text="\ufeff" + '{"choices": [{"message": {"content": "[[A]]"}}]}')).text == "[[A]]"


def test_a_broken_encoding_is_transient() -> None:
    with pytest.raises(TransientJudgeError) as error:
        ask_step(Step(content=b"no gzip at all", headers={"Content-Encoding": "gzip"}))
    assert error.value.kind == "connection"


@pytest.mark.parametrize(
    ("logprobs", "candidates"),
    [
        ({"content": [{"token": "A", "logprob": -0.5, "top_logprobs": []}]}, (("A", -0.5),)),
        ({"content": [{"token": "A", "logprob": -0.5}]}, (("A", -0.5),)),
        (
            {"content": [{"token": "C", "logprob": -7, "top_logprobs": [{"token": "A", "logprob": -0.1}, None]}]},
            (("A", -0.1),),
        ),
        (
            {"content": [{"token": "A", "top_logprobs": [{"token": t, "logprob": -1} for t in ("A", "A", "B")]}]},
            (("A", -1.0), ("A", -1.0), ("B", -1.0)),
        ),
        (
            {
                "content": [
                    {"token": "A", "top_logprobs": [{"token": t, "logprob": x} for t, x in (("A", 2), ("B", -1))]}
                ]
            },
            (),
        ),
        ({"tokens": ["A"], "token_logprobs": [-0.5], "top_logprobs": None}, (("A", -0.5),)),
        ({"tokens": ["A"], "token_logprobs": [None], "top_logprobs": [{"A": float("-inf"), "B": -1}]}, (("B", -1.0),)),
        ({"content": [{"token": "A", "logprob": float("nan"), "top_logprobs": {"A": 1}}]}, ()),
        ({"content": [{"token": "A", "logprob": -9001.0}]}, ()),
        ({"content": [{"token": 5, "logprob": -1.0}]}, ()),
        ({"content": [{"token": "A", "logprob": False}]}, ()),
        ({"content": [{"token": "A", "logprob": 10**400}]}, ()),
        ({"content": []}, ()),
        ({"content": [None]}, ()),
        ({"content": None}, ()),
        ({"tokens": [], "token_logprobs": [], "top_logprobs": [[]]}, ()),
        ({}, ()),
        (None, ()),
        ([1], ()),
    ],
)
def test_candidates_at_the_first_token(logprobs: object, candidates: tuple) -> None:
    assert first_token_logprobs(logprobs) == candidates
