"""From a plan to the text that is forwarded.

Lives here: how each level of a piece is written, and where its text stands. Must not: where borders fall (``plan``), what is
quoted (``recall``, ``shorten.summary``).

No message is invented: FACTS shortens messages in place, SUMMARY and LINE become text in front of the next kept user message,
or behind the kept one that the piece still answers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from turnfold.compression import tokens
from turnfold.compression.fold import policy
from turnfold.compression.fold.fence import render
from turnfold.compression.fold.plan import Level, Piece, Plan
from turnfold.compression.fold.shape import Shaped, references
from turnfold.compression.fold.state_blocks import placed
from turnfold.compression.fold.units import Unit
from turnfold.compression.memo import Memo, digest
from turnfold.compression.options import FoldOptions, Prose
from turnfold.compression.shorten.facts import arguments, facts
from turnfold.compression.shorten.lines import names, visible_parts
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.text.quotes import Source
from turnfold.compression.wire.chat import Message, Request, Texts, value_span
from turnfold.compression.wire.edits import Edit, json_string, shifted

# How a text part ends: with a breakpoint (OpenAI, "Prompt caching": explicit breakpoints, 5.6 and later) or without.
_BREAKPOINT: Final = ',"prompt_cache_breakpoint":{"mode":"explicit"}}'
_NO_BREAKPOINT: Final = "}"


@dataclass(frozen=True, slots=True)
class Section:
    """What one run of folded content stands for.

    Attributes:
        id: content hash, the same on every replica; resolves within one tenant only.
        level: "facts", "summary" or "line".
        messages: the original messages' JSON texts, byte for byte, in order.
        tokens: tokens of the originals by the border counter.
    """

    id: str
    level: str
    messages: tuple[str, ...]
    tokens: int


@dataclass(slots=True)
class Beside:
    """Texts that stand beside one kept user message's own: in front of it (the state last), right behind it, and behind that."""

    front: list[str] = field(default_factory=list)
    state: str = ""
    recall: str = ""
    behind: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Draft:
    """A fold that lacks only recall.

    Attributes:
        dropped: runs of message indices that are left out.
        shortened: per message index, new texts by path.
        shaped: the same for tool results that are not folded (see ``results``).
        beside: per message index of a kept user message, what stands beside its text.
        sections: originals of what is folded.
    """

    dropped: tuple[tuple[int, int], ...]
    shortened: Mapping[int, Texts]
    shaped: Mapping[int, Texts]
    beside: Mapping[int, Beside]
    sections: tuple[Section, ...]

    def texts(self) -> Iterator[str]:
        """What the fold itself wrote: where recall need not quote again. The state is no part of it: a later block would change
        what an earlier message recalls."""
        for texts in self.shortened.values():
            yield from texts.values()
        for beside in self.beside.values():
            yield from (*beside.front, *beside.behind)


def fold(
    request: Request, units: Sequence[Unit], plan: Plan, options: FoldOptions, results: Mapping[int, Shaped], memo: Memo
) -> Draft:
    """Write the pieces of a plan. Pure; pieces that were written before come from `memo`.

    Args:
        results: forms of tool results, for those that are not folded.
    """
    messages = request.messages
    writer = _Writer(messages, units, results, options.prose, memo)
    for piece in plan.pieces:
        writer.write(piece)
    writer.settle(plan.tail, len(units))
    for index, block in placed(units, plan, options.state).items():
        writer.beside[index].state = block
    if options.shape_results and plan.tail < len(units):
        seen = units[plan.moved].end if plan.events else 0
        writer.shaped |= references(messages, units[plan.tail].start, seen)
    return Draft(tuple(writer.dropped), writer.shortened, writer.shaped, dict(writer.beside), tuple(writer.sections))


