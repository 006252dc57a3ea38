"""Anthropic's messages: ``POST /v1/messages``.

Lives here: the one place that knows this format's keys: a body is read into a conversation, and changes are written back into its
bytes. Does not belong here: what is changed, and why.

The format's facts are those of Anthropic's API reference ("Messages") and its guides on tool use, extended thinking and prompt
caching. A user's message may hold the results of tools in front of its own blocks: each result is a message here, and so is the
run of the other blocks. Blocks of unknown kinds are carried: an assistant's message that holds one is whole or gone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final

import orjson

from turnfold.compression import tokens
from turnfold.compression.errors import FoldRejected
from turnfold.compression.memo import Memo, digest
from turnfold.compression.wire.bodies import Layout, is_plainly_typed, read_body
from turnfold.compression.wire.chat_reply import JSON_TYPE, STREAM_TYPE
from turnfold.compression.wire.conversation import (
    Attachment,
    Beside,
    Call,
    Changes,
    Conversation,
    Message,
    MessageGroup,
    OwnReply,
    Path,
    Place,
    Reasoning,
    Text,
    Texts,
    Wire,
)
from turnfold.compression.wire.edits import Edit, apply, json_string, shift
from turnfold.compression.wire.media import source_attachment, source_tokens
from turnfold.compression.wire.messages_reply import MessageReply, stream, whole
from turnfold.compression.wire.removal import entry_removals, removals
from turnfold.compression.wire.spans import Value, elements, members, skip, value_span

_MARK: Final = "cache_control"
_RESULT: Final = "tool_result"
#: Blocks of an assistant that sign what it thought; redacted ones are signed as a whole.
_REASONING: Final = frozenset({"thinking", "redacted_thinking"})
#: Blocks that an assistant's message may hold and still be edited; with any other (server tools, what is not known) it is sealed.
_OPEN: Final = frozenset({"text", "tool_use"})
#: Blocks of a result that may be edited, or left out; with any other it is sealed.
_RESULT_BLOCKS: Final = frozenset({"text", "image", "document", "search_result"})
#: Of an assistant's blocks the one that stands for all before it: it never goes.
_COMPACTION: Final = "compaction"  # an attachment of an assistant's message is always one
_SCHEMA: Final = ("tools", "output_config", "output_format")
#: Top-level keys whose values are asked for; of the others only the text is.
_KEPT: Final = frozenset({"model", "stream", "max_tokens", "system"})
_OVERHEAD: Final = 3  # tokens of a message's frame, as on the other wires

Block = Mapping[str, Any]


# ---------------------------------------------------------------- reading


@dataclass(frozen=True, slots=True)
class _Element:
    """What an element of the body's array holds: its messages, and where they stand from its first character on."""

    messages: tuple[Message, ...]
    places: tuple[Place, ...]
    grouped: bool = False


def read(body: bytes, memo: Memo) -> Conversation:
    """Read a body of the messages API.

    Raises:
        FoldRejected: "unparsable" when the body is not a JSON object in strict UTF-8, is nested too deeply, names a key twice, or
            when its messages are not a list of objects that each have a role and a content. Such a body goes upstream as it came.
    """
    text, found = read_body(body, _LAYOUT, memo)
    members = found.members
    values = {key: members[key][0] for key in members if key in _KEPT}
    system = [_system(text, members["system"], memo)] if values.get("system") is not None else []
    messages, spans, groups = [m for m, _ in system], [place for _, place in system], []
    for element, (start, end) in zip(found.elements, found.spans, strict=True):
        if element.grouped:
            groups.append(MessageGroup((start, end), len(messages), len(messages) + len(element.messages)))
        messages += element.messages
        spans += [(start + a, start + b) for a, b in element.places]
    compacted = 1 + max((i for i, m in enumerate(messages) if m.role == "assistant" and m.attached), default=-1)
    messages[:compacted] = [replace(m, key=m.key + b"fixed", fixed=True) for m in messages[:compacted]]
    model, output = values.get("model"), values.get("max_tokens")
    return Conversation(
        MESSAGES,
        text,
        tuple(messages),
        tuple(spans),
        model=model if isinstance(model, str) else "",
        schema="".join(text[start:end] for key, (_, start, end) in members.items() if key in _SCHEMA),
        output=output if isinstance(output, int) and not isinstance(output, bool) and output > 0 else None,
        streams=values.get("stream") is True,
        keys=tuple(members),
        settings={key: value for key, value in values.items() if key != "system"},
        history=members["messages"][1:],
        groups=tuple(groups),
        marked_at_end=_MARK in members,
        held="server-history" if "context_management" in members and _compacts(text, members["context_management"]) else "",
    )


