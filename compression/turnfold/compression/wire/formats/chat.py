"""Chat completions: ``POST /v1/chat/completions``.

This is the one place that knows this format's keys: it reads a body into a conversation and writes changes back into its bytes.
What changes, and why, is decided in ``fold``.

The format's facts (roles, parts, what a token count adds per message) are those of OpenAI's specification and its cookbook
"How to count tokens"; provider extensions are carried, never interpreted beyond the seals named here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from turnfold.compression import tokens
from turnfold.compression.errors import FoldRejected, is_whole
from turnfold.compression.memo import Memo, digest
from turnfold.compression.wire.bare_parts import BarePart, bare_parts
from turnfold.compression.wire.bodies import Layout, is_plainly_typed, read_body
from turnfold.compression.wire.cache_marks import cut_marks, has_mark, mark_of
from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.content_edits import PartForm, replace_text, write_parts
from turnfold.compression.wire.conversation import Conversation, Place, Wire
from turnfold.compression.wire.edits import Edit
from turnfold.compression.wire.formats.chat_reply import reply
from turnfold.compression.wire.gathering import gather
from turnfold.compression.wire.media import attachment, media_tokens
from turnfold.compression.wire.message import Attachment, Call, Message, Path, Text, full_text
from turnfold.compression.wire.readable import holds_something, readable_tokens
from turnfold.compression.wire.spans import value_span

#: Keys that sign or seal an assistant message: the provider refuses it if a byte changes. Null and empty values count as absent:
#: SDKs write them when they store an answer.
_SEALS: Final = frozenset(
    {
        "audio",
        "encrypted_content",
        "extra_content",
        "reasoning_content",
        "reasoning_details",
        "signature",
        "thinking_blocks",
        "thought_signature",
    }
)
_SEALED_PARTS: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})
#: Keys of messages that hold no parts, or are read as what they are; and those of parts that are no text.
_READ_KEYS: Final = frozenset({"role", "name", "content", "refusal", "tool_calls", "tool_call_id", "function_call", *_SEALS})
_MEDIA: Final = frozenset({"image_url", "input_audio", "file", "video_url"})
_SPEAKING: Final = frozenset({"user", "assistant"})
_UNREAD_PARTS: Final = frozenset({"refusal", *_SEALED_PARTS})
_SPOKEN_PARTS: Final = frozenset({"text", *_UNREAD_PARTS})
_DETAILS: Final = ("reasoning_details", "thinking_blocks")
_MARKS: Final = ("cache_control", "prompt_cache_breakpoint")
_SCHEMA: Final = ("tools", "functions", "response_format")
_OVERHEAD: Final = 3  # tokens of a message's frame
_OUTPUT: Final = ("max_completion_tokens", "max_tokens")
#: Top-level keys whose values are needed; for the others, only the text is stored.
_SETTINGS: Final = frozenset({"model", "n", "stream", "stream_options", "prompt_cache_key", "metadata", *_OUTPUT})


# ---------------------------------------------------------------- reading


def read(body: bytes, memo: Memo) -> Conversation:
    """Read a chat-completions body.

    Raises:
        FoldRejected: "unparsable" when the body is not a JSON object in strict UTF-8, is nested too deeply, names a key twice, or
            when its messages are not a list of objects that each have a role. Such a body is sent upstream unchanged.
    """
    text, found = read_body(body, _LAYOUT, memo)
    members = found.members
    settings = {key: members[key][0] for key in members if key in _SETTINGS}
    model = settings.get("model")
    return Conversation(
        CHAT,
        text,
        gather(found.elements, "chat", memo),
        found.spans,
        model=model if isinstance(model, str) else "",
        schema="".join(text[start:end] for key, (_, start, end) in members.items() if key in _SCHEMA),
        output=next((size for key in _OUTPUT if is_whole(size := settings.get(key), 1)), None),
        streams=settings.get("stream") is True,
        keys=tuple(members),
        settings=settings,
        history=members["messages"][1:],
        encoded=body,
    )


def _message(raw: str, data: Any, memo: Memo) -> Message:
    if not isinstance(data, dict) or not isinstance(data.get("role"), str):
        raise FoldRejected("unparsable")
    name = digest(raw)
    return memo.get(("message", name), lambda: _parse(raw, name, data, memo), lambda m: 1000 + 4 * len(m.raw))


_LAYOUT: Final = Layout("chat", "messages", _SETTINGS, _message, lambda m: 300 + 2 * len(m.raw))


def _parse(raw: str, name: bytes, data: Mapping[str, Any], memo: Memo) -> Message:
    """The message with this JSON text; `name` is its digest."""
    content = data.get("content")
    if data.keys() == _PLAIN_KEYS and content.__class__ is str:
        return _plain_message(raw, name, data["role"], content, memo)
    if not is_plainly_typed(data):
        raise FoldRejected("unparsable")
    texts = tuple(_content_texts(content))
    calls = tuple(_calls_with_places(data))
    own = "\n".join(t.text for t in texts)
    text = full_text(own, (call for call, _ in calls))
    parts = content if isinstance(content, list) else []
    speaker = data.get("name")
    other = _OVERHEAD + media_tokens(parts) + _unseen_tokens(data)
    other += 1 + tokens.count(speaker) if isinstance(speaker, str) else 0
    bare = cut_marks(raw, _MARKS)
    return Message(
        raw=raw,
        key=name if bare is raw else digest(bare),
        role=data["role"],
        texts=texts,
        arguments=tuple(t for _, t in calls),
        own=own,
        text=text,
        tokens=tokens.count_with_tail(text, memo) + other,
        other_tokens=other,
        holds=bool(own.strip()) or bool(parts),
        keys=frozenset(data),
        call_ids=tuple(_call_ids(data)),
        calls=tuple(call for call, _ in calls),
        answers=data["tool_call_id"] if isinstance(data.get("tool_call_id"), str) else None,
        name=speaker if isinstance(speaker, str) and data["role"] in _SPEAKING else "",
        is_list=isinstance(content, list),
        sealed=is_sealed(data),
        marked=any(isinstance(p, dict) and has_mark(p, _MARKS) for p in [data, *parts]),
        has_calls=bool(data.get("tool_calls") or data.get("function_call")),
        attached=(*_attached(parts), *_own_audio(data), *_beside_content(data)),
        sole=_sole(content),
        takes_mark=bool(parts) and _takes_mark(parts[-1]),
    )


_PLAIN_KEYS: Final = frozenset({"role", "content"})


def _plain_message(raw: str, name: bytes, role: str, text: str, memo: Memo) -> Message:
    """A message with only a role and a text, the usual kind: the same result in a third of the time."""
    return Message(
        raw=raw,
        key=name,
        role=role,
        texts=(Text(("content",), text),),
        own=text,
        text=text,
        tokens=tokens.count_with_tail(text, memo) + _OVERHEAD,
        other_tokens=_OVERHEAD,
        holds=bool(text) and not text.isspace(),
        keys=_PLAIN_KEYS,
        is_list=False,
        marked=False,
        attached=(),
        sole=text,
    )


def _takes_mark(part: Any) -> bool:
    return isinstance(part, dict) and str(part.get("text") or "").strip() != "" and not any(mark in part for mark in _MARKS)


def _sole(content: Any) -> str | None:
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict) and content[0].get("type") == "text":
        content = content[0].get("text")
    return content if isinstance(content, str) else None


def _content_texts(content: Any) -> Iterator[Text]:
    if isinstance(content, str):
        yield Text(("content",), content)
    elif isinstance(content, list):
        for i, part in enumerate(content):
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield Text(("content", i, "text"), part["text"])


def _attached(parts: Sequence[Any]) -> Iterator[Attachment]:
    """Parts that are not text. Reasoning does not count, and a refusal is text."""
    for i, part in enumerate(parts):
        if not isinstance(part, dict) or isinstance(part.get("text"), str) or part.get("type") in _SPOKEN_PARTS:
            continue
        yield attachment(("content", i), part)


def _own_audio(data: Mapping[str, Any]) -> Iterator[Attachment]:
    """An assistant's spoken answer: its id, usually without text."""
    audio = data.get("audio")
    if isinstance(audio, dict) and holds_something(audio):
        yield attachment(("audio",), {"type": "audio", "audio": {**audio, "filename": audio.get("id")}})


