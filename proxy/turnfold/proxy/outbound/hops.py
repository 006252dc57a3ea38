"""Requests that come back to the Turnfold that sent them.

This module defines the header that names the Turnfolds a request has passed, and refuses one that comes round again.
``preflight`` compares addresses before the start.

Each server has an id of its own; processes of one server have different ones, so the number of hops is bounded as well. The
header is not sent to the providers themselves: no request comes back from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turnfold.proxy.http.headers import VIA, first
from turnfold.proxy.http.refusals import Refused

#: Maximum number of Turnfolds in a row.
_MOST: Final = 4
_PROVIDERS: Final = frozenset({"api.openai.com", "api.anthropic.com"})

_LOOP: Final = (
    "This request came back to the Turnfold that forwarded it: TURNFOLD_UPSTREAM_URL or TURNFOLD_ANTHROPIC_URL leads to Turnfold"
    " itself, or to a gateway that forwards to it. Set it to the provider's address."
)


def check_hops(headers: Sequence[tuple[bytes, bytes]], own: bytes) -> None:
    """Refuse a request that has been here before.

    Raises:
        Refused: 508.
    """
    value = first(headers, VIA)
    if value is None:
        return
    hops = [hop.strip() for hop in value.split(b",")]
    if own in hops or len(hops) > _MOST:
        raise Refused(508, "loop_detected", _LOOP, headers=((b"x-should-retry", b"false"),))


def with_hop(headers: Sequence[tuple[bytes, bytes]], own: bytes, host: str) -> list[tuple[bytes, bytes]]:
    """The headers for an upstream, with our id after those of others; a provider gets none of them."""
    passed = first(headers, VIA)
    kept = [pair for pair in headers if pair[0] != VIA]
    if host in _PROVIDERS:
        return kept
    return [*kept, (VIA, own if passed is None else passed + b", " + own)]
