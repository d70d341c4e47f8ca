"""Reading a file that may be of any size: no more of it than a limit ever comes into memory."""

from __future__ import annotations

import errno
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
