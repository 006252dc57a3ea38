"""The way to the upstream.

The HTTP client, the mapping of paths, and network errors as Turnfold's exceptions. It knows nothing of the client's connection or
of JSON, and never retries: SDKs retry by themselves, and a chat completion is billed.

Why aiohttp itself and not httpx over it: that transport joins repeated headers, normalises paths, and keeps a cookie jar
for all tenants together. Here aiohttp is told to add nothing, to undo no coding, to keep no cookies.

Paths. With B the path of ``upstream.url`` (``/v1`` by default), a request for path p goes to

    p itself            where p lies under B, or B is empty;
    B + rest            where p is ``/v1`` + rest: SDKs write ``/v1``, the setting says where that is;
    B' + p              for Azure's ``/openai/deployments/...``, B' being B without a last ``/openai`` or ``/v1``;
    B + p               else (the base URL was given without ``/v1``).

Bytes of path and query stay as they came (the server's parser takes ASCII only). Dot segments are refused: they could leave B.
"""

from __future__ import annotations

import base64
import contextlib
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import lru_cache
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

import aiohttp
from aiohttp import hdrs
from yarl import URL

from turnfold.compression.errors import InvalidInput
from turnfold.config.outbound import OutboundProxy, proxy_for
from turnfold.config.settings import UpstreamSettings
from turnfold.proxy.http.headers import with_content_codings
from turnfold.proxy.http.limits import check_path
from turnfold.proxy.http.refusals import RawHeaders, Refused
from turnfold.proxy.outbound.hops import with_hop
from turnfold.proxy.outbound.lengths import Connector
from turnfold.proxy.outbound.posting import ParserLimits, PostAnswer, Posting
from turnfold.proxy.outbound.raw_headers import RawHeadersRequest, as_text
from turnfold.proxy.outbound.trust import tls_context

_POOL_WAIT: Final = 60.0  # seconds to wait for a free connection before saying so
_READ_BUFFER: Final = 65536  # per stream; reading from the upstream pauses at twice this
_PIECE: Final = 65536
_WHOLE: Final = 2**18  # bytes of a body that are written at once: that takes less than the same in pieces, and no part of a ms
_LONGEST_LINE: Final = 2**16
_MOST_HEADERS: Final = 1000
_PARSING: Final[ParserLimits] = {
    "read_bufsize": _READ_BUFFER,
    "max_line_size": _LONGEST_LINE,
    "max_field_size": _LONGEST_LINE,
    "max_headers": _MOST_HEADERS,
}
_MOST_URLS: Final = 64  # parsed URLs to remember: nearly all requests use one
_SHORT_URL: Final = 200  # bytes; longer ones are not remembered
_AZURE: Final = "/openai/deployments/"
_WRONG_VERSION: Final = "wrong version number"  # OpenSSL's messages for bytes that are not TLS
_ADDED_BY_CLIENT: Final = (hdrs.ACCEPT, hdrs.ACCEPT_ENCODING, hdrs.USER_AGENT, hdrs.CONTENT_TYPE)


class UpstreamFailed(Exception):
    """No whole response came. Base of the following; the message is the cause, in words and without a full stop."""


class UpstreamUnreachable(UpstreamFailed):
    """The upstream could not be reached, or hung up before it answered."""


class UpstreamUntrusted(UpstreamUnreachable):
    """Its certificate was refused: trying again will not help."""


class UpstreamTlsFailed(UpstreamUntrusted):
    """The TLS handshake failed for a reason other than the certificate."""

    def __str__(self) -> str:
        plain = " (where it speaks plain HTTP, its URL begins with http://)" if _WRONG_VERSION in str(self.args[0]) else ""
        return f"the TLS handshake failed: {self.args[0]}{plain}"


class ProxyRefused(UpstreamUnreachable):
    """The outbound proxy answered in the upstream's place; the argument has its status."""

    def __str__(self) -> str:
        return f"the outbound proxy refused the connection {self.args[0]}"


class UpstreamGarbled(UpstreamFailed):
    """It answered with something that cannot be passed on as a response; the argument says with what."""

    def __str__(self) -> str:
        return f"it answered {self.args[0]}"


class UpstreamSilent(UpstreamFailed):
    """It did not answer within the timeout."""


