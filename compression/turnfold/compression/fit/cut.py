"""Cutting the largest texts of a request in the middle until it fits.

This is what remains to be done when folding is not enough: choosing which texts are cut and how far, and, after that, which of
the oldest messages are left out.

Every text above one level is cut down to that level and keeps its head and tail. Levels are the steps of a fixed ladder, so that
a text is cut the same way in many requests while the conversation behind it grows. There are four ways, the mildest first:

    cut what is older than the most recent fifth;    leave out the oldest messages too;
    cut anywhere;                                     leave out all that is older, and cut anywhere.

System and developer messages are whole in all of them, signed messages are whole or gone, tool calls stay with their results.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Final

from turnfold.compression import lazy, tokens
from turnfold.compression.fit.asked import asked_ranges, question_before
from turnfold.compression.fit.middle import cut_middle
from turnfold.compression.fold.changing import settle
from turnfold.compression.fold.check import ATTACHMENT_LOST, TURN_BROKEN, check
from turnfold.compression.fold.counts import conversation_tokens
from turnfold.compression.fold.keeping import kept_messages
from turnfold.compression.fold.marks import move_marks
from turnfold.compression.fold.pieces import Level
from turnfold.compression.fold.thinking import all_thinking, binds_thinking
from turnfold.compression.fold.units.grouping import units
from turnfold.compression.fold.units.staying import staying
from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.fold.writing.drafts import Section
from turnfold.compression.memo import Memo, digest
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.edits import json_string
from turnfold.compression.wire.media import labels
from turnfold.compression.wire.message import Message, Messages, Path, Text

_SOFT: Final = 192  # tokens of a text that can still be followed: a few sentences at either end
_HARD: Final = 32
_NAMED: Final = 128  # tokens from which the note names the section, so that the model can request the whole text
_STEP: Final = 1.1  # ratio of one level to the next: at most a tenth of the room is given up for stability
_RECENT: Final = 0.2
_TRIES: Final = 4
_MOST_NAMED: Final = 20  # attachments listed in the note of a gap; those with the same name count once
#: Laws that a cut waives, since a single giant message can't be made to fit otherwise.
WAIVED: Final = frozenset({"last-user-broken", ATTACHMENT_LOST, TURN_BROKEN})

#: Levels in descending order.
LEVELS: Final[tuple[int, ...]] = tuple(sorted({int(_HARD * _STEP**k) for k in range(130)}, reverse=True))

_STRING: Final = lazy.pattern(r'("(?:[^"\\]|\\.)*+")(\s*:)?')  # with what follows a key


@dataclass(frozen=True, slots=True)
class Cut:
    """A request that was cut to fit.

    Attributes:
        forwarded: the request to send.
        changes: the changes made.
        tokens: its tokens by our own count for its model.
        shortened: number of texts that were cut.
        dropped: number of messages that were left out.
        recent_whole: whether the most recent fifth is unchanged.
        sections: the originals of the cut results, under the names in their notes.
    """

    forwarded: Conversation
    changes: Changes
    tokens: int
    shortened: int
    dropped: int
    recent_whole: bool
    sections: tuple[Section, ...] = ()


@dataclass(frozen=True, slots=True)
class _CuttableText:
    """A text that may be cut, with its tokens."""

    message: int
    text: Text
    tokens: int


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to make a request smaller: cut texts of these messages to `level`, and leave out these units."""

    level: int
    first: int
    end: int
    dropped: tuple[Unit, ...] = ()


def cut(conversation: Conversation, budget: int, options: FoldOptions, memo: Memo, asked: str = "") -> Cut | None:
    """The mildest cut that reduces a request to at most `budget` tokens; None if there is none.

    Args:
        options: options of a fold; only the model and what it accepts matter here.
        asked: the user's last text, if a fold has added quotes to it, which are not part of the question.

    Raises:
        FoldRejected: our own output failed a check.
    """
    messages, model = conversation.messages, options.model
    total = conversation_tokens(conversation, model, memo)
    border = sum(m.tokens for m in messages) or 1
    fixed = conversation_tokens(replace(conversation, messages=Messages()), model, memo)
    pieces = tuple(_cuttable_texts(messages, memo))
    room = int((budget - fixed) * border / max(1, total - fixed))  # in tokens of the border counter
    for _ in range(_TRIES):
        way = next(_ways(messages, pieces, room), None)
        if way is None:
            return None
        result = _make_cut(conversation, pieces, way, options, memo, asked)
        if result.tokens <= budget:
            return result
        room = min(int(room * 0.98), int(room - (result.tokens - budget) * border / max(1, total)))
    return None


