from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

from sheet.samples import sample

from datasheet.sheet.content import fitted, segments
from datasheet.sheet.figures import Fitted, arm_panel, decomposition_bars, ladder_curve, swatch

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


def steep(*, threshold: float | None = None) -> Fitted:
    """A straight curve that reaches 1 at the fifth step and stays there."""
    points = [{"delta_q": step / 10, "p_correct": min(1.0, step / 50)} for step in range(71)]
    return Fitted(points=points, equal_length=True, threshold=threshold, doubt="")


def places(figure: ET.Element, name: str) -> list[tuple[float, float]]:
    """The corners of the line of a class."""
    found = [tag for tag in figure.findall(f"{SVG}polyline") if tag.get("class") == name]
    assert len(found) == 1
    corners = [corner.split(",") for corner in found[0].get("points", "").split()]
    return [(float(x), float(y)) for x, y in corners]


def test_the_fitted_curve_lies_where_its_values_say_and_ends_with_the_steps() -> None:
    """Against the ticks of both axes, as a reader would read it off."""
    figure = ET.fromstring(ladder_curve(points(sample("careful")), [], ties_allowed=True, fitted=steep()))
    ticks = {tag.text: tag for tag in figure.findall(f"{SVG}text")}
    zero, five = (float(ticks[step].get("x", "")) for step in "05" if ticks[step].get("text-anchor") == "middle")
    none, half = (float(ticks[share].get("y", "")) - 4 for share in ("0.25", "0.75"))
    drawn = [
        (5 * (x - zero) / (five - zero), 0.25 + 0.5 * (y - none) / (half - none)) for x, y in places(figure, "fit")
    ]
    assert len(drawn) == 51
    for (delta_q, share), point in zip(drawn, steep().points, strict=False):
        assert abs(delta_q - point["delta_q"]) < 0.001
        assert abs(share - point["p_correct"]) < 0.001


def test_measured_points_stand_on_the_steps_of_the_fitted_curve_and_no_line_joins_them() -> None:
    prefix = points(sample("careful"))
    figure = ET.fromstring(ladder_curve(prefix, [], ties_allowed=True, fitted=steep()))
    curve = dict(zip((point["delta_q"] for point in steep().points), places(figure, "fit"), strict=False))
    circles = [float(tag.get("cx", "")) for tag in figure.findall(f"{SVG}circle")][: len(prefix)]
    assert circles == [curve[point["delta_q"]][0] for point in prefix]
    lines = figure.findall(f"{SVG}polyline")
    assert {line.get("class") for line in lines} == {"fit", "s2", "s3"}
    assert len({line.get("stroke-dasharray") for line in lines}) == 3
    parts = list(figure)
    assert parts.index(next(tag for tag in parts if tag.get("class") == "fit")) < parts.index(
        next(tag for tag in parts if tag.tag == f"{SVG}circle")
    )


def test_no_curve_is_drawn_and_none_is_named_where_none_was_fitted() -> None:
    sheet = sample("careful")
    for curves in ({"ladder": []}, {"ladder": [], "model": []}):
        assert fitted(sheet | {"curves": curves}) is None
    figure = ladder_curve(points(sheet), [], ties_allowed=True, fitted=None)
    assert "fit" not in figure
    assert "fitted: equal length, typical task" in ladder_curve(points(sheet), [], ties_allowed=True, fitted=steep())


def test_the_alternative_text_tells_of_the_curve_and_where_it_crosses() -> None:
    def told(threshold: float | None) -> str:
        figure = ladder_curve(points(sample("careful")), [], ties_allowed=True, fitted=steep(threshold=threshold))
        return ET.fromstring(figure).findtext(f"{SVG}title", "")

    assert told(3.75).endswith("the fitted curve (equal length, typical task), which crosses 0.75 at ΔQ 3.750")
    assert told(6.5).endswith("at ΔQ 6.500, beyond the steps shown")
    assert told(None).endswith("the fitted curve (equal length, typical task)")


def test_only_a_measured_threshold_is_a_crossing_and_only_a_fitted_length_is_equal() -> None:
    sheet = sample("lengths_apart")
    rows = {row["key"]: row for row in sheet["characteristics"]}
    rows["threshold_75"].update(status="measured", estimate=2.5, low=2, high=3, reason="")
    found = fitted(sheet)
    assert found == Fitted(points=sheet["curves"]["model"], equal_length=True, threshold=2.5, doubt="")
    rows["threshold_75"].update(status="undetermined", estimate=None, low=None, high=None, reason="k is not clear")
    rows["length_slope"].update(status="not_measured", estimate=None, low=None, high=None, reason="no lengths")
    found = fitted(sheet)
    assert (found.equal_length, found.threshold) == (False, None)
    assert found.doubt == "The readings do not settle it: k is not clear."
    assert "length" not in found.conditions
    rows["threshold_75"].update(status="measured", estimate=2.5, low=2, high=3, reason="", flags=["lapses"])
    found = fitted(sheet)
    assert found is not None
    assert "lapses" in found.doubt


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
