"""What the calls that are still to be made will cost, told before the first one: tokens, money and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import ceil
from pathlib import Path

from datasheet.judge.base import Judge
from datasheet.judge.prices import Prices, Tokens
from datasheet.records import Request
from datasheet.trials.log import TrialLog
from datasheet.trials.tables import LoggedReading

CHARACTERS_A_TOKEN = 4
"""Where nothing was measured yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Money for some calls.

    Attributes
    ----------
    estimate, most
        Made one by one, with the replies that are expected, and with each as long as it may be.
    without_cache
        The estimate if the server caches no prefix; None where that is the same.
    batch
        The estimate in a batch file; None where there is no price for it.
    """

    currency: str
    estimate: float
    most: float
    without_cache: float | None
    batch: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What the calls of a run will take.

    Attributes
    ----------
    calls
        That are still to be made, each at its first attempt.
    prompt_tokens, cached_tokens, completion_tokens
        Of all these calls; the cached ones are among those of the prompts.
    most_completion_tokens
        If each reply is as long as it may be.
    tokens_by
        How the tokens were estimated, in words.
    cost
        None where the judge's configuration holds no prices.
    seconds
        None where no latency was measured yet.
    time_by
        How the time was estimated, or why it was not, in words.
    """

    calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    most_completion_tokens: int
    tokens_by: str
    cost: Cost | None
    seconds: float | None
    time_by: str


def forecast(
    requests: Sequence[Request],
    judge: Judge,
    prices: Prices | None,
    earlier: Sequence[LoggedReading],
    *,
    concurrency: int,
) -> Forecast:
    """What some requests will take, by the calls that the log has of this judge, and else by their characters."""
    characters = sum(map(_characters, requests))
    counted = [(logged.prompt_characters, tokens) for logged in earlier if (tokens := Tokens.of(logged.reply))]
    if counted:
        share = characters / max(1, sum(sent for sent, _ in counted))
        expected = Tokens(
            prompt=round(sum(tokens.prompt for _, tokens in counted) * share),
            cached=round(sum(tokens.cached for _, tokens in counted) * share),
            completion=round(sum(tokens.completion for _, tokens in counted) / len(counted) * len(requests)),
        )
        tokens_by = f"as the server counted them in {len(counted)} earlier calls"
    else:
        expected = Tokens(
            prompt=ceil(characters / CHARACTERS_A_TOKEN),
            cached=_cached(requests, prices),
            completion=sum(map(_shortest_reply, requests)),
        )
        tokens_by = (
            f"1 for {CHARACTERS_A_TOKEN} characters of the messages, and of the shortest reply that is asked for"
        )
    most = sum(most_completion(judge, request) for request in requests)
    seconds, time_by = _time(len(requests), earlier, concurrency)
    return Forecast(
        calls=len(requests),
        prompt_tokens=expected.prompt,
        cached_tokens=expected.cached,
        completion_tokens=expected.completion,
        most_completion_tokens=max(most, expected.completion),
        tokens_by=tokens_by,
        cost=None if prices is None else _cost(prices, expected, max(most, expected.completion)),
        seconds=seconds,
        time_by=time_by,
    )


def earlier_calls(log_path: Path) -> list[LoggedReading]:
    """The calls that a log has."""
    with TrialLog.read(log_path) as log:
        return list(log.readings())


def most_completion(judge: Judge, request: Request) -> int:
    """Tokens of a reply at most: the judge's own limit, or else the prompt's."""
    own = judge.decoding.get("max_tokens")
    return own if isinstance(own, int) else request.max_tokens


def _characters(request: Request) -> int:
    return sum(len(text) for _, text in request.messages)


def _shortest_reply(request: Request) -> int:
    return ceil(min(map(len, request.replies.values())) / CHARACTERS_A_TOKEN)


def _cached(requests: Sequence[Request], prices: Prices | None) -> int:
    """Tokens of the prefix that all prompts share, from the second call on; 0 where it is too short to be cached."""
    if prices is None or prices.cached_input is None or not requests:
        return 0
    prompts = ["".join(text for _, text in request.messages) for request in requests]
    # What the first and the last in alphabetical order share, all share.
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(min(prompts), max(prompts), strict=False))
    tokens = sum(1 for _ in shared) // CHARACTERS_A_TOKEN
    return tokens * (len(requests) - 1) if tokens >= prices.cached_from_tokens else 0


def _cost(prices: Prices, expected: Tokens, most_completion: int) -> Cost:
    uncached = Tokens(prompt=expected.prompt, completion=expected.completion)
    at_most = Tokens(prompt=expected.prompt, cached=expected.cached, completion=most_completion)
    estimate, without_cache = prices.cost(expected), prices.cost(uncached)
    return Cost(
        currency=prices.currency,
        estimate=estimate,
        most=prices.cost(at_most),
        without_cache=None if without_cache == estimate else without_cache,
        batch=prices.batch_cost(uncached),
    )


def _time(calls: int, earlier: Sequence[LoggedReading], concurrency: int) -> tuple[float | None, str]:
    if not earlier:
        return None, "no call of this judge was timed yet: the first replies will tell"
    mean_s = sum(logged.reply.latency_s for logged in earlier) / len(earlier)
    seconds = mean_s * ceil(calls / concurrency)
    return seconds, f"{concurrency} at a time, {mean_s:.3g} s each, the mean of {len(earlier)} earlier calls"
