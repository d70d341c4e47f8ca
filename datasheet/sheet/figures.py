"""The figures of a datasheet as SVG: text stays text, shapes and dashes carry what colours do.

The curve of the ladder, its arms side by side, and the bars of the decomposition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from datasheet.analysis.ladder import THRESHOLD_SHARE
from datasheet.sheet.formats import number
from datasheet.sheet.svg import GRID, INK, MUTED, PAPER, figure, line, tag, text

Point = Mapping[str, Any]
"""A point of ``curves.ladder``: arm, delta_q, n, and a share with its limits for each event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """How an event is drawn: its words, its class, colour, shape and dashes.

    ``nudge`` (pixels to the right) keeps its bars apart from those of the others.
    """

    event: str
    label: str
    name: str
    colour: str
    dashes: str
    shape: str
    nudge: float = 0.0


_LOOKS = (
    _Look(event="p_correct", label="better answer", name="s1", colour="#12507b", dashes="", shape="circle"),
    _Look(event="miss_by_tie", label="tie", name="s2", colour="#8a6100", dashes="6 3", shape="square", nudge=-5),
    _Look(
        event="wrong_choice",
        label="worse answer",
        name="s3",
        colour="#a3243b",
        dashes="1.5 3",
        shape="triangle",
        nudge=5,
    ),
)
_OPPOSED = _Look(
    event="p_correct",
    label="better answer where the worse one is longer",
    name="s4",
    colour="#6b3fa0",
    dashes="8 2.5 1.5 2.5",
    shape="diamond",
    nudge=10,
)
_FIT, _FIT_COLOUR, _FIT_WIDTH = "fit", "#0b7a6b", 2.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The fitted P_correct.

    Attributes
    ----------
    points
        ``delta_q`` and ``p_correct`` of each.
    equal_length
        Whether the model tells length from quality, so that its curve is that of equal length.
    threshold
        The ΔQ at which it reaches three readings in four; None where that was not measured.
    doubt
        A sentence on why it is not to be believed as it is drawn; "" where it is.
    """

    points: Sequence[Mapping[str, float]]
    equal_length: bool
    threshold: float | None
    doubt: str

    @property
    def conditions(self) -> str:
        """What it is the curve of, in words."""
        return "equal length, typical task" if self.equal_length else "typical task"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axes:
    """A plot of shares (0 to 1) against quality steps."""

    left: float
    top: float
    width: float
    height: float
    steps: Sequence[int]

    def x(self, delta_q: float, nudge: float = 0.0) -> float:
        """Where a quality difference lies, moved by ``nudge`` pixels."""
        first, last = self.steps[0], self.steps[-1]
        margin = min(26.0, self.width / 8)
        span = self.width - 2 * margin
        place = 0.5 if first == last else (delta_q - first) / (last - first)
        return self.left + margin + place * span + nudge

    def y(self, share: float) -> float:
        return self.top + (1 - share) * self.height

    def frame(self, ticks: Sequence[float], size: int) -> list[str]:
        """Grid, axis labels, and the line at three readings in four."""
        parts = []
        right, bottom = self.left + self.width, self.top + self.height
        for tick in ticks:
            y = self.y(tick)
            parts.append(line(self.left, y, right, y, stroke=GRID, name="grid", stroke_width=1))
            label = f"{tick:g}"
            parts.append(text(label, self.left - 6, y + 4, text_anchor="end", font_size=size, name="muted", fill=MUTED))
        y = self.y(THRESHOLD_SHARE)
        parts.append(line(self.left, y, right, y, stroke=MUTED, name="axis", stroke_width=0.8, stroke_dasharray="2 3"))
        parts.append(line(self.left, bottom, right, bottom, stroke=INK, name="axis", stroke_width=1))
        for step in self.steps:
            label = text(f"{step:g}", self.x(step), bottom + 16, text_anchor="middle", font_size=size)
            parts.append(line(self.x(step), bottom, self.x(step), bottom + 4, stroke=INK, name="axis"))
            parts.append(label)
        return parts


def _marker(look: _Look, x: float, y: float) -> str:
    if look.shape == "circle":
        return tag("circle", cx=x, cy=y, r=4, fill=look.colour, name=f"{look.name} solid")
    if look.shape == "square":
        return tag(
            "rect", x=x - 3.6, y=y - 3.6, width=7.2, height=7.2, fill=PAPER, stroke=look.colour, stroke_width=1.6,
            name=f"{look.name} open",
        )  # fmt: skip
    if look.shape == "diamond":
        corners = f"{x:.2f},{y - 5.4:.2f} {x + 5.4:.2f},{y:.2f} {x:.2f},{y + 5.4:.2f} {x - 5.4:.2f},{y:.2f}"
        return tag("polygon", points=corners, fill=PAPER, stroke=look.colour, stroke_width=1.6,
                    name=f"{look.name} open")  # fmt: skip
    corners = f"{x:.2f},{y - 4.6:.2f} {x + 4.4:.2f},{y + 3.4:.2f} {x - 4.4:.2f},{y + 3.4:.2f}"
    return tag("polygon", points=corners, fill=look.colour, name=f"{look.name} solid")


def _series(axes: _Axes, points: Sequence[Point], look: _Look, *, joined: bool = True) -> list[str]:
    """One event over the steps: an interval bar and a marker for each step, and a line that joins them."""
    stroke = {"stroke": look.colour, "name": look.name}
    places = [(axes.x(point["delta_q"], look.nudge), point[look.event]) for point in points]
    parts = []
    if joined:
        trace = _trace((x, axes.y(event["share"])) for x, event in places)
        parts.append(
            tag("polyline", points=trace, fill="none", stroke_width=1.4, stroke_dasharray=look.dashes, **stroke)
        )
    for x, event in places:
        if event["low"] is not None and event["high"] is not None:
            low, high = axes.y(event["low"]), axes.y(event["high"])
            parts.append(line(x, low, x, high, stroke_width=1.4, **stroke))
            parts += [line(x - 3, end, x + 3, end, stroke_width=1.4, **stroke) for end in (low, high)]
        parts.append(_marker(look, x, axes.y(event["share"])))
    return parts


def _trace(places: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in places)


def _ascending(points: Iterable[Point]) -> list[Point]:
    return sorted(points, key=lambda point: int(point["delta_q"]))


def _described(points: Sequence[Point], event: str) -> str:
    return ", ".join(f"{number(point[event]['share'])} at ΔQ {point['delta_q']}" for point in points)


def ladder_curve(
    points: Sequence[Point], opposed: Sequence[Point], *, ties_allowed: bool, fitted: Fitted | None = None
) -> str:
    """The shares of better answer, tie and worse answer against the quality difference, with interval bars.

    ``opposed`` are points of an arm where length speaks for the worse answer; their P_correct is drawn beside. Where
    there is a fitted curve, it takes the place of the line that joins the better answer's markers.
    """
    points, opposed = _ascending(points), _ascending(opposed)
    drawn = [(look, points) for look in _LOOKS if ties_allowed or look.event != "miss_by_tie"]
    drawn += [(_OPPOSED, opposed)] if opposed else []
    steps = sorted({point["delta_q"] for point in (*points, *opposed)} | ({0} if fitted else set()))
    legend = _legend([look for look, _ in drawn], fitted)
    axes = _Axes(left=40, top=14 + 20 * len(legend), width=386, height=196, steps=steps)
    bottom = axes.top + axes.height
    parts = axes.frame((0, 0.25, 0.5, 0.75, 1), 12)
    parts.append(text("quality difference ΔQ (steps)", axes.left + axes.width / 2, bottom + 36, text_anchor="middle"))
    parts += [_fitted_line(axes, fitted)] if fitted else []
    for look, series in reversed(drawn):
        parts += _series(axes, series, look, joined=fitted is None or look is not _LOOKS[0])
    parts += [part for row in legend for part in row]
    title = f"Share of readings that prefer the better answer, by quality difference: {_described(points, 'p_correct')}"
    title += _fitted_in_words(axes, fitted) if fitted else ""
    description = f"Worse answer preferred: {_described(points, 'wrong_choice')}"
    if ties_allowed:
        description = f"Called a tie: {_described(points, 'miss_by_tie')}. {description}"
    if opposed:
        description += f". Better answer preferred where the worse one is longer: {_described(opposed, 'p_correct')}"
    return figure("ladder-curve", title, description, (440, bottom + 44), parts)


def _fitted_line(axes: _Axes, fitted: Fitted) -> str:
    """The fitted curve over the steps that are shown, no further."""
    shown = [point for point in fitted.points if axes.steps[0] <= point["delta_q"] <= axes.steps[-1]]
    trace = _trace((axes.x(point["delta_q"]), axes.y(point["p_correct"])) for point in shown)
    return tag("polyline", points=trace, fill="none", stroke=_FIT_COLOUR, name=_FIT, stroke_width=_FIT_WIDTH)


def _fitted_in_words(axes: _Axes, fitted: Fitted) -> str:
    said = f". Behind them the fitted curve ({fitted.conditions})"
    if fitted.threshold is None:
        return said
    beyond = "" if fitted.threshold <= axes.steps[-1] else ", beyond the steps shown"
    return f"{said}, which crosses {THRESHOLD_SHARE:g} at ΔQ {number(fitted.threshold)}{beyond}"


def _legend(looks: Sequence[_Look], fitted: Fitted | None) -> list[list[str]]:
    """Lines of the legend: the prefix arm's events, the fitted curve, the opposed arm."""
    rows: list[list[str]] = [[]]
    x = 46.0
    for look in looks:
        if look is _OPPOSED:
            continue
        rows[0] += _entry(look, x, 14.0, joined=fitted is None or look is not _LOOKS[0])
        x += 60 + 6.6 * len(look.label)
    if fitted:
        y = 14.0 + 20 * len(rows)
        stroke = line(46, y, 72, y, stroke=_FIT_COLOUR, name=_FIT, stroke_width=_FIT_WIDTH)
        rows.append([stroke, text(f"fitted: {fitted.conditions}", 78, y + 4)])
    if _OPPOSED in looks:
        rows.append(_entry(_OPPOSED, 46, 14.0 + 20 * len(rows), joined=True))
    return rows


