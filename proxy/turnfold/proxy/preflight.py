"""Checks of settings before the first request.

Some settings stop startup; others are probably a mistake. Single values are validated in ``config.settings``. No upstream is
called except for one look at ``/models`` (``look_for_v1``).
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
from typing import Final
from urllib.parse import urlsplit

from turnfold.config.fold import read_lexicon
from turnfold.config.serving import ServerSettings
from turnfold.config.settings import Settings, anthropic_url, is_loopback
from turnfold.config.sources import SettingsError
from turnfold.proxy.listening import check_address

_PATIENCE: Final = 5.0


def check_start(settings: Settings) -> None:
    """Refuse settings with which no request could be served as meant.

    Raises:
        SettingsError: names the setting.
    """
    for variable, url in upstream_urls(settings).items():
        if url is not None and settings.server.uds is None and leads_here(url, settings.server):
            raise SettingsError(
                f"{variable}: {url} is the address on which Turnfold itself listens; set it to the provider's address"
            )
    check_files(settings)
    if settings.server.uds is None:
        check_address(settings.server)


def check_files(settings: Settings) -> None:
    """Read the files that settings name.

    Raises:
        SettingsError: one is missing, or is not what it should be.
    """
    if settings.folding.prose_lexicon is not None:
        read_lexicon(settings.folding.prose_lexicon)


def upstream_urls(settings: Settings) -> dict[str, str | None]:
    """The variable and the URL of each upstream."""
    return {"TURNFOLD_UPSTREAM_URL": settings.upstream.url, "TURNFOLD_ANTHROPIC_URL": anthropic_url(settings)}


def leads_here(url: str, server: ServerSettings) -> bool:
    """Whether a URL names the address of this server. A name is looked up only if the port is the same."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    if port != server.port or parts.scheme != "http":
        return False
    own = server.host
    if host == own or (is_loopback(host) and (is_loopback(own) or own in {"0.0.0.0", "::"})):  # noqa: S104 - compared, not bound
        return True
    return own in {"0.0.0.0", "::"} and _is_of_this_machine(host)  # noqa: S104


def _is_of_this_machine(host: str) -> bool:
    """Whether one of a host's addresses belongs to this machine: then a socket can be bound to it."""
    with contextlib.suppress(OSError):
        for family, kind, _, _, address in socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM):
            with contextlib.suppress(OSError), socket.socket(family, kind) as probe:
                probe.bind(address)
                return True
    return False


def doubts(settings: Settings) -> list[str]:
    """Probable mistakes, one line each; they do not stop startup."""
    found = []
    store = settings.store
    if settings.server.workers > 1 and (store.url or "").startswith("memory://"):
        found.append(
            f"TURNFOLD_STORE_URL is memory://, which {settings.server.workers} workers do not share: each has its own report and"
            " drill-down data. Use SQLite or Redis, or one worker"
        )
    return found


def look_for_v1(url: str) -> str | None:
    """Advice if an upstream's URL seems to lack ``/v1``; None if it does not, or nobody answers.

    It is looked at only where clients' ``/v1`` would be replaced by a path that does not end in a version: with
    ``https://host/gateway``, ``/v1/models`` is asked for as ``/gateway/models``.
    """
    path = urlsplit(url).path.rstrip("/")
    if not path or path.rpartition("/")[2].lstrip("v").replace(".", "").replace("beta", "").isdigit():
        return None
    if _status(url + "/models") == 404 and _status(url + "/v1/models") not in (404, None):
        return f"{url} answers 404, and {url}/v1 does not: set it to {url}/v1"
    return None


def _status(url: str) -> int | None:
    """The status of a GET without a credential; None if nobody answers."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    try:
        with contextlib.closing(kind(parts.hostname or "", parts.port, timeout=_PATIENCE)) as connection:
            connection.request("GET", parts.path, headers={"accept": "application/json"})
            return connection.getresponse().status
    except (OSError, ssl.SSLError, http.client.HTTPException):
        return None
