"""Messages of Anthropic's format, and their blocks.

This module reads the elements of the body's array, and the system text, as neutral messages, and takes an assistant's reasoning
out. The body around them, and writing changes, are in ``messages``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final, TypeGuard

from turnfold.compression import tokens
from turnfold.compression.errors import FoldRejected
from turnfold.compression.memo import Memo, digest
from turnfold.compression.wire.bodies import is_plainly_typed
from turnfold.compression.wire.cache_marks import cut_marks, has_mark
from turnfold.compression.wire.conversation import Place
from turnfold.compression.wire.edits import Edit, apply
from turnfold.compression.wire.media import source_attachment, source_tokens
from turnfold.compression.wire.message import Attachment, Call, Message, Path, Reasoning, Text, full_text
from turnfold.compression.wire.readable import readable_texts, readable_tokens, sealed_tokens
from turnfold.compression.wire.removal import entry_removals
from turnfold.compression.wire.spans import Value, elements, value_span

#: A block's cache mark, and the names of marks.
MARK: Final = "cache_control"
MARKS: Final = (MARK,)
_RESULT: Final = "tool_result"
#: Blocks of an assistant with what it thought, and where they are signed; redacted ones are signed as a whole.
_REASONING: Final = {"thinking": "signature", "redacted_thinking": "data"}
#: Blocks that an assistant's message may hold and still be edited; with any other (server tools, what is not known) it is sealed.
_OPEN: Final = frozenset({"text", "tool_use", *_REASONING})
#: Blocks of a result that may be edited, or left out; with any other it is sealed.
_RESULT_BLOCKS: Final = frozenset({"text", "image", "document", "search_result"})
#: The assistant's block that replaces everything before it; it is never removed.
_COMPACTION: Final = "compaction"  # represented as an attachment of an assistant's message
#: Blocks that accept a cache mark.
_MARKABLE: Final = frozenset({"text", "image", "document", "tool_use", _RESULT})
#: Blocks whose tools last only as long as the blocks stay: found by a search ("Tool search tool"), or listed by an MCP server,
#: which is asked again without them; and blocks that add or remove a tool.
_TOOLS_ON_THE_WAY: Final = frozenset(
    {"tool_reference", "tool_search_tool_result", "mcp_tool_listing", "tool_addition", "tool_removal"}
)
#: How long an instruction between messages is shown to the model, if not forever ("Mid-conversation system messages").
_CLEARS: Final = ("clear_at", "next_user_message")
_SERVER_USES: Final = frozenset({"server_tool_use", "mcp_tool_use"})
_OVERHEAD: Final = 3  # tokens of a message's frame, as on the other wires

Block = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BlocksElement:
    """An element of the body's array: its messages, and their ranges relative to its first character.

    Attributes:
        opens: ids of server tools that it uses without a result; the turn was paused, or one of them calls a tool of the client.
        closes: ids of server tools used earlier whose results it contains.
    """

    messages: tuple[Message, ...]
    places: tuple[Place, ...]
    grouped: bool = False
    opens: frozenset[str] = frozenset()
    closes: frozenset[str] = frozenset()


def read_system(text: str, member: tuple[Any, int, int], memo: Memo) -> tuple[Message, Place]:
    """The system text as a message that never changes, and its range.

    Raises:
        FoldRejected: "unparsable" if it is neither a string nor a list of blocks.
    """
    content, start, end = member
    if not _is_content(content) or not is_plainly_typed(content):
        raise FoldRejected("unparsable")
    raw = text[start:end]
    key = _key(raw, "system")
    return memo.get(("system", key), lambda: _spoken(raw, key, "system", content, (), memo), _weigh_message), (start, end)


def _weigh_message(message: Message) -> int:
    return 1000 + 4 * len(message.raw)


def _key(*parts: str) -> bytes:
    """A message's key, specific to this wire: the same bytes are a different message on another wire, with other paths."""
    return digest("messages", *parts)


def read_element(raw: str, data: Any, memo: Memo) -> BlocksElement:
    """An element of the array of messages.

    Raises:
        FoldRejected: "unparsable" if it is not a message.
    """
    if not isinstance(data, dict) or not isinstance(data.get("role"), str):
        raise FoldRejected("unparsable")
    # An instruction may contain only settings for the answer (`output_config`).
    if not _is_content(data.get("content")) and not (data["role"] == "system" and data.get("content") is None):
        raise FoldRejected("unparsable")
    key = _key(raw)
    return memo.get(("blocks", key), lambda: _parse(raw, data, memo), _weigh_element)


def _weigh_element(element: BlocksElement) -> int:
    return sum(map(_weigh_message, element.messages))


