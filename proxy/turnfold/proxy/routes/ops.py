"""Whether the process is alive and ready. The upstream is never called, because a call might be billed.

Lives here: ``/healthz`` and ``/readyz``. Does not belong here: anything that needs a credential.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.types import Receive, Scope, Send

from turnfold.proxy.http.refusals import Refused, send_json

_PATIENCE: Final = 0.5  # seconds that a probe may take


@dataclass(frozen=True, slots=True)
class ReadinessCheck:
    """A part that readiness probes.

    Attributes:
        probe: tells whether the part works.
        required: whether requests cannot be served without it (without the store they can; only drill-down is lost).
    """

    name: str
    probe: Callable[[], Awaitable[bool]]
    required: bool = False


async def healthz(scope: Scope, receive: Receive, send: Send) -> None:
    """The process is alive."""
    del scope, receive
    await send_json(send, 200, {"status": "alive"})


class Readiness:
    """The ASGI endpoint ``/readyz``: 200, or 503 while a required part fails."""

    def __init__(self, checks: Sequence[ReadinessCheck]) -> None:
        self._checks = tuple(checks)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Probe every part at the same time."""
        del scope, receive
        works = await asyncio.gather(*(_probe(check) for check in self._checks))
        ready = all(works[i] or not check.required for i, check in enumerate(self._checks))
        parts = {check.name: "ok" if works[i] else "down" for i, check in enumerate(self._checks)}
        await send_json(send, 200 if ready else 503, {"status": "ready" if ready else "not ready", "checks": parts})


async def _probe(check: ReadinessCheck) -> bool:
    try:
        return await asyncio.wait_for(check.probe(), _PATIENCE)
    except (TimeoutError, OSError):
        return False


async def not_here(scope: Scope, receive: Receive, send: Send) -> None:
    """An unknown path of Turnfold's own; it must not reach the upstream, which would see an admin's call."""
    del scope, receive, send
    raise Refused(404, "not_found", "Turnfold has no such route.")
