"""How a server's certificate is checked, and what the client shows of its own."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from datasheet.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """TLS options of one judge.

    Attributes
    ----------
    ca_file
        Certificates of authorities that are trusted besides the system's (PEM).
    certificate, key
        The client's own certificate and its key (PEM), for servers that ask for one; the key may be in the same file.
    verify
        False accepts any certificate, so that anyone on the way may answer in the server's place.
    """

    ca_file: str | None = None
    certificate: str | None = None
    key: str | None = None
    verify: bool = True

    @property
    def described(self) -> str:
        """What a reader of a sheet should know; "" where there is nothing."""
        if not self.verify:
            return "the server's certificate was not verified"
        return "verified by an authority of the user's own" if self.ca_file else ""

    def context(self) -> ssl.SSLContext:
        """The context for connections.

        Raises
        ------
        UsageError
            A file can't be read, or holds something else.
        """
        if self.key and not self.certificate:
            raise UsageError("tls: a key needs the certificate that it belongs to (certificate = FILE)")
        context = ssl.create_default_context()
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.ca_file:
            _load("ca_file", self.ca_file, lambda path: context.load_verify_locations(path))
        if self.certificate:
            key = str(Path(self.key).expanduser()) if self.key else None
            # An encrypted key would have OpenSSL ask for its password on the terminal; an empty one fails instead.
            _load("certificate", self.certificate, lambda path: context.load_cert_chain(path, key, password=""))
        return context


def _load(name: str, file: str, load: Callable[[str], None]) -> None:
    try:
        load(str(Path(file).expanduser()))
    except FileNotFoundError:
        raise UsageError(f"tls: {name} names a file that does not exist, or the key beside it does: {file}") from None
    except OSError as problem:  # of which TLS errors are a kind
        raise UsageError(
            f"tls: {name} {file} can't be used ({problem.strerror or problem}): expected PEM files, a key without a "
            "password, and one that belongs to its certificate"
        ) from None
