"""The cross-sensitivity spectrum as SVG: how far position, length, filler and nuisances pull, with their intervals.

Estimates and limits stand beside each line as text, so that nothing has to be read off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from statistics import median

from datasheet.sheet.formats import number, percent
from datasheet.sheet.svg import GRID, INK, MUTED, PAPER, figure, line, tag, text

_COLOUR, _NAME = "#12507b", "s1"
_WIDTH, _LEFT, _FIRST_ROW, _ROW, _GAP = 470.0, 118.0, 34.0, 20.0, 7.0
_NUMBER_SIZE, _CHARACTER = 11.5, 5.8
_TICK_ROOM, _MARGIN = 36.0, 0.04
_WIDE = 6.0
"""A limit this many times farther from its estimate than the middle one is cut at the edge."""

_LONGEST_NUMBER, _LEAST_SPAN = 10_000.0, 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """How far one unit of something other than quality moves a judge; a side without a limit is None.

    ``group`` keeps lines of a kind together.
    """

    name: str
    group: str
    estimate: float | None
    low: float | None
    high: float | None

    @property
    def known(self) -> tuple[float, ...]:
        """Those of low, estimate and high that there are."""
        return tuple(value for value in (self.low, self.estimate, self.high) if value is not None)

    @property
    def is_clear(self) -> bool:
        """Whether zero lies outside the interval."""
        return (self.low is not None and self.low > 0) or (self.high is not None and self.high < 0)

    def printed(self, unit: str) -> str:
        """``0.181 [0.098, 0.272]``, or a bound."""
        low, high = _printed(self.low, unit), _printed(self.high, unit)
        if self.estimate is not None:
            return f"{_printed(self.estimate, unit)} [{low}, {high}]"
        if self.low is not None and self.high is not None:
            return f"[{low}, {high}]"
        return f"≤ {high}" if self.low is None else f"> {low}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spectrum:
    """Pulls on one scale, and what could not be drawn.

    Attributes
    ----------
    unit
        Of the pulls: quality steps, or sd where there are no steps to be had.
    confidence_level
        Of the intervals.
    fallback
        Why the pulls are not in quality steps; "" where they are.
    absences
        (status, names, reason) of what has no number.
    """

    unit: str
    confidence_level: float
    pulls: tuple[Pull, ...]
    fallback: str
    absences: tuple[tuple[str, str, str], ...]

    @property
    def scale(self) -> str:
        """The unit in words."""
        return self.unit if self.unit == "quality steps" else f"{self.unit} of evidence"


def spectrum_lines(spectrum: Spectrum) -> str:
    """A line for each pull on a common axis, zero marked, wide intervals cut with an arrow at its edge."""
    printed = [pull.printed(spectrum.unit) for pull in spectrum.pulls]
    room = max(map(len, printed)) * _CHARACTER
    axis = _Axis.over(spectrum.pulls, width=max(_WIDTH - _LEFT - room - 16, 120.0))
    parts, bottom = [], _FIRST_ROW
    for (y, pull), numbers in zip(_rows(spectrum.pulls), printed, strict=True):
        parts += [text(pull.name, 0, y + 4), *_interval(axis, pull, y)]
        parts.append(text(numbers, _WIDTH, y + 4, text_anchor="end", font_size=_NUMBER_SIZE))
        bottom = y + 14
    head = f"estimate [{percent(spectrum.confidence_level)} limits]"
    parts.append(text(head, _WIDTH, 14, text_anchor="end", font_size=_NUMBER_SIZE, name="muted", fill=MUTED))
    parts.append(text(spectrum.scale, _LEFT + axis.width / 2, 14, text_anchor="middle"))
    title = f"What a unit of each is worth in {spectrum.scale}: " + ", ".join(
        f"{pull.name} {numbers}" for pull, numbers in zip(spectrum.pulls, printed, strict=True)
    )
    missing = [f"{status}: {names} ({reason})" for status, names, reason in spectrum.absences]
    description = "; ".join(missing) if missing else "All was measured."
    return figure("spectrum", title, description, (_WIDTH, bottom + 20), [*axis.frame(bottom), *parts])


def _printed(value: float | None, unit: str) -> str:
    if value is not None and abs(value) >= _LONGEST_NUMBER:
        return f"{value:.2g}".replace("-", "−")
    return number(value, unit)


def _rows(pulls: Sequence[Pull]) -> Iterator[tuple[float, Pull]]:
    """The pulls with the height of their lines, kinds set apart."""
    y = _FIRST_ROW
    for place, pull in enumerate(pulls):
        if place:
            y += _ROW + (_GAP if pull.group != pulls[place - 1].group else 0.0)
        yield y, pull


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """The scale of the pulls, ``width`` pixels from low to high."""

    low: float
    high: float
    width: float

    @classmethod
    def over(cls, pulls: Sequence[Pull], *, width: float) -> _Axis:
        """The axis that shows zero, every estimate, and each limit as far from its estimate as is usual here."""
        usual = median([abs(limit - estimate) for estimate, limit in _sides(pulls)] or [0.0])
        farthest = max([_WIDE * usual, *(abs(estimate) for estimate, _ in _sides(pulls))])
        cut = (max(estimate - farthest, min(estimate + farthest, limit)) for estimate, limit in _sides(pulls))
        ends = [0.0, *cut, *(value for pull in pulls if len(pull.known) < 3 for value in pull.known)]
        low, high = (min(ends), max(ends)) if max(ends) - min(ends) > _LEAST_SPAN else (-1.0, 1.0)
        margin = _MARGIN * (high - low)
        return cls(low=low - margin, high=high + margin, width=width)

    @property
    def ticks(self) -> list[float]:
        """Round values on the axis, zero among them."""
        step = _tick((self.high - self.low) * _TICK_ROOM / self.width)
        return [step * place for place in range(ceil(self.low / step), floor(self.high / step) + 1)]

    def at(self, value: float) -> float:
        """Where a value lies, in pixels; beyond the axis, at its edge."""
        inside = min(max(value, self.low), self.high)
        return _LEFT + (inside - self.low) / (self.high - self.low) * self.width

    def frame(self, bottom: float) -> list[str]:
        """Ticks with their numbers, the axis, and the line at zero."""
        parts, top = [], _FIRST_ROW - 12
        for tick in self.ticks:
            x = self.at(tick)
            parts.append(line(x, top, x, bottom, stroke=GRID, name="grid", stroke_width=1))
            label = f"{tick:.6g}".replace("-", "−")
            parts.append(text(label, x, bottom + 15, text_anchor="middle", font_size=11, name="muted", fill=MUTED))
        parts.append(line(_LEFT, bottom, _LEFT + self.width, bottom, stroke=INK, name="axis", stroke_width=1))
        zero = self.at(0.0)
        return [*parts, line(zero, top, zero, bottom, stroke=INK, name="axis zero", stroke_width=1.4)]


def _sides(pulls: Sequence[Pull]) -> list[tuple[float, float]]:
    """Each limit with its estimate before it, of the pulls that have one."""
    return [
        (pull.estimate, limit)
        for pull in pulls
        for limit in (pull.low, pull.high)
        if pull.estimate is not None and limit is not None
    ]


def _tick(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is no less than this."""
    power = 10.0 ** floor(log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))


