"""The datasheet as HTML: one self-contained page for the screen, and the pages that the PDF is made of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, UndefinedError
from markupsafe import Markup

from datasheet.errors import RenderError
from datasheet.resources import templates_folder
from datasheet.sheet import content, figures
from datasheet.sheet.formats import count, number, p_value, percent, words
from datasheet.visible import visible

PREFIX_ARM = "prefix"


def render_html(sheet: Mapping[str, Any]) -> str:
    """The datasheet as one HTML page that loads nothing and runs nothing.

    Raises
    ------
    RenderError
        The sheet lacks a part that its schema requires.
    """
    return _render("datasheet.html.j2", sheet)


def render_print_html(sheet: Mapping[str, Any]) -> str:
    """The same content laid out for A4 pages; :func:`datasheet.sheet.pdf.write_pdf` prints it.

    Raises
    ------
    RenderError
        The sheet lacks a part that its schema requires.
    """
    return _render("datasheet.print.html.j2", sheet)


def _render(template: str, sheet: Mapping[str, Any]) -> str:
    try:
        return _environment().get_template(template).render(sheet=sheet, **_parts(sheet))
    except (KeyError, TypeError, ValueError, UndefinedError) as error:
        raise RenderError(
            f"expected a datasheet that follows datasheet.schema.json, but this one does not ({error}); build it again"
        ) from error


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(templates_folder() / "report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printed,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"words": words, "count": count, "number": number, "p_value": p_value, "percent": percent}
    environment.filters["cut"] = lambda text, most: visible(text, most=most)
    return environment


def _printed(value: object) -> object:
    """What any expression of a template becomes: our own markup, or a visible text. No None, no unformatted number."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"a value that is not text: {value!r}")


def _parts(sheet: Mapping[str, Any]) -> dict[str, Any]:
    """What the templates show beside the sheet itself."""
    flags = sheet["profile"]["flag_states"]
    found, expected = content.segments(sheet)
    return {
        "identity": content.identity_rows(sheet),
        "summary": content.summary(sheet),
        "summary_remarks": content.summary_remarks(sheet),
        "sections": content.sections(sheet),
        "meanings": content.meanings(sheet),
        "flags_by_state": {
            state: [flag for flag in flags if flag["state"] == state]
            for state in ("raised", "open", "cleared", "not_measured", "not_applicable")
        },
        "curve": _curve(sheet),
        "arms": _arms(sheet),
        "classes": content.class_rows(sheet),
        "bars": Markup(figures.decomposition_bars(found, expected)) if found else None,
        "swatch": lambda symbol: Markup(figures.swatch(symbol)),
        "operation": content.operation_rows(sheet),
        "limits": content.limit_rows(sheet),
        "provenance": content.provenance_rows(sheet),
    }


def _prefix(sheet: Mapping[str, Any]) -> list[Any]:
    return [point for point in sheet["curves"]["ladder"] if point["arm"] == PREFIX_ARM]


def _curve(sheet: Mapping[str, Any]) -> Mapping[str, Any] | None:
    points = _prefix(sheet)
    if not points:
        return None
    return {
        "svg": Markup(figures.ladder_curve(points, ties_allowed=sheet["readings"]["ties_allowed"])),
        "points": points,
        "n": sum(point["n"] for point in points),
        "level": points[0]["confidence_level"],
    }


def _arms(sheet: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The arms of the ladder, the prefix arm first; empty where there is no other arm to compare with it."""
    ladder = sheet["curves"]["ladder"]
    names = sorted({point["arm"] for point in ladder}, key=lambda arm: (arm != PREFIX_ARM, arm))
    if len(names) < 2:
        return []
    prefix, steps = _prefix(sheet), sorted({point["delta_q"] for point in ladder})
    panels: list[Mapping[str, Any]] = []
    for place, arm in enumerate(names):
        points = [point for point in ladder if point["arm"] == arm]
        behind = [] if arm == PREFIX_ARM else prefix
        panels.append(
            {
                "name": arm,
                "conditions": content.arm_conditions(arm),
                "n": sum(point["n"] for point in points),
                "svg": Markup(figures.arm_panel(place, arm, points, behind, steps)),
            }
        )
    return panels
