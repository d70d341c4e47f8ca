"""What a server's refusal means: a datum, another attempt, or the end of the run."""

from __future__ import annotations

import pytest
from asking import ask, ask_step, request
from loopback import LoopbackServer, Step, completion, failure

from datasheet.errors import PermanentJudgeError, TransientJudgeError
from datasheet.judge.api_error import ApiError, read_error
from datasheet.judge.urls import visible

SCHEMA = {"type": "object", "properties": {"verdict": {"enum": ["A", "B", "tie"]}}}


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
    ("step", "said"),
    [
        (failure(400, "Unknown field", param="logprobs"), "set it to 0 where it is the prompt that asks"),
        (
            failure(400, "Expected at most 5", param="top_logprobs"),
            "0 asks for none, whatever the prompt",
        ),
    ],
)
def test_refused_candidates_that_the_prompt_asked_for_are_explained(step: Step, said: str) -> None:
    with pytest.raises(PermanentJudgeError, match=said) as error:
        ask_step(step, request(top_logprobs=20))
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
        ({"error": {"message": "m", "details": [{"retryDelay": "7s"}]}}, ApiError(message="m", retry_after_s=7)),
        ({"error": {"message": "m", "details": [None, {"retryDelay": "soon"}]}}, ApiError(message="m")),
        ({"error": {"message": "m", "details": {"retryDelay": "7s"}}}, ApiError(message="m")),
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
