"""A model file in this process; the library is a stand-in that answers as llama-cpp-python does."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from asking import ask_together, request
from loopback import completion

from datasheet.errors import PermanentJudgeError, TransientJudgeError, UsageError
from datasheet.judge.local import LocalJudge
from datasheet.records import Reply, Request

LIKELY = np.float32(-0.5)  # which no JSON library writes
FIRST = {"content": [{"token": "A", "logprob": LIKELY, "top_logprobs": [{"token": "A", "logprob": LIKELY}]}]}


class Library:
    """Keeps how models were loaded and asked; ``answer`` makes an answer, or raises."""

    def __init__(self) -> None:
        self.loaded: list[dict] = []
        self.asked: list[dict] = []
        self.running = self.most_running = 0
        self.answer = lambda asked: completion("[[A]]", model="/home/someone/models/tiny.gguf")

    def model(self, **options: object) -> SimpleNamespace:
        self.loaded.append(options)
        if not Path(str(options["model_path"])).read_bytes().startswith(b"GGUF"):
            raise ValueError(f"Failed to load model from file: {options['model_path']}")
        return SimpleNamespace(create_chat_completion=self.create_chat_completion)

    def create_chat_completion(self, **asked: object) -> object:
        self.asked.append(asked)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            return self.answer(asked)
        finally:
            self.running -= 1


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    stand_in = Library()
    module = SimpleNamespace(Llama=stand_in.model, __spec__=SimpleNamespace())
    monkeypatch.setitem(sys.modules, "llama_cpp", module)
    return stand_in


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(b"GGUF weights")
    return str(path)


def ask(file: str, *requests: Request, **settings: object) -> list[Reply | BaseException]:
    judge = LocalJudge(file=file, **settings)  # type: ignore[arg-type]
    return asyncio.run(ask_together(judge, *(requests or (request(),))))


def test_a_model_is_loaded_once_and_asked(library: Library, file: str) -> None:
    replies = ask(file, request(), request(repeat=1), load_options={"n_gpu_layers": -1})
    assert library.loaded == [
        {"model_path": file, "n_ctx": 4096, "logits_all": False, "verbose": False, "n_gpu_layers": -1}
    ]
    messages = [{"role": "system", "content": "You compare."}, {"role": "user", "content": "Compare."}]
    assert library.asked == [{"messages": messages, "temperature": 0.0, "max_tokens": 256}] * 2
    (reply, _) = replies
    assert isinstance(reply, Reply)
    assert (reply.text, reply.model, reply.prompt_tokens) == ("[[A]]", "tiny", 60)


def test_settings_reach_the_library(library: Library, file: str) -> None:
    settings = {"temperature": 1, "seed": 5, "max_tokens": 9, "json_mode": "json_object", "context_tokens": 512}
    ask(file, request(schema={"type": "object"}, repeat=2), **settings)
    assert library.loaded[0]["n_ctx"] == 512
    asked = {name: value for name, value in library.asked[0].items() if name != "messages"}
    form = {"type": "json_object", "schema": {"type": "object"}}
    assert asked == {"temperature": 1.0, "max_tokens": 9, "seed": 7, "response_format": form}


def test_candidates_need_a_model_that_keeps_all_scores(library: Library, file: str) -> None:
    library.answer = lambda asked: completion("A", choice={"logprobs": FIRST})
    _, reply, again = ask(file, request(), request(top_logprobs=5), request())
    assert [options["logits_all"] for options in library.loaded] == [False, True]
    assert (library.asked[1]["logprobs"], library.asked[1]["top_logprobs"]) == (True, 5)
    assert isinstance(reply, Reply)
    assert reply.logprobs == (("A", -0.5),)
    assert type(reply.logprobs[0][1]) is float
    assert isinstance(again, Reply)


def test_one_call_at_a_time(library: Library, file: str) -> None:
    gate = threading.Event()
    threading.Timer(0.05, gate.set).start()
    library.answer = lambda asked: gate.wait() and completion("[[A]]")
    assert [type(reply) for reply in ask(file, *[request()] * 4)] == [Reply] * 4
    assert library.most_running == 1


def test_a_cancelled_call_ends_before_the_next_begins(library: Library, file: str) -> None:
    """Its thread goes on, and the library can't do two things at once."""
    begun, gate = threading.Event(), threading.Event()

    def answer(asked: dict) -> object:
        begun.set()
        gate.wait()
        return completion("[[A]]")

    library.answer = answer

    async def cancelled_and_asked_again() -> Reply:
        judge = LocalJudge(file=file)
        await judge.open()
        call = asyncio.create_task(judge.ask(request()))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        call.cancel()
        await asyncio.wait([call])
        again = asyncio.create_task(judge.ask(request()))
        await asyncio.sleep(0.02)
        assert len(library.asked) == 1
        gate.set()
        return await again

    assert asyncio.run(cancelled_and_asked_again()).text == "[[A]]"
    assert (len(library.asked), library.most_running) == (2, 1)


