"""Which user messages get recall, from what, and within how many tokens.

This module turns a plan's askers into texts placed after their messages. ``recall`` chooses and renders the passages.

The recall of a user message is a function of the messages up to it, so a tool loop under it keeps its bytes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from turnfold.compression import tokens
from turnfold.compression.fold.fold_task import FoldTask
from turnfold.compression.fold.pieces import Asker, Piece
from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.memo import Memo, begin_alike, digest
from turnfold.compression.options import FoldOptions
from turnfold.compression.recall.call_labels import quotables, source
from turnfold.compression.recall.choosing import recall
from turnfold.compression.recall.fence import Passage
from turnfold.compression.recall.question import Loop, Question, WantedWork
from turnfold.compression.recall.tuning import CACHED_CHEAPLY, TUNING, UNCACHED, Tuning
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.own_words import is_only_output
from turnfold.compression.text.dialogue.wanted.several_works import asked_several
from turnfold.compression.text.dialogue.wanted.works import asked_again, asked_work, named_work
from turnfold.compression.text.quotes import Quotable, Source
from turnfold.compression.wire.message import Message, Messages, family


@dataclass(frozen=True, slots=True)
class Recall:
    """The recall after a user message's own text: the fenced text ("" for none), and its passages.

    Attributes:
        by_vectors: whether vectors influenced the choice.
        border_tokens: tokens of the text by the border counter; None if it was chosen with another vocabulary.
    """

    text: str = ""
    passages: tuple[Passage, ...] = ()
    by_vectors: bool = False
    border_tokens: int | None = None

    @property
    def tokens(self) -> int:
        """Tokens of the text by the border counter."""
        return tokens.count(self.text) if self.border_tokens is None else self.border_tokens


class Present(NamedTuple):
    """The folded content that the request contains.

    Attributes:
        texts: texts written by the fold, and earlier recalls.
        changed: folded messages that it does not contain unchanged.
    """

    texts: tuple[str, ...]
    changed: frozenset[int]


def recall_for(
    given: FoldTask, asker: Asker, stays: frozenset[int], askers: int, present: Present, budget: int, works: int
) -> Recall:
    """The passages to put after a user message's own text; none if nothing bears on it.

    Args:
        stays: indices of units that are forwarded although they are in a piece.
        askers: how many user messages of the request get recall.
        present: content of the request that need not be quoted again.
        budget: most tokens of the text.
        works: most tokens of the text if it quotes a work requested as a whole, or all rows of a question.
    """
    messages, cut, options, memo = given.conversation.messages, given.cut, given.options, given.memo
    indices, folded, name = _remembered(messages, cut, asker, stays, options, memo)
    question = _question(given, asker, stays, indices, present, works)
    fill, tuning = options.budget is not None, _tuning(options)
    count = tokens.counter_for_model(options.model)

    def make() -> Recall:
        found = recall(folded, question, budget, present.texts, count, memo, fill=fill, tuning=tuning)
        border_tokens = dict(zip(count.vocabularies, found.counts, strict=False)).get(tokens.BORDER_ENCODING)
        return Recall(found.text, found.passages, any(question.likeness), border_tokens)

    asked = (*_names(question), name, present.texts, budget, works, fill, tuning, options.model)
    key = ("recall", b"".join(messages.keys[:_TELLING]))
    known: dict[Hashable, Recall] = memo.find(key) or {}
    found = known.get(asked)
    if found is None:
        found = make()
        newest = {asked: found, **dict(islice(known.items(), askers + _SPARE - 1))}
        memo.put(key, newest, lambda kept: sum([2000 + 2 * len(one.text) for one in kept.values()]))
    return found


def _question(
    given: FoldTask, asker: Asker, stays: frozenset[int], indices: Sequence[int], present: Present, works: int
) -> Question:
    """A user's message as recall takes it.

    Args:
        indices: the messages that recall may quote.
    """
    messages, user = given.conversation.messages, given.cut[asker.unit].start
    behind = quotables(messages[(indices[-1] + 1 if indices else 0) : user])
    all_changed = present.changed.issuperset(indices)  # the usual case
    before = _exchange(messages[:user])
    return Question(
        text=messages[user].own,
        before=before,
        likeness=_likeness(given.options, user, indices),
        work=_work(messages[user], before) if works else None,
        behind=behind,
        held=frozenset(() if all_changed else [n for n, index in enumerate(indices) if index not in present.changed]),
        request=_request(messages, user),
        whole_room=works,
        standing=_standing(messages, given.cut, stays, indices),
        loop=_loop(messages, user, indices) if given.options.budget is not None else None,
    )


def _names(question: Question) -> tuple[Hashable, ...]:
    """What tells a question from others about the same messages; the texts around it by their digests."""
    newest = question.loop.newest if question.loop else ()
    beside = (*question.behind, *(s for _, s in question.standing), *newest)
    around = digest(b"".join([s.key for s in beside]).hex()).hex(), tuple([s.key for s in question.before])
    return (question.text, question.request, *around, question.held, question.likeness, question.work is not None)


def _standing(
    messages: Messages, cut: Sequence[Unit], stays: frozenset[int], indices: Sequence[int]
) -> tuple[tuple[int, Source], ...]:
    """Tables that the request contains unchanged, each with the number of folded messages before it."""
    end = indices[-1] if indices else 0
    tables = (cut[i] for i in sorted(stays) if cut[i].rows and cut[i].start < end)
    return tuple([(bisect_left(indices, i), source(messages[i])) for unit in tables for i in range(unit.start, unit.end)])


def _tuning(options: FoldOptions) -> Tuning:
    """The recall tuning for the provider's prices."""
    if options.prices.read >= options.prices.write:
        return UNCACHED
    return CACHED_CHEAPLY if options.prices.read <= _CHEAP else TUNING


