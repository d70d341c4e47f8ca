"""Asks an :class:`~datasheet.judge.openai.OpenAIJudge` once, against a loopback server."""

from __future__ import annotations

import asyncio

from loopback import LoopbackServer, Step

from datasheet.judge.base import Judge
from datasheet.judge.openai import OpenAIJudge
from datasheet.records import Reply, Request

MESSAGES = (("system", "You compare."), ("user", "Compare."))


def request(
    text: str | None = None,
    *,
    messages: tuple = MESSAGES,
    schema: dict | None = None,
    repeat: int = 0,
    top_logprobs: int | None = None,
) -> Request:
    """A request of these messages; ``text`` alone takes the place of the user's."""
    if text is not None:
        messages = (MESSAGES[0], ("user", text))
    return Request(
        key="k",
        messages=messages,
        first="x",
        second="y",
        replies={},
        response_schema=schema,
        repeat=repeat,
        top_logprobs=top_logprobs,
    )


async def ask_together(judge: Judge, *requests: Request) -> list[Reply | BaseException]:
    """Open, ask all at once, close; a failure stands in the place of its reply."""
    await judge.open()
    try:
        return await asyncio.gather(*(judge.ask(each) for each in requests), return_exceptions=True)
    finally:
        await judge.close()


def judge_of(server: LoopbackServer, **settings: object) -> OpenAIJudge:
    """A judge that asks this server."""
    return OpenAIJudge(**{"model": "fake-judge", "base_url": server.base_url, **settings})


def ask(server: LoopbackServer, asked: Request | None = None, **settings: object) -> Reply:
    """One attempt at one call, raising what it raises."""
    (reply,) = asyncio.run(ask_together(judge_of(server, **settings), asked or request()))
    if isinstance(reply, BaseException):
        raise reply
    return reply


def ask_step(step: Step, asked: Request | None = None, **settings: object) -> Reply:
    """One attempt at a server that does this."""
    with LoopbackServer([step]) as server:
        return ask(server, asked, **settings)


def open_only(models: object, **settings: object) -> None:
    """Open and close a judge at a server whose list of models is this."""
    with LoopbackServer(models=models) as server:
        asyncio.run(ask_together(judge_of(server, **settings)))