class _Writer:
    """Walks over the pieces in order; lives for one call of `fold`."""

    def __init__(
        self, messages: Sequence[Message], units: Sequence[Unit], results: Mapping[int, Shaped], prose: Prose, memo: Memo
    ) -> None:
        self.messages, self.units, self.results, self.prose, self.memo = messages, units, results, prose, memo
        self.dropped: list[tuple[int, int]] = []
        self.shortened: dict[int, Texts] = {}
        self.shaped: dict[int, Texts] = {}
        self.beside: dict[int, Beside] = defaultdict(Beside)
        self.sections: list[Section] = []
        self.carried: list[str] = []  # texts that wait for the next kept user message
        self.kept_user: int | None = None
        self.at = 0

    def write(self, piece: Piece) -> None:
        if piece.start > self.at:  # raw units between two pieces
            self.settle(self.at, piece.start)
        self.at = piece.end
        if piece.level is Level.FACTS:
            self._facts(piece)
        elif piece.anchor is None:
            text = self._summary(piece.level, piece.start, piece.end)
            if self.units[piece.end].is_user or self.kept_user is None:
                self.carried.append(text)
            else:
                self.beside[self.kept_user].behind.append(text)
        else:
            self.carried.append(self._summary(piece.level, piece.start, piece.anchor))
            anchor = self._keep(piece.anchor)
            self.beside[anchor].behind.append(self._summary(piece.level, piece.anchor + 1, piece.end))

    def settle(self, start: int, end: int) -> None:
        """Raw units: texts that still wait go in front of their first user message, results take their form."""
        for unit in range(start, end):
            if self.units[unit].is_user:
                self._keep(unit)
            for index in range(self.units[unit].start, self.units[unit].end):
                if index in self.results:
                    self.shaped[index] = self.results[index].texts

    def _keep(self, unit: int) -> int:
        self.kept_user = self.units[unit].start
        if any(self.carried):
            self.beside[self.kept_user].front.extend(t for t in self.carried if t)
        self.carried = []
        return self.kept_user

    def _folded(self, start: int, end: int) -> list[int]:
        """Message indices of the units ``start..end`` that may be left out."""
        return [i for u in self.units[start:end] for i in range(u.start, u.end) if not self.messages[i].pinned]

    def _section(self, level: Level, indices: Sequence[int]) -> Section:
        messages = [self.messages[i] for i in indices]
        key = ("section", level.value, _keys(messages))
        section = self.memo.get(key, lambda: _named(level, messages), lambda made: 300 + 60 * len(made.messages))
        self.sections.append(section)
        return section

    def _summary(self, level: Level, start: int, end: int) -> str:
        """The text that stands for units which are left out; "" for none."""
        indices = self._folded(start, end)
        if not indices:
            return ""
        self.dropped.extend(_runs(indices))
        section = self._section(level, indices)
        line = f"[turnfold {section.id}: {len(indices)} messages folded]"
        # Without room the users' standing orders are all that is quoted: those stay in force however old they are.
        room = 0 if level is Level.LINE else policy.summary_tokens(section.tokens) - policy.line_tokens()
        key = ("summary", section.id, room)
        text = self.memo.get(key, lambda: self._quoted(indices, room), lambda t: 200 + len(t))
        return f"{line}\n{text}" if text else line

    def _quoted(self, indices: Sequence[int], room: int) -> str:
        sources = [source(self.messages[i]) for i in indices]
        return render(sources, summarise(sources, room, tokens.count, self.memo))

    def _facts(self, piece: Piece) -> None:
        indices = self._folded(piece.start, piece.end)
        for unit in range(piece.start, piece.end):
            if self.units[unit].is_user:
                self._keep(unit)
        anchor = None if piece.anchor is None else self.units[piece.anchor].start
        going = [i for i in indices if i != anchor]
        messages = [self.messages[i] for i in going]
        forms = [self.results[i].texts if i in self.results else {} for i in going]
        speakers = self._speakers(piece)
        key = ("facts", _keys(messages), *map(_keys, speakers), bytes(map(bool, forms)), self.prose)
        texts = self.memo.get(key, lambda: _shortened(messages, forms, frozenset(_words(*speakers)), self.prose), _weight)
        changed = {i: new for i, new in zip(going, texts, strict=True) if new}
        if not changed:
            return
        self.shortened.update(changed)
        section = self._section(Level.FACTS, indices)
        marker = f"[turnfold {section.id}: {len(changed)} of {len(indices)} messages shortened]"
        first_user = next((i for i in indices if self.messages[i].role == "user" and self.messages[i].holds), None)
        if first_user is not None:
            self.beside[first_user].front.append(marker)

    def _speakers(self, piece: Piece) -> tuple[list[Message], list[Message]]:
        """Who tells the task as far as the piece's end: the first and latest user messages; the assistant in the piece."""
        users = [u.start for u in self.units[: piece.end] if u.is_user]
        calls = [self.messages[u.start] for u in self.units[piece.start : piece.end]]
        task = dict.fromkeys((*users[:1], *users[-3:]))
        return [self.messages[i] for i in task], [m for m in calls if m.role == "assistant"]


def _keys(messages: Sequence[Message]) -> bytes:
    return b"".join([m.key for m in messages])


def _named(level: Level, messages: Sequence[Message]) -> Section:
    name = digest(level.value, *(m.key.hex() for m in messages)).hex()[:12]
    return Section(name, level.value, tuple(m.raw for m in messages), sum(m.tokens for m in messages))


def _words(users: Sequence[Message], assistants: Sequence[Message]) -> Iterator[str]:
    """Words of the task, and names in the calls."""
    for message in users:
        yield from _WORD.findall(message.own[:4000].lower())
    for message in assistants:
        yield from (n.lower() for n in names(message.text[:2000]))


def _weight(texts: Sequence[Texts]) -> int:
    return 200 + sum(len(text) for one in texts for text in one.values())


def _shortened(messages: Sequence[Message], forms: Sequence[Texts], words: frozenset[str], prose: Prose) -> list[Texts]:
    """New texts by path for each message at FACTS, empty for one that stays as it is.

    From the newest back, so that what two of them say stands where it was said last.
    """
    repeated = references(messages, 0, len(messages))
    known: set[str] = set()
    out: list[Texts] = []
    for index in reversed(range(len(messages))):
        message = messages[index]
        new = repeated.get(index) or ({} if message.sealed else dict(_shorten(message, forms[index], words, known, prose)))
        for text in message.texts:
            known |= visible_parts(new.get(text.path, text.text))
        out.append(new)
    return out[::-1]


