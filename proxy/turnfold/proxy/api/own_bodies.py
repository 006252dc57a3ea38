"""Bodies of Turnfold's other routes, for the API's document: state, admin, operation, and what is passed on to a model.

One pydantic model per body. These routes validate their bodies themselves, so the models only describe them; the bodies of the
API proper are in ``bodies``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

from turnfold.proxy.api.bodies import AnswerBody, LearnedWindow


class PassedOn(BaseModel):
    """Base of bodies in a provider's format: fields that are not named here are passed on too."""

    model_config = ConfigDict(extra="allow")


class ChatCompletionsBody(PassedOn):
    """A request in OpenAI's chat format; anything else in it is passed on as it is."""

    model: str
    messages: Annotated[list[dict[str, Any]], Field(description="Older ones may be folded.")]
    stream: bool = False


class ResponsesBody(PassedOn):
    """A request in the format of OpenAI's Responses API; anything else in it is passed on as it is."""

    model: str
    input: Annotated[str | list[dict[str, Any]], Field(description="Older items may be folded.")]
    stream: bool = False


class MessagesBody(PassedOn):
    """A request in Anthropic's format; anything else in it is passed on as it is."""

    model: str
    max_tokens: int
    messages: Annotated[list[dict[str, Any]], Field(description="Older ones may be folded.")]
    stream: bool = False


class Policies(AnswerBody):
    """The policies that users have set."""

    premise: str | None
    policies: dict[Annotated[str, Field(min_length=1)], Literal["use", "prohibit"]]
    version: Literal[2]


class Checkpoint(AnswerBody):
    """A state that can be restored, with the question that waits for an answer."""

    checkpoint_version: Literal[1]
    authoritative_state: Policies
    pending: dict[str, Any] | None = None


class StateBody(RootModel[Policies | Checkpoint]):
    """A state, or a checkpoint."""


class StateAnswer(AnswerBody):
    """The state of a conversation."""

    object: Literal["conversation.state"]
    conversation: str
    state: Policies
    pending: Annotated[str | None, Field(description="The question that waits for an answer.")]
    checkpoint: Checkpoint
    block: Annotated[str, Field(description="The state as the text that the model gets.")]
    messages_seen: int


class StateDeleted(AnswerBody):
    """The state is gone."""

    object: Literal["conversation.state.deleted"]
    conversation: str
    deleted: Literal[True]


class PreviewBody(PassedOn):
    """A message to try on a state; at most one of conversation, state, checkpoint and messages says which."""

    input: str
    conversation: str | None = None
    state: dict[str, Any] | None = None
    checkpoint: dict[str, Any] | None = None
    messages: list[dict[str, Any]] | None = None
    with_preprocessor: Any = None


class PreviewAnswer(AnswerBody):
    """What the message would do; nothing was changed."""

    output_version: int
    mode: Literal["preview"]
    decision: dict[str, Any]
    state_before: Policies
    state_after: Policies
    diff: dict[str, Any]
    would_mutate: bool
    input: str
    guard: str
    certainty: str


class ReportFigures(AnswerBody):
    """Figures of some requests; dollars and tokens are counted apart. Groups carry the value that they are grouped by too."""

    requests: int
    served: int
    failed: int
    incomplete: int
    streamed: int
    folds: dict[str, float | None]
    tokens: dict[str, float | None]
    usage: dict[str, float | None]
    dollars: dict[str, float | None]
    observed: dict[str, float | None]
    own_calls: dict[str, float | None]
    ms: dict[str, float | None]


class ReportAnswer(AnswerBody):
    """What was saved."""

    headline: str
    start: Annotated[str, Field(alias="from")]
    to: str
    group_by: str
    filters: dict[str, str]
    totals: ReportFigures
    held_out: Annotated[dict[str, Any] | None, Field(description="Folded and unfolded conversations side by side.")]
    groups: list[dict[str, Any]]
    windows: list[dict[str, Any]]
    caches: list[dict[str, Any]]


class RequestAnswer(AnswerBody):
    """Everything about one request."""

    receipt: dict[str, Any]
    why: str
    sections: Annotated[list[dict[str, Any]], Field(description="Each with its original messages and what was sent instead.")]
    tenant_name: Annotated[str, Field(description="The name that TURNFOLD_TENANTS gives the tenant.")]


class LedgerFigures(AnswerBody):
    """Receipts of this process."""

    written: int
    queued: int
    dropped: int
    dropped_originals: int
    problem: Annotated[str, Field(description="Why the store does not accept receipts now; empty while it does.")]


class StoreHealth(AnswerBody):
    """The store as this process sees it."""

    problem: str
    failures: int


class LedgerAnswer(AnswerBody):
    """What this process has written, and what failed in the background."""

    ledger: LedgerFigures
    store: StoreHealth
    background: list[dict[str, Any]]
    damaged_records: dict[str, int]


class TenantWindow(LearnedWindow):
    """What was learned from a tenant's requests."""

    tenant: str


class AllWindows(AnswerBody):
    """What was learned from everybody's requests."""

    windows: list[TenantWindow]


class TenantDeleted(AnswerBody):
    """Numbers of deleted items, receipts and sums."""

    deleted: int
    receipts: int
    sums: int


class Alive(AnswerBody):
    """The process runs."""

    status: Literal["alive"]


class Ready(AnswerBody):
    """Whether the process can serve, and what was looked at."""

    status: Literal["ready", "not ready"]
    checks: dict[str, Literal["ok", "down"]]
    failures: dict[str, int] | None = None
