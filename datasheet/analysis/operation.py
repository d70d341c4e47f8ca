"""How the judge ran: latency and tokens, from the columns of a trial log."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

MOST_PERCENTILE = 95


def operation_of(
    *,
    latencies_s: Sequence[float | None],
    prompt_tokens: Sequence[int | None],
    cached_tokens: Sequence[int | None],
    completion_tokens: Sequence[int | None],
) -> dict[str, float | int | None]:
    """Median and 95th percentile of latency (seconds) of the calls that tell it, and tokens that the server counted."""
    seconds = np.asarray([latency_s for latency_s in latencies_s if latency_s is not None], dtype=np.float64)
    asked = [tokens for tokens in prompt_tokens if tokens is not None]
    cached = [tokens for tokens in cached_tokens if tokens is not None]
    written = [tokens for tokens in completion_tokens if tokens is not None]
    return {
        "calls": len(latencies_s),
        "latency_median_s": round(float(np.median(seconds)), 4) if len(seconds) else None,
        "latency_p95_s": round(float(np.percentile(seconds, MOST_PERCENTILE)), 4) if len(seconds) else None,
        "prompt_tokens": sum(asked) if asked else None,
        "cached_tokens": sum(cached) if cached else None,
        "completion_tokens": sum(written) if written else None,
        "calls_with_token_counts": len(asked),
    }
