"""Users' statements about themselves, the task and its limits: "I am allergic to peanuts", "the budget is 3,000 euros".

This module weighs how much speaks for a sentence being such a statement, by its words and by the figures and names in it.
Standing orders are in ``standing.orders``, signals of a whole conversation in ``signals``, the words themselves in
``lexicon/statements.txt``. Sentences are chosen elsewhere.

A statement differs from small talk in what it is made of: somebody speaks of their own things (*own*) in words for lasting states
(*lasting*) or limits (*limit*), or of the task (*task*) with something that cannot be guessed again (a figure, a code, a name).
Words for a condition of body or diet (*condition*: "allergic", "dialysis") speak for it, whoever is named with them. Words for
the day (*passing*) and courtesies (*social*) speak against it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.lower import lower_text, words
from turnfold.compression.text.spans import ASKS

_TABLE: Final = lexicon("statements")
_CHANGED: Final = _TABLE["changed"]
_KINDS: Final = {name: _TABLE[name] for name in ("own", "lasting", "condition", "limit", "task", "passing", "social")}
_TELLING: Final = frozenset().union(*_KINDS.values())
_RUN_ON: Final = {
    name: lazy.pattern("|".join(sorted(map(re.escape, _TABLE[f"run-on {name}"]), key=lambda phrase: (-len(phrase), phrase))))
    for name in ("own", "lasting", "condition", "limit", "task", "passing")
}
# Each looks at most about a hundred characters ahead for its end; otherwise it would take quadratic time. A code mixes letters
# and digits, or joins them with signs; an address contains "@". Neither can be guessed later.
_CODE: Final = lazy.pattern(
    r"(?<![\w@])(?=[\w./:@#-]{0,128}[^\W\d_])(?=[\w./:@#-]{0,128}\d)[\w#][\w./:@#-]*\w"
    r"|[\w.+-]{1,64}@[\w-]++\.\w+|https?://\S+|`[^`\n]+`"
)
#: Written in digits or, with what they count, in the numerals of a script: "三万元", "八岁", "삼백만 원".
_FIGURE: Final = lazy.pattern(
    r"[$€£¥₹]?\d[\d.,:]*"
    r"|(?!十分|万分|一起)(?:[二三四五六七八九十百千万萬两兩]|[一〇零](?=[一二三四五六七八九十百千万萬]))[一二三四五六七八九十百千万萬亿億〇零点]{0,12}"
    r"(?:元|块|塊|円|岁|歲|歳|月|日|号|號|点|時|时|年|周|週|天|小时|分钟|分|名|人|位|台|套|间|間|公里|公斤|斤|米|页|頁|匹|只|冊|本|個|个|％|%)"
    r"|[일이삼사오육칠팔구십백천만억]{2,12} ?(?:원|명|개|살|년|월|일|시|분|층|호|킬로|페이지)"
)
_NAME: Final = lazy.pattern(
    r"(?<=[\w,;:)'’] )[A-ZÀ-ÖØ-ÞŁŚŻŹĆŠŽČĐİА-ЯЁ][^\W\d_]+|[\u30a1-\u30fa][\u30a1-\u30fc]{2,}"
    r"|「[^」]{1,600}」|“[^”]{1,600}”|\"[^\"]+\""
)
#: The same in ASCII without quotation marks, as most sentences are: what begins with one sign is found in less time.
_PLAIN_NAME: Final = lazy.pattern(r"[A-Z](?<=[\w,;:)'] [A-Z])[^\W\d_]+")
_MAY_BE_CODED: Final = lazy.pattern(r"[\d@`]|://")  # without one of these there is no code, and in ASCII no figure
_DAYS: Final = frozenset({"i", "i'm", "i've", "i'll", "i'd"})


def statement_weight(sentence: str, known: Sequence[str] | None = None) -> float:
    """How likely a user's sentence is a statement of lasting interest, 0 to 1.

    `known` are its words (``words(lower_text(sentence))``), if the caller has them already.
    """
    said = _TELLING.intersection(words(lower_text(sentence)) if known is None else known)
    dense = not sentence.isascii()

    def says(name: str) -> bool:
        return (bool(said) and not _KINDS[name].isdisjoint(said)) or (
            dense and name in _RUN_ON and _RUN_ON[name].search(sentence) is not None
        )

    facts = fact_weight(sentence)
    if not (said or dense):
        return max(0.0, facts - 0.2) if ASKS.search(sentence) else facts
    own, lasting, limit = says("own"), says("lasting"), says("limit")
    weight = 0.25 * own + 0.15 * says("condition") + 0.15 * limit + 0.15 * says("task") + facts
    if lasting:
        weight += 0.2 if own else 0.05
    if limit and (own or facts):
        weight += 0.1
    weight -= 0.25 * says("passing") + 0.25 * says("social")
    if ASKS.search(sentence):
        weight -= 0.2
    return max(0.0, min(1.0, weight))


def changes(said: Sequence[str]) -> bool:
    """Whether words say that something has changed: "now", "instead", "extended"."""
    return not _CHANGED.isdisjoint(said)


def speaks_of_own(said: Sequence[str]) -> bool:
    """Whether words are about the speaker: "I'm", "my"."""
    return not _KINDS["own"].isdisjoint(said)


def fact_weight(sentence: str) -> float:
    """How much of a sentence nobody could guess later (codes, figures, names), 0 to 0.5."""
    ascii_only = sentence.isascii()
    codes = figures = 0
    if not ascii_only or _MAY_BE_CODED.search(sentence):
        codes = len(_CODE.findall(sentence))
        figures = len(_FIGURE.findall(_CODE.sub(" ", sentence) if codes else sentence))
    name = _PLAIN_NAME if ascii_only and '"' not in sentence else _NAME
    names = sum(found.lower() not in _DAYS for found in name.findall(sentence))
    return min(0.5, 0.3 * min(1, codes) + 0.1 * min(2, codes + figures) + 0.1 * min(2, names))
