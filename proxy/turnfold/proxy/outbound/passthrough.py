"""Everything that is not ours and not a chat completion: raw bytes, both ways, streamed.

One exchange with the upstream without a look at its content. Nothing is buffered or parsed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from starlette.types import Receive, Scope, Send

from turnfold.proxy.http.headers import forwarded_headers, returned_headers, sendable
from turnfold.proxy.http.inbound import Inbound, while_present
from turnfold.proxy.http.refusals import RawHeaders, Refused
from turnfold.proxy.http.request_ids import new_request_id
from turnfold.proxy.http.tenancy import Gate
from turnfold.proxy.outbound.destination import Destination
from turnfold.proxy.outbound.destinations import Destinations
from turnfold.proxy.outbound.relay import relay, see_nothing
from turnfold.proxy.outbound.upstream import UpstreamFailed, refusal

#: Browsers send OPTIONS without credentials; the answer to TRACE is the request as the upstream got it, keys included.
_KEYLESS: Final = frozenset(("OPTIONS", "TRACE"))

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class PassedRequest:
    """What is logged of a request: `status` is the upstream's, None until it has answered; `left`: the client went before."""

    id: str
    method: str
    path: str
    started: float
    status: int | None = None
    left: bool = False


class Passthrough:
    """The ASGI endpoint of every other path and method.

    Args:
        log: gets each request once it has ended, and the milliseconds that it took.
    """

    def __init__(
        self, destinations: Destinations, gate: Gate, log: Callable[[PassedRequest, float], None] = lambda *_: None
    ) -> None:
        self._destinations = destinations
        self._gate = gate
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request.

        Raises:
            Refused: Turnfold answers with an error, which names the request by its id in the log.
        """
        passing = PassedRequest(new_request_id(), scope["method"], scope["path"], time.perf_counter())
        try:
            await self._pass(passing, scope, receive, send)
        except Refused as refused:
            refused.headers = (*refused.headers, (b"x-turnfold-request-id", passing.id.encode()))
            raise
        finally:
            self._log(passing, (time.perf_counter() - passing.started) * 1000)

    async def _pass(self, passing: PassedRequest, scope: Scope, receive: Receive, send: Send) -> None:
        inbound = Inbound(scope, receive)
        to = self._destinations.of(scope)
        brought = inbound.headers
        is_keyless = passing.method in _KEYLESS
        headers = self._gate.keyless(brought) if is_keyless else self._gate.admit(brought, to.keys).headers
        await while_present(inbound, self._exchange(passing, to, sendable(forwarded_headers(headers)), inbound, send))

    async def _exchange(self, passing: PassedRequest, to: Destination, headers: RawHeaders, inbound: Inbound, send: Send) -> None:
        body = inbound.chunks() if inbound.has_body else None
        try:
            answer = await to.upstream.send(passing.method, to.url, headers, body)
        except UpstreamFailed as exc:
            if inbound.stalled is not None:  # the upstream's client says only that the body could not be sent
                raise inbound.stalled from None
            if inbound.has_left:  # nor that there is nobody any more to send it
                passing.left = True
                return
            _log.warning("%s: %s: %s", passing.id, to.origin, exc)
            raise refusal(exc) from exc
        passing.status = answer.status
        try:
            await relay(answer, returned_headers(answer.headers, answer.status), send, see_nothing)
        except UpstreamFailed as exc:  # the head is out: returning now makes the server cut the connection
            _log.warning("%s: %s: %s", passing.id, to.origin, exc)
        finally:
            answer.close()
