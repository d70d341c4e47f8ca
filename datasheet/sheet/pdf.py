"""The datasheet as a tagged PDF with ``datasheet.json`` attached."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from datasheet.errors import RenderError
from datasheet.resources import templates_folder
from datasheet.sheet.attachment import ATTACHMENT_NAME
from datasheet.sheet.html import render_print_html
from datasheet.sheet.schema import dump_sheet

FONTS = ("NotoSans-Regular.ttf", "NotoSans-Bold.ttf", "NotoSansMath-Regular.ttf")
_FONT_SCHEME = "datasheet-font:"
_MISSING = (
    "expected Pango to write the PDF, but it can't be loaded; the HTML and the JSON need nothing more.\n"
    "Debian and Ubuntu: apt install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0; macOS: brew install pango"
)


def pdf_missing_reason() -> str | None:
    """Why no PDF can be written here (two lines that name the packages to install), or None."""
    try:
        _weasyprint()
    except RenderError as error:
        return str(error)
    return None


def render_pdf(sheet: Mapping[str, Any], *, attachment: bytes) -> bytes:
    """The datasheet as a PDF: equal bytes for equal sheets, and nothing loaded but the package's own fonts.

    Parameters
    ----------
    attachment
        The bytes of ``datasheet.json``, attached as they are.

    Raises
    ------
    RenderError
        Pango is missing, or the sheet does not follow its schema.
    """
    weasyprint = _weasyprint()
    made = _made_at(sheet)
    attached = weasyprint.Attachment(
        string=attachment,
        name=ATTACHMENT_NAME,
        description="The datasheet with its readings",
        created=made,
        modified=made,
        relationship="Data",
    )
    try:
        document = weasyprint.HTML(string=render_print_html(sheet), url_fetcher=font_fetcher())
        content: bytes = document.write_pdf(
            attachments=[attached],
            pdf_variant="pdf/ua-1",
            pdf_identifier=hashlib.sha256(attachment).digest()[:16],
        )
    except importlib.import_module("weasyprint.urls").FatalURLFetchingError as error:
        raise RenderError(f"a datasheet's PDF may load nothing but the package's fonts: {error}") from error
    return content


def write_pdf(sheet: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the datasheet as a PDF with its own ``datasheet.json`` attached.

    Raises
    ------
    RenderError
        As :func:`render_pdf`, or the file can't be written.
    """
    content = render_pdf(sheet, attachment=dump_sheet(sheet))
    try:
        Path(path).write_bytes(content)
    except OSError as error:
        raise RenderError(f"{path}: the PDF can't be written ({error.strerror or error})") from error


def font_fetcher() -> Any:
    """A WeasyPrint ``url_fetcher`` that knows the package's fonts by name and refuses any other address."""
    urls = importlib.import_module("weasyprint.urls")
    folder = templates_folder() / "report" / "fonts"
    fonts = {f"{_FONT_SCHEME}{name}": folder / name for name in FONTS}

    class FontFetcher(urls.URLFetcher):  # type: ignore[misc,name-defined]  # no types, and loaded late
        def fetch(self, url: str, headers: Mapping[str, str] | None = None) -> Any:
            if url not in fonts:
                raise ValueError(f"refused to load {url[:200]!r}")
            return urls.URLFetcherResponse(url, fonts[url].read_bytes(), {"Content-Type": "font/ttf"})

    return FontFetcher(fail_on_errors=True)


def _weasyprint() -> Any:
    # Imported when a PDF is asked for: the import itself fails where Pango is missing, and all else must still work.
    try:
        return importlib.import_module("weasyprint")
    except OSError as error:
        raise RenderError(_MISSING) from error


def _made_at(sheet: Mapping[str, Any]) -> datetime:
    """The time of the last trial (a document has no clock of its own); the epoch where it is not recorded."""
    try:
        made = datetime.fromisoformat(str(sheet["provenance"].get("last_trial")))
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
    return made.astimezone(UTC) if made.tzinfo else made.replace(tzinfo=UTC)
