"""Bodies of Turnfold's own API: requests and answers (SYSTEMS.md, system C).

There is one pydantic model per body and no behaviour. The routes validate with the models, ``/openapi.json`` is generated from
them, and the client returns them.

Requests are strict: no unknown fields, no numbers in strings. Texts that must not be blank are marked in the schema but checked
by the routes, because blank is 400 and malformed is 422.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal
from urllib.parse import quote

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from turnfold.compression.layers import SCORERS
from turnfold.compression.negotiate import Encoding
from turnfold.proxy.http.headers import LONGEST_NAME
from turnfold.proxy.http.shapes import has_dot_segments


def _integral(value: object) -> object:
    """2.0 is an integer to JSON Schema, and to clients with only one kind of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


#: Stands behind the bounds, or they would not be in the schema.
WHOLE: Final = BeforeValidator(_integral)
#: Not a Literal, which takes true for 1.
LayerNumber = Annotated[int, Field(ge=0, le=2), WHOLE]
LayerName = Literal["0", "1", "2"]

#: The scorer that asks the server's model.
LLM: Final = "llm"
#: Said in the schema only, see above.
_NOT_BLANK: Final[dict[str, Any]] = {"pattern": r"\S"}
_MOST: Final = 10_000_000


def _check_scorer(name: str) -> str:
    if name not in SCORERS and name != LLM:
        raise ValueError(f"must be one of {', '.join([*SCORERS, LLM])}")
    return name


def _check_reachable(name: str) -> str:
    if has_dot_segments(quote(name, safe="")):
        raise ValueError("must not have dot segments: it is part of a path")
    return name


class RequestBody(BaseModel):
    """Base of request bodies. A validator is built when it is first used: nobody waits for all of them at the start."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class AnswerBody(BaseModel):
    """Base of answers; a client ignores unknown fields."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


class Nothing(RequestBody):
    """A request without a body."""


class CompressBody(RequestBody):
    """A text to compress into layers."""

    text: Annotated[str, Field(description="The source, not blank.", json_schema_extra=_NOT_BLANK)]
    layer: Annotated[LayerNumber, Field(description="The layer that you want to read; the answer has all three.")] = 1
    l1_ratio: Annotated[float, Field(gt=0, le=1, description="Size of layer 1 relative to layer 0, in tokens.")] = 0.3
    l2_max_sentences: Annotated[int, Field(ge=1, le=1000, description="Maximum number of sentences of layer 2."), WHOLE] = 3
    sections: Annotated[bool, Field(description="If true, the text is cut into sections for drill-down.")] = True
    query: Annotated[str | None, Field(description="A question that layers 1 and 2 should answer.")] = None
    scorer: Annotated[
        Annotated[str, AfterValidator(_check_scorer), Field(json_schema_extra={"enum": [*SCORERS, LLM]})] | None,
        Field(description="The scorer that ranks sentences; null: the default. llm: the server's model, if it has one."),
    ] = None
    writer: Annotated[
        Literal["extractive", "model"],
        Field(description="Who writes layer 2: sentences of the text, or the server's model, if it has one."),
    ] = "extractive"


class LayerText(AnswerBody):
    """A layer's text and its tokens."""

    text: str
    tokens: int


class FoundEntity(AnswerBody):
    """A name or figure of the source."""

    text: str
    kind: str
    count: int
    preserved: Annotated[bool, Field(description="Whether layer 1 still contains it.")]


class SectionSummary(AnswerBody):
    """A part of the source that ``/v1/drill-down`` returns."""

    id: str
    summary: str
    tokens: int
    importance: Annotated[float, Field(description="From 0 to 1; the most important section has 1.")]


class ModelPart(AnswerBody):
    """What a model did, and what it cost."""

    name: str
    wrote_summary: Annotated[bool, Field(description="Whether the model wrote layer 2.")]
    fault: Annotated[str, Field(description='Why the model did not write it although it was asked to; "" otherwise.')] = ""
    rated: Annotated[int, Field(description="Number of sentences that have the model's score.")] = 0
    calls: Annotated[int, Field(description="Number of calls that this request made; a cached result makes none.")] = 0
    dollars: Annotated[float, Field(description="What they cost, in dollars; the most that they can have cost if unknown.")] = 0.0


