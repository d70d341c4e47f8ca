"""What functions and programs get and give."""

from __future__ import annotations

import json

import pytest
from asking import request

from datasheet.errors import PermanentJudgeError, TransientJudgeError
from datasheet.judge.scrubbing import Scrubber
from datasheet.judge.wire import as_json, read_answer
from datasheet.records import Reply

NOTHING = Scrubber()


def test_a_request_is_plain_json_without_its_key() -> None:
    asked = as_json(request("Compare.", schema={"type": "object"}, repeat=2, top_logprobs=5), {"k": 1})
    assert json.loads(json.dumps(asked)) == {
        "messages": [{"role": "system", "content": "You compare."}, {"role": "user", "content": "Compare."}],
        "first": "x",
        "second": "y",
        "repeat": 2,
        "max_tokens": 256,
        "response_schema": {"type": "object"},
        "top_logprobs": 5,
        "options": {"k": 1},
    }


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        ("[[A]]", Reply(text="[[A]]", latency_s=0.5)),
        ({"verdict": "A"}, Reply(text='{"verdict": "A"}', latency_s=0.5)),
        ({"text": "", "finish_reason": "length"}, Reply(text="", finish_reason="length", latency_s=0.5)),
        ({"text": None, "refusal": "no"}, Reply(text="", refusal="no", latency_s=0.5)),
        (
            {
                "text": "A",
                "finish_reason": "stop",
                "reasoning": "so",
                "model": "m",
                "prompt_tokens": 3,
                "cached_tokens": 2,
                "completion_tokens": 1,
                "logprobs": [["A", -0.5], ("B", -1)],
            },
            Reply(
                text="A",
                finish_reason="stop",
                reasoning="so",
                model="m",
                prompt_tokens=3,
                cached_tokens=2,
                completion_tokens=1,
                logprobs=(("A", -0.5), ("B", -1.0)),
                latency_s=0.5,
            ),
        ),
    ],
)
def test_an_answer(answer: object, reply: Reply) -> None:
    assert read_answer(answer, "mine", latency_s=0.5, scrub=NOTHING) == reply


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "a text or an object, found NoneType"),
        (7, "a text or an object, found int"),
        ({"text": 7}, "text in 'text', found int"),
        ({"text": "A", "model": ["m"]}, "text in 'model', found list"),
        ({"text": "A", "prompt_tokens": -1}, "a number of tokens in 'prompt_tokens'"),
        ({"text": "A", "prompt_tokens": True}, "a number of tokens in 'prompt_tokens'"),
        ({"text": "A", "verdict\x1b": "A"}, r"fields of text, .* found 'verdict\\\\x1b'"),
        ({"text": "A", "logprobs": 5}, "pairs of a token and a number"),
        ({"text": "A", "logprobs": [["A", float("nan")]]}, "pairs of a token and a number"),
        ({"text": "A", "logprobs": [["A", 1, 2]]}, "pairs of a token and a number"),
        ({"at": object()}, "an object of JSON values"),
    ],
)
def test_what_is_no_answer_ends_the_run_with_what_was_expected(answer: object, said: str) -> None:
    with pytest.raises(PermanentJudgeError, match=said) as error:
        read_answer(answer, "mine", latency_s=0, scrub=NOTHING)
    assert error.value.kind == "contract"
    assert str(error.value).startswith("mine gave no answer")


@pytest.mark.parametrize(
    ("answer", "kind", "wait_s"),
    [
        ({"error": "down"}, "server_error", None),
        ({"error": "slow down", "retry_after_s": 30}, "rate_limit", 30.0),
        ({"error": {"message": "down"}, "retry": True, "retry_after_s": "soon"}, "server_error", None),
        ("", "empty", None),
        ({"text": ""}, "empty", None),
    ],
)
def test_an_error_that_may_pass(answer: object, kind: str, wait_s: float | None) -> None:
    with pytest.raises(TransientJudgeError) as error:
        read_answer(answer, "mine", latency_s=0, scrub=NOTHING)
    assert (error.value.kind, error.value.retry_after_s) == (kind, wait_s)


def test_an_error_that_does_not_pass() -> None:
    with pytest.raises(PermanentJudgeError, match=r"mine says: no licence\\x1b"):
        read_answer({"error": "no licence\x1b", "retry": False}, "mine", latency_s=0, scrub=NOTHING)


def test_no_part_of_an_answer_tells_a_secret() -> None:
    scrub, told = Scrubber(["sk-0123456789"]), "I am sk-0123456789"
    reply = read_answer({"text": told, "model": told, "reasoning": told}, "mine", latency_s=0, scrub=scrub)
    assert (reply.text, reply.model, reply.reasoning) == ("I am [key]",) * 3
    for error in (told, {"message": {"deep": told}}):
        with pytest.raises(TransientJudgeError) as failure:
            read_answer({"error": error}, "mine", latency_s=0, scrub=scrub)
        assert "sk-0123456789" not in str(failure.value)
