"""The writer of a fold's pieces: how each level is written, and where its text goes.

No message is invented. FACTS shortens messages in place. SUMMARY and LINE become text in front of the next kept user message, or
behind the kept one that the piece still answers. What is quoted comes from ``recall`` and ``shorten.summary``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from turnfold.compression import tokens
from turnfold.compression.fold import policy
from turnfold.compression.fold.pieces import Level, Piece
from turnfold.compression.fold.shape import ShapedResult
from turnfold.compression.fold.shortening import shorten_messages, task_words, weight
from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.fold.writing.drafts import Section, Surroundings
from turnfold.compression.memo import Memo, digest
from turnfold.compression.options import Prose
from turnfold.compression.recall.call_labels import sources
from turnfold.compression.recall.fence import render, render_written
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.shorten.told import NO_ROOM, ToldRoom
from turnfold.compression.text.passages import sentences
from turnfold.compression.text.quotes import Quote, Source
from turnfold.compression.wire.media import labels
from turnfold.compression.wire.message import Attachment, Message, Path, Texts

_BEFORE: Final = 24  # messages before a piece whose files are compared with those in it


@dataclass(frozen=True, slots=True)
class WrittenPieces:
    """The state of a writer after the pieces."""

    dropped: tuple[tuple[int, int], ...]
    gone: frozenset[int]
    shortened: Mapping[int, Texts]
    shaped: Mapping[int, Texts]
    beside: Mapping[int, tuple[tuple[str, ...], tuple[str, ...]]]
    sections: tuple[tuple[Section, Sequence[int]], ...]
    section_of: Mapping[int, Section]
    carried: tuple[str, ...]
    kept_user: int | None
    at: int

    @property
    def size(self) -> int:
        """Approximate size in bytes, without texts that are stored elsewhere too."""
        return 500 * (len(self.shortened) + len(self.beside) + len(self.sections))


class PieceWriter:
    """Processes the pieces in order; used for one call of `draft`."""

    def __init__(
        self,
        messages: Sequence[Message],
        units: Sequence[Unit],
        stays: frozenset[int],
        results: Mapping[int, ShapedResult],
        prose: Prose,
        memo: Memo,
    ) -> None:
        self.messages, self.units, self.stays, self.results, self.prose, self.memo = messages, units, stays, results, prose, memo
        self.dropped: list[tuple[int, int]] = []
        self.gone: frozenset[int] = frozenset()
        self.shortened: dict[int, Texts] = {}
        self.shaped: dict[int, Texts] = {}
        self.beside: dict[int, Surroundings] = defaultdict(Surroundings)
        self.sections: list[tuple[Section, Sequence[int]]] = []
        self.section_of: Mapping[int, Section] = {}
        self.carried: list[str] = []  # texts waiting for the next kept user message
        self.kept_user: int | None = None
        self.at = 0
        self.pictures: frozenset[int] = frozenset()  # results whose pictures stay
        self.told = policy.Telling()
        self.keeps = False  # whether the current piece contains the entries that users keep
        self.written: Mapping[tuple[int, int], str] = {}  # summaries that a model wrote, by the messages that they stand for

    def write(self, piece: Piece) -> None:
        self.settle(self.at, piece.start)  # raw units between two pieces, if any
        self.at, self.keeps = piece.end, piece.keeps
        if piece.level is Level.FACTS:
            self._facts(piece)
            return
        for unit in range(piece.start, piece.end):
            if unit in self.stays and self.units[unit].is_user:
                self._keep(unit)
        if piece.anchor is None:
            text = self._summary(piece.level, piece.start, piece.end, piece.requests)
            if self.units[piece.end].is_user or self.kept_user is None:
                self.carried.append(text)
            else:
                self.beside[self.kept_user].behind.append(text)
        else:
            told = piece.requests if piece.answered is None else (*piece.requests, piece.answered)
            self.carried.append(self._summary(piece.level, piece.start, piece.anchor, told))
            anchor = self._keep(piece.anchor)
            self.beside[anchor].behind.append(self._summary(piece.level, piece.anchor + 1, piece.end))

    def written_pieces(self) -> WrittenPieces:
        """The writer's current state."""
        beside = {index: (tuple(one.front), tuple(one.behind)) for index, one in self.beside.items()}
        return WrittenPieces(
            tuple(self.dropped),
            self.gone,
            dict(self.shortened),
            dict(self.shaped),
            beside,
            tuple(self.sections),
            self.section_of,
            tuple(self.carried),
            self.kept_user,
            self.at,
        )

    def take_over(self, known: WrittenPieces) -> None:
        """Continue from another writer's state."""
        self.dropped, self.gone = list(known.dropped), known.gone
        self.sections, self.section_of = list(known.sections), known.section_of
        self.shortened, self.shaped = dict(known.shortened), dict(known.shaped)
        for index, (front, behind) in known.beside.items():
            self.beside[index] = Surroundings(list(front), "", list(behind))
        self.carried, self.kept_user, self.at = list(known.carried), known.kept_user, known.at

    def settle(self, start: int, end: int) -> None:
        """Process raw units: waiting texts go before their first user message, and results are shaped."""
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

    def foldable_indices(self, start: int, end: int) -> list[int]:
        """Message indices of the units ``start..end`` that can be left out."""
        going = (unit for n, unit in enumerate(self.units[start:end], start) if n not in self.stays)
        return [i for u in going for i in range(u.start, u.end) if not self.messages[i].pinned]

    def _section(self, level: Level, indices: Sequence[int]) -> Section:
        messages = [self.messages[i] for i in indices]
        key = ("section", level.value, _keys(messages))
        name = self.memo.get(key, lambda: digest(level.value, *(m.key.hex() for m in messages)).hex()[:12])
        return Section(name, level.value, tuple(m.raw for m in messages), sum(m.tokens for m in messages))

    def _summary(self, level: Level, start: int, end: int, told: Sequence[int] = ()) -> str:
        """The text that replaces left-out units, with those in `told` among its quotes; "" for none."""
        indices = self.foldable_indices(start, end)
        if not indices:
            return ""
        self.dropped.extend(_runs(indices))
        section = self._section(level, indices)
        line = f"[turnfold {section.id}: {len(indices)} messages folded]"
        line += "".join(f"\n{_left_out(section, label)}" for label in labels(self._attachments(indices), _MOST_NAMED))
        whole = {i for unit in told for i in self._messages_of(unit)}
        text = self.quotes(indices, orders_only=level is Level.LINE, whole=[n for n, i in enumerate(indices) if i in whole])
        if level is Level.SUMMARY and (written := self._written_of(start, end)):
            text = self._shorter(indices, text, written)
        instead = f"{line}\n{text}" if text else line
        self.sections.append((replace(section, instead=(instead,)), indices))
        return instead

    def _messages_of(self, unit: int) -> range:
        return range(self.units[unit].start, self.units[unit].end)

    def quotes(self, indices: Sequence[int], *, orders_only: bool = False, whole: Sequence[int] = ()) -> str:
        """The quotes that replace messages.

        If there is no room, only the users' standing orders and the answered message (at `whole`) are quoted, since these apply
        however old they are.
        """
        raw = sum(self.messages[i].tokens for i in indices)
        room = 0 if orders_only else policy.summary_tokens(raw) - policy.LINE
        told = self._room_for_told(indices, raw, room) if self.told.ratio else NO_ROOM
        key = ("summary", _keys([self.messages[i] for i in indices]), room, told, tuple(whole))
        return self.memo.get(key, lambda: self._quote(indices, room, told, whole), lambda t: 200 + len(t))

    def _room_for_told(self, indices: Sequence[int], raw: int, room: int) -> ToldRoom:
        """For what users told: half of a summary's room, and where there is none, some of its own; more for what opens it all."""
        users = sum(self.messages[i].role == "user" for i in indices)
        size = room // 2 or policy.told_tokens(raw, users, self.told.ratio)
        first = self._opening(indices)
        told = ToldRoom(size, steps=policy.step_tokens(raw, self.told.ratio, keeps=self.keeps), has_answers=self.told.has_answers)
        return told if first is None else told._replace(opening=indices.index(first), opened=self.told.opening)

    def _opening(self, indices: Sequence[int]) -> int | None:
        """The user's message that opens the conversation, if it is one of these."""
        first = next((i for i, message in enumerate(self.messages) if message.role == "user"), None)
        return first if first in indices else None

    def _written_of(self, start: int, end: int) -> str:
        return self.written.get((self.units[start].start, self.units[end - 1].end), "")

    def _shorter(self, indices: Sequence[int], quotes: str, written: str) -> str:
        """The quotes or, if shorter, the users' standing orders with a written summary."""
        told_by = sources([self.messages[i] for i in indices])
        orders = summarise(told_by, 0, tokens.count, self.memo)
        text = render_written(told_by, orders, written)
        return text if tokens.count(text) < tokens.count(quotes) else quotes

    def _quote(self, indices: Sequence[int], room: int, told: ToldRoom, whole: Sequence[int]) -> str:
        told_by = sources([self.messages[i] for i in indices])
        chosen = summarise(told_by, room, tokens.count, self.memo, told)
        endings = (_ending(told_by, n) for n in whole if told_by[n].text.strip())
        return render(told_by, sorted((*chosen, *endings)))

    def _facts(self, piece: Piece) -> None:
        indices = self._editable(piece)
        for unit in range(piece.start, piece.end):
            if self.units[unit].is_user:
                self._keep(unit)
        anchor = None if piece.anchor is None else self.units[piece.anchor].start
        units = piece.requests if piece.answered is None else (*piece.requests, piece.answered)
        told = (i for unit in units for i in self._messages_of(unit))
        whole = {anchor, *(i for i in told if self.messages[i].tokens <= policy.ANSWERED)}
        opening = self._opening(indices)
        if opening is not None and self.messages[opening].tokens <= self.told.opening:
            whole.add(opening)
        going = [i for i in indices if i not in whole]
        messages = [self.messages[i] for i in going]
        forms = [self.results[i].texts if i in self.results else {} for i in going]
        speakers = self._speakers(piece)
        before = self.messages[max(0, going[0] - _BEFORE) : going[0]] if going else ()
        key = ("facts", _keys(before), _keys(messages), *map(_keys, speakers), bytes(map(bool, forms)), self.prose)
        texts = self.memo.get(
            key,
            lambda: shorten_messages(messages, forms, task_words(*speakers), self.prose, before, self.memo),
            weight,
        )
        section = self._section(Level.FACTS, indices)
        markers = {i: self._markers(section, i) for i in going}
        changed = {i: {**new, **markers[i]} for i, new in zip(going, texts, strict=True) if new or markers[i]}
        if not changed:
            return
        self.shortened.update(changed)
        instead = tuple("\n".join(changed[i].values()) if i in changed else None for i in indices)
        self.sections.append((replace(section, instead=instead), indices))
        marker = f"[turnfold {section.id}: {len(changed)} of {len(indices)} messages shortened]"
        first_user = next((i for i in indices if self.messages[i].speaker == "user" and self.messages[i].holds), None)
        if first_user is not None:
            self.beside[first_user].front.append(marker)

    def _editable(self, piece: Piece) -> list[int]:
        """Message indices of a piece at FACTS whose texts may be shortened.

        Messages with attachments keep their own text, and so do tables in use.
        """
        here = enumerate(self.units[piece.start : piece.end], piece.start)
        units = (unit for n, unit in here if not (unit.attached or (unit.rows and n in self.stays)))
        return [i for u in units for i in range(u.start, u.end) if not self.messages[i].pinned]

    def _attachments(self, indices: Sequence[int]) -> list[Attachment]:
        return [one for i in indices for one in self.messages[i].attached]

    def _markers(self, section: Section, index: int) -> dict[Path, str]:
        """The replacements of a message's attachments, by path."""
        message = self.messages[index]
        if message.sealed or index in self.pictures:
            return {}
        return {one.path: _left_out(section, one.label) for one in message.attached}

    def _speakers(self, piece: Piece) -> tuple[list[Message], list[Message]]:
        """The messages that describe the task up to the end of a piece: the first and latest of the user, and the assistant's in
        the piece.
        """
        users = [u.start for u in self.units[: piece.end] if u.is_user]
        calls = [self.messages[u.start] for u in self.units[piece.start : piece.end]]
        task = dict.fromkeys((*users[:1], *users[-3:]))
        return [self.messages[i] for i in task], [m for m in calls if m.role == "assistant"]


_MOST_NAMED: Final = 20  # attachments listed in a summary; those with the same name count once


def _left_out(section: Section, label: str) -> str:
    return f"[turnfold {section.id}: {label} left out]"


def _ending(sources: Sequence[Source], index: int) -> Quote:
    """A source or, if it is long, its end, which contains the question."""
    text = sources[index].text
    start, room = len(text), policy.ANSWERED
    for begin, end in reversed(sentences(text, 0, len(text))):
        if start < len(text) and tokens.count(text[begin:end]) > room:
            break
        room -= tokens.count(text[begin:end])
        start = begin
    return Quote(index, start, len(text))


def _keys(messages: Sequence[Message]) -> bytes:
    return b"".join([m.key for m in messages])


def _runs(indices: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Adjacent indices as half-open runs."""
    start = indices[0]
    for a, b in zip(indices, [*indices[1:], -1], strict=True):
        if b != a + 1:
            yield start, a + 1
            start = b
