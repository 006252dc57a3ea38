"""A conversation kept within a token budget (rows C8 and C9), as values.

Lives here: the state and its pure transitions: add, context, drill-down, search, export, import. Does not belong here: stores,
locks, time.

History is append-only: a block is made once, from the messages themselves, at two levels of detail, and never compressed again. A
context is a choice among these frozen texts: the newest blocks in detail, older ones as their summary, the oldest as their ids.
System messages and standing orders are included word for word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

import orjson

from turnfold.compression import tokens
from turnfold.compression.errors import InvalidInput, SectionUnknown
from turnfold.compression.memo import Memo, digest
from turnfold.compression.scorers.query import Relevance
from turnfold.compression.scorers.tfidf import TfIdf
from turnfold.compression.shorten.prose import shorten
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.text.orders import standing_orders
from turnfold.compression.text.quotes import Source

Count = Callable[[str], int]
Action = Literal["appended", "compressed", "duplicate"]

_PINNED: Final = frozenset({"system", "developer"})
_FORMAT: Final = 1
# Shares of the budget: what history may take, and how much of that goes to blocks in detail and to standing orders.
_HISTORY, _DETAIL, _ORDERS = 0.4, 0.5, 0.3
# Of a block's tokens: its facts and its summary.
_FACTS, _SUMMARY = 0.3, 0.1
# A repeated message of so many characters is a duplicate wherever it was said; a shorter one only if it was the last word.
_TELLING: Final = 40
_HEAD, _TAIL = "[Prior context summary]", "[Recent messages]"


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """One message.

    Raises:
        InvalidInput: the role is empty or not a string, or the content is no string.
    """

    role: str
    content: str

    def __post_init__(self) -> None:
        if not isinstance(self.role, str) or not self.role.strip():
            raise InvalidInput("message.role", "must be a string that is not blank")
        if not isinstance(self.content, str):
            raise InvalidInput("message.content", "must be a string")

    @property
    def key(self) -> bytes:
        """Content digest."""
        return digest(self.role, self.content)


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """When to compress.

    Attributes:
        compress_threshold: maximum number of tokens of the context; only system and recent messages can exceed it.
        keep_recent: number of newest messages that stay raw, 0 or more.

    Raises:
        InvalidInput: a value is out of range.
    """

    compress_threshold: int = 1000
    keep_recent: int = 5

    def __post_init__(self) -> None:
        for name, least in (("compress_threshold", 1), ("keep_recent", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise InvalidInput(name, f"must be a whole number from {least}")


@dataclass(frozen=True, slots=True)
class Block:
    """Compressed history: its messages, and their shorter texts.

    Attributes:
        id: content hash, unique within the conversation.
        messages: the originals.
        texts: facts and summary; never empty, each no longer than the one before it.
        tokens: of the originals, the facts and the summary.
        keys: digests of the messages.
    """

    id: str
    messages: tuple[HistoryMessage, ...]
    texts: tuple[str, str]
    tokens: tuple[int, int, int]
    keys: frozenset[bytes]


@dataclass(frozen=True, slots=True)
class History:
    """The state of one conversation. `version` increases by one with each change, for compare-and-set."""

    version: int = 0
    pinned: tuple[HistoryMessage, ...] = ()
    orders: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    recent: tuple[HistoryMessage, ...] = ()
    recent_tokens: tuple[int, ...] = ()
    raw_tokens: int = 0
    messages: int = 0
    duplicates: int = 0


@dataclass(frozen=True, slots=True)
class Context:
    """The text to send instead of the conversation, its tokens, and the tokens of the conversation."""

    text: str
    tokens: int
    raw_tokens: int

    @property
    def compression_ratio(self) -> float:
        """Raw tokens divided by tokens of the context."""
        return round(self.raw_tokens / max(1, self.tokens), 4)


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A message of the history that matches a query."""

    block_id: str
    message: HistoryMessage
    score: float


def add(
    state: History, message: HistoryMessage, settings: HistorySettings, *, count: Count = tokens.count, memo: Memo | None = None
) -> tuple[History, Action]:
    """The state with one more message, and what was done: appended, compressed (a block was made), or ignored as a duplicate."""
    if _is_duplicate(state, message):
        return replace(state, version=state.version + 1, duplicates=state.duplicates + 1), "duplicate"
    size = count(_line(message))
    state = replace(state, version=state.version + 1, raw_tokens=state.raw_tokens + size, messages=state.messages + 1)
    if message.role in _PINNED:
        return replace(state, pinned=(*state.pinned, message)), "appended"
    state = replace(state, recent=(*state.recent, message), recent_tokens=(*state.recent_tokens, size))
    if not _is_due(state, settings, count):
        return state, "appended"
    return _with_block(state, len(state.recent) - settings.keep_recent, count, memo or Memo()), "compressed"


