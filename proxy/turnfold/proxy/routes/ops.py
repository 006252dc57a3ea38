"""Liveness and readiness. The upstream is never called, because a call might be billed.

``/healthz`` and ``/readyz``, and the answer to other methods of Turnfold's own paths. Nothing here needs a credential; misspelt
paths are answered in ``near_misses``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.datastructures import QueryParams
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from turnfold.compression.errors import InvalidInput
from turnfold.config.settings import Settings
from turnfold.proxy.http.front import Endpoint
from turnfold.proxy.http.refusals import Refused, send_json
from turnfold.proxy.identity import answer
from turnfold.proxy.routes.parameters import refuse_unknown

_PATIENCE: Final = 0.5  # maximum seconds for a probe


@dataclass(frozen=True, slots=True)
class ReadinessCheck:
    """A part that readiness probes.

    Attributes:
        probe: tells whether the part works.
        failures: how often it failed since the start, where nothing is lost by that now; only what is above 0 is shown.
        required: whether requests cannot be served without it (without the store they can; only drill-down is lost).
    """

    name: str
    probe: Callable[[], Awaitable[bool]]
    required: bool = False
    failures: Callable[[], int] = lambda: 0


class Liveness:
    """The ASGI endpoint ``/healthz``: the process is alive. A challenge is answered by whoever knows the user's key."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        del receive
        challenge = _query(scope, "challenge").get("challenge")
        proof = answer(self._settings, challenge) if challenge else None
        headers = [(b"x-turnfold-server", b"1"), *([(b"x-turnfold-proof", proof.encode())] if proof else ())]
        await send_json(send, 200, {"status": "alive"}, headers)


class Readiness:
    """The ASGI endpoint ``/readyz``: 200, or 503 while a required part fails."""

    def __init__(self, checks: Sequence[ReadinessCheck]) -> None:
        self._checks = tuple(checks)

    async def look(self) -> tuple[bool, dict[str, str]]:
        """Whether requests can be served, and each part's state, "ok" or "down"; every part is probed at the same time."""
        works = await asyncio.gather(*(_probe(check) for check in self._checks))
        ready = all(works[i] or not check.required for i, check in enumerate(self._checks))
        return ready, {check.name: "ok" if works[i] else "down" for i, check in enumerate(self._checks)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        del receive
        _query(scope)
        ready, parts = await self.look()
        failures = {check.name: number for check in self._checks if (number := check.failures())}
        told = {"checks": parts} | ({"failures": failures} if failures else {})
        await send_json(send, 200 if ready else 503, {"status": "ready" if ready else "not ready", **told})


def _query(scope: Scope, *known: str) -> QueryParams:
    given = QueryParams(scope["query_string"])
    try:
        refuse_unknown(given, *known)
    except InvalidInput as exc:
        raise Refused(400, "invalid_value", str(exc), exc.field) from exc
    return given


def drain_check(file: Path | None) -> list[ReadinessCheck]:
    """Not ready while a file exists: load balancers should stop sending, but requests are still served."""

    async def is_taking_requests() -> bool:
        return file is not None and not await asyncio.to_thread(file.exists)

    return [] if file is None else [ReadinessCheck("taking_requests", is_taking_requests, required=True)]


async def _probe(check: ReadinessCheck) -> bool:
    try:
        return await asyncio.wait_for(check.probe(), _PATIENCE)
    except (TimeoutError, OSError):
        return False


async def not_here(scope: Scope, receive: Receive, send: Send) -> None:
    """An unknown path of Turnfold's own; it must not reach the upstream, which would see an admin's call."""
    del scope, receive, send
    raise Refused(404, "not_found", "Turnfold has no such route.")


def other_methods(routes: Sequence[Route]) -> list[Route]:
    """For each path of these routes one that answers every other method with a 405. Without it such a request would go upstream,
    an administrator's token with it."""
    allowed: dict[str, set[str]] = {}
    for route in routes:
        if route.methods:
            allowed.setdefault(route.path, set()).update(route.methods)
    return [Route(path, Endpoint(_refusing(", ".join(sorted(methods))))) for path, methods in allowed.items()]


def _refusing(allow: str) -> ASGIApp:
    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        del receive, send
        message = f"{scope['path']} takes {allow}."
        raise Refused(405, "method_not_allowed", message, headers=((b"allow", allow.encode()),))

    return refuse
