"""Reading a question: its words and their weights, and the context that a message without content of its own borrows.

This module turns a user's message into weighted terms. Which kind of request it is, is decided in ``text.dialogue.requests``;
scores are in ``ranking``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from typing import Final, NamedTuple

import numpy as np

from turnfold.compression import lazy
from turnfold.compression.recall.links import names_one_thing
from turnfold.compression.recall.meant.dates import times_and_dates
from turnfold.compression.recall.meant.initials import initials
from turnfold.compression.recall.meant.kinds import kind_terms
from turnfold.compression.recall.meant.respelled import is_mistyped_function_word, respelled_terms
from turnfold.compression.recall.passage_index import Floats, PassageIndex
from turnfold.compression.recall.tuning import Tuning
from turnfold.compression.text import words
from turnfold.compression.text.dialogue import requests
from turnfold.compression.text.dialogue.overall import without_overall
from turnfold.compression.text.dialogue.turns import SPEAKER_LABEL
from turnfold.compression.text.dialogue.wanted.works import AskedWork
from turnfold.compression.text.quotes import Quotable, Source
from turnfold.compression.text.sentences import rough_sentences
from turnfold.compression.text.spans import QUESTION_MARKS

_MOST_READ: Final = 2000  # characters from each end
_MOST_WORDS: Final = 64  # words of a question; a longer one is pasted text, which asks for everything and so for nothing
_MOST_SIGNS: Final = 96
_HIRAGANA: Final = lazy.pattern(r"[\u3041-\u309f]+")
_PLAIN: Final = 600  # characters of a message without pasted text
_TOPIC: Final = 8  # words before a colon that may name a topic; more are a preamble
_TELLING: Final = 2  # words of a question that needs no text beside it to be understood


@dataclass(frozen=True, slots=True)
class WantedWork:
    """A work that is requested as a whole, or that a question is about.

    Attributes:
        asked: the work.
        is_whole: whether all of it is requested.
    """

    asked: AskedWork
    is_whole: bool


class Loop(NamedTuple):
    """An agent's work on its task.

    Attributes:
        first: number of the source with which it begins.
        newest: its messages that the request holds unchanged.
    """

    first: int
    newest: tuple[Quotable, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, with the parts of the request that matter to it.

    Attributes:
        text: the text of the last user message.
        before: the exchange before it, oldest first; used if the text has no content of its own.
        likeness: for each source, the similarity of its passages to the question (``options.Likeness``); () if unknown.
        work: the work that it requests as a whole, if any.
        behind: the messages between the folded ones and the question, which the request holds unchanged.
        held: sources that the request holds unchanged. They are only quoted again if they update other quotes.
        request: an agent's task, if the text was written by a program; otherwise "".
        standing: messages with rows that stay unchanged between folded ones, with the number of sources before them.
        loop: the folded and unfolded work on the question, if it is an agent's task that is already in progress.
        whole_room: most tokens for quotes that include something needed as a whole: a work, or all rows of an average.
    """

    text: str
    before: tuple[Source, ...] = ()
    likeness: tuple[bytes, ...] = ()
    work: WantedWork | None = None
    behind: tuple[Quotable, ...] = ()
    held: frozenset[int] = frozenset()
    request: str = ""
    whole_room: int = 0
    standing: tuple[tuple[int, Quotable], ...] = ()
    loop: Loop | None = None


@dataclass(frozen=True, slots=True)
class QuestionTerms:
    """A question as weighted terms.

    Attributes:
        groups: groups of equivalent terms: a word's stem in each language.
        weights: the weight of each group.
        text: its words, for grams.
        borrowed: whether it has no content of its own, so that the words come from the previous exchange.
        beside_talk: whether its message also says something else.
        kind_of: for the last groups, which hold things of a kind that a word names: the numbers of these words.
        things: its words that identify one thing in the sources, such as an order number.
    """

    groups: list[list[int]]
    weights: Floats
    text: str
    borrowed: bool
    beside_talk: bool = False
    kind_of: tuple[int, ...] = ()
    things: tuple[str, ...] = ()


