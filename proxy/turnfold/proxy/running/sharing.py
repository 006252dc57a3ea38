"""Finding out what runs at an address.

Lives here: whether a Turnfold answers there, and whether it is this user's with the same settings. Does not belong here: what
follows from it.
"""

from __future__ import annotations

import hmac
import socket
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

import httpx

from turnfold.config.serving import ServerSettings
from turnfold.config.settings import Settings
from turnfold.proxy.identity import new_challenge, proof, read_key

_PATIENCE: Final = 2.0


def default_url(server: ServerSettings) -> str:
    """Where a Turnfold with these settings listens, as seen from this machine; ``http+unix://`` and the path, quoted, for a Unix
    socket."""
    if server.uds is not None:
        return f"http+unix://{quote(str(server.uds.absolute()), safe='')}"
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(server.host, server.host)  # noqa: S104 - compared, not bound
    return f"http://{f'[{host}]' if ':' in host else host}:{server.port}"


def is_listening(port: int) -> bool:
    """Whether anybody listens on a port of the loopback address."""
    try:
        socket.create_connection(("127.0.0.1", port), _PATIENCE).close()
    except OSError:
        return False
    return True


def is_turnfold(origin: str) -> bool:
    """Whether a Turnfold, anybody's, answers at an origin (``http://host:port``)."""
    return "x-turnfold-server" in _health(origin)


def is_same_turnfold(origin: str, settings: Settings) -> bool:
    """Whether this user's Turnfold with these settings answers there."""
    key = read_key(create=True)
    if key is None:
        return False
    challenge = new_challenge()
    found = _health(origin, challenge=challenge).get("x-turnfold-proof", "")
    return hmac.compare_digest(found.encode(), proof(settings, key, challenge).encode())


def _health(origin: str, **parameters: str) -> Mapping[str, str]:
    """Headers of the answer to ``/healthz``; none where nobody answers it."""
    try:
        # trust_env: the address is ours, and no proxy of the environment stands in front of it
        with httpx.Client(timeout=_PATIENCE, trust_env=False) as client:
            answer = client.get(f"{origin}/healthz", params=parameters)
    except (httpx.HTTPError, httpx.InvalidURL):
        return {}
    return answer.headers if answer.status_code == 200 else {}
