"""The glossary: each symbol once, and on paper in columns of about one length."""

from __future__ import annotations

import pytest
from sheet.samples import sample
from sheet.test_html import Page, printed

from datasheet.sheet.content import CLASS_KEYS, has_number, is_step
from datasheet.sheet.glossary import further_glossary, glossary
from datasheet.sheet.html import render_html


@pytest.mark.parametrize("name", ["careful", "few", "never_tie", "repeated"])
def test_columns_are_of_about_one_length_and_hold_all_that_is_not_explained_before(name: str) -> None:
    sheet = sample(name)
    columns = further_glossary(sheet)
    lengths = [sum(entry.lines(46) for entry in column) for column in columns]
    assert len(columns) == 3
    assert max(lengths) - min(lengths) <= 6
    titles = [entry.title for column in columns for entry in column]
    said = {*sheet["summary"]["rows"], *CLASS_KEYS}
    before = {row["title"] for row in sheet["characteristics"] if row["key"] in said or is_step(row["key"])}
    rest = [row["title"] for row in sheet["characteristics"] if has_number(row) and row["title"] not in before]
    assert [title for title in titles if "classes" not in title] == list(dict.fromkeys(rest))
    text = Page(printed(sheet)).text
    assert all(f"{entry.symbol} {entry.title}. {entry.meaning}" in text for column in columns for entry in column)


def test_on_the_screen_every_title_says_how_it_is_had() -> None:
    sheet = sample("few")
    entries = glossary(sheet)
    text = Page(render_html(sheet)).text
    assert {row["title"] for row in sheet["characteristics"]} <= {entry.title for entry in entries}
    assert all(f"{entry.meaning} Method: {entry.how}." in text for entry in entries)
