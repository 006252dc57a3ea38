"""A memo of quotes from earlier questions: their texts, tokens and lines, by number.

The values, and how they are kept while an index grows. What a question asks of them is up to ``quote_choice``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from turnfold.compression.recall import fence
from turnfold.compression.recall.held import UNKNOWN
from turnfold.compression.recall.passage_index import Ints, PassageIndex
from turnfold.compression.text.quotes import Quotable, Quote

Objects = npt.NDArray[np.object_]
LineKey = int | tuple[int, ...] | tuple[Quote, ...]
_FEW: Final = 16  # texts looked up one by one


class QuotedLine(NamedTuple):
    """The quoted line of one message.

    Attributes:
        passage: the quotes, not escaped.
        text: the line in the fence.
        tokens: for each vocabulary of the counter; None if they depend on the lines around it.
    """

    passage: fence.Passage
    text: str
    tokens: tuple[int, ...] | None


class KnownQuotes(NamedTuple):
    """What earlier questions computed for the passages of an index, by passage number.

    Attributes:
        quotes: the passages.
        texts: their texts.
        tokens: of their texts; `UNKNOWN` if not counted yet.
        alone: tokens of the line that quotes only this passage of its message, if known and the counter has one vocabulary.
        lone_lines, lone_passages: that line and its quotes, if `alone` is known.
        hashes: of their texts.
        twins: the first passage with the same text.
        lines: a message's quoted line, by the number of its only passage, the numbers of several, or the quotes themselves.
        sizes: tokens of other texts, such as a passage joined with the text it depends on.
        calls: for each source, the call that it answers, as labelled in those lines.
    """

    quotes: Objects
    texts: Objects
    tokens: npt.NDArray[np.int32]
    alone: npt.NDArray[np.int32]
    lone_lines: Objects
    lone_passages: Objects
    hashes: Ints
    twins: Ints
    lines: dict[LineKey, QuotedLine]
    sizes: dict[str, int]
    calls: tuple[str, ...] = ()


_NO_TOKENS: Final = np.zeros(0, np.int32)
NO_NUMBERS: Final = np.zeros(0, np.int64)
_NO_OBJECTS: Final = np.zeros(0, np.object_)
_NOTHING_KNOWN: Final = KnownQuotes(
    _NO_OBJECTS, _NO_OBJECTS, _NO_TOKENS, _NO_TOKENS, _NO_OBJECTS, _NO_OBJECTS, NO_NUMBERS, NO_NUMBERS, {}, {}
)


def _objects(values: Sequence[object]) -> Objects:
    """An array of the objects themselves: numpy would unpack tuples."""
    return np.fromiter(values, np.object_, len(values))


def known_quotes(index: PassageIndex, count: Callable[[str], int], sources: Sequence[Quotable], cut: int | None) -> KnownQuotes:
    by_counter: dict[tuple[Callable[[str], int], int | None], KnownQuotes] = index.derived("quotes", dict)
    known = by_counter.get((count, cut), _NOTHING_KNOWN)
    if len(known.tokens) < len(index.quotes):
        known = _with_calls(known, index)
        known = by_counter[count, cut] = continued(
            known, sources, index.quotes[len(known.tokens) :], dict(known.lines), dict(known.sizes)
        )
    if len(known.lines) > index.most_lines:
        known.lines.clear()
    if len(known.sizes) > index.most_lines:
        known.sizes.clear()
    return known


def _with_calls(known: KnownQuotes, index: PassageIndex) -> KnownQuotes:
    """What is known, without the lines if a call's label changed: with more calls, labels must be more specific to distinguish
    them.
    """
    calls = tuple([source.answered_call for source in index.sources])
    if calls[: len(known.calls)] == known.calls:
        return known._replace(calls=calls)
    unknown, nothing = np.full_like(known.alone, UNKNOWN), np.empty_like(known.lone_lines)
    return known._replace(alone=unknown, lone_lines=nothing, lone_passages=nothing.copy(), lines={}, calls=calls)


def continued(
    known: KnownQuotes,
    sources: Sequence[Quotable],
    more: Sequence[Quote],
    lines: dict[LineKey, QuotedLine],
    sizes: dict[str, int],
) -> KnownQuotes:
    """A copy of what is known, extended by more quotes. A copy, since another index may number these quotes differently."""
    texts = [sources[source].text[start:end] for source, start, end in more]
    new = np.array(list(map(hash, texts)), np.int64)
    first: dict[str, int] = {}
    for number in _places_of(new, known.hashes):
        first.setdefault(known.texts[number], number)
    twins = [first.setdefault(text, number) for number, text in enumerate(texts, len(known.tokens))]
    unknown, nothing = np.full(len(more), UNKNOWN, np.int32), np.empty(len(more), np.object_)
    return KnownQuotes(
        quotes=np.append(known.quotes, _objects(more)),
        texts=np.append(known.texts, _objects(texts)),
        tokens=np.append(known.tokens, unknown),
        alone=np.append(known.alone, unknown),
        lone_lines=np.append(known.lone_lines, nothing),
        lone_passages=np.append(known.lone_passages, nothing),
        hashes=np.append(known.hashes, new),
        twins=np.append(known.twins, np.array(twins, np.int64)),
        lines=lines,
        sizes=sizes,
        calls=known.calls,
    )


def _places_of(some: Ints, values: Ints) -> list[int]:
    """The positions of some of the values, in order. A few are looked up one by one, without sorting."""
    if len(some) > _FEW:
        return np.flatnonzero(np.isin(values, some)).tolist()
    return sorted({place for one in some.tolist() for place in np.flatnonzero(values == one).tolist()})
