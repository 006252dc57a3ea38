"""Statements that users made in messages of their own: "I am vegetarian", "We moved it to the 21st".

This module chooses such statements of a block, for the text that stands for it. A short message that tells something and asks
nothing is taken whole; of any other message, the sentences that tell, with what they need. What speaks for a statement is in
``text.dialogue.self_statements``; standing orders and the best sentences of a block are chosen in ``summary``.

A later question may need them without sharing a word with them ("what could I cook tonight?"), or need the newest of several
that contradict each other. What a message asks is no such statement: its words come back when it is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.memo import Memo
from turnfold.compression.shorten.answers import asked, merely_agrees
from turnfold.compression.shorten.steps import is_brief, kept_steps, terse_answers
from turnfold.compression.text.dialogue.own_words import beside_output
from turnfold.compression.text.dialogue.self_statements import changes, statement_weight
from turnfold.compression.text.dialogue.short_exchanges import is_short
from turnfold.compression.text.dialogue.updates import updates
from turnfold.compression.text.dialogue.wanted.picks import picks
from turnfold.compression.text.lower import lower_text, words, words_within
from turnfold.compression.text.quotes import Quotable, Quote
from turnfold.compression.text.sentences import rough_sentences
from turnfold.compression.text.spans import bare_range
from turnfold.compression.text.statements import statements

_LONGEST: Final = 240  # characters of a statement
_LONGEST_READ: Final = 2400  # characters of a message that also says other things
_LONG: Final = 400  # characters of a message that may quote others: a pasted article says more that nobody can guess
_OF_OTHERS: Final = 0.25  # what a statement in such a message is worth less
_LEAST: Final = 0.25
_CHANGED: Final = 0.3  # additional worth of a message that retracts an earlier one
_NODDED: Final = 0.25  # and of one answered only by a nod: it was to be recorded, not worked on
_NOD: Final = 120  # most characters of a nod
_WAITS: Final = 40  # characters of an answer that only waits for more: "Got it.", "Noted, what else?"
_NEWEST: Final = 0.1  # additional worth of the newest of a block
_OPENS: Final = 0.5  # and of a chat's first message: it says what all of it is about
_ANSWERS: Final = 0.3  # and of one quoted with the question that it answers
_NAUGHT: Final = 16  # characters of an opening without content: "Hi there!"
_SHORTEST: Final = 8  # tokens of the shortest usual quote, with its mark
_MISSES: Final = 8  # candidates that do not fit with all their needs, before the search ends
_PER_QUOTE: Final = 3  # tokens of a quote's mark
_ASKS: Final = lazy.pattern(r"[?？؟]")
_FIGURE: Final = lazy.pattern(r"\d")


class ToldRoom(NamedTuple):
    """Room for the statements of a block.

    Attributes:
        tokens: most tokens for them, including marks.
        opening: the index of its message that opens the conversation, if any.
        opened: tokens for that message, and for a question and answer directly after it.
        steps: tokens for entries recorded step by step, if all of them fit: a part would give wrong totals.
        has_answers: whether to include short answers, if they fit too.
    """

    tokens: int = 0
    opening: int | None = None
    opened: int = 0
    steps: int = 0
    has_answers: bool = False


NO_ROOM: Final = ToldRoom()


class _Told(NamedTuple):
    """A range of a message, and how likely it is such a statement."""

    weight: float
    start: int
    end: int


class _ToldCandidate(NamedTuple):
    weight: float
    source: int
    opens: bool
    said: _Told
    asked: Quote | None  # the question that it answers, or the item that it picks, in an earlier message


def told(sources: Sequence[Quotable], room: ToldRoom, count: Callable[[str], int], memo: Memo) -> list[Quote]:
    """The most informative statements of users, in order, as many as fit; among equals, the last."""
    if room.tokens <= 0:
        return []
    left = {True: room.opened, False: room.tokens}
    found = _steps(sources, room, count, memo)
    misses = 0
    newer = _newer(sources, memo)
    for one in sorted(_candidates(sources, room.opening, memo), reverse=True):
        if misses == _MISSES or max(left.values()) < _SHORTEST:
            break
        rooms = (True, False) if one.opens else (False,)
        if _PER_QUOTE + count(sources[one.source].text[one.said.start : one.said.end]) > max(left[kind] for kind in rooms):
            continue
        new = _quotes(sources, one, newer, memo) - found
        cost = sum(count(sources[quote.source].text[quote.start : quote.end]) + _PER_QUOTE for quote in new)
        taken = next((kind for kind in rooms if cost <= left[kind]), None)
        if taken is None:
            misses += 1
            continue
        left[taken] -= cost
        found |= new
    return sorted(found)


def _steps(sources: Sequence[Quotable], room: ToldRoom, count: Callable[[str], int], memo: Memo) -> set[Quote]:
    """The recorded steps as whole messages, with short answers; empty if they don't fit.

    If necessary, answers are left out first, then steps with a long answer, then lists of several things.
    """
    if room.steps <= 0:
        return set()
    steps = kept_steps(sources, memo)
    answered = terse_answers(sources, memo) if room.has_answers else []
    answers = {Quote(n, 0, len(sources[n].text)) for at in answered for n in (at, at + 1)}
    short = [step for step in steps if is_short(sources[step.answer])]
    for some, more in ((steps, answers), (steps, set()), (short, set()), ([s for s in steps if is_brief(sources, s)], set())):
        quotes = more | {Quote(s.source, 0, len(sources[s.source].text)) for s in some} | {s.question for s in some if s.question}
        if sum(count(sources[q.source].text[q.start : q.end]) + _PER_QUOTE for q in quotes) <= room.steps:
            return quotes
    return set()


def _newer(sources: Sequence[Quotable], memo: Memo) -> dict[int, int]:
    """The newest message that updates each message, directly or through others."""
    newest: dict[int, int] = {}
    updated = [(one.newer, one.older) for one in updates(sources, memo)]
    updated += [(one.by, one.instead) for one in picks(sources, memo) if one.instead is not None]
    for newer, older in sorted(updated, reverse=True):
        newest.setdefault(older, newest.get(newer, newer))
    return newest


def _quotes(sources: Sequence[Quotable], one: _ToldCandidate, newer: Mapping[int, int], memo: Memo) -> set[Quote]:
    """A candidate with its question, the needs of both, and the message that updates it."""
    new = {Quote(one.source, *place) for place in _with_needs(sources[one.source], one.said, memo)}
    if one.source in newer:
        new |= {Quote(newer[one.source], *place) for place in _updating_places(sources[newer[one.source]], memo)}
    if one.asked:
        asking = sources[one.asked.source]
        new |= {Quote(one.asked.source, *place) for place in _with_needs(asking, _Told(0.0, *one.asked[1:]), memo)}
    return new


def _updating_places(source: Quotable, memo: Memo) -> Iterable[tuple[int, int]]:
    """The statements of a message that updates another; the whole message if no sentence is a statement."""
    said = [one for one in _statements_of(source, memo) if one.end > one.start]
    return [place for one in said for place in _with_needs(source, one, memo)] or [(0, len(source.text))]


def _candidates(sources: Sequence[Quotable], opening: int | None, memo: Memo) -> Iterable[_ToldCandidate]:
    """Users' statements without duplicates; the last one is kept."""
    latest: dict[tuple[str, str], _ToldCandidate] = {}
    opens = False
    elsewhere = {one.by: Quote(one.of, *one.item) for one in picks(sources, memo)}
    for i, source in enumerate(sources):
        if source.role != "user":
            continue
        question = elsewhere.get(i) or _question(sources, i, memo)
        opens = i == opening or (opens and (question is not None or _waits(sources[i - 1])))
        more = _NODDED * _is_nodded(sources, i) + _ANSWERS * (question is not None and not merely_agrees(source.text))
        for one in _statements_of(source, memo):
            weight = one.weight + more + _OPENS * (opens and (question is not None or one.end - one.start > _NAUGHT))
            if weight >= _LEAST:
                key = (
                    sources[question.source].text[question.start : question.end] if question else "",
                    source.text[one.start : one.end],
                )
                latest[key] = _ToldCandidate(weight + _NEWEST * i / len(sources), i, opens, one, question)
    return latest.values()


