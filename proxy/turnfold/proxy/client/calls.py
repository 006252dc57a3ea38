"""The calls of the Python client, as values.

Lives here: what each call sends, and the type of its answer. Does not belong here: sending (``client``), exceptions (``errors``).
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, TypedDict, TypeVar
from urllib.parse import quote

from turnfold.proxy.api.bodies import (
    CacheCleared,
    CacheStats,
    CompressAnswer,
    ConversationAnswer,
    ConversationView,
    Deleted,
    DrillDownAnswer,
    ExchangeAnswer,
    LearnedWindows,
    WindowsForgotten,
)
from turnfold.proxy.api.message_bodies import CompressMessagesAnswer, CounterName, UncompressMessagesAnswer
from turnfold.proxy.client.errors import InvalidArgument
from turnfold.proxy.http.dots import has_dot_segments

T = TypeVar("T")

#: What a caller knows as an argument, and is sent as a header.
_ARGUMENTS: Final = {
    "x-turnfold-accept": "accept",
    "x-turnfold-budget": "budget",
    "x-turnfold-drill-down": "drill_down",
    "x-turnfold-admin-token": "admin_token",
}


@dataclass(frozen=True, slots=True)
class ApiCall(Generic[T]):
    """One call: what is sent, and the type of its answer."""

    method: str
    path: str
    answer: type[T]
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)


def checked(call: ApiCall[T]) -> ApiCall[T]:
    """The call itself, if it can be sent.

    Raises:
        InvalidArgument: names the first value that cannot.
    """
    for name, value in (*_leaves(call.body or {}), *_leaves(call.query)):
        if isinstance(value, str):
            check_text(name, value)
        elif isinstance(value, float) and not math.isfinite(value):
            raise InvalidArgument(name, f"is {value}, which JSON cannot hold")
        elif value is not None and not isinstance(value, int | float):
            raise InvalidArgument(name, f"is a {type(value).__name__}, which JSON cannot hold")
    for name, text in call.headers.items():
        check_header(_ARGUMENTS.get(name, name), text)
    return call


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Each value in a JSON value that holds no others, keys too, and its place in it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            name = f"{place}.{key}" if place else str(key)
            yield name, str(key)
            yield from _leaves(inner, name)
    elif isinstance(value, list | tuple):
        for position, inner in enumerate(value):
            yield from _leaves(inner, f"{place}[{position}]")
    else:
        yield place, value


def check_text(name: str, text: str) -> None:
    """Raise InvalidArgument if UTF-8 has no bytes for a text."""
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        problem = f"has half of a surrogate pair at position {exc.start}, which UTF-8 cannot encode"
        raise InvalidArgument(ascii(name)[1:-1], problem) from exc


def check_header(name: str, text: str) -> None:
    """Raise InvalidArgument if a text cannot be a header's value."""
    if not text.isascii() or not text.isprintable():
        raise InvalidArgument(name, "is sent in a header and must be printable ASCII")


def _quoted(name: str, text: str) -> str:
    check_text(name, text)
    if has_dot_segments(quoted := quote(text, safe="")):  # httpx would resolve them: another path, and not Turnfold's
        raise InvalidArgument(name, "has dot segments and must not: it is part of a path")
    return quoted


