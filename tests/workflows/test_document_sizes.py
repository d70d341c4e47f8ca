"""Datasheets of any size lie where ours are read or written: no more of them than a limit comes into memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from sheet.samples import sample

from datasheet.errors import UsageError
from datasheet.sheet import schema
from datasheet.sheet.schema import dump_sheet, load_sheet
from datasheet.workflows import documents, replaced
from datasheet.workflows.documents import read_sheet, write_documents


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A datasheet with more spaces behind it than any disk holds (a file with a hole)."""
    path = tmp_path / "datasheet.json"
    path.write_bytes(dump_sheet(sample("few")))
    return path


def lengthen(path: Path) -> None:
    with path.open("ab") as stream:
        stream.truncate(10**12)


def test_a_datasheet_over_the_limit_is_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = path.stat().st_size
    monkeypatch.setattr(documents, "MOST_BYTES", limit)
    assert read_sheet(path)["format"] == "judge-datasheet"
    lengthen(path)
    with pytest.raises(UsageError, match=f"it is larger than {limit:,} bytes"):
        read_sheet(path)


def test_json_over_the_limit_is_not_decoded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = path.read_bytes()
    monkeypatch.setattr(schema, "MOST_BYTES", len(content))
    assert load_sheet(content, "sheet.json")
    with pytest.raises(UsageError, match=r"sheet\.json is larger than .* bytes, which no datasheet is"):
        load_sheet(content + b" ", "sheet.json")


def test_what_lies_in_the_place_of_a_new_sheet_is_not_read_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replaced, "MOST_BYTES", path.stat().st_size + 10)
    lengthen(path)
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail(f"{path} is read whole"))
    written = write_documents(sample("few"), path.parent, render=False)
    assert written.files == (path,)
    assert written.replaced == ""
    monkeypatch.undo()
    assert path.read_bytes() == dump_sheet(sample("few"))
