"""A memo of quotes from earlier questions: their texts, tokens and lines, by number.

Lives here: the values, and keeping them while an index grows. Does not belong here: what a question asks of them
(``quote_choice``).
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
_FEW: Final = 16  # texts that are looked for one by one


class QuotedLine(NamedTuple):
    """What is quoted of one message.

    Attributes:
        passage: as it was, not escaped.
        text: as the fence has it.
        tokens: by each vocabulary of the counter; None where they depend on the lines around it.
    """

    passage: fence.Passage
    text: str
    tokens: tuple[int, ...] | None


class KnownQuotes(NamedTuple):
    """What earlier questions found out about the passages of an index, by number.

    Attributes:
        quotes: the passages.
        texts: what they say.
        tokens: of their texts, `UNKNOWN` where nobody asked.
        alone: of the line of a message of which only this is quoted, where the counter has one vocabulary and they are known.
        lone_lines, lone_passages: that line and what is quoted in it, where `alone` is known.
        hashes: of their texts.
        twins: the first passage with the same text.
        lines: what is quoted of a message, by the number of its only passage, the numbers of several, or the quotes themselves.
        sizes: tokens of texts that are no passages, as those that a passage needs joined with it.
        calls: by source the call that it answers, as those lines name it.
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
    """An array of them as they are: numpy would take tuples apart."""
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
    """What is known, without the lines if one of them names its call otherwise: among more calls it takes more to tell it."""
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
    """What is known of some quotes, and of more behind them; a copy, since these may be others to somebody else."""
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
    """Where one of some values stands, in order; a few are looked for one by one, which takes no sorting."""
    if len(some) > _FEW:
        return np.flatnonzero(np.isin(values, some)).tolist()
    return sorted({place for one in some.tolist() for place in np.flatnonzero(values == one).tolist()})
