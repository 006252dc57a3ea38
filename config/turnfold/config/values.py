"""Checks of single values of settings.

Each function checks one value. The settings are in ``settings``.

Each raises ``ValueError``, which says what the value must be; the reader of the sources names the setting.
"""

from __future__ import annotations

import base64
import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from pydantic import AnyHttpUrl, SecretStr

#: Schemes of one Redis server, of a cluster, and of servers that Sentinel watches; each with TLS too.
REDIS_SCHEMES: Final = tuple(f"{plain}{kind}" for kind in ("", "+cluster", "+sentinel") for plain in ("redis", "rediss"))
STORE_SCHEMES: Final = ("memory", "none", "sqlite", *REDIS_SCHEMES)
_KEY_BYTES: Final = 32
_ENCODED: Final = "xn--"
# DNS names have no underscores, but container networks do; names that look like numbers must be addresses.
_HOST_NAME: Final = re.compile(r"(?!-)[\w-]{1,63}(?:\.[\w-]{1,63})*\.?")
_HOST_AND_PORT: Final = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[\w.-]+)(?::\d{1,5})?")
_NETLOC: Final = re.compile(r"[^/?#]*")
_SERVICE: Final = re.compile(r"[^/]+(?:/\d+)?")
_NUMBERS: Final = re.compile(r"[\d.]+")
_DATABASE: Final = re.compile(r"/?|/\d+")
_UNSEEN: Final = re.compile(r"[^!-~]")
#: A century; stores and clocks cannot hold much longer times.
LONGEST: Final = 100 * 365 * 86400
#: As many as the header x-turnfold-budget may say; arrays of numbers cannot hold much more.
MOST_TOKENS: Final = 10**12 - 1


def host_name(host: str) -> str:
    """An address, without the brackets of a URL, or a host name; it is resolved only when it is used."""
    plain = host.removeprefix("[").removesuffix("]")
    try:
        ip_address(plain.partition("%")[0])
    except ValueError:
        if _NUMBERS.fullmatch(plain) or not _HOST_NAME.fullmatch(plain):
            raise ValueError("must be an address or a host name, without a scheme, a port or a path") from None
        if _ENCODED in plain.lower():
            _check_encoded(plain)
        return host
    return plain


def _check_encoded(host: str) -> None:
    """HTTP clients decode such names, and would fail at the first request."""
    try:
        AnyHttpUrl(f"http://{host}/")
    except ValueError:
        raise ValueError(f"holds {_ENCODED!r} followed by characters that cannot be decoded") from None


def _check_visible(url: str) -> None:
    if _UNSEEN.search(url):
        raise ValueError("must not contain spaces, control characters or non-ASCII characters (percent-encode them)")


def _in_parts(url: str) -> SplitResult:
    parts = urlsplit(url)
    try:
        _ = parts.port
    except ValueError:
        # Its message quotes the text in place of the port, which may be part of a password that contains a slash.
        raise ValueError("must have a port from 0 to 65535; percent-encode /, ?, # and @ in a password") from None
    return parts


#: Endings of URLs that were copied from a call: clients' paths are appended to a base URL, so such a URL would never work.
_REQUEST_PATHS: Final = ("/chat/completions", "/v1/responses", "/v1/messages")


def http_url(url: str) -> str:
    """A base URL, without a slash at its end."""
    _check_visible(url)
    parts = _in_parts(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must be a URL with http:// or https:// and a host")
    try:
        host_name(parts.hostname)
    except ValueError as exc:
        raise ValueError(f"the host {exc}") from None
    if "@" in parts.netloc:
        raise ValueError("must not contain credentials: set the key in its own setting")
    if "?" in url or "#" in url:  # an empty query too: paths are appended
        raise ValueError("must be a base URL, without a query or a fragment")
    base = url.rstrip("/")
    if ending := next((one for one in _REQUEST_PATHS if base.endswith(one)), None):
        raise ValueError(f"must be the base URL, without {ending}: Turnfold adds it")
    return base


def store_url(url: str) -> str:
    """The URL of a store."""
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in STORE_SCHEMES:
        raise ValueError(
            "must begin with memory://, none://, sqlite:///, redis://, rediss://, redis+cluster:// or redis+sentinel://"
        )
    if scheme == "sqlite" and (not rest.startswith("/") or rest == "/"):
        raise ValueError("must name a file, as sqlite:///relative.db or sqlite:////absolute.db")
    if "+" in scheme:
        _several_servers(scheme, split_servers(url))
    elif scheme in REDIS_SCHEMES and not _DATABASE.fullmatch(_in_parts(url).path):
        raise ValueError(
            "must end in the number of a database, as redis://HOST:6379/0; percent-encode /, ?, # and @ in a password"
        )
    return url


def split_servers(url: str) -> SplitResult:
    """Split a URL that may name several servers; ``urlsplit`` of newer Pythons rejects a bracketed address after another host."""
    scheme, _, rest = url.partition("://")
    netloc = _NETLOC.match(rest)[0]  # type: ignore[index]  # it matches everything, nothing too
    return urlsplit(f"{scheme}://{rest[len(netloc) :]}")._replace(netloc=netloc)


def _several_servers(scheme: str, parts: SplitResult) -> None:
    for host in parts.netloc.rpartition("@")[2].split(","):
        if not _HOST_AND_PORT.fullmatch(host):
            raise ValueError(f"must list servers as HOST:PORT, separated by commas: {host!r} is not")
    path = parts.path.strip("/")
    if scheme.endswith("+cluster") and path not in {"", "0"}:
        raise ValueError("must not name a database: a cluster has only one")
    if scheme.endswith("+sentinel") and not _SERVICE.fullmatch(path):
        raise ValueError(
            "must end in Sentinel's name of the primary, as in redis+sentinel://HOST:26379/mymaster (or mymaster/DATABASE)"
        )


def proxy_choice(choice: str) -> str:
    """ "environment", "none", or the URL of a proxy."""
    if choice in {"environment", "none"}:
        return choice
    _check_visible(choice)
    parts = _in_parts(choice)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/") or parts.query:
        raise ValueError("must be environment, none, or a URL with http:// or https://, a host and a port")
    return choice


def split_commas(value: object) -> object:
    """The parts of a text between commas; anything else unchanged."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def sent_secret(secret: SecretStr) -> SecretStr:
    """A secret that travels in a header, without surrounding white space from a file or a paste."""
    text = secret.get_secret_value().strip()
    if not text or _UNSEEN.search(text):
        raise ValueError("must be printable ASCII without spaces")
    return SecretStr(text)


def key_bytes(key: SecretStr) -> bytes:
    """A key from its base64, in either alphabet."""
    return base64.b64decode(key.get_secret_value(), altchars=b"-_" if set("-_") & set(key.get_secret_value()) else None)


def check_keys(keys: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
    """Keys of the right length."""
    for number, key in enumerate(keys, 1):
        try:
            right = len(key_bytes(key)) == _KEY_BYTES
        except ValueError:
            right = False
        if not right:
            raise ValueError(
                f"key {number} must be {_KEY_BYTES} bytes in base64, as openssl rand -base64 {_KEY_BYTES} prints them"
            )
    return keys