class UpstreamBroke(UpstreamFailed):
    """It stopped in the middle of its response."""


class Answer:
    """A response whose head has arrived.

    Attributes:
        status: HTTP status, 200 to 599.
        headers: as received: order, case, repeats; transfer codings are told as content codings.
    """

    def __init__(self, response: aiohttp.ClientResponse | PostAnswer) -> None:
        self._response = response
        self.status = response.status
        self.headers: RawHeaders = with_content_codings(response.raw_headers)

    def chunks(self) -> AsyncIterator[tuple[bytes, bool]]:
        """The body's bytes as they arrive, each with whether it is known to be the last. To cancel a read loses nothing."""
        return self

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> tuple[bytes, bool]:
        """The next bytes.

        Raises:
            UpstreamBroke: the body ended before its end.
            UpstreamSilent: nothing came for too long.
        """
        content = self._response.content
        try:
            chunk = await content.readany()
        except TimeoutError as exc:
            raise UpstreamSilent("it sent nothing more in time") from exc
        except aiohttp.ClientError as exc:
            raise UpstreamBroke("it closed the connection in the middle of its answer") from exc
        if not chunk:
            raise StopAsyncIteration
        return chunk, content.at_eof()

    def close(self) -> None:
        """Drop the connection unless the response was read to its end."""
        self._response.close()


async def pieces(body: bytes) -> AsyncIterator[bytes]:
    """A large body in slices, so that writing it leaves the event loop free in between."""
    for start in range(0, len(body), _PIECE):
        yield body[start : start + _PIECE]