def _compacts(text: str, member: Value) -> bool:
    """Whether the provider is to summarise what stands in front (beta "compact"): nothing of that may be missing."""
    _, start, end = member
    return '"compact' in text[start:end]


def _system(text: str, member: tuple[Any, int, int], memo: Memo) -> tuple[Message, Place]:
    """The system text as a message that is never changed."""
    content, start, end = member
    if not _is_content(content) or not is_plainly_typed(content):
        raise FoldRejected("unparsable")
    raw = text[start:end]
    key = digest(raw, "system")
    return memo.get(("system", key), lambda: _spoken(raw, key, "system", content, ()), _weigh_message), (start, end)


def _weigh_message(message: Message) -> int:
    return 1000 + 4 * len(message.raw)


def _element(raw: str, data: Any, memo: Memo) -> _Element:
    """An element of the array of messages."""
    if not isinstance(data, dict) or not isinstance(data.get("role"), str) or not _is_content(data.get("content")):
        raise FoldRejected("unparsable")
    key = digest(raw)
    return memo.get(("blocks", key), lambda: _parse(raw, data), _weigh)


def _weigh(element: _Element) -> int:
    return sum(map(_weigh_message, element.messages))


def _is_content(content: object) -> bool:
    return isinstance(content, str) or (isinstance(content, list) and all(isinstance(block, dict) for block in content))


_LAYOUT: Final = Layout("messages", "messages", _KEPT, _element, lambda e: 300 + sum(2 * len(m.raw) for m in e.messages))


def _parse(raw: str, data: Mapping[str, Any]) -> _Element:
    if not is_plainly_typed(data):
        raise FoldRejected("unparsable")
    role, content = data["role"], data["content"]
    values = list(elements(raw, value_span(raw, ("content",))[0])) if isinstance(content, list) else []
    key = digest(_cut_marks(raw, values))
    if role == "assistant":
        return _Element((_assistant(raw, key, data),), ((0, len(raw)),))
    if role == "user" and any(block.get("type") == _RESULT for block in _blocks(content)):
        return _user_with_results(raw, data, values)
    return _Element((_spoken(raw, key, role, content, ("content",), frozenset(data)),), ((0, len(raw)),))


def _cut_marks(raw: str, blocks: Sequence[Value]) -> str:
    """A message's JSON text without the cache marks of its blocks: as the same client writes it without them."""
    return apply(raw, _mark_cuts(raw, blocks)) if f'"{_MARK}"' in raw else raw


def _mark_cuts(raw: str, blocks: Sequence[Value]) -> Iterator[Edit]:
    for block, start, _ in blocks:
        found = list(members(raw, start))
        for i, (key, (data, begin, end)) in enumerate(found):
            if key == _MARK and i:
                yield Edit(found[i - 1][1][2], end, "")
            elif key == _MARK:
                behind = skip(raw, end)
                yield Edit(start + 1, skip(raw, behind, ",") if raw[behind] == "," else end, "")
            elif key == "content" and block.get("type") == _RESULT and _is_content(data) and isinstance(data, list):
                yield from _mark_cuts(raw, list(elements(raw, begin)))


def _blocks(content: Any) -> Sequence[Any]:
    return content if isinstance(content, list) else ()


def _user_with_results(raw: str, data: Mapping[str, Any], content: Sequence[Value]) -> _Element:
    """A user's message as one message per result, and one per run of other blocks."""
    messages, places = [], []
    for result, run in groupby(content, key=lambda value: value[0].get("type") == _RESULT):
        found = list(run)
        for values in [[one] for one in found] if result else [found]:
            start, end = values[0][1], values[-1][2]
            text, blocks = raw[start:end], [(block, a - start, b - start) for block, a, b in values]
            key = digest(_cut_marks(text, blocks), _RESULT if result else "run")
            if result:
                messages.append(_result(text, key, blocks[0][0]))
            else:
                messages.append(_spoken(text, key, "user", [block for block, _, _ in blocks], (), frozenset(data)))
            places.append((start, end))
    return _Element(tuple(messages), tuple(places), grouped=True)


