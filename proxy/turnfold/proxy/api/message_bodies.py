"""Bodies of ``/v1/messages/compress`` and ``/v1/messages/uncompress`` (SYSTEMS.md, system E).

Lives here: one pydantic model for each body. Does not belong here: behaviour; bodies of the rest of the API (``bodies``).
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field

from turnfold.proxy.api.bodies import WHOLE, AnswerBody, RequestBody

CounterName = Literal["characters", "o200k_base", "cl100k_base"]
_MOST: Final = 100_000_000

Messages = list[dict[str, Any]]


class CompressMessagesBody(RequestBody):
    """Messages to make shorter."""

    messages: Annotated[Messages, Field(description="In order; each may carry id, index and whatever else.")]
    preserve: Annotated[list[str], Field(description="Roles that are never changed.")] = ["system"]  # noqa: RUF012 - pydantic copies
    recency_window: Annotated[int, Field(ge=0, le=_MOST, description="Newest messages that stay as they are."), WHOLE] = 4
    source_version: Annotated[int, Field(ge=0, le=_MOST, description="Written into every provenance."), WHOLE] = 0
    token_budget: Annotated[
        Annotated[int, Field(ge=0, le=_MOST), WHOLE] | None, Field(description="Tokens that all messages may take together.")
    ] = None
    min_recency_window: Annotated[int, Field(ge=0, le=_MOST, description="How far a budget may shrink the window."), WHOLE] = 0
    dedup: Annotated[bool, Field(description="Replace a text that stands again elsewhere by a reference.")] = True
    fuzzy_dedup: Annotated[bool, Field(description="Replace nearly the same text, too.")] = False
    fuzzy_threshold: Annotated[float, Field(ge=0, le=1, description="How like it must be.")] = 0.85
    embed_summary_id: Annotated[bool, Field(description="Write the summary's id into its text.")] = False
    force_converge: Annotated[bool, Field(description="Cut off what is old where nothing milder fits the budget.")] = False
    token_counter: Annotated[CounterName, Field(description="characters: one token for every 3.5 of them.")] = "characters"  # noqa: S105 - a counter's name
    trace: Annotated[bool, Field(description="Say what was done to each message, and why.")] = False


class MessageFigures(AnswerBody):
    """What a compression did; ratios are before by after."""

    original_version: int
    ratio: Annotated[float, Field(description="By characters.")]
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
    """Shorter messages and the originals: to be kept together or not at all."""

    # What a client sent may be no number; null would not be what it sent.
    model_config = ConfigDict(extra="ignore", frozen=True, ser_json_inf_nan="constants")

    messages: Messages
    verbatim: Annotated[dict[str, Any], Field(description="The originals by key.")]
    compression: MessageFigures
    result_id: str
    stored: Annotated[bool, Field(description="Whether the server keeps messages and originals, as one value.")]
    fits: Annotated[bool | None, Field(description="null without a budget, as the next two.")] = None
    token_count: int | None = None
    recency_window: int | None = None
    trace: list[MessageDecision] | None = None


class UncompressMessagesBody(RequestBody):
    """Compressed messages, with their originals or to be found in the store."""

    messages: Messages
    verbatim: Annotated[dict[str, Any] | None, Field(description="Originals by key; null: those that the server keeps.")] = None
    recursive: Annotated[bool, Field(description="Restore originals that were compressed before, ten times at most.")] = False


class UncompressMessagesAnswer(AnswerBody):
    """Messages as they were."""

    model_config = ConfigDict(extra="ignore", frozen=True, ser_json_inf_nan="constants")

    messages: list[Any]
    messages_expanded: int
    messages_passthrough: int
    missing_ids: Annotated[list[str], Field(description="Originals that are not there; what stands for them is left as it is.")]
    edited_ids: Annotated[
        list[str], Field(description="Originals of messages whose content was edited after compression; the edit is kept.")
    ]
    deleted_ids: Annotated[list[str], Field(description="Originals that no message stands for any longer.")]