class Upstream:
    """The one upstream of this process; an async context manager around its connections.

    Args:
        hop: names this Turnfold to others behind it; empty: it is not named.

    Raises:
        InvalidInput: ``upstream.url`` is not an http or https URL.
        SettingsError: a file for TLS cannot be used, or a variable names a proxy of another kind.
    """

    def __init__(self, settings: UpstreamSettings, hop: bytes = b"") -> None:
        self._settings = settings
        self._hop = hop
        parts = urlsplit(settings.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInput("upstream.url", f"must be an http or https URL, not {settings.url!r}")
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._host = parts.hostname
        #: Scheme, host and port, as URLs of this upstream name them.
        self.origin: Final = str(URL(self._origin, encoded=True).origin())
        self._base = parts.path.rstrip("/")
        self._tls = tls_context(settings)
        self._proxy = proxy_for(settings.url, settings.proxy)
        self._to_proxy = _credentials(self._proxy)
        self._connector: Connector | None = None
        self._session: aiohttp.ClientSession | None = None
        self._posting: Posting | None = None
        self._short_url = lru_cache(maxsize=_MOST_URLS)(self._url)

    async def __aenter__(self) -> Self:
        settings = self._settings
        self._connector = Connector(limit=settings.max_connections, ttl_dns_cache=60, ssl=self._tls or True)
        self._session = aiohttp.ClientSession(
            connector=self._connector,
            request_class=RawHeadersRequest,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_ADDED_BY_CLIENT,
            auto_decompress=False,
            trust_env=False,  # otherwise aiohttp would also add credentials from .netrc to requests
            timeout=aiohttp.ClientTimeout(
                total=None, connect=_POOL_WAIT, sock_connect=settings.connect_timeout, sock_read=settings.read_timeout
            ),
            **_PARSING,
        )
        if self._proxy is None:
            self._posting = Posting(self._session, self._origin, _PARSING)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        if self._session is not None:
            await self._session.close()

    @property
    def has_path(self) -> bool:
        """Whether ``upstream.url`` has a path."""
        return bool(self._base)

    def url(self, raw_path: bytes, query: bytes) -> URL:
        """The upstream's URL for a request's path and query, byte for byte.

        Raises:
            Refused: 400, a path with dot segments.
        """
        known = len(raw_path) + len(query) <= _SHORT_URL
        return self._short_url(raw_path, query) if known else self._url(raw_path, query)

    def _url(self, raw_path: bytes, query: bytes) -> URL:
        path = raw_path.decode("ascii", "replace")
        check_path(path)
        tail = "?" + query.decode("ascii", "replace") if query else ""
        return URL(f"{self._origin}{self._path(path)}{tail}", encoded=True)

    def _path(self, path: str) -> str:
        base = self._base
        if not base or path == base or path.startswith(base + "/"):
            return path
        if path == "/v1" or path.startswith("/v1/"):
            return base + path[len("/v1") :]
        if path.startswith(_AZURE):
            return base.removesuffix("/v1").removesuffix("/openai") + path
        return base + path

    async def send(
        self,
        method: str,
        url: URL,
        headers: RawHeaders,
        body: bytes | AsyncIterator[bytes] | None,
        meanwhile: Callable[[], None] | None = None,
    ) -> Answer:
        """Send a request and wait for the head of its response. Cancelling it drops the connection.

        Args:
            meanwhile: what there is to do while the upstream works on it; not called on every way.

        Raises:
            UpstreamUnreachable, UpstreamUntrusted, UpstreamSilent, UpstreamGarbled: no head came.
        """
        assert self._session is not None, "the upstream is used outside of its context"  # noqa: S101 - a bug, if it happens
        headers = with_hop(headers, self._hop, self._host) if self._hop else headers
        began = time.monotonic()
        try:
            with self._forgetting_addresses():
                response = await self._exchange(method, url, headers, body, meanwhile)
        except (aiohttp.ClientConnectorCertificateError, ssl.SSLError) as exc:
            raise _untrusted(exc) from exc
        except TimeoutError as exc:
            raise UpstreamSilent(self._waited(exc, time.monotonic() - began)) from exc
        except aiohttp.ClientHttpProxyError as exc:
            raise ProxyRefused(f"with status {exc.status}") from exc
        except aiohttp.ClientResponseError as exc:
            raise UpstreamGarbled(_fault_of(exc)) from exc
        except (aiohttp.ClientError, OSError) as exc:
            raise UpstreamUnreachable(_unreachable(exc)) from exc
        if response.status == 407 and self._proxy is not None:
            response.close()
            raise ProxyRefused("with status 407")
        if not 200 <= response.status <= 599:  # what ASGI servers can pass on
            response.close()
            raise UpstreamGarbled(f"with status {response.status}")
        return Answer(response)

    @contextlib.contextmanager
    def _forgetting_addresses(self) -> Iterator[None]:
        """Where no connection came about, the name is looked up anew the next time: it may lead elsewhere by now."""
        try:
            yield
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
            if self._connector is not None:
                self._connector.clear_dns_cache()
            raise

    async def _exchange(
        self,
        method: str,
        url: URL,
        headers: RawHeaders,
        body: bytes | AsyncIterator[bytes] | None,
        meanwhile: Callable[[], None] | None,
    ) -> aiohttp.ClientResponse | PostAnswer:
        assert self._session is not None  # noqa: S101 - as above
        if isinstance(body, bytes):
            headers = [*headers, (b"content-length", b"%d" % len(body))] if body or method == "POST" else headers
            if self._posting is not None and method == "POST" and 0 < len(body) <= _WHOLE:
                return await self._posting.post(url, headers, body, meanwhile)
            body = pieces(body) if len(body) > _PIECE else body or None
        values = as_text(value for _, value in headers)
        pairs = [(key.decode("ascii", "replace"), value) for (key, _), value in zip(headers, values, strict=True)]
        return await self._session.request(method, url, headers=pairs, data=body, allow_redirects=False, **self._way(url, pairs))

    def _way(self, url: URL, pairs: list[tuple[str, str]]) -> dict[str, Any]:
        """aiohttp's arguments for the proxy. The proxy's credentials are only for the proxy."""
        if self._proxy is None:
            return {}
        if url.scheme == "https":
            return {"proxy": self._proxy.url, "proxy_headers": self._to_proxy}
        pairs.extend(self._to_proxy.items())
        return {"proxy": self._proxy.url}

    def _waited(self, exc: TimeoutError, seconds: float) -> str:
        settings = self._settings
        if isinstance(exc, aiohttp.ConnectionTimeoutError) and round(seconds, 2) >= _POOL_WAIT > settings.connect_timeout:
            return f"no free connection within {_POOL_WAIT:g} s (TURNFOLD_UPSTREAM_MAX_CONNECTIONS)"
        if isinstance(exc, aiohttp.ConnectionTimeoutError):
            return f"no connection within {settings.connect_timeout:g} s (TURNFOLD_UPSTREAM_CONNECT_TIMEOUT)"
        return f"no answer within {settings.read_timeout:g} s (TURNFOLD_UPSTREAM_READ_TIMEOUT)"


def _credentials(proxy: OutboundProxy | None) -> dict[str, str]:
    if proxy is None or proxy.user is None:
        return {}
    return {hdrs.PROXY_AUTHORIZATION: "Basic " + base64.b64encode(":".join(proxy.user).encode()).decode()}


def _untrusted(exc: Exception) -> UpstreamUntrusted:
    found = getattr(exc, "certificate_error", None) or getattr(exc, "os_error", exc)
    if said := str(getattr(found, "verify_message", "")):
        cause = said.rstrip(".").lower()
        unknown = cause.startswith(("self-signed", "self signed", "unable to get"))
        return UpstreamUntrusted(cause + (" (TURNFOLD_UPSTREAM_CA_BUNDLE can name its authority)" if unknown else ""))
    return UpstreamTlsFailed(str(getattr(found, "reason", None) or type(found).__name__).replace("_", " ").lower())


#: Meaning of operating system errors; the first matching row counts.
_CAUSES: Final[tuple[tuple[type[Exception], str], ...]] = (
    (aiohttp.ClientConnectorDNSError, "its host name was not found (DNS)"),
    (aiohttp.ServerDisconnectedError, "it closed the connection before it answered"),
    (ConnectionRefusedError, "connection refused (nothing listens there)"),
    (ConnectionResetError, "it closed the connection before it answered"),
)


def _unreachable(exc: Exception) -> str:
    """Why no connection was made, or why it ended at once."""
    cause = getattr(exc, "os_error", exc)
    whose = "its outbound proxy does not answer: " if isinstance(exc, aiohttp.ClientProxyConnectionError) else ""
    for kind, said in _CAUSES:
        if isinstance(exc, kind) or isinstance(cause, kind):
            return whose + said
    return whose + (getattr(cause, "strerror", None) or type(cause).__name__).lower()


#: What the parser says of framing that two readers may take differently; no such answer is passed on (RFC 9112 section 6.3).
_FAULTS: Final = (
    ("Duplicate Content-Length", "with content-length headers that differ"),
    ("Transfer-Encoding can't be present", "with both content-length and transfer-encoding"),
    ("Content-Length can't be present", "with both content-length and transfer-encoding"),
    ("Expected HTTP/", "with bytes that are not HTTP, or more bytes than its content-length says"),
    ("in chunk size:", "with chunks that are not HTTP"),
    ("after chunk data:", "with chunks that are not HTTP"),
    ("Chunk size overflow:", "with chunks that are not HTTP"),
)


def _fault_of(exc: aiohttp.ClientResponseError) -> str:
    """What is wrong with a response, in words, from the text of aiohttp's message."""
    if "more than" in exc.message or "Too many" in exc.message:
        return f"with headers larger than {_LONGEST_LINE:,} bytes each, or more than {_MOST_HEADERS:,} of them"
    return next((said for part, said in _FAULTS if part in exc.message), "with a head that is not HTTP")


def refusal(failure: UpstreamFailed) -> Refused:
    """The answer to a client whose request the upstream did not answer.

    SDKs retry 502 and 504 by themselves, as they would have retried the failed connection without us; ``x-should-retry``
    only says no where trying again cannot help.
    """
    if isinstance(failure, UpstreamSilent):
        return Refused(504, "upstream_timeout", f"The upstream did not answer in time: {failure}.")
    if isinstance(failure, UpstreamGarbled):
        return Refused(502, "upstream_invalid", f"The upstream answered, but {failure.args[0]}.")
    if isinstance(failure, UpstreamUntrusted):
        never = ((b"x-should-retry", b"false"),)
        certificate = "The upstream's certificate could not be verified"
        what = "The upstream could not be reached" if isinstance(failure, UpstreamTlsFailed) else certificate
        return Refused(502, "upstream_untrusted", f"{what}: {failure}.", headers=never)
    if isinstance(failure, ProxyRefused):
        return Refused(502, "proxy_refused", f"The outbound proxy refused the connection to the upstream {failure.args[0]}.")
    return Refused(502, "upstream_unreachable", f"The upstream could not be reached: {failure}.")
