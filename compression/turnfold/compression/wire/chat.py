"""Messages of a chat-completions request, with the bytes that they came in.

Lives here: parsing a body into messages that know their own span, what a message consists of, and what it counts. Must not:
deciding what is folded, changing a message (see ``edits``).

The wire's facts (roles, parts, what a token count adds per message) are those of OpenAI's specification and its cookbook
"How to count tokens"; provider extensions are carried, never interpreted beyond the seals named here.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import takewhile
from json.decoder import scanstring  # type: ignore[attr-defined]  # the C scanner where there is one; undocumented
from typing import Any, Final, NamedTuple

from turnfold.compression import tokens
from turnfold.compression.errors import FoldRejected
from turnfold.compression.memo import Memo, digest
from turnfold.compression.wire.media import media_tokens

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_SCAN: Final = json.JSONDecoder().scan_once  # type: ignore[attr-defined]

#: Keys that sign or seal an assistant message: the provider refuses it when a byte of it changed.
_SEALS: Final = frozenset(
    {"reasoning_details", "thinking_blocks", "signature", "encrypted_content", "thought_signature", "reasoning_content", "audio"}
)
_SEALED_PARTS: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})
_MARKS: Final = ("cache_control", "prompt_cache_breakpoint")
_PINNED: Final = frozenset({"system", "developer"})
_RESULTS: Final = frozenset({"tool", "function"})


#: What was scanned, and where it begins and ends.
_Value = tuple[Any, int, int]


@dataclass(frozen=True, slots=True)
class Text:
    """A text inside a message that a fold may shorten.

    Attributes:
        path: where it stands: ("content",), ("content", 0, "text"), ("tool_calls", 0, "function", "arguments").
        text: the text itself.
    """

    path: tuple[str | int, ...]
    text: str


#: New texts of one message by their paths.
Texts = Mapping[tuple[str | int, ...], str]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: its id ("" where it has none), the tool's name, its arguments as written."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message; two messages of equal `raw` are equal in everything.

    Attributes:
        raw: its JSON text as received.
        key: content digest of `raw`.
        role: its role, "" when it has none.
        texts: the text parts of its content, in order.
        arguments: the arguments of its tool calls, in order.
        own: its content's text, parts joined by a newline.
        text: `own` with the tool calls' names and arguments behind it: what recall and summaries read.
        tokens: its tokens by the border counter, overhead included.
        other_tokens: those of them that are not tokens of `text`.
        holds: whether text can be put beside its content: a text that is not blank, or a list with a part in it.
        keys: its keys.
        calls: ids of the tool calls that it makes.
        called: the calls themselves.
        answers: the id of the tool call that it answers, if it does.
        is_list: whether its content is a list of parts.
        sealed: whether it is signed or carries encrypted reasoning: whole or gone, never edited.
        marked: whether a part of it carries a cache mark of the client's.
        has_calls: whether it calls tools.
    """

    raw: str
    key: bytes
    role: str
    texts: tuple[Text, ...]
    arguments: tuple[Text, ...]
    own: str
    text: str
    tokens: int
    other_tokens: int
    holds: bool
    keys: frozenset[str]
    calls: tuple[str, ...]
    called: tuple[Call, ...]
    answers: str | None
    is_list: bool
    sealed: bool
    marked: bool
    has_calls: bool

    @property
    def pinned(self) -> bool:
        """Whether it is verbatim for ever: system and developer messages."""
        return self.role in _PINNED

    @property
    def is_result(self) -> bool:
        """Whether it answers a tool call and so belongs to the message before it."""
        return self.role in _RESULTS


@dataclass(frozen=True, slots=True)
class Request:
    """A parsed request.

    Attributes:
        text: the whole body as text.
        messages: the messages in order.
        spans: where each message stands in `text`.
        model: the model asked for, "" when none.
        schema: JSON text of tools, functions and response format: tokens that no fold can save.
    """

    text: str
    messages: tuple[Message, ...]
    spans: tuple[tuple[int, int], ...]
    model: str
    schema: str


