"""Requests over all rows of a table or list: an average, a count, the highest, a sorted list, a chart.

This module tells whether a message makes such a request, and whether it may be about certain rows. Rows are found in
``text.records``; which are quoted is decided in ``recall.wholes.all_rows``. Single words are in ``lexicon/tallies.txt``.

For such a request a few rows are worse than none: a model that sees thirteen of forty salaries gives a wrong average, and does so
with confidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.memo import remembering
from turnfold.compression.text import lower, words
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.picks import PLACES
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.records import records_of
from turnfold.compression.text.sentences import rough_sentences
from turnfold.compression.text.spans import QUESTION_MARKS

# "After 2020", "more than 8000", "2020年以后": which rows these are is told by no word of theirs.
_RANGE: Final = (
    rf"\b(?:{one_of('tallies', 'ranges')})\W+(?:\w{{1,4}}\W+){{0,2}}\d|\d\w?\s?(?:{one_of('tallies', 'ranges run-on')})"
    rf"|(?:{one_of('tallies', 'ranges run-on')})\D{{0,6}}\d"
)
# "Did I spend more in March or in April?"
_RATHER: Final = (
    r"\b(?:more|less|mehr|weniger|plus|moins|más|menos|mais|più|meno)\b[^.!?\n]{1,60}"
    r"\b(?:or|than|oder|als|ou|que|o|di)\b[^.!?\n]{1,60}\?"
)
_SPACED_TALLY: Final = (
    rf"\b(?:(?:{one_of('tallies', 'all rows')})\b|top[- ]?\d|(?:{one_of('tallies', 'all rows beginnings')})\w"
    r"|by (?:\w+ )?(?:month|year|day|week)\b)"
)
_TALLIES: Final = lazy.pattern(rf"{_SPACED_TALLY}|{one_of('tallies', 'all rows run-on')}")
#: The same for ASCII, which the other phrases are not.
_ASCII_TALLIES: Final = lazy.pattern(_SPACED_TALLY)
_RANGES: Final = lazy.pattern(_RANGE)
_HELD_AGAINST: Final = lazy.pattern(_RATHER)
#: In a text of ASCII one of these begins what `_TALLIES` finds, or one of the others stands in it.
_CUES: Final = frozenset(
    lower.words(phrase.replace("_", " "))[0]
    for phrase in (*lexicon("tallies")["all rows"], *lexicon("tallies")["ranges"], "by", "top")
    if phrase.isascii() and phrase[0].isalpha()
)
_BEGINNINGS: Final = tuple(sorted(lexicon("tallies")["all rows beginnings"]))
#: Words that name data of any kind.
DATA_WORDS: Final = lexicon("tallies")["data"]
_SPEAKERS: Final = lexicon("speech")["speakers"]  # whoever tells something
_COMMANDS: Final = lexicon("tallies")["commands"]
_CONTAINERS: Final = lexicon("tallies")["containers"]
_MOST_WORDS: Final = 15  # words of a request without a question mark
_LONGEST: Final = 600  # characters of such a message; a longer one contains its own text
#: Characters above rows that describe them.
ABOVE: Final = 600
_FIRST: Final = 400  # characters of rows that contain their headings
_OFTEN: Final = 3  # rows from which a word is a value that questions name: "Berlin"
_MOST_VALUES: Final = 100
_STEM: Final = 5  # letters that identify a word, whatever its ending
_SHORT: Final = 3  # letters of a word that is never a plural
_FIGURE: Final = lazy.pattern(r"\d")
_CAPITAL: Final = r"[A-ZÀ-Þ][a-zà-ÿ]{2,}\b"
_NAMES: Final = lazy.pattern(rf"(?<=[a-zà-ÿ,] ){_CAPITAL}")
_GERMAN_NAMES: Final = lazy.pattern(rf"\b(?:in|aus|für) ({_CAPITAL})")  # German nouns have a capital too
#: A word in more than this share of the rows distinguishes none of them.
COMMON: Final = 0.6
_LEAST_SHARED: Final = 4  # share of a message's words that must describe the rows: one in this many
_MANY: Final = 12  # words, some of which a large table has by chance
_LEAST_OF_MANY: Final = 2
_MOST_SAID: Final = 8  # words of a message that need to say no more than "the table"
_ANY: Final = "*"  # represents words that name data
#: Prefix of a value of some rows.
VALUE: Final = "="
#: Prefix of a name in a message, and of any word in some rows; alone if there are too many words to list.
NAME: Final = "@"
HELD: Final = "+"
_MOST_HELD: Final = 2000
#: Represents words that compare some rows with the others.
NEEDS_OTHERS: Final = "%"
_OTHERS: Final = lazy.pattern(rf"\b(?:{one_of('tallies', 'others')})\b|{one_of('tallies', 'others run-on')}|%|{_RANGE}")
_FIELDS: Final = tuple(
    [
        (name, lexicon("tallies")[f"field {name}"], lazy.pattern(one_of("tallies", f"field {name} run-on")))
        for name in ("money", "place", "unit", "distance", "time", "date", "person", "energy", "volume", "mass")
    ]
)
_PERSON: Final = "$person"  # "who" is asked of anything
_DATE: Final = "$date"  # rows have no word for April
_FIELD_WORDS: Final = frozenset().union(*(said for _, said, _ in _FIELDS))
_MOST_BESIDE: Final = 1  # words beside them that say something else: "what does a house cost in Norway?" is about no table
_CHANGE: Final = lazy.pattern(rf"\b(?:{one_of('tallies', 'changes')})\b|{one_of('tallies', 'changes run-on')}")
_MOST_CHANGE: Final = 300  # characters
# "List all" names no list, and "the list twice" does.
_LISTS: Final = lazy.pattern(
    r"list(?<=\blist)(?<!\bthe list)(?<!\bmy list)(?<!\bour list)(?<!\bthis list)(?<!\bthat list)(?<!\bla list)"
    rf"(?:s|en?|ar?)? (?:for )?(?=(?:{one_of('tallies', 'all rows')})\b)"
)
_SOME_DATA: Final = lazy.pattern(rf"\b(?:an?|eine?r?|une?|una?|uma?|een) (?:[\w-]+ )?(?:{one_of('tallies', 'data')})\b")
_INVENTED: Final = lexicon("tallies")["invented"]
_GENERAL: Final = lazy.pattern(
    rf"\b(?:{one_of('tallies', 'general')})\b|{one_of('tallies', 'general run-on')}|{one_of('tallies', 'invented run-on')}"
)
#: Words with a capital that are no names of what rows are about.
_NO_NAMES: Final = frozenset(
    word[:_STEM] for word in (*lexicon("tallies")["formats"], *frozenset().union(*lexicon("months").values()))
)
_JOINS: Final = lazy.pattern(r"\b(?:and|or|und|oder|et|ou|y|o|e)\b|と|和|或")
_GOES_ON: Final = lazy.pattern(rf"\W*(?:(?:{one_of('tallies', 'goes on')})\b|{one_of('tallies', 'goes on run-on')})")
_SIGNS: Final = lazy.pattern(r"(?=([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}))")


@remembering
def asks_over_rows(folded: str) -> bool:
    """Whether a case-folded message asks for something that needs all rows of a table.

    It must be a question, a short request without a person who does or did it ("sort by price"), or name data. "We all had the
    best time" asks for nothing.
    """
    if len(folded) > _LONGEST or not _may_tally(folded):
        return False
    asked = [one for one in rough_sentences(folded) if _asks(folded[slice(*one)])]  # in less time than a search for phrases
    if not (asked and _tallies(folded, 0, len(folded))):
        return False
    return any(_tallies(folded, *one) and not _is_general(folded[slice(*one)]) for one in asked)


def _tallies(folded: str, start: int, end: int) -> bool:
    tallies = _ASCII_TALLIES if folded.isascii() else _TALLIES
    if tallies.search(folded, start, end) or (_FIGURE.search(folded, start, end) and _RANGES.search(folded, start, end)):
        return True
    return "?" in folded and _HELD_AGAINST.search(folded, start, end) is not None


def _may_tally(folded: str) -> bool:
    said = lower.plain_words(folded)
    if said is None or not _CUES.isdisjoint(said):
        return True
    return any(map(folded.__contains__, _BEGINNINGS))


def _is_general(sentence: str) -> bool:
    if _GENERAL.search(sentence) is None and _INVENTED.isdisjoint(words.words(sentence)):
        return False
    return not names_certain_data(sentence)


def _asks(sentence: str) -> bool:
    if sentence.rstrip().endswith(QUESTION_MARKS):
        return True
    said = words.words(sentence)
    is_asked = not _COMMANDS.isdisjoint(said[:1]) or _SPEAKERS.isdisjoint(said)  # "give me the five highest"
    return not DATA_WORDS.isdisjoint(said) or (len(said) <= _MOST_WORDS and is_asked)


def placed_table(folded: str) -> int | None:
    """The table that a case-folded question names by position, as an index: 1 for "the second table"."""
    said = words.words(folded)
    for at, word in enumerate(said):
        if word in _CONTAINERS:
            places = [PLACES[one] for one in (*said[max(0, at - 1) : at], *said[at + 1 : at + 2]) if one in PLACES]
            if places:
                return places[0] - 1 if places[0] > 0 else places[0]
    return None


def is_tally_word(word: str) -> bool:
    """Whether a word says that all rows are needed, without describing them."""
    return any(pattern.fullmatch(word) for pattern in (_TALLIES, _RANGES, _HELD_AGAINST))


def names_data(folded: str) -> bool:
    """Whether a message names data of any kind; "list all" does not."""
    if DATA_WORDS.isdisjoint(words.words(folded)):
        return False
    return not DATA_WORDS.isdisjoint(words.words(_LISTS.sub(" ", folded)))


def names_certain_data(folded: str) -> bool:
    """Whether a message names known data: "the list", not "a list"."""
    return names_data(_SOME_DATA.sub(" ", folded))


def is_bare(folded: str) -> bool:
    """Whether a case-folded question asks about all rows without describing them: "and the median?"."""
    said = words.words(folded)
    content = words.content(said, words.language(set(said)))
    return asks_over_rows(folded) and all(is_tally_word(word) for word in content)


def goes_on_asking(folded: str) -> bool:
    """Whether a case-folded message continues the previous question: "and in Lyon?", "what about the lab?"."""
    return _GOES_ON.match(folded) is not None


def needs_others(folded: str) -> bool:
    """Whether a message compares some rows with the others: "what share of them lives in Berlin?"."""
    return _OTHERS.search(folded) is not None


def tally_terms(text: str) -> frozenset[str]:
    """The words by which a message about all rows describes them; empty for any other message."""
    folded = words.fold(text)
    if not asks_over_rows(folded):
        return frozenset()
    names = _names(text, folded)
    said = words.words(_LISTS.sub(" ", folded))
    content = (
        word
        for word in words.content(said, words.language(set(said)))
        if not (is_tally_word(word) or word in _COMMANDS - DATA_WORDS)
    )
    others = (NEEDS_OTHERS,) if needs_others(folded) else ()
    fields = [field for field in asked_fields(folded) if field != _PERSON]
    others = others or ((NEEDS_OTHERS,) if _DATE in fields else ())
    return frozenset((*_terms(content, folded), *others, *fields, *(NAME + name for name in names)))


def row_terms(text: str, runs: Sequence[Range]) -> frozenset[str]:
    """The words that may describe rows: those above them and in the first ones, and frequent values."""
    heads = words.fold(" ".join(text[max(0, start - ABOVE) : start + _FIRST] for start, _ in runs))
    held = "".join(text[start:end] for start, end in runs)
    values = Counter(words.words(words.fold(held)))
    most = COMMON * sum(len(records_of(text, run)) for run in runs)
    often = [_stem(word) for word, count in values.most_common(_MOST_VALUES) if _OFTEN <= count <= most]
    rare = [HELD + _stem(word) for word in values] if len(values) <= _MOST_HELD else (HELD,)
    in_heads = (*_terms(words.words(heads), heads), *held_fields(heads), _ANY)
    return frozenset((*in_heads, *often, *(VALUE + word for word in often), *rare))


def asked_fields(folded: str) -> tuple[str, ...]:
    """The kinds of things in tables, such as money, that a case-folded question names in any language, if it says little else."""
    said = words.words(folded)
    known = DATA_WORDS | _FIELD_WORDS | _COMMANDS | lexicon("tallies")["ranges"]
    content = words.content(said, words.language(set(said)))
    beside = [
        w for w in content if w not in known and not (is_tally_word(w) or w.isdigit() or _SIGNS.search(w) or held_fields(w))
    ]
    return held_fields(folded) if len(beside) <= _MOST_BESIDE else ()


def asked_of_rows(folded: str) -> bool:
    """Whether a short case-folded message may ask for some rows of a table rather than all."""
    if len(folded) > _MOST_CHANGE or asks_over_rows(folded):
        return False
    return folded.rstrip().endswith(QUESTION_MARKS) or not _COMMANDS.isdisjoint(words.words(folded)[:1])


def joins_values(folded: str) -> bool:
    """Whether a case-folded question joins the things it names: "in Berlin and Oslo"."""
    return _JOINS.search(folded) is not None


def words_of_kinds(folded: str) -> frozenset[str]:
    """The words for the kinds of things that a case-folded text names, and those for any kind."""
    held = frozenset(held_fields(folded))
    named = (said for name, said, _ in _FIELDS if f"${name}" in held)
    return frozenset().union(DATA_WORDS, _COMMANDS, *named)


def held_fields(folded: str) -> tuple[str, ...]:
    """The kinds of such things that a case-folded text names."""
    said = frozenset(words.words(folded))
    return tuple([f"${name}" for name, named, run_on in _FIELDS if not named.isdisjoint(said) or run_on.search(folded)])


def are_about(tallies: frozenset[str], rows_of: frozenset[str]) -> bool:
    """Whether a message's words are about certain rows: it names data, or little else than words that describe them."""
    if HELD not in rows_of and any(_is_foreign(term[len(NAME) :], rows_of) for term in tallies if term.startswith(NAME)):
        return False
    said = [t for t in tallies if t != NEEDS_OTHERS and not (t.startswith(NAME) or _SIGNS.match(t) or t.isdigit())]
    least = _LEAST_SHARED if len(said) <= _MANY else _LEAST_OF_MANY
    return (_ANY in tallies and len(said) <= _MOST_SAID) or least * len(tallies & rows_of) >= len(said)