def content_words(folded: str) -> list[str]:
    """The content words of a folded text, in order."""
    found = words.words(folded)
    return words.content(found, words.language(set(found)))


def _weighted_words(folded: str, tuning: Tuning) -> dict[str, float]:
    topic = requests.without_cover_words(folded) if requests.asks_for_cover(folded) else without_overall(folded)
    own = dict.fromkeys(content_words(requests.without_asking(topic)) or content_words(topic), 1.0)
    label = re.match(r"\s{0,8}(\w{1,40}):\s", topic)
    if label and label.group(1) in own and len(own) > 1:
        own[label.group(1)] = tuning.label
    return own


def _weighted_signs(folded: str, tuning: Tuning) -> dict[int, float]:
    """The weighted terms of a question in scripts without spaces. Hiragana weighs less: it writes endings and particles, rarely
    names.
    """
    signs = dict.fromkeys(words.run_on_terms(folded).tolist(), 1.0)
    kana = frozenset(words.run_on_terms(" ".join(_HIRAGANA.findall(folded))).tolist())
    return {term: tuning.kana if term in kana else weight for term, weight in signs.items()} if kana else signs


def _without_reporting(weights: dict[str, float], tuning: Tuning) -> dict[str, float]:
    """The words of a question about what people said, with a lower weight for verbs such as "discussed".

    These are rare in conversations and would otherwise weigh most.
    """
    if requests.REPORTING.issuperset(weights):
        return weights
    return {word: weight * tuning.label if word in requests.REPORTING else weight for word, weight in weights.items()}


def normal_text(question: Question) -> str:
    """The question, folded; the agent's task if a program wrote the text. Of long text, only both ends are read, where people
    ask.
    """
    return words.fold(_read(question.request or question.text))


def _read(text: str) -> str:
    return text if len(text) <= 2 * _MOST_READ else f"{text[:_MOST_READ]}\n{text[-_MOST_READ:]}"


class _AskedBeside(NamedTuple):
    """A message's question and the rest of its text, folded.

    Attributes:
        is_preamble: whether the rest was typed with the question, rather than pasted or prepended by a program.
    """

    asking: str
    beside: str = ""
    is_preamble: bool = False


def _parts(question: Question) -> _AskedBeside:
    """A question and the rest of its text. For text written by a program, the question is the agent's task."""
    if not question.request:
        return _asking_lines(question.text)
    return _AskedBeside(words.fold(_read(question.request)), words.fold(_read(question.text)))


def _asking_lines(text: str) -> _AskedBeside:
    """The lines that ask, at the end or else at the beginning; and the other lines.

    Text pasted or prepended to a question says less about its subject than its own words.
    """
    lines = [line for line in _read(text).splitlines() if line.strip()]
    last = len(lines) - sum(1 for _ in takewhile(_asks, reversed(lines)))
    first = sum(1 for _ in takewhile(_asks, lines))
    for asking, others in ((lines[last:], lines[:last]), (lines[:first], lines[first:])):
        if others and has_content(folded := words.fold("\n".join(asking))):
            return _AskedBeside(folded, words.fold("\n".join(others)))
    return _behind_preamble(text) if len(text) <= _PLAIN else _AskedBeside(words.fold(_read(text)))


def _behind_preamble(text: str) -> _AskedBeside:
    """The sentences of a short message that ask, and the rest of it.

    If a long preamble ends with a colon, only the text after it asks.
    """
    said = [text[start:end].strip() for start, end in rough_sentences(text)]
    asking = [one for one in said if one.endswith(QUESTION_MARKS)]
    others = [one for one in said if one not in asking]
    if len(asking) == 1:
        before, _, behind = asking[0].rpartition(": ")
        if len(before.split()) > _TOPIC:
            asking, others = [behind], [*others, before]
    folded = words.fold(" ".join(asking))
    if not others or len(content_words(requests.without_asking(folded))) < _TELLING:
        return _AskedBeside(words.fold(text))
    return _AskedBeside(folded, words.fold(" ".join(others)), is_preamble=True)