def parse_request(body: bytes, memo: Memo) -> Request:
    """Parse a chat-completions body.

    Raises:
        FoldRejected: "unparsable" when the body is not a JSON object in strict UTF-8, is nested too deeply, names a key twice, or
            when its messages are not a list of objects that each have a role. Such a body goes upstream as it came.
    """
    try:
        text = body.decode("utf-8")
        marks = _marks(body)
        known = next((found for mark in marks if (found := memo.find(mark.name)) is not None), _NOTHING_KNOWN)
        found, elements = _scanned(text, known)
        if "messages" not in found or _skip(text, max(end for _, _, end in found.values()), "}") != len(text):
            raise FoldRejected("unparsable")
        model = found.get("model", ("", 0, 0))[0]
        schema = "".join(
            text[start:end] for k, (_, start, end) in found.items() if k in ("tools", "functions", "response_format")
        )
        messages = known.messages + tuple(_message(text[start:end], value, memo) for value, start, end in elements)
    except (ValueError, RecursionError) as exc:  # the ways in which the scanner gives up
        raise FoldRejected("unparsable") from exc
    spans = known.spans + tuple((s, e) for _, s, e in elements)
    if marks and len(messages) > len(known.messages):
        _keep(marks[0], _Known(_before_messages(found), messages, spans), body, memo)
    return Request(text, messages, spans, model if isinstance(model, str) else "", schema)


@dataclass(frozen=True, slots=True)
class _Known:
    """What was read of a body's beginning: members in front of the messages, and the messages that end in it."""

    members: Mapping[str, _Value]
    messages: tuple[Message, ...]
    spans: tuple[tuple[int, int], ...]


class _Mark(NamedTuple):
    """A place in a body, and the name under which is kept what stands before it."""

    at: int
    name: tuple[str, bytes]


_NOTHING_KNOWN: Final = _Known({}, (), ())
_STEP: Final = 32768  # bytes between two marks
_MARKS_TRIED: Final = 3


def _marks(body: bytes) -> list[_Mark]:
    """The last places at which an earlier request of the conversation may have left what it had read, the latest first.

    A mark stands at a multiple of `_STEP` and is named by all bytes before it: what was read there is what would be read again.
    """
    last = len(body) // _STEP
    found: list[_Mark] = []
    hashed, view, at = blake2b(digest_size=16), memoryview(body), 0
    for number in range(max(1, last - _MARKS_TRIED + 1), last + 1):
        hashed.update(view[at : (at := number * _STEP)])
        found.append(_Mark(at, ("read", hashed.digest())))
    return found[::-1]


def _keep(mark: _Mark, read: _Known, body: bytes, memo: Memo) -> None:
    """Leave for the next request of the conversation what ends before a mark."""
    end = len(body[: mark.at].decode("utf-8", "ignore"))
    count = bisect_right(read.spans, end, key=lambda span: span[1])
    if count:
        kept = _Known(read.members, read.messages[:count], read.spans[:count])
        memo.get(mark.name, lambda: kept, lambda known: 1000 + sum(300 + 2 * len(m.raw) for m in known.messages))


def _before_messages(found: Mapping[str, _Value]) -> dict[str, _Value]:
    """The members that stand in front of the messages; of their values only the model's name is ever asked for."""
    before = takewhile(lambda member: member[0] != "messages", found.items())
    return {key: (value if key == "model" else None, start, end) for key, (value, start, end) in before}


def _scanned(text: str, known: _Known) -> tuple[dict[str, _Value], list[_Value]]:
    """The members of a body, and those of its messages that are not known; the array of messages is no value of its own."""
    found = dict(known.members)
    elements: list[_Value] = []
    at, after = 0, False
    if known.spans:
        elements, at = _array(text, known.spans[-1][1], after=True)
        found["messages"], after = (None, 0, at), True
    for key, value in _unique(found, _members(text, at, after=after, scan=_scan_but_messages)):
        found[key] = value
        if key == "messages":
            elements = value[0]
    return found, elements


