"""Reads the ``datasheet.json`` that is attached to a PDF, so that a PDF in a model review is a sheet again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pypdf import PdfReader, apply_configuration
from pypdf.errors import LimitReachedError, PyPdfError

from datasheet.errors import RenderError

ATTACHMENT_NAME = "datasheet.json"
MOST_BYTES = 50_000_000
"""Of the PDF, and of any stream in it once unpacked: a few kilobytes can unpack to gigabytes."""

_UNPACKED_LIMITS = (
    "zlib_maximum_output_length",
    "lzw_maximum_output_length",
    "run_length_maximum_output_length",
    "brotli_maximum_output_length",
    "array_based_stream_maximum_output_length",
)


def read_attached_json(path: str | os.PathLike[str]) -> bytes:
    """The bytes of the ``datasheet.json`` that is attached to a PDF.

    Raises
    ------
    RenderError
        The file can't be read, is no PDF, is over 50 MB, also when unpacked, or has no such attachment.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise RenderError(f"{path}: expected a PDF of at most {MOST_BYTES:,} bytes, found {size:,}")
        limits: dict[str, Any] = dict.fromkeys(_UNPACKED_LIMITS, MOST_BYTES)
        with apply_configuration(**limits), PdfReader(path) as reader:
            found = [entry for entry in reader.attachment_list if entry.name == ATTACHMENT_NAME]
            # Unpacked only where it is the only one: many of them would add up.
            content = found[0].content if len(found) == 1 else b""
    except OSError as error:
        raise RenderError(f"{path}: expected a PDF, but it can't be read ({error.strerror or error})") from error
    except LimitReachedError as error:
        raise RenderError(
            f"{path}: expected parts of at most {MOST_BYTES:,} bytes when unpacked, found a larger one; give a PDF "
            "that this package wrote, or the datasheet.json itself"
        ) from error
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
    return content