def _without_none(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def compress(text: str, **options: Any) -> ApiCall[CompressAnswer]:
    """Three layers of a text."""
    return ApiCall("POST", "/v1/compress", CompressAnswer, {"text": text, **_without_none(**options)})


def add_message(conversation_id: str, role: str, content: str, **options: Any) -> ApiCall[ConversationAnswer]:
    """Add a message; its key makes a repeated add harmless."""
    key = options.pop("idempotency_key", None) or uuid.uuid4().hex
    body = {"conversation_id": conversation_id, "message": {"role": role, "content": content}, **_without_none(**options)}
    return ApiCall("POST", "/v1/conversation", ConversationAnswer, body, {"idempotency-key": key})


def _place(conversation_id: str) -> str:
    return f"/v1/conversation/{_quoted('conversation_id', conversation_id)}"


def conversation(conversation_id: str, export: bool) -> ApiCall[ConversationView]:
    """A stored conversation."""
    return ApiCall("GET", _place(conversation_id), ConversationView, query={"export": "true"} if export else {})


def import_conversation(conversation_id: str, export: str) -> ApiCall[ConversationView]:
    """Replace a conversation by an exported one."""
    return ApiCall("PUT", _place(conversation_id), ConversationView, {"export": export})


def delete_conversation(conversation_id: str) -> ApiCall[Deleted]:
    """Delete a conversation."""
    return ApiCall("DELETE", _place(conversation_id), Deleted)


def drill_down(section_id: str, layer: int) -> ApiCall[DrillDownAnswer]:
    """A layer of a section."""
    return ApiCall("POST", "/v1/drill-down", DrillDownAnswer, {"section_id": section_id, "target_layer": layer})


class SummarizerOptions(TypedDict, total=False):
    """How the server's model is asked for summaries; {}: as the server has it."""

    max_response_tokens: int
    system_prompt: str | None
    mode: Literal["normal", "aggressive"]
    preserve_terms: list[str]


class MessageOptions(TypedDict, total=False):
    """Options of ``/v1/messages/compress``; those that are left out have the server's defaults."""

    preserve: list[str]
    recency_window: int
    source_version: int
    token_budget: int | None
    min_recency_window: int
    dedup: bool
    fuzzy_dedup: bool
    fuzzy_threshold: float
    embed_summary_id: bool
    force_converge: bool
    token_counter: CounterName
    trace: bool
    summarizer: SummarizerOptions


def compress_messages(messages: Sequence[Mapping[str, Any]], options: MessageOptions) -> ApiCall[CompressMessagesAnswer]:
    """Shortened messages."""
    return ApiCall("POST", "/v1/messages/compress", CompressMessagesAnswer, {"messages": list(messages), **options})


def uncompress_messages(
    messages: Sequence[Any], verbatim: Mapping[str, Any] | None, recursive: bool
) -> ApiCall[UncompressMessagesAnswer]:
    """Restored messages."""
    body = {"messages": list(messages), "recursive": recursive, **_without_none(verbatim=verbatim)}
    return ApiCall("POST", "/v1/messages/uncompress", UncompressMessagesAnswer, body)


def _listed(names: Sequence[str]) -> str:
    return names if isinstance(names, str) else ", ".join(names)


def exchange(
    text: str, accept: Sequence[str], budget: int | None, drill_down: Sequence[str], **options: Any
) -> ApiCall[ExchangeAnswer]:
    """A text in an accepted encoding."""
    headers = {
        "x-turnfold-accept": _listed(accept),
        "x-turnfold-budget": "" if budget is None else str(budget),
        "x-turnfold-drill-down": _listed(drill_down),
    }
    sent = {name: value for name, value in headers.items() if value}
    return ApiCall("POST", "/v1/exchange", ExchangeAnswer, {"text": text, **_without_none(**options)}, sent)


def report(admin_token: str, query: Mapping[str, str]) -> ApiCall[dict[str, Any]]:
    """What was saved; for administrators."""
    headers = {"x-turnfold-admin-token": admin_token}
    return ApiCall("GET", "/admin/report", dict[str, Any], headers=headers, query=query)


def _state_place(conversation: str) -> str:
    return f"/v1/state/{_quoted('conversation', conversation)}"


def state(conversation: str) -> ApiCall[dict[str, Any]]:
    """State, checkpoint, pending prompt and block of a conversation."""
    return ApiCall("GET", _state_place(conversation), dict[str, Any])


def set_state(conversation: str, state_or_checkpoint: Mapping[str, Any]) -> ApiCall[dict[str, Any]]:
    """Set a conversation's state."""
    return ApiCall("PUT", _state_place(conversation), dict[str, Any], dict(state_or_checkpoint))


def delete_state(conversation: str) -> ApiCall[dict[str, Any]]:
    """Delete a conversation's state."""
    return ApiCall("DELETE", _state_place(conversation), dict[str, Any])


def preview_state(user_input: str, messages: Sequence[Mapping[str, Any]] | None, **start: Any) -> ApiCall[dict[str, Any]]:
    """What a message would do to a state."""
    body = {"input": user_input, **_without_none(messages=None if messages is None else list(messages), **start)}
    return ApiCall("POST", "/v1/state/preview", dict[str, Any], body)


def forget_windows(upstream: str | None, model: str | None) -> ApiCall[WindowsForgotten]:
    """Forget learned windows."""
    return ApiCall("DELETE", "/v1/windows", WindowsForgotten, query=_without_none(upstream=upstream, model=model))


WINDOWS: Final = ApiCall("GET", "/v1/windows", LearnedWindows)
CACHE_STATS: Final = ApiCall("GET", "/v1/cache/stats", CacheStats)
CACHE_CLEAR: Final = ApiCall("POST", "/v1/cache/clear", CacheCleared)
