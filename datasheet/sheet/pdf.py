"""The datasheet as a tagged PDF with ``datasheet.json`` attached."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from datasheet.errors import RenderError
from datasheet.resources import templates_folder
from datasheet.sheet.attachment import ATTACHMENT_NAME
from datasheet.sheet.html import render_print_html

FONTS = ("NotoSans-Regular.ttf", "NotoSans-Bold.ttf", "NotoSansMath-Regular.ttf")
_FONT_SCHEME = "datasheet-font:"
_MISSING = (
    "expected Pango to write the PDF, but it can't be loaded; the HTML and the JSON need nothing more.\n"
    "Debian and Ubuntu: apt install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0; macOS: brew install pango"
)


def render_pdf(sheet: Mapping[str, Any], *, attachment: bytes) -> bytes:
    """The datasheet as a PDF: equal bytes for equal sheets, and nothing loaded but the package's own fonts.

    Parameters
    ----------
    attachment
        The bytes of ``datasheet.json``, attached as they are.

    Raises
    ------
    RenderError
        Pango is missing, the sheet does not follow its schema, or SOURCE_DATE_EPOCH is no number of seconds.
    """
    weasyprint = _weasyprint()
    made = _made_at(sheet)
    page = render_print_html(sheet, created=made.isoformat(timespec="seconds").replace("+00:00", "Z"))
    attached = weasyprint.Attachment(
        string=attachment,
        name=ATTACHMENT_NAME,
        description="The datasheet with its readings",
        created=made,
        modified=made,
        relationship="Data",
    )
    try:
        document = weasyprint.HTML(string=page, url_fetcher=font_fetcher())
        content: bytes = document.write_pdf(
            attachments=[attached],
            pdf_variant="pdf/ua-1",
            pdf_identifier=hashlib.sha256(attachment).digest()[:16],
        )
    except importlib.import_module("weasyprint.urls").FatalURLFetchingError as error:
        raise RenderError(f"a datasheet's PDF may load nothing but the package's fonts: {error}") from error
    return content


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
    """SOURCE_DATE_EPOCH where it is set, else the time of the last trial, else the epoch: never the clock."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    if seconds is not None:
        return _since_epoch(seconds)
    try:
        made = datetime.fromisoformat(str(sheet["provenance"].get("last_trial")))
        return made.astimezone(UTC) if made.tzinfo else made.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return datetime.fromtimestamp(0, UTC)


def _since_epoch(seconds: str) -> datetime:
    try:
        if seconds.isascii() and seconds.isdigit():
            return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        pass  # More seconds than a date can hold: as wrong as a word.
    raise RenderError(
        f"expected SOURCE_DATE_EPOCH as a whole number of seconds since 1970, found {seconds[:40]!r}; "
        "set it so, or unset it"
    )
