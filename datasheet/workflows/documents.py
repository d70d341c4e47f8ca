"""Documents on disk: a sheet's JSON, HTML and PDF written in one folder, and a sheet read back from any of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasheet.errors import RenderError, UsageError
from datasheet.sheet.attachment import read_attached_json
from datasheet.sheet.html import render_html
from datasheet.sheet.pdf import write_pdf
from datasheet.sheet.schema import check_sheet, dump_sheet, load_sheet
from datasheet.sheet.terminal import render_terminal

JSON_NAME, HTML_NAME, PDF_NAME = "datasheet.json", "datasheet.html", "datasheet.pdf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """The files that were written, and why there is no PDF where there is none ("" else)."""

    files: tuple[Path, ...]
    pdf_problem: str = ""


def write_documents(sheet: Mapping[str, Any], folder: Path, *, render: bool = True) -> Documents:
    """Write a sheet's JSON and, with ``render``, its HTML and PDF; a file that would not change is left alone.

    Raises
    ------
    RenderError
        The folder can't be written.
    """
    check_sheet(sheet)
    content = dump_sheet(sheet)
    files = [_write(folder / JSON_NAME, content)]
    if not render:
        return Documents(files=tuple(files))
    files.append(_write(folder / HTML_NAME, render_html(sheet).encode("utf-8", "replace")))
    try:
        write_pdf(sheet, folder / PDF_NAME)
        files.append(folder / PDF_NAME)
    except RenderError as problem:
        return Documents(files=tuple(files), pdf_problem=str(problem))
    return Documents(files=tuple(files))


def _write(path: Path, content: bytes) -> Path:
    """Put content in place whole or not at all."""
    try:
        if path.is_file() and path.read_bytes() == content:
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        part.write_bytes(content)
        os.replace(part, path)
    except OSError as problem:
        raise RenderError(f"{path} can't be written: {problem.strerror}") from None
    return path


def read_sheet(source: Path) -> dict[str, Any]:
    """A datasheet from its JSON, its PDF, or the folder that holds it.

    Raises
    ------
    UsageError
        There is no datasheet.
    """
    path = source / JSON_NAME if source.is_dir() else source
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise UsageError(f"{path} can't be read: {problem.strerror}") from None
    return load_sheet(read_attached_json(path) if content.startswith(b"%PDF-") else content, path.name)


def sheet_json(sheet: Mapping[str, Any]) -> str:
    """A sheet as the text of its JSON file."""
    return dump_sheet(sheet).decode("utf-8")


def terminal_sheet(sheet: Mapping[str, Any], *, width: int) -> str:
    """A sheet as text for a terminal."""
    return render_terminal(sheet, width=width)
