"""One attempt at one HTTP call: connections, time-outs, proxies, and a key that is seen nowhere but in its header."""

from __future__ import annotations

import errno
import math
import os
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Required, TypedDict
from urllib.request import getproxies, proxy_bypass

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from datasheet.errors import PermanentJudgeError, TransientJudgeError, UsageError
from datasheet.judge.headers import BEARER, checked_headers
from datasheet.judge.scrubbing import Scrubber
from datasheet.judge.slots import Slots
from datasheet.judge.tls import Tls
from datasheet.judge.urls import is_loopback, server_url, shown, url_secrets, visible

BODY_LIMIT_BYTES = 8_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back from one call: any status, headers and the whole body as text with every secret taken out.

    Attributes
    ----------
    latency_s
        Seconds from sending to the last byte.
    """

    status: int
    headers: Mapping[str, str]
    text: str
    latency_s: float


class EndpointOptions(TypedDict, total=False):
    """What a user may say of an :class:`Endpoint`."""

    base_url: Required[str]
    api_key_env: str | None
    timeout_s: float
    connections: int
    key_header: str
    headers: Mapping[str, str] | None
    tls: Tls | None


class Endpoint:
    """An API under one base URL, its key and its connections.

    Parameters
    ----------
    base_url
        ``http`` or ``https``. A URL without a path means its ``/v1``; one that ends in ``call_path`` is taken too. A
        query (``?api-version=…``) goes with every call and is shown nowhere.
    call_path
        Path of the calls below the base, as ``/chat/completions``.
    api_key_env
        Name of the environment variable that holds the key; it is read in :meth:`open`.
    timeout_s
        Seconds for one call, counted from when it is sent and not from when it queues for a connection.
    connections
        Calls in flight at most; the others queue. Fewer while calls time out.
    key_header
        Name of the header that holds the key, where it is not ``Authorization: Bearer KEY``.
    headers
        Further headers of every call. Their values are shown nowhere, and none of them may be a key's.
    tls
        How the server's certificate is checked.
    fixed_headers
        What the API itself wants in every call.

    Raises
    ------
    UsageError
        The URL is not one that can be called, or a header or a TLS option can't be used.
    """

    def __init__(
        self,
        *,
        call_path: str,
        base_url: str,
        api_key_env: str | None = None,
        timeout_s: float = 120.0,
        connections: int = 64,
        key_header: str = BEARER,
        headers: Mapping[str, str] | None = None,
        tls: Tls | None = None,
        fixed_headers: Mapping[str, str] | None = None,
    ) -> None:
        if not (0 < timeout_s < math.inf and connections >= 1):
            raise UsageError(
                f"expected a timeout_s above 0 and connections of 1 or more, found {timeout_s!r} and {connections!r}"
            )
        base = server_url(base_url)
        assert base.host is not None
        path = base.path.rstrip("/").removesuffix(call_path).rstrip("/")
        self.base = base.with_fragment(None).with_path(path or "/v1", keep_query=True)
        self.call_url = self.url(call_path)
        self.has_key = False
        self.api_key_env = api_key_env
        self.loopback = is_loopback(base.host)
        self.proxy_variable = ""
        self._key_header = key_header
        self._headers = checked_headers(headers or {}, key_header)
        self._fixed_headers = dict(fixed_headers or {})
        self._tls = tls or Tls()
        self._tls_context = self._tls.context() if tls else None
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._connections = connections
        self._proxy: str | None = None
        self.scrub = Scrubber()
        self._slots = Slots(connections)
        self._session: aiohttp.ClientSession | None = None

    @property
    def verified(self) -> bool | None:
        """False where anyone may have answered; a part of a judge's identity then, and None elsewhere."""
        return None if self._tls.verify else False

    @property
    def provenance(self) -> dict[str, str]:
        """Where calls go, without user, key or query, and all that is unusual about the way."""
        facts = {"url": shown(self.base), "api_key_env": self.api_key_env or ""}
        unusual = {"headers": ", ".join(sorted(self._headers)), "tls": self._tls.described}
        return facts | {name: value for name, value in unusual.items() if value}

    def url(self, path: str) -> URL:
        """The URL of a path below the base, query and all."""
        return self.base.with_path(self.base.path + path, keep_query=True)

    async def open(self) -> None:
        """Read the key and make the session that all calls share.

        Raises
        ------
        PermanentJudgeError
            The key can't be sent in a header, or the proxy is of a kind that can't be used.
        """
        await self.close()
        key = os.environ.get(self.api_key_env, "") if self.api_key_env else ""
        self._check_key(key)
        self.has_key = bool(key)
        self.scrub = Scrubber([key, *url_secrets(self.base)])
        self._proxy, self.proxy_variable = (None, "") if self.loopback else _proxy_for(self.base)
        headers = CIMultiDict({"Content-Type": "application/json", "Accept": "application/json"})
        headers["User-Agent"] = "judge-datasheet"
        headers.update(self._fixed_headers)
        headers.update(self._headers)
        if key:
            headers[self._key_header] = f"Bearer {key}" if self._key_header == BEARER else key
        # The slots hold back what is too much: a wait inside aiohttp's own pool would count as part of the call.
        self._slots = Slots(self._connections)
        # trust_env stays off because it also lets a ~/.netrc replace the key; the proxy is looked up here instead.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._tls_context or True),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=headers,
            timeout=self._timeout,
            trust_env=False,
        )

    async def close(self) -> None:
        """Give back connections; further calls need another :meth:`open`."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def send(self, method: str, url: URL, *, content: bytes | None = None, timeout_s: float = 0.0) -> Answer:
        """Make one call and read its body, whatever the status; redirects are not followed.

        Raises
        ------
        TransientJudgeError
            No whole answer came: ``kind`` is ``timeout``, ``connection`` or ``bad_body`` (too long).
        """
        if self._session is None:
            raise RuntimeError("open the judge before asking it")
        timeout = aiohttp.ClientTimeout(total=timeout_s) if timeout_s else self._timeout
        slots = self._slots
        turn = await slots.take()
        sent_s = time.perf_counter()
        try:
            async with self._session.request(
                method, url, data=content, timeout=timeout, proxy=self._proxy, allow_redirects=False
            ) as response:
                body = await _read(response)
            slots.answered()
        except TimeoutError:
            slots.timed_out(turn)
            raise self._failed(method, url, f"no answer within {timeout.total:g} s", kind="timeout") from None
        except (aiohttp.ClientError, OSError) as error:
            raise self._failed(method, url, visible(self.scrub(_cause(error))), kind="connection") from None
        finally:
            slots.give_back()
        if body is None:
            cause = f"the answer is longer than {BODY_LIMIT_BYTES:,} bytes"
            raise self._failed(method, url, cause, kind="bad_body")
        text = self.scrub(body.decode("utf-8-sig", errors="replace"))
        headers = CIMultiDict((name, self.scrub(value)) for name, value in response.headers.items())
        return Answer(status=response.status, headers=headers, text=text, latency_s=time.perf_counter() - sent_s)

    def through_proxy(self) -> str:
        """A few words for an error message where a proxy stood between, else nothing."""
        return f", sent through the proxy that {self.proxy_variable} names" if self._proxy else ""

    def _failed(self, method: str, url: URL, cause: str, *, kind: str) -> TransientJudgeError:
        return TransientJudgeError(f"{method} {shown(url)} failed ({cause}{self.through_proxy()})", kind=kind)

    def _check_key(self, key: str) -> None:
        if key and self.base.user is not None:
            raise PermanentJudgeError(
                f"{shown(self.base)} is given both a user in its URL and a key in {self.api_key_env}: keep one of them",
                kind="key",
            )
        position = next((i for i, character in enumerate(key) if not "!" <= character <= "~"), None)
        if position is not None:
            raise PermanentJudgeError(
                f"the key in the environment variable {self.api_key_env} holds a space, a line break or a character "
                f"that no HTTP header can carry (at position {position + 1} of {len(key)}): set it to the key alone",
                kind="key",
            )


async def _read(response: aiohttp.ClientResponse) -> bytes | None:
    """The body, or None where it is longer than any reply of a judge."""
    size, chunks = 0, []
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > BODY_LIMIT_BYTES:
            return None
        chunks.append(chunk)
    return b"".join(chunks)


def _cause(error: Exception) -> str:
    """Why there was no answer, in words that do not need a knowledge of sockets."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"the host name {error.host} is not known"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"the certificate of {error.host} is not trusted: {error.certificate_error}"
    if isinstance(error, aiohttp.ClientConnectorError):
        if error.os_error.errno == errno.ECONNREFUSED:
            return "connection refused"
        if isinstance(error.os_error, ssl.SSLError):
            return f"no TLS connection: {error.os_error}"
        return f"no connection: {error.os_error.strerror or error.os_error}"
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy answered HTTP {error.status}: {error.message}"
    return f"the connection broke: {str(error) or type(error).__name__}"


def _proxy_for(base: URL) -> tuple[str | None, str]:
    """The proxy for a URL and the environment variable that names it, by the rules that urllib and curl keep."""
    proxy = getproxies().get(base.scheme)
    if not proxy or proxy_bypass(f"{base.host}:{base.port}"):
        return None, ""
    name = f"{base.scheme}_proxy"
    variable = next((spelling for spelling in (name, name.upper()) if spelling in os.environ), "the system")
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    if not proxy.startswith(("http://", "https://")):
        raise PermanentJudgeError(
            f"{variable} names a {visible(proxy.split(':')[0], 20)} proxy; only http and https proxies can be used: "
            f"change it, or add {base.host} to NO_PROXY",
            kind="proxy",
        )
    return proxy, variable
