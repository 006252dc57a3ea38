"""The calls of the Python client, as values.

Each says what it sends and how its answer is read. The docstrings and signatures are those of the clients' methods. Sending is up
to ``client``; the exceptions are in ``errors``.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, TypedDict, TypeVar, Unpack
from urllib.parse import quote

from pydantic import TypeAdapter

from turnfold.proxy.api.bodies import (
    CacheCleared,
    CacheStats,
    CompressAnswer,
    ConversationAnswer,
    ConversationView,
    Deleted,
    DrillDownAnswer,
    ExchangeAnswer,
    LearnedWindow,
    LearnedWindows,
    WindowsForgotten,
)
from turnfold.proxy.api.message_bodies import CompressMessagesAnswer, CounterName, UncompressMessagesAnswer
from turnfold.proxy.client.errors import InvalidArgument
from turnfold.proxy.http.shapes import has_dot_segments

T = TypeVar("T")

#: Arguments that are sent as headers: an error names the argument.
_ARGUMENTS: Final = {
    "x-turnfold-accept": "accept",
    "x-turnfold-budget": "budget",
    "x-turnfold-drill-down": "drill_down",
    "x-turnfold-admin-token": "admin_token",
}


@dataclass(frozen=True, slots=True)
class ApiCall(Generic[T]):
    """One call: what is sent, and how its answer is read.

    Attributes:
        read: turns the decoded JSON of a successful answer into the result; raises `pydantic.ValidationError`.
    """

    method: str
    path: str
    read: Callable[[Any], T]
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)


def checked(call: ApiCall[T]) -> ApiCall[T]:
    """Return the call unchanged if all its values can be sent.

    Raises:
        InvalidArgument: names the first value that cannot be sent.
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
    """Yield every scalar and every key in a JSON value, with its path."""
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
    """Raise InvalidArgument if a text cannot be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        problem = f"has half of a surrogate pair at position {exc.start}, which UTF-8 cannot encode"
        raise InvalidArgument(ascii(name)[1:-1], problem) from exc


def check_header(name: str, text: str) -> None:
    """Raise InvalidArgument if a text cannot be the value of a header."""
    if not text.isascii() or not text.isprintable():
        raise InvalidArgument(name, "is sent in a header and must be printable ASCII")


def _quoted(name: str, text: str) -> str:
    check_text(name, text)
    if has_dot_segments(quoted := quote(text, safe="")):  # httpx would resolve them: another path, and not Turnfold's
        raise InvalidArgument(name, "has dot segments and must not: it is part of a path")
    return quoted


def _without_none(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


_OBJECT: Final = TypeAdapter(dict[str, Any])


def compress(
    text: str,
    *,
    layer: int | None = None,
    l1_ratio: float | None = None,
    l2_max_sentences: int | None = None,
    sections: bool | None = None,
    query: str | None = None,
    scorer: str | None = None,
) -> ApiCall[CompressAnswer]:
    """Compress a text into three layers. Arguments that you leave out take the server's defaults."""
    options = _without_none(
        layer=layer, l1_ratio=l1_ratio, l2_max_sentences=l2_max_sentences, sections=sections, query=query, scorer=scorer
    )
    return ApiCall("POST", "/v1/compress", CompressAnswer.model_validate, {"text": text, **options})


def add_message(
    conversation_id: str,
    role: str,
    content: str,
    *,
    compress_threshold: int | None = None,
    keep_recent: int | None = None,
) -> ApiCall[ConversationAnswer]:
    """Add a message to a stored conversation. The answer holds the context to send in place of the conversation."""
    options = _without_none(compress_threshold=compress_threshold, keep_recent=keep_recent)
    body = {"conversation_id": conversation_id, "message": {"role": role, "content": content}, **options}
    # With a key, a retry cannot add the message twice.
    headers = {"idempotency-key": uuid.uuid4().hex}
    return ApiCall("POST", "/v1/conversation", ConversationAnswer.model_validate, body, headers)


def _conversation_path(conversation_id: str) -> str:
    return f"/v1/conversation/{_quoted('conversation_id', conversation_id)}"


def conversation(conversation_id: str, *, export: bool = False) -> ApiCall[ConversationView]:
    """Read a stored conversation; with ``export``, all of it."""
    query = {"export": "true"} if export else {}
    return ApiCall("GET", _conversation_path(conversation_id), ConversationView.model_validate, query=query)


def import_conversation(conversation_id: str, export: str) -> ApiCall[ConversationView]:
    """Replace a stored conversation with an exported one."""
    return ApiCall("PUT", _conversation_path(conversation_id), ConversationView.model_validate, {"export": export})


def _deleted_conversation(body: Any) -> None:
    Deleted.model_validate(body)


def delete_conversation(conversation_id: str) -> ApiCall[None]:
    """Delete a stored conversation."""
    return ApiCall("DELETE", _conversation_path(conversation_id), _deleted_conversation)


def drill_down(section_id: str, layer: int = 0) -> ApiCall[DrillDownAnswer]:
    """Read a layer of a section; layer 0 is the original text."""
    body = {"section_id": section_id, "target_layer": layer}
    return ApiCall("POST", "/v1/drill-down", DrillDownAnswer.model_validate, body)