def cut_results(conversation: Conversation, budget: int, options: FoldOptions, memo: Memo, asked: str = "") -> Cut | None:
    """Like `cut`, for a budget rather than a window.

    Only results and arguments of calls after the user's newest message are cut, as far as necessary; None if there are none to
    cut.
    """
    messages, model = conversation.messages, options.model
    newest = max((i for i, m in enumerate(messages) if m.speaker == "user"), default=-1)
    kept = kept_messages(messages, options)
    loose = {i for i in range(newest + 1, len(messages)) if i not in kept and not messages[i].reports}
    pieces = tuple(p for p in _cuttable_texts(messages, memo) if p.message in loose and _is_output(p, messages[p.message]))
    if conversation.held or binds_thinking(model) or not any(p.tokens > _HARD for p in pieces):
        return None
    counts, need = [p.tokens for p in pieces], conversation_tokens(conversation, model, memo) - budget
    for _ in range(_TRIES):
        level = _level(counts, need, _HARD) or LEVELS[-1]
        result = _make_cut(conversation, pieces, _Way(level, 0, len(messages)), options, memo, asked)
        if result.tokens <= budget or level == LEVELS[-1]:
            break
        need += result.tokens - budget
    return result


def _is_output(piece: _CuttableText, message: Message) -> bool:
    """Whether a text is a tool result or arguments of a call, written by nobody."""
    return message.is_result or piece.text.is_json


def _cuttable_texts(messages: Sequence[Message], memo: Memo) -> Iterator[_CuttableText]:
    for i, message in enumerate(messages):
        if message.pinned or message.sealed:
            continue
        for text in (*message.texts, *message.arguments):
            if len(text.text) > _HARD:  # a token has at least one character
                yield _CuttableText(i, text, _text_tokens(message, text.text, memo))


def _text_tokens(message: Message, text: str, memo: Memo) -> int:
    """Tokens of one of a message's texts; those of its only text are already known."""
    if text is message.text:
        return message.tokens - message.other_tokens
    return memo.get(("text", digest(text)), lambda: tokens.count(text))


def _ways(messages: Sequence[Message], pieces: Sequence[_CuttableText], room: int) -> Iterator[_Way]:
    """Ways that fit according to estimated sums, the mildest first."""
    cuts = units(messages)
    recent = recent_start(messages, cuts)
    old = [u for u in cuts if u.end <= recent]
    for end in (recent, len(messages)):
        for dropped in _drop_candidates(messages, cuts, old, all_of_it=end > recent):
            gone = _left_out(messages, dropped)
            free = room - sum(m.tokens for i, m in enumerate(messages) if i not in gone)
            cuttable = [p.tokens for p in pieces if p.message < end and p.message not in gone]
            floor = _HARD if dropped and end > recent else _SOFT
            level = _level(cuttable, -free, floor)
            if level is not None:
                yield _Way(level, 0, end, tuple(dropped))
                break


def _left_out(messages: Sequence[Message], dropped: Sequence[Unit]) -> set[int]:
    """Indices of the messages dropped with these units; instructions between a call and its results stay."""
    return {i for u in dropped for i in range(u.start, u.end) if not messages[i].pinned}


def _level(counts: Sequence[int], need: int, floor: int) -> int | None:
    """The highest level that saves `need` tokens; None if even the floor does not."""

    def saves(level: int) -> bool:
        return sum(n - level for n in counts if n > level) >= need

    allowed = [n for n in LEVELS if n >= floor]
    if not saves(allowed[-1]):
        return None
    return allowed[bisect_left(allowed, True, key=saves)]


def recent_start(messages: Sequence[Message], cuts: Sequence[Unit]) -> int:
    """The index of the first message of the most recent fifth, at a border of units."""
    count = sum(not m.pinned for m in messages)
    wanted = max(1, ceil(_RECENT * count))
    for unit in reversed(cuts):
        wanted -= 0 if unit.pinned else unit.end - unit.start
        if wanted <= 0:
            return unit.start
    return 0


def _drop_candidates(
    messages: Sequence[Message], cuts: Sequence[Unit], old: Sequence[Unit], *, all_of_it: bool
) -> Iterator[list[Unit]]:
    """Units after the first one that can be left out while roles still alternate: none, then more and more of them.

    Units with attachments stay, unless `all_of_it`. The user's newest message always stays, since a long tool loop may follow it.
    """
    yield []
    units_in_turn = [u for u in cuts if not u.pinned]
    loose = [u for u in old if not u.pinned]
    asked = max((i for i, u in enumerate(units_in_turn) if u.is_user or u.interrupted), default=0)
    if any(u.attached for u in old):
        yield from _sparing(messages, units_in_turn, len(loose), asked, all_of_it=all_of_it)
        if not all_of_it:
            return
    if 0 < asked < len(loose):
        bare = [u._replace(attached=False) for u in units_in_turn]
        yield from _sparing(messages, bare, len(loose) + 1, asked, all_of_it=all_of_it)
        return
    roles = [messages[u.start].role for u in units_in_turn]
    allowed = [k for k in range(1, len(loose)) if k + 1 < len(roles) and roles[k + 1] != roles[0]]
    for k in allowed[-1:] if all_of_it else _thin_out(allowed):
        yield loose[1 : k + 1]


