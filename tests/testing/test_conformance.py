"""Our own adapters pass the conformance kit, and a judge with any one fault does not."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from loopback import LoopbackServer, Step, completion, failure, message, verdict

from datasheet.errors import PermanentJudgeError, TransientJudgeError
from datasheet.judge.anthropic import AnthropicJudge
from datasheet.judge.base import Judge
from datasheet.judge.command import CommandJudge
from datasheet.judge.local import LocalJudge
from datasheet.judge.openai import OpenAIJudge
from datasheet.judge.python import PythonJudge
from datasheet.judge.simulated import SimulatedJudge, observer
from datasheet.records import Lexicon, Reply, Request
from datasheet.testing import JudgeConformance, sample_request

TIE = '{"verdict": "tie"}'


class Served(JudgeConformance):
    """A judge behind a server that answers, and behind servers that fail with the key in what they say."""

    key_variables = ("CONFORMANCE_KEY",)
    kind: Callable[..., Judge]
    answer: Step

    @pytest.fixture(autouse=True)
    def _servers(self) -> Iterator[None]:
        failing: list[Callable[..., Step]] = [
            lambda call: failure(500, f"{dict(call.headers)}"),
            lambda call: failure(401, f"{dict(call.headers)}"),
            lambda call: Step(close=True),
            lambda call: Step(text="<html>"),
        ]
        with LoopbackServer([self.answer]) as server:
            self.urls = [server.base_url]
            servers = [LoopbackServer(script) for script in failing]
            for each in servers:
                each.__enter__()
            self.urls += [each.base_url for each in servers]
            yield
            for each in servers:
                each.__exit__(None, None, None)

    def judge(self, url: str) -> Judge:
        return type(self).kind(model="fake-judge", base_url=url, api_key_env="CONFORMANCE_KEY")

    def make_judge(self) -> Judge:
        return self.judge(self.urls[0])

    def failing_judges(self) -> Iterable[Judge]:
        return map(self.judge, self.urls[1:])


class TestOpenAI(Served):
    kind, answer = OpenAIJudge, verdict(TIE)


class TestAnthropic(Served):
    kind, answer = AnthropicJudge, Step(json=message({"type": "text", "text": TIE}))


class TestSimulated(JudgeConformance):
    def make_judge(self) -> Judge:
        return SimulatedJudge(observer("careful"), Lexicon(requirements={}), name="careful")


class TestPython(JudgeConformance):
    def make_judge(self) -> Judge:
        return PythonJudge(function="testing.judges_at_hand:longer")

    def failing_judges(self) -> Iterable[Judge]:
        return [PythonJudge(function=f"testing.judges_at_hand:{name}") for name in ("broken", "down", "odd", "missing")]


class TestPythonAsynchronous(JudgeConformance):
    def make_judge(self) -> Judge:
        return PythonJudge(function="testing.judges_at_hand:asynchronous")


class TestCommand(JudgeConformance):
    def make_judge(self) -> Judge:
        return CommandJudge(command=["cat", str(Path(__file__).parent / "tie.json")])

    def failing_judges(self) -> Iterable[Judge]:
        return [CommandJudge(command=[program]) for program in ("false", "true", "no-such-program-anywhere")]


class TestLocal(JudgeConformance):
    """With a stand-in for the library."""

    @pytest.fixture(autouse=True)
    def _library(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        def loaded(*, model_path: str, **options: object) -> SimpleNamespace:
            if not Path(model_path).read_bytes():
                raise ValueError("no model")
            return SimpleNamespace(create_chat_completion=lambda **asked: completion(TIE))

        monkeypatch.setitem(sys.modules, "llama_cpp", SimpleNamespace(Llama=loaded, __spec__=SimpleNamespace()))
        self.good, self.empty = tmp_path / "good.gguf", tmp_path / "empty.gguf"
        self.good.write_bytes(b"GGUF")
        self.empty.touch()

    def make_judge(self) -> Judge:
        return LocalJudge(file=str(self.good))

    def failing_judges(self) -> Iterable[Judge]:
        return [LocalJudge(file=str(self.empty))]


# What the kit finds


class Sound:
    """A judge without a fault, to put one into."""

    adapter = "sound"
    model = "sound"
    simulated = False
    decoding: Mapping[str, object] = {"temperature": 0}
    provenance: Mapping[str, str] = {}

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def ask(self, request: Request) -> Reply:
        await asyncio.sleep(0)
        return Reply(text=TIE)


class Nameless(Sound):
    model = " "


class NoJson(Sound):
    decoding: Mapping[str, object] = {"at": object()}


class Moody(Sound):
    def __init__(self) -> None:
        self.decoding = {"made_at": time.perf_counter_ns()}


class Learning(Sound):
    async def ask(self, request: Request) -> Reply:
        self.decoding = {"asked": True}
        return await super().ask(request)


class Textual(Sound):
    async def ask(self, request: Request) -> Reply:
        await asyncio.sleep(0)
        return TIE  # type: ignore[return-value]


class Mute(Sound):
    async def ask(self, request: Request) -> Reply:
        return replace(await super().ask(request), text="")


class Unsure(Sound):
    async def ask(self, request: Request) -> Reply:
        return replace(await super().ask(request), prompt_tokens=-1)


class Blocking(Sound):
    async def ask(self, request: Request) -> Reply:
        return Reply(text=TIE)


class Fragile(Sound):
    async def ask(self, request: Request) -> Reply:
        request.first.encode()
        return await super().ask(request)


class Meddling(Sound):
    async def ask(self, request: Request) -> Reply:
        object.__setattr__(request, "messages", ())
        return await super().ask(request)


class OnceOnly(Sound):
    closed = False

    async def open(self) -> None:
        if self.closed:
            raise RuntimeError("closed")

    async def close(self) -> None:
        self.closed = True


class Broken(Sound):
    """After a cancelled call nothing comes any more."""

    cancelled = False

    async def ask(self, request: Request) -> Reply:
        if self.cancelled:
            raise TransientJudgeError("the connection is gone", kind="connection")
        try:
            return await super().ask(request)
        except asyncio.CancelledError:
            self.cancelled = True
            raise


class Swallowing(Sound):
    """A failure as a reply."""

    async def ask(self, request: Request) -> Reply:
        await asyncio.sleep(0)
        return Reply(text="Error: the server is down")


class Unkind(Sound):
    async def ask(self, request: Request) -> Reply:
        raise PermanentJudgeError("", kind="Something went wrong!")


class Telling(Sound):
    """Shows its key."""

    @property
    def provenance(self) -> Mapping[str, str]:  # type: ignore[override]
        return {"key": os.environ.get("CONFORMANCE_KEY", "")}


FAULTS = [
    (Nameless, "test_its_facts_are_what_an_identity_is_made_of"),
    (NoJson, "test_its_facts_are_what_an_identity_is_made_of"),
    (Moody, "test_equal_settings_are_one_instrument_whatever_was_asked"),
    (Learning, "test_equal_settings_are_one_instrument_whatever_was_asked"),
    (Textual, "test_a_reply_is_a_reply"),
    (Mute, "test_a_reply_is_a_reply"),
    (Unsure, "test_a_reply_is_a_reply"),
    (Mute, "test_calls_go_on_at_the_same_time"),
    (Blocking, "test_a_call_lets_others_run"),
    (Fragile, "test_any_text_can_be_asked_about"),
    (Meddling, "test_a_request_is_left_as_it_is"),
    (OnceOnly, "test_it_can_be_closed_twice_and_opened_again"),
    (Broken, "test_a_cancelled_call_leaves_a_judge_that_can_be_asked"),
    (Swallowing, "test_a_failed_call_is_no_reply"),
    (Unkind, "test_a_failed_call_is_no_reply"),
    (Telling, "test_a_key_is_told_to_nobody"),
]


def kit_of(judge: type[Sound]) -> JudgeConformance:
    class Kit(JudgeConformance):
        key_variables = ("CONFORMANCE_KEY",)

        def make_judge(self) -> Judge:
            return judge()

        def failing_judges(self) -> Iterable[Judge]:
            return [judge()] if judge in (Swallowing, Unkind) else []

    return Kit()


@pytest.mark.parametrize(("judge", "check"), FAULTS, ids=lambda value: getattr(value, "__name__", value))
def test_a_fault_is_found(judge: type[Sound], check: str) -> None:
    with pytest.raises((AssertionError, TypeError, UnicodeEncodeError, RuntimeError, TransientJudgeError)):
        getattr(kit_of(judge), check)()
    getattr(kit_of(Sound), check)()


def test_every_check_finds_some_fault() -> None:
    checks = {name for name in dir(JudgeConformance) if name.startswith("test_")}
    assert {check for _, check in FAULTS} == checks


def test_an_author_who_gives_no_judge_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotImplementedError, match="give your judge"):
        JudgeConformance().test_a_reply_is_a_reply()


def test_sample_requests_are_of_the_shipped_prompts() -> None:
    request = sample_request(prompt="logprob", repeat=2)
    assert (request.max_tokens, request.top_logprobs, request.repeat) == (1, 20, 2)
    assert request.first in request.messages[-1][1]


def test_the_kit_needs_no_test_library() -> None:
    """An adapter's package decides for itself what its tests need."""
    code = "import datasheet.testing, sys; print('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
