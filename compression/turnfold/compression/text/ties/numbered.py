"""Numbered items and the sentences that limit them by number: "Skip step 2.", "Clauses 4.1 and 4.2 do not apply to ...".

This module pairs a numbered item with the sentence that says when it does not hold, and with the next item if that is about it:
"(2) This does not apply to ...". Other limits that name no number are in the other files of ties; places in an order ("the first
of these") are in ``pointing``.

The whole text is first searched for references to a number; each reference is then looked up in a table. An item looks back a
bounded number of sentences. All is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import any_of, lexicon
from turnfold.compression.text.ties.cues import DEFINITE
from turnfold.compression.text.ties.pieces import StatementPiece

Pair = tuple[int, int]

_TIES: Final = lexicon("ties")
_NUMBER: Final = r"\d{1,3}(?:\.\d{1,3}){0,3}(?:\([a-z]\))?"
_AND: Final = "and|or|to|und|oder|bis|et|ou|à|y|o|e|i|lub|и|или|ve|veya|en"
#: "clauses 4.1 and 4.2", "Schritt 3", "第三条", "手順2": a word for something numbered, and numbers.
_REFERENCE: Final = lazy.pattern(
    rf"(?:§{{1,2}}|\b(?:{any_of(_TIES['numbered'])})\b\.?)[ \u00a0]?"
    rf"(?P<numbers>{_NUMBER}(?:(?:,|,? (?:{_AND})|-|–) ?{_NUMBER}){{0,8}})"
    r"|第 ?(?P<counted>[\d一二三四五六七八九十]{1,4}) ?[条條步項项款章]"
    r"|(?:步骤|手順|ステップ|제) ?(?P<dense>\d{1,3})(?:조|항|단계)?",
    re.IGNORECASE,
)
_WORDS: Final = _TIES["numbered"]
#: In a text of ASCII a number stands behind one of these; as the regex engine reads it without case, "adım" is "adim" too.
_ASCII_WORDS: Final = frozenset(word.replace("ı", "i") for word in _WORDS)
_BEHIND_WORD: Final = lazy.pattern(r"[ .]\d")
_LAST_WORD: Final = lazy.pattern(r"\w+\Z")
_LONGEST_WORD: Final = max(map(len, _WORDS))
#: With one of these a numbered line begins, or with the word for it.
_BEGINS: Final = frozenset("0123456789(§第#*>_- \t").union(word[0].upper() for word in _WORDS)
_SIGNS: Final = lazy.pattern("[§第步骤手順제]")
_ONE: Final = lazy.pattern(_NUMBER)
#: What a line is numbered by: "4.1 The Client", "2) Open", "§ 3 Kündigung", "Article 12.", "第三条".
_NUMBERED: Final = lazy.pattern(
    rf"[ \t>*_#-]*(?:(?P<word>[^\W\d_]{{3,12}}\.?)[ \u00a0]|§{{1,2}}[ \u00a0]?)?\(?(?P<number>{_NUMBER})"
    r"(?(word)(?:[.):：、]|[ \t]*(?:[—–-]|\Z|(?=\n)))|[.):：、]?(?=\s))"
    r"|第 ?(?P<counted>[\d一二三四五六七八九十]{1,4}) ?[条條步項项款章]"
)
_LIMITING: Final = frozenset().union(
    *(_TIES[name] for name in ("limiting", "negative", "skips", "excluding", "only")),
    ("void", "expires", "ends", "instead", "before"),
)
_DENSE_LIMITS: Final = lazy.pattern("不|没有|未|除|仅|只|无|跳过|省略|ない|ません|除く|飛ば|のみ|않|아니|제외|생략|건너|만 ")
_UP: Final = _TIES["demonstratives"] | frozenset(
    ("that", "cela", "ceci", "ça", "eso", "questo", "ciò", "isso", "isto", "dit", "dat", "to", "detta", "det", "satz", "sentence")
)
_FOREGOING: Final = frozenset(("foregoing", "above", "preceding", "same", "vorstehende", "vorige", "précédent", "anterior"))
#: What follows such a word where it stands for the item above; behind others it stands before a noun ("this clause").
_VERBS: Final = frozenset().union(
    *(_TIES[name] for name in ("holds", "negative", "duties", "excluding", "only")),
    ("does", "do", "shall", "will", "may", "must", "can", "is", "are", "was", "ne", "se", "si", "kann", "können", "ist", "sind"),
    ("est", "sera", "es", "è", "é", "jest", "zijn", "är"),
)
_UP_DENSE: Final = lazy.pattern(r"[\d.、)）(（一二三四五六七八九十 \u3000]*(?:前[二三]?[項项款条條]|上述|これ[はらを]|这|這)")
_ABOVE: Final = 4  # sentences of an item of which the next one may speak
_FEWEST_SAID, _FRONT = 3, 8  # words
_FARTHEST: Final = 400  # sentences between a number and what limits it
_MOST: Final = 12  # sentences under one number that are tied


def numbered_ties(text: str, pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """Pairs of a sentence under a number and one that limits it by that number."""
    hints = pieces[0].hints
    if _WORDS.isdisjoint(hints.distinct) and (hints.ascii or not _SIGNS.search(text)):
        return
    if "\n" not in text or not any(line[:1] in _BEGINS and _NUMBERED.match(line) for line in text.split("\n")):
        return
    if not (_may_refer(text) and _REFERENCE.search(text)):
        return
    limits: list[tuple[int, str]] = []
    under: dict[str, list[int]] = {}
    number = ""
    for i, piece in enumerate(pieces):
        if piece.kind in ("heading", "label") or piece.starts_line:
            found = _NUMBERED.match(piece.text)
            number = (found["number"] or found["counted"] or "") if found else ""
        if number and len(under.setdefault(number, [])) < _MOST:
            under[number].append(i)
        if not piece.kind and _is_limit(piece):
            own = _NUMBERED.match(piece.text) if piece.starts_line else None
            limits += [(i, said) for said in _references(piece.text[own.end() if own else 0 :]) if said != number]
    for i, said in limits:
        yield from ((k, i) for k in under.get(said, ()) if k != i and abs(k - i) <= _FARTHEST)


def ties_of_next_items(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """Pairs of an item that is about the one above it, and that one; where it limits it, the other way round too."""
    for i, piece in enumerate(pieces):
        if not i or piece.kind or not piece.starts_line or not _points_up(piece) or not _is_listed(piece):
            continue
        above: list[int] = []
        for k in range(i - 1, max(-1, i - 1 - _ABOVE), -1):
            if pieces[k].kind:
                break
            above.append(k)
            if pieces[k].starts_line:
                yield from _with_next(pieces, above, i) if _is_listed(pieces[k]) else ()
                break


def _with_next(pieces: Sequence[StatementPiece], above: Sequence[int], i: int) -> Iterator[Pair]:
    yield from ((i, k) for k in above)
    if _is_limit(pieces[i]):
        yield from ((k, i) for k in above)


def _is_listed(piece: StatementPiece) -> bool:
    return piece.item or _NUMBERED.match(piece.text) is not None


def _points_up(piece: StatementPiece) -> bool:
    """Whether it says something of what stands above it: "This does not apply to ...", 「前項の...」."""
    if piece.dense:
        return _UP_DENSE.match(piece.body) is not None
    said = [word for word in piece.said[:_FRONT] if not word.isdecimal()]
    said = said[1:] if said and len(said[0]) == 1 else said  # "(b)"
    if len(said) < _FEWEST_SAID:
        return False
    if said[0] in DEFINITE and said[1] in _FOREGOING:
        return True
    return said[0] in _UP and said[1] in _VERBS


def _is_limit(piece: StatementPiece) -> bool:
    return not (piece.asks or _LIMITING.isdisjoint(piece.said)) or (piece.dense and _DENSE_LIMITS.search(piece.text) is not None)


def _may_refer(text: str) -> bool:
    """Whether a number of the text follows a word for something numbered, without trying all words at each place."""
    return not text.isascii() or any(_word_before(text, m.start()) in _ASCII_WORDS for m in _BEHIND_WORD.finditer(text))


def _word_before(text: str, at: int) -> str:
    """The word in front of a blank or a full stop, or of both."""
    end = at - (text[at] == " " and text[at - 1 : at] == ".")
    word = _LAST_WORD.search(text[max(0, end - _LONGEST_WORD - 1) : end])
    return word[0].lower() if word else ""


def _references(sentence: str) -> Iterator[str]:
    for found in _REFERENCE.finditer(sentence) if _may_refer(sentence) else ():
        yield from _ONE.findall(found["numbers"]) if found["numbers"] else ((found["counted"] or found["dense"]),)