class CompressMetadata(AnswerBody):
    """Figures about a result."""

    compression_ms: float
    scorer: str
    result_id: str
    layer: Annotated[LayerNumber, Field(description="The layer that was asked for.")]
    sentences: int
    sections: int
    ratio: Annotated[float, Field(description="Tokens of layer 0 divided by tokens of layer 1.")]
    preservation: Annotated[float, Field(description="Share of the important entities that layer 1 still contains.")]
    important: Annotated[int, Field(description="Number of important entities: repeated ones, figures and names.")]
    cached: Annotated[bool, Field(description="Whether the result came from the cache.")]
    sections_stored: Annotated[bool, Field(description="Whether the sections are stored for drill-down.")]
    model: Annotated[ModelPart | None, Field(description="A model's part in this; null if none was asked for.")] = None


class CompressAnswer(AnswerBody):
    """Three layers of one text."""

    layers: Mapping[LayerName, LayerText]
    entities: list[FoundEntity]
    sections: list[SectionSummary]
    metadata: CompressMetadata

    @property
    def text(self) -> str:
        """The layer that was asked for."""
        names: tuple[LayerName, ...] = ("0", "1", "2")
        return self.layers[names[self.metadata.layer]].text


class DrillDownBody(RequestBody):
    """Which section, and how much of it."""

    section_id: Annotated[str, Field(min_length=1, max_length=200)]
    target_layer: Annotated[LayerNumber, Field(description="0: the original; 1: its facts; 2: its summary.")] = 0


class DrillDownAnswer(AnswerBody):
    """One layer of one section."""

    section_id: str
    layer: LayerNumber
    text: Annotated[
        str,
        Field(
            description="Layer 0 of a section that the proxy folded is the JSON text of its messages, one per line."
            " Of /v1/responses, reasoning and the items that belong to it share a line, as they came, with commas between them."
        ),
    ]
    tokens: int


class MessageBody(RequestBody):
    """One message."""

    role: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f\s][^\x00-\x1f\x7f]*$")]
    content: Annotated[str, Field(description="Not blank.", json_schema_extra=_NOT_BLANK)]


class ConversationBody(RequestBody):
    """A message to add."""

    conversation_id: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(_check_reachable)]
    message: MessageBody
    compress_threshold: Annotated[int, Field(ge=1, le=_MOST, description="Maximum number of tokens of the context."), WHOLE] = (
        1000
    )
    keep_recent: Annotated[int, Field(ge=0, le=100_000, description="Number of newest messages that stay raw."), WHOLE] = 5
    idempotency_key: Annotated[
        str | None, Field(min_length=1, max_length=200, pattern="^[!-~]+$", description="As the header idempotency-key.")
    ] = None


class ConversationStats(AnswerBody):
    """Figures of a stored conversation."""

    messages: int
    recent_messages: int
    pinned_messages: int
    sections: int
    duplicates: int
    version: Annotated[int, Field(description="Increases by one with each change.")]


class ConversationAnswer(AnswerBody):
    """The conversation after a message was added."""

    context: str
    context_tokens: int
    total_raw_tokens: int
    compression_ratio: float
    action: Literal["appended", "compressed", "duplicate"]
    stats: ConversationStats


class ConversationMessage(AnswerBody):
    """One message."""

    role: str
    content: str


class ConversationSection(AnswerBody):
    """Compressed history; ``/v1/drill-down`` returns its messages."""

    id: str
    tokens: int
    messages: int


class ConversationView(AnswerBody):
    """A stored conversation."""

    conversation_id: str
    context: str
    context_tokens: int
    total_raw_tokens: int
    compression_ratio: float
    stats: ConversationStats
    recent: list[ConversationMessage]
    sections: list[ConversationSection]
    export: Annotated[
        str | None, Field(description="With ?export=true: the whole conversation, for PUT to /v1/conversation/{conversation_id}.")
    ] = None


