"""Headers that a user adds to the calls of a judge."""

from __future__ import annotations

import re
from collections.abc import Mapping

from datasheet.errors import UsageError

BEARER = "Authorization"
"""The header that holds a key as ``Bearer KEY``; any other holds the key alone."""

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_KEY_HEADERS = re.compile(r"\b(?:authorization|auth|(?:api)?key|token|secret|cookie|password)\b", re.IGNORECASE)
# What HTTP itself needs, and what would have a reply come in another form.
_OWN_HEADERS = {"host", "connection", "content-type", "content-length", "content-encoding", "transfer-encoding"}
_OWN_HEADERS |= {"accept", "accept-encoding", "expect", "upgrade", "te", "trailer"}


def checked_headers(headers: Mapping[str, str], key_header: str) -> dict[str, str]:
    """The headers as they are.

    Raises
    ------
    UsageError
        One can't be sent, changes what HTTP itself says, or looks like a key's.
    """
    for name, value in {**headers, key_header: ""}.items():
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _OWN_HEADERS:
            raise UsageError(f"headers: {name!r:.110} is no header that a judge may set")
        if not value.isascii() or not value.isprintable():
            raise UsageError(f"headers: the value of {name} should be printable ASCII")
    keys = [name for name in headers if _KEY_HEADERS.search(name) or name.lower() == key_header.lower()]
    if keys:
        raise UsageError(
            f"headers: {keys[0]} looks like a key's, and keys come from the environment only: name the variable by "
            f'api_key_env and the header by key_header = "{keys[0]}"'
        )
    return dict(headers)