def _is_content(content: object) -> bool:
    return isinstance(content, str) or (isinstance(content, list) and all(isinstance(block, dict) for block in content))


def _parse(raw: str, data: Mapping[str, Any], memo: Memo) -> BlocksElement:
    if not is_plainly_typed(data):
        raise FoldRejected("unparsable")
    role, content = data["role"], data.get("content")
    values = list(elements(raw, value_span(raw, ("content",))[0])) if isinstance(content, list) else []
    key = _key(cut_marks(raw, MARKS))
    if role == "assistant":
        uses, results = _served(_blocks(content))
        return BlocksElement((_assistant(raw, key, data),), ((0, len(raw)),), opens=uses - results, closes=results - uses)
    if role == "user" and any(block.get("type") == _RESULT for block in _blocks(content)):
        return _user_with_results(raw, data, values, memo)
    said = _spoken(raw, key, role, content, ("content",), memo, frozenset(data))
    if role == "system" and data.get(_CLEARS[0]) == _CLEARS[1]:
        said = replace(said, clears=True)
    return BlocksElement((said,), ((0, len(raw)),))


def _served(blocks: Sequence[Block]) -> tuple[frozenset[str], frozenset[str]]:
    """Ids of the server tools used in some blocks, and of those whose results they contain."""
    uses = [b.get("id") for b in blocks if b.get("type") in _SERVER_USES]
    results = [b.get("tool_use_id") for b in blocks if str(b.get("type")).endswith("_tool_result")]
    return frozenset(filter(_is_text, uses)), frozenset(filter(_is_text, results))


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str)


def bound(elements: Sequence[BlocksElement]) -> Iterator[int]:
    """Indices of elements that are never separated from the one before: from the use of a server tool to its result."""
    used: dict[str, int] = {}
    for index, element in enumerate(elements):
        earlier = [used.pop(name) for name in element.closes if name in used]
        if earlier:
            yield from range(min(earlier) + 1, index + 1)
        used.update(dict.fromkeys(element.opens, index))


def _blocks(content: Any) -> Sequence[Any]:
    return content if isinstance(content, list) else ()


def _user_with_results(raw: str, data: Mapping[str, Any], content: Sequence[Value], memo: Memo) -> BlocksElement:
    """A user's message split into one message for each result, and one for each run of other blocks."""
    messages, places = [], []
    for result, run in groupby(content, key=lambda value: value[0].get("type") == _RESULT):
        found = list(run)
        for values in [[one] for one in found] if result else [found]:
            start, end = values[0][1], values[-1][2]
            text = raw[start:end]
            key = _key(cut_marks(text, MARKS), _RESULT if result else "run")
            if result:
                messages.append(_result(text, key, values[0][0]))
            else:
                messages.append(_spoken(text, key, "user", [block for block, _, _ in values], (), memo, frozenset(data)))
            places.append((start, end))
    return BlocksElement(tuple(messages), tuple(places), grouped=True)


def _spoken(raw: str, key: bytes, role: str, content: Any, path: Path, memo: Memo, keys: frozenset[str] = frozenset()) -> Message:
    """A user's message or a system text. `path` leads to its content; () if `raw` is the content.

    Instructions between messages are allowed anywhere if they have no content ("Mid-conversation system messages").
    """
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
        own=own,
        text=own,
        tokens=tokens.count_with_tail(own, memo) + other,
        other_tokens=other,
        holds=bool(own.strip()) or bool(blocks),
        keys=keys,
        is_list=isinstance(content, list),
        marked=any(has_mark(block, MARKS) for block in blocks),
        attached=attached,
        sole=_sole(content),
        lasting=role == "user" and any(block.get("type") in _TOOLS_ON_THE_WAY for block in blocks),
        takes_mark=bool(blocks) and _takes_mark(blocks[-1]),
        placed=role == "system" and bool(keys) and bool(content),
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
        yield from (Text((*path, i, "text"), block["text"]) for i, block in enumerate(_blocks(content)) if _says(block))


def _unseen_tokens(block: Block) -> int:
    """Tokens that a provider reads but a fold never touches: images, and plain documents next to a user's text."""
    return source_tokens(block) if _says(block) or block.get("type") == "image" else readable_tokens(block)


