"""The upstream of calls that Turnfold makes itself, and the key that they carry.

This module keeps the connections, chooses the key, sends one call and reads an answer of bounded size. What is asked is up to
``endpoint`` and ``semantic.upstream_encoder``; how much may be spent, to ``spending``.

A credential goes only to the host that it is meant for: the operator's key for an upstream to that upstream, a client's key (if
the settings allow it) to the host that the client's own request goes to.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from pydantic import SecretStr
from yarl import URL

from turnfold.config.settings import Settings, UpstreamSettings
from turnfold.proxy.http.tenancy import CREDENTIALS
from turnfold.proxy.outbound.upstream import Upstream, UpstreamFailed

Headers = Sequence[tuple[bytes, bytes]]

_MOST_CONNECTIONS: Final = 16
_COMMON: Final = ((b"content-type", b"application/json"), (b"accept", b"application/json"), (b"accept-encoding", b"identity"))


@dataclass(frozen=True, slots=True)
class Caller:
    """The client's request on whose behalf a call is made.

    Attributes:
        host: where that request goes itself (`host_of`), so that its key may go there too.
        headers: its own, with its credential.
    """

    host: str
    headers: Headers


def host_of(url: URL) -> str:
    """Host and port of a URL, the port also where the URL leaves it out: for comparison."""
    return url.authority


@dataclass(frozen=True, slots=True)
class OwnAccess:
    """The target of Turnfold's own calls, and the key for it.

    Attributes:
        url: base URL.
        key: the operator's for that URL; None: there is none.
        needs_key: whether nothing is sent without a key.
        use_client_key: whether a client's own may be used where the operator has none.
        timeout: seconds between two parts of an answer.
    """

    url: str
    key: SecretStr | None
    needs_key: bool
    use_client_key: bool
    timeout: float


@dataclass(frozen=True, slots=True)
class PostedAnswer:
    """The reply: its status (None: no reply), headers in lower case, and the body; empty if it was too long."""

    status: int | None
    headers: Headers = ()
    data: bytes = b""


class OwnUpstream:
    """The upstream; `running` opens and closes its connections."""

    def __init__(self, settings: Settings, access: OwnAccess) -> None:
        self.host: Final = host_of(URL(access.url, encoded=True))
        self._key = access.key
        self._needs_key = access.needs_key
        spends = settings.upstream.api_key is not None or settings.anthropic.api_key is not None
        self._use_client_key = access.use_client_key and access.key is None and not spends
        self._upstream = Upstream(_limited(settings.upstream, access))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Its connections."""
        async with self._upstream:
            yield

    @property
    def only_while_served(self) -> bool:
        """Whether a call may be made only while the request is served that it is made for: it spends that client's key."""
        return self._use_client_key

    def credential(self, caller: Caller, header: bytes = b"authorization") -> Headers | None:
        """The headers that carry the key; None where no key may be used.

        Args:
            header: the one that carries the operator's key.
        """
        if self._key is not None:
            value = self._key.get_secret_value().encode()
            return ((header, b"Bearer " + value if header == b"authorization" else value),)
        if self._use_client_key and caller.host == self.host:
            found = tuple((key, value) for key, value in caller.headers if key in CREDENTIALS)
            return found or None
        return None if self._needs_key else ()

    def url(self, path: str) -> URL:
        """The URL of a path as SDKs write it, with ``/v1``."""
        return self._upstream.url(path.encode(), b"")

    async def post(self, url: URL, headers: Headers, body: bytes, most: int) -> PostedAnswer:
        """Send one call, and read its answer of up to `most` bytes."""
        data = bytearray()
        try:
            answer = await self._upstream.send("POST", url, [*_COMMON, *headers], body)
            lowered = [(key.lower(), value) for key, value in answer.headers]
            try:
                async for chunk, _ in answer.chunks():
                    data += chunk
                    if len(data) > most:
                        return PostedAnswer(answer.status, lowered)
            finally:
                answer.close()
        except UpstreamFailed:
            return PostedAnswer(None)
        return PostedAnswer(answer.status, lowered, bytes(data))


def _limited(settings: UpstreamSettings, access: OwnAccess) -> UpstreamSettings:
    limits = {"max_connections": _MOST_CONNECTIONS, "read_timeout": access.timeout}
    return settings.model_copy(update={"url": access.url, "connect_timeout": min(10.0, access.timeout), **limits})
