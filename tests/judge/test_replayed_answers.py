"""Answers that have broken other tools, replayed to a run with its retries and its log, and to the run after it.

A row says what the server does, and what the trial comes to: a reading (a verdict, or a reason why there is none), a
failure that the next run asks again, a pause, or a sentence that ends the run. What is no reading is never stored as
one: each row is resumed at a server that answers, and only rows without a reading are asked there.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from loopback import Call, LoopbackServer, Script, Step, completion, failure, message, verdict
from trials.fake_judge import INSTRUMENT, START, FakeClock, plan

from datasheet.errors import PermanentJudgeError
from datasheet.judge.anthropic import AnthropicJudge
from datasheet.judge.openai import OpenAIJudge
from datasheet.prompts import load_variant, parse
from datasheet.trials.log import TrialLog
from datasheet.trials.runner import RunOutcome, run

A = '{"verdict": "A"}'
GOOD = verdict(A)
GOOD_MESSAGE = Step(json=message({"type": "text", "text": A}))
PAGE = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
THINKING = {"type": "thinking", "thinking": A, "signature": "x"}
DEFAULT = load_variant("default")


@dataclass(frozen=True, kw_only=True)
class Row:
    """What a server does, and what comes of one trial.

    ``reading`` is an outcome or a reason why there is none; without one, ``failed`` is the kind of the last failure,
    ``ended`` that of the failure that ends the run, and ``pause_s`` how long the run is to wait before it goes on.
    ``waited_s`` are the least and the most seconds that were waited between attempts.
    """

    name: str
    script: Script
    reading: str = ""
    failed: str = ""
    ended: str = ""
    pause_s: float = 0.0
    calls: int = 1
    waited_s: tuple[float, float] = (0.0, 60.0)
    settings: Mapping[str, object] = field(default_factory=dict)
    judge: Callable[..., object] = OpenAIJudge


def date_in(wait_s: float, form: str = "") -> Callable[[Call], Step]:
    """Says 429 until a date, and answers from the second call on."""

    def answer(call: Call) -> Step:
        until = datetime.now(UTC) + timedelta(seconds=wait_s)
        written = until.strftime(form) if form else format_datetime(until, usegmt=True)
        return GOOD if call.number else failure(429, "slow down", headers={"Retry-After": written})

    return answer


def limited(**headers: str) -> list[Step]:
    return [failure(429, "slow down", headers={name.replace("_", "-"): text for name, text in headers.items()}), GOOD]


def refuses(name: str, words: str, **settings: object) -> Callable[[Call], Step]:
    """Refuses a request that holds a field."""
    return lambda call: failure(400, words, param=name, **settings) if name in call.body else GOOD


ROWS = [
    # Replies that are data of their stimulus
    Row(
        name="A01 reasoning cut off",
        script=[Step(json=completion(None, finish_reason="length", reasoning="Let me weigh A"))],
        reading="truncated_reasoning",
    ),
    Row(
        name="empty at the limit", script=[Step(json=completion("", finish_reason="length"))], reading="truncated"
    ),
    Row(
        name="cut off before the verdict",
        script=[Step(json=completion("Both are long, and", finish_reason="length"))],
        reading="truncated",
    ),
    Row(name="refusal in its field", script=[Step(json=completion(None, refusal="I can't."))], reading="refusal"),
    Row(
        name="refusal as a part",
        script=[Step(json=completion([{"type": "refusal", "refusal": "I can't."}]))],
        reading="refusal",
    ),
    Row(name="refusal in words", script=[verdict("I'm sorry, but I can't compare these.")], reading="refusal"),
    Row(
        name="list of parts",
        script=[Step(json=completion([{"type": "thinking", "thinking": "B"}, {"type": "text", "text": A}]))],
        reading="first",
    ),
    Row(name="A05 empty tool calls", script=[Step(json=completion(A, tool_calls=[], refusal=None))], reading="first"),
    Row(
        name="verdict in the reasoning alone",
        script=[Step(json=completion(None, finish_reason="length", reasoning_content=A))],
        reading="truncated_reasoning",
    ),
    Row(name="A14 prose for JSON", script=[verdict("Sure! I prefer the second answer.")], reading="no_verdict"),
    Row(
        name="A21 filtered prompt",
        script=[failure(400, "The prompt was filtered.", code="content_filter")],
        reading="filtered",
    ),
    Row(
        name="filtered in words",
        script=[failure(400, "The response was filtered by our content management policy.")],
        reading="filtered",
    ),
    Row(name="filtered reply", script=[Step(json=completion("", finish_reason="content_filter"))], reading="filtered"),
    Row(
        name="prompt too long",
        script=[failure(400, "This model's maximum context length is 512 tokens.")],
        reading="context_length",
    ),
    Row(
        name="log-probabilities null",
        script=[Step(json=completion(A, choice={"logprobs": None}))],
        settings={"logprobs": 5},
        reading="first",
    ),
    # What passes
    Row(name="A02 empty once", script=[Step(json=completion(None)), GOOD], reading="first", calls=2),
    Row(
        name="A20 page, empty body, reset",
        script=[
            Step(status=502, headers={"Content-Type": "text/html"}, text=PAGE),
            Step(text=""),
            Step(close=True),
            GOOD,
        ],
        reading="first",
        calls=4,
    ),
    Row(name="page under a 200", script=[Step(text=PAGE), GOOD], reading="first", calls=2),
    Row(name="cut body", script=[Step(json=completion(A), cut_after=40), GOOD], reading="first", calls=2),
    Row(
        name="cut stream", script=[Step(json=completion(A), cut_after=40, chunked=True), GOOD], reading="first", calls=2
    ),
    Row(
        name="error under a 200",
        script=[Step(json={"error": {"message": "Provider returned error", "code": 502}}), GOOD],
        reading="first",
        calls=2,
    ),
    *(
        Row(name=f"R05 status {status}", script=[failure(status, "later"), GOOD], reading="first", calls=2)
        for status in (408, 409, 425, 500, 503, 504, 529)
    ),
    # Waits that a server asks for
    Row(name="R01 seconds", script=limited(Retry_After="3"), reading="first", calls=2, waited_s=(3, 4)),
    Row(name="R02 a date", script=date_in(30), reading="first", calls=2, waited_s=(28, 31)),
    Row(
        name="R02 a date of an old form",
        script=date_in(30, "%A, %d-%b-%y %H:%M:%S GMT"),
        reading="first",
        calls=2,
        waited_s=(28, 31),
    ),
    Row(
        name="R02 a date of the C library",
        script=date_in(30, "%a %b %d %H:%M:%S %Y"),
        reading="first",
        calls=2,
        waited_s=(28, 31),
    ),
    Row(
        name="R02 an ISO date",
        script=date_in(30, "%Y-%m-%dT%H:%M:%SZ"),
        reading="first",
        calls=2,
        waited_s=(28, 31),
    ),
    Row(name="R02 parts of seconds", script=limited(Retry_After="2.5"), reading="first", calls=2, waited_s=(2.5, 3.5)),
    Row(name="R02 milliseconds", script=limited(retry_after_ms="1500"), reading="first", calls=2, waited_s=(1.5, 2.5)),
    Row(name="R02 at once", script=limited(Retry_After="0"), reading="first", calls=2, waited_s=(0, 2)),
    Row(name="R02 unreadable", script=limited(Retry_After="soon"), reading="first", calls=2, waited_s=(0, 2)),
    Row(
        name="seconds in the error itself",
        script=[
            Step(
                status=429,
                json=[{"error": {"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED",
                                 "details": [{"@type": "Help"}, {"@type": "RetryInfo", "retryDelay": "34.5s"}]}}],
            ),
            GOOD,
        ],
        reading="first",
        calls=2,
        waited_s=(34.5, 35.5),
    ),
    Row(name="R03 hours", script=limited(Retry_After="10800"), pause_s=10800, calls=1),
    Row(name="R03 quota for hours", script=[failure(429, "quota exhausted", headers={"Retry-After": "10800"})],
        pause_s=10800),
    Row(name="R03 a date far away", script=date_in(86_400), pause_s=86_400),
    Row(name="R03 years", script=limited(Retry_After="9e8"), pause_s=366 * 86_400),
    # What does not pass within a run
    Row(name="A04 never a choice", script=[Step(json={"id": "x", "choices": []})], failed="empty", calls=3),
    Row(name="A28 never an answer", script=[Step(stall=True)], failed="timeout", calls=5, settings={"timeout_s": 0.05}),
    Row(name="stalls within the body", script=[Step(json=completion(A), cut_after=40, delay_s=1.0)],
        failed="timeout", calls=5, settings={"timeout_s": 0.05}),
    Row(name="a captive portal", script=[Step(text=PAGE, headers={"Content-Type": "text/html"})], failed="bad_body",
        calls=5),
    Row(name="always overloaded", script=[failure(529, "Overloaded", type="overloaded_error")], failed="server_error",
        calls=5),
    # What ends the run, said once
    Row(name="no credit", script=[failure(429, "You exceeded your current quota.", code="insufficient_quota")],
        ended="quota"),
    Row(name="no balance", script=[failure(400, "Your credit balance is too low to access the API.")], ended="quota"),
    Row(name="payment required", script=[failure(402, "Insufficient Balance")], ended="quota"),
    Row(name="wrong key", script=[failure(401, "Incorrect API key provided")], ended="auth"),
    Row(name="wrong model", script=[failure(404, "The model `m` does not exist", code="model_not_found")],
        ended="not_found"),
    Row(name="A17 another path", script=[Step(status=404, text="404 page not found")], ended="not_found"),
    Row(name="sent elsewhere", script=[Step(status=302, headers={"Location": "https://login.example/"}, text="")],
        ended="redirect"),
    Row(name="A16 no system role", script=[Step(status=400, json={"object": "error", "code": 400,
        "message": "Conversation roles must alternate user/assistant/user/assistant/..."})], ended="roles"),
    Row(name="A15 an unknown field", script=[failure(400, "unexpected field in request")], ended="refused"),
    # Fields that a server refuses: the same limit under its other name; for anything else the run says what to set
    Row(
        name="the other name of the limit",
        script=refuses("max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        reading="first",
        calls=2,
    ),
    Row(
        name="the older name of the limit",
        script=refuses("max_completion_tokens", "Unknown field max_completion_tokens: did you mean max_tokens?"),
        settings={"max_tokens_field": "max_completion_tokens"},
        reading="first",
        calls=2,
    ),
    Row(name="a limit too large", script=refuses("max_tokens", "max_tokens is too large: 256."), ended="parameter"),
    Row(
        name="both names refused",
        script=[failure(400, "Unsupported: use max_completion_tokens", param="max_tokens"),
                failure(400, "Unsupported: use max_tokens", param="max_completion_tokens")],
        ended="parameter",
        calls=2,
    ),
    Row(
        name="no temperature",
        script=refuses("temperature", "Unsupported value: 'temperature' does not support 0.0 with this model."),
        ended="parameter",
    ),
    Row(name="no temperature was sent", script=refuses("temperature", "no"), settings={"temperature": None},
        reading="first"),
    # The Messages API
    Row(
        name="A22 thinking before text",
        script=[Step(json=message(THINKING, {"type": "redacted_thinking", "data": "x"},
                                  {"type": "text", "text": '{"verdict": '}, {"type": "text", "text": '"B"}'}))],
        judge=AnthropicJudge,
        reading="second",
    ),
    Row(name="A22 refusal", script=[Step(json=message(stop_reason="refusal"))], judge=AnthropicJudge,
        reading="refusal"),
    Row(name="thinking to the limit", script=[Step(json=message(THINKING, stop_reason="max_tokens"))],
        judge=AnthropicJudge, reading="truncated_reasoning"),
    Row(name="a silent message", script=[Step(json=message()), GOOD_MESSAGE], judge=AnthropicJudge, reading="first",
        calls=2),
    Row(
        name="R05 overloaded",
        script=[Step(status=529, json={"error": {"type": "overloaded_error", "message": "Overloaded"}}), GOOD_MESSAGE],
        judge=AnthropicJudge,
        reading="first",
        calls=2,
    ),
    Row(name="too long for the model", script=[Step(status=400, json={"type": "error", "error": {
        "type": "invalid_request_error", "message": "prompt is too long: 208310 tokens > 200000 maximum"}})],
        judge=AnthropicJudge, reading="context_length"),
    Row(name="blocked output", script=[Step(status=400, json={"type": "error", "error": {
        "type": "invalid_request_error", "message": "Output blocked by content filtering policy"}})],
        judge=AnthropicJudge, reading="filtered"),
    Row(name="no credit there", script=[Step(status=400, json={"type": "error", "error": {
        "type": "invalid_request_error", "message": "Your credit balance is too low to access the Anthropic API."}})],
        judge=AnthropicJudge, ended="quota"),
    Row(name="another shape", script=[Step(json=completion(A))], judge=AnthropicJudge, failed="bad_body", calls=5),
]  # fmt: skip


def measured(row: Row, script: Script, log: TrialLog) -> tuple[RunOutcome | PermanentJudgeError, int, FakeClock]:
    """One run of one trial, with its calls; the clock lets waits pass in no time, but for those within a call."""
    clock = FakeClock()
    with LoopbackServer(script) as server:
        judge = row.judge(model="fake-judge", base_url=server.base_url, **row.settings)

        async def asked() -> RunOutcome:
            await judge.open()
            try:
                return await run(plan(1), judge, log, clock=clock, rng=random.Random(1))
            finally:
                await judge.close()

        try:
            return asyncio.run(asked()), len(server.calls), clock
        except PermanentJudgeError as error:
            return error, len(server.calls), clock


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_an_answer_comes_to_what_it_is_and_no_failure_to_a_reading(row: Row, tmp_path: Path) -> None:
    with TrialLog.open(tmp_path / "trials.sqlite", instrument=INSTRUMENT) as log:
        outcome, calls, clock = measured(row, row.script, log)
        assert calls == row.calls
        if isinstance(outcome, PermanentJudgeError):
            # The only trial of a run that fails after every retry ends the run, too.
            said = "nothing can be measured" if row.failed else "answered HTTP"
            assert (outcome.kind, said in str(outcome)) == (row.failed or row.ended, True)
        elif outcome.paused is not None:
            assert (outcome.paused.resume_at - START).total_seconds() == pytest.approx(row.pause_s, abs=60)
            assert clock.sleeps == []
        else:
            (logged,) = log.readings()
            read = parse(DEFAULT, logged.reply)
            assert (read.outcome or read.invalid, outcome.answered) == (row.reading, 1)
            assert row.waited_s[0] <= sum(clock.sleeps) <= row.waited_s[1]
        assert len(log.answered()) == bool(row.reading)
        assert log.verify() == []

        resumed, calls, _ = measured(row, [GOOD_MESSAGE if row.judge is AnthropicJudge else GOOD], log)
        assert isinstance(resumed, RunOutcome)
        assert resumed.answered == calls == (not row.reading)
        assert len(log.answered()) == 1


def test_every_kind_of_outcome_is_in_the_table() -> None:
    assert len(ROWS) > 60
    for kind in ("reading", "failed", "ended", "pause_s"):
        assert sum(bool(getattr(row, kind)) for row in ROWS) >= 4
