"""Whose request this is, and whose key goes upstream.

Credentials go in; the tenant and the outgoing credentials come out. The admin token is checked here too. A credential is never
stored or logged.

Without an operator's key the client's own credentials go upstream unchanged and determine the tenant, all of them: people behind
one gateway may share its key. With one, clients must send a Turnfold token, which is replaced by that key on the way upstream.
There is one key for each provider, and neither is ever sent to the other's host; nor is a Turnfold token sent to any.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Final, Literal, Protocol
from urllib.parse import parse_qsl, urlsplit

from pydantic import SecretStr

from turnfold.compression.errors import InvalidInput
from turnfold.config.settings import AuthSettings, Settings, exposure, is_loopback
from turnfold.proxy.http.headers import first, without
from turnfold.proxy.http.refusals import RawHeaders, Refused

#: Headers that carry a credential: OpenAI's and most others', Azure's, Anthropic's, Google's.
CREDENTIALS: Final = (b"authorization", b"api-key", b"x-api-key", b"x-goog-api-key")
#: Headers in which gateways take a key of their own: Azure's API Management, LiteLLM, Portkey, Helicone, Cloudflare, Kong. They
#: pass as they come, and tell callers apart.
GATEWAY_KEYS: Final = (
    *(b"ocp-apim-subscription-key", b"x-litellm-api-key", b"x-litellm-key", b"x-portkey-api-key", b"helicone-auth"),
    *(b"cf-aig-authorization", b"apikey", b"x-auth-token", b"x-access-token"),
)
_KEY_HEADERS: Final = frozenset({*CREDENTIALS, *GATEWAY_KEYS})
#: Parameters of a query in which a key may stand: Google's, Azure's, API Management's.
_KEY_PARAMETERS: Final = frozenset({b"key", b"api-key", b"api_key", b"subscription-key", b"access_token"})
#: Which provider's operator key a request carries, if the operator has set it.
Keys = Literal["openai", "anthropic"]
_ADMIN: Final = b"x-turnfold-admin-token"
#: A proxy in front adds one of these; programs on this machine that call Turnfold directly do not.
_FORWARDED: Final = frozenset((b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip"))
_TENANT: Final = b"x-turnfold-tenant"
_FOREIGN: Final = (
    "Without TURNFOLD_CLIENT_TOKENS, only programs on this machine may use the operator's key; this request's 'host' or"
    " 'origin' is different, or it came through a proxy."
)
_KEY_MISSING: Final[dict[Keys, str]] = {
    "openai": "This Turnfold has no key for OpenAI's upstream; its operator sets TURNFOLD_UPSTREAM_API_KEY.",
    "anthropic": "This Turnfold has no key for Anthropic's upstream; its operator sets TURNFOLD_ANTHROPIC_API_KEY.",
}
_MISPLACED: Final = "This is the admin token of this Turnfold. It is for the admin routes only, and is never sent upstream."
_UNAUTHORISED: Final = "This Turnfold requires one of its client tokens, as 'Authorization: Bearer ...' or as 'api-key'."


def check_exposure(settings: Settings) -> None:
    """Refuse to be an open relay on the operator's key.

    Raises:
        InvalidInput: ``upstream.api_key`` without ``auth.client_tokens`` on anything but loopback.
    """
    if problem := exposure(settings):
        raise InvalidInput("auth.client_tokens", problem)


def from_this_machine(headers: RawHeaders) -> bool:
    """Whether ``host`` and ``origin``, if sent, name this machine (a page that uses DNS rebinding sends its own name), and nobody
    passed the request on."""
    if any(key in _FORWARDED for key, _ in headers):
        return False
    host = b"//" + (first(headers, b"host") or b"localhost")
    origin = first(headers, b"origin") or b"http://localhost"
    names = (_host_name(value.decode("latin-1")) for value in (host, origin))
    return all(is_loopback(name) for name in names)


def _host_name(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _secret(value: SecretStr | None) -> bytes | None:
    return None if value is None else value.get_secret_value().encode()


def _token(value: bytes) -> bytes:
    scheme, _, rest = value.strip().partition(b" ")
    return rest.strip() if scheme.lower() == b"bearer" and rest else value.strip()


def _same(one: bytes, other: bytes) -> bool:
    """Compare in constant time, lengths too."""
    return hmac.compare_digest(hashlib.sha256(one).digest(), hashlib.sha256(other).digest())


@dataclass(frozen=True, slots=True)
class Admission:
    """An admitted caller: its tenant, and its request's headers with the credentials for the upstream."""

    tenant: str
    headers: list[tuple[bytes, bytes]]


class Sessions(Protocol):
    """Knows browsers that signed in."""

    def admit(self, headers: RawHeaders, method: str) -> bool:
        """Whether a request is a signed-in browser's, and nobody else made the browser send it."""
        ...


