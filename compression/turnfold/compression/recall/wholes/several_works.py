"""Several works of one kind that a message asks for together: all three descriptions, both poems.

Lives here: which answers they are. Does not belong here: telling such a message
(``text.dialogue.wanted.several_works``), one work (``works``).

An answer is one of them if the short request before it names the kind, or asks for one more behind such a request, and nothing
else was made in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from turnfold.compression.recall.fence import FRAME
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.wanted.several_works import asks_for_one_more
from turnfold.compression.text.dialogue.wanted.works import begins_making
from turnfold.compression.text.quotes import Quotable, Quote

_REQUEST: Final = 300  # characters of a request for one
_FEWEST: Final = 2


def several_works(
    sources: Sequence[Quotable], named: frozenset[str], languages: Sequence[str], room: int, count: Callable[[str], int]
) -> tuple[tuple[Quote, ...], int]:
    """The answers as they are quoted, in order, the newest where there is no room for all, and the tokens that they take.

    Args:
        sources: what may be quoted.
        named: the words that name the kind.
        languages: those of the sources.
    """
    found = _answers(sources, {term for name in languages for term in words.stem_table(named, name).values()}, languages)
    quotes: list[Quote] = []
    spent = 0
    for n in reversed(found if len(found) >= _FEWEST else []):
        cost = count(sources[n].text) + FRAME
        if spent + cost > room:
            break
        spent += cost
        quotes.append(Quote(n, 0, len(sources[n].text)))
    return tuple(reversed(quotes)), spent


def _answers(sources: Sequence[Quotable], wanted: set[int], languages: Sequence[str]) -> list[int]:
    asked = {n: words.fold(sources[n - 1].text) for n in range(1, len(sources)) if _answers_request(sources[n - 1], sources[n])}
    said = {n: frozenset(words.words(folded)) for n, folded in asked.items()}
    every = frozenset[str]().union(*said.values())
    naming = {word for name in languages for word, term in words.stem_table(every, name).items() if term in wanted}
    found: list[int] = []
    makes = False  # whether what was made last is one of them
    for n, folded in asked.items():
        names = not naming.isdisjoint(said[n])
        if names or (makes and asks_for_one_more(folded, alone=found[-1:] != [n - 2])):
            found.append(n)
            makes = True
        elif begins_making(folded):
            makes = False
    return found


def _answers_request(asking: Quotable, answer: Quotable) -> bool:
    """Whether a message answers a short request."""
    return (asking.role, answer.role) == ("user", "assistant") and len(asking.text) <= _REQUEST and bool(answer.text.strip())
