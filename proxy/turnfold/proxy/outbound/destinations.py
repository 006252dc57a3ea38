"""Which upstream a request is for.

OpenAI's and Anthropic's upstreams side by side, and the choice between them. The choice is a ``destination``; connections are in
``upstream``, and ``http.tenancy`` holds a credential for each.

The choice is made by the path, and where both providers have the same path by the header that only one has:

    /anthropic/v1/...       Anthropic, said outright; ``/anthropic`` is left out of the path that is asked for, unless the
                            upstream's URL has no path: there it may be the server's own (Azure, LiteLLM)
    /openai/v1/...          OpenAI too (Azure's ``/openai/deployments/...`` is a path of its own)
    .../v1/messages[/...]   Anthropic; not messages of something else, as in OpenAI's ``/v1/threads/{id}/messages``
    any other path          Anthropic with an ``anthropic-version`` header or a key of its own (``sk-ant-...``), else OpenAI

Where only one upstream is set it gets everything: gateways speak several formats under one address.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final
from urllib.parse import urlsplit

from starlette.types import Scope

from turnfold.config.settings import Settings, anthropic_url
from turnfold.proxy.http.front import MESSAGES_BEHIND
from turnfold.proxy.http.headers import first
from turnfold.proxy.http.refusals import RawHeaders
from turnfold.proxy.http.tenancy import Keys
from turnfold.proxy.outbound.destination import Destination
from turnfold.proxy.outbound.upstream import Upstream

_SAID: Final = re.compile(rb"/(anthropic|openai)(?=/v1(?:/|$))")
_MESSAGES: Final = re.compile(rb"(?:^|/(?:%s))/messages(?:/|$)" % MESSAGES_BEHIND.encode())
_VERSION: Final = b"anthropic-version"
_ANTHROPICS_KEY: Final = re.compile(rb"(?:bearer )?sk-ant-", re.IGNORECASE)


class Destinations:
    """The upstreams of a process; `running` opens and closes their connections."""

    def __init__(self, settings: Settings) -> None:
        #: Names this process to Turnfolds behind it, and tells it a request that comes back.
        self.hop: Final = secrets.token_hex(8).encode()
        self._openai = Upstream(settings.upstream, self.hop)
        url = anthropic_url(settings)
        self._anthropic = self._openai if url is None else Upstream(settings.upstream.model_copy(update={"url": url}), self.hop)
        one_host = url is None or urlsplit(url).netloc == urlsplit(settings.upstream.url).netloc
        #: The operator's key for OpenAI's host is for Anthropic's format only where that is asked for at the same host.
        self._keys: Keys = "openai" if one_host and settings.anthropic.api_key is None else "anthropic"

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Their connections."""
        async with AsyncExitStack() as stack:
            for upstream in {self._openai, self._anthropic}:
                await stack.enter_async_context(upstream)
            yield

    def of(self, scope: Scope) -> Destination:
        """Where a request goes, from the bytes of its path.

        Raises:
            Refused: 400, a path with dot segments.
        """
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        said = _SAID.match(raw)
        to_anthropic = said[1] == b"anthropic" if said else _MESSAGES.search(raw) or _is_anthropics(scope["headers"])
        upstream = self._anthropic if to_anthropic else self._openai
        keys = self._keys if to_anthropic else "openai"
        path = raw[said.end() :] if said and upstream.has_path else raw
        return Destination(upstream, upstream.url(path, scope["query_string"]), keys)


def _is_anthropics(headers: RawHeaders) -> bool:
    keys = (first(headers, b"x-api-key"), first(headers, b"authorization"))
    return first(headers, _VERSION) is not None or any(key is not None and _ANTHROPICS_KEY.match(key) for key in keys)
