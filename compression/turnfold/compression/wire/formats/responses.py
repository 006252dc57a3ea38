"""Responses: ``POST /v1/responses``.

This module reads a body into a conversation and writes changes back into its bytes. ``responses_items`` knows what an item says;
what changes, and why, is decided in ``fold``.

A run of items of the assistant's (text, reasoning, calls, hosted tools) is one message, so that reasoning stays with the item
that follows it, and a call's results, which are messages of their own, with all that the assistant did before them.
`instructions` are a system message outside of the history. A path is that inside the run: (2, "arguments") are the arguments of
its third item.

History that lies upstream is never folded against: such a conversation is held. What stands before a compaction item is fixed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Final, NamedTuple

import orjson

from turnfold.compression.errors import FoldRejected, is_whole
from turnfold.compression.memo import Memo, continued, digest
from turnfold.compression.wire.bare_parts import BarePart, bare_parts
from turnfold.compression.wire.bodies import BodyReading, Layout, read_body
from turnfold.compression.wire.cache_marks import cut_marks, mark_of
from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.content_edits import PartForm, replace_text, write_parts
from turnfold.compression.wire.conversation import SERVER_HISTORY, Conversation, Place, Wire
from turnfold.compression.wire.edits import Edit
from turnfold.compression.wire.formats.responses_items import MARKS, InputItem, item_key, read_item, string_message
from turnfold.compression.wire.formats.responses_reply import reply
from turnfold.compression.wire.gathering import gather
from turnfold.compression.wire.message import Message, Path
from turnfold.compression.wire.spans import value_span

#: Why a conversation is held.
BACKGROUND: Final = "background"

#: Keys that say where the history is stored.
_UPSTREAM: Final = ("previous_response_id", "conversation", "context_management")
#: Keys that our own reply repeats, or that affect how the upstream treats the request.
_SETTINGS: Final = frozenset(
    {
        "background",
        "max_output_tokens",
        "metadata",
        "model",
        "parallel_tool_calls",
        "prompt_cache_key",
        "store",
        "stream",
        "temperature",
        "top_p",
    }
    | {"truncation", *_UPSTREAM}
)
# ---------------------------------------------------------------- reading


def read(body: bytes, memo: Memo) -> Conversation:
    """Read a Responses body.

    Raises:
        FoldRejected: "unparsable" when the body is not a JSON object in strict UTF-8, is nested too deeply, names a key twice, or
            when its input is neither a text nor a list of items. Such a body is sent upstream unchanged.
    """
    text, found = read_body(body, _LAYOUT, memo)
    members = found.members
    settings = {key: members[key][0] for key in members if key in _SETTINGS}
    model, output = settings.get("model"), settings.get("max_output_tokens")
    outside = tuple(_instructions(text, found, memo))
    inside, is_upstream = _history(text, found, memo)
    held = _reason_to_hold(settings, is_upstream)
    return Conversation(
        RESPONSES,
        text,
        gather((*(message for message, _ in outside), *[turn.message for turn in inside]), "responses", memo),
        (*(place for _, place in outside), *[turn.place for turn in inside]),
        model=model if isinstance(model, str) else "",
        schema=_schema(text, members),
        output=output if is_whole(output, 1) else None,
        streams=settings.get("stream") is True,
        encoded=body,
        keys=tuple(members),
        settings=settings,
        history=members["input"][1:] if text[members["input"][1]] == "[" else (members["input"][1],) * 2,
        held=held,
        keeps_history=settings.get("store") is False and held != SERVER_HISTORY,
    )


def _read_item(raw: str, data: Any, memo: Memo) -> InputItem:
    return memo.get(("item", digest(raw)), lambda: read_item(raw, data, memo), lambda item: 1200 + 4 * len(item.message.raw))


_LAYOUT: Final = Layout(
    "responses",
    "input",
    _SETTINGS | {"instructions", "text"},
    _read_item,
    lambda item: 400 + 2 * len(item.message.raw),
    plain=True,
)


def _instructions(text: str, found: BodyReading[InputItem], memo: Memo) -> Iterator[tuple[Message, Place]]:
    """The system text, which is outside the history."""
    value, start, end = found.members.get("instructions", (None, 0, 0))
    if isinstance(value, str):
        yield string_message(text[start:end], value, "system", memo), (start, end)
    elif value is not None:
        raise FoldRejected("unparsable")


def _history(text: str, found: BodyReading[InputItem], memo: Memo) -> tuple[tuple[_PlacedMessage, ...], bool]:
    """The messages of the input with their ranges, and whether the upstream holds more of it."""
    value, start, end = found.members["input"]
    if isinstance(value, str):
        return (_PlacedMessage(string_message(text[start:end], value, "user", memo), (start, end), 0),), False
    if text[start] != "[":
        raise FoldRejected("unparsable")
    read = _turns(text, found.elements, found.spans, memo)
    if not (read.strays or read.is_compacted):
        return read.turns, read.is_upstream
    turns = list(read.turns)
    for index in _bound(turns) if read.strays else ():
        turns[index] = replace(turns[index], message=_placed(turns[index].message, "bound"))
    compacted = next((i + 1 for i in range(len(turns) - 1, -1, -1) if turns[i].is_compaction), 0)
    turns[:compacted] = [replace(turn, message=_placed(turn.message, "fixed")) for turn in turns[:compacted]]
    return tuple(turns), read.is_upstream


def _placed(message: Message, place: str) -> Message:
    """A message with data that depends on its position."""
    key = digest(place, message.key.hex())
    return replace(message, key=key, bound=place == "bound", fixed=place == "fixed")


def _reason_to_hold(settings: Mapping[str, Any], is_upstream: bool) -> str:
    if is_upstream or any(settings.get(key) for key in _UPSTREAM):
        return SERVER_HISTORY
    return BACKGROUND if settings.get("background") is True else ""


def _schema(text: str, members: Mapping[str, tuple[Any, int, int]]) -> str:
    """Tools, and the schema of a structured answer."""
    found = [text[start:end] for key, (_, start, end) in members.items() if key == "tools"]
    value, start, end = members.get("text", (None, 0, 0))
    form = value.get("format") if isinstance(value, dict) else None
    if isinstance(form, dict) and "schema" in form:
        a, b = value_span(text[start:end], ("format",))
        found.append(text[start + a : start + b])
    return "".join(found)


# ---------------------------------------------------------------- items joined into messages


@dataclass(frozen=True, slots=True)
class _PlacedMessage:
    """A message of the history, with data on its items.

    Attributes:
        place: its range in the body's text.
        end: index of the first item after it.
        refers: ids of earlier calls that it belongs to.
        joins: whether its items are the assistant's.
        waits: whether it ends in reasoning, which is refused without the following item.
        is_compaction, is_upstream: as in its item.
        strays: whether it may belong to more than the message before it (see `_bound`).
    """

    message: Message
    place: Place
    end: int
    refers: tuple[str, ...] = ()
    joins: bool = False
    waits: bool = False
    is_compaction: bool = False
    is_upstream: bool = False
    strays: bool = False


class _JoinedItems(NamedTuple):
    """Messages made of joined items.

    Attributes:
        spans: the range of each item.
        weight: approximate bytes of the messages in memory.
        strays, is_compacted, is_upstream: whether any of the messages has this property.
    """

    spans: tuple[Place, ...] = ()
    turns: tuple[_PlacedMessage, ...] = ()
    weight: int = 0
    strays: bool = False
    is_compacted: bool = False
    is_upstream: bool = False


def _turns(text: str, items: Sequence[InputItem], spans: tuple[Place, ...], memo: Memo) -> _JoinedItems:
    """Items joined into messages, continuing from an earlier request of the conversation."""

    def run(known: _JoinedItems | None, same: int) -> _JoinedItems:
        # A range is read only once: if it is the same object, all text before it is the same.
        if known is None or not same or known.spans[same - 1] is not spans[same - 1]:
            known, same = _JoinedItems(), 0
        settled = known.turns[: bisect_left(known.turns, same, key=attrgetter("end"))]  # the last one may continue
        weight = known.weight * len(settled) // len(known.turns) if settled else 0
        begun = _JoinedItems(spans, settled, weight, *_marks_of(settled, known))
        more = [_place_items(text, items[a:b], spans[a:b], b) for a, b in _runs(items, settled[-1].end if settled else 0)]
        return _go_on(begun, tuple(_find_strays(settled, more)))

    key = ("turns", *(item.message.key for item in items[:4]))
    return continued(memo, key, items, run, lambda joined: 100 * len(joined.spans) + joined.weight, kept=2)


def _marks_of(turns: Sequence[_PlacedMessage], known: _JoinedItems) -> tuple[bool, bool, bool]:
    """The flags over all known messages, recomputed for the first of them; usually all are false."""
    return (
        known.strays and any(turn.strays for turn in turns),
        known.is_compacted and any(turn.is_compaction for turn in turns),
        known.is_upstream and any(turn.is_upstream for turn in turns),
    )


def _go_on(known: _JoinedItems, more: tuple[_PlacedMessage, ...]) -> _JoinedItems:
    joined = [turn for begin, turn in zip((0, *[turn.end for turn in more]), more, strict=False) if turn.end > begin + 1]
    return known._replace(
        turns=known.turns + more,
        weight=known.weight + 300 * len(more) + sum(2 * len(turn.message.raw) for turn in joined),  # all others are items
        strays=known.strays or any(turn.strays for turn in more),
        is_compacted=known.is_compacted or any(turn.is_compaction for turn in more),
        is_upstream=known.is_upstream or any(turn.is_upstream for turn in more),
    )


def _runs(items: Sequence[InputItem], begin: int) -> Iterator[tuple[int, int]]:
    """Half-open ranges of items that form one message."""
    start = begin
    for end in range(begin + 1, len(items)):
        if not (items[end - 1].joins and items[end].joins):
            yield start, end
            start = end
    if start < len(items):
        yield start, len(items)


def _place_items(text: str, items: Sequence[InputItem], spans: Sequence[Place], end: int) -> _PlacedMessage:
    place = (spans[0][0], spans[-1][1])
    return _PlacedMessage(
        items[0].message if len(items) == 1 else _join(text[place[0] : place[1]], [item.message for item in items]),
        place,
        end,
        refers=tuple(item.refers for item in items if item.refers),
        joins=items[0].joins,
        waits=items[-1].is_reasoning,
        is_compaction=items[0].is_compaction,
        is_upstream=any(item.is_upstream for item in items),
    )


def _find_strays(known: Sequence[_PlacedMessage], more: Sequence[_PlacedMessage]) -> Iterator[_PlacedMessage]:
    """New messages after the known ones, marked if they need a closer look."""
    speaker = next((one for one in reversed(known) if not (one.message.is_result or one.message.pinned)), None)
    for one in more:
        message = one.message
        if message.is_result:
            strays = speaker is None or message.answers not in speaker.message.call_ids
        else:
            strays = message.pinned and speaker is not None and speaker.waits
            speaker = speaker if message.pinned else one
        yield replace(one, strays=True) if strays or one.refers else one


def _join(raw: str, parts: Sequence[Message]) -> Message:
    said = [m for m in parts if m.texts or m.attached]
    other = sum(m.other_tokens for m in parts) - 3 * (len(parts) - 1)  # one message, however many items it has
    return Message(
        raw=raw,
        key=item_key(cut_marks(raw, MARKS)),
        role="assistant",
        texts=tuple(replace(t, path=_moved(t.path, i)) for i, m in enumerate(parts) for t in m.texts),
        arguments=tuple(replace(t, path=_moved(t.path, i)) for i, m in enumerate(parts) for t in m.arguments),
        own="\n".join(m.own for m in said),
        text="\n".join(m.text for m in parts if m.text),
        tokens=sum(m.tokens - m.other_tokens for m in parts) + other,
        other_tokens=other,
        holds=any(m.holds for m in parts),
        keys=frozenset[str]().union(*(m.keys for m in parts)),
        calls=tuple(call for m in parts for call in m.calls),
        call_ids=tuple(call for m in parts for call in m.call_ids),
        answers=None,
        is_list=any(m.is_list for m in parts),
        sealed=any(m.sealed for m in parts),
        marked=any(m.marked for m in parts),
        has_calls=any(m.has_calls for m in parts),
        attached=tuple(replace(one, path=_moved(one.path, i)) for i, m in enumerate(parts) for one in m.attached),
        sole=said[0].sole if len(said) == 1 else None,
        lasting=any(m.lasting for m in parts),
    )


def _moved(path: Path, number: int) -> Path:
    return (number, *path[1:])


def _bound(turns: Sequence[_PlacedMessage]) -> set[int]:
    """Messages that stay with the one before them.

    These are between a call and the items that belong to it, or between reasoning and its item.
    """
    out: set[int] = set()
    made: dict[str, int] = {}
    opened: dict[str, int] = {}
    spoken, waiting = 0, -1
    for index, turn in enumerate(turns):
        message = turn.message
        for earlier in turn.refers:
            out.update(range(made.get(earlier, index) + 1, index + 1))
        if message.is_result:
            first = opened.pop(message.answers or "", index)
            out.update(range(first + 1, index) if first < spoken else ())
            continue
        spoken = index
        for call in message.call_ids:
            made[call] = opened[call] = index
        if waiting >= 0 and turn.joins:
            out.update(range(waiting + 1, index + 1))
        if not message.pinned:
            waiting = index if turn.waits else -1
    return {index for index in out if not turns[index].message.is_result}


# ---------------------------------------------------------------- writing


def _replacement(message: Message, path: Path, text: str) -> Edit:
    """Replace a text, or a whole part, which keeps its cache mark."""
    start, end = _place(message.raw, path)
    kind = "output_text" if message.role == "assistant" else "input_text"
    return replace_text(message.raw, (start, end), text, kind, mark_of(message.raw[start:end], MARKS))


def _place(raw: str, path: Path) -> Place:
    """The range of a value in a run of items."""
    start, end = value_span(f"[{raw}]", path)
    return start - 1, end - 1


def _content_place(message: Message) -> Place:
    return _place(message.raw, (0,) if message.raw[0] == '"' else (0, "content"))


def write(conversation: Conversation, changes: Changes) -> list[Edit]:
    """The edits of the body's text for these changes."""
    return write_parts(conversation, changes, _FORM)


