"""A PDF that anyone may have made: its attachment is unpacked under a limit."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from pypdf import PdfWriter
from pypdf.generic import ArrayObject, EncodedStreamObject, NameObject, NumberObject, StreamObject

from datasheet.errors import RenderError
from datasheet.sheet import attachment
from datasheet.sheet.attachment import ATTACHMENT_NAME, read_attached_json

LIMIT = 1_000_000


@pytest.fixture(autouse=True)
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachment, "MOST_BYTES", LIMIT)


def pdf_with(path: Path, *, unpacked: int, filters: int = 1, copies: int = 1) -> Path:
    """A PDF with an attachment of so many spaces, packed so many times over."""
    content = b" " * unpacked
    for _ in range(filters):
        content = zlib.compress(content, 9)
    with PdfWriter() as writer:
        writer.add_blank_page(100, 100)
        for _ in range(copies):
            entry = writer.add_attachment(ATTACHMENT_NAME, b"")
            stream: StreamObject = EncodedStreamObject()
            stream._data = content
            stream[NameObject("/Filter")] = ArrayObject([NameObject("/FlateDecode")] * filters)
            stream[NameObject("/Type")] = NameObject("/EmbeddedFile")
            stream[NameObject("/Length")] = NumberObject(len(content))
            files = entry.pdf_object["/EF"]
            for name in ("/F", "/UF"):
                files[NameObject(name)] = writer._add_object(stream)
        writer.write(path)
    assert path.stat().st_size < LIMIT
    return path


def test_an_attachment_up_to_the_limit_is_read(tmp_path: Path) -> None:
    assert read_attached_json(pdf_with(tmp_path / "a.pdf", unpacked=LIMIT - 1)) == b" " * (LIMIT - 1)


@pytest.mark.parametrize("filters", [1, 2, 3])
def test_an_attachment_that_unpacks_to_more_is_refused(tmp_path: Path, filters: int) -> None:
    bomb = pdf_with(tmp_path / "bomb.pdf", unpacked=5 * LIMIT, filters=filters)
    with pytest.raises(RenderError, match="expected parts of at most 1,000,000 bytes when unpacked, found a larger"):
        read_attached_json(bomb)


def test_many_attachments_are_counted_and_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each within the limit, they would fill the memory together."""
    many = pdf_with(tmp_path / "many.pdf", unpacked=LIMIT // 2, copies=20)
    unpacked = []
    monkeypatch.setattr("pypdf.generic.EmbeddedFile.content", property(unpacked.append))
    with pytest.raises(RenderError, match=r"expected one attachment datasheet\.json, found 20"):
        read_attached_json(many)
    assert unpacked == []


def test_a_pdf_over_the_limit_is_not_opened(tmp_path: Path) -> None:
    large = pdf_with(tmp_path / "large.pdf", unpacked=10)
    with large.open("ab") as stream:
        stream.truncate(LIMIT + 1)
    with pytest.raises(RenderError, match="expected a PDF of at most 1,000,000 bytes, found 1,000,001"):
        read_attached_json(large)