def names_rows(tallies: frozenset[str], rows_of: frozenset[str]) -> bool:
    """Whether a message names some of the rows: by a value of several rows, a name or a figure."""
    telling = (term for term in tallies if term[:1] == NAME or term.isdigit())
    return any(VALUE + term in rows_of for term in tallies) or any(HELD + term.removeprefix(NAME) in rows_of for term in telling)


def _names(text: str, folded: str) -> frozenset[str]:
    """The names in a message."""
    found = (_GERMAN_NAMES if words.language(set(words.words(folded))) == "german" else _NAMES).findall(text)
    return frozenset(_stem(words.fold(name)) for name in found) - _NO_NAMES


def names_others(text: str, held: str) -> bool:
    """Whether a message names a person or place that a case-folded text does not mention, and no data."""
    folded = words.fold(text)
    if names_data(folded):
        return False
    names = _names(text, folded)
    return bool(names) and not names <= {_stem(word) for word in words.words(held)}


def _is_foreign(name: str, rows_of: frozenset[str]) -> bool:
    """Whether a name occurs neither in rows nor above them."""
    return name not in rows_of and HELD + name not in rows_of


def _terms(said: Iterable[str], folded: str) -> Iterable[str]:
    for word in said:
        yield _ANY if word in DATA_WORDS else _stem(word)
    yield from _SIGNS.findall(folded)


def _stem(word: str) -> str:
    if _FIGURE.search(word):
        return word
    if word.endswith("ies"):
        word = f"{word[:-3]}y"
    elif word.endswith("ing") and len(word) > _STEM:
        word = word[:-4] if word[-4] == word[-5] else word[:-3]  # "running" is to run
    elif word.endswith("s") and not word.endswith("ss") and len(word) > _SHORT:
        word = word[:-1]
    return word[:_STEM]


def tells_change(folded: str, held: frozenset[str]) -> bool:
    """Whether a short case-folded message changes rows with the words `held`: it says so, and names some of them or the data."""
    if len(folded) > _MOST_CHANGE or not _CHANGE.search(folded):
        return False
    said = words.words(folded)
    return names_data(folded) or not held.isdisjoint(words.content(said, words.language(set(said))))
