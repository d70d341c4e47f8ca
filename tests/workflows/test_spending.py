"""What calls cost, by the way in which they were made."""

from __future__ import annotations

from dataclasses import replace

from datasheet.judge.prices import Prices
from datasheet.records import Reply
from datasheet.workflows.spending import spent

PRICES = Prices(currency="USD", input=2.0, output=8.0, batch_input=1.0, batch_output=4.0)
REPLY = Reply(text="A", prompt_tokens=1_000_000, completion_tokens=500_000)


def test_readings_of_a_batch_file_cost_what_batches_do() -> None:
    calls = [(REPLY, False), (REPLY, True)]
    assert spent(calls, 0, PRICES) == {"currency": "USD", "amount": 6.0 + 3.0, "priced": 2, "not_priced": 0}


def test_what_has_no_price_is_counted_and_costs_nothing_known() -> None:
    alone = replace(PRICES, batch_input=None, batch_output=None)
    calls = [(REPLY, False), (REPLY, True), (replace(REPLY, prompt_tokens=None), False)]
    assert spent(calls, 4, alone) == {"currency": "USD", "amount": 6.0, "priced": 1, "not_priced": 6}
    assert spent(calls, 4, None) is None
