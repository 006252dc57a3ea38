"""Bodies of ``/v1/messages/compress`` and ``/v1/messages/uncompress`` (SYSTEMS.md, system E).

One pydantic model per body, without behaviour. The bodies of the rest of the API are in ``bodies``.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field

from turnfold.proxy.api.bodies import WHOLE, AnswerBody, RequestBody

CounterName = Literal["characters", "o200k_base", "cl100k_base"]
_MOST: Final = 100_000_000

Messages = list[dict[str, Any]]


class SummarizerBody(RequestBody):
    """How the server's model is asked: first for prose, then for terse bullets of half the length, then not at all."""

    max_response_tokens: Annotated[int, Field(ge=1, le=4000, description="Maximum length of a summary, in tokens."), WHOLE] = 300
    system_prompt: Annotated[
        Annotated[str, Field(max_length=8000)] | None, Field(description="Your own instructions, placed before Turnfold's.")
    ] = None
    mode: Annotated[
        Literal["normal", "aggressive"], Field(description="aggressive: ask for terse bullets of half the length at once.")
    ] = "normal"
    preserve_terms: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=500)]],
        Field(max_length=200, description="Terms that a summary must keep word for word, where its text has them."),
    ] = []  # noqa: RUF012 - pydantic copies


class SummarizerPart(AnswerBody):
    """What the model did, and what it cost."""

    name: str
    calls: Annotated[int, Field(description="Number of calls made.")]
    dollars: Annotated[float, Field(description="What they cost, in dollars; the most that they can have cost if unknown.")]
    why: Annotated[str, Field(description='Why the last question has no answer; "" if it has one.')] = ""


class CompressMessagesBody(RequestBody):
    """Messages to shorten."""

    messages: Annotated[Messages, Field(description="In order; each may have an id, an index and any other fields.")]
    preserve: Annotated[list[str], Field(description="Roles that are never changed.")] = ["system"]  # noqa: RUF012 - pydantic copies
    recency_window: Annotated[int, Field(ge=0, le=_MOST, description="Number of newest messages that stay unchanged."), WHOLE] = 4
    source_version: Annotated[int, Field(ge=0, le=_MOST, description="Written into every provenance."), WHOLE] = 0
    token_budget: Annotated[
        Annotated[int, Field(ge=0, le=_MOST), WHOLE] | None,
        Field(description="Maximum number of tokens of all messages together."),
    ] = None
    min_recency_window: Annotated[int, Field(ge=0, le=_MOST, description="Minimum recency window under a budget."), WHOLE] = 0
    dedup: Annotated[bool, Field(description="Replace repeated texts with references.")] = True
    fuzzy_dedup: Annotated[bool, Field(description="Also replace nearly identical texts.")] = False
    fuzzy_threshold: Annotated[float, Field(ge=0, le=1, description="Similarity threshold, from 0 to 1.")] = 0.85
    embed_summary_id: Annotated[bool, Field(description="Include the summary's id in its text.")] = False
    force_converge: Annotated[bool, Field(description="Truncate old messages if nothing milder fits the budget.")] = False
    token_counter: Annotated[CounterName, Field(description="characters: one token per 3.5 characters.")] = "characters"  # noqa: S105 - a counter's name
    trace: Annotated[bool, Field(description="Report what was done to each message, and why.")] = False
    summarizer: Annotated[
        SummarizerBody | None, Field(description="Have the server's model write the summaries, if it has one; null: none does.")
    ] = None


class MessageFigures(AnswerBody):
    """Figures of a compression; ratios are size before divided by size after."""

    original_version: int
    ratio: Annotated[float, Field(description="Ratio by characters.")]
    token_ratio: float
    messages_compressed: int
    messages_preserved: int
    messages_deduped: int
    messages_fuzzy_deduped: int


class MessageDecision(AnswerBody):
    """What was done to one message."""

    index: int
    id: str
    action: str
    reason: str
    into: int
    before: int
    after: int


class CompressMessagesAnswer(AnswerBody):
    """Shortened messages and the originals: keep both together, or neither."""

    # What a client sent may be no number; null would not be what it sent.
    model_config = ConfigDict(extra="ignore", frozen=True, ser_json_inf_nan="constants")

    messages: Messages
    verbatim: Annotated[dict[str, Any], Field(description="Originals by key.")]
    compression: MessageFigures
    result_id: str
    stored: Annotated[bool, Field(description="Whether the server stores messages and originals.")]
    fits: Annotated[
        bool | None, Field(description="Whether the budget is met; null without a budget, as are the next two fields.")
    ] = None
    token_count: int | None = None
    recency_window: int | None = None
    trace: list[MessageDecision] | None = None
    model: Annotated[SummarizerPart | None, Field(description="The model's part; null if none was asked for.")] = None


class UncompressMessagesBody(RequestBody):
    """Compressed messages, with their originals or with originals in the store."""

    messages: Messages
    verbatim: Annotated[
        dict[str, Any] | None, Field(description="Originals by key; null: the originals stored on the server.")
    ] = None
    recursive: Annotated[bool, Field(description="Also restore originals that were compressed before, up to ten levels.")] = False


class UncompressMessagesAnswer(AnswerBody):
    """Restored messages."""

    model_config = ConfigDict(extra="ignore", frozen=True, ser_json_inf_nan="constants")

    messages: list[Any]
    messages_expanded: int
    messages_passthrough: int
    missing_ids: Annotated[
        list[str], Field(description="Ids of missing originals; their compressed messages are left unchanged.")
    ]
    edited_ids: Annotated[
        list[str], Field(description="Originals of messages whose content was edited after compression; the edit is kept.")
    ]
    deleted_ids: Annotated[list[str], Field(description="Originals that no message refers to any longer.")]
