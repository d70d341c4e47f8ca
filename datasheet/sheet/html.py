"""The datasheet as HTML: one self-contained page for the screen, and the pages that the PDF is made of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, UndefinedError
from markupsafe import Markup

from datasheet.analysis.ladder import OPPOSED_ARMS, PREFIX_ARM, THRESHOLD_SHARE
from datasheet.errors import RenderError
from datasheet.p_values import p_phrase
from datasheet.resources import templates_folder
from datasheet.sheet import content, facts, figures
from datasheet.sheet.catalogue import arm_in_words, length_unit_in_words
from datasheet.sheet.formats import count, counted, number, percent, words
from datasheet.sheet.glossary import further_glossary, glossary
from datasheet.sheet.pulls import spectrum
from datasheet.sheet.spectrum import spectrum_lines
from datasheet.visible import visible


def render_html(sheet: Mapping[str, Any]) -> str:
    """The datasheet as one HTML page that loads nothing and runs nothing.

    Raises
    ------
    RenderError
        The sheet lacks a part that its schema requires.
    """
    return _render("datasheet.html.j2", sheet)


def render_print_html(sheet: Mapping[str, Any], *, created: str) -> str:
    """The same content laid out for A4 pages; :func:`datasheet.sheet.pdf.render_pdf` prints it.

    Parameters
    ----------
    created
        The time that the document bears, as an ISO date and time.

    Raises
    ------
    RenderError
        The sheet lacks a part that its schema requires.
    """
    return _render("datasheet.print.html.j2", sheet, created=created)


def _render(template: str, sheet: Mapping[str, Any], **more: str) -> str:
    try:
        return _environment().get_template(template).render(sheet=sheet, **_parts(sheet), **more)
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
    environment.filters |= {"words": words, "count": count, "counted": counted, "number": number}
    environment.filters |= {"p_phrase": p_phrase, "percent": percent}
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
    pulls = spectrum(sheet)
    return {
        "identity": facts.identity_rows(sheet),
        "running": facts.running_title(sheet),
        "class_letter": facts.class_in_words(sheet),
        "limits_rest_on": facts.limits_rest_on(sheet),
        "n_head": "n (tasks)" if sheet["readings"]["tasks"] else "n",
        "summary": content.summary(sheet),
        "summary_remarks": content.summary_remarks(sheet),
        "sections": content.sections(sheet, classes_apart=bool(found)),
        "step_table": content.step_table,
        "glossary": glossary(sheet),
        "further_glossary": further_glossary(sheet),
        "flags_by_state": {
            state: [flag for flag in flags if flag["state"] == state]
            for state in ("raised", "open", "cleared", "not_measured", "not_applicable")
        },
        "curve": _curve(sheet),
        "target": f"{THRESHOLD_SHARE:g}",
        "no_curve": facts.no_curve_reason(sheet),
        "arms": _arms(sheet),
        "classes": content.class_table(sheet),
        "bars": Markup(figures.decomposition_bars(found, expected)) if found else None,
        "swatch": lambda symbol: Markup(figures.swatch(symbol)),
        "length_unit": length_unit_in_words(sheet["readings"]["length_unit"]),
        "spectrum": pulls,
        "spectrum_svg": Markup(spectrum_lines(pulls)) if pulls else None,
        "hypotheses": facts.hypothesis_rows(sheet),
        "clustered_rates": facts.clustered_rate_rows(sheet),
        "model_checks": facts.model_checks(sheet),
        "budget": facts.budget_table(sheet),
        "unstable": facts.unstable_rows(sheet),
        "operation": facts.operation_rows(sheet),
        "limits": facts.limit_rows(sheet),
        "provenance": facts.provenance_rows(sheet),
    }


def _points(sheet: Mapping[str, Any], arm: str) -> list[Any]:
    return [point for point in sheet["curves"]["ladder"] if point["arm"] == arm]


def _curve(sheet: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The figure of the first page: the prefix arm, and the first arm where length speaks for the worse answer."""
    points = _points(sheet, PREFIX_ARM)
    if not points:
        return None
    opposed_arm = next((arm for arm in OPPOSED_ARMS if _points(sheet, arm)), "")
    opposed, fitted = _points(sheet, opposed_arm), content.fitted(sheet)
    svg = figures.ladder_curve(points, opposed, ties_allowed=sheet["readings"]["ties_allowed"], fitted=fitted)
    return {
        "svg": Markup(svg),
        "fitted": fitted,
        "points": points,
        "conditions": content.curve_conditions(sheet),
        "n": sum(point["n"] for point in points),
        "level": points[0]["confidence_level"],
        "opposed_arm": opposed_arm,
        "opposed": opposed,
        "n_opposed": sum(point["n"] for point in opposed),
    }


def _arms(sheet: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The arms of the ladder, the prefix arm first; empty where there is no other arm to compare with it."""
    ladder = sheet["curves"]["ladder"]
    names = sorted({point["arm"] for point in ladder}, key=lambda arm: (arm != PREFIX_ARM, arm))
    if len(names) < 2:
        return []
    prefix, steps = _points(sheet, PREFIX_ARM), sorted({point["delta_q"] for point in ladder})
    panels: list[Mapping[str, Any]] = []
    for place, arm in enumerate(names):
        points = _points(sheet, arm)
        behind = [] if arm == PREFIX_ARM else prefix
        panels.append(
            {
                "name": arm,
                "conditions": arm_in_words(arm),
                "n": sum(point["n"] for point in points),
                "svg": Markup(figures.arm_panel(place, arm, points, behind, steps)),
            }
        )
    return panels