def _scan_but_messages(key: str, text: str, at: int) -> tuple[Any, int]:
    return _array(text, at) if key == "messages" else _value(key, text, at)


def _array(text: str, at: int, *, after: bool = False) -> tuple[list[_Value], int]:
    """The elements of an array, and where it ends."""
    elements = list(_elements(text, at, after=after))
    last = elements[-1][2] if elements else at if after else _skip(text, at, "[")
    return elements, _skip(text, _past_comma(text, last, "]") if elements or after else last, "]")


def _skip(text: str, at: int, expected: str = "") -> int:
    """Past white space; past `expected` too and the white space behind it, where it is asked for."""
    at = _SPACE.match(text, at).end()  # type: ignore[union-attr]  # matches the empty string
    if not expected:
        return at
    if text[at : at + 1] != expected:
        raise ValueError(f"expected {expected} at {at}")
    return _SPACE.match(text, at + 1).end()  # type: ignore[union-attr]


def _value(_key: str, text: str, at: int) -> tuple[Any, int]:
    """The value that begins at `at`, and where it ends."""
    try:
        return _SCAN(text, at)  # type: ignore[no-any-return]
    except StopIteration as exc:  # which no generator may raise
        raise ValueError(f"expected a value at {at}") from exc


def _members(
    text: str, at: int, *, after: bool = False, scan: Callable[[str, str, int], tuple[Any, int]] = _value
) -> Iterator[tuple[str, _Value]]:
    """Members of the object that begins at `at`: key, then value with its span; the rest of them where one ends `after` `at`."""
    at = _past_comma(text, at, "}") if after else _skip(text, at, "{")
    while text[at : at + 1] != "}":
        if text[at : at + 1] != '"':
            raise ValueError(f"expected a key at {at}")
        key, at = scanstring(text, at + 1, True)
        at = _skip(text, at, ":")
        value, end = scan(key, text, at)
        yield key, (value, at, end)
        at = _past_comma(text, end, "}")


def _elements(text: str, at: int, *, after: bool = False) -> Iterator[_Value]:
    """Elements of the array that begins at `at`, each with its span; the rest of them where one ends `after` `at`."""
    at = _past_comma(text, at, "]") if after else _skip(text, at, "[")
    while text[at : at + 1] != "]":
        value, end = _value("", text, at)
        yield value, at, end
        at = _past_comma(text, end, "]")


def _past_comma(text: str, at: int, closing: str) -> int:
    """From the end of a member to the next one, or to the bracket that closes them all."""
    at = _skip(text, at)
    comma = text[at : at + 1] == ","
    at = _skip(text, at + 1) if comma else at
    if (text[at : at + 1] == closing) is comma:
        raise ValueError(f"expected {'more' if comma else f', or {closing}'} at {at}")
    return at


def _unique(known: Iterable[str], members: Iterator[tuple[str, _Value]]) -> Iterator[tuple[str, _Value]]:
    seen = set(known)
    for key, value in members:
        if key in seen:
            raise ValueError(f"key {key!r} stands twice")
        seen.add(key)
        yield key, value


def value_span(raw: str, path: tuple[str | int, ...]) -> tuple[int, int]:
    """Where the value at `path` stands in a message's JSON text; of a key named twice the last, as parsers take it.

    Raises:
        FoldRejected: "unparsable" when there is no such path.
    """
    start, end = 0, len(raw)
    for step in path:
        found: _Value | None = None
        if isinstance(step, str):
            for key, value in _members(raw, start):
                found = value if key == step else found
        else:
            found = next((v for i, v in enumerate(_elements(raw, start)) if i == step), None)
        if found is None:
            raise FoldRejected("unparsable")
        start, end = found[1], found[2]
    return start, end


