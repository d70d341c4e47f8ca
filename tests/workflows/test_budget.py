"""--dry-run, --budget and what a sheet says of the spending, through the command line against a server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import Command
from loopback import Call, LoopbackServer, Step, completion
from trials.fake_judge import FakeJudge
from trials.measuring import EMPTY, TIMEOUT, rate_limit
from workflows.builds import CALLS, answered

from datasheet.errors import UsageError
from datasheet.judge.prices import Prices
from datasheet.records import Request
from datasheet.sheet.facts import operation_rows
from datasheet.sheet.schema import check_sheet
from datasheet.workflows.spending import Budget, MoneyTariff

USAGE = {"prompt_tokens": 500, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 200}}
PRICES = 'currency = "USD"\ninput = 2.0\noutput = 10.0\ncached_input = 1.0\nbatch_input = 1.0\nbatch_output = 5.0\n'
A_CALL = (300 * 2.0 + 200 * 1.0 + 10 * 10.0) / 1e6


def reply(call: Call) -> Step:
    return Step(json=completion('{"verdict": "A"}', usage=USAGE))


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(reply) as running:
        yield running


def line(server: LoopbackServer, *more: object, prices: str = PRICES, prompt: str = "default") -> list[object]:
    """The command line of a quick build of a judge with prices."""
    judge = f'[judge.priced]\nadapter = "openai"\nmodel = "fake-judge"\nurl = "{server.base_url}"\n'
    file = Path("own.toml")
    file.write_text(judge + (f"[judge.priced.prices]\n{prices}" if prices else ""), encoding="utf-8")
    chosen = ("--config", file, "--judge", "priced", "--prompt", prompt, "--design", "quick")
    return ["build", *chosen, "--no-render", "--out", "sheet", *more]


def plan_of(command: Command, server: LoopbackServer, *more: object, **how: str) -> dict[str, Any]:
    run = command(*line(server, "--dry-run", "--json", *more, **how))
    assert run.code == 0
    plan: dict[str, Any] = json.loads(run.out)
    return plan


def test_a_dry_run_makes_no_call_and_no_file(command: Command, server: LoopbackServer) -> None:
    run = command(*line(server, "--dry-run"))
    assert (run.code, run.out, server.calls, server.model_calls) == (0, "", [], [])
    assert not Path("sheet").exists()
    for word in ("110 calls", "Tokens: about", "Cost: about USD", "as a batch", "Time: not known", "DC 0.05 ±", "k ×"):
        assert word in run.err
    assert "3 systems" in run.err


def test_a_dry_run_estimates_by_characters_until_there_are_calls_to_go_by(
    command: Command, server: LoopbackServer
) -> None:
    before = plan_of(command, server)["forecast"]
    assert before["calls"] == CALLS
    assert "4 characters" in before["tokens_by"]
    assert before["cached_tokens"] == 0  # the shared prefix is shorter than what providers cache
    assert before["cost"]["estimate"] == pytest.approx(
        (before["prompt_tokens"] * 2 + before["completion_tokens"] * 10) / 1e6
    )
    assert before["cost"]["most"] > before["cost"]["estimate"] > before["cost"]["batch"] > 0
    assert before["seconds"] is None
    assert command(*line(server, "--budget", 30)).code == 4
    after = plan_of(command, server)["forecast"]
    assert after["calls"] == CALLS - 30
    assert "30 earlier calls" in after["tokens_by"]
    assert after["completion_tokens"] == 10 * (CALLS - 30)
    assert after["cached_tokens"] == pytest.approx(0.4 * after["prompt_tokens"], abs=1)
    assert after["seconds"] > 0
    assert len(answered("sheet")) == 30


def test_a_prefix_that_is_long_enough_is_priced_as_cached(command: Command, server: LoopbackServer) -> None:
    cost = plan_of(command, server, prices=PRICES + "cached_from_tokens = 16\n")["forecast"]
    assert 16 * (CALLS - 1) <= cost["cached_tokens"] < cost["prompt_tokens"]
    saved = cost["cost"]["without_cache"] - cost["cost"]["estimate"]
    assert saved == pytest.approx(cost["cached_tokens"] / 1e6)


def test_without_prices_the_cost_is_not_known_and_never_nothing(command: Command, server: LoopbackServer) -> None:
    assert plan_of(command, server, prices="")["forecast"]["cost"] is None
    assert "Cost: not known: needs prices" in command(*line(server, "--dry-run", prices="")).err


def test_a_dry_run_of_a_fresh_start_leaves_the_old_log(command: Command, server: LoopbackServer) -> None:
    command(*line(server, "--budget", 5))
    assert plan_of(command, server, "--fresh")["to_ask"] == CALLS
    assert len(answered("sheet")) == 5
    assert list(Path("sheet").glob("*.sqlite")) == [Path("sheet/trials.sqlite")]


def test_a_budget_of_calls_stops_and_the_same_command_goes_on(command: Command, server: LoopbackServer) -> None:
    first = command(*line(server, "--budget", 60))
    assert (first.code, len(server.calls), len(answered("sheet"))) == (4, 60, 60)
    assert "60 calls spent, 60 replies" in first.err
    assert "same command goes on" in first.err
    assert not Path("sheet/datasheet.json").exists()
    assert command(*line(server, "--budget", 60)).code == 0
    assert len(server.calls) == CALLS


def test_a_budget_of_money_is_not_exceeded_and_the_sheet_tells_all_of_it(
    command: Command, server: LoopbackServer
) -> None:
    stopped = command(*line(server, "--budget", "0.06 USD", "--concurrency", 16))
    assert stopped.code == 4
    made = len(server.calls)
    assert 40 <= made <= 0.06 / A_CALL
    assert "USD" in stopped.err
    assert command(*line(server, "--budget", "usd 5")).code == 0
    sheet = json.loads(Path("sheet/datasheet.json").read_text(encoding="utf-8"))
    check_sheet(sheet)
    spent = sheet["operation"]["spent"]
    assert spent == {"currency": "USD", "amount": pytest.approx(CALLS * A_CALL), "priced": CALLS, "not_priced": 0}
    rows = dict(operation_rows(sheet))
    assert rows["Spent"] == "USD 0.099 for 110 calls"
    assert rows["Tokens"] == "prompts 55,000 (22,000 cached), replies 1,100; told for 110 calls"


def test_calls_without_counts_are_told_apart_and_not_priced(command: Command) -> None:
    steps = iter([Step(json=completion("", usage=USAGE)), *(Step(json=untold()) for _ in range(10))])
    with LoopbackServer(lambda call: next(steps, reply(call))) as server:
        assert command(*line(server, "--concurrency", 1)).code == 0
    sheet = json.loads(Path("sheet/datasheet.json").read_text(encoding="utf-8"))
    # The empty reply may have been billed, too.
    assert sheet["operation"]["spent"]["not_priced"] == 11
    assert sheet["operation"]["spent"]["priced"] == CALLS - 10
    assert "11 calls without token counts not in it" in dict(operation_rows(sheet))["Spent"]


def untold() -> dict[str, object]:
    return {name: value for name, value in completion('{"verdict": "A"}').items() if name != "usage"}


def test_a_sheet_without_prices_does_not_say_nothing_was_spent(command: Command, server: LoopbackServer) -> None:
    assert command(*line(server, prices="")).code == 0
    sheet = json.loads(Path("sheet/datasheet.json").read_text(encoding="utf-8"))
    assert sheet["operation"]["spent"] is None
    assert dict(operation_rows(sheet))["Spent"] == "not known: needs prices"


def test_several_judges_share_the_budget_of_a_command(command: Command) -> None:
    two = ("--prompt", "default", "--prompt", "bracket", "--design", "quick", "--no-render", "--out", "both")
    assert command("build", *two, "--budget", CALLS + 20).code == 4
    logs = sorted(len(answered(folder)) for folder in Path("both").iterdir())
    assert logs == [20, CALLS]


@pytest.mark.parametrize(
    ("budget", "complaint"),
    [
        ("0", "above 0"),
        ("-5", "expected a number of calls such as 500"),
        ("2.5", "expected a number of calls such as 500"),
        ("$5", "an amount of money such as 5USD"),
        ("5 USD EUR", "an amount of money such as 5USD"),
        ("USD5EUR", "an amount of money such as 5USD"),
        ("5EUR", "priced has prices in USD"),
    ],
)
def test_a_budget_that_can_not_be_held_is_refused_before_any_call(
    command: Command, server: LoopbackServer, budget: str, complaint: str
) -> None:
    run = command(*line(server, f"--budget={budget}"))
    assert (run.code, server.calls) == (2, [])
    assert complaint in run.err


def test_a_judge_shows_its_prices(command: Command, server: LoopbackServer) -> None:
    line(server)
    shown = json.loads(command("judges", "show", "priced", "--config", "own.toml", "--json").out)
    assert shown["prices"]["cached_input"] == 1.0


def test_money_needs_prices(command: Command) -> None:
    run = command("build", "--budget", "5USD", "--out", "sheet")
    assert run.code == 2
    assert "has no prices in its configuration" in run.err
    assert not Path("sheet").exists()


@pytest.mark.parametrize("text", ["5usd", "USD 5", "5.00 USD", " 5USD "])
def test_money_may_be_written_either_way_round(text: str) -> None:
    assert Budget.from_text(text) == Budget(amount=5.0, currency="USD")


def test_a_budget_that_is_spent_is_none() -> None:
    assert Budget(amount=3.0, currency=None).less(5.0).amount == 0
    with pytest.raises(UsageError):
        Budget.from_text("x")


@pytest.mark.parametrize("text", ["plain words of a prompt", "ação", "日本語の文", "🙂🙂", "\ud800"])
def test_what_a_call_can_cost_at_most_holds_a_token_for_each_byte(text: str) -> None:
    """No tokenizer makes more than one token of a byte; a judge's own limit of tokens goes before the prompt's."""
    prices = Prices(currency="USD", input=1e6, output=1e6, cached_input=2e6)
    request = Request(key="k", messages=(("user", text),), first="", second="", replies={}, max_tokens=256)
    sent = len(text.encode("utf-8", "surrogatepass"))
    most = MoneyTariff(judge=FakeJudge(), prices=prices).most(request)
    assert most >= 2 * sent + 256  # a cached token may be the dearer one
    limited = FakeJudge()
    limited.decoding = {"max_tokens": 1000}
    assert MoneyTariff(judge=limited, prices=prices).most(request) == pytest.approx(most + 1000 - 256)


def test_only_an_answer_with_an_error_is_known_to_cost_nothing() -> None:
    tariff = MoneyTariff(judge=FakeJudge(), prices=Prices(currency="USD", input=1, output=1))
    assert tariff.of_failure(rate_limit(None)) == 0
    assert tariff.of_failure(TIMEOUT) is None
    assert tariff.of_failure(EMPTY) is None
