"""The record of one served request.

The receipt, and the interface for storing it. A receipt has no text of messages and no key; arithmetic over receipts is up to
``books``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from turnfold.compression.fold import Section
from turnfold.proxy.trails.trail import Trails

Status = Literal["folded", "shaped", "passthrough", "observed", "bypassed", "failed-open", "recovered", "answered", "own"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the upstream reported them; None if not reported.

    Attributes:
        prompt_tokens: all tokens of the prompt, cached ones included.
        completion_tokens: all that is billed as output, thinking included.
        cache_write_hour_tokens: those of `cache_write_tokens` that the cache keeps for an hour, and not for minutes.
        audio_prompt_tokens, audio_completion_tokens: those of the prompt and of the completion that are sound.
        service_tier: the provider's name for how the request was processed, such as "default", "flex" or "priority".
        inference_geo: Anthropic's name for where it was processed, such as "global" or "us".
        cost: dollars of the request, where the upstream says so.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_write_hour_tokens: int | None = None
    audio_prompt_tokens: int | None = None
    audio_completion_tokens: int | None = None
    service_tier: str | None = None
    inference_geo: str | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class OwnCall:
    """A call to the upstream that Turnfold made for a request. The client never saw its answer, so it is Turnfold's own cost.

    Attributes:
        kind: what it was for: "refused" (the context was full, and this was the answer), "summary" (of a folded block),
            "recovery", "layer", "messages", "scorer", "state", "embedding" (vectors of passages, or of a question).
    """

    kind: str
    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class PackedSection:
    """A section of a large request in its stored form, because packing takes long.

    Attributes:
        original: its record.
        instead: the record of what was sent in its place; None where that is not kept.
    """

    id: str
    original: bytes
    instead: bytes | None

    @property
    def size(self) -> int:
        """Bytes that it takes in memory."""
        return len(self.original) + len(self.instead or b"")


#: The stored part of a request: its folded sections.
Originals = tuple[Section | PackedSection, ...]


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
        wire: its format: "chat", "responses" or "messages"; "" in receipts from before there were several.
        session: what the client calls its session or user, if anything; it decides nothing.
        upstream: origin of the URL that it went to.
        folds_at: tokens at which the conversation's next fold comes, by our count; None where that is not known.
        foldable: tokens of what can be folded of it, sooner or later; None where nobody counted.
        loop: whether a tool's result ended it, and not a person's message.
        trails: how its messages began, for the cache model; None where no prompt cache would have taken it.
        tags: names that the client gave it, to be counted by.
        schema: fingerprint of its tools and response format; "" for none.
        recall: what chose the passages that are recalled, "words" or "vectors"; "" where no vectors are made.
        hosted: whether the provider ran tools of its own, so that the usage is the sum of several samplings; it is not kept.
        served: the model that the answer names; it is not kept.
        refused: whether the upstream answered with a good status and an error instead of an answer; it is not kept.
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
    wire: str = ""
    session: str = ""
    upstream: str = ""
    loop: bool = False
    folds_at: int | None = None
    foldable: int | None = None
    trails: Trails | None = None
    tags: tuple[str, ...] = ()
    recall: str = ""
    schema: str = ""
    hosted: bool = False
    refused: bool = False
    served: str = ""


class Recorder(Protocol):
    """Records receipts and originals outside the request path."""

    def record(self, receipt: Receipt, sections: Originals) -> None:
        """Queue both for storing; returns at once, never raises, drops (and counts) when its bounded queue is full."""
        ...
