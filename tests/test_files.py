"""Reading files of any size, and writing them whole."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from datasheet.files import read_limited, write_whole


def test_a_file_up_to_the_limit_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_limited(tmp_path / "file", 5) == b"12345"


def test_a_larger_file_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"123456")
    with pytest.raises(OSError, match="larger than 5 bytes") as refused:
        read_limited(tmp_path / "file", 5)
    assert refused.value.errno == errno.EFBIG


def test_a_file_without_end_is_not_read_to_its_end() -> None:
    with pytest.raises(OSError, match="larger than 1,000 bytes"):
        read_limited(Path("/dev/zero"), 1000)


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_limited(tmp_path / "file", 5)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    def cut_short() -> Iterator[str]:
        yield "new"
        raise OSError(errno.ENOSPC, "no space")

    path = tmp_path / "file"
    write_whole(path, ["half \ud800", "\n"])
    assert path.read_bytes() == b"half \\ud800\n"
    with pytest.raises(OSError, match="no space"):
        write_whole(path, cut_short())
    assert path.read_bytes() == b"half \\ud800\n"
    with pytest.raises(OSError, match="it is no file"):
        write_whole(tmp_path, ["x"])
    assert list(tmp_path.iterdir()) == [path]
