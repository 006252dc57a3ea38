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
from turnfold.compression.text.records import records_of
from turnfold.compression.text.sentences import rough_sentences
from turnfold.compression.text.spans import QUESTION_MARKS

# "After 2020", "more than 8000", "2020年以后": which rows these are is told by no word of theirs.
_RANGE: Final = (
    rf"\b(?:{one_of('tallies', 'ranges')})\W+(?:\w{{1,4}}\W+){{0,2}}\d|\d\w?\s?(?:{one_of('tallies', 'ranges run-on')})"
    rf"|(?:{one_of('tallies', 'ranges run-on')})\D{{0,6}}\d"
)
_TALLIES: Final = re.compile(
    rf"{lower.PHRASE_START}(?:\b(?:{one_of('tallies', 'all rows')})\b|{one_of('tallies', 'all rows run-on')}|\btop[- ]?\d"
    rf"|\b(?:{one_of('tallies', 'all rows beginnings')})\w|\bby (?:\w+ )?(?:month|year|day|week)\b)|{_RANGE}"
)
#: In a text of ASCII one of these begins what `_TALLIES` finds, or one of the others stands in it.
_CUES: Final = frozenset(
    lower.words(phrase.replace("_", " "))[0]
    for phrase in (*lexicon("tallies")["all rows"], *lexicon("tallies")["ranges"], "by", "top")
    if phrase.isascii() and phrase[0].isalpha()
)
_BEGINNINGS: Final = tuple(sorted(lexicon("tallies")["all rows beginnings"]))
#: Words that name data, whatever it is about.
DATA_WORDS: Final = lexicon("tallies")["data"]
_SPEAKERS: Final = lexicon("speech")["speakers"]  # whoever tells something
_MOST_WORDS: Final = 15  # of a request without a question mark
_LONGEST: Final = 600  # characters of a message that asks so; a longer one brings its own text
#: Characters above rows that say what they are.
ABOVE: Final = 600
_FIRST: Final = 400  # characters of rows, in which their heads are
_OFTEN: Final = 3  # rows from which a word is a value that questions name: "Berlin"
_MOST_VALUES: Final = 100
_STEM: Final = 5  # letters that tell a word, whatever its ending
#: Share of the rows from which a word tells none of them.
COMMON: Final = 0.6
_LEAST_SHARED: Final = 4  # the part of a message's words that must be said of the rows
_MOST_SAID: Final = 8  # words of a message that need say no more than "the table"
_ANY: Final = "*"  # stands for words that name data
#: In front of a value of some rows.
VALUE: Final = "="
#: Stands for words with which some rows are held against the others.
NEEDS_OTHERS: Final = "%"
_OTHERS: Final = re.compile(rf"\b(?:{one_of('tallies', 'others')})\b|{one_of('tallies', 'others run-on')}|%|{_RANGE}")
_FIELDS: Final = tuple(
    [
        (name, lexicon("tallies")[f"field {name}"], re.compile(one_of("tallies", f"field {name} run-on")))
        for name in ("money", "place", "unit", "energy", "distance", "volume", "mass", "duration")
    ]
)
_FIELD_WORDS: Final = frozenset().union(*(said for _, said, _ in _FIELDS))
_MOST_BESIDE: Final = 1  # words beside them that say something else: "what does a house cost in Norway?" is about no table
_CHANGE: Final = re.compile(rf"\b(?:{one_of('tallies', 'changes')})\b|{one_of('tallies', 'changes run-on')}")
_MOST_CHANGE: Final = 300  # characters
_LISTS: Final = re.compile(rf"\b(?:lists?|listen?|lista|listar?) (?:for )?(?=(?:{one_of('tallies', 'all rows')})\b)")
_GOES_ON: Final = re.compile(rf"\W*(?:(?:{one_of('tallies', 'goes on')})\b|{one_of('tallies', 'goes on run-on')})")
_SIGNS: Final = re.compile(r"(?=([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}))")


@remembering
def asks_over_rows(folded: str) -> bool:
    """Whether a case-folded message asks for something that all rows of a table go into: in a question, in short words without
    anybody who does or did it ("sort by price"), or of what is named as data. "We all had the best time" asks for nothing."""
    if len(folded) > _LONGEST or not (_may_tally(folded) and _TALLIES.search(folded)):
        return False
    return any(_TALLIES.search(folded, *one) and _asks(folded[slice(*one)]) for one in rough_sentences(folded))


def _may_tally(folded: str) -> bool:
    if not folded.isascii() or not _CUES.isdisjoint(lower.words(folded.replace("'", " "))):
        return True
    return any(map(folded.__contains__, _BEGINNINGS))


