"""Which headers cross the proxy, and Turnfold's own request headers.

Hop-by-hop rules (RFC 9110 section 7.6.1), and the ``x-turnfold-*`` request headers with their values. Credentials are in
``tenancy``, sizes in ``limits``. Headers are ASGI's list of byte pairs rather than a mapping, because order and repetition
matter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, cast, get_args

from turnfold.compression.options import KEEP_NOTHING, Keep
from turnfold.config.settings import KeptRole, Mode, StateMode
from turnfold.proxy.http.refusals import RawHeaders, Refused
from turnfold.proxy.http.tags import tags_of

OURS: Final = b"x-turnfold-"
#: Names the Turnfolds that a request has passed; the only Turnfold header that is forwarded (``outbound.hops``).
VIA: Final = b"x-turnfold-via"
#: The request headers that some route reads.
REQUEST_HEADERS: Final = frozenset(
    "x-turnfold-" + name
    for name in ("mode", "budget", "keep", "conversation", "tag", "state", "accept", "drill-down", "admin-token", "tenant")
)
_KNOWN: Final = frozenset(name.encode() for name in REQUEST_HEADERS) | {VIA}
_MEANT_FOR_US: Final = (b"x-turnfold", b"x_turnfold", b"turnfold-", b"turnfold_")
_ALIKE: Final = 0.6
_LONGEST_SHOWN: Final = 80

_HOP_BY_HOP: Final = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade"
    b" http2-settings".split()
)
# Host follows from the upstream's URL; our server has answered the expectation itself.
_NOT_FORWARDED: Final = _HOP_BY_HOP | {b"host", b"expect"}
#: Headers that hold only with the body's very bytes: digests (RFC 9530 and before it), and signatures over one (RFC 9421, AWS).
_BINDING: Final = frozenset(
    (b"content-digest", b"repr-digest", b"digest", b"content-md5", b"signature-input", b"x-amz-content-sha256")
)
_HMAC: Final = re.compile(rb"(?:AWS4|[\w-]*HMAC)-", re.IGNORECASE)
_UNSENDABLE: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_NO_CODING: Final = frozenset((b"", b"identity", b"chunked"))
_MODES: Final = get_args(Mode)
_ROLES: Final = get_args(KeptRole)
_STATES: Final = get_args(StateMode)
_BUDGET: Final = re.compile(rb"[1-9][0-9]{0,11}")
#: Maximum characters of a conversation's name in a header, path, query or body.
LONGEST_NAME: Final = 512


def first(headers: RawHeaders, name: bytes) -> bytes | None:
    """The first value of a header; None if it is absent."""
    for key, value in headers:  # called several times per request, so no generator
        if key == name:
            return value
    return None


def first_of(headers: RawHeaders, name: bytes) -> bytes | None:
    """`first`, for headers whose names may have any case."""
    for key, value in headers:
        if len(key) == len(name) and key.lower() == name:
            return value
    return None


def header_text(value: bytes) -> str:
    """A value as text: UTF-8, else Latin-1, in which some HTTP libraries write text. No byte is lost to a replacement."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _connection_headers(headers: RawHeaders) -> frozenset[bytes]:
    values = [value for key, value in headers if key.lower() == b"connection"]
    return frozenset([token.strip().lower() for value in values for token in value.split(b",")]) if values else frozenset()


def with_content_codings(headers: RawHeaders) -> RawHeaders:
    """The headers of a message whose chunks are decoded but whose other transfer codings are not.

    These end at the next hop (RFC 9112 section 7), which is Turnfold, and bytes pass it as they came: told as content codings,
    the outermost last, they are still known to whoever reads the body.
    """
    said = [value for key, value in headers if key.lower() == b"transfer-encoding"]
    codings = [coding for value in said for part in value.split(b",") if (coding := part.strip()).lower() not in _NO_CODING]
    if not codings:
        return headers
    known = [value for key, value in headers if key.lower() == b"content-encoding"]
    rest = without(headers, b"transfer-encoding", b"content-encoding")
    return [*rest, (b"transfer-encoding", b"chunked"), (b"content-encoding", b", ".join([*known, *codings]).lower())]


def forwarded_headers(headers: RawHeaders) -> list[tuple[bytes, bytes]]:
    """A request's headers as the upstream receives them; credentials and length are unchanged.

    ``accept-encoding: identity`` is added if the client sent none: without the header any coding is allowed (RFC 9110 section
    12.5.3), and a client that asked for none may not be able to decode it.
    """
    named = _connection_headers(headers)
    dropped = _NOT_FORWARDED | named if named else _NOT_FORWARDED
    kept = [(key, value) for key, value in headers if key not in dropped and (key == VIA or not key.startswith(OURS))]
    if first(headers, b"transfer-encoding") is not None:
        kept = without(kept, b"content-length")
    if first(kept, b"accept-encoding") is None:
        kept.append((b"accept-encoding", b"identity"))
    return kept