_FORM: Final = PartForm(MARKS, "input_text", _replacement, _content_place)


# ---------------------------------------------------------------- fingerprints


def unmarked(conversation: Conversation) -> bytes:
    """The messages' JSON, normalised for comparison: if there are cache marks, without marks and with content as a list of texts.

    Marks move from request to request, and a string becomes a list of parts to carry one; caches do not count that as a change.
    """
    if conversation.messages.marked:
        return b"".join([piece for _, piece in unmarked_pieces(conversation, 0)])
    start, end = conversation.history
    outside = [m.raw for m, (at, _) in zip(conversation.messages, conversation.spans, strict=True) if not start <= at < end]
    return "".join(outside).encode("utf-8") + conversation.encoded_history


def unmarked_pieces(conversation: Conversation, begin: int) -> Iterator[tuple[int, bytes]]:
    """The messages from one on, each without its marks, with the index of the next one."""
    yield from ((end, _unmarked(m.raw)) for end, m in enumerate(conversation.messages[begin:], begin + 1))


def _unmarked(raw: str) -> bytes:
    try:
        items = orjson.loads(f"[{raw}]")
    except orjson.JSONDecodeError:  # a lone surrogate: a fingerprint of the original text is good enough
        return raw.encode("utf-8")
    return orjson.dumps([_bare_item(item) for item in items])


