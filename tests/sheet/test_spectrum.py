"""The figure of cross-sensitivities: read off its own axis, it says what the numbers say."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from itertools import pairwise

import pytest

from datasheet.sheet.spectrum import Pull, Spectrum, spectrum_lines

SVG = "{http://www.w3.org/2000/svg}"
NARROW = [(0.2, 0.1, 0.3), (-0.4, -0.6, -0.2), (0.05, -0.1, 0.2)]


def spectrum(
    pulls: Sequence[tuple[float | None, float | None, float | None]],
    *,
    unit: str = "quality steps",
    absences: tuple[tuple[str, str, str], ...] = (),
) -> Spectrum:
    """Pulls of (estimate, low, high), named p0, p1, …"""
    return Spectrum(
        unit=unit,
        confidence_level=0.95,
        pulls=tuple(
            Pull(name=f"p{place}", group="one", estimate=estimate, low=low, high=high)
            for place, (estimate, low, high) in enumerate(pulls)
        ),
        fallback="",
        absences=absences,
    )


class Figure:
    """A drawn spectrum, with what its axis says of a place."""

    def __init__(self, drawn: str) -> None:
        self.root = ET.fromstring(drawn)
        self.texts = {tag.text: tag for tag in self.root.findall(f"{SVG}text")}
        ticks = [tag for tag in self.root.findall(f"{SVG}text") if tag.get("text-anchor") == "middle"][:-1]
        self.ticks = [(float(tag.get("x", "")), float((tag.text or "").replace("−", "-"))) for tag in ticks]

    def value(self, x: float) -> float:
        """What the axis says at x, by its first and last tick."""
        (first, low), (last, high) = self.ticks[0], self.ticks[-1]
        return low + (x - first) / (last - first) * (high - low)

    def shapes(self, kind: str, row: str) -> list[ET.Element]:
        """The shapes of a kind on the row of a pull, but not grid and axis."""
        y = float(self.texts[row].get("y", "")) - 4
        return [
            tag
            for tag in self.root.findall(f"{SVG}{kind}")
            if tag.get("class", "").startswith("s1")
            and abs(float(tag.get("y1") or tag.get("cy") or tag.get("points", "").split(",")[1].split()[0]) - y) < 4.5
        ]

    def interval(self, row: str) -> tuple[float, float]:
        flat = [tag for tag in self.shapes("line", row) if tag.get("y1") == tag.get("y2")]
        assert len(flat) == 1
        return self.value(float(flat[0].get("x1", ""))), self.value(float(flat[0].get("x2", "")))

    def caps(self, row: str) -> int:
        return len([tag for tag in self.shapes("line", row) if tag.get("x1") == tag.get("x2")])


def test_estimates_and_limits_lie_where_the_axis_says() -> None:
    figure = Figure(spectrum_lines(spectrum(NARROW)))
    for place, (estimate, low, high) in enumerate(NARROW):
        assert figure.interval(f"p{place}") == pytest.approx((low, high), abs=0.002)
        (mark,) = figure.shapes("circle", f"p{place}")
        assert figure.value(float(mark.get("cx", ""))) == pytest.approx(estimate, abs=0.002)
        assert figure.caps(f"p{place}") == 2
        assert figure.shapes("polygon", f"p{place}") == []


@pytest.mark.parametrize("size", [1e-6, 0.003, 1.0, 7.0, 2e5])
def test_the_axis_is_even_and_shows_zero_at_any_size(size: float) -> None:
    figure = Figure(spectrum_lines(spectrum([(a * size, b * size, c * size) for a, b, c in NARROW])))
    for x, tick in figure.ticks:
        assert figure.value(x) == pytest.approx(tick, abs=1e-2 * size)
    zero = next(tag for tag in figure.root.findall(f"{SVG}line") if tag.get("class") == "axis zero")
    assert figure.value(float(zero.get("x1", ""))) == pytest.approx(0, abs=1e-2 * size)
    assert 3 <= len(figure.ticks) <= 8
    (mark,) = figure.shapes("circle", "p1")
    assert figure.value(float(mark.get("cx", ""))) == pytest.approx(-0.4 * size, abs=1e-2 * size)


def test_marks_clear_of_zero_are_filled() -> None:
    figure = Figure(spectrum_lines(spectrum(NARROW)))
    marks = [figure.shapes("circle", f"p{place}")[0].get("class") for place in range(3)]
    assert marks == ["s1 solid", "s1 solid", "s1 open"]


def test_an_interval_that_is_far_too_wide_ends_in_arrows_and_its_numbers_are_printed() -> None:
    figure = Figure(spectrum_lines(spectrum([*NARROW, (0.5, -40.5, 0.7), (0.1, -30.25, 1234.5)])))
    assert figure.interval("p0") == pytest.approx((0.1, 0.3), abs=0.01)
    assert (len(figure.shapes("polygon", "p3")), figure.caps("p3")) == (1, 1)
    assert (len(figure.shapes("polygon", "p4")), figure.caps("p4")) == (2, 0)
    low, high = figure.interval("p4")
    assert -2 < low < -0.6
    assert 0.7 < high < 2
    assert "0.100 [−30.250, 1234.500]" in figure.texts


def test_a_large_estimate_is_always_inside() -> None:
    figure = Figure(spectrum_lines(spectrum([*NARROW, (9.0, 8.8, 9.2)])))
    assert figure.interval("p3") == pytest.approx((8.8, 9.2), abs=0.05)
    assert figure.shapes("polygon", "p3") == []


def test_an_open_side_runs_to_the_edge_without_a_mark() -> None:
    figure = Figure(spectrum_lines(spectrum([*NARROW, (None, 0.9, None), (None, None, -0.7)], unit="sd")))
    assert figure.interval("p3")[0] == pytest.approx(0.9, abs=0.01)
    assert figure.interval("p4")[1] == pytest.approx(-0.7, abs=0.01)
    for row in ("p3", "p4"):
        assert (len(figure.shapes("polygon", row)), figure.caps(row)) == (1, 1)
        assert figure.shapes("circle", row) == []
    assert {"> 0.900", "≤ −0.700", "sd of evidence"} <= set(figure.texts)


@pytest.mark.parametrize(
    "pulls", [[(0.0, 0.0, 0.0)], [(5e-324, 0.0, 5e-324)], [(1e12, -1e12, 1e12)], [(0.3, None, None)]]
)
def test_odd_numbers_are_drawn_all_the_same(pulls: list[tuple[float, float | None, float | None]]) -> None:
    figure = Figure(spectrum_lines(spectrum(pulls)))
    edge = float(figure.root.get("width", ""))
    xs = [float(tag.get(name, "")) for tag in figure.root.findall(f"{SVG}line") for name in ("x1", "x2")]
    assert all(0 <= x <= edge for x in xs)


def test_kinds_are_set_apart() -> None:
    kinds = ("position", "length", "length", "channel", "channel")
    pulls = [
        Pull(name=f"p{place}", group=kind, estimate=0.1, low=0.0, high=0.2) for place, kind in enumerate(kinds)
    ]  # fmt: skip
    drawn = Spectrum(unit="sd", confidence_level=0.9, pulls=tuple(pulls), fallback="", absences=())
    figure = Figure(spectrum_lines(drawn))
    heights = [float(figure.texts[f"p{place}"].get("y", "")) for place in range(len(kinds))]
    steps = [after - before for before, after in pairwise(heights)]
    assert steps[0] == steps[2] > steps[1] == steps[3]
    assert "estimate [90% limits]" in figure.texts


def test_the_alternative_text_holds_the_numbers_and_what_is_missing() -> None:
    drawn = spectrum(NARROW, absences=(("not measured", "filler (cost)", "needs arms with filler"),))
    root = ET.fromstring(spectrum_lines(drawn))
    assert root.get("role") == "img"
    title = root.findtext(f"{SVG}title", "")
    assert title.startswith("What a unit of each is worth in quality steps: p0 0.200 [0.100, 0.300], p1 −0.400 ")
    assert root.findtext(f"{SVG}desc") == "not measured: filler (cost) (needs arms with filler)"


def test_a_hostile_reason_stays_text() -> None:
    reason = "</desc><script>alert(1)</script>\u202e"
    drawn = spectrum_lines(spectrum(NARROW, absences=(("undetermined", "length", reason),)))
    assert ET.fromstring(drawn).find(f".//{SVG}script") is None
    assert "<script>" not in drawn
    assert "U+202E" in drawn
