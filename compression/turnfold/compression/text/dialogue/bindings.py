"""Statements that bind advice without being named: whoever asks for a dessert need not repeat an intolerance.

This module tells whether a message asks for advice on something that such statements bind, and finds the sentences that state it.
They are quoted in ``recall.bound``; single words are in ``lexicon/bindings.txt``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.lower import MARKS, lower_text
from turnfold.compression.text.sentences import rough_sentences
from turnfold.compression.text.spans import QUESTION_MARKS

_NAME: Final = "bindings"
_TABLE: Final = lexicon(_NAME)
_LONGEST: Final = 240  # characters of a sentence that states a restriction
_LONGEST_READ: Final = 2400  # of a message
#: Topics of advice.
_TOPICS: Final = tuple(
    section.removesuffix(" about") for section in _TABLE if section.endswith(" about") and "run-on" not in section
)


def _pattern(section: str) -> re.Pattern[str]:
    """A pattern for any phrase of a section, including those in scripts without spaces."""
    spaced = rf"(?<![\w{MARKS}])(?:{one_of(_NAME, section)})(?![\w{MARKS}])"
    return lazy.pattern(rf"{spaced}|{one_of(_NAME, f'run-on {section}')}")


_ADVICE: Final = _pattern("advice")
_BEGINS: Final = lazy.pattern(
    rf"(?:\A\W*+|\b(?=\W*?[.!?,:]\s)\W++)"
    rf"(?:(?:please|bitte|por favor|now|then|ok|okay)\W+)?(?:{_pattern('advice begins').pattern})"
)
_GIVEN: Final = _pattern("advice given")
_ABOUT: Final = {topic: _pattern(f"{topic} about") for topic in _TOPICS}
_BINDS: Final = {topic: _pattern(f"{topic} binds") for topic in _TOPICS}
_ANY: Final = lazy.pattern("|".join(pattern.pattern for pattern in _BINDS.values()))


class Binding(NamedTuple):
    """A sentence that restricts advice on some topics, and its range."""

    topics: frozenset[str]
    start: int
    end: int


def advised_topics(text: str) -> frozenset[str]:
    """The topics on which a message asks for advice; empty if it asks for none."""
    lowered = lower_text(text)
    if not (_ADVICE.search(lowered) or _BEGINS.search(lowered)) or _GIVEN.search(lowered):
        return frozenset()
    return frozenset(topic for topic, pattern in _ABOUT.items() if pattern.search(lowered))


def bindings(text: str) -> tuple[Binding, ...]:
    """The sentences of a user's message that restrict advice."""
    return tuple(_bindings(text)) if len(text) <= _LONGEST_READ else ()


def _bindings(text: str) -> Iterator[Binding]:
    lowered = lower_text(text)
    if not _ANY.search(lowered):
        return
    for start, end in rough_sentences(text):
        said = lower_text(text[start:end])
        if end - start <= _LONGEST and not said.rstrip().endswith(QUESTION_MARKS):
            topics = frozenset(topic for topic, pattern in _BINDS.items() if pattern.search(said))
            if topics:
                yield Binding(topics, start, end)