def _loop(messages: Messages, user: int, indices: Sequence[int]) -> Loop | None:
    """An agent's work on a user message, if its first steps are folded; otherwise None."""
    first = bisect_left(indices, user)
    return Loop(first, quotables(messages[indices[-1] + 1 :])) if first < len(indices) else None


def open_questions(cut: Sequence[Unit], askers: Sequence[Asker], options: FoldOptions) -> tuple[int, ...]:
    """Indices of the user messages with recall whose similarities the options request but do not contain."""
    if not (options.wants_likeness and options.recall):
        return ()
    known = {one.at for one in options.likenesses}
    return tuple(user for asker in askers if (user := cut[asker.unit].start) + 1 not in known)


def _likeness(options: FoldOptions, user: int, indices: Sequence[int]) -> tuple[bytes, ...]:
    """The similarities known for a user message, by folded message; () if there are none, or not for all quotable messages."""
    found = next((one.by_message for one in options.likenesses if one.at == user + 1), ())
    if not found:  # without vectors
        return ()
    return tuple(found[i] for i in indices) if len(found) >= max((user, *(i + 1 for i in indices))) else ()


_KEPT: Final = 4  # per conversation: user messages with persistent recall were asked at different times
_CHEAP: Final = 0.25  # relative price of a cached token
_SPARE: Final = 8  # recalls remembered per conversation besides those of its request; they are large, and most serve one request
_WORKED_ON: Final = 24  # messages within which an agent retries
_TELLING: Final = 16  # messages compared to tell conversations apart: many may begin with the same few


class _QuotableMessages(NamedTuple):
    """The quotable messages: their indices, the messages, and a digest of them."""

    indices: Sequence[int]
    messages: tuple[Quotable, ...]
    name: str


class _FoldedPieces(NamedTuple):
    """The folded pieces of a conversation, and the quotable part of them."""

    messages: Messages
    cut: Sequence[Unit]
    pieces: tuple[Piece, ...]
    stays: frozenset[int]
    tool_text: bool

    def is_same(self, other: _FoldedPieces) -> bool:
        """Whether the same messages may be quoted."""
        if self[2:] != other[2:]:
            return False
        end = self.pieces[-1].end
        return begin_alike(self.cut, other.cut, end) and begin_alike(self.messages, other.messages, self.cut[end - 1].end)


def _remembered(
    messages: Messages, cut: Sequence[Unit], asker: Asker, stays: frozenset[int], options: FoldOptions, memo: Memo
) -> _QuotableMessages:
    """The quotable messages, cached between two fold events."""
    if not asker.pieces:
        return _QuotableMessages((), (), "")
    given = _FoldedPieces(messages, cut, asker.pieces, stays, options.recall_tool_text)
    key = ("folded", family(messages))
    known: tuple[tuple[_FoldedPieces, _QuotableMessages], ...] = memo.find(key) or ()
    found = next((found for before, found in known if before.is_same(given)), None)
    if found is None:
        indices = _folded(messages, cut, asker, stays, options)
        name = b"".join([messages.keys[i] for i in indices])
        found = _QuotableMessages(indices, quotables([messages[i] for i in indices]), digest(name.hex()).hex())
        memo.put(key, ((given, found), *known)[:_KEPT], lambda kept: sum([500 + 64 * len(one.indices) for _, one in kept]))
    return found


def _folded(
    messages: Sequence[Message], cut: Sequence[Unit], asker: Asker, stays: frozenset[int], options: FoldOptions
) -> list[int]:
    """The messages folded when the user asked that may be quoted: no pinned message, no anchor, and tool text only if enabled."""
    found: list[int] = []
    for piece in asker.pieces:
        anchor = piece.end if piece.anchor is None else piece.anchor
        for start, end in ((piece.start, anchor), (anchor + 1, piece.end)):
            if not stays and end > start:
                found += range(cut[start].start, cut[end - 1].end)
                continue
            for unit in range(start, end):
                if unit not in stays:
                    found += range(cut[unit].start, cut[unit].end)
    return [i for i in found if not messages[i].pinned and (options.recall_tool_text or not messages[i].is_output)]


def _work(message: Message, before: Sequence[Source]) -> WantedWork | None:
    """The work that a user's message requests as a whole or asks about, if any; the previous exchange may name it."""
    asks = words.fold(message.own)
    whole = asked_several(asks) or asked_work(asks)
    if whole is None:
        earlier = next((words.fold(one.text) for one in reversed(before) if one.role == "user"), "")
        whole = asked_again(asks, earlier)
    asked = whole or named_work(asks)
    return WantedWork(asked, whole is not None) if asked else None


def _request(messages: Sequence[Message], user: int) -> str:
    """The task of an agent whose newest user message was written by a program: the user's last words; otherwise ""."""
    if not is_only_output(messages[user].own):
        return ""
    before = (messages[i] for i in range(user - 1, max(-1, user - _WORKED_ON - 1), -1))
    said = (m.own for m in before if m.speaker == "user" and m.own.strip())
    return next((own for own in said if not is_only_output(own)), "")


def _exchange(before: Sequence[Message]) -> tuple[Source, ...]:
    """The last exchange before a user message: a user's message and its answer, without tool results."""
    spoken = (m for m in reversed(before) if m.speaker in ("user", "assistant") and m.own.strip())
    return tuple(source(m) for m in islice(spoken, 2))[::-1]