class ImportBody(RequestBody):
    """An exported conversation."""

    export: Annotated[str, Field(min_length=1)]


class Deleted(AnswerBody):
    """What was deleted."""

    conversation_id: str
    deleted: Literal[True] = True


class ExchangeBody(RequestBody):
    """A text that one agent hands to another."""

    text: Annotated[str, Field(description="The source, not blank.", json_schema_extra=_NOT_BLANK)]
    query: Annotated[str | None, Field(description="What the receiver wants to know.")] = None
    l1_ratio: Annotated[float, Field(gt=0, le=1)] = 0.3
    l2_max_sentences: Annotated[int, Field(ge=1, le=1000), WHOLE] = 3
    format: Annotated[
        Literal["plain", "a2a", "mcp"], Field(description="Also return an A2A message part or an MCP resource.")
    ] = "plain"


class ExchangeAnswer(AnswerBody):
    """The text in the encoding that the receiver gets."""

    encoding: Encoding
    text: str
    tokens: int
    raw_tokens: int
    fits: Annotated[bool, Field(description="Whether the text fits the budget.")]
    result_id: str
    sections: list[SectionSummary]
    drilled: list[DrillDownAnswer]
    left_out: Annotated[list[str], Field(description="Requested section ids that do not fit the budget.")]
    part: Annotated[dict[str, Any] | None, Field(description="A2A message part.")] = None
    resource: Annotated[dict[str, Any] | None, Field(description="MCP resource contents.")] = None


class CacheStats(AnswerBody):
    """The compression cache of the caller's tenant."""

    entries: int
    bytes: int
    hits: int
    misses: int
    hit_rate: Annotated[float | None, Field(description="null before the first look-up.")]
    evictions: int
    max_entries: int
    max_bytes: int
    ttl_seconds: int


class CacheCleared(AnswerBody):
    """Number of deleted results."""

    cleared: int


class LearnedWindow(AnswerBody):
    """What was learned of a model's window at an upstream. Figures are tokens as the upstream counts them."""

    upstream: Annotated[str | None, Field(description="null in records of the first release.")]
    model: Annotated[str | None, Field(description="null in records of the first release.")]
    window: Annotated[int | None, Field(description="null if only the way the upstream counts was learned.")]
    source: Literal["error", "cut-off", "refusal"] | None
    how: Annotated[str, Field(description="How the window was learned, in words.")]
    in_force: Annotated[bool, Field(description="Whether requests are made to fit the window now.")]
    learned_at: Annotated[float, Field(description="Unix time when the window was last reported.")]
    retry_at: Annotated[float | None, Field(description="Unix time from which the window is tested again.")]
    largest_prompt: Annotated[int | None, Field(description="The largest prompt that was accepted.")]
    tokens_per_token: Annotated[
        float | None, Field(description="Tokens that the upstream counts for each token that Turnfold counts.")
    ]


class LearnedWindows(AnswerBody):
    """What was learned from the requests of the caller's tenant."""

    windows: list[LearnedWindow]


class DataDeleted(AnswerBody):
    """Number of deleted items."""

    deleted: int


class WindowsForgotten(AnswerBody):
    """Number of forgotten records."""

    forgotten: int


class ErrorDetail(AnswerBody):
    """Description of an error."""

    message: str
    type: str
    param: Annotated[str | None, Field(description="The field, header or parameter that it is about.")]
    code: str | None


class ErrorAnswer(AnswerBody):
    """An error in OpenAI's shape."""

    error: ErrorDetail


class MessagesErrorDetail(AnswerBody):
    """Description of an error, in Anthropic's words."""

    type: str
    message: str


class MessagesErrorAnswer(AnswerBody):
    """An error in Anthropic's shape."""

    type: Literal["error"]
    error: MessagesErrorDetail