def _sparing(
    messages: Sequence[Message], in_turn: Sequence[Unit], end: int, asked: int, *, all_of_it: bool
) -> Iterator[list[Unit]]:
    """More and more of the units before `end`, except the first, the one with the user's question, and those with attachments."""
    stays = staying([u._replace(attached=u.attached or i in {0, asked}) for i, u in enumerate(in_turn)])
    users = [messages[u.start].role == "user" for u in in_turn]
    allowed = [k for k in range(2, end) if k < len(in_turn) and users[k] is not (users[asked] and asked < k)]
    for k in allowed[-1:] if all_of_it else _thin_out(allowed):
        yield [in_turn[i] for i in range(k) if i not in stays]


def _thin_out(sizes: Sequence[int]) -> Iterator[int]:
    """About forty of many sizes, so that a chat of thousands of messages is not tried message by message."""
    step = max(1, len(sizes) // 40)
    yield from dict.fromkeys((*sizes[step - 1 :: step], *sizes[-1:]))


def _make_cut(
    conversation: Conversation, pieces: Sequence[_CuttableText], way: _Way, options: FoldOptions, memo: Memo, asked: str
) -> Cut:
    messages = conversation.messages
    gone = _left_out(messages, way.dropped)
    texts: dict[int, dict[Path, str]] = defaultdict(dict)
    for p in pieces:
        if p.message < way.end and p.message not in gone and p.tokens > way.level:
            short = _shorten(p, messages, way.level, memo, asked)
            if short is not None:
                texts[p.message][p.text.path] = short
    count = sum(map(len, texts.values()))
    if gone:
        _note_gap(messages, texts, gone)
    changes = Changes(dropped=tuple((i, i + 1) for i in sorted(gone)), texts=texts)
    changes = settle(changes, messages, options, all_thinking(messages, options.model, options.preserved_thinking))
    changes = move_marks(messages, changes, convert=True)
    forwarded = conversation.with_changes(changes, memo)
    check(conversation, forwarded, waived=WAIVED)
    tokens = conversation_tokens(forwarded, options.model, memo)
    named = sorted(i for i in texts if messages[i].is_result) if way.level >= _NAMED else ()
    sections = tuple(_section(messages[i], texts[i]) for i in named)
    return Cut(forwarded, changes, tokens, count, len(gone), way.end < len(messages), sections)


def _section(message: Message, texts: Mapping[Path, str]) -> Section:
    return Section(_section_name(message), Level.FACTS.value, (message.raw,), message.tokens, ("\n".join(texts.values()),))


def _section_name(message: Message) -> str:
    return digest("cut", message.key.hex()).hex()[:12]


def _note_gap(messages: Sequence[Message], texts: dict[int, dict[Path, str]], gone: set[int]) -> None:
    """Add a note to the text of the first user message before the gap: that messages are missing, and which attachments."""
    attached = [one for i in sorted(gone) if not messages[i].is_result for one in messages[i].attached]
    named = "; ".join(labels(attached, _MOST_NAMED))
    with_them = f", with {named}" if named else ""
    first = next(i for i, m in enumerate(messages) if not m.pinned)
    if messages[first].role == "user" and messages[first].texts:
        last = messages[first].texts[-1]
        text = texts[first].get(last.path, last.text)
        texts[first][last.path] = f"{text}\n\n[... {len(gone)} messages left out here{with_them} ...]"


def _shorten(piece: _CuttableText, messages: Messages, level: int, memo: Memo, asked: str) -> str | None:
    """The text with its middle left out, except the parts asked for; None if that does not make it smaller."""
    if piece.text.is_json:
        short = _shorten_arguments(piece, level)
    else:
        wanted = asked_ranges(piece.text.text, question_before(messages, piece.message, asked), level, memo)
        name = _section_name(messages[piece.message]) if messages[piece.message].is_result and level >= _NAMED else ""
        short = cut_middle(piece.text.text, level, piece.tokens, wanted, name)
        if messages[piece.message].role == "assistant":
            short = short.rstrip()  # Claude refuses a last message that ends in white space
    return short if short and len(short) < len(piece.text.text) else None


def _shorten_arguments(piece: _CuttableText, level: int) -> str | None:
    """Arguments with their long strings cut, as otherwise unchanged JSON. None if they are no JSON (an interrupted stream)."""
    text = piece.text.text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    share = level
    for _ in range(5):
        short = _STRING.sub(lambda m, cap=share: m[0] if m[2] else _shorten_string(m[1], cap), text)  # type: ignore[misc]
        if tokens.count(short) <= level:
            return short
        share //= 3
    return short


def _shorten_string(literal: str, cap: int) -> str:
    text = json.loads(literal, strict=False)
    count = tokens.count(text) if len(text) > cap else 0
    return json_string(cut_middle(text, cap, count)) if count > cap else literal
