"""Reads the ``datasheet.json`` that is attached to a PDF, so that a PDF in a model review is a sheet again."""

from __future__ import annotations

import os
from pathlib import Path

from pypdf import PdfReader
from pypdf.errors import PyPdfError

from datasheet.errors import RenderError

ATTACHMENT_NAME = "datasheet.json"
MOST_BYTES = 50_000_000


def read_attached_json(path: str | os.PathLike[str]) -> bytes:
    """The bytes of the ``datasheet.json`` that is attached to a PDF.

    Raises
    ------
    RenderError
        The file can't be read, is no PDF, is over 50 MB, or has no such attachment.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise RenderError(f"{path}: expected a PDF of at most {MOST_BYTES:,} bytes, found {size:,}")
        with PdfReader(path) as reader:
            found = list(reader.attachments.get(ATTACHMENT_NAME, []))
    except OSError as error:
        raise RenderError(f"{path}: expected a PDF, but it can't be read ({error.strerror or error})") from error
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        # A damaged PDF makes pypdf fail in many ways; to the user all of them are one.
        raise RenderError(
            f"{path}: expected a PDF with {ATTACHMENT_NAME} attached, but it is damaged or none"
        ) from error

    if len(found) != 1:
        raise RenderError(
            f"{path}: expected one attachment {ATTACHMENT_NAME}, found {len(found)}; "
            "give a PDF that this package wrote, or the datasheet.json itself"
        )
    if len(found[0]) > MOST_BYTES:
        raise RenderError(f"{path}: the attached {ATTACHMENT_NAME} is larger than {MOST_BYTES:,} bytes")
    return found[0]
