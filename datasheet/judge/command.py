"""A judge that is a program: it gets a request as one line of JSON on stdin, and writes its answer (:mod:`.wire`)."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress

from datasheet.errors import PermanentJudgeError, TransientJudgeError
from datasheet.judge.scrubbing import Scrubber
from datasheet.judge.urls import visible
from datasheet.judge.wire import as_json, environment_scrubber, read_answer
from datasheet.records import Reply, Request

_MOST_BYTES = 8_000_000
_MOST_S_TO_END = 5.0


class CommandJudge:
    """Starts a program for each call, without a shell.

    Parameters
    ----------
    command
        The program and its arguments.
    model
        Its name in the judge's identity; the command if None.
    options
        JSON values that the program gets with every request; part of the identity.
    timeout_s
        Seconds for one call, after which the program is killed.
    connections
        Programs that run at the same time at most.
    """

    adapter = "command"
    simulated = False

    def __init__(
        self,
        *,
        command: Sequence[str],
        model: str | None = None,
        options: Mapping[str, object] | None = None,
        timeout_s: float = 120.0,
        connections: int = 8,
    ) -> None:
        self._command = tuple(command)
        self._name = shlex.join(command)
        self.model = model or self._name
        self.decoding: Mapping[str, object] = {"options": dict(options)} if options else {}
        self.provenance: Mapping[str, str] = {"program": self._name}
        self._options = dict(options or {})
        self._timeout_s = timeout_s
        self._connections = connections
        self._slots = asyncio.Semaphore(connections)
        self._scrub = Scrubber()

    async def open(self) -> None:
        """Look for the program.

        Raises
        ------
        PermanentJudgeError
            There is none of that name that can be run.
        """
        self._scrub = environment_scrubber()
        self._slots = asyncio.Semaphore(self._connections)
        if shutil.which(self._command[0]) is None:
            raise PermanentJudgeError(
                f"there is no program {self._command[0]!r} that can be run: name one on PATH, or by its path",
                kind="not_found",
            )

    async def close(self) -> None:
        """Nothing to give back."""

    async def ask(self, request: Request) -> Reply:
        """One run of the program.

        Raises
        ------
        TransientJudgeError
            It took too long, ended with another code than 0, or wrote too much; ``kind`` is timeout, exit or bad_body.
        PermanentJudgeError
            What it wrote is no answer.
        """
        line = json.dumps(as_json(request, self._options)).encode() + b"\n"
        async with self._slots:
            started_s = time.perf_counter()
            written, complaint, code = await self._run(line)
            latency_s = time.perf_counter() - started_s
        if code != 0:
            said = visible(self._scrub(complaint.decode("utf-8", "replace").strip())) or "(nothing on stderr)"
            raise TransientJudgeError(f"{self._name} ended with code {code}: {said}", kind="exit")
        answer = _answer(written.decode("utf-8-sig", "replace").strip())
        return read_answer(answer, self._name, latency_s=latency_s, scrub=self._scrub)

    async def _run(self, line: bytes) -> tuple[bytes, bytes, int]:
        """Output, errors and exit code of one run."""
        process = await asyncio.create_subprocess_exec(
            *self._command, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            async with asyncio.timeout(self._timeout_s):
                _, written, complaint = await asyncio.gather(
                    _tell(process.stdin, line), self._read(process.stdout), self._read(process.stderr)
                )
                code = await process.wait()
        except TimeoutError:
            raise TransientJudgeError(
                f"{self._name} did not end within {self._timeout_s:g} s", kind="timeout"
            ) from None
        finally:
            await _end(process)
        return written, complaint, code

    async def _read(self, stream: asyncio.StreamReader) -> bytes:
        size, chunks = 0, []
        while chunk := await stream.read(2**16):
            size += len(chunk)
            if size > _MOST_BYTES:
                raise TransientJudgeError(f"{self._name} wrote more than {_MOST_BYTES:,} bytes", kind="bad_body")
            chunks.append(chunk)
        return b"".join(chunks)


def _answer(text: str) -> object:
    """The object that a text is in JSON, else the text itself."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return document if isinstance(document, dict) and document.keys() & {"text", "error"} else text


async def _tell(stdin: asyncio.StreamWriter, line: bytes) -> None:
    """Write the request; a program need not read it."""
    with suppress(BrokenPipeError, ConnectionResetError):
        stdin.write(line)
        await stdin.drain()
    stdin.close()
    with suppress(BrokenPipeError, ConnectionResetError):
        await stdin.wait_closed()


async def _end(process: Process) -> None:
    """Kill the program, with all that it started, where it has not ended by itself."""
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    try:
        async with asyncio.timeout(_MOST_S_TO_END):
            await process.wait()
    except TimeoutError:  # something that it started has left its group and holds on to our pipes
        process._transport.close()  # type: ignore[attr-defined]  # asyncio has no public way to let go