def _question(sources: Sequence[Quotable], index: int, memo: Memo) -> Quote | None:
    """The question in the previous message, if this one answers it and depends on it."""
    if not index:
        return None
    before, answer = sources[index - 1], sources[index]
    place = memo.get(("asked", before.key, answer.key), lambda: asked(before, answer))
    return Quote(index - 1, *place) if place else None


def _is_nodded(sources: Sequence[Quotable], index: int) -> bool:
    """Whether a user's message that asks nothing gets almost no answer."""
    text, answer = sources[index].text, sources[index + 1] if index + 1 < len(sources) else None
    if answer is None or answer.role != "assistant" or not 0 < len(text) <= _LONGEST or _ASKS.search(text):
        return False
    return len(answer.text) <= _NOD and not _ASKS.search(answer.text)


def _waits(answer: Quotable) -> bool:
    """Whether the assistant has answered almost nothing and waits for more."""
    return answer.role == "assistant" and len(answer.text) <= _WAITS and not _FIGURE.search(answer.text)


def _statements_of(source: Quotable, memo: Memo) -> tuple[_Told, ...]:
    if source.role != "user" or len(source.text) > _LONGEST_READ or not source.text.strip():
        return ()
    return memo.get(("told", source.key), lambda: tuple(_read(source.text)), lambda found: 64 + 120 * len(found))


def _read(text: str) -> Iterator[_Told]:
    """The statements of a message: all of it, or single sentences."""
    found = rough_sentences(text)
    if len(text) <= _LONGEST and not _ASKS.search(text):
        said = words(lower_text(text))
        if len(found) == 1:
            weight = statement_weight(text[slice(*found[0])], said)
        else:
            within = words_within(text)
            weight = max([statement_weight(text[start:end], within(start, end)) for start, end in found], default=0.0)
        yield _Told(weight + _CHANGED * changes(said), 0, len(text))
        return
    own, within = beside_output(text), words_within(text)
    less = _OF_OTHERS if len(text) > _LONG else 0.0
    for start, end in found:
        piece = text[start:end]
        if not _ASKS.search(piece) and (not own or any(begin <= start < stop for begin, stop in own)):
            said = within(start, end)
            yield _Told(statement_weight(piece, said) + _CHANGED * changes(said) - less, start, end)


def _with_needs(source: Quotable, one: _Told, memo: Memo) -> Sequence[tuple[int, int]]:
    return parts_with_needs(source, one.start, one.end, memo)


def parts_with_needs(source: Quotable, start: int, end: int, memo: Memo) -> Sequence[tuple[int, int]]:
    """The ranges of the statements around a range, and of everything they depend on."""
    text = source.text
    if end - start == len(text):
        return [(0, len(text))]

    def read() -> Sequence[tuple[int, int]]:
        found = statements(text)
        inside = {i for i, span in enumerate(found.spans) if span.start < end and start < span.end}
        return [bare_range(found.spans[i], found.spans[i].of(text)) for i in sorted(found.complete(inside))]

    return memo.get(("told-with-needs", source.key, start, end), read, lambda ranges: 64 + 120 * len(ranges))
