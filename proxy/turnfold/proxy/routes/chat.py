"""``POST .../chat/completions``, OpenAI's and Azure's.

Lives here: parsing the request's head into a `ChatRequest`. Does not belong here: the stations (``service``).
"""

from __future__ import annotations

import secrets
import time

from starlette.types import Receive, Scope, Send

from turnfold.config.settings import FoldingSettings, LimitSettings
from turnfold.proxy.chat.exchange import ChatRequest
from turnfold.proxy.chat.passthrough import target
from turnfold.proxy.chat.service import Service
from turnfold.proxy.chat.upstream import Upstream
from turnfold.proxy.http.headers import as_text, first, forwarded_headers, wishes, without
from turnfold.proxy.http.inbound import ClientGone, Inbound, while_present
from turnfold.proxy.http.limits import read_body
from turnfold.proxy.http.refusals import Refused
from turnfold.proxy.http.tenancy import Gate


class ChatCompletions:
    """The ASGI endpoint."""

    def __init__(self, service: Service, upstream: Upstream, gate: Gate, limits: LimitSettings, folding: FoldingSettings) -> None:
        self._service = service
        self._upstream = upstream
        self._gate = gate
        self._limits = limits
        self._folding = folding

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request.

        Raises:
            Refused: the answer is an error of ours.
        """
        request_id = f"tf-{secrets.token_hex(12)}"
        try:
            inbound = Inbound(scope, receive)
            # no name is bound to the request here: the service lets go of its body once it is sent
            await while_present(inbound, self._service.serve(await self._read(request_id, scope, inbound), send))
        except ClientGone:
            return
        except Refused as refused:
            refused.headers = (*refused.headers, (b"x-turnfold-request-id", request_id.encode()))
            raise

    async def _read(self, request_id: str, scope: Scope, inbound: Inbound) -> ChatRequest:
        at, started = time.time(), time.perf_counter()
        admission = self._gate.admit(inbound.headers)
        asked = wishes(inbound.headers)
        url = target(scope, self._upstream)
        body = await read_body(inbound, self._limits)
        return ChatRequest(
            id=request_id,
            at=at,
            started=started,
            received=time.perf_counter(),
            url=url,
            headers=tuple(as_text(without(forwarded_headers(admission.headers), b"content-length"))),
            coding=(first(inbound.headers, b"content-encoding") or b"").strip().lower().decode("latin-1"),
            body=body,
            mode=asked.mode or self._folding.mode,
            budget=asked.budget or self._folding.budget,
            label=asked.conversation,
            tenant=admission.tenant,
            state=asked.state or self._folding.state,
        )
