"""The outbound proxy for an upstream, from the setting or from the usual environment variables.

This module reads ``HTTPS_PROXY``, ``HTTP_PROXY``, ``ALL_PROXY`` and ``NO_PROXY`` (lower case wins), and decides which hosts
bypass the proxy. Every other variable is read in ``sources``.

Requests to loopback addresses never use a proxy, as in Go's and curl's clients: the proxy would connect to its own machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Final
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment

from turnfold.config.settings import is_loopback
from turnfold.config.sources import SettingsError, without_password

_SETTING: Final = "TURNFOLD_UPSTREAM_PROXY"
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class OutboundProxy:
    """A proxy.

    Attributes:
        url: without user and password.
        user: name and password, "" where there are none; never shown.
        source: the setting or variable that names it.
    """

    url: str
    user: tuple[str, str] | None
    source: str

    def __repr__(self) -> str:
        return f"OutboundProxy({self.url!r}, {self.source})"


def proxy_for(url: str, choice: str, variables: Mapping[str, str] | None = None) -> OutboundProxy | None:
    """The proxy for requests to an upstream; None if there is none.

    Args:
        url: the upstream's base URL.
        choice: the setting: "environment", "none", or a proxy's URL.
        variables: scheme -> proxy, as `getproxies_environment` returns; None: the environment's.

    Raises:
        SettingsError: a variable names a proxy of another kind.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or _DEFAULT_PORTS[parts.scheme]
    if choice == "none" or is_loopback(host):
        return None
    if choice != "environment":
        return _parse(choice, _SETTING)
    found = getproxies_environment() if variables is None else variables
    scheme = parts.scheme if parts.scheme in found else "all"
    if scheme not in found or is_excepted(host, port, found.get("no", "")):
        return None
    return _parse(found[scheme], f"{scheme.upper()}_PROXY")


def is_excepted(host: str, port: int, exceptions: str) -> bool:
    """Whether ``NO_PROXY`` names a host: its name, a domain above it (with or without a dot), an address, a network
    (``10.0.0.0/8``), each with or without a port; ``*`` names all."""
    name = host.lower().rstrip(".")
    return any(_names(entry.strip().lower(), name, port) for entry in re.split(r"[,\s]+", exceptions) if entry.strip())


def _names(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        address = None
    if address is not None and "/" in entry:
        try:
            return address in ip_network(entry, strict=False)
        except ValueError:
            return False
    plain, separator, own_port = entry.rpartition(":")
    if separator and own_port.isdigit() and (":" not in plain or plain.startswith("[")):
        if int(own_port) != port:
            return False
        entry = plain
    entry = entry.strip("[]").removeprefix("*").removeprefix(".").rstrip(".")
    if address is not None:
        return entry == host
    return bool(entry) and (host == entry or host.endswith(f".{entry}"))


def _parse(text: str, source: str) -> OutboundProxy:
    whole = text if "://" in text else f"http://{text}"
    shown = without_password(whole)
    try:
        parts = urlsplit(whole)
        port = parts.port
    except ValueError:  # its message quotes the text in place of the port, which may be part of a password that contains a slash
        what = "is not a proxy URL; percent-encode /, ?, # and @ in a password"
        raise SettingsError(f"{source}: {shown!r} {what}") from None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        kinds = "only proxies with http:// and https:// are supported"
        raise SettingsError(f"{source}: {kinds}, not {shown!r}; {_SETTING} sets another, or none")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    user = (unquote(parts.username or ""), unquote(parts.password or "")) if parts.username else None
    return OutboundProxy(f"{parts.scheme}://{host}:{port or _DEFAULT_PORTS[parts.scheme]}", user, source)