def _beside_content(data: Mapping[str, Any]) -> Iterator[Attachment]:
    """Parts under keys of their own: pictures that a model made, files that a gateway has read (OpenRouter)."""
    for key in (key for key in data if key not in _READ_KEYS):  # in the message's order, which a set would not keep
        parts = data[key] if isinstance(data[key], list) else []
        yield from (attachment((key, i), part) for i, part in enumerate(parts) if isinstance(part, dict) and _MEDIA & part.keys())


def _calls_with_places(data: Mapping[str, Any]) -> Iterator[tuple[Call, Text]]:
    """Calls with arguments, and the position of these."""
    calls = data.get("tool_calls")
    for i, call in enumerate(calls if isinstance(calls, list) else []):
        for kind, field in (("function", "arguments"), ("custom", "input")):
            body = call.get(kind) if isinstance(call, dict) else None
            if isinstance(body, dict) and isinstance(body.get(field), str):
                named = call["id"] if isinstance(call.get("id"), str) else ""
                path = ("tool_calls", i, kind, field)
                yield Call(named, str(body.get("name", "")), body[field]), Text(path, body[field], is_json=kind == "function")
    old = data.get("function_call")
    if isinstance(old, dict) and isinstance(old.get("arguments"), str):
        yield (
            Call("", str(old.get("name", "")), old["arguments"]),
            Text(("function_call", "arguments"), old["arguments"], is_json=True),
        )