def _result(raw: str, key: bytes, block: Block) -> Message:
    """A tool's result, from its block."""
    content = block.get("content")
    texts = tuple(_result_texts(("content",), content))
    inside = [one for one in _blocks(content) if isinstance(one, dict)]
    attached = [(i, one) for i, one in enumerate(_blocks(content)) if isinstance(one, dict) and _is_medium(one)]
    own = "\n".join(t.text for t in texts)
    unread = [one for one in inside if one.get("type") not in _RESULT_BLOCKS]
    other = _OVERHEAD + sum(map(source_tokens, inside)) + readable_tokens(unread)
    answers = block.get("tool_use_id")
    return Message(
        raw=raw,
        key=key,
        role="tool",
        texts=texts,
        own=own,
        text=own,
        tokens=tokens.count(own) + other,
        other_tokens=other,
        holds=bool(own.strip()) or bool(inside),
        keys=frozenset(block) - {MARK},
        answers=answers if isinstance(answers, str) else None,
        is_list=isinstance(content, list),
        sealed=bool(unread),
        marked=any(has_mark(one, MARKS) for one in (block, *inside)),
        attached=tuple(source_attachment(("content", i), one) for i, one in attached),
        sole=_sole(content) if inside or isinstance(content, str) else None,
        lasting=any(one.get("type") in _TOOLS_ON_THE_WAY for one in inside),
        takes_mark=_takes_mark(block),
    )


def _is_medium(block: Block) -> bool:
    return block.get("type") in ("image", "document") and not any(_result_texts((), [block]))


def _result_texts(path: Path, content: Any) -> Iterator[Text]:
    """Texts of a result: its text blocks, those within search results, and plain documents."""
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
    rest = [block for block in blocks if not _is_signed(block)]
    hosted = [block for block in rest if block.get("type") not in _OPEN]
    text = full_text(own, (call for call, _ in calls), tuple(readable_texts(hosted)))
    thought = sum(map(_thought_tokens, blocks))
    other = _OVERHEAD + thought + sum(map(source_tokens, blocks)) + sum(map(sealed_tokens, _sealed_texts(hosted)))
    sealed = any(block.get("type") not in _OPEN or block.get("citations") for block in rest)
    reasoning = Reasoning(thought, apply(raw, unsign(raw)) if rest else "", sealed) if len(rest) < len(blocks) else None
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
        is_list=isinstance(content, list),
        sealed=sealed or reasoning is not None,
        marked=any(has_mark(block, MARKS) for block in blocks),
        has_calls=bool(calls),
        attached=tuple(_compactions(blocks)),
        sole=_sole(content),
        lasting=any(block.get("type") in _TOOLS_ON_THE_WAY for block in blocks),
        reasoning=reasoning,
        takes_mark=bool(blocks) and _takes_mark(blocks[-1]),
    )


def _is_signed(block: Block) -> bool:
    """Whether a block is reasoning that its provider signed; servers that sign nothing leave the signature out, or empty."""
    return bool(block.get(_REASONING.get(block.get("type") or "", "")))


def _thought_tokens(block: Block) -> int:
    """Tokens of reasoning, plain or sealed."""
    if block.get("type") == "redacted_thinking":
        return sum(map(sealed_tokens, filter(_is_text, [block.get("data")])))
    return tokens.count(block["thinking"]) if isinstance(block.get("thinking"), str) else 0


def _sealed_texts(value: Any) -> Iterator[str]:
    """Pages found by a search that only the provider can read."""
    if isinstance(value, list):
        for inner in value:
            yield from _sealed_texts(inner)
    elif isinstance(value, dict):
        yield from filter(_is_text, [value.get("encrypted_content")])
        yield from _sealed_texts(value.get("content"))


def _takes_mark(block: Block) -> bool:
    """Whether a block accepts a mark (Anthropic, "Prompt caching": not empty text, thinking or a nested block)."""
    kind = block.get("type")
    return kind in _MARKABLE and MARK not in block and (kind != "text" or bool(str(block.get("text")).strip()))


def _compactions(blocks: Sequence[Block]) -> Iterator[Attachment]:
    for i, block in enumerate(blocks):
        if block.get("type") == _COMPACTION:
            yield Attachment(("content", i), _COMPACTION)


def _calls(raw: str, blocks: Sequence[Block]) -> Iterator[tuple[Call, Text]]:
    """Calls with the positions of their inputs; an input's JSON text is the call's arguments."""
    for i, block in enumerate(blocks):
        if block.get("type") == "tool_use" and "input" in block:
            path = ("content", i, "input")
            start, end = value_span(raw, path)
            name = block["id"] if isinstance(block.get("id"), str) else ""
            yield Call(name, str(block.get("name", "")), raw[start:end]), Text(path, raw[start:end], is_json=True)


def unsign(raw: str) -> list[Edit]:
    """Edits that remove the reasoning from an assistant's message; other blocks stay unchanged."""
    found = list(elements(raw, value_span(raw, ("content",))[0]))
    return list(entry_removals([(a, b) for _, a, b in found], [_is_signed(block) for block, _, _ in found]))
