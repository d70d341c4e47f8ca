"""SVG elements of the figures, with every text escaped.

Presentation attributes hold the looks for print; the classes let a style sheet recolour the same markup for the dark.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from datasheet.visible import visible

INK, MUTED, GRID, PAPER = "#1c2026", "#5a6270", "#d9dce1", "#ffffff"


def tag(element: str, content: str = "", /, **attributes: object) -> str:
    """An SVG element; underscores in attribute names stand for hyphens, ``name`` for the class."""
    named = {"class" if key == "name" else key.replace("_", "-"): value for key, value in attributes.items()}
    printed = "".join(f' {key}="{escape(_short(value))}"' for key, value in named.items() if value != "")
    return f"<{element}{printed}>{content}</{element}>" if content else f"<{element}{printed}/>"


def _short(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def text(words: str, x: float, y: float, /, **attributes: object) -> str:
    """A text at a place, in ink unless told otherwise."""
    looks: dict[str, object] = {"name": "ink", "fill": INK, "font_size": 12, **attributes}
    return tag("text", escape(visible(words, most=80)), x=x, y=y, **looks)


def line(x1: float, y1: float, x2: float, y2: float, /, **attributes: object) -> str:
    """A straight line from (x1, y1) to (x2, y2)."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def figure(identity: str, title: str, description: str, size: tuple[float, float], parts: Iterable[str]) -> str:
    """A figure with its alternative text: WeasyPrint takes the title, screen readers both."""
    width, height = size
    head = tag("title", escape(visible(title)), id=f"{identity}-title")
    head += tag("desc", escape(visible(description)), id=f"{identity}-desc")
    return tag(
        "svg",
        head + "".join(parts),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        role="img",
        aria_labelledby=f"{identity}-title {identity}-desc",
        font_family="Datasheet Sans, Datasheet Math, Noto Sans, sans-serif",
    )
