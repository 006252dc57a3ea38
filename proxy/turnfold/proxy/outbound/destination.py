"""Where one request goes, as the stations of a request pass it on.

The value, and what it asks of an upstream. ``destinations`` chooses one. The HTTP client is in ``upstream``, so that the process
that folds need not load it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Protocol

from yarl import URL

from turnfold.proxy.http.refusals import RawHeaders
from turnfold.proxy.http.tenancy import Keys
from turnfold.proxy.outbound.relay import RelayableAnswer


class Reachable(Protocol):
    """An upstream (``upstream.Upstream``)."""

    @property
    def origin(self) -> str:
        """Scheme, host and port, as URLs of this upstream name them."""
        ...

    async def send(
        self,
        method: str,
        url: URL,
        headers: RawHeaders,
        body: bytes | AsyncIterator[bytes] | None,
        meanwhile: Callable[[], None] | None = None,
    ) -> RelayableAnswer:
        """Send a request and wait for the head of its response."""
        ...


@dataclass(frozen=True, slots=True)
class Destination:
    """Where one request goes.

    Attributes:
        upstream: whose connection it takes.
        url: the upstream's URL of the request.
        keys: whose credential it carries.
    """

    upstream: Reachable
    url: URL
    keys: Keys

    @property
    def origin(self) -> str:
        """Scheme, host and port of the URL."""
        return self.upstream.origin
