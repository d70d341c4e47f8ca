"""Documents on disk: a sheet's JSON, HTML and PDF written in one folder, and a sheet read back from any of them."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasheet.errors import RenderError, UsageError
from datasheet.files import read_limited
from datasheet.sheet.attachment import read_attached_json
from datasheet.sheet.html import render_html
from datasheet.sheet.pdf import render_pdf
from datasheet.sheet.schema import MOST_BYTES, check_sheet, dump_sheet, load_sheet
from datasheet.sheet.terminal import render_terminal
from datasheet.workflows.context import LOG_NAME
from datasheet.workflows.replaced import replaced_sheet

JSON_NAME, HTML_NAME, PDF_NAME = "datasheet.json", "datasheet.html", "datasheet.pdf"
_HTML_START = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """What was written.

    Attributes
    ----------
    files
        The files that were written.
    removed
        Those of an earlier sheet that were removed.
    replaced
        What sheet was in their place, where it was of another judge or of more readings; "" elsewhere.
    pdf_problem
        Why there is no PDF; "" where there is one.
    """

    files: tuple[Path, ...]
    removed: tuple[Path, ...] = ()
    replaced: str = ""
    pdf_problem: str = ""


def write_documents(sheet: Mapping[str, Any], folder: Path, *, render: bool = True) -> Documents:
    """Write a sheet's JSON and, with ``render``, its HTML and PDF.

    A file that would not change is left alone. One that is not written now and belongs to an earlier sheet is removed,
    so that a folder never holds two sheets.

    Raises
    ------
    RenderError
        The folder can't be written.
    """
    check_sheet(sheet)
    content = dump_sheet(sheet)
    changed = _differs(folder / JSON_NAME, content)
    replaced = replaced_sheet(folder / JSON_NAME, sheet) if changed else ""
    documents = {JSON_NAME: content}
    problem = ""
    if render:
        documents[HTML_NAME] = render_html(sheet).encode("utf-8", "replace")
        try:
            documents[PDF_NAME] = render_pdf(sheet, attachment=content)
        except RenderError as error:
            problem = str(error)
    stale = [folder / name for name in (HTML_NAME, PDF_NAME) if name not in documents and changed]
    removed = tuple(path for path in stale if path.exists())
    try:
        _put_in_place({folder / name: written for name, written in documents.items()}, removed)
    except OSError as error:
        raise RenderError(f"{error.filename or folder} can't be written: {error.strerror}") from None
    return Documents(
        files=tuple(folder / name for name in documents), removed=removed, replaced=replaced, pdf_problem=problem
    )


def _differs(path: Path, content: bytes) -> bool:
    return not path.is_file() or path.stat().st_size != len(content) or path.read_bytes() != content


def _put_in_place(documents: Mapping[Path, bytes], removed: Sequence[Path]) -> None:
    """All of the documents or none: each is written beside its place first, and only then do they change places."""
    for path in (*documents, *removed):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    parts = {}
    try:
        for path, content in documents.items():
            if _differs(path, content):
                path.parent.mkdir(parents=True, exist_ok=True)
                parts[path] = path.with_name(f"{path.name}.part")
                parts[path].write_bytes(content)
        for path in removed:
            path.unlink()
        for path, part in parts.items():
            os.replace(part, path)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


def read_sheet(source: Path) -> dict[str, Any]:
    """A datasheet from its JSON, its PDF, or the folder that holds it.

    Raises
    ------
    UsageError
        There is no datasheet.
    """
    path = source / JSON_NAME if source.is_dir() else source
    if source.is_dir() and not path.exists() and (source / LOG_NAME).exists():
        raise UsageError(f"{source} holds a build that is not finished: run the same `datasheet build` again to go on")
    try:
        content = read_limited(path, MOST_BYTES)
    except OSError as problem:
        raise UsageError(f"{path} can't be read: {problem.strerror}") from None
    if content[:_HTML_START].lstrip().lower().startswith(b"<!doctype html"):
        raise UsageError(
            f"{path} is a page for a browser, and holds no figures to read back: "
            f"give the {JSON_NAME} or {PDF_NAME} beside it, or their folder"
        )
    return load_sheet(read_attached_json(path) if content.startswith(b"%PDF-") else content, path.name)


def sheet_json(sheet: Mapping[str, Any]) -> str:
    """A sheet as the text of its JSON file."""
    return dump_sheet(sheet).decode("utf-8")


def terminal_sheet(sheet: Mapping[str, Any], *, width: int) -> list[str]:
    """A sheet as lines for a terminal."""
    return render_terminal(sheet, width=width).splitlines()
