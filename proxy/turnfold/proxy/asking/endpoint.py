"""Where the model that writes summaries is asked.

This module knows the form of a call and of its answer. Whose key the call carries is decided in ``own_upstream``, and how much
may be spent in ``spending``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from pydantic import SecretStr

from turnfold.compression.summary.calls import ModelCall, ModelReply
from turnfold.compression.wire.model_calls import PATHS, read_reply, write_call
from turnfold.config.settings import Settings, anthropic_url
from turnfold.proxy.asking.own_upstream import Caller, Headers, OwnAccess, OwnUpstream
from turnfold.proxy.chat.receipts import Usage
from turnfold.proxy.chat.usage import UsageReader

_MOST_BYTES: Final = 4 * 2**20
_VERSION: Final = (b"anthropic-version", b"2023-06-01")


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What came back: a status (None: nothing; 0: nothing in time), the reply, and what the upstream says it read and wrote."""

    status: int | None
    reply: ModelReply | None = None
    usage: Usage = Usage()  # noqa: RUF009 - frozen


class ModelEndpoint:
    """The upstream of the model that writes summaries; `running` opens and closes its connections."""

    def __init__(self, settings: Settings) -> None:
        summary = settings.summary
        url, own = _place(settings)
        key = summary.api_key or (own if summary.url is None else None)
        timeout = max(summary.timeout, summary.recovery_timeout)
        needs_key = summary.url is None or key is not None
        self._wire = summary.wire
        self._model = summary.model or ""
        self._upstream = OwnUpstream(settings, OwnAccess(url, key, needs_key, summary.use_client_key, timeout))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Its connections."""
        async with self._upstream.running():
            yield

    @property
    def only_while_served(self) -> bool:
        """See the upstream."""
        return self._upstream.only_while_served

    def credential(self, caller: Caller) -> Headers | None:
        """The headers that carry the key; None where no key may be used."""
        return self._upstream.credential(caller, b"x-api-key" if self._wire == "messages" else b"authorization")

    async def send(self, call: ModelCall, credential: Headers) -> ModelAnswer:
        """Send one call. It is never folded: it does not pass through the stations of a client's request."""
        body = write_call(self._wire, self._model, call)
        headers = [*credential, *([_VERSION] if self._wire == "messages" else [])]
        answer = await self._upstream.post(self._upstream.url(f"/v1{PATHS[self._wire]}"), headers, body, _MOST_BYTES)
        reader = UsageReader()
        reader.feed(answer.data)
        reply = read_reply(self._wire, answer.data) if answer.status == 200 else None
        return ModelAnswer(answer.status, reply, reader.usage)


def _place(settings: Settings) -> tuple[str, SecretStr | None]:
    """The URL, and the operator's key for that upstream."""
    summary = settings.summary
    anthropic = anthropic_url(settings) if summary.wire == "messages" else None
    if anthropic is not None:
        return summary.url or anthropic, settings.anthropic.api_key
    return summary.url or settings.upstream.url, settings.upstream.api_key