def _interval(axis: _Axis, pull: Pull, y: float) -> list[str]:
    """The interval with a cap at each limit or an arrow where it goes on, and the estimate: filled if clear of zero."""
    stroke: dict[str, object] = {"stroke": _COLOUR, "name": _NAME, "stroke_width": 1.6}
    sides = ((pull.low, axis.low, -1), (pull.high, axis.high, 1))
    low, high = (axis.at(edge if limit is None else limit) for limit, edge, _ in sides)
    parts = [line(low, y, high, y, **stroke)]
    for x, (limit, edge, way) in zip((low, high), sides, strict=True):
        if limit is None or limit * way > edge * way:
            corners = f"{x + 5 * way:.2f},{y:.2f} {x - 3 * way:.2f},{y - 4:.2f} {x - 3 * way:.2f},{y + 4:.2f}"
            parts.append(tag("polygon", points=corners, fill=_COLOUR, name=f"{_NAME} solid"))
        else:
            parts.append(line(x, y - 4, x, y + 4, **stroke))
    if pull.estimate is not None:
        looks = (
            {"fill": _COLOUR, "name": f"{_NAME} solid"} if pull.is_clear else {"fill": PAPER, "name": f"{_NAME} open"}
        )
        parts.append(tag("circle", cx=axis.at(pull.estimate), cy=y, r=4, stroke=_COLOUR, stroke_width=1.6, **looks))
    return parts
