"""A claim and the following sentence that limits its scope: "This holds for ...", "It will end in May.".

This module pairs a claim with a sentence of its line that limits its scope: by a verb, by "only", by another price, by repeating
its amount or one of the things that it lists, or by saying what is lost by it. Scopes by their first word are in ``pieces``,
limits in other lines in ``paragraph`` and ``numbered``.

Each rule first checks the words of the whole text, then looks back a bounded number of sentences: all are linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.ties.cues import ARTICLES, DEFINITE
from turnfold.compression.text.ties.pieces import StatementPiece, before_in_line, is_apart

Pair = tuple[int, int]

_TIES: Final = lexicon("ties")
_HOLDS, _ENDS, _ONLY, _UNDOING = (_TIES[name] for name in ("holds", "ending", "only", "undoing"))
_PAYING, _OTHERWISE, _COSTING, _NUMBERS = (_TIES[name] for name in ("paying", "paying-otherwise", "costing", "numbers"))
_PRICE: Final = lazy.pattern(
    r"[€$£¥₽₺₪₹₩]|\d ?(?:euros?|dollars?|pounds?|pence|cents?|francs?|Franken|CHF|EUR|USD|kr|zł|Kč|lire|lira|pesos|reais|руб)",
    re.IGNORECASE,
)
_WITH: Final = frozenset(("with", "to", "through", "whatever", "regardless", "für", "avec", "com"))
#: Words behind "only" with which begins when, where or for whom; "only a few" is an amount.
_SETTINGS: Final = (_TIES["settings"] | _WITH) - {"a", "no", "na"}
_POINTING: Final = _TIES["anaphors"] | _TIES["demonstratives"]
_NAMING: Final = _TIES["claims"]
#: In front of "only" they make another word of it: "not only", "the only shop".
_NOT: Final = frozenset(("not", "nicht", "non", "no", "não", "niet", "nie", "не", "inte"))
_UNLIMITED: Final = _NOT | {"the", "a", "an", "its", "their", "his", "her", "our", "my", "your", "one"}
_FIRST: Final = 4  # words among which a scope's subject and verb stand
_SUBJECT: Final = 3  # words of its subject
_LONGEST: Final = 20  # words of a sentence that gives a scope
_THE: Final = ARTICLES | DEFINITE
_LIST_AND: Final = r"(?:and|or|und|oder|et|ou|y|o|e|en|of|i|lub|и|или)"
#: A member of a list without its article: "have keys: Ms Adeyemi, Mr Frost and the porter".
_MEMBER: Final = lazy.pattern(
    rf"(?:^|[,:;(] |\b{_LIST_AND} )(?:{_LIST_AND} )?(?:{'|'.join(sorted(_THE))} )?"
    rf"(\w+(?:[ '’.-]{{1,2}}\w+){{0,2}})(?=[,;.)]| {_LIST_AND} )"
)
_MEMBERS: Final = 2  # that are told from the words around a list
_UNDONE: Final = 6  # words among which it says what is undone
_STEPS: Final = 5  # of an instruction that undoes something
_BACK: Final = 3  # sentences among which the one is looked for that "only" limits


def scope_ties(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """Pairs of a sentence and one that it needs."""
    distinct = pieces[0].hints.distinct
    scoped = not (_HOLDS.isdisjoint(distinct) and _ENDS.isdisjoint(distinct))
    limited = not _ONLY.isdisjoint(distinct)
    costing = not (_COSTING.isdisjoint(distinct) or _PAYING.isdisjoint(distinct))
    priced = costing or not (_PAYING.isdisjoint(distinct) or _OTHERWISE.isdisjoint(distinct))
    counted = not _NUMBERS.isdisjoint(distinct) or any(map(str.isdecimal, distinct))
    undone = not _UNDOING.isdisjoint(distinct)
    yield from _of_lists(pieces)
    if not (scoped or limited or priced or counted or undone):
        return
    for i, piece in enumerate(pieces):
        if not i or piece.kind or piece.asks or not 0 < len(piece.said) <= _LONGEST or pieces[i - 1].kind or is_apart(pieces, i):
            continue
        if undone and _POINTING.intersection(piece.said[:1]) and not _UNDOING.isdisjoint(piece.said[:_UNDONE]):
            yield from ((k, i) for k in before_in_line(pieces, i, _STEPS))
        if scoped and _is_scope(piece.said):
            yield i - 1, i
            yield i, i - 1
        if limited and not _ONLY.isdisjoint(piece.said) and _limits(piece.said):
            yield from ((k, i) for k in before_in_line(pieces, i, _BACK) if piece.shares_words(pieces[k]) and not pieces[k].asks)
        if priced and not (_PAYING.isdisjoint(piece.said) or _OTHERWISE.isdisjoint(piece.said)):
            yield from ((k, i) for k in before_in_line(pieces, i, _BACK) if _PRICE.search(pieces[k].text))
        if costing and not _COSTING.isdisjoint(piece.said):
            yield from ((k, i) for k in before_in_line(pieces, i, _BACK) if not _PAYING.isdisjoint(pieces[k].said))
        if counted and _counts(piece):
            yield from ((k, i) for k in before_in_line(pieces, i, _BACK) if _says(pieces[k], piece.said[:2]))


def _of_lists(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """A list, and a sentence behind it that begins with one of those that it names: "Ada, Bo and Cy have keys. Bo lost his."."""
    for i in range(1, len(pieces)):
        piece, before = pieces[i], pieces[i - 1]
        said = piece.said[:2]
        if not said or piece.starts_line:
            continue
        named = said[-1] if said[0] in _THE else said[0]
        if named not in before.said or piece.kind or piece.asks or "," not in before.text:  # most
            continue
        members = _MEMBER.findall(before.body.lower())
        begin = piece.body.lower()
        begin = begin[begin.find(named) :]
        if len(members) >= _MEMBERS and any(begin.startswith(f"{member} ") for member in members):
            yield i - 1, i


def _counts(piece: StatementPiece) -> bool:
    """Whether it begins with an amount: "Ten minutes for a carpenter."."""
    return len(piece.said) > 1 and (piece.said[0] in _NUMBERS or piece.said[0].isdecimal())


def _says(piece: StatementPiece, words: Sequence[str]) -> bool:
    """Whether two words follow each other in it, not at its beginning, where a row of similar sentences would have them."""
    said = piece.said
    return any(said[k] == words[0] and said[k + 1] == words[1] for k in range(1, len(said) - 1))


def _limits(said: Sequence[str]) -> bool:
    """Whether it says for which time, place or people alone it holds: "only on Fridays", "mail only"; not "the only one"."""
    last = len(said) - 1
    places = (k for k, word in enumerate(said) if k and word in _ONLY and said[k - 1] not in _UNLIMITED)
    return any(k == last or said[k + 1] in _SETTINGS for k in places)


def _is_scope(said: Sequence[str]) -> bool:
    """Whether it says where something said before it applies, or that it ends: "The rule applies to students."."""
    begins = said[:_FIRST]
    if said[0] in _HOLDS:  # "Gilt nicht für Reste.": what was said before it is its subject
        return True
    if said[0] not in _POINTING and _NAMING.isdisjoint(said[:_SUBJECT]):
        return False
    return not _HOLDS.isdisjoint(begins) or (said[0] in _POINTING and not _ENDS.isdisjoint(said))
