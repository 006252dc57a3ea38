"""Names of people, organisations and places in scripts without capitals: Chinese, Japanese, Korean, Arabic, Hebrew.

This module has the rules by which a name is recognised there: a common surname with a title or a small word beside it, a title
before a name, the word that organisations end (or begin) with, countries and large cities. The words are in
``lexicon/names.txt``, names with capitals in ``entities``.

These rules would rather miss a name than take other words for one: both ends of a name must be certain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import any_of, lexicon

Mention = tuple[int, int, str]

_TABLE: Final = lexicon("names")


def _any(section: str) -> str:
    return any_of(_TABLE[section])


def _endings(sections: Iterable[str]) -> tuple[str, ...]:
    return tuple(word for section in sections for word in sorted(_TABLE[section]))


_HAN: Final = r"\u4e00-\u9fff々"
_ZH_PERSON: Final = lazy.pattern(
    rf"(?:{_any('zh surnames')})[{_HAN}]{{1,2}}?(?=(?:{_any('zh behind')}|{_any('zh says')}|[，。、：；！？,.:;!?\s]|\Z))"
)
_ZH_BEFORE: Final = _endings(["zh before", "zh behind"])
_ZH_CUT: Final = lazy.pattern(rf"{_any('zh cut')}")
_HAN_RUN: Final = lazy.pattern(rf"[{_HAN}]{{3,}}")
_ZH_ORGANISATION: Final = lazy.pattern(rf"{_any('zh organisations')}")
_JA_PERSON: Final = lazy.pattern(
    rf"(?<![{_HAN}])(?:{_any('ja surnames')})"
    rf"(?:[{_HAN}]{{0,3}}?(?=(?:{_any('ja behind')}))|[{_HAN}]{{1,3}}(?=(?:{_any('ja particles')})))"
)
_JA_RUN: Final = lazy.pattern(rf"[{_HAN}ァ-ヶー]{{3,}}+")
_JA_ORGANISATION: Final = lazy.pattern(
    rf"\A(?:株式会社[{_HAN}ァ-ヶー]{{2,12}}|[{_HAN}ァ-ヶー]{{2,16}}(?:{_any('ja organisations')}))\Z"
)
#: The legal form comes first; the text after it, in any script, is the name up to a particle.
_JA_COMPANY: Final = lazy.pattern(
    rf"(?:株式会社|有限会社|合同会社)[{_HAN}ァ-ヶーぁ-ん]{{2,12}}?(?=[はがをにのとへや、。（(]|から|\Z)"
)
_KO_PERSON: Final = lazy.pattern(
    rf"(?<![가-힣])(?:{_any('ko surnames')})[가-힣]{{2}}"
    rf"(?= ?(?:{_any('ko behind')})(?:[은는이가을를의도와과에께]|에게|께서)?(?![가-힣]))"
)
_KO_ORGANISATION: Final = lazy.pattern(
    rf"(?<![가-힣])[가-힣]{{1,8}}?(?:{_any('ko organisations')})(?=(?:에서|으로|로|은|는|이|가|을|를|의|에|과|와|도)?(?![가-힣]))"
)
# A place of two characters may be part of a longer word, so it must not be followed by an ending that makes it one.
_ZH_PLACE: Final = lazy.pattern(rf"(?:{_any('zh places')})(?:[省市县縣区區])?(?![{_HAN}]?(?:路|街|人|语|語|菜|风|風))")
_JA_PLACE: Final = lazy.pattern(rf"(?:{_any('ja places')})(?:[都道府県市区町村])?(?![{_HAN}]|[ァ-ヶー])")
_KO_PLACE: Final = lazy.pattern(
    rf"(?<![가-힣])(?:{_any('ko places')})(?:시|도|광역시|특별시)?"
    r"(?=(?:에서|으로|로|은|는|이|가|을|를|의|에|과|와|도)?(?![가-힣]))"
)
_AR_WORD: Final = lazy.pattern(r"[\u0621-\u065f\u066e-\u06d3]+")
_HE_WORD: Final = lazy.pattern(r"[\u05d0-\u05ea](?:[\u05d0-\u05ea\"׳״']*[\u05d0-\u05ea'׳])?")
_KANA: Final = lazy.pattern(r"[\u3041-\u3096\u30a1-\u30fa]")
_DENSE: Final = lazy.pattern(r"[\u05d0-\u05ea\u0621-\u06d3\u3041-\u30ff\u4e00-\u9fff가-힣]")
_MOST_NAMES: Final = 2  # words of a name after a title, not counting joints


def dense_names(text: str) -> Iterator[Mention]:
    """Start, end and kind ("person", "organisation", "name" for a place) of a text's names, script by script in order."""
    if text.isascii() or not _DENSE.search(text):
        return
    if _KANA.search(text):
        yield from ((*m.span(), "person") for m in _JA_PERSON.finditer(text))
        yield from ((*m.span(), "organisation") for m in _JA_COMPANY.finditer(text))
        yield from (
            (*m.span(), "organisation")
            for m in _JA_RUN.finditer(text)
            if "会社" not in m[0][:-2] and _JA_ORGANISATION.match(m[0])
        )
        yield from ((*m.span(), "name") for m in _JA_PLACE.finditer(text))
    else:
        yield from _chinese(text)
        yield from ((*m.span(), "name") for m in _ZH_PLACE.finditer(text))
    yield from ((*m.span(), "person") for m in _KO_PERSON.finditer(text))
    yield from ((*m.span(), "organisation") for m in _KO_ORGANISATION.finditer(text))
    yield from ((*m.span(), "name") for m in _KO_PLACE.finditer(text))
    yield from _semitic(text, _AR_WORD, "ar")
    yield from _semitic(text, _HE_WORD, "he")


