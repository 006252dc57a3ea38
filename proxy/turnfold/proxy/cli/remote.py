"""Calling a running Turnfold.

One HTTP call, with its failures as lines for the user. Each command knows which call it needs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import httpx

from turnfold.config.settings import Settings
from turnfold.proxy.cli.failure import Failure
from turnfold.proxy.running.sharing import client_for, default_url, dialled

_PATIENCE: Final = 60.0
_ERRNO: Final = re.compile(r"^\[Errno -?\d+\] ")


def admin_headers(settings: Settings, tenant: str = "") -> dict[str, str]:
    """The headers of an administrator's call.

    Args:
        tenant: whose data the call is about; "" for all tenants.

    Raises:
        Failure: no admin token is set.
    """
    token = settings.auth.admin_token
    if token is None:
        raise Failure("the admin routes need a token: set TURNFOLD_ADMIN_TOKEN to the server's token")
    return {"x-turnfold-admin-token": token.get_secret_value()} | ({"x-turnfold-tenant": tenant} if tenant else {})


def base_of(url: str, settings: Settings) -> str:
    """The base URL of the Turnfold to ask: the given one, else the address in these settings."""
    return (url or default_url(settings.server)).rstrip("/")


def key_headers(key: str) -> dict[str, str]:
    """The header of a client's key; none for "", whose data is that of requests without a credential.

    Raises:
        Failure: the key cannot be sent in a header.
    """
    plain = key.strip()
    if not plain.isascii() or not plain.isprintable() or bool(plain) != bool(key):  # httpx's own error would quote the key
        raise Failure("the API key must be printable ASCII, since it is sent in a header")
    return {"authorization": f"Bearer {plain}"} if plain else {}


def ask(method: str, url: str, headers: Mapping[str, str], **arguments: Any) -> httpx.Response:
    """The answer of a running Turnfold.

    Raises:
        Failure: there is none, or it is an error.
    """
    try:
        with client_for(url) as client:
            response = client.request(method, dialled(url), headers=dict(headers), **({"timeout": _PATIENCE} | arguments))
    except (httpx.HTTPError, httpx.InvalidURL) as exc:
        advice = "; is Turnfold running there? turnfold serve starts one" if isinstance(exc, httpx.ConnectError) else ""
        raise Failure(f"no answer from {url}: {_ERRNO.sub('', str(exc))}{advice}") from exc
    if response.is_success:
        return response
    try:
        message = response.json()["error"]["message"]
    except (ValueError, KeyError, TypeError):
        message = "this is not how Turnfold answers; check the address"
    raise Failure(f"{url} answered {response.status_code}: {message}")
