"""The state of a conversation kept within a token budget, and how it changes (row C8).

Messages, settings, blocks and the history; adding to it, drilling into it, searching it. ``telling`` writes its context and
``exports`` its JSON. There is no store, lock or clock here.

History is append-only: a block is made once, from the messages themselves, and never compressed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from turnfold.compression import tokens
from turnfold.compression.budgeted.sentences import ToldSentence, told_sentences
from turnfold.compression.errors import InvalidInput, SectionUnknown, is_whole, require
from turnfold.compression.memo import Memo, digest
from turnfold.compression.scorers.query import Relevance
from turnfold.compression.scorers.tfidf import TfIdf
from turnfold.compression.shorten.prose import shorten
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.text.dialogue.standing.orders import standing_orders
from turnfold.compression.text.quotes import Source
from turnfold.compression.tokens import Count

Action = Literal["appended", "compressed", "duplicate"]

#: Roles whose messages stay whole for good.
PINNED: Final = frozenset({"system", "developer"})
#: Share of the budget that history has at least; recent messages beyond those that stay raw may fill the rest.
HISTORY_SHARE: Final = 0.5
#: Tokens of the two headings.
HEADINGS: Final = 12
# Of a block's tokens: its facts and its summary.
_FACTS, _SUMMARY = 0.3, 0.1


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
        compress_threshold: tokens that the context may take; only system messages and recent ones can exceed it.
        keep_recent: messages that stay raw, 0 or more.

    Raises:
        InvalidInput: a value is out of range.
    """

    compress_threshold: int = 1000
    keep_recent: int = 5

    def __post_init__(self) -> None:
        for name, least in (("compress_threshold", 1), ("keep_recent", 0)):
            require((name, is_whole(getattr(self, name), least), f"must be a whole number from {least}"))


@dataclass(frozen=True, slots=True)
class Block:
    """Compressed history: its messages, and what the context says of them. `of` makes one.

    Attributes:
        id: content hash, unique within the conversation.
        messages: the originals.
        texts: facts and summary (layers 1 and 2), each no longer than the one before it.
        tokens: of the originals, the facts and the summary.
        quotes: the sentences that a context can tell; they follow from the messages.
    """

    id: str
    messages: tuple[HistoryMessage, ...]
    texts: tuple[str, str]
    tokens: tuple[int, int, int]
    quotes: tuple[ToldSentence, ...]

    @classmethod
    def of(
        cls,
        block_id: str,
        messages: tuple[HistoryMessage, ...],
        texts: tuple[str, str],
        sizes: tuple[int, int, int],
        *,
        count: Count = tokens.count,
    ) -> Block:
        """A block, its quotes found in its messages."""
        return cls(block_id, messages, texts, sizes, told_sentences([(m.role, m.content) for m in messages], count))


@dataclass(frozen=True, slots=True)
class History:
    """The state of one conversation. `version` grows by one with each change, for compare-and-set."""

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
class SearchHit:
    """A message of the history that bears on a query."""

    block_id: str
    message: HistoryMessage
    score: float


def add(
    state: History, message: HistoryMessage, settings: HistorySettings, *, count: Count = tokens.count, memo: Memo | None = None
) -> tuple[History, Action]:
    """The state with one more message, and what was done: appended, compressed (with a block made), or found a duplicate."""
    if _is_duplicate(state, message):
        return replace(state, version=state.version + 1, duplicates=state.duplicates + 1), "duplicate"
    size = count(line(message))
    state = replace(state, version=state.version + 1, raw_tokens=state.raw_tokens + size, messages=state.messages + 1)
    if message.role in PINNED:
        return replace(state, pinned=(*state.pinned, message)), "appended"
    state = replace(state, recent=(*state.recent, message), recent_tokens=(*state.recent_tokens, size))
    if not _is_due(state, settings, count):
        return state, "appended"
    return _with_block(state, len(state.recent) - settings.keep_recent, count, memo or Memo()), "compressed"


def _is_duplicate(state: History, message: HistoryMessage) -> bool:
    """Whether a message says again what was said just before: somebody sent it twice. With others in between it is meant."""
    if message.role in PINNED:
        return next((m for m in reversed(state.pinned) if m.role == message.role), None) == message
    blocks = state.blocks[-1].messages if state.blocks else ()
    return (state.recent or blocks)[-1:] == (message,)


def _is_due(state: History, settings: HistorySettings, count: Count) -> bool:
    if len(state.recent) <= settings.keep_recent:
        return False
    history = min(sum(block.tokens[0] for block in state.blocks), int(HISTORY_SHARE * settings.compress_threshold))
    room = settings.compress_threshold - history - HEADINGS
    lines = sum(state.recent_tokens) + sum(count(line(message)) for message in state.pinned)
    if lines > room or lines + len(state.recent) + len(state.pinned) <= room:
        return lines > room
    # Where a line's end is a token of its own depends on what it ends with.
    return count("\n".join(map(line, (*state.pinned, *state.recent)))) > room


def block_id(number: int, messages: Sequence[HistoryMessage]) -> str:
    """The id of a conversation's block: a hash of its number and its messages."""
    return "b" + digest(str(number), *map(line, messages)).hex()[:20]


def _with_block(state: History, size: int, count: Count, memo: Memo) -> History:
    """The oldest `size` recent messages as one more block."""
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
    block = Block.of(block_id(len(state.blocks), gone), gone, (facts, summary), sizes, count=count)
    told = [span.of(m.content).strip() for m in gone if m.role == "user" for span in standing_orders(m.content)]
    orders = tuple(dict.fromkeys([*state.orders, *told]))
    return replace(
        state, orders=orders, blocks=(*state.blocks, block), recent=state.recent[size:], recent_tokens=state.recent_tokens[size:]
    )


def drill_down(state: History, section_id: str, layer: int = 0) -> str:
    """A block's messages raw (0), its facts (1) or its summary (2).

    Raises:
        InvalidInput: `layer` is not 0, 1 or 2.
        SectionUnknown: the conversation has no such block.
    """
    if layer not in (0, 1, 2) or isinstance(layer, bool):
        raise InvalidInput("layer", "must be 0, 1 or 2")
    for block in state.blocks:
        if block.id == section_id:
            return "\n".join(line(m) for m in block.messages) if layer == 0 else block.texts[layer - 1]
    raise SectionUnknown(section_id)


def search(state: History, query: str, limit: int = 5, *, relevance: Relevance | None = None) -> tuple[SearchHit, ...]:
    """The messages of the history that bear most on a query, best first; fewer than `limit` where fewer match."""
    places = [(block.id, message) for block in state.blocks for message in block.messages]
    scores = (relevance or _match_scores)([message.content for _, message in places], query) if places else []
    order = sorted((i for i in range(len(places)) if scores[i] > 0), key=lambda i: (-scores[i], i))[: max(0, limit)]
    return tuple(SearchHit(*places[i], score=scores[i]) for i in order)


def _match_scores(texts: Sequence[str], query: str) -> list[float]:
    """TF-IDF without its fall-back: where no term of the query occurs nothing matches."""
    scores = TfIdf().score(texts, query)
    return scores if scores != TfIdf().score(texts) else [0.0] * len(texts)


def line(message: HistoryMessage) -> str:
    """A message as a context shows it."""
    return f"{message.role}: {message.content}"