def parts_of(conversation: Conversation, index: int) -> Iterator[BarePart]:
    """The parts of a message that consists of one item."""
    items = orjson.loads(f"[{conversation.messages[index].raw}]")
    if len(items) != 1 or not isinstance(items[0], dict) or "content" not in items[0]:
        return iter(())
    opening = b"[" + orjson.dumps([items[0].get("role")])[:-1] + b",["
    return bare_parts(opening, items[0]["content"], _bare_item(items[0])[1], MARKS)


def _bare_item(item: Any) -> Any:
    """An item with its content first."""
    if not isinstance(item, dict) or "content" not in item:
        return _bare(item)
    content = item["content"]
    parts = content if isinstance(content, list) else [{"text": content}]
    rest = {key: value for key, value in item.items() if key not in ("content", *MARKS)}
    return [
        item.get("role"),
        [part["text"] if isinstance(part, dict) and "text" in part else _bare(part) for part in parts],
        rest,
    ]


def _bare(value: Any) -> Any:
    """A value without marks at any depth: the output of a call may be a list of parts too."""
    if isinstance(value, list):
        return [_bare(one) for one in value]
    if isinstance(value, dict):
        return {key: _bare(one) for key, one in value.items() if key not in MARKS}
    return value


#: Responses.
RESPONSES: Final = Wire("responses", read, write, unmarked, unmarked_pieces, parts_of, MARKS, reply, unmarks_outside=True)
