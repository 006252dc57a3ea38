"""Everything that is not ours and not a chat completion: raw bytes, both ways, streamed.

Lives here: one exchange with the upstream without a look at its content. Must not: buffering, parsing.
"""

from __future__ import annotations

import logging

from starlette.types import Receive, Scope, Send
from yarl import URL

from turnfold.proxy.chat.relay import relay, see_nothing
from turnfold.proxy.chat.upstream import Upstream, UpstreamFailed, refusal
from turnfold.proxy.http.headers import as_text, forwarded_headers, returned_headers
from turnfold.proxy.http.inbound import Inbound, while_present
from turnfold.proxy.http.tenancy import Gate

_log = logging.getLogger(__name__)


def target(scope: Scope, upstream: Upstream) -> URL:
    """The upstream's URL of a request, from the bytes of its path.

    Raises:
        Refused: 400, a path with dot segments.
    """
    raw_path = scope.get("raw_path") or scope["path"].encode()
    return upstream.url(raw_path, scope["query_string"])


class Passthrough:
    """The ASGI endpoint of every other path and method."""

    def __init__(self, upstream: Upstream, gate: Gate) -> None:
        self._upstream = upstream
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request.

        Raises:
            Refused: the answer is an error of ours.
        """
        inbound = Inbound(scope, receive)
        method = scope["method"]
        headers = self._gate.preflight(inbound.headers) if method == "OPTIONS" else self._gate.admit(inbound.headers).headers
        url = target(scope, self._upstream)
        await while_present(inbound, self._exchange(method, url, as_text(forwarded_headers(headers)), inbound, send))

    async def _exchange(self, method: str, url: URL, headers: list[tuple[str, str]], inbound: Inbound, send: Send) -> None:
        body = inbound.chunks() if inbound.has_body else None
        try:
            answer = await self._upstream.send(method, url, headers, body)
        except UpstreamFailed as exc:
            _log.warning("%s: %s", method, type(exc).__name__)
            raise refusal(exc) from exc
        try:
            await relay(answer, returned_headers(answer.headers, answer.status), send, see_nothing)
        except UpstreamFailed as exc:  # the head is out: returning now makes the server cut the connection
            _log.warning("%s: %s in mid-response", method, type(exc).__name__)
        finally:
            answer.close()
