"""What is known of one request after it was served.

Lives here: the receipt, and the seam to whoever keeps it. Does not belong here: text of messages, keys, arithmetic over receipts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from turnfold.compression.fold import Section
from turnfold.proxy.chat.trail import Trails

Status = Literal["folded", "passthrough", "observed", "bypassed", "failed-open", "recovered", "answered"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the upstream reported them; None where it said nothing.

    Attributes:
        prompt_tokens: all of the prompt, whatever the cache had of it.
        cache_write_hour_tokens: those of `cache_write_tokens` that the cache keeps for an hour, and not for minutes.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_write_hour_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class OwnCall:
    """A call of the upstream that we made for a request, and whose answer the client never saw: it is a cost of ours.

    Attributes:
        kind: what it was for: "refused" (the context was full, and this was the answer), "summary", "scorer", "drill-down".
    """

    kind: str
    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class Receipt:
    """One request: ids, sizes, times, status; never text.

    Attributes:
        at: Unix time of arrival in seconds.
        tokens_before: tokens of the request as received, our count for its model.
        tokens_after: tokens of what reached (or, when observing, would have reached) the upstream.
        upstream_status: HTTP status of the upstream; None when it never answered.
        overhead_ms: our own time before the request went out.
        first_byte_ms: from arrival to the first byte of the response body; None when there was none.
        complete: whether the response came to its end (False: the client left or the upstream broke off).
        reason: slug why nothing was folded, or why the fold was dropped.
        state: slug of what became of it under the conversation's state; "" where state is off.
        calls: what else was asked of the upstream for it.
        trails: how its messages began, for the cache model; None where no prompt cache would have taken it.
    """

    request_id: str
    at: float
    tenant: str
    model: str
    conversation: str | None
    status: Status
    reason: str
    tokens_before: int
    tokens_after: int
    usage: Usage
    upstream_status: int | None
    overhead_ms: float
    first_byte_ms: float | None
    total_ms: float
    streamed: bool
    complete: bool
    state: str = ""
    calls: tuple[OwnCall, ...] = ()
    trails: Trails | None = None


class Recorder(Protocol):
    """Takes receipts and originals off the request path."""

    def record(self, receipt: Receipt, sections: tuple[Section, ...]) -> None:
        """Queue both for storing; returns at once, never raises, drops (and counts) when its bounded queue is full."""
        ...
