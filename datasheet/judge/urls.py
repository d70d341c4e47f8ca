"""URLs of servers: what a user may write, and what may be shown of them."""

from __future__ import annotations

import base64
import ipaddress
import re

from yarl import URL

from datasheet.errors import UsageError

SHOWN_CHARACTERS = 200

_LONGEST_HOST = 253
_LABEL = re.compile(r"[A-Za-z0-9_-]{1,63}")
_SECRET_QUERY = re.compile(r"key|token|secret|sig|auth|pass|code", re.IGNORECASE)


def server_url(text: str) -> URL:
    """The URL of a server, from what a user wrote.

    Raises
    ------
    UsageError
        It is none that can be called; the message holds no secret of it.
    """
    text = text.strip()
    try:
        url = URL(text)
        addressed = url.scheme in ("http", "https") and _is_host(url.raw_host or "") and url.port
    except ValueError:
        addressed = False
    if not addressed or not text.isprintable() or set(text) & set(' \\"<>'):
        raise UsageError(
            f"a judge's URL starts with http:// or https:// and names a host, as in http://127.0.0.1:8000/v1; "
            f"found {visible(_without_secrets(text))!r}"
        )
    return url


def shown(url: URL) -> str:
    """A URL as people may see it: no user, no password, no query, no fragment."""
    return str(url.with_user(None).with_query(None).with_fragment(None))


def visible(text: str, limit: int = SHOWN_CHARACTERS) -> str:
    """The beginning of an untrusted text on one line: control, bidi and line characters as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:limit])


def url_secrets(base: URL) -> list[str]:
    """The password in a URL, a key in its query, and user and password as they are sent."""
    secrets = [base.password or "", *(value for name, value in base.query.items() if _SECRET_QUERY.search(name))]
    if base.user is not None:
        secrets.append(base64.b64encode(f"{base.user}:{base.password or ''}".encode()).decode())
    return secrets


def is_loopback(host: str) -> bool:
    """Whether a host is this machine (0.0.0.0, on which servers say they listen, included)."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _is_host(name: str) -> bool:
    """Whether a host can be looked up: an IPv6 address, or labels of 1 to 63 characters."""
    labels = name.removesuffix(".").split(".")
    return len(name) <= _LONGEST_HOST and (":" in name or all(_LABEL.fullmatch(label) for label in labels))


def _without_secrets(text: str) -> str:
    """A malformed URL without what stands before an @ or after a question mark."""
    return re.split(r"[?#]", text)[0].rpartition("@")[2]
