"""Functions as judges."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import ask_together, request

from datasheet.errors import PermanentJudgeError, TransientJudgeError
from datasheet.judge.python import PythonJudge
from datasheet.records import Reply

MODULE = "functions_of_this_test"
SOURCE = """
import os, threading, time
from datasheet.records import Reply

together = threading.Barrier(3, timeout=10)

def echo(asked):
    return str(asked["options"])

def whole(asked):
    return Reply(text="A", model="m")

def meets_others(asked):
    together.wait()
    return "A"

def key(asked):
    return {"text": os.environ["JUDGE_API_KEY"]}

def whole_key(asked):
    return Reply(text=os.environ["JUDGE_API_KEY"])

def raises_key(asked):
    raise ValueError(os.environ["JUDGE_API_KEY"])

released = threading.Event()

def hangs(asked):
    released.wait()
    return "late"

async def hangs_kindly(asked):
    import asyncio
    await asyncio.Event().wait()

class Kept:
    async def judge(self, asked):
        return "A"

kept = Kept()
number = 7
"""


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / f"{MODULE}.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop(MODULE, None)


def ask(name: str, *requests: object, **settings: object) -> list[Reply | BaseException]:
    judge = PythonJudge(function=f"{MODULE}:{name}", **settings)  # type: ignore[arg-type]
    return asyncio.run(ask_together(judge, *(requests or (request(),))))  # type: ignore[arg-type]


def test_options_reach_the_function_and_are_its_identity() -> None:
    (reply,) = ask("echo", options={"scale": 5})
    assert isinstance(reply, Reply)
    assert reply.text == "{'scale': 5}"
    plain, other = (PythonJudge(function="m:f", options=options) for options in (None, {"scale": 5}))
    assert (plain.adapter, plain.model, plain.decoding) == ("python", "m:f", {})
    assert other.decoding == {"options": {"scale": 5}}
    assert PythonJudge(function="m:f", model="second version").model == "second version"
    assert plain.provenance == {"function": "m:f"}


def test_a_function_may_give_a_whole_reply() -> None:
    assert ask("whole") == [Reply(text="A", model="m")]


def test_a_method_of_an_object_will_do() -> None:
    (reply,) = ask("kept.judge")
    assert isinstance(reply, Reply)


def test_plain_functions_run_at_the_same_time_up_to_the_limit() -> None:
    assert [type(reply) for reply in ask("meets_others", *[request()] * 3, connections=3)] == [Reply] * 3


@pytest.mark.parametrize("name", ["hangs", "hangs_kindly"])
def test_a_function_that_never_returns_is_left_behind(name: str) -> None:
    (failure,) = ask(name, timeout_s=0.05)
    assert isinstance(failure, TransientJudgeError)
    assert (failure.kind, "within 0.05 s" in str(failure)) == ("timeout", True)
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "judge")
    sys.modules[MODULE].released.set()


@pytest.mark.parametrize(
    ("name", "text"), [("key", "[key]"), ("whole_key", "[key]"), ("raises_key", "ValueError: [key]")]
)
def test_keys_of_the_environment_are_in_no_reply_and_no_error(
    name: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_API_KEY", "sk-0123456789")
    (answer,) = ask(name)
    assert text in (answer.text if isinstance(answer, Reply) else str(answer))
    assert "sk-0123456789" not in repr(answer)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("no_such_module_anywhere:f", "can't be imported .*ModuleNotFoundError"),
        (f"{MODULE}:none", "can't be imported .*AttributeError"),
        (f"{MODULE}:number", "is no function but int"),
    ],
)
def test_a_function_that_is_not_there_is_told_before_any_call(function: str, said: str) -> None:
    with pytest.raises(PermanentJudgeError, match=said) as error:
        asyncio.run(PythonJudge(function=function).open())
    assert error.value.kind == "import"


def test_asking_needs_an_open_judge() -> None:
    with pytest.raises(RuntimeError, match="open"):
        asyncio.run(PythonJudge(function="m:f").ask(request()))


def test_a_folder_that_is_searched_comes_last_and_only_while_importing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file there takes the place of no installed module."""
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "only_here_of_this_test.py").write_text("def f(asked):\n    return 'here'\n")
    (folder / f"{MODULE}.py").write_text("def echo(asked):\n    return 'hijacked'\n")
    before = list(sys.path)
    for function, said in (("only_here_of_this_test:f", "here"), (f"{MODULE}:echo", "{}")):
        judge = PythonJudge(function=function, search_folder=str(folder))
        (reply,) = asyncio.run(ask_together(judge, request()))
        assert isinstance(reply, Reply)
        assert reply.text == said
    assert sys.path == before
    sys.modules.pop("only_here_of_this_test")