def returned_headers(headers: RawHeaders, status: int) -> list[tuple[bytes, bytes]]:
    """A response's headers as the client receives them.

    A 204 or 304 loses its ``content-length``: it has no body, and servers wait for one of that length.
    """
    named = _connection_headers(headers)
    dropped = _HOP_BY_HOP | named if named else _HOP_BY_HOP
    if status in (204, 304):
        dropped |= {b"content-length"}
    return [(key, value) for key, value in headers if key.lower() not in dropped]


def binds_body(headers: RawHeaders) -> bool:
    """Whether a request's headers hold only with the body's very bytes, so that another body would be refused."""
    return any(key in _BINDING or (key == b"authorization" and _HMAC.match(value)) for key, value in headers)


def without(headers: RawHeaders, *names: bytes) -> list[tuple[bytes, bytes]]:
    """All headers except those with these (lower-case) names."""
    return [(key, value) for key, value in headers if key.lower() not in names]


def sendable(headers: RawHeaders) -> tuple[tuple[bytes, bytes], ...]:
    """The same headers, checked.

    Raises:
        Refused: a value has control characters in it.
    """
    for key, value in headers if _UNSENDABLE.search(b"".join([value for _, value in headers])) else ():
        if _UNSENDABLE.search(value):
            name = key.decode("ascii", "replace")
            raise Refused(400, "invalid_header", f"The header {name} has control characters in it.", name)
    return tuple(headers)


def check_names(headers: RawHeaders) -> None:
    """Refuse headers that are meant for Turnfold and that no route reads: a misspelt one would do nothing, without a word.

    Raises:
        Refused: 400; it names the header and the one that was probably meant.
    """
    for key, _ in headers:
        if key.startswith(_MEANT_FOR_US) and key not in _KNOWN:
            name = key.decode("latin-1")[:_LONGEST_SHOWN]
            raise Refused(400, "invalid_header", f"Turnfold has no request header {name}; {_meant(name)}", name)


def _meant(name: str) -> str:
    rest = name.partition("turnfold")[2].replace("_", "-").strip("-")
    known = {header.removeprefix("x-turnfold-"): header for header in sorted(REQUEST_HEADERS)}
    near = get_close_matches(rest, known, 1, _ALIKE)
    return f"did you mean {known[near[0]]}?" if near else f"it has {', '.join(known.values())}."


@dataclass(frozen=True, slots=True)
class Wishes:
    """The client's ``x-turnfold-*`` headers; None: not sent."""

    mode: Mode | None
    budget: int | None
    conversation: str | None
    state: StateMode | None = None
    keep: Keep = KEEP_NOTHING
    tags: tuple[str, ...] = ()


_NO_WISHES: Final = Wishes(None, None, None)


def wishes(headers: RawHeaders) -> Wishes:
    """Read the ``x-turnfold-*`` headers.

    Raises:
        Refused: 400; it names the header with the invalid value.
    """
    headers = [pair for pair in headers if pair[0].startswith(OURS)]
    if not headers:
        return _NO_WISHES
    return Wishes(
        cast(Mode | None, _one_of(_MODES, headers, "x-turnfold-mode")),
        _budget(_sole(headers, "x-turnfold-budget")),
        _label(_sole(headers, "x-turnfold-conversation")),
        cast(StateMode | None, _one_of(_STATES, headers, "x-turnfold-state")),
        _keep(b",".join([value for key, value in headers if key == b"x-turnfold-keep"])),
        tags_of(headers),
    )


def _sole(headers: RawHeaders, name: str) -> bytes | None:
    """The value of a header that has only one: a client and a gateway may both have set it, to different values."""
    values = {value.strip() for key, value in headers if key == name.encode()}
    if len(values) > 1:
        raise _senseless(name, "has several values")
    return values.pop() if values else None


def _one_of(known: tuple[str, ...], headers: RawHeaders, name: str) -> str | None:
    value = _sole(headers, name)
    if value is None:
        return None
    text = value.lower().decode("latin-1")
    if text not in known:
        raise _senseless(name, f"must be one of {', '.join(known)}")
    return text


def _keep(value: bytes) -> Keep:
    """Parse comma-separated ``tool:NAME`` and ``role:NAME``."""
    tools, roles = set(), set()
    for part in header_text(value).split(","):
        kind, _, name = (side.strip() for side in part.partition(":"))
        if kind == "tool" and name:
            tools.add(name)
        elif kind == "role" and name in _ROLES:
            roles.add(name)
        elif part.strip():
            raise _senseless("x-turnfold-keep", f"must be a list of tool:NAME and role:NAME, a role one of {', '.join(_ROLES)}")
    return Keep(frozenset(tools), frozenset(roles))


def _budget(value: bytes | None) -> int | None:
    if value is None:
        return None
    if not _BUDGET.fullmatch(value):
        raise _senseless("x-turnfold-budget", "must be a positive whole number of tokens")
    return int(value)


def _label(value: bytes | None) -> str | None:
    if not value:
        return None
    name = header_text(value)
    if len(name) > LONGEST_NAME or _UNSENDABLE.search(value):
        raise _senseless("x-turnfold-conversation", f"must be text of at most {LONGEST_NAME} characters")
    return name


def _senseless(name: str, problem: str) -> Refused:
    return Refused(400, "invalid_header", f"The header {name} {problem}.", name)
