"""Every figure explains itself, and truly: condition and unit are those of the readings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from sheet.samples import make_sheet, sample
from sheet.test_html import SAMPLES, Page

from datasheet.readings import ReadingRow, Readings
from datasheet.records import CHANNELS
from datasheet.sheet.catalogue import define
from datasheet.sheet.definitions import DEFINITIONS
from datasheet.sheet.html import render_html
from datasheet.sheet.scope import scope_of

FIVE_ARMS = ("prefix", "terse_better", "wordy_better", "filled_even", "filled_longer")


def rows(
    probe: str, arm: str, orders: tuple[str, ...] = ("ab", "ba"), *, pairs: int = 2, **more: Any
) -> Iterator[ReadingRow]:
    """Pairs of an arm; one order alone where there is one, alternating where it is ``("either",)``."""
    for pair in range(pairs):
        for order in (("ab", "ba")[pair % 2],) if orders == ("either",) else orders:
            delta_q = 1 if probe == "ladder" else 0
            yield ReadingRow(
                stimulus=f"{probe}-{arm}-{pair}",
                probe=probe,
                arm=arm,
                order=order,
                outcome="tie",
                delta_q=delta_q,
                **more,
            )


def conditions(key: str, *readings: Iterator[ReadingRow], **how: Any) -> str:
    scope = scope_of(Readings.from_rows([row for some in readings for row in some], **how))
    return define(key, scope).conditions


@pytest.mark.parametrize("name", [*SAMPLES, "one_order"])
def test_every_figure_of_a_sheet_has_symbol_condition_unit_and_method(name: str) -> None:
    sheet = sample(name)
    for row in sheet["characteristics"]:
        for part in ("symbol", "title", "conditions", "unit", "how", "meaning"):
            assert row[part].strip(), (row["key"], part)
            assert not set("{}") & set(row[part].partition("@")[0]) or "hostile" in name, (row["key"], part)
        assert row["method"] or row["status"] not in ("measured", "bounded"), row["key"]
    if name != "hostile":
        text = Page(render_html(sheet)).text
        assert all(
            row["how"] in text and row["conditions"] in text for row in sheet["characteristics"] if row["estimate"]
        )


def test_the_table_fills_every_brace_even_without_readings() -> None:
    scope = scope_of(Readings.from_rows([]))
    for definition in DEFINITIONS:
        steps = "_2" if "{n}" in definition.symbol else ""
        found = define(definition.key + steps, scope)
        for text in (found.symbol, found.title, found.unit, found.conditions, found.how, found.meaning):
            assert text
            assert not set("{}") & set(text)


def test_a_log_of_tokens_in_one_order_speaks_of_neither_words_nor_both_orders() -> None:
    sheet = sample("one_order")
    for row in sheet["characteristics"]:
        said = [row["conditions"], row["unit"]]
        said += [row["title"], row["meaning"], row["how"]] if row["estimate"] is not None else []
        assert "both orders" not in " ".join(said), row["key"]
    page = Page(render_html(sheet)).text
    assert not re.search(r"\bwords\b", page)
    assert "sd per 100 tokens" in page
    assert "100 tokens of length or filler" in page
    assert "Prefix arm, better answer shown first; n =" in page
    # What needs the other order says so, and what it would be.
    assert {before.strip("(") for before in re.findall(r"(\S+) both orders", page)} == {"needs", "in"}


def test_a_prefix_only_log_does_not_speak_of_all_arms() -> None:
    sheet = sample("few")
    model = [row for row in sheet["characteristics"] if row["section"] == "model"]
    assert {row["conditions"] for row in model} == {"joint model of prefix arm and equal quality"}
    assert "all arms" not in Page(render_html(sheet)).text


def test_units_of_slopes_and_ratios_name_what_they_are_for() -> None:
    scope = scope_of(Readings.from_rows([], length_unit="chars"))
    units = {
        key: define(key, scope).unit
        for key in ("length_slope", "length_in_steps", "filler_in_steps", "channel_slope", "channel_in_steps@hedging")
    }
    assert units == {
        "length_slope": "sd per 100 characters",
        "length_in_steps": "quality steps per 100 characters",
        "filler_in_steps": "quality steps per 100 characters",
        "channel_slope": "sd per dose",
        "channel_in_steps@hedging": "quality steps per dose",
    }
    assert define("length_in_steps", scope).title == "Worth of 100 characters"


@pytest.mark.parametrize(
    ("orders", "said"),
    [
        (("ab", "ba"), "prefix arm, both orders"),
        (("either",), "prefix arm, one order a pair"),
        (("ab",), "prefix arm, better answer shown first"),
        (("ba",), "prefix arm, better answer shown second"),
    ],
)
def test_orders_are_those_that_were_shown(orders: tuple[str, ...], said: str) -> None:
    assert conditions("p_correct_1", rows("ladder", "prefix", orders)) == said
    other = conditions("p_correct_1@mine", rows("ladder", "mine", orders), rows("ladder", "prefix"))
    assert other == said.replace("prefix arm", "mine")


def test_some_pairs_in_both_orders_are_not_all_of_them() -> None:
    mixed = [row for row in rows("ladder", "prefix") if (row.stimulus, row.order) != ("ladder-prefix-0", "ba")]
    assert conditions("p_correct_1", iter(mixed)) == "prefix arm, one or both orders"


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (("identical",), "identical answers"),
        (("whitespace", "empty"), "empty and blank answers"),
        (("empty", "mine", "identical"), "empty, identical and mine answers"),
        (("",), "vacuum pairs"),
        (("", "empty"), "empty and other answers"),
    ],
)
def test_vacuum_kinds_are_those_that_were_shown(kinds: tuple[str, ...], said: str) -> None:
    assert conditions("dark_current", *(rows("vacuum", kind) for kind in kinds)) == said


def test_the_joint_model_names_what_it_was_fitted_to() -> None:
    same, prefix = (lambda: rows("same_quality", "same_subset")), (lambda: rows("ladder", "prefix"))
    channels = [rows("channel", CHANNELS[0], dose=1)]
    every = [rows("ladder", arm) for arm in FIVE_ARMS]
    assert conditions("resolution", same()) == "joint model of equal quality"
    assert conditions("resolution", prefix(), same()) == "joint model of prefix arm and equal quality"
    assert conditions("resolution", *every, same(), *channels) == (
        "joint model of all five ladder arms, equal quality and channels"
    )
    two = conditions("resolution", prefix(), rows("ladder", "mine"), same())
    assert two == "joint model of ladder arms mine and prefix and equal quality"
    assert conditions("resolution", rows("ladder", "prefix", ("ab",))) == "joint model of prefix arm, one order only"
    soft = conditions("threshold_75@soft", prefix(), same())
    assert soft == "label log-probabilities of prefix arm and equal quality"
    alone = conditions("resolution@prefix", prefix(), rows("ladder", "mine"), same())
    assert alone == "prefix arm and equal quality alone, where length grows with quality"
    against = conditions("accuracy_against_length", prefix(), rows("ladder", "terse_better"))
    assert against == "arm terse_better"


def test_repeats_are_counted() -> None:
    def repeated(*counts: int) -> Iterator[ReadingRow]:
        for pair, count in enumerate(counts):
            for repeat in range(count):
                yield ReadingRow(
                    stimulus=f"s{pair}",
                    probe="same_quality",
                    arm="same_subset",
                    order="ab",
                    outcome="tie",
                    repeat=repeat,
                )

    assert conditions("self_consistency", repeated(3, 3, 1)) == "presentations read 3 times each"
    assert conditions("self_consistency", repeated(2, 5)) == "presentations read 2 to 5 times"
    assert conditions("call_noise_share", repeated(2, 2)) == "presentations of equal quality read 2 times each"
    assert conditions("self_consistency", repeated(1)) == "presentations that are repeated"


def test_names_of_a_log_can_not_pass_for_ours() -> None:
    """Arms and reasons may be called like a condition of another characteristic."""
    scope = scope_of(Readings.from_rows([*rows("ladder", "natural"), *rows("ladder", "soft")]))
    assert define("p_correct_1@natural", scope).section == "ladder"
    assert define("p_correct_1@soft", scope).conditions == "soft, both orders"
    assert define("p_correct_1@soft", scope).how == define("p_correct_1", scope).how
    assert define("invalid_rate@natural", scope).section == "validity"
    assert define("dark_current@prefix", scope).conditions == "prefix"


def test_a_hostile_unit_is_cut_and_spelt_out() -> None:
    sheet = make_sheet(tasks=10, lengths_apart=True, length_unit="\x1b[2J" + "x" * 100)
    assert "sd per 100 U+001B[2J" in Page(render_html(sheet)).text
    assert all(len(row["unit"]) < 100 for row in sheet["characteristics"])
