"""Several works of one kind that a message asks for: all three descriptions, both poems.

This module finds these answers. Such a message is recognised in ``text.dialogue.wanted.several_works``; a single work is found in
``works``.

An answer is one of them if the short request before it names the kind, or asks for one more behind such a request, and nothing
else was made in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Final, NamedTuple

from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.fence import FRAME
from turnfold.compression.recall.passage_index import PassageIndex
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.wanted.several_works import asks_for_one_more
from turnfold.compression.text.dialogue.wanted.works import begins_making
from turnfold.compression.text.quotes import Quotable, Quote

_REQUEST: Final = 300  # characters of a request for one
_FEWEST: Final = 2


def several_works(
    sources: Sequence[Quotable], named: frozenset[str], index: PassageIndex, room: int, count: Callable[[str], int], memo: Memo
) -> tuple[tuple[Quote, ...], int]:
    """The answers as quotes, in order, and their tokens; only the newest if they don't all fit.

    Args:
        sources: messages that may be quoted.
        named: the words that name the kind.
        index: that of the sources.
    """
    found = _answers(sources, frozenset().union(*_terms(named, index).values()), index, memo)
    quotes: list[Quote] = []
    spent = 0
    for n in reversed(found if len(found) >= _FEWEST else []):
        cost = count(sources[n].text) + FRAME
        if spent + cost > room:
            break
        spent += cost
        quotes.append(Quote(n, 0, len(sources[n].text)))
    return tuple(reversed(quotes)), spent


class _Request(NamedTuple):
    """A short message of a user, case-folded, with its words."""

    folded: str
    said: frozenset[str]


def _answers(sources: Sequence[Quotable], wanted: Set[int], index: PassageIndex, memo: Memo) -> list[int]:
    requests = of_each(memo, "short requests", sources, _request)
    asked = {n: one for n, one in enumerate(requests[:-1], 1) if one is not None and _is_answer(sources[n])}
    terms = _terms(frozenset().union(*(one.said for one in asked.values())), index)
    naming = {word for word, own in terms.items() if not own.isdisjoint(wanted)}
    found: list[int] = []
    makes = False  # whether the most recent request was for one of them
    for n, (folded, said) in asked.items():
        names = not naming.isdisjoint(said)
        if names or (makes and asks_for_one_more(folded, alone=found[-1:] != [n - 2])):
            found.append(n)
            makes = True
        elif begins_making(folded):
            makes = False
    return found


def _request(source: Quotable) -> _Request | None:
    if source.role != "user" or len(source.text) > _REQUEST:
        return None
    folded = words.fold(source.text)
    return _Request(folded, frozenset(words.words(folded)))


def _is_answer(source: Quotable) -> bool:
    return source.role == "assistant" and bool(source.text.strip())


def _terms(some: frozenset[str], index: PassageIndex) -> dict[str, frozenset[int]]:
    """The terms of words in the languages of an index; cached in the index."""
    known: dict[str, frozenset[int]] = index.derived(("terms of requests", index.languages), dict)
    new = sorted(some.difference(known))
    tables = [words.stem_table(new, name) for name in index.languages] if new else []
    known.update((word, frozenset(table[word] for table in tables)) for word in new)
    return {word: known[word] for word in some}
