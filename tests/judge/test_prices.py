"""Prices of a judge: what they may be, and what tokens cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from datasheet.config import load_config
from datasheet.errors import UsageError
from datasheet.judge.catalogue import find_judge
from datasheet.judge.prices import Prices, Tokens
from datasheet.records import Reply

USUAL = {"currency": "USD", "input": 2.0, "output": 8.0}
TOKENS = Tokens(prompt=1_000_000, cached=400_000, completion=500_000)


def test_cached_tokens_have_a_price_of_their_own() -> None:
    assert Prices(**USUAL, cached_input=0.5).cost(TOKENS) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 4)
    assert Prices(**USUAL).cost(TOKENS) == pytest.approx(2 + 4)


def test_more_cached_tokens_than_there_are_cost_no_less_than_all_of_them() -> None:
    odd = Tokens(prompt=1_000_000, cached=9_000_000)
    assert Prices(**USUAL, cached_input=0.5).cost(odd) == pytest.approx(0.5)


def test_a_batch_has_its_own_prices_or_none() -> None:
    assert Prices(**USUAL).batch_cost(TOKENS) is None
    assert Prices(**USUAL, batch_input=1.0, batch_output=4.0).batch_cost(TOKENS) == pytest.approx(1 + 2)


def test_tokens_that_no_server_counted_are_not_none_at_all() -> None:
    assert Tokens.of(Reply(text="A", prompt_tokens=5)) is None
    counted = Tokens.of(Reply(text="A", prompt_tokens=5, cached_tokens=3, completion_tokens=1))
    assert counted == Tokens(prompt=5, cached=3, completion=1)


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("5", "prices should be a table of currency"),
        ("{input = 1, output = 2}", "currency is missing: it should be three capital letters"),
        ('{currency = "USD", input = 1}', "output is missing"),
        ('{currency = "usd", input = 1, output = 2}', "three capital letters, such as USD; found 'usd'"),
        ('{currency = "USD", input = -1, output = 2}', "a price for a million tokens"),
        ('{currency = "USD", input = nan, output = 2}', "a price for a million tokens"),
        ('{currency = "USD", input = true, output = 2}', "a price for a million tokens"),
        ('{currency = "USD", input = 1, output = 2, batch_input = 1}', "batch_output is missing"),
        ('{currency = "USD", input = 1, output = 2, cached_from_tokens = 0}', "a whole number of tokens from 1"),
        ('{currency = "USD", input = 1, outputs = 2}', "no setting 'outputs'"),
    ],
)
def test_odd_prices_are_named_where_they_are_written(tmp_path: Path, table: str, complaint: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(f'[judge.x]\nadapter = "sim"\nprices = {table}\n', encoding="utf-8")
    with pytest.raises(UsageError) as fault:
        find_judge("x", load_config(file, folder=tmp_path), {})
    assert complaint in str(fault.value)
    assert "[judge.x]" in str(fault.value)


def test_prices_are_no_part_of_what_a_judge_is_made_with(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    prices = '{currency = "EUR", input = 0, output = 0}'
    file.write_text(f'[judge.x]\nadapter = "openai"\nmodel = "m"\nprices = {prices}\n', encoding="utf-8")
    spec = find_judge("x", load_config(file, folder=tmp_path), {})
    assert spec.prices == Prices(currency="EUR", input=0, output=0)
    assert "prices" not in spec.options
    assert find_judge("qwen32b", load_config(None, folder=tmp_path), {}).prices is None