class SummarizerOptions(TypedDict, total=False):
    """How the server asks its model for summaries; an empty dict takes the server's settings."""

    max_response_tokens: int
    system_prompt: str | None
    mode: Literal["normal", "aggressive"]
    preserve_terms: list[str]


class MessageOptions(TypedDict, total=False):
    """Options of ``/v1/messages/compress``. Options that you leave out take the server's defaults."""

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


def compress_messages(
    messages: Sequence[Mapping[str, Any]], **options: Unpack[MessageOptions]
) -> ApiCall[CompressMessagesAnswer]:
    """Shorten old messages; the answer also holds the originals. Options are fields of the body: ``token_budget=2000``."""
    body = {"messages": list(messages), **options}
    return ApiCall("POST", "/v1/messages/compress", CompressMessagesAnswer.model_validate, body)


def uncompress_messages(
    messages: Sequence[Any], verbatim: Mapping[str, Any] | None = None, *, recursive: bool = False
) -> ApiCall[UncompressMessagesAnswer]:
    """Restore messages, from the given originals or from those that the server stored."""
    body = {"messages": list(messages), "recursive": recursive, **_without_none(verbatim=verbatim)}
    return ApiCall("POST", "/v1/messages/uncompress", UncompressMessagesAnswer.model_validate, body)


def _comma_separated(names: Sequence[str]) -> str:
    return names if isinstance(names, str) else ", ".join(names)


def exchange(
    text: str,
    *,
    accept: Sequence[str] = (),
    budget: int | None = None,
    drill_down: Sequence[str] = (),
    query: str | None = None,
    format: str | None = None,  # noqa: A002 - the field's name
) -> ApiCall[ExchangeAnswer]:
    """Encode a text in the first accepted encoding that fits the budget, else as its summary."""
    headers = {
        "x-turnfold-accept": _comma_separated(accept),
        "x-turnfold-budget": "" if budget is None else str(budget),
        "x-turnfold-drill-down": _comma_separated(drill_down),
    }
    sent = {name: value for name, value in headers.items() if value}
    body = {"text": text, **_without_none(query=query, format=format)}
    return ApiCall("POST", "/v1/exchange", ExchangeAnswer.model_validate, body, sent)


def report(admin_token: str, **query: str) -> ApiCall[dict[str, Any]]:
    """Read what was saved: ``group_by="model"``, ``to=...`` and the other parameters of ``/admin/report``."""
    headers = {"x-turnfold-admin-token": admin_token}
    return ApiCall("GET", "/admin/report", _OBJECT.validate_python, headers=headers, query=query)


def _state_path(conversation: str) -> str:
    return f"/v1/state/{_quoted('conversation', conversation)}"


def state(conversation: str) -> ApiCall[dict[str, Any]]:
    """Read state, checkpoint, pending prompt and block of a conversation."""
    return ApiCall("GET", _state_path(conversation), _OBJECT.validate_python)


def set_state(conversation: str, state_or_checkpoint: Mapping[str, Any]) -> ApiCall[dict[str, Any]]:
    """Set the state of a conversation for all messages to come."""
    return ApiCall("PUT", _state_path(conversation), _OBJECT.validate_python, dict(state_or_checkpoint))


def _deleted_state(body: Any) -> None:
    _OBJECT.validate_python(body)


def delete_state(conversation: str) -> ApiCall[None]:
    """Delete a state that was set. The state follows from the messages again."""
    return ApiCall("DELETE", _state_path(conversation), _deleted_state)


def preview_state(
    user_input: str,
    *,
    conversation: str | None = None,
    state: Mapping[str, Any] | None = None,
    checkpoint: Mapping[str, Any] | None = None,
    messages: Sequence[Mapping[str, Any]] | None = None,
    with_preprocessor: bool = False,
) -> ApiCall[dict[str, Any]]:
    """See what a message would do to a state, without changing anything.

    The state is that of a conversation, a given one, or the one that messages lead to; give at most one of them.
    """
    start = _without_none(
        conversation=conversation, state=state, checkpoint=checkpoint, messages=None if messages is None else list(messages)
    )
    body = {"input": user_input, "with_preprocessor": with_preprocessor, **start}
    return ApiCall("POST", "/v1/state/preview", _OBJECT.validate_python, body)


def _forgotten(body: Any) -> int:
    return WindowsForgotten.model_validate(body).forgotten


def _cleared(body: Any) -> int:
    return CacheCleared.model_validate(body).cleared


def _windows(body: Any) -> list[LearnedWindow]:
    return LearnedWindows.model_validate(body).windows


def windows() -> ApiCall[list[LearnedWindow]]:
    """List the context windows that Turnfold learned from your requests."""
    return ApiCall("GET", "/v1/windows", _windows)


def forget_windows(*, upstream: str | None = None, model: str | None = None) -> ApiCall[int]:
    """Forget learned windows: those of an upstream, of a model, or all. Returns the number of deleted records."""
    return ApiCall("DELETE", "/v1/windows", _forgotten, query=_without_none(upstream=upstream, model=model))


def cache_stats() -> ApiCall[CacheStats]:
    """Read the figures of the compression cache."""
    return ApiCall("GET", "/v1/cache/stats", CacheStats.model_validate)


def clear_cache() -> ApiCall[int]:
    """Empty the compression cache. Returns the number of deleted results."""
    return ApiCall("POST", "/v1/cache/clear", _cleared)