def _spoken(raw: str, key: bytes, role: str, content: Any, path: Path, keys: frozenset[str] = frozenset()) -> Message:
    """A message of the user's, or a system text; `path` leads to its content, () where `raw` is that."""
    blocks = _blocks(content)
    texts = tuple(_texts(path, content))
    attached = tuple(source_attachment((*path, i), block) for i, block in enumerate(blocks) if not _says(block))
    own = "\n".join(t.text for t in texts)
    other = _OVERHEAD + sum(map(_unseen_tokens, blocks))
    return Message(
        raw=raw,
        key=key,
        role=role,
        texts=texts,
        arguments=(),
        own=own,
        text=own,
        tokens=tokens.count(own) + other,
        other_tokens=other,
        holds=bool(own.strip()) or bool(blocks),
        keys=keys,
        calls=(),
        call_ids=(),
        answers=None,
        is_list=isinstance(content, list),
        sealed=False,
        marked=any(_MARK in block for block in blocks),
        has_calls=False,
        attached=attached,
        sole=_sole(content),
    )


def _says(block: Block) -> bool:
    return isinstance(block.get("text"), str)


def _sole(content: Any) -> str | None:
    if isinstance(content, list) and len(content) == 1 and content[0].get("type") == "text":
        content = content[0].get("text")
    return content if isinstance(content, str) else None


def _texts(path: Path, content: Any) -> Iterator[Text]:
    if isinstance(content, str):
        yield Text(path, content)
    else:
        yield from (Text((*path, i, "text"), block["text"]) for i, block in enumerate(content) if _says(block))


def _unseen_tokens(block: Block) -> int:
    """Tokens of what a provider reads but a fold never touches: images, and documents in the clear beside a user's text."""
    source = block.get("source")
    held = source.get("data") if isinstance(source, dict) and source.get("type") == "text" else None
    return source_tokens(block) + (tokens.count(held) if isinstance(held, str) else 0)


def _result(raw: str, key: bytes, block: Block) -> Message:
    """A tool's result: a block as it stands."""
    content = block.get("content")
    texts = tuple(_result_texts(("content",), content))
    inside = [one for one in _blocks(content) if isinstance(one, dict)]
    attached = [(i, one) for i, one in enumerate(_blocks(content)) if isinstance(one, dict) and _is_medium(one)]
    own = "\n".join(t.text for t in texts)
    other = _OVERHEAD + sum(map(source_tokens, inside))
    answers = block.get("tool_use_id")
    return Message(
        raw=raw,
        key=key,
        role="tool",
        texts=texts,
        arguments=(),
        own=own,
        text=own,
        tokens=tokens.count(own) + other,
        other_tokens=other,
        holds=bool(own.strip()) or bool(inside),
        keys=frozenset(block),
        calls=(),
        call_ids=(),
        answers=answers if isinstance(answers, str) else None,
        is_list=isinstance(content, list),
        sealed=any(one.get("type") not in _RESULT_BLOCKS for one in inside),
        marked=any(_MARK in one for one in (block, *inside)),
        has_calls=False,
        attached=tuple(source_attachment(("content", i), one) for i, one in attached),
        sole=_sole(content) if inside or isinstance(content, str) else None,
    )


def _is_medium(block: Block) -> bool:
    return block.get("type") in ("image", "document") and not any(_result_texts((), [block]))


def _result_texts(path: Path, content: Any) -> Iterator[Text]:
    """Texts of a result: its text blocks, those inside of search results, and documents in the clear."""
    if isinstance(content, str):
        yield Text(path, content)
    for i, block in enumerate(_blocks(content)):
        if not isinstance(block, dict):
            continue
        source = block.get("source")
        if _says(block):
            yield Text((*path, i, "text"), block["text"])
        elif block.get("type") == "search_result":
            yield from _result_texts((*path, i, "content"), block.get("content"))
        elif block.get("type") == "document" and isinstance(source, dict):
            if source.get("type") == "text" and isinstance(source.get("data"), str):
                yield Text((*path, i, "source", "data"), source["data"])
            elif source.get("type") == "content":
                yield from _result_texts((*path, i, "source", "content"), source.get("content"))


