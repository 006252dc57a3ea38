"""Finding out what runs at an address.

Whether a Turnfold answers there, whether it is this user's with the same settings, and which of its parts are down; also a client
for such addresses. ``plan`` decides what follows.
"""

from __future__ import annotations

import hmac
import socket
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

import httpx
from pydantic import SecretStr

from turnfold.config.serving import ServerSettings
from turnfold.config.settings import Settings, is_loopback
from turnfold.proxy.identity import new_challenge, proof, read_key

_PATIENCE: Final = 2.0
_UNIX: Final = "http+unix"


def default_url(server: ServerSettings) -> str:
    """Where a Turnfold with these settings listens, as seen from this machine; ``http+unix://`` and the path, quoted, for a Unix
    socket."""
    if server.uds is not None:
        return f"{_UNIX}://{quote(str(server.uds.absolute()), safe='')}"
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


def parts_down(origin: str) -> list[str]:
    """Parts of a running Turnfold that do not work, as ``/readyz`` tells them; none where nobody answers it."""
    checks = _json_object(_get(origin, "/readyz", {})).get("checks")
    return [name for name, state in checks.items() if state == "down"] if isinstance(checks, dict) else []


def store_problem(origin: str, token: SecretStr | None) -> str:
    """Why the store of a running Turnfold does not work, as reported to the holder of this admin token; "" if unknown."""
    headers = {} if token is None else {"x-turnfold-admin-token": token.get_secret_value()}
    told = _json_object(_get(origin, "/admin/ledger", headers))
    problems = (part.get("problem") for part in (told.get("store"), told.get("ledger")) if isinstance(part, dict))
    return next((str(problem) for problem in problems if problem), "")


def _health(origin: str, **parameters: str) -> Mapping[str, str]:
    """Headers of the answer to ``/healthz``; none where nobody answers it."""
    answer = _get(origin, "/healthz", {}, **parameters)
    return answer.headers if answer is not None and answer.status_code == 200 else {}


def _json_object(answer: httpx.Response | None) -> dict[str, Any]:
    """The JSON object in an answer; none if it contains no object."""
    try:
        value = None if answer is None else answer.json()
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _get(origin: str, path: str, headers: Mapping[str, str], **parameters: str) -> httpx.Response | None:
    """What is answered at a path; None where nobody answers."""
    try:
        with client_for(origin) as client:
            return client.get(dialled(origin) + path, headers=headers, params=parameters, timeout=_PATIENCE)
    except (httpx.HTTPError, httpx.InvalidURL):
        return None


def client_for(url: str) -> httpx.Client:
    """A client for a URL. What is on this machine is reached without the proxies and the .netrc of the environment."""
    parts = urlsplit(url)
    if parts.scheme == _UNIX:
        return httpx.Client(transport=httpx.HTTPTransport(uds=unquote(parts.netloc)), trust_env=False)
    return httpx.Client(trust_env=not is_loopback(parts.hostname or ""))


def dialled(url: str) -> str:
    """The URL to ask such a client for: a Unix socket's client needs some host."""
    parts = urlsplit(url)
    return parts._replace(scheme="http", netloc="localhost").geturl() if parts.scheme == _UNIX else url