def _is_duplicate(state: History, message: HistoryMessage) -> bool:
    if state.recent and state.recent[-1] == message:
        return True
    if message in state.pinned:
        return True
    if len(message.content) < _TELLING:
        return False
    return message in state.recent or any(message.key in block.keys for block in state.blocks)


def _is_due(state: History, settings: HistorySettings, count: Count) -> bool:
    if len(state.recent) <= settings.keep_recent:
        return False
    told = min(sum(block.tokens[1] for block in state.blocks), int(_HISTORY * settings.compress_threshold))
    pinned = sum(count(_line(message)) for message in state.pinned)
    return sum(state.recent_tokens) + told + pinned + 12 > settings.compress_threshold


def _with_block(state: History, size: int, count: Count, memo: Memo) -> History:
    """The state with the oldest `size` recent messages turned into a block."""
    gone = state.recent[:size]
    raw = sum(state.recent_tokens[:size])
    facts = "\n".join(
        f"{m.role}: {shorten(m.content, max(8, int(_FACTS * t)), role=m.role, count=count)}"
        for m, t in zip(gone, state.recent_tokens[:size], strict=True)
        if m.content.strip()
    )
    sources = [Source(m.role, m.content, m.key) for m in gone]
    quotes = summarise(sources, 40 + int(_SUMMARY * raw), count, memo)
    summary = "\n".join(f"{sources[q.source].role}: {sources[q.source].text[q.start : q.end]}" for q in quotes)
    sizes = (raw, count(facts), count(summary))
    if not summary or sizes[2] > sizes[1]:
        summary, sizes = facts, (raw, sizes[1], sizes[1])
    block_id = "b" + digest(str(len(state.blocks)), *(_line(m) for m in gone)).hex()[:20]
    block = Block(block_id, gone, (facts, summary), sizes, frozenset(m.key for m in gone))
    told = [span.of(m.content).strip() for m in gone if m.role == "user" for span in standing_orders(m.content)]
    orders = tuple(dict.fromkeys([*state.orders, *told]))
    return replace(
        state, orders=orders, blocks=(*state.blocks, block), recent=state.recent[size:], recent_tokens=state.recent_tokens[size:]
    )


def context(state: History, settings: HistorySettings, *, count: Count = tokens.count) -> Context:
    """The conversation as one text: its shortened history, then its recent messages raw.

    It takes at most `settings.compress_threshold` tokens, unless system and recent messages alone take more.
    """
    recent = "\n".join(_line(message) for message in state.recent)
    pinned = "\n".join(_line(message) for message in state.pinned)
    if not state.blocks:
        text = "\n".join(part for part in (pinned, recent) if part)
        return Context(text, count(text), state.raw_tokens)
    room = settings.compress_threshold - count(recent) - count(pinned) - 12
    budget = min(room, int(_HISTORY * settings.compress_threshold))
    while True:
        told = _history_text(state, budget, count)
        text = "\n".join(part for part in (_HEAD, pinned, told, _TAIL, recent) if part)
        size = count(text)
        if size <= settings.compress_threshold or not told:
            return Context(text, size, state.raw_tokens)
        budget = min(budget, count(told)) - (size - settings.compress_threshold) - 1


def _history_text(state: History, budget: int, count: Count) -> str:
    """The shortened history within a budget: orders, then blocks in order (ids of the oldest, summaries, facts of the newest)."""
    if budget <= 0:
        return ""
    orders, left = _newest(state.orders, [count(order) + 1 for order in state.orders], int(_ORDERS * budget))
    left += budget - int(_ORDERS * budget)
    detail, spent = int(_DETAIL * left), 0
    lines: list[str] = []
    at = len(state.blocks)
    while at and spent + state.blocks[at - 1].tokens[1] + 1 <= detail:
        at -= 1
        spent += state.blocks[at].tokens[1] + 1
        lines.append(state.blocks[at].texts[0])
    while at:
        cost = state.blocks[at - 1].tokens[2] + 1
        if spent + cost > left - (14 if at > 1 else 0):
            break
        at -= 1
        spent += cost
        lines.append(state.blocks[at].texts[1])
    if at:
        line = f"({at} earlier sections; {state.blocks[0].id} to {state.blocks[at - 1].id})"
        short = f"({at} earlier sections)"
        lines += [next((mark for mark in (line, short) if spent + count(mark) + 1 <= left), "")]
    return "\n".join(part for part in (*orders, *reversed(lines)) if part)


