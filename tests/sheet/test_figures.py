from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

from sheet.samples import sample

from datasheet.sheet.content import segments
from datasheet.sheet.figures import arm_panel, decomposition_bars, ladder_curve, swatch

SVG = "{http://www.w3.org/2000/svg}"


def points(sheet: dict[str, Any], arm: str = "prefix") -> list[Any]:
    return [point for point in sheet["curves"]["ladder"] if point["arm"] == arm]


def test_the_curve_has_a_marker_and_a_bar_for_each_step_and_event() -> None:
    prefix = points(sample("careful"))
    figure = ET.fromstring(ladder_curve(prefix, [], ties_allowed=True))
    legend = 1
    assert len(figure.findall(f"{SVG}circle")) == len(prefix) + legend
    assert len([tag for tag in figure.iter() if "open" in tag.get("class", "")]) == len(prefix) + legend
    assert len(figure.findall(f"{SVG}polygon")) == len(prefix) + legend
    assert len(figure.findall(f"{SVG}polyline")) == 3


def test_markers_lie_where_the_shares_say() -> None:
    prefix = points(sample("careful"))
    figure = ET.fromstring(ladder_curve(prefix, [], ties_allowed=True))
    heights = [float(tag.get("cy", "")) for tag in figure.findall(f"{SVG}circle")][: len(prefix)]
    shares = [point["p_correct"]["share"] for point in prefix]
    assert [round(1 - (height - 34) / 196, 3) for height in heights] == [round(share, 3) for share in shares]


def test_the_arm_where_length_speaks_for_the_worse_answer_is_drawn_with_a_look_of_its_own() -> None:
    sheet = sample("careful")
    opposed = points(sheet, "filled_longer")
    figure = ET.fromstring(ladder_curve(points(sheet), opposed, ties_allowed=True))
    looks = [tag for tag in figure.iter() if tag.get("class", "").split()[:1] == ["s4"]]
    assert len([tag for tag in looks if "open" in tag.get("class", "")]) == len(opposed) + 1
    assert len({line.get("stroke-dasharray") for line in figure.findall(f"{SVG}polyline")}) == 4
    assert "where the worse one is longer" in "".join(figure.itertext())


def test_a_judge_that_never_ties_has_no_curve_of_ties() -> None:
    text = "".join(ET.fromstring(ladder_curve(points(sample("never_tie")), [], ties_allowed=False)).itertext())
    assert "tie" not in text
    assert "worse answer" in text


def test_an_open_interval_draws_no_bar() -> None:
    closed = points(sample("few"))
    opened = [dict(point, p_correct=dict(point["p_correct"], low=None, high=None)) for point in closed]
    assert ladder_curve(opened, [], ties_allowed=True).count("<line") < ladder_curve(
        closed, [], ties_allowed=True
    ).count("<line")


def test_figures_have_alternative_texts_with_the_numbers() -> None:
    sheet = sample("careful")
    prefix = points(sheet)
    for figure in (
        ladder_curve(prefix, [], ties_allowed=True),
        arm_panel(1, "terse_better", points(sheet, "terse_better"), prefix, [1, 2, 3, 4, 5]),
        decomposition_bars(*segments(sheet)),
    ):
        root = ET.fromstring(figure)
        assert root.get("role") == "img"
        title = root.find(f"{SVG}title")
        assert title is not None
        assert title.text is not None
        assert "0." in title.text


def test_the_bars_add_up_and_split_the_slots_only_where_they_were_counted() -> None:
    found, expected = segments(sample("careful"))
    assert abs(sum(part.share for part in found) - 1) < 1e-9
    assert abs(sum(part.share for part in expected) - 1) < 1e-9
    assert {"FF", "SS"} <= {part.symbol for part in found}
    assert "PFP" in {part.symbol for part in expected}
    widths = [
        float(tag.get("width", ""))
        for tag in ET.fromstring(decomposition_bars(found, ())).findall(f"{SVG}rect")
        if "segment" in tag.get("class", "")
    ]
    assert abs(sum(widths) - 438) < 0.1


def test_a_hostile_arm_stays_text() -> None:
    arm = "</title><script>alert(1)</script>\u202e"
    figure = arm_panel(0, arm, points(sample("few")), [], [1, 2, 3, 4, 5])
    assert ET.fromstring(figure).find(f".//{SVG}script") is None
    assert "U+202E" in figure


def test_a_swatch_says_what_it_is() -> None:
    assert "fill of FF" in "".join(ET.fromstring(swatch("FF")).itertext())
