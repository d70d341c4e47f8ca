"""How patient a run is with failures that may pass."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How patient a run is.

    Attributes
    ----------
    max_attempts, max_attempts_empty
        Calls for one trial before it is left unanswered; fewer where the replies were empty.
    first_wait_s, max_wait_s
        The wait before the second attempt is drawn from 0 to ``first_wait_s``; the range doubles with each attempt.
    pause_over_s
        A server that asks for a longer wait than this pauses the run.
    give_up_after
        So many trials left unanswered before any success mean that nothing can be measured; so many in a row after
        one, that the server has gone, and the run pauses.
    drain_s
        How long calls in flight may go on when the run stops.
    """

    max_attempts: int = 5
    max_attempts_empty: int = 3
    first_wait_s: float = 1.0
    max_wait_s: float = 60.0
    pause_over_s: float = 300.0
    give_up_after: int = 20
    drain_s: float = 30.0

    def attempts(self, kind: str) -> int:
        """Calls for one trial whose latest failure is of a kind."""
        return min(self.max_attempts, self.max_attempts_empty) if kind == "empty" else self.max_attempts

    def wait_s(self, attempt: int, rng: random.Random) -> float:
        """Exponential back-off with full jitter, in seconds, after the given attempt (1 is the first)."""
        return rng.uniform(0.0, min(self.max_wait_s, self.first_wait_s * 2.0 ** (attempt - 1)))