def _chinese(text: str) -> Iterator[Mention]:
    for m in _ZH_PERSON.finditer(text):
        if text[m.start() : m.start() + 2] in _TABLE["zh words"]:
            continue
        before = text[max(0, m.start() - 3) : m.start()]
        if not re.search(rf"[{_HAN}]\Z", before) or before.endswith(_ZH_BEFORE):
            yield *m.span(), "person"
    for run in _HAN_RUN.finditer(text):
        at = run.start()
        for m in _ZH_ORGANISATION.finditer(text, *run.span()):
            if m.start() < at:
                continue
            cuts = _ZH_CUT.finditer(text, max(at, m.start() - 12), m.start())
            begin = max((cut.end() for cut in cuts if text[cut.start() - 1 : cut.end()] not in _TABLE["zh whole"]), default=at)
            if 2 <= m.start() - begin <= 10:
                yield begin, m.end(), "organisation"
            at = m.end()


def _semitic(text: str, word_pattern: re.Pattern[str], language: str) -> Iterator[Mention]:
    """Arabic or Hebrew: names after a title, a given name or the first word of an organisation; and places."""
    words = list(word_pattern.finditer(text))
    for i, word in enumerate(words):
        if word[0] in _TABLE[f"{language} titles"]:
            named = _behind(text, words, i, _MOST_NAMES, language)
            if named > i:
                yield words[i + 1].start(), words[named].end(), "person"
        elif word[0] in _TABLE[f"{language} given"]:
            named = _behind(text, words, i, 1, language)
            if named > i:
                yield word.start(), words[named].end(), "person"
        elif word[0] in _TABLE[f"{language} places"]:
            yield word.start(), word.end(), "name"
        elif word[0] in _TABLE[f"{language} organisations"] and (named := _behind(text, words, i, 1, language)) > i:
            yield word.start(), words[named].end(), "organisation"


def _behind(text: str, words: list[re.Match[str]], i: int, most: int, language: str) -> int:
    """The last of at most `most` words after a word that may belong to a name: on the same line, without small words."""
    taken = 0
    last = i
    for j in range(i + 1, min(len(words), i + 2 + 2 * most)):
        if taken == most or text[words[j - 1].end() : words[j].start()] != " " or words[j][0] in _TABLE[f"{language} small"]:
            break
        last = j
        taken += words[j][0] not in _TABLE[f"{language} joins"]
    return last