def _asks(sentence: str) -> bool:
    if sentence.rstrip().endswith(QUESTION_MARKS):
        return True
    said = words.words(sentence)
    return not DATA_WORDS.isdisjoint(said) or (len(said) <= _MOST_WORDS and _SPEAKERS.isdisjoint(said))


def is_tally_word(word: str) -> bool:
    """Whether a word says that all rows are asked for, and nothing of which."""
    return _TALLIES.fullmatch(word) is not None


def names_data(folded: str) -> bool:
    """Whether it names data, whatever these are about; "list all" does not."""
    return not DATA_WORDS.isdisjoint(words.words(_LISTS.sub(" ", folded)))


def is_bare(folded: str) -> bool:
    """Whether a case-folded question says what is asked for over rows, and nothing of which: "and the median?"."""
    said = words.words(folded)
    content = words.content(said, words.language(set(said)))
    return asks_over_rows(folded) and all(is_tally_word(word) for word in content)


def goes_on_asking(folded: str) -> bool:
    """Whether a case-folded message goes on with the question before it: "and in Lyon?", "what about the lab?"."""
    return _GOES_ON.match(folded) is not None


def needs_others(folded: str) -> bool:
    """Whether it holds some rows against the others: "what share of them lives in Berlin?"."""
    return _OTHERS.search(folded) is not None


def tally_terms(folded: str) -> frozenset[str]:
    """What a case-folded message that asks for something over rows says of which rows; nothing for any other message."""
    if not asks_over_rows(folded):
        return frozenset()
    said = words.words(_LISTS.sub(" ", folded))
    content = (word for word in words.content(said, words.language(set(said))) if not is_tally_word(word))
    others = (NEEDS_OTHERS,) if needs_others(folded) else ()
    return frozenset((*_terms(content, folded), *others, *asked_fields(folded)))


def row_terms(text: str, runs: Sequence[Range]) -> frozenset[str]:
    """What may be said of rows: the words above them and in the first ones, and values that come again and again."""
    heads = words.fold(" ".join(text[max(0, start - ABOVE) : start + _FIRST] for start, _ in runs))
    held = "".join(text[start:end] for start, end in runs)
    values = Counter(words.words(words.fold(held)))
    most = COMMON * sum(len(records_of(text, run)) for run in runs)
    often = [_stem(word) for word, count in values.most_common(_MOST_VALUES) if _OFTEN <= count <= most]
    return frozenset((*_terms(words.words(heads), heads), *often, *(VALUE + word for word in often), *held_fields(heads), _ANY))


def asked_fields(folded: str) -> tuple[str, ...]:
    """What of the things that tables hold, such as money, a case-folded question names in whatever language, if hardly more."""
    said = words.words(folded)
    known = DATA_WORDS | _FIELD_WORDS | lexicon("tallies")["ranges"]
    content = words.content(said, words.language(set(said)))
    beside = [
        w for w in content if w not in known and not (is_tally_word(w) or w.isdigit() or _SIGNS.search(w) or held_fields(w))
    ]
    return held_fields(folded) if len(beside) <= _MOST_BESIDE else ()


def held_fields(folded: str) -> tuple[str, ...]:
    """What of such things a case-folded text names."""
    said = frozenset(words.words(folded))
    return tuple([f"${name}" for name, named, run_on in _FIELDS if not named.isdisjoint(said) or run_on.search(folded)])


def are_about(tallies: frozenset[str], rows_of: frozenset[str]) -> bool:
    """Whether what a message says of rows is about certain ones: it names data, or not much else than what is said of them."""
    said = [term for term in tallies if term != NEEDS_OTHERS and not _SIGNS.match(term)]
    return (_ANY in tallies and len(said) <= _MOST_SAID) or _LEAST_SHARED * len(tallies & rows_of) >= len(said)


def _terms(said: Iterable[str], folded: str) -> Iterable[str]:
    for word in said:
        yield _ANY if word in DATA_WORDS else _stem(word)
    yield from _SIGNS.findall(folded)


def _stem(word: str) -> str:
    return (f"{word[:-3]}y" if word.endswith("ies") else word)[:_STEM]


def tells_change(folded: str, held: frozenset[str]) -> bool:
    """Whether a short case-folded message changes rows with the words `held`: it says so, and names some of them or the data."""
    if len(folded) > _MOST_CHANGE or not _CHANGE.search(folded):
        return False
    said = words.words(folded)
    return names_data(folded) or not held.isdisjoint(words.content(said, words.language(set(said))))
