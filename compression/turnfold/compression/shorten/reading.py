"""Texts read into rated sentences.

This module notes what matters about each sentence, for many texts at once. ``sift`` chooses among the sentences, ``exact_pieces``
knows what must stay exact, and ``registry`` has the other kinds of content.

Texts are read together because most of what is asked is asked of every word and character: words become numbers, the same in all
texts of a `Reader`, and one look at a column of them tells which sentences need a closer look. What comes of a text does not
depend on those beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, count
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from turnfold.compression import lazy
from turnfold.compression.scorers.terms import STOP, terms
from turnfold.compression.shorten.exact_pieces import EXACT, LONG_TOKEN, TELLING, holds_exact, may_hold_exact
from turnfold.compression.shorten.prose import TELLS, has_order
from turnfold.compression.text.dialogue.signals import CUES, LAST, QUESTION, asks, signal_weight, signal_weights
from turnfold.compression.text.dialogue.standing.languages import ORDER_CUES
from turnfold.compression.text.dialogue.standing.order_signs import ORDER_SIGNS, OrderSigns
from turnfold.compression.text.dialogue.standing.orders import MARKS, RUN_ON_WORDS, may_be_orders, may_begin_command, may_elide
from turnfold.compression.text.figures import figures_by_span, figures_by_start
from turnfold.compression.text.heard import HeardWords
from turnfold.compression.text.spans import Span, Tiles
from turnfold.compression.text.statements import Statements, heard_statements, objects

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
_Said = Sequence[Sequence[str]]

# Each alternative begins with a character class of its own, which the regex engine finds fast; conditions on earlier text come
# after it.
_FACT: Final = lazy.pattern(r"https?://[^\s)>\]]+|[^\W\d_a-z](?<=\w .)[^\W_]+|\d(?:[\w.,:/%-]*\w)?|`[^`\n]+`|[\u30a1-\u30f6]{3,}")
# The same for ASCII, with the first characters in one class.
_ASCII_FACT: Final = lazy.pattern(
    r"[hA-Z0-9`](?:(?<=h)ttps?://[^\s)>\]]+|(?<=\w [A-Z])[^\W_]+|(?<=\d)(?:[\w.,:/%-]*\w)?|(?<=`)[^`\n]+`)"
)
_SHORT: Final = 3  # words: a sentence of so few says nothing by itself, unless it names something
_NONE: Final[Set[int]] = frozenset()
_ROLE_WORTH: Final = {"user": 1.2}
_BY_PLACE, _BY_SIGNAL = 0.1, 1.1
_WORD_BITS: Final = 36  # bits for the number of a word; the bits above hold the number of its sentence
_ANYWHERE: Final = 1 << 60
_FEW: Final = 3000  # characters up to which figures are searched text by text
_TOGETHER: Final = 2**16  # characters read together: columns of this size stay in the processor's cache
# Flags for the properties of a character.
_DIGIT, _CAPITAL, _IN_WORD, _BLANK, _ASKING, _SPACE, _MARK = (1 << n for n in range(7))
_SIGNS: Final = bytes(
    (_DIGIT if sign in "0123456789" else 0)
    | (_CAPITAL if sign.isupper() else 0)
    | (_IN_WORD if sign.isalnum() or sign == "_" else 0)
    | (_BLANK if sign == " " else 0)
    | (_ASKING if sign == "?" else 0)
    | (_SPACE if sign.isspace() else 0)
    | (_MARK if sign in MARKS else 0)
    for sign in map(chr, range(128))
) + bytes(128)

# Flags for a word's number. Stop words have the lowest numbers, followed by the other words that are tested for.
_ORDER, _SECRET = 1 << 61, 1 << 60
_KNOWN: Final = {
    word: n for n, word in enumerate(dict.fromkeys((*sorted(STOP), *sorted({*CUES, *ORDER_CUES, *ORDER_SIGNS, *TELLING}))))
}
_FIRST: Final = np.array(
    [(word in ORDER_CUES) * _ORDER | (word in TELLING) * _SECRET | CUES.get(word, (0, 0))[0] for word in (*_KNOWN, "")],
    np.int64,
)
_SECOND: Final = np.array([CUES.get(word, (0, 0))[1] for word in (*_KNOWN, "")], np.int64)
_SIGNS_OF_ORDERS: Final = OrderSigns([*_KNOWN])


class Columns(NamedTuple):
    """Data on every sentence of a text.

    Attributes:
        costs, bases, factors: as for ``coverage``; centrality and facts are added to the second.
        words, sizes: the numbers of the distinct words of each sentence, and their count.
    """

    costs: Ints
    bases: Floats
    factors: Floats
    words: Ints
    sizes: Ints


@dataclass(frozen=True, slots=True)
class Read:
    """A text divided into rated sentences.

    The data is stored in columns that are slices of those of all texts read together, since the garbage collector would visit
    objects or lists for each again and again.
    """

    text: str
    role: str
    parts: Statements
    spans: Tiles
    blocks: Set[int]
    must: Set[int]
    facts: Mapping[int, tuple[str, ...]]
    numbers: Mapping[str, int]
    _page: _Page
    _place: int

    @property
    def columns(self) -> Columns:
        """The data on its sentences."""
        return columns_of([self])

    @property
    def objects(self) -> bool:
        """Whether its first statement retracts or narrows what earlier messages said."""
        alone = self.spans and not self.spans.kinds and self.parts.sizes[0] == 1
        return objects(self.text, self.spans.ends[0] if alone else 0)

    @property
    def figures(self) -> Mapping[int, tuple[str, ...]]:
        """The figures of each sentence or block that has any, by index."""
        return self._page.figures[self._place]

    @property
    def has_blocks(self) -> bool:
        """Whether part of it must stay byte for byte."""
        return bool(self.blocks)

    @property
    def musts(self) -> list[str]:
        """Sentences that must survive rewording: standing orders and secrets."""
        return [self.spans.piece(self.text, j).strip() for j in sorted(self.must)]


def columns_of(reads: Sequence[Read]) -> Columns:
    """The data on the sentences of several texts, in order; texts read consecutively share a slice."""
    runs: list[tuple[_Page, int, int]] = []
    for one in reads:
        page, place = one._page, one._place
        if runs and runs[-1][0] is page and runs[-1][2] == place:
            runs[-1] = (page, runs[-1][1], place + 1)
        else:
            runs.append((page, place, place + 1))
    parts = [page.columns(start, end) for page, start, end in runs]
    return parts[0] if len(parts) == 1 else Columns(*map(np.concatenate, zip(*parts, strict=True)))


def read(text: str, role: str) -> Read:
    """Divide a text into sentences and rate them; linear."""
    return Reader().read([(text, role)])[0]


class Reader:
    """Reads texts whose sentences may be chosen together."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = defaultdict(count(len(_KNOWN)).__next__, _KNOWN)

    def read(self, texts: Sequence[tuple[str, str]]) -> list[Read]:
        """Divide texts, each with its speaker's role, into sentences and rate them."""
        return [one for some in _in_pages(texts) for one in self._page(some)]

    def _page(self, texts: Sequence[tuple[str, str]]) -> list[Read]:
        parts: list[Statements] = []
        tiles: list[Tiles] = []
        said: list[_Said] = []
        sizes: list[int] = []
        found: list[int] = []
        for (text, _), (of, spans, words_of) in zip(texts, heard_statements([text for text, _ in texts]), strict=True):
            tiles.append(spans)
            parts.append(of)
            said.append(words_of)
            bags = words_of if text.isascii() else _bags(text, spans, words_of)
            sizes += map(len, bags)
            found += map(self._numbers.__getitem__, chain.from_iterable(bags))  # at once: the words are still in the cache
        numbers = (np.array(found, np.int64), np.array(sizes, np.int64))
        return _Page(texts, parts, tiles).read(said, *numbers, self._numbers)


