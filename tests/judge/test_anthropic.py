"""The Messages API: what is sent, which key goes where, and what a message says."""

from __future__ import annotations

import asyncio

import pytest
from asking import ask_together, request
from loopback import LoopbackServer, Step, failure, message

from datasheet.errors import PermanentJudgeError, TransientJudgeError, UsageError
from datasheet.judge.anthropic import AnthropicJudge, read_message
from datasheet.judge.completion import OddBodyError
from datasheet.records import Reply, Request

TEXT = {"type": "text", "text": "[[A]]"}


def ask(server: LoopbackServer, asked: Request | None = None, **settings: object) -> Reply:
    judge = AnthropicJudge(**{"model": "fake-judge", "base_url": server.base_url, **settings})
    (reply,) = asyncio.run(ask_together(judge, asked or request()))
    if isinstance(reply, BaseException):
        raise reply
    return reply


def served(body: object = None) -> LoopbackServer:
    return LoopbackServer([Step(json=body or message(TEXT))])


def test_what_is_sent() -> None:
    with served() as server:
        ask(server, request(schema={"type": "object"}, top_logprobs=5, repeat=2))
        (call,) = server.calls
    assert call.path == "/v1/messages"
    assert call.headers["anthropic-version"] == "2023-06-01"
    assert call.body == {
        "model": "fake-judge",
        "max_tokens": 256,
        "system": "You compare.",
        "messages": [{"role": "user", "content": "Compare."}],
        "temperature": 0.0,
    }


def test_settings_change_their_fields_and_the_identity() -> None:
    settings = {"temperature": None, "max_tokens": 9, "extra_body": {"thinking": {"type": "disabled"}}}
    with served() as server:
        ask(server, request(messages=(("user", "Compare."),)), **settings)
        body = server.calls[0].body
    assert body.keys() == {"model", "max_tokens", "messages", "thinking"}
    assert body["max_tokens"] == 9
    judge = AnthropicJudge(model="m", base_url="http://127.0.0.1:1", **settings)  # type: ignore[arg-type]
    assert judge.decoding == {"max_tokens": 9, "extra_body": {"thinking": {"type": "disabled"}}}
    assert (judge.adapter, judge.model, judge.simulated) == ("anthropic", "m", False)


@pytest.mark.parametrize(
    ("settings", "header", "sent"),
    [
        ({}, "x-api-key", "key-of-this-test"),
        ({"key_header": "Authorization"}, "Authorization", "Bearer key-of-this-test"),
    ],
)
def test_the_key_goes_into_its_header_and_is_shown_nowhere(
    settings: dict, header: str, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "key-of-this-test")
    with LoopbackServer(lambda call: failure(400, f"{dict(call.headers)}")) as server:
        with pytest.raises(PermanentJudgeError) as error:
            ask(server, api_key_env="JUDGE_KEY", **settings)
        (call,) = server.calls
        assert server.model_calls[0].headers[header] == call.headers[header] == sent
        assert ("Authorization" in call.headers) is (header == "Authorization")
    assert "key-of-this-test" not in str(error.value)


def test_a_whole_message() -> None:
    usage = {"input_tokens": 5, "cache_creation_input_tokens": 2000, "cache_read_input_tokens": 30, "output_tokens": 7}
    thinking = {"type": "thinking", "thinking": "so", "signature": "x"}
    reply = read_message(message(thinking, TEXT, usage=usage, model="real-name"))
    assert reply == Reply(
        text="[[A]]",
        finish_reason="stop",
        reasoning="so",
        prompt_tokens=2035,
        cached_tokens=30,
        completion_tokens=7,
        model="real-name",
    )


@pytest.mark.parametrize(
    ("stop_reason", "finish_reason"),
    [("end_turn", "stop"), ("stop_sequence", "stop"), ("max_tokens", "length"),
     ("model_context_window_exceeded", "length"), ("tool_use", "tool_use"), ("refusal", "refusal")],
)  # fmt: skip
def test_why_a_reply_ended_is_told_in_the_parser_s_words(stop_reason: str, finish_reason: str) -> None:
    reply = read_message(message(TEXT, stop_reason=stop_reason))
    assert (reply.finish_reason, bool(reply.refusal)) == (finish_reason, stop_reason == "refusal")


@pytest.mark.parametrize("document", [None, [], {}, {"content": "[[A]]"}, {"content": None}])
def test_what_is_no_message_has_no_reply(document: object) -> None:
    with pytest.raises(OddBodyError):
        read_message(document)


def test_odd_usage_and_blocks_are_left_out() -> None:
    reply = read_message(message(TEXT, "odd", {"type": "text"}, usage={"input_tokens": "x"}))  # type: ignore[arg-type]
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("[[A]]", None, None)
    assert read_message(message(TEXT, usage=None)).prompt_tokens is None


def test_an_empty_message_is_asked_again() -> None:
    with served(message()) as server, pytest.raises(TransientJudgeError) as error:
        ask(server)
    assert error.value.kind == "empty"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"extra_body": {"system": "x"}}, "extra_body holds system"),
        ({"temperature": -1}, "temperature should be"),
        ({"max_tokens": 0}, "max_tokens should be"),
        ({"model": ""}, "model should be"),
        ({"timeout_s": 0}, "timeout_s above 0"),
    ],
)
def test_settings_that_do_not_fit_are_named(settings: dict, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        AnthropicJudge(**{"model": "m", "base_url": "http://127.0.0.1:1", **settings})


def test_a_refused_temperature_is_named_with_its_setting() -> None:
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": "temperature: not supported"}}
    with LoopbackServer([Step(status=400, json=body)]) as server, pytest.raises(PermanentJudgeError) as error:
        ask(server)
    assert error.value.kind == "parameter"
    assert 'temperature = "unset"' in str(error.value)
