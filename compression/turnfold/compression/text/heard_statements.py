"""Texts as statements, with the numbers of their words; texts of one line are heard together.

Lives here: which texts are heard together, and one list of numbers for all. Does not belong here: what is a statement
(``statements``), what is asked of a page (``heard_page``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain, groupby
from typing import Final, NamedTuple, overload

import numpy as np

from turnfold.compression.text.heard_page import HeardPage, may_stand_on_page
from turnfold.compression.text.lower import lower_text, words, words_within
from turnfold.compression.text.pieces import LazyPieces
from turnfold.compression.text.sentences import sentences
from turnfold.compression.text.spans import Span
from turnfold.compression.text.statement_pieces import Hints, StatementPiece
from turnfold.compression.text.statements import Statements, pieces_of, statements_of, with_labels
from turnfold.compression.text.vocabulary import Ints, Vocabulary

Said = Sequence[Sequence[str]]

_FEWEST: Final = 4  # texts that are heard together: the columns of fewer take longer than the texts by themselves


class HeardStatements(NamedTuple):
    """Some texts as statements.

    Attributes:
        statements: those of each text.
        said: the words of each statement (``words(lower_text(...))``); a block has none.
        numbers: of the words of all statements.
        sizes: how many each statement has.
    """

    statements: list[Statements]
    said: list[Said]
    numbers: Ints
    sizes: Ints


_NOTHING: Final = HeardStatements([], [], np.zeros(0, np.int64), np.zeros(0, np.int64))


class SaidLater(Sequence[list[str]]):
    """The words of the statements of a text, split when they are asked for."""

    __slots__ = ("_spans", "_text")

    def __init__(self, text: str, spans: Sequence[Span]) -> None:
        self._text, self._spans = text, spans

    def __len__(self) -> int:
        return len(self._spans)

    @overload
    def __getitem__(self, index: int) -> list[str]: ...

    @overload
    def __getitem__(self, index: slice) -> list[list[str]]: ...

    def __getitem__(self, index: int | slice) -> list[str] | list[list[str]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return words(lower_text(self._spans[index].of(self._text)))


def heard_statements(
    texts: Sequence[str], vocabulary: Vocabulary, bags: Callable[[str, Sequence[Span], Said], Said]
) -> HeardStatements:
    """The texts as statements; linear.

    Args:
        vocabulary: numbers the words.
        bags: of a text that is not ASCII the words that get numbers, by its text, its spans and the words that are told.
    """
    tiles = [with_labels(text, sentences(text)) for text in texts]
    together = [i for i, text in enumerate(texts) if may_stand_on_page(text, tiles[i])]
    if len(together) < _FEWEST:
        together = []
    page = _heard_together([texts[i] for i in together], [tiles[i] for i in together], vocabulary) if together else _NOTHING
    behind = [0, *accumulate([len(one.spans) for one in page.statements])]
    words_behind = np.concatenate(([0], np.cumsum(page.sizes)))
    runs: list[HeardStatements] = []
    at = 0
    for is_together, group in groupby(range(len(texts)), set(together).__contains__):
        run = list(group)
        if not is_together:
            runs.append(_heard_alone([texts[i] for i in run], [tiles[i] for i in run], vocabulary, bags))
            continue
        start, end = behind[at], behind[at + len(run)]
        numbers = page.numbers[words_behind[start] : words_behind[end]]
        stop = at + len(run)
        runs.append(HeardStatements(page.statements[at:stop], page.said[at:stop], numbers, page.sizes[start:end]))
        at = stop
    if len(runs) == 1:
        return runs[0]
    return HeardStatements(
        [one for run in runs for one in run.statements],
        [one for run in runs for one in run.said],
        np.concatenate([run.numbers for run in runs]),
        np.concatenate([run.sizes for run in runs]),
    )


def _heard_together(texts: Sequence[str], tiles: Sequence[Sequence[Span]], vocabulary: Vocabulary) -> HeardStatements:
    page = HeardPage(texts, tiles, vocabulary)
    found = [statements_of(text, _pieces(page, i, text, spans)) for i, (text, spans) in enumerate(zip(texts, tiles, strict=True))]
    merged: list[int] = []
    for first, one, spans in zip(page.first, found, tiles, strict=False):
        if len(one.spans) < len(spans):
            begun = {span.start for span in one.spans}
            merged += [first + i for i, span in enumerate(spans) if span.start not in begun]
    said: list[Said] = [SaidLater(text, one.spans) for text, one in zip(texts, found, strict=True)]
    return HeardStatements(found, said, *page.numbered(merged))


def _pieces(page: HeardPage, place: int, text: str, spans: Sequence[Span]) -> LazyPieces:
    """The sentences of one text of a page."""
    hints, within, first = Hints(text), page.words_within(place), page.first[place]

    def make(i: int) -> StatementPiece:
        piece = StatementPiece(text, spans[i], hints, within)
        piece.named = bool(page.naming[first + i])
        return piece

    pieces = LazyPieces(make, hints, spans)
    hints.heard, hints.loose = page.texts[place], set(page.loose[place])
    hints.hear_rare([pieces[i] for i in page.rare[place]])
    asked = sorted({*page.asked[place], *page.rare[place]})
    hints.hear_telling(pieces, [i for i in asked if not pieces[i].stands_alone])
    hints.meaning = {*page.meaning[place], *[i for i in hints.telling if "pronouns" in pieces[i].opens]}
    return pieces


def _heard_alone(
    texts: Sequence[str],
    tiles: Sequence[Sequence[Span]],
    vocabulary: Vocabulary,
    bags: Callable[[str, Sequence[Span], Said], Said],
) -> HeardStatements:
    found: list[Statements] = []
    said: list[Said] = []
    sizes: list[int] = []
    numbers: list[int] = []
    for text, spans in zip(texts, tiles, strict=True):
        read, told = _statements_and_words(text, spans)
        found.append(read)
        said.append(told)
        counted = told if text.isascii() else bags(text, read.spans, told)
        sizes += map(len, counted)
        numbers += map(vocabulary.numbers.__getitem__, chain.from_iterable(counted))  # at once: the words are still in the cache
    return HeardStatements(found, said, np.array(numbers, np.int64), np.array(sizes, np.int64))


def _statements_and_words(text: str, spans: Sequence[Span]) -> tuple[Statements, list[list[str]]]:
    """A text as statements, and the words of each, split once for both; a block has none."""
    pieces = pieces_of(text, spans)
    read = statements_of(text, pieces)
    plain = [piece.plain_words() for piece in pieces]
    said = [told for told in plain if told is not None]
    if len(said) < len(plain):
        within = words_within(text)
        said = [within(start, end) if told is None else told for told, (start, end, _) in zip(plain, spans, strict=True)]
    if len(read.spans) == len(spans):
        return read, said
    starts = {start for start, _, _ in read.spans}
    whole: list[list[str]] = []
    for span, told in zip(spans, said, strict=True):
        if span.start in starts:
            whole.append(told)
        else:
            whole[-1] = [*whole[-1], *told]
    return read, whole