def _assistant(raw: str, key: bytes, data: Mapping[str, Any]) -> Message:
    content = data["content"]
    blocks = _blocks(content)
    texts = tuple(_texts(("content",), content))
    calls = tuple(_calls(raw, blocks))
    own = "\n".join(t.text for t in texts)
    spoken = [f"{call.name} {call.arguments}" for call, _ in calls]
    text = "\n".join([own, *spoken] if own or not spoken else spoken)
    thought = sum(tokens.count(b["thinking"]) for b in blocks if isinstance(b.get("thinking"), str))
    other = _OVERHEAD + thought + sum(map(source_tokens, blocks))
    rest = [block for block in blocks if block.get("type") not in _REASONING]
    sealed = any(block.get("type") not in _OPEN or block.get("citations") for block in rest)
    reasoning = Reasoning(thought, _without(raw, blocks) if rest else "", sealed) if len(rest) < len(blocks) else None
    return Message(
        raw=raw,
        key=key,
        role="assistant",
        texts=texts,
        arguments=tuple(t for _, t in calls),
        own=own,
        text=text,
        tokens=tokens.count(text) + other,
        other_tokens=other,
        holds=bool(own.strip()) or bool(blocks),
        keys=frozenset(data),
        calls=tuple(call for call, _ in calls),
        call_ids=tuple(call.id for call, _ in calls),
        answers=None,
        is_list=isinstance(content, list),
        sealed=sealed or reasoning is not None,
        marked=any(_MARK in block for block in blocks),
        has_calls=bool(calls),
        attached=tuple(_compactions(blocks)),
        sole=_sole(content),
        reasoning=reasoning,
    )


def _compactions(blocks: Sequence[Block]) -> Iterator[Attachment]:
    for i, block in enumerate(blocks):
        if block.get("type") == _COMPACTION:
            yield Attachment(("content", i), _COMPACTION)


def _calls(raw: str, blocks: Sequence[Block]) -> Iterator[tuple[Call, Text]]:
    """Calls with the places of their inputs; the JSON text of an input is the call's arguments."""
    for i, block in enumerate(blocks):
        if block.get("type") == "tool_use" and "input" in block:
            path = ("content", i, "input")
            start, end = value_span(raw, path)
            name = block["id"] if isinstance(block.get("id"), str) else ""
            yield Call(name, str(block.get("name", "")), raw[start:end]), Text(path, raw[start:end], is_json=True)


def _without(raw: str, blocks: Sequence[Block]) -> str:
    return apply(raw, _unsign(raw, blocks))


def _unsign(raw: str, blocks: Sequence[Block]) -> list[Edit]:
    """Edits of an assistant's message that take its reasoning out; other blocks stay as they are."""
    found = elements(raw, value_span(raw, ("content",))[0])
    places = list(zip(blocks, found, strict=True))
    goes = [block.get("type") in _REASONING for block, _ in places]
    return list(entry_removals([(a, b) for _, (_, a, b) in places], goes))


# ---------------------------------------------------------------- writing


def write(conversation: Conversation, changes: Changes) -> list[Edit]:
    """The edits of the body's text that make the changes; a message's own text keeps its bytes where only its company changes."""
    messages = conversation.messages
    signed = [(i, reasoning) for i in sorted(changes.unsigned) if (reasoning := messages[i].reasoning) is not None]
    gone = {i for start, end in changes.dropped for i in range(start, end)}
    gone |= {i for i, reasoning in signed if not reasoning.bare}
    out = list(removals(conversation, [(i, i + 1) for i in gone]))
    for index, _ in signed:
        if index not in gone:
            raw = messages[index].raw
            blocks = [block for block, _, _ in elements(raw, value_span(raw, ("content",))[0])]
            out += shift(_unsign(raw, blocks), conversation.spans[index][0])
    for index in sorted({*changes.texts, *changes.beside, *changes.apart} - gone):
        edits = _message_edits(
            messages[index], changes.texts.get(index, {}), changes.beside.get(index, Beside()), apart=index in changes.apart
        )
        out += shift(edits, conversation.spans[index][0])
    return out


