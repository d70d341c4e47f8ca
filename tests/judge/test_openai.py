"""The OpenAI-compatible adapter: what it sends, what it reads, and what it says before a run."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import subprocess
import sys
from pathlib import Path

import loopback
import pytest
from loopback import LoopbackServer, Step, completion, failure, verdict

from datasheet.errors import PermanentJudgeError, TransientJudgeError, UsageError
from datasheet.judge import openai
from datasheet.judge.api_error import ApiError, read_error
from datasheet.judge.base import Judge
from datasheet.judge.completion import first_token_logprobs
from datasheet.judge.http import BODY_LIMIT_BYTES, visible
from datasheet.judge.openai import OpenAIJudge, looks_truncated
from datasheet.records import Reply, Request

SCHEMA = {"type": "object", "properties": {"verdict": {"enum": ["A", "B", "tie"]}}}
MESSAGES = (("system", "You compare."), ("user", "Compare."))


def request(*, schema: dict | None = None, repeat: int = 0, messages: tuple = MESSAGES) -> Request:
    return Request(key="k", messages=messages, first="x", second="y", replies={}, response_schema=schema, repeat=repeat)


async def open_and_ask(judge: Judge, asked: Request) -> Reply:
    await judge.open()
    try:
        return await judge.ask(asked)
    finally:
        await judge.close()


def ask(server: LoopbackServer, asked: Request | None = None, **settings: object) -> Reply:
    judge = OpenAIJudge(**{"model": "fake-judge", "base_url": server.base_url, **settings})
    return asyncio.run(open_and_ask(judge, asked or request()))


def ask_step(step: Step, **settings: object) -> Reply:
    with LoopbackServer([step]) as server:
        return ask(server, **settings)


def open_only(models: object, **settings: object) -> None:
    async def opening(judge: OpenAIJudge) -> None:
        await judge.open()
        await judge.close()

    with LoopbackServer(models=models) as server:
        asyncio.run(opening(OpenAIJudge(**{"model": "fake-judge", "base_url": server.base_url, **settings})))


# --- what is sent ----------------------------------------------------------------------------------------------------


def sent(asked: Request | None = None, **settings: object) -> dict:
    with LoopbackServer() as server:
        ask(server, asked, **settings)
        return server.calls[0].body


def test_the_basic_fields() -> None:
    assert sent() == {
        "model": "fake-judge",
        "messages": [{"role": "system", "content": "You compare."}, {"role": "user", "content": "Compare."}],
        "temperature": 0.0,
        "max_tokens": 256,
    }


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ({"seed": 7}, {"seed": 9}),
        ({"seed": 0}, {"seed": 2}),
        ({"max_tokens": 16}, {"max_tokens": 16}),
        ({"logprobs": 5}, {"logprobs": True, "top_logprobs": 5}),
        ({"extra_body": {"top_k": 1}}, {"top_k": 1}),
        ({"json_mode": "json_object"}, {"response_format": {"type": "json_object", "schema": SCHEMA}}),
        (
            {"json_mode": "json_schema"},
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "verdict", "schema": SCHEMA, "strict": True},
                }
            },
        ),
    ],
)
def test_each_setting_adds_its_field_only(settings: dict, fields: dict) -> None:
    assert sent(request(schema=SCHEMA, repeat=2), **settings) == sent() | fields


def test_unset_fields_are_not_sent() -> None:
    body = sent(temperature=None, max_tokens_field="max_completion_tokens", json_mode="json_schema")
    assert body.keys() == {"model", "messages", "max_completion_tokens"}


@pytest.mark.parametrize(
    ("messages", "merged"),
    [
        ((("system", "s"), ("user", "u"), ("assistant", "r"), ("user", "v")), [("user", "s\n\nu"), *"rv"]),
        ((("system", "s"),), [("user", "s")]),
        ((("user", "u"),), [("user", "u")]),
    ],
)
def test_merging_the_system_text(messages: tuple, merged: list) -> None:
    body = sent(request(messages=messages), system_role="merge")
    assert "system" not in [message["role"] for message in body["messages"]]
    assert (body["messages"][0]["role"], body["messages"][0]["content"]) == merged[0]
    assert len(body["messages"]) == len(merged)


def test_any_text_can_be_sent() -> None:
    text = "\x00 \ud800 \u2028 \U0001f600 $x {y}"
    assert sent(request(messages=(("user", text),)))["messages"][0]["content"] == text


def test_identity_holds_what_shapes_the_reply() -> None:
    url = "http://127.0.0.1:1"
    plain = OpenAIJudge(model="m", base_url=url)
    assert plain.decoding == {"temperature": 0.0}
    assert repr(OpenAIJudge(model="m", base_url=url, temperature=0).decoding) == repr(plain.decoding)
    full = OpenAIJudge(
        model="m",
        base_url="https://user:password@host.example/v1?key=abc#part",
        api_key_env="JUDGE_KEY",
        temperature=None,
        seed=1,
        max_tokens=2,
        json_mode="json_object",
        logprobs=3,
        system_role="merge",
        extra_body={"top_k": 1},
    )
    assert full.decoding == {
        "seed": 1,
        "max_tokens": 2,
        "json_mode": "json_object",
        "logprobs": 3,
        "system_role": "merge",
        "extra_body": {"top_k": 1},
    }
    assert full.provenance == {"url": "https://host.example/v1", "api_key_env": "JUDGE_KEY"}
    assert repr(full) == "OpenAIJudge(model='m', base_url='https://host.example/v1')"
    assert (full.adapter, full.model, full.simulated) == ("openai", "m", False)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"base_url": "localhost:8000"}, "http://"),
        ({"base_url": "ftp://host/v1"}, "http://"),
        ({"base_url": "http://"}, "http://"),
        ({"base_url": "http://host:notaport/v1"}, "http://"),
        ({"model": " "}, "model"),
        ({"temperature": -1.0}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens_field": "tokens"}, "max_tokens_field"),
        ({"json_mode": "on"}, "json_mode"),
        ({"logprobs": -1}, "logprobs"),
        ({"system_role": "none"}, "system_role"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"connections": 0}, "connections"),
        ({"extra_body": {"stream": True}}, "stream"),
        ({"extra_body": {"temperature": 1}}, "temperature"),
        ({"extra_body": {"x": object()}}, "JSON"),
        ({"extra_body": {"x": float("nan")}}, "JSON"),
    ],
)
def test_settings_that_do_not_fit_are_named(settings: dict, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        OpenAIJudge(**{"model": "m", "base_url": "http://127.0.0.1:1", **settings})


def test_a_malformed_url_is_shown_without_its_secrets() -> None:
    with pytest.raises(UsageError) as error:
        OpenAIJudge(model="m", base_url="user:hunter2@host/v1?key=abcdef")
    assert "host/v1" in str(error.value)
    assert "hunter2" not in str(error.value)
    assert "abcdef" not in str(error.value)


def test_asking_needs_an_open_judge() -> None:
    judge = OpenAIJudge(model="m", base_url="http://127.0.0.1:1")
    with pytest.raises(RuntimeError, match="open"):
        asyncio.run(judge.ask(request()))


# --- what is read ----------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("packed", [False, True])
def test_a_body_without_end_is_not_read_to_its_end(packed: bool) -> None:
    body = json.dumps(completion("[[A]]" + " " * 4 * BODY_LIMIT_BYTES)).encode()
    step = Step(content=gzip.compress(body, 1), headers={"Content-Encoding": "gzip"}) if packed else Step(content=body)
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
            (("A", -0.1), ("C", -7.0)),
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


# --- what a refusal means --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "Rate limit reached for requests"}, "rate_limit"),
        ({"message": "no", "code": "rate_limit_exceeded"}, "rate_limit"),
        ({"message": "no", "status": "RESOURCE_EXHAUSTED"}, "rate_limit"),
        ({"message": "Quota exceeded for calls a minute"}, "rate_limit"),
        ({"message": "no", "code": 429}, "rate_limit"),
        ({"message": "Overloaded", "type": "overloaded_error"}, "server_error"),
        ({"message": "Provider returned error", "code": 502}, "server_error"),
        ({"message": "something else"}, "bad_body"),
        ("something else", "bad_body"),
        ({"message": None, "metadata": {}}, "bad_body"),
    ],
)
def test_an_error_under_a_200_is_classed_by_what_it_says(error: object, kind: str) -> None:
    with pytest.raises(TransientJudgeError) as raised:
        ask_step(Step(json={"error": error}, headers={"Retry-After": "2"}))
    assert (raised.value.kind, raised.value.status, raised.value.retry_after_s) == (kind, 200, 2.0)


def test_an_error_under_a_200_may_be_permanent() -> None:
    with pytest.raises(PermanentJudgeError) as error:
        ask_step(Step(json={"error": {"message": "no such key", "code": 401}}))
    assert error.value.kind == "auth"


@pytest.mark.parametrize("error", [None, "", {}])
def test_no_error_is_no_error(error: object) -> None:
    assert ask_step(Step(json=completion("[[A]]") | {"error": error})).text == "[[A]]"


@pytest.mark.parametrize(
    ("status", "code"),
    [(429, "insufficient_quota"), (403, "billing_not_active"), (402, None), (200, "insufficient_quota")],
)
def test_no_credit_stops_the_run(status: int, code: str | None) -> None:
    with pytest.raises(PermanentJudgeError, match="no credit") as error:
        ask_step(failure(status, "You exceeded your current quota.", code=code))
    assert error.value.kind == "quota"


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (400, "Too long.", "context_length_exceeded"),
        (400, "This model's maximum context length is 4096 tokens. However, you requested 5000.", None),
        (400, "Requested tokens (700) exceed context window of 512", None),
        (400, "the request exceeds the available context size, try increasing it", "exceed_context_size_error"),
        (413, "prompt is too long: 210000 tokens", None),
        (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096.", None),
        (422, "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000", None),
        (200, "Too long.", "context_length_exceeded"),
    ],
)
def test_a_prompt_beyond_the_context_is_a_datum(status: int, message: str, code: str | None) -> None:
    reply = ask_step(failure(status, message, code=code))
    assert (reply.text, reply.finish_reason) == ("", "context_length")


@pytest.mark.parametrize(
    ("step", "settings", "said"),
    [
        (
            failure(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.", param="max_tokens"),
            {},
            "max_completion_tokens",
        ),
        (failure(400, "Unsupported value: 'temperature' does not support 0."), {}, "temperature unset"),
        (failure(400, "Input should be less than 5", param="top_logprobs"), {"logprobs": 9}, "ask for fewer"),
        (Step(status=422, json={"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}),
         {"seed": 1}, "seed unset"),
        (failure(500, "logprobs is not supported for models created with logits_all=False"), {"logprobs": 1},
         "logprobs unset"),
        (failure(400, "unknown field", param="top_k.0"), {"extra_body": {"top_k": 1}}, "extra_body"),
        (failure(400, "json_schema is unsupported", param="response_format.type"), {"json_mode": "json_schema"},
         "json_mode"),
    ],
)  # fmt: skip
def test_a_refused_parameter_is_named_with_its_setting(step: Step, settings: dict, said: str) -> None:
    with LoopbackServer([step]) as server, pytest.raises(PermanentJudgeError, match=said) as error:
        ask(server, request(schema=SCHEMA), **settings)
    assert error.value.kind == "parameter"


@pytest.mark.parametrize(
    "message",
    [
        "System role not supported",
        "Only user and assistant roles are supported!",
        "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
        "The 'system' role is not supported by this template",
    ],
)
def test_a_model_without_a_system_role(message: str) -> None:
    with pytest.raises(PermanentJudgeError, match='system_role = "merge"'):
        ask_step(failure(400, message))
    with pytest.raises(PermanentJudgeError) as error:
        ask_step(failure(400, message), system_role="merge")
    assert error.value.kind == "refused"


def test_a_500_that_names_no_parameter_is_transient() -> None:
    with pytest.raises(TransientJudgeError):
        ask_step(Step(status=500, text="invalid state: the seed of all evil"))


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ("https://other.example/v1?key=abc", "https://other.example,"),
        ("/v1/chat/completions/", "another path of the same host"),
        ("http://[bad", "an unreadable place"),
    ],
)
def test_redirects_are_not_followed(location: str, place: str) -> None:
    with pytest.raises(PermanentJudgeError) as error:
        ask_step(Step(status=307, headers={"Location": location}, text=""))
    assert error.value.kind == "redirect"
    assert place in str(error.value)
    assert "abc" not in str(error.value)


def test_a_key_does_not_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", "key-of-one-host")
    with LoopbackServer() as other:
        elsewhere = Step(status=307, headers={"Location": f"{other.base_url}/chat/completions"}, text="")
        with LoopbackServer([elsewhere]) as server, pytest.raises(PermanentJudgeError):
            ask(server, api_key_env="JUDGE_KEY")
        assert other.calls == []


@pytest.mark.parametrize(
    ("document", "error"),
    [
        ([{"error": {"message": "m", "status": "X"}}], ApiError(message="m", codes=frozenset({"x"}))),
        ({"error": "m"}, ApiError(message="m")),
        ({"error": {"message": "m", "param": 3}}, ApiError(message="m")),
        ({"choices": []}, None),
        ([], None),
        ("error", None),
        (None, None),
    ],
)
def test_errors_are_found_wherever_they_stand(document: object, error: ApiError | None) -> None:
    assert read_error(document) == error


def test_untrusted_text_is_made_visible() -> None:
    assert visible("a\nb\x1b\u202e\u2028\ud800é\U0001f600") == "a\\nb\\x1b\\u202e\\u2028\\ud800é\U0001f600"
    assert len(visible("x" * 1000)) == 200


# --- before a run -----------------------------------------------------------------------------------------------------


def test_nothing_listens(unused_port: int) -> None:
    judge = OpenAIJudge(model="some-model", base_url=f"http://127.0.0.1:{unused_port}")
    with pytest.raises(PermanentJudgeError) as error:
        asyncio.run(judge.open())
    assert error.value.kind == "unreachable"
    assert str(error.value) == (
        f"GET http://127.0.0.1:{unused_port}/v1/models failed (connection refused): start a server, for example "
        "`vllm serve some-model`, or name another judge with `--judge openai:MODEL@URL` or in a datasheet.toml"
    )


@pytest.fixture
def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


def test_an_unknown_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasheet.judge.http.getproxies", dict)

    async def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    monkeypatch.setattr("aiohttp.ThreadedResolver.resolve", unknown)
    with pytest.raises(PermanentJudgeError, match=r"the host name judge\.invalid is not known"):
        asyncio.run(OpenAIJudge(model="m", base_url="https://judge.invalid").open())


def test_a_server_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai, "PREFLIGHT_TIMEOUT_S", 0.2)
    with pytest.raises(PermanentJudgeError, match=r"no answer within 0\.2 s"):
        open_only(Step(stall=True))


def test_tls_to_a_plain_server() -> None:
    with LoopbackServer() as server, pytest.raises(PermanentJudgeError, match="no TLS connection") as error:
        ask(server, base_url=server.base_url.replace("http:", "https:"))
    assert error.value.kind == "unreachable"


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize(
    ("variable", "key", "said"),
    [
        (None, "", "set the judge's api_key_env"),
        ("JUDGE_KEY", "", "no key was sent: set the environment variable JUDGE_KEY"),
        ("JUDGE_KEY", "wrong-key-1", "the key in JUDGE_KEY is not accepted"),
    ],
)
def test_a_refused_key_names_its_variable(
    status: int, variable: str | None, key: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", key)
    with pytest.raises(PermanentJudgeError, match=said) as error:
        open_only(failure(status, f"bad key {key}"), api_key_env=variable)
    assert "/v1/models answered" in str(error.value)
    assert "wrong-key-1" not in str(error.value)
    with pytest.raises(PermanentJudgeError, match=said):
        ask_step(failure(status, "bad key"), api_key_env=variable)


@pytest.mark.parametrize("key", ["sk-abc\n", "sk-abc def", "sk-“abc”", "sk-\x00abc", "sk-é"])
def test_a_key_that_no_header_carries(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.environ", {"JUDGE_KEY": key})
    with pytest.raises(PermanentJudgeError, match="JUDGE_KEY holds a space, a line break") as error:
        open_only(None, api_key_env="JUDGE_KEY")
    assert "abc" not in str(error.value)


def test_a_user_in_the_url_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def echo(call: loopback.Call) -> Step:
        return failure(400, f"you sent {call.headers['Authorization']}")

    monkeypatch.setenv("JUDGE_KEY", "key-key-key")
    with LoopbackServer(echo) as server:
        url = server.base_url.replace("//", "//someone:hunter2hunter2@")
        with pytest.raises(PermanentJudgeError, match="both a user in its URL and a key in JUDGE_KEY"):
            ask(server, base_url=url, api_key_env="JUDGE_KEY")
        with pytest.raises(PermanentJudgeError, match=r"you sent Basic \[key\]") as error:
            ask(server, base_url=url)
    assert "hunter2" not in str(error.value)


def test_a_dummy_key_is_not_cut_out_of_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", "EMPTY")
    with LoopbackServer([verdict("EMPTY")]) as server:
        assert ask(server, api_key_env="JUDGE_KEY").text == "EMPTY"


def test_a_model_that_is_not_offered() -> None:
    offered = [f"other-{i}" for i in range(20)] + ["fake-judge-2\x1b"]
    with pytest.raises(PermanentJudgeError) as error:
        open_only(offered)
    assert error.value.kind == "model"
    names = str(error.value).partition("name one of the 21 that it offers: ")[2].split(", ")
    assert names[0] == "fake-judge-2\\x1b"
    assert len(names) == 9
    assert names[-1] == "…"


@pytest.mark.parametrize(
    "models",
    [
        ["fake-judge"],
        ["other", "fake-judge:latest"],
        ["/models/fake-judge"],
        [],
        None,
        Step(status=405, text=""),
        Step(status=501, text=""),
        Step(status=500, text=""),
        Step(status=307, headers={"Location": "/v1/models/"}, text=""),
        Step(text="<html>"),
        Step(json=["other"]),
        Step(json={"data": {"id": "other"}}),
        Step(json={"data": [{"name": "other"}, "other", {"id": 5}]}),
        Step(text=" " * (BODY_LIMIT_BYTES + 1)),
    ],
)
def test_a_server_that_can_be_asked(models: object) -> None:
    open_only(models)


def test_a_judge_can_be_opened_again() -> None:
    with LoopbackServer() as server:
        judge = OpenAIJudge(model="fake-judge", base_url=server.base_url)
        for _ in range(2):
            assert asyncio.run(open_and_ask(judge, request())).text == "[[A]]"


def test_calls_share_their_connections() -> None:
    async def ask_often(judge: OpenAIJudge) -> list[Reply]:
        await judge.open()
        try:
            return await asyncio.gather(*(judge.ask(request()) for _ in range(40)))
        finally:
            await judge.close()

    with LoopbackServer([verdict("[[A]]", delay_s=0.01)]) as server:
        replies = asyncio.run(ask_often(OpenAIJudge(model="fake-judge", base_url=server.base_url, connections=8)))
        assert server.peak_in_flight == 8
    assert [reply.text for reply in replies] == ["[[A]]"] * 40


# --- truncated prompts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("characters", "tokens", "cut"),
    [
        (60_000, 2_050, True),
        (16_000, 1_999, True),
        (16_000, 2_000, False),
        (60_000, 12_000, False),
        (15_999, 5, False),
        (60_000, None, False),
        (0, 0, False),
    ],
)
def test_a_cut_prompt(characters: int, tokens: int | None, cut: bool) -> None:
    assert looks_truncated(characters, tokens) is cut


# --- the server as a process -----------------------------------------------------------------------------------------


def test_the_loopback_server_runs_as_a_process() -> None:
    prompt = (
        "=== ANSWER A BEGINS ===\none\n=== ANSWER A ENDS ===\n\n=== ANSWER B BEGINS ===\none two\n=== ANSWER B ENDS ==="
    )
    command = [sys.executable, str(Path(loopback.__file__)), "--policy", "longer"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            judge = OpenAIJudge(model="fake-judge", base_url=f"http://127.0.0.1:{process.stdout.readline().strip()}")
            reply = asyncio.run(open_and_ask(judge, request(messages=(("user", prompt),))))
        finally:
            process.terminate()
    assert reply.text == '{"verdict": "B"}'
