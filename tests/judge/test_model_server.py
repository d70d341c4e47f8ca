"""What all calls would meet is met by the first one."""

from __future__ import annotations

import asyncio

import pytest
from asking import ask_together, judge_of, open_only, request
from loopback import Call, LoopbackServer, Step, failure, verdict

from datasheet.errors import PermanentJudgeError, TransientJudgeError
from datasheet.judge import model_server
from datasheet.judge.openai import OpenAIJudge
from datasheet.records import Reply

REQUESTS = [request(str(i)) for i in range(8)]


def test_a_wrong_model_costs_one_call_where_no_list_tells_of_it() -> None:
    with LoopbackServer([failure(404, "no such model", code="model_not_found")], models=None) as server:
        answers = asyncio.run(ask_together(judge_of(server), *REQUESTS))
        assert len(server.calls) == 1
    assert {str(answer) for answer in answers} == {str(answers[0])}
    assert isinstance(answers[0], PermanentJudgeError)


def test_a_field_that_is_refused_costs_one_call() -> None:
    def renamed(call: Call) -> Step:
        old = "max_tokens" in call.body
        return failure(400, "use max_completion_tokens", param="max_tokens") if old else verdict("[[A]]")

    with LoopbackServer(renamed) as server:
        answers = asyncio.run(ask_together(judge_of(server, max_tokens=9), *REQUESTS))
        assert [call.body.get("max_completion_tokens") for call in server.calls] == [None] + [9] * 8
    assert [answer.text for answer in answers if isinstance(answer, Reply)] == ["[[A]]"] * 8


def test_a_first_call_that_may_pass_next_time_stops_no_other() -> None:
    with LoopbackServer([Step(status=500, text="oops"), verdict("[[A]]")]) as server:
        first, *others = asyncio.run(ask_together(judge_of(server), *REQUESTS))
    assert isinstance(first, TransientJudgeError)
    assert all(isinstance(other, Reply) for other in others)


def test_a_first_call_that_hangs_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_server, "FIRST_CALL_ALONE_S", 0.05)

    async def answered_first(judge: OpenAIJudge) -> list[int]:
        await judge.open()
        try:
            calls = [asyncio.create_task(judge.ask(each)) for each in REQUESTS]
            await asyncio.wait(calls[1:])
            return [number for number, call in enumerate(calls) if not call.done()]
        finally:
            calls[0].cancel()
            await asyncio.wait(calls)
            await judge.close()

    with LoopbackServer([Step(stall=True), verdict("[[A]]")]) as server:
        assert asyncio.run(answered_first(judge_of(server, timeout_s=30.0))) == [0]


def test_a_judge_that_is_opened_again_has_a_first_call_again() -> None:
    with LoopbackServer([verdict("[[A]]"), failure(400, "no")]) as server:
        judge = judge_of(server)
        (answered,) = asyncio.run(ask_together(judge, request()))
        refused = asyncio.run(ask_together(judge, *REQUESTS))
        assert len(server.calls) == 2
    assert isinstance(answered, Reply)
    assert all(isinstance(each, PermanentJudgeError) for each in refused)


@pytest.mark.parametrize(
    ("asked", "offered"),
    [
        ("claude-x-4", "claude-x-4-20250929"),
        ("claude-x-latest", "claude-x-20241022"),
        ("claude-x-4-20250929", "claude-x-4-20250929"),
    ],
)
def test_a_name_without_its_date_is_offered(asked: str, offered: str) -> None:
    open_only([offered], model=asked)
    with pytest.raises(PermanentJudgeError, match="does not offer"):
        open_only(["claude-y-20241022", "claude-x-4-5"], model=asked)


def test_a_part_of_a_list_of_models_refuses_nothing() -> None:
    open_only(Step(json={"data": [{"id": "other"}], "has_more": True}))