class Gate:
    """Admits callers and determines their tenant.

    Args:
        sessions: browsers that signed in on the dashboard; None: no browser is an administrator's.
    """

    def __init__(
        self,
        upstream_key: SecretStr | None,
        auth: AuthSettings,
        anthropic_key: SecretStr | None = None,
        sessions: Sessions | None = None,
    ) -> None:
        self._sessions = sessions
        self._keys: dict[Keys, bytes | None] = {"openai": _secret(upstream_key), "anthropic": _secret(anthropic_key)}
        self._spends = any(key is not None for key in self._keys.values())
        self._client_tokens = tuple(token.get_secret_value().encode() for token in auth.client_tokens)
        self._admin_token = _secret(auth.admin_token)
        secret = _secret(auth.secret) or b""
        self._hash_key = hashlib.blake2b(secret).digest() if secret else b""

    def admit(self, headers: RawHeaders, keys: Keys = "openai", query: bytes = b"") -> Admission:
        """Admit a caller.

        Args:
            keys: whose key its request is to carry.
            query: of the request's URL.

        Raises:
            Refused: 401, client tokens are set and the caller has none of them; 403, none are set, and the request seems to come
                from a web page in a browser on this machine; 403, the caller has a client token, and the operator no such key;
                403, the admin token stands where a provider's key does.
        """
        name, token = self._caller(headers)
        if self._brings_admin_token(headers):
            raise Refused(403, "admin_token_misplaced", _MISPLACED)
        key = self._keys[keys]
        if key is None:
            if self._spends and self._client_tokens:
                raise Refused(403, "key_missing", _KEY_MISSING[keys])
            return Admission(self._tenant(token, headers, query), list(headers))
        if keys == "anthropic":
            name = b"x-api-key"
        sent = b"Bearer " + key if name == b"authorization" else key
        return Admission(self._tenant(token, headers, query), [*without(headers, *CREDENTIALS), (name, sent)])

    def keyless(self, headers: RawHeaders) -> list[tuple[bytes, bytes]]:
        """The headers of a request that must not carry the operator's key: none of ours is required for it."""
        return list(headers) if not self._spends else without(headers, *CREDENTIALS)

    def tenant(self, headers: RawHeaders) -> str:
        """The tenant whose data a request to Turnfold's own routes is about: the caller, or the tenant that an administrator
        names.

        Raises:
            Refused: 401, as for `admit`.
        """
        chosen = first(headers, _TENANT)
        if chosen is not None and self._is_admin_token(first(headers, _ADMIN)):
            return chosen.decode("latin-1")
        return self._tenant(self._caller(headers)[1], headers)

    def is_admin(self, headers: RawHeaders, method: str = "") -> bool:
        """Whether the request carries the admin token, in its own header or as a bearer token, or comes from a browser that
        signed in on the dashboard.

        For the admin routes alone: elsewhere ``Authorization`` belongs to the upstream.
        """
        bearer = first(headers, b"authorization") or b""
        named = _token(bearer) if bearer.lower().startswith(b"bearer ") else None
        if self._is_admin_token(first(headers, _ADMIN)) | self._is_admin_token(named):  # compare both
            return True
        return self._sessions is not None and self._sessions.admit(headers, method)

    def is_token(self, brought: str) -> bool:
        """Whether a text is the admin token, compared in constant time."""
        return self._is_admin_token(brought.encode("utf-8", "surrogatepass"))

    def _is_admin_token(self, brought: bytes | None) -> bool:
        return brought is not None and self._admin_token is not None and _same(brought.strip(), self._admin_token)

    def _brings_admin_token(self, headers: RawHeaders) -> bool:
        """Whether a credential is the admin token, and none of the clients' tokens."""
        if self._admin_token is None:
            return False
        found = [_token(value) for key, value in headers if key in CREDENTIALS]
        return sum(self._is_admin_token(token) and not self._is_ours(token) for token in found) > 0

    def _caller(self, headers: RawHeaders) -> tuple[bytes, bytes]:
        """The credential of a caller who may use this Turnfold, with the header that carries it."""
        name, token = self._credential(headers)
        if self._spends and self._client_tokens and not self._is_ours(token):
            raise Refused(401, "invalid_api_key", _UNAUTHORISED, headers=((b"www-authenticate", b"Bearer"),))
        if self._spends and not self._client_tokens and not from_this_machine(headers):
            raise Refused(403, "foreign_origin", _FOREIGN)
        return name, token

    def _credential(self, headers: RawHeaders) -> tuple[bytes, bytes]:
        """The header that carries the credential, and the credential; if there are several, the one that is a client token."""
        found = [(key, _token(value)) for key, value in headers if key in CREDENTIALS]
        found.sort(key=lambda pair: CREDENTIALS.index(pair[0]))
        ours = [pair for pair in found if self._is_ours(pair[1])] if self._client_tokens else found
        return next(iter(ours or found), (b"authorization", b""))

    def _is_ours(self, token: bytes) -> bool:
        return sum(_same(token, known) for known in self._client_tokens) > 0  # compare every one, for constant time

    def _tenant(self, credential: bytes, headers: RawHeaders, query: bytes = b"") -> str:
        """The tenant of a caller: of one of our tokens, or of everything that it brings instead."""
        if not self._is_ours(credential):
            credential = b"\n".join(sorted(_keys_of(headers, query)))  # a header has no line's end in it
        return hashlib.blake2b(credential, key=self._hash_key, digest_size=16).hexdigest()


def _keys_of(headers: RawHeaders, query: bytes) -> set[bytes]:
    """The different keys of a request, however they are sent."""
    found = {_token(value) for name, value in headers if name in _KEY_HEADERS}
    if b"=" in query:
        found |= {_token(value) for name, value in parse_qsl(query) if name.lower() in _KEY_PARAMETERS}
    return found - {b""}