def _message(raw: str, data: Any, memo: Memo) -> Message:
    if not isinstance(data, dict) or not isinstance(data.get("role"), str):
        raise FoldRejected("unparsable")
    key = digest(raw)
    return memo.get(("message", key), lambda: _read(raw, key, data), lambda m: 1000 + 4 * len(m.raw))


def _read(raw: str, key: bytes, data: Mapping[str, Any]) -> Message:
    content = data.get("content")
    texts = tuple(_content_texts(content))
    called = tuple(_called(data))
    own = "\n".join(t.text for t in texts)
    spoken = [f"{call.name} {call.arguments}" for call, _ in called]
    text = "\n".join([own, *spoken] if own or not spoken else spoken)
    parts = content if isinstance(content, list) else []
    name = data.get("name")
    other = 3 + media_tokens(parts) + (1 + tokens.count(name) if isinstance(name, str) else 0) + _unseen_tokens(data)
    return Message(
        raw=raw,
        key=key,
        role=data["role"],
        texts=texts,
        arguments=tuple(t for _, t in called),
        own=own,
        text=text,
        tokens=tokens.count(text) + other,
        other_tokens=other,
        holds=bool(own.strip()) or bool(parts),
        keys=frozenset(data),
        calls=tuple(_call_ids(data)),
        called=tuple(call for call, _ in called),
        answers=data["tool_call_id"] if isinstance(data.get("tool_call_id"), str) else None,
        is_list=isinstance(content, list),
        sealed=is_sealed(data),
        marked=any(isinstance(p, dict) and any(m in p for m in _MARKS) for p in [data, *parts]),
        has_calls=bool(data.get("tool_calls") or data.get("function_call")),
    )


def _content_texts(content: Any) -> Iterator[Text]:
    if isinstance(content, str):
        yield Text(("content",), content)
    elif isinstance(content, list):
        for i, part in enumerate(content):
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield Text(("content", i, "text"), part["text"])


def _called(data: Mapping[str, Any]) -> Iterator[tuple[Call, Text]]:
    """Calls that have arguments, with the place of these."""
    calls = data.get("tool_calls")
    for i, call in enumerate(calls if isinstance(calls, list) else []):
        for kind, field in (("function", "arguments"), ("custom", "input")):
            body = call.get(kind) if isinstance(call, dict) else None
            if isinstance(body, dict) and isinstance(body.get(field), str):
                named = call["id"] if isinstance(call.get("id"), str) else ""
                yield Call(named, str(body.get("name", "")), body[field]), Text(("tool_calls", i, kind, field), body[field])
    old = data.get("function_call")
    if isinstance(old, dict) and isinstance(old.get("arguments"), str):
        yield Call("", str(old.get("name", "")), old["arguments"]), Text(("function_call", "arguments"), old["arguments"])


def _call_ids(data: Mapping[str, Any]) -> Iterator[str]:
    calls = data.get("tool_calls")
    yield from (
        c["id"] for c in (calls if isinstance(calls, list) else []) if isinstance(c, dict) and isinstance(c.get("id"), str)
    )


def _unseen_tokens(data: Mapping[str, Any]) -> int:
    """Tokens of what a provider reads but a fold never touches: reasoning in the clear, refusals."""
    return sum(tokens.count(data[k]) for k in ("reasoning_content", "reasoning", "refusal") if isinstance(data.get(k), str))


def is_sealed(data: Mapping[str, Any]) -> bool:
    """Whether a message is signed or carries encrypted reasoning: whole or gone, never edited."""
    if data["role"] != "assistant":
        return False
    content = data.get("content")
    parts = content if isinstance(content, list) else []
    calls = data.get("tool_calls")
    inside = [p for p in [*parts, *(calls if isinstance(calls, list) else [])] if isinstance(p, dict)]
    return (
        any(k in d for d in [data, *inside] for k in _SEALS)
        or any(p.get("type") in _SEALED_PARTS for p in inside)
        or any("extra_content" in c for c in [data, *inside])
    )