def _entry(look: _Look, x: float, y: float, *, joined: bool) -> list[str]:
    """An event in the legend: its marker, on its line where the markers are joined, and its words."""
    stroke = line(x, y, x + 26, y, stroke=look.colour, name=look.name, stroke_width=1.4, stroke_dasharray=look.dashes)
    return [*([stroke] if joined else []), _marker(look, x + 13, y), text(look.label, x + 32, y + 4)]


def arm_panel(place: int, arm: str, points: Sequence[Point], prefix: Sequence[Point], steps: Sequence[int]) -> str:
    """One arm of the ladder: P_correct against the quality difference, the prefix arm behind it in grey."""
    points, prefix = _ascending(points), _ascending(prefix)
    axes = _Axes(left=30, top=10, width=150, height=110, steps=steps)
    parts = axes.frame((0, 0.5, 1), 11)
    if prefix:
        trace = _trace((axes.x(point["delta_q"]), axes.y(point["p_correct"]["share"])) for point in prefix)
        parts.append(tag("polyline", points=trace, fill="none", stroke=MUTED, name="behind", stroke_width=1.2,
                          stroke_dasharray="5 3"))  # fmt: skip
    parts += _series(axes, points, _LOOKS[0])
    title = f"Better answer preferred in arm {arm}: {_described(points, 'p_correct')}"
    return figure(f"arm-{place}", title, "The prefix arm is the dashed line behind.", (190, 144), parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A class of the decomposition in a bar: its symbol, its words and its share."""

    symbol: str
    title: str
    share: float


_BAR_LEFT, _BAR_WIDTH = 1.0, 438.0
_FILLS = {
    "SCS": ("#12507b", ""),
    "PFP": ("#c9a24a", ""),
    "FF": ("#c9a24a", "M0 8 L8 0"),
    "SS": ("#e6d3a4", "M0 0 L8 8"),
    "OSC": ("#a9b4c2", ""),
    "NP": ("#f1f3f5", ""),
    "OC": ("#7d2f43", ""),
}


def decomposition_bars(found: Sequence[Segment], expected: Sequence[Segment]) -> str:
    """Two stacked bars: the classes as found, and as shuffled readings alone would give them (if there is a null)."""
    parts = [_patterns(), text("found", 0, 13), *_bar(found, 20)]
    bottom = 52
    if expected:
        parts += [text("expected from shuffled readings", 0, 69), *_bar(expected, 76)]
        bottom = 108
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x = _BAR_LEFT + tick * _BAR_WIDTH
        anchor = "start" if tick == 0 else "end" if tick == 1 else "middle"
        parts.append(line(x, bottom, x, bottom + 4, stroke=INK, name="axis"))
        parts.append(text(f"{tick:g}", x, bottom + 16, font_size=11, name="muted", fill=MUTED, text_anchor=anchor))
    title = "Pairs of equal quality by class, as found: " + _listed(found)
    description = "Expected from shuffled readings: " + _listed(expected) if expected else "No null was made."
    return figure("decomposition", title, description, (440, bottom + 20), parts)


def _listed(segments: Sequence[Segment]) -> str:
    return ", ".join(f"{segment.title} {number(segment.share)}" for segment in segments)


def _bar(segments: Sequence[Segment], y: float) -> list[str]:
    """One stacked bar, with a label in each segment that has room for one."""
    parts, x = [], _BAR_LEFT
    for segment in segments:
        symbol, width = segment.symbol, segment.share * _BAR_WIDTH
        if width <= 0:
            continue
        fill = f"url(#fill-{symbol})" if _FILLS[symbol][1] else _FILLS[symbol][0]
        parts.append(tag("rect", x=x, y=y, width=width, height=28, fill=fill, stroke=INK, stroke_width=0.8,
                          name=f"segment f-{symbol}"))  # fmt: skip
        if width >= 34:
            parts.append(_label(symbol, x + width / 2, y + 18))
        x += width
    return parts


def _label(symbol: str, x: float, y: float) -> str:
    """A symbol on a patch of paper, legible over any pattern."""
    width = 8.5 * len(symbol) + 6
    patch = tag("rect", x=x - width / 2, y=y - 12, width=width, height=16, rx=2, fill=PAPER, name="paper")
    return patch + text(symbol, x, y, text_anchor="middle", font_size=11, font_weight="bold")


def _patterns() -> str:
    hatches = [
        tag(
            "pattern",
            tag("rect", width=8, height=8, fill=fill) + tag("path", d=stroke, stroke=INK, fill="none"),
            id=f"fill-{symbol}", width=8, height=8, patternUnits="userSpaceOnUse",
        )
        for symbol, (fill, stroke) in _FILLS.items()
        if stroke
    ]  # fmt: skip
    return tag("defs", "".join(hatches))


def swatch(symbol: str) -> str:
    """The fill of a class as a small square, for the table beside the bars."""
    fill, stroke = _FILLS[symbol]
    parts = tag("title", f"fill of {escape(symbol)}")
    parts += tag("rect", x=0.5, y=0.5, width=13, height=9, fill=fill, stroke=INK, stroke_width=0.8, name=f"f-{symbol}")
    if stroke:
        ends = ((1, 9, 9, 1), (5, 9, 13, 1)) if symbol == "FF" else ((1, 1, 9, 9), (5, 1, 13, 9))
        parts += "".join(line(*end, stroke=INK, stroke_width=0.8) for end in ends)
    return tag("svg", parts, xmlns="http://www.w3.org/2000/svg", viewBox="0 0 14 10", width=14, height=10,
                aria_hidden="true")  # fmt: skip
