"""The OpenAI-compatible adapter: what it sends, and what it finds out before a run."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from pathlib import Path

import loopback
import pytest
from asking import ask, ask_step, ask_together, judge_of, open_only, request
from loopback import Call, LoopbackServer, Step, failure, verdict

from datasheet.errors import PermanentJudgeError, UsageError
from datasheet.judge import model_server
from datasheet.judge.http import BODY_LIMIT_BYTES
from datasheet.judge.openai import OpenAIJudge
from datasheet.judge.truncation import looks_truncated
from datasheet.records import Request

SCHEMA = {"type": "object", "properties": {"verdict": {"enum": ["A", "B", "tie"]}}}


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


@pytest.mark.parametrize(("own", "asked"), [(None, 20), (5, 5), (0, None)])
def test_candidates_that_the_prompt_wants_are_asked_for_unless_the_judge_says_otherwise(
    own: int | None, asked: int | None
) -> None:
    body = sent(request(top_logprobs=20), logprobs=own)
    assert (body.get("logprobs"), body.get("top_logprobs")) == (asked and True, asked)
    assert "logprobs" not in sent()


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
    monkeypatch.setattr(model_server, "PREFLIGHT_TIMEOUT_S", 0.2)
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
        (None, "", "none is bound to it"),
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
    def echo(call: Call) -> Step:
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
        judge = judge_of(server)
        for _ in range(2):
            assert asyncio.run(ask_together(judge, request()))[0].text == "[[A]]"


def test_calls_share_their_connections() -> None:
    with LoopbackServer([verdict("[[A]]", delay_s=0.01)]) as server:
        replies = asyncio.run(ask_together(judge_of(server, connections=8), *[request()] * 40))
        assert server.peak_in_flight == 8
    assert [reply.text for reply in replies] == ["[[A]]"] * 40


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


def test_the_loopback_server_runs_as_a_process() -> None:
    prompt = (
        "=== ANSWER A BEGINS ===\none\n=== ANSWER A ENDS ===\n\n=== ANSWER B BEGINS ===\none two\n=== ANSWER B ENDS ==="
    )
    command = [sys.executable, str(Path(loopback.__file__)), "--policy", "longer"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            judge = OpenAIJudge(model="fake-judge", base_url=f"http://127.0.0.1:{process.stdout.readline().strip()}")
            reply = asyncio.run(ask_together(judge, request(messages=(("user", prompt),))))[0]
        finally:
            process.terminate()
    assert reply.text == '{"verdict": "B"}'