def _newest(texts: Sequence[str], costs: Sequence[int], budget: int) -> tuple[list[str], int]:
    """The latest texts that fit, in order, and the remaining budget."""
    kept: list[str] = []
    for text, cost in zip(reversed(texts), reversed(costs), strict=True):
        if cost <= budget:
            kept.append(text)
            budget -= cost
    return kept[::-1], budget


def drill_down(state: History, block_id: str, layer: int = 0) -> str:
    """A block's messages raw (0), its facts (1) or its summary (2).

    Raises:
        InvalidInput: `layer` is not 0, 1 or 2.
        SectionUnknown: the conversation has no such block.
    """
    if layer not in (0, 1, 2) or isinstance(layer, bool):
        raise InvalidInput("layer", "must be 0, 1 or 2")
    for block in state.blocks:
        if block.id == block_id:
            return "\n".join(_line(m) for m in block.messages) if layer == 0 else block.texts[layer - 1]
    raise SectionUnknown(block_id)


def search(state: History, query: str, limit: int = 5, *, relevance: Relevance | None = None) -> tuple[SearchHit, ...]:
    """The messages of the history that match a query best, best first; at most `limit`."""
    places = [(block.id, message) for block in state.blocks for message in block.messages]
    scores = (relevance or _match_scores)([message.content for _, message in places], query) if places else []
    order = sorted((i for i in range(len(places)) if scores[i] > 0), key=lambda i: (-scores[i], i))[: max(0, limit)]
    return tuple(SearchHit(*places[i], score=scores[i]) for i in order)


def _match_scores(texts: Sequence[str], query: str) -> list[float]:
    """TF-IDF without its fall-back: if no term of the query occurs, nothing matches."""
    scores = TfIdf().score(texts, query)
    return scores if scores != TfIdf().score(texts) else [0.0] * len(texts)


def _line(message: HistoryMessage) -> str:
    return f"{message.role}: {message.content}"


def export_history(state: History) -> str:
    """The whole state as JSON, for `import_history`."""
    data = asdict(state) | {"format": _FORMAT}
    for block in data["blocks"]:
        del block["keys"]
    return orjson.dumps(data, option=orjson.OPT_SORT_KEYS).decode()


def import_history(text: str) -> History:
    """The state from an export.

    Raises:
        InvalidInput: the text is not an export of this format; it names the field.
    """
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError as exc:
        raise InvalidInput("history", "is no JSON") from exc
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise InvalidInput("history.format", f"must be {_FORMAT}")
    try:
        return History(
            version=_whole(data, "version"),
            pinned=_messages(data["pinned"]),
            orders=tuple(_string(order, "history.orders") for order in data["orders"]),
            blocks=tuple(_block(block) for block in data["blocks"]),
            recent=_messages(data["recent"]),
            recent_tokens=tuple(int(n) for n in data["recent_tokens"]),
            raw_tokens=_whole(data, "raw_tokens"),
            messages=_whole(data, "messages"),
            duplicates=_whole(data, "duplicates"),
        )
    except KeyError as exc:
        raise InvalidInput(f"history.{exc.args[0]}", "is missing") from exc
    except (TypeError, ValueError) as exc:
        if isinstance(exc, InvalidInput):
            raise
        raise InvalidInput("history", f"does not have the form of an export ({exc})") from exc


def _whole(data: dict[str, Any], name: str) -> int:
    value = data[name]
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidInput(f"history.{name}", "must be a whole number from 0")
    return value


def _string(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(name, "must be a string")
    return value


def _messages(data: Sequence[dict[str, Any]]) -> tuple[HistoryMessage, ...]:
    return tuple(HistoryMessage(item["role"], item["content"]) for item in data)


def _block(data: dict[str, Any]) -> Block:
    messages = _messages(data["messages"])
    facts, summary = (_string(text, "history.blocks.texts") for text in data["texts"])
    raw, first, second = (int(n) for n in data["tokens"])
    return Block(
        _string(data["id"], "history.blocks.id"),
        messages,
        (facts, summary),
        (raw, first, second),
        frozenset(m.key for m in messages),
    )
