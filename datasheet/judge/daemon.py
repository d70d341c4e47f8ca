"""Calls of plain functions that take their time, in threads that do not keep Python from ending."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def in_thread(function: Callable[[T], Any], argument: T) -> Any:
    """What the function returns or raises. A pool's thread would be waited for when the run ends; this one is not."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(answer: Any, problem: Exception | None) -> None:
        if future.done():
            return
        if problem is None:
            future.set_result(answer)
        else:
            future.set_exception(problem)

    def work() -> None:
        answer, problem = None, None
        try:
            answer = function(argument)
        except Exception as raised:
            problem = raised
        with suppress(RuntimeError):  # the run has ended, and nobody waits
            loop.call_soon_threadsafe(settle, answer, problem)

    threading.Thread(target=work, name="judge", daemon=True).start()
    return await future