def _call_ids(data: Mapping[str, Any]) -> Iterator[str]:
    calls = data.get("tool_calls")
    yield from (
        c["id"] for c in (calls if isinstance(calls, list) else []) if isinstance(c, dict) and isinstance(c.get("id"), str)
    )


def _unseen_tokens(data: Mapping[str, Any]) -> int:
    """Tokens that a provider reads but a fold never touches: plain reasoning, refusals."""
    plain = sum(tokens.count(data[k]) for k in ("reasoning_content", "reasoning", "refusal") if isinstance(data.get(k), str))
    content = data.get("content")
    parts = [p for p in (content if isinstance(content, list) else []) if isinstance(p, dict)]
    inside = readable_tokens([p for p in parts if p.get("type") in _UNREAD_PARTS and not isinstance(p.get("text"), str)])
    # Clients send the same reasoning in several forms.
    return max(plain, *(readable_tokens(data.get(key)) for key in _DETAILS)) + inside


def is_sealed(data: Mapping[str, Any]) -> bool:
    """Whether a message is signed, or carries encrypted reasoning or parts beside its content: whole or gone, never edited."""
    if any(_beside_content(data)):
        return True
    if data["role"] != "assistant":
        return False
    content = data.get("content")
    parts = content if isinstance(content, list) else []
    calls = data.get("tool_calls")
    inside = [p for p in [*parts, *(calls if isinstance(calls, list) else [])] if isinstance(p, dict)]
    if any(holds_something(d.get(k)) for d in [data, *inside] for k in _SEALS):
        return True
    return any(p.get("type") in _SEALED_PARTS and holds_something(p) for p in inside)


# ---------------------------------------------------------------- writing


def _replacement(message: Message, path: Path, text: str) -> Edit:
    """Replace a text, or a whole part, which keeps its cache mark."""
    known: tuple[str, Edit] | None = message.written.get(path)
    if known is None or known[0] != text:
        start, end = value_span(message.raw, path)
        mark = mark_of(message.raw[start:end], _MARKS)
        known = message.written[path] = (text, replace_text(message.raw, (start, end), text, "text", mark))
    return known[1]


def _content_place(message: Message) -> Place:
    found: Place | None = message.written.get("content")
    if found is None:
        found = message.written["content"] = value_span(message.raw, ("content",))
    return found


def write(conversation: Conversation, changes: Changes) -> list[Edit]:
    """The edits of the body's text that make the changes."""
    return write_parts(conversation, changes, _FORM)


_FORM: Final = PartForm(_MARKS, "text", _replacement, _content_place)


# ---------------------------------------------------------------- fingerprints


def unmarked(conversation: Conversation) -> bytes:
    """The messages' JSON, normalised for comparison: if there are cache marks, without marks and with content as a list of texts.

    Marks move from request to request, and a string becomes a list of parts to carry one; caches do not count that as a change.
    """
    if conversation.messages.marked:
        return b"".join([piece for _, piece in unmarked_pieces(conversation, 0)])
    return conversation.encoded_history


def unmarked_pieces(conversation: Conversation, begin: int) -> Iterator[tuple[int, bytes]]:
    """The messages from one on, each without its marks, with the index of the next one."""
    yield from ((end, _unmarked(m.raw)) for end, m in enumerate(conversation.messages[begin:], begin + 1))


def _unmarked(raw: str) -> bytes:
    """A message with its content first."""
    try:
        message = orjson.loads(raw)
    except orjson.JSONDecodeError:  # a lone surrogate: a fingerprint of the original text is good enough
        return raw.encode("utf-8")
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    rest = {key: value for key, value in message.items() if key not in ("content", *_MARKS)}
    return orjson.dumps([message.get("role"), [_bare(part) for part in parts], rest])


def parts_of(conversation: Conversation, index: int) -> Iterator[BarePart]:
    """The parts of a message."""
    message = orjson.loads(conversation.messages[index].raw)
    content = message.get("content")
    bare = [_bare(part) for part in content] if isinstance(content, list) else [content]
    return bare_parts(orjson.dumps([message.get("role")])[:-1] + b",[", content, bare, _MARKS)


def _bare(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    return part["text"] if "text" in part else {key: value for key, value in part.items() if key not in _MARKS}


#: Chat completions.
CHAT: Final = Wire("chat", read, write, unmarked, unmarked_pieces, parts_of, _MARKS, reply)