def _message_edits(message: Message, new: Texts, beside: Beside, *, apart: bool) -> list[Edit]:
    """Edits of one message: its new texts, and texts of ours beside its content, each a block of its own.

    A text of ours never becomes part of the client's: a text that is taken back later would take a cache mark's place with it,
    and what was a string is written as a block as soon as anything stands beside it.
    """
    out = [edit for path, text in new.items() for edit in _replacement(message, path, text)]
    front, behind = [f"{_block(t)}," for t in beside.front], [f",{_block(t)}" for t in beside.behind]
    if not (front or behind or (apart and not message.is_list)):
        return out
    start, end = _content_span(message)
    if message.is_list:
        texts = ((start, "".join(front)), (end, "".join(behind)))
        return out + [Edit(at, at, text) for at, text in texts if text]
    head = "[" + "".join(front) + '{"type":"text","text":'
    return [Edit(start, start, head), *out, Edit(end, end, "}" + "".join(behind) + "]")]


def _content_span(message: Message) -> Place:
    """Where a user's content stands in its JSON text: the string, or what is inside of the brackets of a list."""
    if _is_run(message):
        return 0, len(message.raw)
    start, end = value_span(message.raw, ("content",))
    return (start + 1, end - 1) if message.is_list else (start, end)


def _is_run(message: Message) -> bool:
    """Whether a message is a run of blocks beside results, so that its paths begin at a block."""
    paths = [*(text.path for text in message.texts), *(one.path for one in message.attached)]
    return any(isinstance(path[0], int) for path in paths)


def _value_span(message: Message, path: Path) -> Place:
    if not isinstance(path[0], int):
        return value_span(message.raw, path)
    start, end = value_span(f"[{message.raw}]", path)
    return start - 1, end - 1


def _replacement(message: Message, path: Path, text: str) -> Iterator[Edit]:
    """A new text in the place of an old one, or of a whole block. The API takes no blank one: the old one stays then."""
    start, end = _value_span(message, path)
    if path[-1] == "input":
        if not _is_object(text):
            raise FoldRejected("arguments-broken")
        yield Edit(start, end, text)
    elif not text.strip():
        return
    elif isinstance(path[-1], int):
        yield Edit(start, end, _block(text, _mark_of(message.raw[start:end])))
    else:
        yield Edit(start + 1, end - 1, json_string(text)[1:-1])


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _mark_of(block: str) -> str:
    """A block's cache mark as it is written, for the block that takes its place; "" for none."""
    try:
        start, end = value_span(block, (_MARK,))
    except FoldRejected:
        return ""
    return f',"{_MARK}":{block[start:end]}'


def _block(text: str, mark: str = "") -> str:
    return f'{{"type":"text","text":{json_string(text)}{mark}}}'


# ---------------------------------------------------------------- fingerprints and replies


def unmarked(conversation: Conversation) -> bytes:
    """The messages' JSON; where one carries a cache mark, written anew without marks and with content as a list of texts: marks
    move on from request to request, and a string becomes a list of blocks to carry one, which no cache takes for a change."""
    start, end = conversation.history
    text = conversation.text[start:end].encode("utf-8")
    if not any(m.marked for m in conversation.messages):
        return text
    try:
        messages = orjson.loads(text)
    except orjson.JSONDecodeError:  # a lone surrogate: a fingerprint of the text as it is will do
        return text
    return orjson.dumps([_bare(message) for message in messages])


def _bare(message: Mapping[str, Any]) -> Any:
    """A message with its content in front."""
    rest = {key: value for key, value in message.items() if key not in ("role", "content")}
    return [message.get("role"), _bare_content(message.get("content")), rest]


def _bare_content(content: Any) -> Any:
    if isinstance(content, str):
        return [content]
    return [_bare_block(block) for block in content] if isinstance(content, list) else content


def _bare_block(block: Any) -> Any:
    if not isinstance(block, dict):
        return block
    rest = {key: value for key, value in block.items() if key != _MARK}
    if set(rest) == {"type", "text"}:
        return rest["text"]
    return rest | {"content": _bare_content(rest["content"])} if "content" in rest else rest


def reply(conversation: Conversation, text: str, created: int) -> OwnReply:
    """A message of ours, streamed where the client asks for that; this API's answers carry no time."""
    del created
    answer = MessageReply(text, conversation.model, digest(conversation.text).hex())
    if conversation.streams:
        return OwnReply(STREAM_TYPE, tuple(stream(answer)))
    return OwnReply(JSON_TYPE, (whole(answer),))


#: Anthropic's messages.
MESSAGES: Final = Wire("messages", read, write, unmarked, reply)
