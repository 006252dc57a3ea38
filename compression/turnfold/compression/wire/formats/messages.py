"""Anthropic's messages: ``POST /v1/messages``.

This module reads a body into a conversation and writes changes back into its bytes; what is inside a message is read in
``messages_blocks``. No other module knows this format's keys. What changes, and why, is decided in ``fold``.

The format's facts are those of Anthropic's API reference ("Messages") and its guides on tool use, extended thinking and prompt
caching. A user's message may hold the results of tools in front of its own blocks: each result is a message here, and so is the
run of the other blocks. Blocks of unknown kinds are carried: an assistant's message that holds one is whole or gone.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, Final, NamedTuple

import orjson

from turnfold.compression.errors import FoldRejected, is_whole
from turnfold.compression.memo import Memo, continued
from turnfold.compression.wire.bare_parts import BarePart, bare_parts
from turnfold.compression.wire.bodies import BodyReading, Layout, read_body
from turnfold.compression.wire.cache_marks import NO_MARKS, PlacedMarks, mark_of, placed_marks
from turnfold.compression.wire.changes import Beside, Changes
from turnfold.compression.wire.content_edits import mark_last_part, parts
from turnfold.compression.wire.conversation import SERVER_HISTORY, Conversation, MessageGroup, Place, Wire
from turnfold.compression.wire.edits import Edit, json_string, shift
from turnfold.compression.wire.formats.messages_blocks import MARK, MARKS, BlocksElement, bound, read_element, read_system, unsign
from turnfold.compression.wire.formats.messages_reply import reply
from turnfold.compression.wire.gathering import gather
from turnfold.compression.wire.message import Message, Path, Texts
from turnfold.compression.wire.removal import element_place, group_of, removals
from turnfold.compression.wire.spans import Value, value_span
from turnfold.compression.wire.standing import insertions, moved

_SCHEMA: Final = ("tools", "output_config", "output_format")
#: Top-level keys whose values are needed; for the others, only the text is stored.
_KEPT: Final = frozenset({"model", "stream", "max_tokens", "system", "thinking", "metadata", "thread", "compaction", MARK})
_THINKING: Final = "thinking"
# Anthropic, "Preserved thinking": the value that makes the API drop invalid blocks instead of refusing them, also for the beta
# header.
_BINDING: Final = "block_binding"
_DROP: Final = f',"{_BINDING}":{{"prefix_mismatch_behavior":"drop_block"}}'
_DROP_BETA: Final = "thinking-binding-controls-2026-08-01"


# ---------------------------------------------------------------- reading


def read(body: bytes, memo: Memo) -> Conversation:
    """Read a body of the messages API.

    Raises:
        FoldRejected: "unparsable" when the body is not a JSON object in strict UTF-8, is nested too deeply, names a key twice, or
            when its messages are not a list of objects that each have a role and a content. Such a body is sent upstream
            unchanged.
    """
    text, found = read_body(body, _LAYOUT, memo)
    members = found.members
    values = {key: members[key][0] for key in members if key in _KEPT}
    system = [read_system(text, members["system"], memo)] if values.get("system") is not None else []
    told = _flattened(found, memo, len(system))
    messages = (*(message for message, _ in system), *told.messages)
    if told.closes:
        messages = _with_ties(messages, found.elements, (len(system), *told.ends))
    # What the client's own compaction wrote stays unchanged, including thinking, since nothing before it ever changes.
    fixed = tuple(replace(m, key=m.key + b"fixed", fixed=True, reasoning=None) for m in messages[: told.compacted])
    model, output, thinking = values.get("model"), values.get("max_tokens"), values.get(_THINKING)
    binds = isinstance(thinking, dict) and _BINDING in thinking
    return Conversation(
        MESSAGES,
        text,
        gather(fixed + messages[len(fixed) :] if fixed else messages, "messages", memo),
        (*(place for _, place in system), *told.spans),
        model=model if isinstance(model, str) else "",
        schema="".join(text[start:end] for key, (_, start, end) in members.items() if key in _SCHEMA),
        output=output if is_whole(output, 1) else None,
        streams=values.get("stream") is True,
        keys=tuple(members),
        settings={key: value for key, value in values.items() if key != "system"},
        history=members["messages"][1:],
        groups=told.groups,
        marked_at_end=bool(values.get(MARK)),
        can_drop_thinking=_can_drop(thinking),
        betas=(_DROP_BETA,) if binds else (),
        encoded=body,
        held=SERVER_HISTORY if _is_held(text, members) else "",
        keeps_history=not values.get("thread"),
    )


class _FlatHistory(NamedTuple):
    """The messages of a body's elements in one list, with their positions in the text.

    Attributes:
        own: the range of each element.
        ends: index of the first message after each element.
        compacted: index of the first message after the last compaction; 0 without one.
        closes: whether an element contains the result of a server tool used in an earlier one.
    """

    own: tuple[Place, ...] = ()
    messages: tuple[Message, ...] = ()
    spans: tuple[Place, ...] = ()
    ends: tuple[int, ...] = ()
    groups: tuple[MessageGroup, ...] = ()
    compacted: int = 0
    closes: bool = False


def _flattened(found: BodyReading[BlocksElement], memo: Memo, first: int) -> _FlatHistory:
    """The elements' messages, continuing from an earlier request of the conversation.

    Args:
        first: index of the first of them; messages outside the array come before.
    """

    def run(known: _FlatHistory | None, same: int) -> _FlatHistory:
        if known is None or known.own[:same] != found.spans[:same]:
            return _flat(found, first, _FlatHistory())
        return _flat(found, first, known if same == len(known.own) else _begun(known, same, first))

    key = ("elements", first, *(message.key for element in found.elements[:2] for message in element.messages[:2]))
    return continued(memo, key, found.elements, run, lambda flat: 120 * len(flat.spans), kept=2)


def _begun(known: _FlatHistory, same: int, first: int) -> _FlatHistory:
    """The data of the first `same` elements."""
    end = known.ends[same - 1] if same else first
    size = end - first
    return known._replace(
        own=known.own[:same],
        messages=known.messages[:size],
        spans=known.spans[:size],
        ends=known.ends[:same],
        groups=known.groups[: bisect_right(known.groups, end, key=attrgetter("end"))],
        compacted=_compacted(known.messages[:size], first) if known.compacted > end else known.compacted,
    )


def _flat(found: BodyReading[BlocksElement], first: int, known: _FlatHistory) -> _FlatHistory:
    messages: list[Message] = []
    spans: list[Place] = []
    ends: list[int] = []
    groups: list[MessageGroup] = []
    begin = at = first + len(known.messages)
    since = len(known.own)
    elements = found.elements[since:]
    for element, (start, end) in zip(elements, found.spans[since:], strict=True):
        if element.grouped:
            groups.append(MessageGroup((start, end), at, at + len(element.messages)))
        messages += element.messages
        spans += [(start + a, start + b) for a, b in element.places]
        at += len(element.messages)
        ends.append(at)
    return _FlatHistory(
        found.spans,
        (*known.messages, *messages),
        (*known.spans, *spans),
        (*known.ends, *ends),
        (*known.groups, *groups),
        _compacted(messages, begin) or known.compacted,
        known.closes or any(element.closes for element in elements),
    )


def _compacted(messages: Sequence[Message], first: int) -> int:
    """Index of the first message after the last compaction, if the first of the messages has index `first`."""
    last = next((i for i in range(len(messages) - 1, -1, -1) if messages[i].role == "assistant" and messages[i].attached), None)
    return 0 if last is None else first + last + 1


def _with_ties(messages: tuple[Message, ...], elements: Sequence[BlocksElement], ends: Sequence[int]) -> tuple[Message, ...]:
    """The messages, marked if a server tool ties their element to another."""
    made = list(messages)
    for number in bound(elements):
        for index in range(ends[number], ends[number + 1]):
            made[index] = _tie(made[index])
    return tuple(made)


def _tie(message: Message) -> Message:
    return message if message.is_result else replace(message, key=message.key + b"bound", bound=True)


def _can_drop(thinking: Any) -> bool:
    """Whether invalid thinking can be dropped: the request uses thinking, and its client does not want it refused."""
    if not isinstance(thinking, dict) or thinking.get("type") not in ("enabled", "adaptive"):
        return False
    return _BINDING not in thinking or _is_dropping(thinking)


def _is_dropping(thinking: Mapping[str, Any]) -> bool:
    binding = thinking.get(_BINDING)
    return isinstance(binding, dict) and binding.get("prefix_mismatch_behavior") == "drop_block"


def _is_held(text: str, members: Mapping[str, Value]) -> bool:
    """Whether the provider stores the history (`thread`) or is asked to summarise it (`compaction`, beta "compact"), so that
    nothing may be missing.
    """
    if any(members[key][0] for key in ("thread", "compaction") if key in members):
        return True
    _, start, end = members.get("context_management", (None, 0, 0))
    return '"compact' in text[start:end]


_LAYOUT: Final = Layout("messages", "messages", _KEPT, read_element, lambda e: 300 + sum(2 * len(m.raw) for m in e.messages))


# ---------------------------------------------------------------- writing


def write(conversation: Conversation, changes: Changes) -> list[Edit]:
    """The edits of the body's text for these changes. A message's own text keeps its bytes if only inserted texts change."""
    messages = conversation.messages
    signed = [(i, reasoning) for i in sorted(changes.unsigned) if (reasoning := messages[i].reasoning) is not None]
    emptied = {i for i, reasoning in signed if not reasoning.bare}
    gone = changes.gone | emptied
    moves = moved(conversation, gone)
    alone = [(i, i + 1) for i in emptied.union(moves)]
    out = [*removals(conversation, [*changes.dropped, *alone]), *insertions(conversation, moves)]
    if changes.drops_thinking and not _is_dropping(conversation.settings[_THINKING]):
        end = value_span(conversation.text, (_THINKING,))[1]
        out.append(Edit(end - 1, end - 1, _DROP))
    for index, _ in signed:
        if index not in gone:
            out += shift(unsign(messages[index].raw), conversation.spans[index][0])
    placed = placed_marks(messages, changes, MARKS)
    for index in sorted({*changes.texts, *changes.beside, *changes.apart, *placed} - gone):
        beside, marks = changes.beside.get(index, Beside()), placed.get(index, NO_MARKS)
        edits = _message_edits(messages[index], changes.texts.get(index, {}), beside, marks, apart=index in changes.apart)
        out += shift(edits, conversation.spans[index][0])
    return out


def _message_edits(message: Message, new: Texts, beside: Beside, marks: PlacedMarks, *, apart: bool) -> list[Edit]:
    """Edits of one message: its new texts, and texts inserted beside its content, each a block of its own.

    An inserted text never becomes part of the client's own: removing it later would also remove the place of a cache mark. A
    string becomes a block as soon as anything is inserted next to it.
    """
    out = [edit for path, text in new.items() for edit in _replacement(message, path, text)]
    front = [f"{block}," for block in parts(beside.front, "text", marks.front)]
    behind = [f",{block}" for block in parts(beside.behind, "text", marks.behind)]
    if message.is_result and marks.own:
        return [*out, Edit(len(message.raw) - 1, len(message.raw) - 1, marks.own)]
    if not (front or behind or marks.own or (apart and not message.is_list)):
        return out
    start, end = _content_span(message)
    if message.is_list:
        own = _mark_last_block(message.raw, start, end, marks.own)
        texts = ((start, "".join(front)), (end, "".join(behind)))
        return [*out, *own, *(Edit(at, at, text) for at, text in texts if text)]
    head = "[" + "".join(front) + '{"type":"text","text":'
    return [Edit(start, start, head), *out, Edit(end, end, marks.own + "}" + "".join(behind) + "]")]


def _mark_last_block(raw: str, start: int, end: int, mark: str) -> list[Edit]:
    """Put a cache mark on the last of the blocks in this range."""
    return shift(mark_last_part(f"[{raw[start:end]}]", (0, 0), mark), start - 1)


def _content_span(message: Message) -> Place:
    """The range of a user's content in its JSON text: the string, or the inside of the list's brackets."""
    if _is_run(message):
        return 0, len(message.raw)
    start, end = value_span(message.raw, ("content",))
    return (start + 1, end - 1) if message.is_list else (start, end)


def _is_run(message: Message) -> bool:
    """Whether a message is a run of blocks next to results, so that its paths begin at a block."""
    paths = [*(text.path for text in message.texts), *(one.path for one in message.attached)]
    return any(isinstance(path[0], int) for path in paths)


def _value_span(message: Message, path: Path) -> Place:
    if not isinstance(path[0], int):
        return value_span(message.raw, path)
    start, end = value_span(f"[{message.raw}]", path)
    return start - 1, end - 1


def _replacement(message: Message, path: Path, text: str) -> Iterator[Edit]:
    """Replace a text, or a whole block. The API accepts no blank text, so the old one stays in that case."""
    start, end = _value_span(message, path)
    if path[-1] == "input":
        if not _is_object(text):
            raise FoldRejected("arguments-broken")
        yield Edit(start, end, text)
    elif not text.strip():
        return
    elif isinstance(path[-1], int):
        yield Edit(start, end, parts((text,), "text", mark_of(message.raw[start:end], MARKS))[0])
    else:
        yield Edit(start + 1, end - 1, json_string(text)[1:-1])


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


# ---------------------------------------------------------------- fingerprints


def unmarked(conversation: Conversation) -> bytes:
    """The messages' JSON, normalised for comparison: if there are cache marks, without marks and with content as a list of texts.

    Marks move from request to request, and a string becomes a list of blocks to carry one; caches do not count that as a change.
    """
    if not conversation.messages.marked:
        return conversation.encoded_history
    try:
        return b"".join([piece for _, piece in unmarked_pieces(conversation, 0)])
    except orjson.JSONDecodeError:  # a lone surrogate: a fingerprint of the original text is good enough
        return conversation.encoded_history


def unmarked_pieces(conversation: Conversation, begin: int) -> Iterator[tuple[int, bytes]]:
    """The elements from the one that begins with a given message, without marks, each with the index of the first message after
    it.

    Brackets and commas of the array are included. The closing bracket is a piece of its own, followed by no message.
    """
    text, spans, (start, stop) = conversation.text, conversation.spans, conversation.history
    first = next((i for i, (at, _) in enumerate(spans) if start <= at < stop), len(spans))  # those outside the array come first
    at, opening = (begin, b",") if begin > first else (first, b"[")
    while at < len(spans):
        group = group_of(conversation, at)
        at, (a, b) = (at + 1, spans[at]) if group is None else (group.end, group.place)
        yield at, opening + orjson.dumps(_bare(orjson.loads(text[a:b])))
        opening = b","
    yield at + 1, b"]"


def parts_of(conversation: Conversation, index: int) -> Iterator[BarePart]:
    """The blocks of the element that a message belongs to.

    Raises:
        orjson.JSONDecodeError: for a lone surrogate.
    """
    start, end = element_place(conversation, index)
    message = orjson.loads(conversation.text[start:end])
    content = message.get("content")
    opening = b"[" if conversation.text.rfind(",", conversation.history[0], start) < 0 else b","
    return bare_parts(opening + orjson.dumps([message.get("role")])[:-1] + b",[", content, _bare_content(content) or [], (MARK,))


def _bare(message: Mapping[str, Any]) -> Any:
    """A message with its content first."""
    rest = {key: value for key, value in message.items() if key not in ("role", "content")}
    return [message.get("role"), _bare_content(message.get("content")), rest]


def _bare_content(content: Any) -> Any:
    if isinstance(content, str):
        return [content]
    return [_bare_block(block) for block in content] if isinstance(content, list) else content


def _bare_block(block: Any) -> Any:
    if not isinstance(block, dict):
        return block
    rest = {key: value for key, value in block.items() if key != MARK}
    if set(rest) == {"type", "text"}:
        return rest["text"]
    return rest | {"content": _bare_content(rest["content"])} if "content" in rest else rest


#: Anthropic's messages.
MESSAGES: Final = Wire("messages", read, write, unmarked, unmarked_pieces, parts_of, MARKS, reply)
