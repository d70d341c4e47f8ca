"""The budget of a command, and what calls cost a judge with prices."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from datasheet.config import Config
from datasheet.errors import JudgeError, UsageError
from datasheet.judge.base import Judge
from datasheet.judge.catalogue import find_judge
from datasheet.judge.prices import Prices, Tokens
from datasheet.judge.spec import JudgeSpec
from datasheet.records import Reply, Request
from datasheet.trials.allowance import Allowance, CallTariff
from datasheet.trials.log import LEAST_ERROR_STATUS
from datasheet.workflows.forecast import most_completion

_BUDGET = re.compile(r"(?P<before>[A-Za-z]{3})? ?(?P<amount>[0-9]{1,12}(?:\.[0-9]{1,9})?) ?(?P<after>[A-Za-z]{3})?")
_WISH = "--budget: expected a number of calls such as 500, or an amount of money such as 5USD"
# What a chat template and the end of a message may add to the tokens of the texts.
_TEMPLATE_TOKENS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one command may spend; the currency of money, None for calls."""

    amount: float
    currency: str | None

    @classmethod
    def from_text(cls, text: str) -> Budget:
        """A budget as it is written after ``--budget``.

        Raises
        ------
        UsageError
            It is neither a number of calls nor an amount of money, or 0.
        """
        found = _BUDGET.fullmatch(text.strip())
        codes = [code.upper() for code in found.group("before", "after") if code] if found else []
        if found is None or len(codes) > 1 or (not codes and "." in found["amount"]):
            raise UsageError(f"{_WISH}; found {text!r:.60}")
        amount = float(found["amount"])
        if amount <= 0:
            raise UsageError(f"{_WISH}, above 0; found {text!r:.60}")
        return cls(amount=amount, currency=codes[0] if codes else None)

    def less(self, spent: float) -> Budget:
        """What is left of it."""
        return replace(self, amount=max(0.0, self.amount - spent))

    def check(self, spec: JudgeSpec) -> None:
        """Refuse money for a judge whose calls nobody can price in it.

        Raises
        ------
        UsageError
            The judge has no prices, or prices in another currency.
        """
        if self.currency is None or (spec.prices is not None and spec.prices.currency == self.currency):
            return
        found = "no prices" if spec.prices is None else f"prices in {spec.prices.currency}"
        raise UsageError(
            f"--budget: {spec.name} has {found} in its configuration, and a budget in {self.currency} needs them in "
            f"{self.currency} ([judge.NAME.prices] of a datasheet.toml); or give the budget in calls"
        )


def check_budget(budget: Budget, judges: Sequence[str], config: Config) -> None:
    """Refuse a budget that some judge can't be held to, before any call.

    Raises
    ------
    UsageError
        As :meth:`Budget.check`.
    """
    for name in judges:
        budget.check(find_judge(name, config))


@dataclass(frozen=True, slots=True, kw_only=True)
class MoneyTariff:
    """What calls to a judge cost in money."""

    judge: Judge
    prices: Prices

    @property
    def unit(self) -> str:
        """The currency."""
        return self.prices.currency

    def most(self, request: Request) -> float:
        """The price of a token for each byte that is sent, none of them cached, and of a reply at its limit."""
        sent = sum(len(text.encode("utf-8", "surrogatepass")) for _, text in request.messages)
        schema = len(json.dumps(request.response_schema)) if request.response_schema else 0
        tokens = Tokens(prompt=sent + schema + _TEMPLATE_TOKENS, completion=most_completion(self.judge, request))
        dearest = replace(self.prices, cached_input=None, input=max(self.prices.input, self.prices.cached_input or 0.0))
        return dearest.cost(tokens)

    def of(self, reply: Reply) -> float | None:
        """By the tokens that the server counted."""
        tokens = Tokens.of(reply)
        return None if tokens is None else self.prices.cost(tokens)

    def of_failure(self, failure: JudgeError) -> float | None:
        """Nothing where the server answered with an error; anything else may have been billed."""
        return 0.0 if failure.status is not None and failure.status >= LEAST_ERROR_STATUS else None


def allowance_of(budget: Budget | None, judge: Judge, prices: Prices | None) -> Allowance:
    """What a run may spend: counted in money where there are prices, unless the budget is in calls."""
    limit = None if budget is None else budget.amount
    if prices is None or (budget is not None and budget.currency is None):
        return Allowance(CallTariff(), limit)
    return Allowance(MoneyTariff(judge=judge, prices=prices), limit)


def spent(calls: Iterable[tuple[Reply, bool]], failed: int, prices: Prices | None) -> dict[str, Any] | None:
    """Money for some calls; None without prices.

    Parameters
    ----------
    calls
        Replies, and whether each came in a batch file, which has prices of its own.
    failed
        Attempts without a reply that may have been billed: they are counted, and not priced.
    """
    if prices is None:
        return None
    costs = [_cost(Tokens.of(reply), prices, batched=batched) for reply, batched in calls]
    priced = [cost for cost in costs if cost is not None]
    return {
        "currency": prices.currency,
        "amount": round(sum(priced), 6),
        "priced": len(priced),
        "not_priced": len(costs) - len(priced) + failed,
    }


def _cost(tokens: Tokens | None, prices: Prices, *, batched: bool) -> float | None:
    if tokens is None:
        return None
    return prices.batch_cost(tokens) if batched else prices.cost(tokens)
