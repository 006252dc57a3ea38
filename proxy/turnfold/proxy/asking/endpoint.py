"""Where the model that writes summaries is asked.

Lives here: its upstream, whose key a call carries, sending one call and reading its answer. Does not belong here: what may be
spent (``purse``), what is asked.

A credential goes to the host that it is meant for and to no other: the operator's key for an upstream to that upstream, a
client's key (where the settings allow it) to the host that the client's own request goes to.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from pydantic import SecretStr

from turnfold.compression.summary.calls import ModelCall
from turnfold.compression.wire.model_calls import PATHS, CallText, ReplyText, read_reply, write_call
from turnfold.config.settings import Settings, anthropic_url
from turnfold.proxy.chat.receipts import Usage
from turnfold.proxy.chat.usage import UsageReader
from turnfold.proxy.outbound.upstream import Upstream, UpstreamFailed

Headers = Sequence[tuple[bytes, bytes]]

_MOST_BYTES: Final = 4 * 2**20
_CREDENTIALS: Final = frozenset({b"authorization", b"api-key", b"x-api-key", b"x-goog-api-key"})
_COMMON: Final = ((b"content-type", b"application/json"), (b"accept", b"application/json"), (b"accept-encoding", b"identity"))
_VERSION: Final = (b"anthropic-version", b"2023-06-01")


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What came back: a status (None: nothing; 0: nothing in time), the text, and what the upstream says it read and wrote."""

    status: int | None
    text: ReplyText | None = None
    usage: Usage = Usage()  # noqa: RUF009 - frozen


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose request a call is made for.

    Attributes:
        host: where that request goes itself, so that its key may go there too.
        headers: its own, with its credential.
    """

    host: str
    headers: Headers


class ModelEndpoint:
    """The upstream of the model that writes summaries; `running` opens and closes its connections."""

    def __init__(self, settings: Settings) -> None:
        summary = settings.summary
        url, key = _place(settings)
        self._wire = summary.wire
        self._model = summary.model or ""
        self._key = summary.api_key or (key if summary.url is None else None)
        self._needs_key = summary.url is None or self._key is not None
        self._host = urlsplit(url).netloc
        spends = settings.upstream.api_key is not None or settings.anthropic.api_key is not None
        self._use_client_key = summary.use_client_key and self._key is None and not spends
        timeouts = {"read_timeout": max(summary.timeout, summary.recovery_timeout), "connect_timeout": min(10.0, summary.timeout)}
        self._upstream = Upstream(settings.upstream.model_copy(update={"url": url, "max_connections": 16, **timeouts}))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Its connections."""
        async with self._upstream:
            yield

    @property
    def only_while_served(self) -> bool:
        """Whether a call may be made only while the request is served that it is made for: it spends that client's key."""
        return self._use_client_key

    def credential(self, caller: Caller) -> Headers | None:
        """The headers that carry the key; None where no key may be used."""
        if self._key is not None:
            return (_key_header(self._wire, self._key),)
        if self._use_client_key and caller.host == self._host:
            found = tuple((key, value) for key, value in caller.headers if key in _CREDENTIALS)
            return found or None
        return None if self._needs_key else ()

    async def send(self, call: ModelCall, credential: Headers) -> ModelAnswer:
        """Send one call. It is never folded: it does not pass through the stations of a client's request."""
        body = write_call(self._wire, self._model, CallText(call.system, call.user, call.max_tokens, call.temperature))
        headers = [*_COMMON, *credential, *([_VERSION] if self._wire == "messages" else [])]
        url = self._upstream.url(f"/v1{PATHS[self._wire]}".encode(), b"")
        data, reader = bytearray(), UsageReader()
        try:
            answer = await self._upstream.send("POST", url, headers, body)
            try:
                async for chunk, _ in answer.chunks():
                    data += chunk
                    reader.feed(chunk)
                    if len(data) > _MOST_BYTES:
                        return ModelAnswer(answer.status)
            finally:
                answer.close()
        except UpstreamFailed:
            return ModelAnswer(None)
        text = read_reply(self._wire, bytes(data)) if answer.status == 200 else None
        return ModelAnswer(answer.status, text, reader.usage)


def _place(settings: Settings) -> tuple[str, SecretStr | None]:
    """The URL, and the operator's key for that upstream."""
    summary = settings.summary
    anthropic = anthropic_url(settings) if summary.wire == "messages" else None
    if anthropic is not None:
        return summary.url or anthropic, settings.anthropic.api_key
    return summary.url or settings.upstream.url, settings.upstream.api_key


def _key_header(wire: str, key: SecretStr) -> tuple[bytes, bytes]:
    value = key.get_secret_value().encode()
    return (b"x-api-key", value) if wire == "messages" else (b"authorization", b"Bearer " + value)
