"""Requests that every row of a table or list goes into: an average, a count, the highest, a sorted list, a chart.

Lives here: whether a message makes such a request, and whether it may be about certain rows. Does not belong here: where rows
stand (``text.records``), which are quoted (``recall.wholes.all_rows``), single words (``lexicon/tallies.txt``).

A few rows are worse than none to such a request: whoever sees thirteen of forty salaries gives an average that is wrong, and
says so with confidence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from turnfold.compression.memo import remembering
from turnfold.compression.text import lower, words
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.sentences import rough_sentences
from turnfold.compression.text.spans import QUESTION_MARKS

_TALLIES: Final = re.compile(
    rf"{lower.PHRASE_START}(?:\b(?:{one_of('tallies', 'all rows')})\b|{one_of('tallies', 'all rows run-on')}|\btop[- ]?\d"
    r"|\bby (?:\w+ )?(?:month|year|day|week)\b)"
)
#: In a text of ASCII one of these begins what `_TALLIES` finds.
_CUES: Final = frozenset(
    lower.words(phrase.replace("_", " "))[0] for phrase in (*lexicon("tallies")["all rows"], "by") if phrase.isascii()
)
#: Words that name data, whatever it is about.
DATA_WORDS: Final = lexicon("tallies")["data"]
_SPEAKERS: Final = lexicon("speech")["speakers"]  # whoever tells something
_MOST_WORDS: Final = 15  # of a request without a question mark
_LONGEST: Final = 600  # characters of a message that asks so; a longer one brings its own text
_ABOVE: Final = 600  # characters above rows that say what they are
_FIRST: Final = 400  # characters of rows, in which their heads are
_OFTEN: Final = 3  # rows from which a word is a value that questions name: "Berlin"
_MOST_VALUES: Final = 100
_STEM: Final = 5  # letters that tell a word, whatever its ending
_COMMON: Final = 0.6  # share of the rows from which a value tells none of them
_ANY: Final = "*"  # stands for words that name data
#: In front of a value of some rows.
VALUE: Final = "="
#: Stands for words with which some rows are held against the others.
NEEDS_OTHERS: Final = "%"
_OTHERS: Final = re.compile(rf"\b(?:{one_of('tallies', 'others')})\b|{one_of('tallies', 'others run-on')}|%")
_SIGNS: Final = re.compile(r"(?=([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}))")


@remembering
def asks_over_rows(folded: str) -> bool:
    """Whether a case-folded message asks for something that all rows of a table go into: in a question, in short words without
    anybody who does or did it ("sort by price"), or of what is named as data. "We all had the best time" asks for nothing."""
    if len(folded) > _LONGEST or not (_may_tally(folded) and _TALLIES.search(folded)):
        return False
    return any(_TALLIES.search(folded, *one) and _asks(folded[slice(*one)]) for one in rough_sentences(folded))


def _may_tally(folded: str) -> bool:
    return not folded.isascii() or not _CUES.isdisjoint(lower.words(folded.replace("'", " ")))


def _asks(sentence: str) -> bool:
    if sentence.rstrip().endswith(QUESTION_MARKS):
        return True
    said = words.words(sentence)
    return not DATA_WORDS.isdisjoint(said) or (len(said) <= _MOST_WORDS and _SPEAKERS.isdisjoint(said))


def is_tally_word(word: str) -> bool:
    """Whether a word says that all rows are asked for, and nothing of which."""
    return _TALLIES.fullmatch(word) is not None


def needs_others(folded: str) -> bool:
    """Whether it holds some rows against the others: "what share of them lives in Berlin?"."""
    return _OTHERS.search(folded) is not None


def tally_terms(folded: str) -> frozenset[str]:
    """What a case-folded message that asks for something over rows says of which rows; nothing for any other message."""
    if not asks_over_rows(folded):
        return frozenset()
    said = words.words(folded)
    content = (word for word in words.content(said, words.language(set(said))) if not is_tally_word(word))
    others = (NEEDS_OTHERS,) if needs_others(folded) else ()
    return frozenset((*_terms(content, folded), *others))


def row_terms(text: str, runs: Sequence[Range]) -> frozenset[str]:
    """What may be said of rows: the words above them and in the first ones, and values that come again and again."""
    heads = words.fold(" ".join(text[max(0, start - _ABOVE) : start + _FIRST] for start, _ in runs))
    held = "".join(text[start:end] for start, end in runs)
    values = Counter(words.words(words.fold(held)))
    most = _COMMON * (held.count("\n") + 1)
    often = [word[:_STEM] for word, count in values.most_common(_MOST_VALUES) if _OFTEN <= count <= most]
    return frozenset((*_terms(words.words(heads), heads), *often, *(VALUE + word for word in often), _ANY))


def _terms(said: Iterable[str], folded: str) -> Iterable[str]:
    for word in said:
        yield _ANY if word in DATA_WORDS else word[:_STEM]
    yield from _SIGNS.findall(folded)
