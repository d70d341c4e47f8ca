"""Functions that judge, well and badly."""

from __future__ import annotations

import asyncio
import json

from datasheet.errors import TransientJudgeError


def longer(asked: dict) -> dict:
    """The longer answer."""
    first, second = len(asked["first"]), len(asked["second"])
    return {"verdict": "tie" if first == second else "A" if first > second else "B"}


async def asynchronous(asked: dict) -> str:
    await asyncio.sleep(0)
    return json.dumps(longer(asked))


def broken(asked: dict) -> str:
    return asked["no such field"]


def down(asked: dict) -> str:
    raise TransientJudgeError("the server is down", kind="connection")


def odd(asked: dict) -> int:
    return 7