def _asks(line: str) -> bool:
    """Whether a line asks, without naming a speaker as transcripts do."""
    asks = line.rstrip().endswith(QUESTION_MARKS) or requests.asks_for_cover(words.fold(line))
    return asks and not SPEAKER_LABEL.match(line)


def has_content(folded: str) -> bool:
    """Whether a folded message has content words.

    Function words of any language are ignored, since a short message does not reveal its language.
    """
    left = requests.without_empty_phrases(folded)
    told = [
        w for w in content_words(left) if w not in requests.EMPTY and w not in requests.POINTERS and not words.is_function_word(w)
    ]
    return bool(told) or len(words.run_on_terms(left)) > 1


def read_question(question: Question, index: PassageIndex, tuning: Tuning) -> QuestionTerms:
    """The question's terms in each of the languages that the sources are in.

    The parts of an identifier that occurs in the sources are no terms: they would match everything that looks similar. Those of a
    speaker's name are.
    """
    folded, beside, is_preamble = _parts(question)
    borrowed = not has_content(normal_text(question))
    weights = _weighted_words(folded, tuning)
    if index.has_speakers:
        weights = _without_reporting(weights, tuning)
    signs = _weighted_signs(folded, tuning)
    earlier = [beside] if beside else []
    if borrowed or (len(weights) <= 3 and _points(words.words(folded), index)):
        earlier += [words.fold(s.text[:_MOST_READ]) for s in question.before[-2:]][::-1]
    own = frozenset(weights) if beside else None
    lent_most = tuning.preamble if is_preamble else tuning.lent_most
    lent = _Lent(1.0, tuning.own_borrowed, None) if borrowed else _Lent(tuning.before, 1.0, lent_most)
    weights, signs = _with_lent(weights, signs, earlier, lent)
    speakers = set(map(words.fold, index.names))
    exact = [w for w in weights if _is_identifier(w) and w not in speakers and _stands_whole(w, index)]
    parts = {part for w in exact for part in words.words(w)} - set(exact)
    kept = [w for w in weights if w not in parts][:_MOST_WORDS]
    kept, groups = _groups(kept, folded, index)
    figures = [weights[w] * _factor(w, tuning, is_known=w in exact) for w in kept]
    taken = list(signs)[:_MOST_SIGNS]
    kinds = _kinds(kept, groups, index)
    return QuestionTerms(
        groups + [[t] for t in taken] + list(kinds.values()),
        np.array(figures + [signs[t] for t in taken] + [tuning.kind * weights[kept[n]] for n in kinds]),
        " ".join(w for w in kept if w not in exact and (own is None or w in own)) or ("" if exact else folded),
        borrowed,
        is_preamble,
        tuple(kinds),
        _things(w for w in words.words(folded) if w in exact) if exact and not borrowed else (),
    )


def _points(said: Sequence[str], index: PassageIndex) -> bool:
    """Whether words refer to something said before. A German article before a noun, as in "den Kirschbaum", does not."""
    pointing = [at for at, word in enumerate(said) if word in requests.POINTERS]
    named = [said[at + 1] for at in pointing if said[at] in requests.ARTICLES and said[at + 1 : at + 2]]
    named = [word for word in named if not words.is_function_word(word) and _stands(word, index)]
    return len(named) < len(pointing)


def _stands(word: str, index: PassageIndex) -> bool:
    terms = {words.stem_table([word], name)[word] for name in index.languages}
    return bool(index.words.having(np.array(sorted(terms), np.uint32)).any())


def _things(exact: Iterable[str]) -> tuple[str, ...]:
    """The identifiers that name one thing. A part of another identifier does not: 7711 in DOCKS-7711."""
    named = [w for w in dict.fromkeys(exact) if names_one_thing(w)]
    parts = {part for w in named for part in words.words(w)[1:]}
    return tuple(w for w in named if w not in parts)


def _kinds(kept: Sequence[str], groups: Sequence[Sequence[int]], index: PassageIndex) -> dict[int, list[int]]:
    """The terms of things of the kind that a word names, by the word's number."""
    own = frozenset(chain.from_iterable(groups))
    found = {n: sorted(kind_terms(word, index.languages) - own) for n, word in enumerate(kept)}
    return {n: terms for n, terms in found.items() if terms}


