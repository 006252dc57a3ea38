"""What the blocks of a history can tell, as an index that grows with each new block.

This module finds which statements stand for all others that say the same, what each is told with, and how new its words are.
What a statement is worth by itself is up to ``sentences``; ``telling`` chooses among them.

An index follows from its blocks alone, and a longer one is made from a shorter one by reading the new blocks only. None is ever
changed, so several contexts may use one at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from turnfold.compression.budgeted.history import Block
from turnfold.compression.budgeted.sentences import ToldSentence
from turnfold.compression.text.dialogue.standing.orders import standing_orders

K = TypeVar("K")

_OBJECTED: Final = 2  # messages behind one that may take it back
_PREFIX: Final = 16  # characters by which texts are looked up
_WEIGHT: Final = 400  # bytes of a statement beside its text

Numbers = NDArray[np.int64]


class Statement(NamedTuple):
    """A sentence with its place in the whole history: block, then as in `ToldSentence`."""

    block: int
    told: ToldSentence
    role: str
    text: str


class LatestStatements(NamedTuple):
    """The statements that stand for all others that say the same.

    Attributes:
        places: their indices, in order.
        by_key: of each key the index of its statement, -1 where none is left.
        newness: of each in `places`, 0 to 1: how rare its words are among them all.
    """

    places: Numbers
    by_key: Numbers
    newness: NDArray[np.float64]


class StatementColumns(NamedTuple):
    """Numbers of all statements, an array for each kind.

    Attributes:
        key: what it says.
        message: its message, counted over all blocks.
        tokens, worth, is_order, leads: as in `ToldSentence`.
        terms: how many of its words are in `term`.
        term: the words of all, one after the other.
    """

    key: Numbers
    message: Numbers
    tokens: Numbers
    worth: NDArray[np.float64]
    is_order: NDArray[np.bool_]
    leads: NDArray[np.bool_]
    terms: Numbers
    term: Numbers

    @classmethod
    def of(
        cls, statements: Sequence[Statement], key: Sequence[int], message: Sequence[int], term: Sequence[int]
    ) -> StatementColumns:
        """The columns of statements, with what they do not say themselves."""
        told = [one.told for one in statements]
        whole = (key, message, [one.tokens for one in told], [len(one.terms) for one in told], term)
        keys, messages, sizes, terms, every = (np.array(numbers, np.int64) for numbers in whole)
        worth = np.array([one.worth for one in told], np.float64)
        is_order, leads = (np.array(flags, bool) for flags in ([one.is_order for one in told], [one.leads for one in told]))
        return cls(keys, messages, sizes, worth, is_order, leads, terms, every)

    def followed_by(self, more: StatementColumns) -> StatementColumns:
        """These and then those of further statements."""
        return StatementColumns(*(np.concatenate(both) for both in zip(self, more, strict=True)))


@dataclass(frozen=True, slots=True, eq=False)
class StatementIndex:
    """The statements of blocks. `of` makes one.

    Attributes:
        ids: of the blocks.
        statements: all that can be told, in order.
        columns: their numbers.
        first_user: number of the first user message, -1 if there is none.
    """

    ids: tuple[str, ...] = ()
    statements: tuple[Statement, ...] = ()
    columns: StatementColumns = field(default_factory=lambda: StatementColumns.of((), (), (), ()))
    first_user: int = -1
    _messages: int = 0
    _keys: Mapping[object, int] = field(default_factory=dict)  # what a statement says -> its number
    _needs: Mapping[int, frozenset[int]] = field(default_factory=dict)  # key -> keys that its statement is told with
    _terms: Mapping[int, int] = field(default_factory=dict)  # hash of a word -> its number
    _texts: Mapping[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)  # prefix -> texts and their keys
    _short: frozenset[str] = frozenset()  # prefixes that are whole texts

    @classmethod
    def of(cls, blocks: Sequence[Block], known: StatementIndex | None = None) -> StatementIndex:
        """The index of blocks, made from a known one if that has the first of them."""
        ids = tuple([block.id for block in blocks])
        if known is None or known.ids != ids[: len(known.ids)]:
            known = cls()
        return known if known.ids == ids else known._extended(ids, blocks[len(known.ids) :])

    @property
    def weight(self) -> int:
        """About how many bytes it takes."""
        return 1000 + sum(_WEIGHT + len(one.text) for one in self.statements)

    def latest(self, recent: str) -> LatestStatements:
        """Each text once, where it was said last, without what recent messages say; an objection ("No.") where it was said."""
        by_key = np.full(len(self._keys), -1, np.int64)
        by_key[self.columns.key] = np.arange(len(self.statements))  # the last one wins
        for key, said in self._repeated(recent).items():
            others = np.flatnonzero(self.columns.key == key).tolist()
            by_key[key] = next((i for i in reversed(others) if self.statements[i].text not in said), -1)
        places = np.sort(by_key[by_key >= 0])
        return LatestStatements(places, by_key, self._newness(places))

    def told_with(self, place: int, latest: LatestStatements) -> set[int]:
        """A statement and those that it is told with: what it needs, and what the next messages object to it."""
        needed = self._needs.get(int(self.columns.key[place]), ())
        return {place, *(int(latest.by_key[key]) for key in needed if latest.by_key[key] >= 0)}

    def _newness(self, places: Numbers) -> NDArray[np.float64]:
        stands = np.zeros(len(self.statements), bool)
        stands[places] = True
        sizes = self.columns.terms
        term = self.columns.term[np.repeat(stands, sizes)]
        times = np.bincount(term, minlength=len(self._terms))
        rows = np.repeat(np.arange(len(places)), sizes[places])
        found: NDArray[np.float64] = np.bincount(rows, 1 / times[term], len(places)) / np.maximum(1, sizes[places])
        return found

    def _repeated(self, recent: str) -> dict[int, set[str]]:
        """By key those of its texts that recent messages say."""
        found: dict[int, set[str]] = {}
        windows = {recent[i : i + _PREFIX] for i in range(len(recent))} | self._short
        for text, key in chain.from_iterable(self._texts[prefix] for prefix in windows & self._texts.keys()):
            if text in recent:
                found.setdefault(key, set()).add(text)
        return found

    def _extended(self, ids: tuple[str, ...], blocks: Sequence[Block]) -> StatementIndex:
        numbered = list(enumerate(blocks, len(self.ids)))
        statements = [
            Statement(number, told, message.role, message.content[told.start : told.end])
            for number, block in numbered
            for told in block.quotes
            for message in (block.messages[told.message],)
        ]
        starts = dict(zip(ids[len(self.ids) :], _starts(blocks, self._messages), strict=True))
        places = [starts[ids[one.block]] + one.told.message for one in statements]
        said, words = [_key(one) for one in statements], [term for one in statements for term in one.told.terms]
        keys, terms = _numbered(self._keys, said), _numbered(self._terms, words)
        numbers = [keys[key] for key in said]
        columns = self.columns.followed_by(StatementColumns.of(statements, numbers, places, [terms[word] for word in words]))
        messages = [message for block in blocks for message in block.messages]
        first = next((n for n, message in enumerate(messages, self._messages) if message.role == "user"), -1)
        return StatementIndex(
            ids,
            (*self.statements, *statements),
            columns,
            self.first_user if self.first_user >= 0 else first,
            self._messages + len(messages),
            keys,
            _with_needs(self._needs, columns, statements),
            terms,
            _with_texts(self._texts, statements, numbers),
            self._short.union(one.text for one in statements if len(one.text) < _PREFIX),
        )


def _key(one: Statement) -> object:
    if one.told.objects:
        return (one.block, one.told.message)
    return _orders_of(one.text) if one.told.is_order else one.text


def _orders_of(text: str) -> str:
    """The standing orders in a statement: a repetition replaces it, whatever comes with them."""
    return " ".join(span.of(text).strip() for span in standing_orders(text)) or text


def _starts(blocks: Sequence[Block], before: int) -> list[int]:
    """The number of messages in front of each block."""
    starts = []
    for block in blocks:
        starts.append(before)
        before += len(block.messages)
    return starts


def _numbered(known: Mapping[K, int], more: Iterable[K]) -> dict[K, int]:
    found = dict(known)
    for one in more:
        found.setdefault(one, len(found))
    return found


def _with_texts(
    known: Mapping[str, tuple[tuple[str, int], ...]], statements: Sequence[Statement], keys: Sequence[int]
) -> dict[str, tuple[tuple[str, int], ...]]:
    found = dict(known)
    for one, key in zip(statements, keys, strict=True):
        alike = found.get(one.text[:_PREFIX], ())
        if not one.told.objects and (one.text, key) not in alike:
            found[one.text[:_PREFIX]] = (*alike, (one.text, key))
    return found


def _with_needs(
    known: Mapping[int, frozenset[int]], columns: StatementColumns, statements: Sequence[Statement]
) -> dict[int, frozenset[int]]:
    """The keys that each key is told with, now that these statements came last."""
    found = dict(known)
    first = len(columns.key) - len(statements)
    keys, messages = columns.key.tolist(), columns.message.tolist()
    begins = first  # of the statement's block
    for i, one in enumerate(statements, first):
        if i > first and one.block != statements[i - 1 - first].block:
            begins = i
        if one.told.needs:
            found[keys[i]] = found.get(keys[i], frozenset()).union(keys[begins + k] for k in one.told.needs)
    objections = [i for i, one in enumerate(statements, first) if one.told.objects]
    for i in objections:
        for k in range(i - 1, -1, -1):
            if messages[k] < messages[i] - _OBJECTED:
                break
            if messages[k] < messages[i]:
                found[keys[k]] = found.get(keys[k], frozenset()) | {keys[i]}
    return found
