"""What tokens cost: the prices of a judge, as configured, and the arithmetic on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from datasheet.errors import UsageError
from datasheet.judge.settings import Setting, check_settings, is_number
from datasheet.records import Reply

_PER = 1_000_000
_MOST_PRICE = 1_000_000


def is_currency(value: object) -> bool:
    """Whether a value is a currency's code, as in ISO 4217."""
    return isinstance(value, str) and len(value) == 3 and value.isascii() and value.isalpha() and value.isupper()


_PRICE = Setting(
    wish=f"a price for a million tokens, from 0 to {_MOST_PRICE:,}", fits=lambda value: is_number(value, 0, _MOST_PRICE)
)
PRICES: Mapping[str, Setting] = {
    "currency": Setting(wish="three capital letters, such as USD", fits=is_currency),
    **dict.fromkeys(("input", "output", "cached_input", "batch_input", "batch_output"), _PRICE),
    "cached_from_tokens": Setting(
        wish="a whole number of tokens from 1 to 1,000,000",
        fits=lambda value: type(value) is int and 1 <= value <= _PER,
    ),
}
"""What a table of prices may hold."""
_NEEDED = ("currency", "input", "output")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Tokens of some calls: of the prompts, those of them that the server had cached, and of the replies."""

    prompt: int
    cached: int = 0
    completion: int = 0

    @classmethod
    def of(cls, reply: Reply) -> Tokens | None:
        """Those of a call, as the server counted them; None where it did not."""
        if reply.prompt_tokens is None or reply.completion_tokens is None:
            return None
        return cls(prompt=reply.prompt_tokens, cached=reply.cached_tokens or 0, completion=reply.completion_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Money for a million tokens.

    Attributes
    ----------
    cached_input
        For prompt tokens that the server has cached; None where they cost as much as the others.
    batch_input, batch_output
        In a batch file; None where there is no such price.
    cached_from_tokens
        The shortest prefix that the server caches.
    """

    currency: str
    input: float
    output: float
    cached_input: float | None = None
    batch_input: float | None = None
    batch_output: float | None = None
    cached_from_tokens: int = 1024

    @classmethod
    def from_settings(cls, settings: object, where: str) -> Prices:
        """Prices from a table of a datasheet.toml.

        Raises
        ------
        UsageError
            A price is missing, unknown or not what it should be; the message begins with ``where``.
        """
        if not isinstance(settings, Mapping):
            raise UsageError(f"{where}: prices should be a table of {', '.join(PRICES)}; found {settings!r:.60}")
        table: Mapping[str, Any] = settings
        check_settings(table, PRICES, f"{where} prices")
        missing = [name for name in _NEEDED if name not in table]
        if ("batch_input" in table) != ("batch_output" in table):
            missing += [name for name in ("batch_input", "batch_output") if name not in table]
        if missing:
            raise UsageError(f"{where} prices: {missing[0]} is missing: it should be {PRICES[missing[0]].wish}")
        return cls(**table)

    def cost(self, tokens: Tokens) -> float:
        """Money for calls made one by one."""
        cached_input = self.input if self.cached_input is None else self.cached_input
        cached = min(tokens.cached, tokens.prompt)
        return ((tokens.prompt - cached) * self.input + cached * cached_input + tokens.completion * self.output) / _PER

    def batch_cost(self, tokens: Tokens) -> float | None:
        """Money for the same calls in a batch file, nothing of it cached; None where there is no such price."""
        if self.batch_input is None or self.batch_output is None:
            return None
        return (tokens.prompt * self.batch_input + tokens.completion * self.batch_output) / _PER
