"""Files read under a limit, so that no more of them ever comes into memory, and files written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def read_limited(path: Path, limit: int) -> bytes:
    """The content of a file of at most ``limit`` bytes.

    Raises
    ------
    OSError
        The file can't be read, or is larger (``EFBIG``); its ``strerror`` says so in words.
    """
    with path.open("rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {limit:,} bytes", str(path))
    return content


def write_whole(path: Path, texts: Iterable[str]) -> None:
    """Write a text file in UTF-8, piece by piece: the whole of it in its place, or nothing.

    Raises
    ------
    OSError
        The file can't be written, or what has its name is no file; its ``strerror`` says so in words.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "it is no file, but a folder or a device; name a file", str(path))
    part = target.with_name(f"{target.name}.part")
    try:
        # Half a surrogate pair is no UTF-8: replaced by a backslash it is JSON's own way to write it.
        with part.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
            stream.writelines(texts)
        os.replace(part, target)
    finally:
        with suppress(OSError):
            part.unlink()