def _groups(kept: Sequence[str], folded: str, index: PassageIndex) -> tuple[list[str], list[list[int]]]:
    """The content words with their terms.

    They include the terms of a time or date that a word is part of. A word that occurs nowhere gets the terms of words it may be
    a misspelling of.
    """
    by_language = [words.stem_table(kept, name) for name in index.languages]
    found = {word: sorted({terms[word] for terms in by_language}) for word in kept}
    for written in times_and_dates(folded):
        for word in [one for one in words.words(written.text) if one in found][:1]:
            found[word] = sorted({*found[word], *map(words.term, written.words)})
    for word, terms in initials(kept, folded, index):
        found[word] = sorted({*found[word], *terms})
    number = [at for at, word in enumerate(kept) for _ in found[word]]
    every = np.array([term for word in kept for term in found[word]], np.uint32)
    known = sum(field.having(every) for field in (index.words, index.heads, index.speakers))
    having = np.bincount(number, known, len(kept))
    absent = [word for word, count in zip(kept, having.tolist(), strict=True) if not count]
    for word in absent:
        if meant := respelled_terms(word, index):
            found[word] = meant
        elif is_mistyped_function_word(word, index.languages):
            del found[word]
    found = found or {word: [words.term(word)] for word in kept}
    return list(found), list(found.values())


class _Lent(NamedTuple):
    """Weights for words taken from other texts: of each, of the question's own words, and the limit for the former.

    The limit is a multiple of the own words' total weight; None for no limit.
    """

    each: float
    own: float
    most: float | None


def _with_lent(
    weights: dict[str, float], signs: dict[int, float], earlier: Sequence[str], lent: _Lent
) -> tuple[dict[str, float], dict[int, float]]:
    """The weighted words and signs of a question, extended by those of other texts, the nearest first."""
    if not earlier:
        return weights, signs
    lent_words = [w for w in dict.fromkeys(chain.from_iterable(map(content_words, earlier))) if w not in weights]
    said_signs = dict.fromkeys(chain.from_iterable(words.run_on_terms(text).tolist() for text in earlier))
    lent_signs = [t for t in said_signs if t not in signs]
    each = lent.each
    if lent.most is not None:  # a long answer has a hundred words, which must not outweigh the question's own
        each = min(each, lent.most * (sum(weights.values()) + len(signs)) / max(1, len(lent_words) + len(lent_signs)))
    return (
        {w: lent.own * weight for w, weight in weights.items()} | dict.fromkeys(lent_words, each),
        dict.fromkeys(signs, lent.own) | dict.fromkeys(lent_signs, each),
    )


# A capitalized word within a sentence; in German any noun is capitalized.
_NAME: Final = lazy.pattern(r"(?<=[^\s.!?:] )[^\W\d_a-z][\w’'-]+")


def names_unknown(text: str, index: PassageIndex) -> bool:
    """Whether a message names somebody or something that was not mentioned before."""
    if words.language(words.words(words.fold(text))) == "german":
        return False
    capital = [words.words(words.fold(name)) for name in _NAME.findall(text) if name[0].isupper()]
    named = [found[0] for found in capital if found and not words.is_function_word(found[0])]
    by_language = [words.stem_table(set(named), name) for name in index.languages]
    terms = [sorted({stems[name] for stems in by_language}) for name in named]
    return any(not index.words.having(np.array(of_one, np.uint32)).any() for of_one in terms)


def _stands_whole(word: str, index: PassageIndex) -> bool:
    return bool(index.words.having(np.array([words.term(word)], np.uint32))[0])


def _factor(word: str, tuning: Tuning, *, is_known: bool) -> float:
    """The weight factor of a word: higher for identifiers, most of all for a known one that names one thing."""
    if is_known and names_one_thing(word):
        return tuning.exact
    return tuning.identifier if _is_identifier(word) else 1.0


def _is_identifier(word: str) -> bool:
    return not word.isalpha() and (any(c.isdigit() for c in word) or "_" in word)