def test_the_content_of_the_file_is_the_identity_and_its_place_is_not(file: str, tmp_path: Path) -> None:
    judge = LocalJudge(file=file)
    digest = hashlib.sha256(b"GGUF weights").hexdigest()
    assert judge.decoding == {"temperature": 0.0, "context_tokens": 4096, "file_sha256": digest}
    assert (judge.adapter, judge.model, judge.simulated) == ("local", "tiny", False)
    (tmp_path / "elsewhere").mkdir()
    copy = tmp_path / "elsewhere" / "tiny.gguf"
    copy.write_bytes(b"GGUF weights")
    assert LocalJudge(file=str(copy)).decoding == judge.decoding
    copy.write_bytes(b"GGUF other weights")
    assert LocalJudge(file=str(copy)).decoding != judge.decoding
    assert str(tmp_path) not in repr((judge.decoding, judge.provenance, judge.model))


def test_a_prompt_beyond_the_context_is_a_datum(library: Library, file: str) -> None:
    def refuse(asked: dict) -> None:
        raise ValueError("Requested tokens (700) exceed context window of 512")

    library.answer = refuse
    assert ask(file) == [Reply(text="", finish_reason="context_length", model="tiny")]


@pytest.mark.parametrize(("answer", "kind"), [(completion(None), "empty"), ({"choices": None}, "empty")])
def test_an_answer_without_a_reply_is_asked_again(library: Library, file: str, answer: object, kind: str) -> None:
    library.answer = lambda asked: answer
    (failure,) = ask(file)
    assert isinstance(failure, TransientJudgeError)
    assert failure.kind == kind


def test_a_fault_of_the_library_is_a_failed_call(library: Library, file: str) -> None:
    def fail(asked: dict) -> None:
        raise RuntimeError("llama_decode returned -3")

    library.answer = fail
    (failure,) = ask(file)
    assert isinstance(failure, TransientJudgeError)
    assert (failure.kind, "RuntimeError: llama_decode returned -3" in str(failure)) == ("exception", True)


@pytest.mark.usefixtures("library")
def test_what_is_no_model_is_told_at_the_first_call(tmp_path: Path) -> None:
    text = tmp_path / "text.gguf"
    text.write_text("no model")
    (failure,) = ask(str(text))
    assert isinstance(failure, PermanentJudgeError)
    assert "text.gguf can't be loaded" in str(failure)
    assert str(tmp_path) not in str(failure)


def test_a_file_that_is_not_there_is_told_before_any_call(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.gguf can't be read: No such file"):
        LocalJudge(file=str(tmp_path / "none.gguf")).decoding  # noqa: B018


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    monkeypatch.setattr("datasheet.judge.local._LIBRARY", "no_such_library_anywhere")
    with pytest.raises(PermanentJudgeError, match=r"judge-datasheet\[local\]"):
        asyncio.run(LocalJudge(file=file).open())