def _bags(text: str, spans: Sequence[Span], said: _Said) -> _Said:
    """The words of each sentence; in a script without spaces, its terms."""
    return [
        [f"{word} " if word in STOP else word for word in terms(span.of(text))]
        if span.kind not in EXACT and is_run_on(span.of(text), one)
        else one
        for span, one in zip(spans, said, strict=True)
    ]


def _in_pages(texts: Sequence[tuple[str, str]]) -> Iterator[Sequence[tuple[str, str]]]:
    begun = size = 0
    for i, (text, _) in enumerate(texts):
        size += len(text)
        if size >= _TOGETHER:
            yield texts[begun : i + 1]
            begun, size = i + 1, 0
    if begun < len(texts):
        yield texts[begun:]


class _Page:
    """Texts that are read together, with their sentences numbered consecutively.

    ASCII texts are concatenated in `joined`, so that a single search finds all sentences with a character.
    """

    def __init__(self, texts: Sequence[tuple[str, str]], parts: Sequence[Statements], tiles: Sequence[Tiles]) -> None:
        self.texts, self.roles = [text for text, _ in texts], [role for _, role in texts]
        self.parts, self.tiles = parts, tiles
        self.first = [0, *accumulate(map(len, tiles))]
        behind = accumulate(map(len, self.texts), initial=0)
        borders = np.array([0, *(end + before for one, before in zip(tiles, behind, strict=False) for end in one.ends)], np.int64)
        self.sizes: Ints = borders[1:] - borders[:-1]
        self.plain = [text.isascii() for text in self.texts]
        self.joined = "".join([text for text, plain in zip(self.texts, self.plain, strict=True) if plain])
        ends, inside = borders[1:], np.arange(len(self.sizes))
        if not all(self.plain):
            inside = inside[np.repeat(self.plain, [*map(len, tiles)])]
            ends = np.cumsum(self.sizes[inside])
        self._ends, self._inside = ends, inside

    def places(self, asked: NDArray[np.bool_]) -> Iterable[tuple[int, int, int]]:
        """For each selected sentence, its number, its text, and its index in that text."""
        sentences = np.flatnonzero(asked)
        if not len(sentences):
            return ()
        texts = np.searchsorted(self._firsts, sentences, "right") - 1
        return zip(sentences.tolist(), texts.tolist(), (sentences - self._firsts[texts]).tolist(), strict=True)

    @cached_property
    def _firsts(self) -> Ints:
        return np.array(self.first[:-1], np.int64)

    def piece(self, i: int, j: int) -> str:
        """A sentence of a text."""
        return self.tiles[i].piece(self.texts[i], j)

    def holding(self, signs: Ints, *, behind: int = 0, before_end: int = _ANYWHERE) -> NDArray[np.bool_]:
        """Which sentences contain one of these positions of `joined`, at least that far from their beginnings and at most that
        far from their ends.
        """
        of = np.searchsorted(self._ends, signs, "right")
        if behind:
            of = of[signs - behind >= (self._ends - self.sizes[self._inside])[of]]
        elif before_end < _ANYWHERE:
            of = of[self._ends[of] - signs <= before_end]
        found = np.zeros(len(self.sizes), bool)
        found[self._inside[of]] = True
        return found

    @cached_property
    def figures(self) -> list[dict[int, tuple[str, ...]]]:
        """For each text, the figures of each sentence or block that has any, by index."""
        alone = len(self.joined) < _FEW
        found = [
            figures_by_span(text, spans) if alone or not plain else {}
            for text, spans, plain in zip(self.texts, self.tiles, self.plain, strict=True)
        ]
        if not alone:
            here = figures_by_start(self.joined, np.append(0, self._ends[:-1]))
            held = np.zeros(len(self.sizes), bool)
            held[self._inside[list(here)]] = True
            for (_, i, j), figures in zip(self.places(held), [here[n] for n in sorted(here)], strict=True):
                found[i][j] = figures
        return found

    # --- what is noted of the sentences ---

    def read(self, said: Sequence[_Said], spoken: Ints, sizes: Ints, numbers: Mapping[str, int]) -> list[Read]:
        """Every text with the data on its sentences.

        Args:
            said: the words of its sentences.
            spoken, sizes: the numbers of all sentences' words, and their count for each sentence.
            numbers: the number of each word.
        """
        words, times = _telling_words(spoken, sizes)
        first, second = _cues(spoken, sizes)
        orders = _may_order(spoken, sizes, first)
        kinds = [(i, j, kind) for i, spans in enumerate(self.tiles) for j, kind in spans.kinds.items()]
        blocks: dict[int, set[int]] = defaultdict(set)
        for i, j, kind in kinds:
            if kind in EXACT:
                blocks[i].add(j)
        signs = np.frombuffer(self.joined.encode().translate(_SIGNS), np.uint8)
        facts, signals = self._facts(signs), self._signals(said, first & second, signs)
        for i, j, kind in kinds:
            if kind in EXACT:
                facts[i].pop(j, None)
                signals[self.first[i] + j] = 0
        marked = self.holding(np.flatnonzero((signs & _MARK) > 0))
        musts = self._musts(said, first, self._asked_for_orders(said, orders, sizes, marked), blocks, self._with_long_runs(signs))
        self._noted = Columns(*self._rated(times, facts, signals, kinds), words, times)
        self._behind_words = [0, *accumulate(times.tolist())]
        texts = zip(self.texts, self.roles, self.parts, self.tiles, facts, strict=True)
        return [
            Read(text, role, parts, spans, blocks.get(i) or _NONE, musts.get(i) or _NONE, named, numbers, self, i)
            for i, (text, role, parts, spans, named) in enumerate(texts)
        ]

    def columns(self, start: int, end: int) -> Columns:
        """The data on the sentences of the texts ``start..end``."""
        first, last, ends = self.first[start], self.first[end], self._behind_words
        costs, bases, factors, words, times = self._noted
        here = slice(first, last)
        return Columns(costs[here], bases[here], factors[here], words[ends[first] : ends[last]], times[here])

    def _facts(self, signs: NDArray[np.uint8]) -> list[dict[int, tuple[str, ...]]]:
        """For each text, the distinct names and figures of the sentences that have any, by index."""
        found: list[dict[int, tuple[str, ...]]] = [{} for _ in self.texts]
        closely = [not plain or "`" in text or "http" in text for text, plain in zip(self.texts, self.plain, strict=True)]
        # Sentences without digits, and without capitals after a word, have none.
        named = (signs[2:] & _CAPITAL).astype(bool) & (signs[1:-1] & _BLANK).astype(bool) & (signs[:-2] & _IN_WORD).astype(bool)
        held = self.holding(np.flatnonzero(named) + 2, behind=2) | self.holding(np.flatnonzero((signs & _DIGIT) > 0))
        for _, i, j in self.places(held):
            if not closely[i] and (facts := tuple(dict.fromkeys(_ASCII_FACT.findall(self.piece(i, j))))):
                found[i][j] = facts
        for i, (text, spans) in enumerate(zip(self.texts, self.tiles, strict=True)):
            if closely[i]:
                every = ((j, _facts_of(piece)) for j, piece in enumerate(spans.pieces(text)))
                found[i] = {j: facts for j, facts in every if facts}
        return found

    def _signals(self, said: Sequence[_Said], cues: Ints, signs: NDArray[np.uint8]) -> Floats:
        """The weight of the signals of each sentence."""
        weights = np.zeros(len(self.sizes))
        closely = [not plain or "[ ]" in text for text, plain in zip(self.texts, self.plain, strict=True)]
        for n, i, j in self.places(self.holding(np.flatnonzero((signs & _ASKING) > 0), before_end=LAST)):
            if asks(self.piece(i, j)):
                weights[n] = QUESTION
        for n, i, j in self.places(cues > 0):
            if not closely[i]:
                weights[n] = signal_weight(self.piece(i, j), said[i][j])
        for i, (text, spans) in enumerate(zip(self.texts, self.tiles, strict=True)):
            if closely[i]:
                weights[self.first[i] : self.first[i + 1]] = 0
                for j, weight in signal_weights(text, spans, HeardWords(said[i])).items():
                    weights[self.first[i] + j] = weight
        return weights

    def _with_long_runs(self, signs: NDArray[np.uint8]) -> set[int]:
        """The ASCII texts that may have a long token; others certainly have none."""
        blanks = np.concatenate(([-1], np.flatnonzero((signs & _SPACE) > 0), [len(signs)]))
        long = np.flatnonzero(np.diff(blanks) > LONG_TOKEN)
        texts = np.flatnonzero(self.plain)
        ends = np.cumsum([len(self.texts[i]) for i in texts.tolist()])
        begun = np.searchsorted(ends, blanks[long] + 1, "right").tolist()
        ended = np.searchsorted(ends, blanks[long + 1] - 1, "right").tolist()
        return {i for a, b in set(zip(begun, ended, strict=True)) for i in texts[a : b + 1].tolist()}

    def _asked_for_orders(
        self, said: Sequence[_Said], orders: tuple[Bools, Bools], sizes: Ints, marked: Bools
    ) -> dict[int, list[int]]:
        """For ASCII texts, the sentences that need a closer look for standing orders.

        Args:
            orders: which sentences have a word of orders, and which of these have other words too.
            sizes: the number of words of each sentence.
            marked: which sentences have a character after which another clause may begin.
        """
        cued, closely = orders
        closely |= marked | (sizes >= RUN_ON_WORDS)
        asked: dict[int, list[int]] = {}
        for _, i, j in self.places(cued & closely):
            asked.setdefault(i, []).append(j)
        for _, i, j in self.places(cued & ~closely):
            if self.parts[i].sizes[j] != 1 or may_begin_command(said[i][j][0]):
                asked.setdefault(i, []).append(j)
        return asked

    def _musts(
        self,
        said: Sequence[_Said],
        cues: Ints,
        asked: Mapping[int, Sequence[int]],
        blocks: Mapping[int, Set[int]],
        long: Set[int],
    ) -> dict[int, Set[int]]:
        """For texts that have any, the sentences that must be kept.

        Args:
            asked: the sentences of ASCII texts that may be standing orders.
            long: the ASCII texts that may have a long token.
        """
        secret = {i for _, i, _ in self.places((cues & _SECRET) > 0)}
        found: dict[int, Set[int]] = {}
        for i, (text, plain, words_of) in enumerate(zip(self.texts, self.plain, said, strict=True)):
            parts, exact = self.parts[i], blocks.get(i, _NONE)
            orders: Sequence[int] = ()
            if self.roles[i] in TELLS:
                is_quick = plain and not may_elide(text)
                orders = asked.get(i, ()) if is_quick else may_be_orders(text, HeardWords(words_of))
            must = {j for j in orders if j not in exact and has_order(self.piece(i, j), words_of[j], parts.sizes[j])}
            tells = i in secret if plain else not TELLING.isdisjoint(chain.from_iterable(words_of))
            if may_hold_exact(text, tells=tells, runs=not plain or i in long):
                must |= {j for j, one in enumerate(words_of) if j not in exact and holds_exact(self.piece(i, j), one)}
            if must:
                found[i] = frozenset(must)
        return found

    def _rated(
        self, words: Ints, facts: Sequence[Mapping[int, object]], signals: Floats, kinds: Sequence[tuple[int, int, str]]
    ) -> tuple[Ints, Floats, Floats]:
        """The cost and worth of each sentence; the values for blocks are never used."""
        costs: Ints = 1 + self.sizes // 4
        bases: Floats = np.full(len(costs), 0.03)
        bases[self._firsts[self._firsts < len(costs)]] += _BY_PLACE
        bases += _BY_SIGNAL * signals
        says = (words >= _SHORT) | (signals > 0)
        if named := [self.first[i] + j for i, held in enumerate(facts) for j in held]:
            says[named] = True
        for i, j, kind in kinds:
            if kind in ("heading", "label"):
                says[self.first[i] + j] = kind == "heading"
        roles = np.repeat([_ROLE_WORTH.get(role, 1.0) for role in self.roles], [*map(len, self.tiles)])
        # By the root of its length: per token, the shortest sentences would win, and each of them needs a mark and a name.
        factors = np.where(says, roles * np.sqrt(costs + 3), 0.0)
        return costs, bases, factors


