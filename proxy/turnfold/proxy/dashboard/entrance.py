"""Signing in to the dashboard.

Links, sessions, their keys, and the same-origin check. HTTP answers are up to ``routes.dashboard``; the admin token itself is
checked in ``http.tenancy``.

There are two ways in: the admin token, and, where Turnfold listens on loopback only, a link. A link works once, within ten
minutes; making one takes the user's key file (``identity``), so only programs of the same user can. Either gives a session: an
expiry and a random name, signed with a key that every process derives alike from the admin token, or from the key file where no
token is set. So sessions hold in every worker and end when the token changes.

Cookies do not tell ports apart, and a page on another port of the same host counts as the same *site*. So the cookie's name and
its signature carry the port, and a request that may change something needs the same *origin*.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import time
from typing import Final
from urllib.parse import urlsplit

from turnfold.config.paths import state_directory
from turnfold.config.settings import Settings, is_loopback
from turnfold.proxy.http.headers import first
from turnfold.proxy.http.refusals import RawHeaders
from turnfold.proxy.http.tenancy import from_this_machine
from turnfold.proxy.identity import read_key

#: Seconds that a link can be used.
LINK_LIFE: Final = 600
#: Seconds after which one has to sign in again.
SESSION_LIFE: Final = 12 * 3600

_PASS: Final = re.compile(r"([0-9a-f]{8,12})\.([0-9a-f]{32})\.([0-9a-f]{64})")
_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})


def _seal(key: bytes, purpose: str, port: int, text: str) -> str:
    return hmac.digest(key, f"turnfold {purpose} {port} {text}".encode(), "sha256").hex()


def _new_pass(key: bytes, purpose: str, port: int, expires: float) -> str:
    text = f"{int(expires):08x}.{secrets.token_hex(16)}"
    return f"{text}.{_seal(key, purpose, port, text)}"


def _unseal(key: bytes, purpose: str, port: int, brought: str, now: float) -> str | None:
    """The random name in a pass; None if the pass is forged or too old."""
    found = _PASS.fullmatch(brought)
    if found is None:
        return None
    expires, name, seal = found.groups()
    genuine = hmac.compare_digest(seal, _seal(key, purpose, port, f"{expires}.{name}"))
    return name if genuine and now < int(expires, 16) else None


def entry_link(settings: Settings) -> str | None:
    """A link that signs one browser in, once, within ten minutes; None if there can be none.

    There is none where Turnfold listens on more than loopback or on a Unix socket, where its port is not known before it listens,
    or where the user's key file cannot be written.
    """
    host, port = settings.server.host, settings.server.port
    if not is_loopback(host) or settings.server.uds is not None or not port or (key := read_key(create=True)) is None:
        return None
    name = f"[{host}]" if ":" in host else host
    # Behind the '#' it is in no request line, so in nobody's log, and a link preview cannot use it up.
    return f"http://{name}:{port}/admin/#link={_new_pass(key, 'link', port, time.time() + LINK_LIFE)}"


def is_same_origin(headers: RawHeaders) -> bool:
    """Whether a page of this very origin made the request: browsers say so themselves (``sec-fetch-site``), older ones and those
    without TLS by ``origin``."""
    site = first(headers, b"sec-fetch-site")
    if site is not None:
        return site.strip().lower() == b"same-origin"
    origin, host = first(headers, b"origin"), first(headers, b"host")
    if origin is None or host is None:
        return False
    try:
        return urlsplit(origin.decode("latin-1")).netloc.lower() == host.decode("latin-1").strip().lower() != ""
    except ValueError:
        return False


class Entrance:
    """Implements ``tenancy.Sessions``.

    Attributes:
        takes_token: whether the admin token opens the dashboard.
        takes_link: whether a link does.
        cookie: the session cookie's name.
    """

    def __init__(self, settings: Settings) -> None:
        token = settings.auth.admin_token
        self.takes_token = token is not None
        self.takes_link = is_loopback(settings.server.host)
        self.cookie = f"turnfold_admin_{settings.server.port}"
        self._port = settings.server.port
        self._own_key = None if token is None else hmac.digest(token.get_secret_value().encode(), b"turnfold dashboard", "sha256")

    @property
    def is_open(self) -> bool:
        """Whether there is any way in; else there is no dashboard."""
        return self.takes_token or self.takes_link

    def _session_key(self) -> bytes | None:
        return self._own_key if self._own_key is not None else read_key() if self.takes_link else None

    def new_session(self) -> str | None:
        """A cookie's value; None where sessions cannot be made."""
        key = self._session_key()
        return None if key is None else _new_pass(key, "session", self._port, time.time() + SESSION_LIFE)

    def redeem(self, link: str, headers: RawHeaders) -> bool:
        """Use up a link. False: it is invalid, expired or already used, or the request does not come from this machine."""
        key = read_key() if self.takes_link and from_this_machine(headers) else None
        name = None if key is None else _unseal(key, "link", self._port, link, time.time())
        return name is not None and _use_up(name)

    def is_signed_in(self, headers: RawHeaders) -> bool:
        """Whether the request carries the cookie of a session."""
        if self._own_key is None and not from_this_machine(headers):  # a page that uses DNS rebinding has its own name as host
            return False
        key = self._session_key()
        brought = self._brought(headers) if key is not None else []
        return key is not None and any(_unseal(key, "session", self._port, one, time.time()) for one in brought)

    def admit(self, headers: RawHeaders, method: str) -> bool:
        """Whether a request is a signed-in browser's, and nobody else made the browser send it."""
        return (method in _SAFE_METHODS or is_same_origin(headers)) and self.is_signed_in(headers)

    def _brought(self, headers: RawHeaders) -> list[str]:
        pairs = (pair.partition(b"=") for key, value in headers if key == b"cookie" for pair in value.split(b";"))
        return [value.decode("latin-1").strip() for name, _, value in pairs if name.strip() == self.cookie.encode()]

    def set_cookie(self, value: str, headers: RawHeaders, scheme: str) -> str:
        """The ``set-cookie`` header for a session; "" as the value ends it."""
        # The browser's own word: behind a proxy that speaks TLS, our own scheme is http.
        secure = scheme == "https" or (first(headers, b"origin") or b"").startswith(b"https://")
        life = SESSION_LIFE if value else 0
        kept = f"{self.cookie}={value}; Path=/admin; Max-Age={life}; HttpOnly; SameSite=Strict"
        return f"{kept}; Secure" if secure else kept


def _use_up(name: str) -> bool:
    """Mark a link as used, for all processes of this user. A file that nobody else could create first."""
    try:
        place = state_directory() / "links"
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in place.iterdir():
            if old.stat().st_mtime < time.time() - 2 * LINK_LIFE:
                old.unlink(missing_ok=True)
        os.close(os.open(place / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:
        return False
    return True
