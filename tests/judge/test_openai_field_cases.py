"""Kinds of server behaviour that have broken other clients; one attempt at a time, as the adapter makes them."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from email.utils import formatdate

import pytest
from asking import ask, ask_step, ask_together, judge_of, request
from loopback import Call, LoopbackServer, Step, completion, failure, verdict

from datasheet.errors import JudgeError, PermanentJudgeError, TransientJudgeError
from datasheet.judge.openai import OpenAIJudge
from datasheet.judge.truncation import looks_truncated
from datasheet.records import Reply

SECRET = "sk-test/DO+NOT-STORE&123"


def test_a01_reasoning_cut_off_before_the_first_word_is_a_truncated_reply() -> None:
    thought = "Let me weigh [[A]] against"
    body = completion(None, finish_reason="length", reasoning=thought, reasoning_content=thought)
    reply = ask_step(Step(json=body))
    assert (reply.text, reply.finish_reason, reply.reasoning) == ("", "length", thought)


def test_a02_a_stop_without_a_word_is_transient_and_the_next_attempt_reads() -> None:
    with LoopbackServer([Step(json=completion(None)), verdict("[[B]]")]) as server:
        with pytest.raises(TransientJudgeError) as error:
            ask(server)
        assert error.value.kind == "empty"
        assert ask(server).text == "[[B]]"


def test_a04_no_choices_is_empty() -> None:
    with pytest.raises(TransientJudgeError, match="choices is an empty list") as error:
        ask_step(Step(json={"id": "x", "choices": [], "usage": {"prompt_tokens": 19}}))
    assert error.value.kind == "empty"


def test_a05_empty_and_unknown_fields_are_ignored() -> None:
    body = completion("[[A]]", tool_calls=[], function_call=None, refusal=None, annotations=[])
    reply = ask_step(Step(json=body))
    assert (reply.text, reply.refusal) == ("[[A]]", "")


def test_a08_legacy_logprobs() -> None:
    logprobs = {
        "text_offset": [0],
        "tokens": ["A"],
        "token_logprobs": [-0.1],
        "top_logprobs": [{"A": -0.1, "B": -2.4}],
    }
    reply = ask_step(Step(json=completion("A", choice={"logprobs": logprobs})), logprobs=5)
    assert reply.logprobs == (("A", -0.1), ("B", -2.4))


def test_a10_an_unrated_token_is_no_candidate() -> None:
    first = {
        "token": "8",
        "logprob": -9999.0,
        "bytes": [56],
        "top_logprobs": [{"token": '":', "logprob": 0.0}, {"token": '"', "logprob": -21.0}],
    }
    reply = ask_step(Step(json=completion("8", choice={"logprobs": {"content": [first]}})), logprobs=5)
    assert reply.text == "8"
    assert reply.logprobs == (('":', 0.0), ('"', -21.0))


def test_a14_prose_where_a_schema_was_asked_for_is_handed_on() -> None:
    with LoopbackServer([verdict("Sure! I prefer the second answer.")]) as server:
        reply = ask(server, request(schema={"type": "object"}), json_mode="json_schema")
    assert reply.text == "Sure! I prefer the second answer."


def test_a15_only_the_basic_fields_are_sent() -> None:
    def strict(call: Call) -> Step:
        unexpected = call.body.keys() - {"model", "messages", "temperature", "max_tokens"}
        return failure(400, "unexpected field in request") if unexpected else verdict("[[A]]")

    with LoopbackServer(strict) as server:
        assert ask(server, request(schema={"type": "object"}, repeat=3)).text == "[[A]]"
        with pytest.raises(PermanentJudgeError) as error:
            ask(server, seed=1)
    assert error.value.kind == "refused"
    assert "unexpected field in request" in str(error.value)


@pytest.mark.parametrize("status", [400, 500])
def test_a16_no_system_role(status: int) -> None:
    complaint = {
        "object": "error",
        "message": "Conversation roles must alternate user/assistant/user/assistant/...",
        "type": "BadRequestError",
        "param": None,
        "code": 400,
    }

    def template(call: Call) -> Step:
        has_system = call.body["messages"][0]["role"] == "system"
        return Step(status=status, json=complaint) if has_system else verdict("[[B]]")

    with LoopbackServer(template) as server:
        with pytest.raises(PermanentJudgeError, match='system_role = "merge"') as error:
            ask(server)
        assert error.value.kind == "roles"
        assert ask(server, system_role="merge").text == "[[B]]"
        assert server.calls[-1].body["messages"] == [{"role": "user", "content": "You compare.\n\nCompare."}]


@pytest.mark.parametrize("form", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
def test_a17_every_form_of_the_url_is_understood(form: str) -> None:
    with LoopbackServer(paths=["/v1/chat/completions"]) as server:
        assert ask(server, base_url=server.url + form).text == "[[A]]"
        assert [call.path for call in server.model_calls] == ["/v1/models"]


def test_a17_a_404_prints_the_url_tried() -> None:
    with LoopbackServer(models=None) as server, pytest.raises(PermanentJudgeError) as error:
        ask(server, base_url=server.url.replace("//", "//user:hunter2hunter2@") + "/v2?api-version=7")
    assert f"{server.url}/v2/chat/completions answered HTTP 404" in str(error.value)
    assert "hunter2" not in str(error.value)
    assert "api-version" not in str(error.value)


@pytest.fixture
def dead_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://user:proxypass@127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "")


@pytest.mark.usefixtures("dead_proxy")
def test_a18_loopback_bypasses_the_proxy() -> None:
    with LoopbackServer() as server:
        assert ask(server).text == "[[A]]"
        assert ask(server, base_url=server.base_url.replace("127.0.0.1", "localhost")).text == "[[A]]"


@pytest.mark.usefixtures("dead_proxy")
def test_a18_elsewhere_an_error_names_the_proxy_variable() -> None:
    judge = OpenAIJudge(model="m", base_url="http://judge.invalid/v1")
    with pytest.raises(PermanentJudgeError, match="the proxy that http_proxy names") as error:
        asyncio.run(judge.open())
    assert "proxypass" not in str(error.value)


def test_a18_a_proxy_s_own_error_page_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    with LoopbackServer([Step(status=502, text="upstream down")], paths=None, models=None) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "")
        with pytest.raises(TransientJudgeError, match="HTTP 502, sent through the proxy that http_proxy names"):
            ask(proxy, base_url="http://judge.invalid/v1")


def test_a20_pages_empty_bodies_and_cut_connections_are_transient() -> None:
    page = "<html><head><title>502 Bad Gateway</title></head><body>\x1b[31m" + "x" * 300 + "</body></html>"
    steps = [
        Step(status=502, headers={"Content-Type": "text/html"}, text=page),
        Step(headers={"Content-Type": "application/json"}, text=""),
        Step(close=True),
        Step(json=completion("y" * 1000), cut_after=20),
        Step(headers={"Content-Type": "text/html"}, text=page),
        verdict("[[A]]"),
    ]
    with LoopbackServer(steps) as server:
        errors = []
        for _ in steps[:-1]:
            with pytest.raises(TransientJudgeError) as error:
                ask(server)
            errors.append(error.value)
        assert ask(server).text == "[[A]]"
    assert [error.kind for error in errors] == ["server_error", "bad_body", "connection", "connection", "bad_body"]
    assert [error.status for error in errors] == [502, 200, None, None, 200]
    shown = str(errors[0]).partition("HTTP 502: ")[2]
    assert shown.startswith("<html><head><title>502 Bad Gateway</title></head><body>\\x1b[31mxxx")
    assert shown == page[:200].replace("\x1b", "\\x1b")


@pytest.mark.parametrize(
    "error",
    [
        {"code": "content_filter", "innererror": {"code": "ResponsibleAIPolicyViolation"}},
        {"code": None, "innererror": {"code": "ResponsibleAIPolicyViolation"}},
        {"code": "content_policy_violation"},
    ],
)
def test_a21_a_filtered_prompt_is_a_datum_after_one_call(error: dict) -> None:
    def filtered(call: Call) -> Step:
        bad = "s2" in call.body["messages"][-1]["content"]
        return failure(400, "The prompt was filtered.", **error) if bad else verdict("[[A]]")

    with LoopbackServer(filtered) as server:
        reply = ask(server, request("s2"))
        assert (reply.text, reply.finish_reason) == ("", "content_filter")
        assert len(server.calls) == 1
        assert ask(server, request("s1")).text == "[[A]]"


def test_a23_a_cut_prompt_shows_in_the_token_count() -> None:
    usage = {"prompt_tokens": 2050, "completion_tokens": 5, "total_tokens": 2055}
    prompt = "word " * 12_000
    with LoopbackServer([Step(json=completion("[[A]]", usage=usage))]) as server:
        reply = ask(server, request(prompt))
    assert reply.prompt_tokens == 2050
    assert looks_truncated(len(prompt), reply.prompt_tokens)


def test_a28_a_stall_times_out_and_gives_the_connection_back() -> None:
    with LoopbackServer([Step(stall=True), verdict("[[A]]")]) as server:
        judge = judge_of(server, timeout_s=0.3, connections=1)
        stalled, following = asyncio.run(ask_together(judge, request("1"), request("2")))
    assert isinstance(stalled, TransientJudgeError)
    assert stalled.kind == "timeout"
    assert "no answer within 0.3 s" in str(stalled)
    assert isinstance(following, Reply)


@pytest.mark.parametrize("variable", [None, "JUDGE_KEY_OF_THIS_TEST"])
def test_a30_no_key_is_needed(variable: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUDGE_KEY_OF_THIS_TEST", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with LoopbackServer() as server:
        assert ask(server, api_key_env=variable).text == "[[A]]"
        assert all("Authorization" not in call.headers for call in (*server.calls, *server.model_calls))


@pytest.mark.parametrize(
    ("headers", "low_s", "high_s"),
    [
        ({"Retry-After": "3"}, 3.0, 3.0),
        ({"Retry-After": "0"}, 0.0, 0.0),
        ({"Retry-After": "2.5"}, 2.5, 2.5),
        ({"retry-after-ms": "1500"}, 1.5, 1.5),
        ({"retry-after-ms": "1500", "Retry-After": "2"}, 1.5, 1.5),
        ({"retry-after-ms": "soon", "Retry-After": "2"}, 2.0, 2.0),
        ({"Retry-After": "10800"}, 10800.0, 10800.0),
    ],
)
def test_r01_r02_r03_a_wait_that_the_server_asks_for(headers: dict, low_s: float, high_s: float) -> None:
    with pytest.raises(TransientJudgeError) as error:
        ask_step(failure(429, "quota exhausted", headers=headers))
    assert (error.value.kind, error.value.status) == ("rate_limit", 429)
    assert error.value.retry_after_s is not None
    assert low_s <= error.value.retry_after_s <= high_s


def test_r02_a_wait_until_a_date() -> None:
    date = formatdate(time.time() + 3600, usegmt=True)
    with pytest.raises(TransientJudgeError) as error:
        ask_step(failure(429, "slow down", headers={"Retry-After": date}))
    assert error.value.retry_after_s == pytest.approx(3600, abs=60)


@pytest.mark.parametrize("asked", ["soon", "-3", "nan", "inf", "1e999", "", "Mon, 01 Jan 1990 00:00:00 GMT", "Mon, 99"])
def test_r02_an_unreadable_wait_is_none(asked: str) -> None:
    with pytest.raises(TransientJudgeError) as error:
        ask_step(failure(429, "slow down", headers={"Retry-After": asked}))
    assert error.value.retry_after_s is None


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529, 599])
def test_r05_transient_statuses(status: int) -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with pytest.raises(TransientJudgeError) as error:
        ask_step(Step(status=status, json=overloaded))
    assert error.value.status == status


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 410, 413, 418, 422])
def test_r05_other_refusals_are_permanent(status: int) -> None:
    with pytest.raises(PermanentJudgeError) as error:
        ask_step(failure(status, "no"))
    assert error.value.status == status


def test_r07_queueing_is_not_part_of_the_timeout() -> None:
    with LoopbackServer([verdict("[[A]]", delay_s=0.05)], serial=True) as server:
        judge = judge_of(server, timeout_s=0.8, connections=2)
        replies = asyncio.run(ask_together(judge, *(request(str(i)) for i in range(24))))
        assert server.peak_in_flight == 2
        assert server.calls[-1].at_s - server.calls[0].at_s > 0.8
    assert [type(reply) for reply in replies] == [Reply] * 24


@pytest.mark.parametrize("spelling", ["plain", "percent", "json", "json code", "html"])
def test_d09_the_key_is_in_no_text(
    spelling: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("JUDGE_KEY", SECRET)
    caplog.set_level(logging.DEBUG)
    spelled = {
        "plain": SECRET,
        "percent": "sk-test%2FDO%2BNOT-STORE%26123",
        "json": "sk-test\\/DO+NOT-STORE&123",
        "json code": "sk-test/DO\\u002BNOT-STORE\\u0026123",
        "html": "sk-test/DO+NOT-STORE&amp;123",
    }[spelling]

    def echo(call: Call) -> Step:
        text = json.dumps({"error": {"message": f"bad header {call.headers['Authorization']} of KEY"}})
        if call.number == 1:
            text = json.dumps(completion("the key is KEY", model="KEY", reasoning="KEY"))
        return Step(status=400 if call.number == 0 else 200, text=text.replace("KEY", spelled))

    with LoopbackServer(echo) as server:
        judge = OpenAIJudge(
            model="fake-judge", base_url=f"{server.base_url}?key=query-secret-456", api_key_env="JUDGE_KEY"
        )
        error, reply = asyncio.run(ask_in_turn(judge, 2))
        assert server.calls[0].headers["Authorization"] == f"Bearer {SECRET}"
        assert server.calls[0].path.endswith("?key=query-secret-456")
    assert isinstance(error, PermanentJudgeError)
    assert isinstance(reply, Reply)
    assert reply.text == "the key is [key]"
    chain = [error, error.__cause__, error.__context__]
    texts = [repr(each) for each in (*chain, reply, judge, judge.provenance, judge.decoding)] + [caplog.text]
    for text in texts:
        assert "NOT-STORE" not in text
        assert "query-secret" not in text


async def ask_in_turn(judge: OpenAIJudge, times: int) -> list[Reply | JudgeError]:
    await judge.open()
    outcomes: list[Reply | JudgeError] = []
    try:
        for _ in range(times):
            try:
                outcomes.append(await judge.ask(request()))
            except JudgeError as error:
                outcomes.append(error)
    finally:
        await judge.close()
    return outcomes
