"""Wishes about the manner of answers, stated in passing: "shorter please", "keine Listen bitte", "回答短一点".

This module recognises a sentence with such a clause. Orders that are marked by a word of rule ("always", "from now on") are in
``orders``, the words themselves in ``lexicon/manner.txt``.

Such a clause is recognised by its parts: each of its words belongs to manners of speech (how long, how formal, in which form or
language), to answering, or to courtesy. A word of any other subject ("a shorter route please"), or a single text to be changed
("make it shorter"), makes it a request of this turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.lower import joined_words, lower_text, words

_TABLE: Final = lexicon("manner")
_MANNERS: Final = ("degree", "form", "address")
_KINDS: Final = {
    word: frozenset(kind for kind, listed in _TABLE.items() if word in listed) for word in frozenset().union(*_TABLE.values())
}
#: In scripts with spaces, every sentence about manner contains one of these words.
MANNER_CUES: Final = frozenset(max(word.split("-"), key=len) for kind in (*_MANNERS, "language") for word in _TABLE[kind])
_CLAUSE: Final = lazy.pattern(r"[^,.;:!?،؛。、，；：！？؟…()\n–—]+")
_MOST_WORDS: Final = 14
_LONGEST: Final = 160  # characters of a sentence that is read
_ASKS: Final = lazy.pattern(r"[?？؟]\s*\Z")
#: Words for a single text: "make it shorter", "give me a short list".
_ONE: Final = _TABLE["one"]
_SUPPORT: Final = frozenset(("courtesy", "answer", "task", "limit", "lasting"))
_DENSE: Final = lazy.pattern(r"[\u3040-\u30ff\u3400-\u9fff]")
_PHRASE: Final = lazy.pattern("|".join(sorted((w for w in _KINDS if _DENSE.search(w)), key=lambda w: (-len(w), w))))


def tells_manner(sentence: str, known: Sequence[str] | None = None) -> bool:
    """Whether a sentence says how its writer wants to be answered, in a clause about nothing else.

    `known` are its words (``words(lower_text(sentence))``), if the caller has them already.
    """
    if len(sentence) > _LONGEST:
        return False
    dense = not sentence.isascii() and _DENSE.search(sentence)
    if not dense and MANNER_CUES.isdisjoint(words(lower_text(sentence)) if known is None else known):
        return False
    low = lower_text(sentence)
    clauses = list(_clauses(low))
    kinds = [_kinds(clause) for clause in clauses]
    asked = any("courtesy" in found for clause, found in zip(clauses, kinds, strict=True) if found == {"courtesy"})
    polite = not _ASKS.search(sentence) or any("asks" in found or "courtesy" in found for found in kinds)
    return polite and any(_is_manner(clause, found, asked) for clause, found in zip(clauses, kinds, strict=True))


def _clauses(low: str) -> Iterator[Sequence[str]]:
    for clause in _CLAUSE.findall(low):
        if not _DENSE.search(clause):
            said = joined_words(clause)
        else:
            said = _PHRASE.findall(clause)
            if sum(map(len, said)) < len(clause.replace(" ", "")):
                said = []
        if said:
            yield said


def _kinds(clause: Sequence[str]) -> frozenset[str]:
    """The kinds of a clause's words; empty if a word belongs to none, or there are too many."""
    if len(clause) > _MOST_WORDS or any(word not in _KINDS for word in clause):
        return frozenset()
    return frozenset().union(*(_KINDS[word] for word in clause))


def _is_manner(clause: Sequence[str], kinds: frozenset[str], asked: bool) -> bool:
    if kinds.isdisjoint(_MANNERS) and not {"language", "answer"} <= kinds:
        return False
    if "task" in kinds and kinds.isdisjoint(("lasting", "limit")) and not _ONE.isdisjoint(clause):
        return False
    return asked or not kinds.isdisjoint(_SUPPORT)