def _telling_words(found: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """The numbers of all distinct words in each sentence except stop words, and their count."""
    telling = found >= len(STOP)
    every = np.repeat(np.arange(len(sizes)) << _WORD_BITS, sizes)[telling] | found[telling]
    every.sort()
    first = np.ones(len(every), bool)
    np.not_equal(every[1:], every[:-1], out=first[1:])
    once = every[first]
    return once & ((1 << _WORD_BITS) - 1), np.bincount(once >> _WORD_BITS, minlength=len(sizes))


def _cues(found: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """The flags of each sentence's words: the conjunction of the first ones, and of the second ones."""
    first, second = np.zeros((2, len(sizes)), np.int64)
    spoken = np.flatnonzero(sizes)
    if len(spoken):
        known = np.minimum(found, len(_KNOWN))
        starts = (np.cumsum(sizes) - sizes)[spoken]
        first[spoken] = np.bitwise_or.reduceat(_FIRST[known], starts)
        second[spoken] = np.bitwise_or.reduceat(_SECOND[known], starts)
    return first, second


def _may_order(found: Ints, sizes: Ints, cues: Ints) -> tuple[Bools, Bools]:
    """Which sentences have a word of orders, and which of these have other words too."""
    cued: Bools = (cues & _ORDER) > 0
    closely = np.zeros(len(sizes), bool)
    if cued.any():
        words = np.minimum(found[np.repeat(cued, sizes)], len(_KNOWN))
        closely[cued] = _SIGNS_OF_ORDERS.asked(words, sizes[cued])
    return cued, closely


def is_run_on(piece: str, said: Sequence[str]) -> bool:
    """Whether a piece is in a script without spaces: it has few words for its size."""
    return not piece.isascii() and len(said) < len(piece) // 12


def _facts_of(piece: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((_ASCII_FACT if piece.isascii() else _FACT).findall(piece)))