_WORD = re.compile(r"\w{3,}")


def _shorten(
    message: Message, form: Texts, words: frozenset[str], known: Container[str], prose: Prose
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for text in message.texts:
        new = facts(text.text, role=message.role, words=words, known=known, count=tokens.count, prose=prose)
        whole = form.get(text.path, text.text)
        if whole != text.text and (new == text.text or tokens.count(whole) <= tokens.count(new)):
            new = whole
        if new != text.text and new.strip():
            yield text.path, new
    for text in message.arguments:
        new = arguments(text.text, count=tokens.count)
        if new != text.text and new.strip():
            yield text.path, new


def _runs(indices: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Neighbouring indices as half-open runs."""
    start = indices[0]
    for a, b in zip(indices, [*indices[1:], -1], strict=True):
        if b != a + 1:
            yield start, a + 1
            start = b


def source(message: Message) -> Source:
    """A message as a text that can be quoted."""
    return Source(message.role, message.text, message.key)


@dataclass(frozen=True, slots=True)
class Caching:
    """How text of ours keeps out of the way of a cache that hits at marks only.

    Attributes:
        apart: whether it is a part of its own even beside a text that was a string. A mark ends where a part ends, and clients
            write a message as parts while they mark it and as a string when the mark has moved on: the parts must be the same.
        marked: index of the user message whose own text gets a breakpoint when recall stands behind it.
        since: index of the first message behind the first fold event: from there on every user message is written as parts, so
            that one looks the same with its recall and without.
    """

    apart: bool
    marked: int | None = None
    since: int = 0


def edits(request: Request, draft: Draft, recalls: Mapping[int, str], caching: Caching) -> list[Edit]:
    """All edits of the request's text: what is left out, what is shortened, what stands beside user messages.

    Args:
        recalls: per message index of a user message, the text that goes right behind its own.
        caching: whether that text is a part of its own, and where a breakpoint goes.
    """
    out = [Edit(request.spans[a][0], request.spans[b][0], "") for a, b in draft.dropped]
    gone = {i for a, b in draft.dropped for i in range(a, b)}
    loose = (
        {i for i, m in enumerate(request.messages) if m.role == "user" and m.holds and i >= caching.since}
        if caching.apart
        else ()
    )
    for index in sorted({*draft.shortened, *draft.shaped, *draft.beside, *recalls, *loose} - gone):
        beside = draft.beside.get(index, Beside())
        behind = [t for t in (recalls.get(index, ""), *beside.behind) if t]
        new = draft.shortened.get(index) or draft.shaped.get(index, {})
        apart = "" if not caching.apart else _BREAKPOINT if index == caching.marked and recalls.get(index) else _NO_BREAKPOINT
        front = [*beside.front, *([beside.state] if beside.state else [])]
        changes = _dress(request.messages[index], new, front, behind, apart)
        out += shifted(changes, request.spans[index][0])
    return out


def _dress(message: Message, new: Texts, front: Sequence[str], behind: Sequence[str], apart: str) -> list[Edit]:
    """Edits of one message: its shortened texts, and text around its content; its own text keeps its bytes."""
    out = [_replaced(message.raw, path, text) for path, text in new.items()]
    if not (front or behind) and (message.is_list or not apart or message.role != "user"):
        return out
    start, end = value_span(message.raw, ("content",))
    if message.is_list:
        out += [Edit(start + 1, start + 1, f"{_part(t)},") for t in front]
        out += [Edit(end - 1, end - 1, f",{_part(t)}") for t in behind]
    elif apart:
        head = "[" + "".join(f"{_part(t)}," for t in front) + '{"type":"text","text":'
        out += [Edit(start, start, head), Edit(end, end, apart + "".join(f",{_part(t)}" for t in behind) + "]")]
    else:
        out += [Edit(start + 1, start + 1, "".join(_inner(f"{t}\n\n") for t in front))]
        out += [Edit(end - 1, end - 1, "".join(_inner(f"\n\n{t}") for t in behind))]
    return _merged(out)


def _merged(edits: list[Edit]) -> list[Edit]:
    """Insertions at one place become one, and join a replacement that begins or ends there, so that order is never in doubt."""
    by_place: dict[tuple[int, int], str] = {}
    for edit in edits:
        by_place[edit.start, edit.end] = by_place.get((edit.start, edit.end), "") + edit.new
    return [Edit(a, b, new) for (a, b), new in by_place.items()]


def _replaced(raw: str, path: tuple[str | int, ...], text: str) -> Edit:
    start, end = value_span(raw, path)
    return Edit(start + 1, end - 1, _inner(text))


def _part(text: str) -> str:
    return f'{{"type":"text","text":{json_string(text)}}}'


def _inner(text: str) -> str:
    return json_string(text)[1:-1]
