"""A judge that is a Python function: it gets a request as a dictionary, and returns its answer (:mod:`.wire`)."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from datasheet.errors import JudgeError, PermanentJudgeError, TransientJudgeError
from datasheet.judge.daemon import in_thread
from datasheet.judge.scrubbing import Scrubber
from datasheet.judge.urls import visible
from datasheet.judge.wire import as_json, environment_scrubber, read_answer, scrubbed
from datasheet.records import Reply, Request

Function = Callable[[dict[str, object]], Any]


class PythonJudge:
    """Asks a function, plain or asynchronous; a plain one is called in threads of its own, several at a time.

    Parameters
    ----------
    function
        ``package.module:name``.
    model
        Its name in the judge's identity; ``function`` if None. Another version of the code is another instrument: name
        it here.
    options
        JSON values that the function gets with every request; part of the identity.
    timeout_s
        Seconds for one call. A plain function that takes longer goes on in its thread, and its answer is dropped.
    search_folder
        Where the module may lie besides the places where Python looks; they come first.
    """

    adapter = "python"
    simulated = False

    def __init__(
        self,
        *,
        function: str,
        model: str | None = None,
        options: Mapping[str, object] | None = None,
        timeout_s: float = 120.0,
        connections: int = 8,
        search_folder: str | None = None,
    ) -> None:
        self.model = model or function
        self.decoding: Mapping[str, object] = {"options": dict(options)} if options else {}
        self.provenance: Mapping[str, str] = {"function": function}
        self._name = function
        self._options = dict(options or {})
        self._timeout_s = timeout_s
        self._connections = connections
        self._search_folder = search_folder
        self._slots = asyncio.Semaphore(connections)
        self._scrub = Scrubber()
        self._function: Function | None = None

    async def open(self) -> None:
        """Import the function.

        Raises
        ------
        PermanentJudgeError
            There is none, or its module can't be imported.
        """
        self._scrub = environment_scrubber()
        self._slots = asyncio.Semaphore(self._connections)
        module_name, _, path = self._name.partition(":")
        try:
            found: object = _imported(module_name, self._search_folder)
            for part in path.split("."):
                found = getattr(found, part)
        except Exception as problem:  # a module may raise anything
            raise PermanentJudgeError(
                f"the judge {self._name} can't be imported ({self._told(problem)}): expected a function {path} in an "
                f"installed module {module_name}, or one on PYTHONPATH",
                kind="import",
            ) from None
        if not callable(found):
            raise PermanentJudgeError(
                f"the judge {self._name} is no function but {type(found).__name__}", kind="import"
            )
        self._function = found

    async def close(self) -> None:
        """Nothing to give back."""

    async def ask(self, request: Request) -> Reply:
        """One call of the function.

        Raises
        ------
        TransientJudgeError
            It took too long, or raised; ``kind`` is timeout or exception.
        PermanentJudgeError
            What it returned is no answer.
        """
        if self._function is None:
            raise RuntimeError("open the judge before asking it")
        async with self._slots:
            started_s = time.perf_counter()
            try:
                async with asyncio.timeout(self._timeout_s) as limit:
                    answer = await _called(self._function, as_json(request, self._options))
            except JudgeError:
                raise
            except Exception as problem:
                if limit.expired():
                    raise TransientJudgeError(
                        f"{self._name} did not return within {self._timeout_s:g} s", kind="timeout"
                    ) from None
                raise TransientJudgeError(f"{self._name} raised {self._told(problem)}", kind="exception") from None
            latency_s = time.perf_counter() - started_s
        if isinstance(answer, Reply):
            return scrubbed(answer, self._scrub)
        return read_answer(answer, self._name, latency_s=latency_s, scrub=self._scrub)

    def _told(self, problem: Exception) -> str:
        return visible(self._scrub(f"{type(problem).__name__}: {problem}"))


def _imported(name: str, folder: str | None) -> object:
    """A module; one in ``folder`` comes last, so that no file there takes the place of an installed module."""
    added = [] if folder is None else [str(Path(folder).resolve())]
    sys.path += added
    try:
        return importlib.import_module(name)
    finally:
        for entry in added:
            sys.path.remove(entry)


async def _called(function: Function, asked: dict[str, object]) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(asked)
    answer = await in_thread(function, asked)
    return await answer if inspect.isawaitable(answer) else answer
