"""Runs of a fake judge, and the ways in which it fails."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from trials.fake_judge import FakeClock, FakeJudge

from datasheet.errors import PermanentJudgeError, TransientJudgeError
from datasheet.trials.log import TrialLog
from datasheet.trials.pending import Planned
from datasheet.trials.runner import RunOutcome, run

TIMEOUT = TransientJudgeError("no reply within 120 s", kind="timeout")
EMPTY = TransientJudgeError("the reply had no content", kind="empty", status=200)
WRONG_KEY = PermanentJudgeError("401: set OPENAI_API_KEY", kind="auth", status=401)


def rate_limit(retry_after_s: float | None) -> TransientJudgeError:
    """A server that asks to wait so long."""
    return TransientJudgeError("429: slow down", kind="rate_limit", status=429, retry_after_s=retry_after_s)


def measure(judge: FakeJudge, log: TrialLog, planned: list[Planned], **options: Any) -> RunOutcome:
    """Run these trials, with no time passing."""
    options = {"clock": FakeClock(), "rng": random.Random(1), **options}
    return asyncio.run(run(planned, judge, log, **options))


def keys(planned: list[Planned]) -> list[str]:
    """The keys of trials, in their order."""
    return [request.key for _, request in planned]
