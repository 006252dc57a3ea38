"""Everything that is not ours and not a chat completion: raw bytes, both ways, streamed.

Lives here: one exchange with the upstream without a look at its content. Must not: buffering, parsing.
"""

from __future__ import annotations

import logging

from starlette.types import Receive, Scope, Send

from turnfold.proxy.http.headers import forwarded_headers, returned_headers, sendable
from turnfold.proxy.http.inbound import Inbound, while_present
from turnfold.proxy.http.refusals import RawHeaders
from turnfold.proxy.http.tenancy import Gate
from turnfold.proxy.outbound.destinations import Destination, Destinations
from turnfold.proxy.outbound.relay import relay, see_nothing
from turnfold.proxy.outbound.upstream import UpstreamFailed, refusal

_log = logging.getLogger(__name__)


class Passthrough:
    """The ASGI endpoint of every other path and method."""

    def __init__(self, destinations: Destinations, gate: Gate) -> None:
        self._destinations = destinations
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request.

        Raises:
            Refused: the answer is an error of ours.
        """
        inbound = Inbound(scope, receive)
        method = scope["method"]
        to = self._destinations.of(scope)
        brought = inbound.headers
        headers = self._gate.preflight(brought) if method == "OPTIONS" else self._gate.admit(brought, to.keys).headers
        await while_present(inbound, self._exchange(method, to, sendable(forwarded_headers(headers)), inbound, send))

    async def _exchange(self, method: str, to: Destination, headers: RawHeaders, inbound: Inbound, send: Send) -> None:
        body = inbound.chunks() if inbound.has_body else None
        try:
            answer = await to.upstream.send(method, to.url, headers, body)
        except UpstreamFailed as exc:
            _log.warning("%s: %s", method, type(exc).__name__)
            raise refusal(exc) from exc
        try:
            await relay(answer, returned_headers(answer.headers, answer.status), send, see_nothing)
        except UpstreamFailed as exc:  # the head is out: returning now makes the server cut the connection
            _log.warning("%s: %s in mid-response", method, type(exc).__name__)
        finally:
            answer.close()
