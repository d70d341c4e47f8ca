"""Judges that cluster workers build for themselves."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from trials.fake_judge import OK, FakeJudge

from datasheet.errors import PermanentJudgeError, TransientJudgeError
from datasheet.judge.cluster import ClusterJudge
from datasheet.records import Reply, Request

WRONG_KEY = PermanentJudgeError("401: set THE_KEY", kind="auth", status=401)
HOURS = TransientJudgeError("429: slow down", kind="rate_limit", status=429, retry_after_s=10_800.0)


class TellingJudge(FakeJudge):
    """Writes down, for each call, the process that made it, and fails as it is told."""

    def __init__(
        self, folder: Path, *, latency_s: float = 0.0, failure: Exception | None = None, opens: bool = True
    ) -> None:
        super().__init__(latency_s=latency_s)
        self.folder = folder
        self.failure = failure
        self.opens = opens

    async def open(self) -> None:
        if not self.opens:
            raise WRONG_KEY

    async def ask(self, request: Request) -> Reply:
        (self.folder / request.key).write_text(str(os.getpid()), encoding="utf-8")
        await asyncio.sleep(self.latency_s)
        if self.failure is not None:
            raise self.failure
        return replace(OK, text=f"[[A]] for {request.key}")


def on_cluster(make: Callable[[], FakeJudge], scheduler: str) -> ClusterJudge:
    return ClusterJudge(FakeJudge(), make, scheduler=scheduler)


def telling(folder: Path, **how: object) -> Callable[[], FakeJudge]:
    return partial(TellingJudge, folder, **how)  # type: ignore[arg-type]
