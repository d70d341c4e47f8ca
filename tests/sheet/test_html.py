from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest
from sheet.samples import HOSTILE, make_sheet, sample

from datasheet.errors import RenderError
from datasheet.sheet.facts import MOST_UNSTABLE
from datasheet.sheet.html import render_html, render_print_html

SAMPLES = ("careful", "bounded", "never_tie", "few", "real", "taskless", "hostile")
STEP = re.compile(r"(p_correct|miss_by_tie|wrong_choice|accuracy_non_ties)_\d")


def printed(sheet: dict[str, Any]) -> str:
    return render_print_html(sheet, created="2026-11-30T10:12:09Z")


class Page(HTMLParser):
    """Elements with their attributes, and the visible text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._inside: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("style", "title"):
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._inside and tag == self._inside[-1]:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self.texts.append(data)

    def count(self, tag: str) -> int:
        return sum(1 for name, _ in self.elements if name == tag)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.texts))


@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_is_loaded_and_nothing_runs(name: str) -> None:
    page = Page(render_html(sample(name)))
    assert page.count("script") == page.count("link") == page.count("img") == page.count("iframe") == 0
    for _, attributes in page.elements:
        assert not any(attribute.startswith("on") for attribute in attributes)
        assert (attributes.get("href") or "#").startswith("#")
        assert "src" not in attributes
    assert all(url.startswith("#") for url in re.findall(r"url\(\s*[\"']?([^)]*)", render_html(sample(name))))
    assert "default-src 'none'" in render_html(sample(name))


@pytest.mark.parametrize("render", [render_html, printed])
def test_hostile_texts_stay_text(render: Any) -> None:
    plain, hostile = Page(render(sample("few"))), Page(render(sample("hostile")))
    assert hostile.count("script") == 0
    assert hostile.count("style") == plain.count("style") == 1
    assert hostile.count("h1") == hostile.count("body") == 1
    assert "<script>alert(1)</script>{{ 7 * 7 }}U+001B[2JU+202Egnp.exeU+0007" in hostile.text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", render(sample("hostile")))
    assert HOSTILE not in hostile.text
    assert "more characters]" in hostile.text


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("render", [render_html, printed])
def test_every_characteristic_is_there(name: str, render: Any) -> None:
    sheet = sample(name)
    text = Page(render(sheet)).text
    for row in sheet["characteristics"]:
        if not row["key"].isascii() or "script" in row["key"]:
            continue
        if STEP.match(row["key"]) and row["estimate"] is not None:
            assert row["symbol"].partition("(")[0] in text
            assert f"{row['estimate']:.3f} ({row['low']:.3f}–{row['high']:.3f})" in text
            assert row["conditions"] in text
        else:
            assert row["symbol"] in text
        assert row["title"] in text
    assert "None" not in text
    assert "nan" not in text.split()


@pytest.mark.parametrize("render", [render_html, printed])
def test_the_shares_of_a_step_stand_side_by_side(render: Any) -> None:
    sheet = sample("careful")
    rows = {row["key"]: row for row in sheet["characteristics"]}
    steps = [rows[f"{event}_2@terse_better"] for event in ("p_correct", "miss_by_tie", "wrong_choice")]
    shares = " ".join(f"{row['estimate']:.3f} ({row['low']:.3f}–{row['high']:.3f})" for row in steps)
    assert f"2 {shares} – {steps[0]['n']} ({steps[0]['n_clusters']}) {steps[0]['method']}" in Page(render(sheet)).text
    assert "@terse_better: better answer terse, worse one wordy" in Page(render(sheet)).text


def test_the_first_page_says_what_a_reviewer_needs() -> None:
    sheet = sample("careful")
    text = Page(render_html(sheet)).text
    for said in (sheet["summary"]["sentence"], sheet["profile"]["use_for"], sheet["profile"]["not_for"]):
        assert said in text
    assert "intervals, not guaranteed limits" in text
    for item in sheet["summary"]["decides"]:
        assert f"{item['flag']}: {item['needs']}" in text
    assert all(f"{flag} raised" in text for flag in sheet["profile"]["flags"])
    assert all(sentence in text for sentence in (*sheet["limits_of_use"], *sheet["non_claims"]))


def test_numbers_are_printed_as_they_are() -> None:
    sheet = sample("careful")
    row = next(row for row in sheet["characteristics"] if row["key"] == "p_correct_1")
    figures = f"{row['low']:.3f}{row['estimate']:.3f}{row['high']:.3f} {row['n']} ({row['n_clusters']})"
    assert figures in Page(render_html(sheet)).text


def test_a_bound_prints_as_a_bound() -> None:
    sheet = sample("bounded")
    row = next(row for row in sheet["characteristics"] if row["key"] == "threshold_75_empirical")
    assert row["status"] == "bounded"
    assert f"≤ {row['high']:g}" in Page(render_html(sheet)).text
    row.update(low=5, high=None)
    assert "> 5" in Page(render_html(sheet)).text


def test_a_threshold_that_is_not_resolved_says_what_is_known() -> None:
    sheet = sample("careful")
    row = next(row for row in sheet["characteristics"] if row["key"] == "threshold_75_empirical")
    row.update(status="undetermined", estimate=None, low=1, high=2, reason="not resolved: above 1 and at most 2")
    text = Page(render_html(sheet)).text
    assert f"Not resolved: above 1 and at most 2. 1–2 {row['n']} ({row['n_clusters']})" in text
    assert "above its low and at most its high" in text


@pytest.mark.parametrize("render", [render_html, printed])
def test_a_log_without_names_says_so_once_and_speaks_of_no_tasks(render: Any) -> None:
    sheet = sample("taskless")
    page = Page(render(sheet))
    assert "pairs taken as independent" in page.text
    assert "adjusted for tasks" not in page.text
    assert "n (tasks)" not in page.text
    assert "Bank not given (1 task)" in page.text
    running = [attributes["data-running"] for _, attributes in page.elements if "data-running" in attributes]
    assert running in ([], ["Judge datasheet · verdicts"])
    assert "adjusted for tasks" in Page(render(sample("careful"))).text


def test_a_reason_that_rows_share_is_said_once() -> None:
    text = Page(render_html(make_sheet(tasks=1, arms=()))).text
    assert "Limits at 95%, for which one task is too few" in text
    reason = "Open limits: one task only: an interval needs the spread between at least two tasks."
    assert 1 <= text.count(reason) <= 6  # once a table
    assert "one task only" not in text.replace(reason, "")


def test_the_class_letter_is_explained_where_there_is_one() -> None:
    sheet = sample("careful")
    sheet["profile"]["class"] = "B"
    text = Page(render_html(sheet)).text
    assert "class B: the slot decides" in text
    assert "The classes of the published case study" in text
    sheet["profile"]["class"] = None
    text = Page(render_html(sheet)).text
    assert "class letter" not in text
    assert "case study" not in text


def test_the_curve_tells_of_length_where_that_was_measured() -> None:
    assert "Diamonds: how often the better answer wins where the worse one is longer (arm filled longer" in (
        Page(render_html(sample("careful"))).text
    )
    assert "Diamonds" not in Page(render_html(sample("few"))).text


def test_the_caption_tells_what_the_fitted_curve_is_and_why_points_may_lie_off_it() -> None:
    assert (
        "at equal length; here the better answer is longer too, so where length matters the circles lie off it"
        in Page(render_html(sample("lengths_apart"))).text
    )
    sheet = sample("careful")
    text = Page(render_html(sheet)).text
    assert "The readings do not settle it: the resolution is not clearly above 0." in text
    assert "for these arms can't tell it from quality" in Page(render_html(sample("few"))).text
    sheet["curves"]["model"] = []
    assert "That line is the joint model's" not in Page(render_html(sheet)).text
    assert "fitted:" not in Page(render_html(sheet)).text


def test_no_curve_gives_the_reason_of_the_characteristic() -> None:
    sheet = sample("few")
    sheet["curves"]["ladder"] = []
    row = next(row for row in sheet["characteristics"] if row["key"] == "p_correct_1")
    row.update(estimate=None, low=None, high=None, status="not_measured", reason="0 of 200 are valid")
    assert "No curve: 0 of 200 are valid." in Page(render_html(sheet)).text


def test_the_null_gives_all_its_tests() -> None:
    sheet = sample("careful")
    sheet["decomposition"]["null"].update(p_pooled=0.5, p_stable=0.00012, p_positional=1.0, n_committed=36)
    text = Page(render_html(sheet)).text
    assert "p = 0.50 over all pairs; p = 0.00012 among the 36 that commit in both orders, and p = 1.0 for PFP" in text


def test_no_section_of_symbols_stands_empty() -> None:
    sheet = sample("few")
    sheet["profile"]["class"] = None
    for row in sheet["characteristics"]:
        row.update(status="not_measured", estimate=None, low=None, high=None, reason="0 of 200 are valid")
    assert "Symbols" not in Page(printed(sheet)).text
    assert "Symbols" in Page(printed(sample("few"))).text


def test_what_this_version_does_not_measure_is_named() -> None:
    text = Page(render_html(sample("careful"))).text
    assert "Not measured by this version: calibration against people, comparison of sheets." in text


def test_a_judge_that_may_not_tie_is_not_applicable_rather_than_dark() -> None:
    text = Page(render_html(sample("never_tie"))).text
    assert "Not applicable: DC, DC @empty, DC @identical, DC @whitespace (Dark current)" in text
    assert text.count("which fixes it by construction") < 10
    assert "the prompt allows no tie" in text


def test_what_the_model_would_give_is_named_once_with_its_reason() -> None:
    sheet = sample("careful")
    model = [row for row in sheet["characteristics"] if row["section"] == "model"]
    assert len(model) > 3
    for row in model:
        row.update(status="not_measured", estimate=None, low=None, high=None, reason="needs more steps")
    assert Page(render_html(sheet)).text.count("Reason: needs more steps.") == 1


def test_confounding_is_said_in_words() -> None:
    assert "Confounded with length" in Page(render_html(sample("few"))).text
    plain = sample("few")
    for row in plain["characteristics"]:
        row["flags"] = []
    assert "Confounded with length" not in Page(render_html(plain)).text


def test_only_a_simulated_sheet_is_stamped() -> None:
    stamped, real = Page(render_html(sample("careful"))), Page(render_html(sample("real")))
    assert ("p", {"class": "simulated", "role": "note"}) in stamped.elements
    assert "SIMULATED" in stamped.text
    assert "SIMULATED" not in real.text


def test_readers_of_all_kinds_find_their_way() -> None:
    page = Page(render_html(sample("careful")))
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all("scope" in attributes for tag, attributes in page.elements if tag == "th")
    identities = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(identities) == len(set(identities))
    targets = [attributes["href"] for tag, attributes in page.elements if tag == "a"]
    assert all(str(target)[1:] in identities for target in targets)
    assert ("html", {"lang": "en"}) in page.elements


def test_parts_that_a_foreign_log_lacks_say_so() -> None:
    sheet = sample("real")
    sheet.update(operation=None, bank={}, design={}, provenance={})
    sheet["validity"]["gates"] = []
    sheet["curves"]["ladder"] = []
    sheet["decomposition"]["null"] = None
    text = Page(render_html(sheet)).text
    assert "the readings come from a log that does not tell how the judge ran" in text
    assert "the prefix arm of the ladder was not measured" in text
    assert "dates not recorded" in text


def test_a_sheet_that_breaks_its_schema_is_an_error_that_says_so() -> None:
    sheet = sample("real")
    del sheet["profile"]["sentence"], sheet["profile"]["use_for"]
    with pytest.raises(RenderError, match=r"datasheet\.schema\.json"):
        render_html(sheet)


def test_the_same_sheet_gives_the_same_page() -> None:
    assert render_html(sample("careful")) == render_html(sample("careful"))


def test_the_models_own_checks_are_printed() -> None:
    page = render_html(sample("careful"))
    assert "The mode was found" in page
    means = "free means of each step, or of 12 groups of neighbours where there are more"
    assert f"All quality steps worth the same, by F of the likelihood ratio on {means}: p =" in page
    assert "No lapses, by the likelihood ratio: p =" in page
    assert "If 2% of calls were lapses: k " in page


@pytest.mark.parametrize("render", [render_html, printed])
def test_the_spectrum_stands_with_the_model_and_names_what_is_not_in_it(render: Any) -> None:
    text = Page(render(sample("few"))).text
    assert text.index("Joint model") < text.index("Cross-sensitivity: what moves this judge") < text.index("Δ*75 pop")
    assert "in quality steps: the first slot against a neutral one, 100 words of length or filler" in text
    assert "Not measured: filler (cost). Reason: needs pairs with filler, and others with less." in text
    assert (
        "Not measured: all nuisance channels. Reason: needs the channel probe, with doses above 0 (design full)."
        in text
    )
    unclear = Page(render(sample("careful"))).text
    assert "besides quality, in sd of evidence" in unclear
    assert "Not in quality steps: the resolution is not clearly apart from 0" in unclear


@pytest.mark.parametrize("render", [render_html, printed])
def test_there_is_no_spectrum_where_nothing_pulls_with_a_number(render: Any) -> None:
    sheet = sample("few")
    for row in sheet["characteristics"]:
        row.update(status="not_measured", estimate=None, low=None, high=None, reason="0 of 200 are valid")
    assert "Cross-sensitivity" not in Page(render(sheet)).text.replace("Stable cross-sensitivity", "")


def test_the_spectrum_of_a_hostile_sheet_stays_text() -> None:
    sheet = sample("few")
    sheet["readings"]["length_unit"] = HOSTILE
    for row in sheet["characteristics"]:
        row["reason"] = HOSTILE if row["key"] == "filler_in_steps" else row["reason"]
    page = Page(render_html(sheet))
    assert page.count("script") == 0
    assert "100 </title></style><scr… [" in page.text
    assert "Not measured: filler (cost). Reason: </title></style><script>alert(1)</script>" in page.text


def test_the_confirmatory_family_and_the_budget_are_printed() -> None:
    page = render_html(sample("careful"))
    for statement in ("DC ≤ 0.050", "SCS ≤ 0.100", "PFP ≤ 0.250", "k = 0.000", "c ≤ 0.319"):
        assert statement in page
    never = render_html(sample("never_tie"))
    assert "not tested" in never


@pytest.mark.parametrize("render", [render_html, printed])
def test_the_budgets_stand_side_by_side(render: Any) -> None:
    sheet = sample("careful")
    text = Page(render(sheet)).text
    assert "Uncertainty budget of a win rate over 100 prompts, a tie counting half" in text
    for head in (
        "60% better, one order",
        "60% better, both orders",
        "50% better, one order",
        "50% better, both orders",
    ):
        assert head in text
    for place, name in enumerate(("sampling", "surface", "order", "repeat", "criterion")):
        numbers = "".join(f"{budget['lines'][place]['contribution']:.4f}" for budget in sheet["budgets"])
        assert name in text
        assert numbers in text
    for name in ("win_rate", "standard_uncertainty", "expanded_uncertainty"):
        assert "".join(f"{budget[name]:.3f}" for budget in sheet["budgets"]) in text
    assert sheet["budgets"][0]["lines"][2]["contribution"] > 0
    assert sheet["budgets"][1]["lines"][2]["contribution"] == 0
    error = sheet["budgets"][0]["always_first_error"]
    assert f"error (not in u) where one system is always shown first{error:.3f}–" in text
    assert sample("one_order")["budgets"] == []
    assert "Uncertainty budget" not in Page(render(sample("one_order"))).text


@pytest.mark.parametrize("render", [render_html, printed])
def test_what_was_not_read_the_same_each_time_is_listed(render: Any) -> None:
    sheet = sample("repeated")
    table = sheet["unstable"]
    n = sheet["validity"]["unstable_presentations"]
    assert {len(column) for column in table.values()} == {n}
    assert n > MOST_UNSTABLE
    text = Page(render(sheet)).text
    assert f"({MOST_UNSTABLE} of {n}; datasheet.json lists all" in text
    counts = [(table["first"][row], table["tie"][row], table["second"][row]) for row in range(n)]
    assert all(sorted(count)[1] > 0 for count in counts)
    for row, count in enumerate(counts[:MOST_UNSTABLE]):
        shown = f"{table['stimulus'][row]}{table['task'][row]}{table['order'][row]}"
        assert shown + "".join(map(str, count)) in text
    assert "Presentations to look at first" not in Page(render(sample("careful"))).text
    assert set(sample("careful")["unstable"]) == set(table)


@pytest.mark.parametrize("name", [*(name for name in SAMPLES if name != "hostile"), "one_order", "repeated"])
def test_numbers_are_in_one_style(name: str) -> None:
    """A zero before the point, and powers of ten as such."""
    text = Page(render_html(sample(name))).text
    assert not re.search(r"(?<![\w.])\.\d", text)
    assert not re.search(r"(?<![\w.])\d(\.\d+)?e-?\d", text)


@pytest.mark.parametrize("name", ["careful", "taskless"])
def test_headline_rates_have_a_second_interval_beside_the_default(name: str) -> None:
    sheet = sample(name)
    rates = {rate["key"]: rate for rate in sheet["clustered_rates"]}
    rows = {row["key"]: row for row in sheet["characteristics"]}
    expected = {"dark_current", "stable_cross_sensitivity", "positional_false_preference", "invalid_rate"}
    assert set(rates) == expected | {f"p_correct_{step}" for step in range(1, 6)}
    page = Page(render_html(sheet)).text
    for key, rate in rates.items():
        assert [rate[field] for field in ("estimate", "low", "high", "n", "n_clusters")] == [
            rows[key][field] for field in ("estimate", "low", "high", "n", "n_clusters")
        ]
        assert rate["beta_binomial_low"] <= rate["estimate"] <= rate["beta_binomial_high"]
        assert rate["n_effective"] == pytest.approx(rate["n"] / rate["design_effect"], abs=1)
        assert f"{rate['beta_binomial_low']:.3f}–{rate['beta_binomial_high']:.3f}" in page
    assert "flags rest on the default" in page


def test_a_single_task_has_neither_interval() -> None:
    rates = make_sheet(tasks=1, arms=())["clustered_rates"]
    limits = ("low", "high", "beta_binomial_low", "beta_binomial_high")
    assert rates
    assert all(rate[field] is None for rate in rates for field in limits)
    assert all("one task" in rate["reason"] for rate in rates)


def test_a_rate_that_the_prompt_fixes_has_no_second_interval() -> None:
    assert "dark_current" not in {rate["key"] for rate in sample("never_tie")["clustered_rates"]}
