"""What is expected of every judge, one expectation a test."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from datasheet.errors import JudgeError
from datasheet.identity import canonical_json
from datasheet.judge.base import Judge
from datasheet.records import Reply, Request
from datasheet.testing.requests import sample_request

_SECRET = "sk-conformance-0123456789"
_KIND = re.compile(r"[a-z][a-z_]{0,39}")
_CALLS = 8
_ODD_TEXTS = (
    "",
    " \n\t",
    "\x00\x1b[31m\u202e\u2028 $answer ${x} {y} %s \\ \" ' </s> [[A]]",
    "\ud800",
    "\U0001f600" * 100,
    "word " * 20_000,
)


class JudgeConformance:
    """Subclass it in a test module and give it :meth:`make_judge`; pytest finds the tests.

    Attributes
    ----------
    key_variables
        Environment variables that the judge reads a key from. While a test runs they hold a made-up key, which must
        turn up nowhere.
    """

    key_variables: tuple[str, ...] = ()

    def make_judge(self) -> Judge:
        """A judge whose calls succeed, new each time and always with the same settings."""
        raise NotImplementedError("give your judge: def make_judge(self): return MyJudge(...)")

    def failing_judges(self) -> Iterable[Judge]:
        """Judges whose calls fail, one for each way in which yours can (a server that is down, says no, hangs up)."""
        return ()

    def test_its_facts_are_what_an_identity_is_made_of(self) -> None:
        """Adapter and model are names, decoding is JSON, and provenance is text."""
        judge = self.make_judge()
        for name in ("adapter", "model"):
            value = getattr(judge, name)
            assert isinstance(value, str), f"{name} should be text, found {type(value).__name__}"
            assert value.strip(), f"{name} is empty"
            assert value.isprintable(), f"{name} should be one line without control characters, found {value!r}"
        assert isinstance(judge.simulated, bool), "simulated should be True or False"
        assert isinstance(judge.decoding, Mapping), "decoding should be a mapping of settings"
        assert json.loads(canonical_json(dict(judge.decoding))) is not None, "decoding should be JSON"
        for name, text in judge.provenance.items():
            assert [type(name), type(text)] == [str, str], "provenance should map text to text"

    def test_equal_settings_are_one_instrument_whatever_was_asked(self) -> None:
        """The identity neither changes from one judge to the next, nor by asking."""
        judge, other = self.make_judge(), self.make_judge()
        before = _identity(judge)
        assert before == _identity(other), "two judges of the same settings differ in adapter, model or decoding"
        _ask(judge, sample_request())
        assert before == _identity(judge), "asking changed adapter, model or decoding"

    def test_a_reply_is_a_reply(self) -> None:
        """Its fields have their types; a count that the judge does not know is None."""
        judge = self.make_judge()
        for prompt in ("default", "bracket", "logprob"):
            _check_reply(_ask(judge, sample_request(prompt=prompt)))

    def test_a_request_is_left_as_it_is(self) -> None:
        """The same request is asked again after a failure."""
        judge, request = self.make_judge(), sample_request()
        before = repr(request)
        _ask(judge, request)
        assert repr(request) == before, "ask changed its request"

    def test_any_text_can_be_asked_about(self) -> None:
        """Answers come from anyone: a reply or a JudgeError, and no other exception."""
        judge = self.make_judge()
        for text in _ODD_TEXTS:
            request = sample_request(question=text, first=text, second=text)
            try:
                _check_reply(_ask(judge, request))
            except JudgeError as failure:
                _check_failure(failure)

    def test_calls_go_on_at_the_same_time(self) -> None:
        """Several calls of one judge are in flight at once, and each has its reply."""
        judge = self.make_judge()
        requests = [sample_request(repeat=repeat) for repeat in range(_CALLS)]
        for reply in _run(judge, lambda: asyncio.gather(*map(judge.ask, requests))):
            _check_reply(reply)

    def test_a_call_lets_others_run(self) -> None:
        """A call that blocks the event loop stops every other call, the progress line and Ctrl-C."""
        judge = self.make_judge()

        async def turns_of_others() -> int:
            call = asyncio.ensure_future(judge.ask(sample_request()))
            turns = 0
            while not call.done():
                await asyncio.sleep(0)
                turns += 1
            await call
            return turns

        # One turn starts the call; where it ends in that same turn, nothing else could run.
        assert _run(judge, turns_of_others) > 1, "ask never gave way to other tasks: await something, or use a thread"

    def test_a_cancelled_call_leaves_a_judge_that_can_be_asked(self) -> None:
        """A run that stops cancels what is in flight."""
        judge = self.make_judge()

        async def cancelled_and_asked_again() -> Reply:
            call = asyncio.ensure_future(judge.ask(sample_request()))
            await asyncio.sleep(0)
            call.cancel()
            await asyncio.wait([call])
            return await judge.ask(sample_request())

        _check_reply(_run(judge, cancelled_and_asked_again))

    def test_it_can_be_closed_twice_and_opened_again(self) -> None:
        """Also in another event loop, and where it was never opened."""
        judge = self.make_judge()
        asyncio.run(judge.close())
        for _ in range(2):
            _check_reply(_ask(judge, sample_request()))
            asyncio.run(judge.close())

    def test_a_failed_call_is_no_reply(self) -> None:
        """What went wrong is raised as a JudgeError with its kind: as a reply it would count as a reading."""
        for judge in self.failing_judges():
            try:
                reply = _ask(judge, sample_request())
            except JudgeError as failure:
                _check_failure(failure)
            else:
                raise AssertionError(f"a call that failed gave a reply: {reply!r}")

    def test_a_key_is_told_to_nobody(self) -> None:
        """No fact, reply or error holds the key that the environment gave."""
        held = {name: os.environ.get(name) for name in self.key_variables}
        os.environ.update(dict.fromkeys(self.key_variables, _SECRET))
        try:
            for judge in (self.make_judge(), *self.failing_judges()):
                told: list[object] = []
                try:
                    told.append(_ask(judge, sample_request()))
                except JudgeError as failure:
                    told += [failure, failure.__cause__, failure.__context__]
                told += [judge, dict(judge.decoding), dict(judge.provenance), judge.model]
                assert not any(_SECRET in f"{each!r} {each}" for each in told), "the key is in a fact, reply or error"
        finally:
            for name, value in held.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value


def _ask(judge: Judge, request: Request) -> Any:
    return _run(judge, lambda: judge.ask(request))


def _run(judge: Judge, ask: Callable[[], Awaitable[Any]]) -> Any:
    """Open, ask, close, in an event loop of its own."""

    async def opened_and_closed() -> Any:
        await judge.open()
        try:
            return await ask()
        finally:
            await judge.close()

    return asyncio.run(opened_and_closed())


def _identity(judge: Judge) -> str:
    return canonical_json([judge.adapter, judge.model, dict(judge.decoding)])


def _check_reply(reply: object) -> None:
    assert isinstance(reply, Reply), f"ask should return a datasheet.records.Reply, found {type(reply).__name__}"
    for name in ("text", "finish_reason", "refusal", "reasoning", "model", "fingerprint"):
        value = getattr(reply, name)
        assert isinstance(value, str), f"the reply's {name} should be text, found {type(value).__name__}"
    for name in ("prompt_tokens", "cached_tokens", "completion_tokens"):
        value = getattr(reply, name)
        assert value is None or (type(value) is int and value >= 0), f"{name} should be a count or None, not {value!r}"
    assert 0 <= reply.latency_s < math.inf, f"latency_s can't be {reply.latency_s!r}"
    for token, logprob in reply.logprobs:
        assert isinstance(token, str), "a candidate is a pair of a token and a log-probability"
        assert -math.inf < logprob <= 0.01, f"the log-probability of {token!r} can't be {logprob!r}"
    said = reply.text or reply.refusal or reply.finish_reason not in ("", "stop")
    assert said, "a reply without a word is a TransientJudgeError of the kind 'empty'"


def _check_failure(failure: JudgeError) -> None:
    assert _KIND.fullmatch(failure.kind), f"kind should be a short name such as rate_limit, found {failure.kind!r}"
    assert str(failure).strip(), "an error says what went wrong"
