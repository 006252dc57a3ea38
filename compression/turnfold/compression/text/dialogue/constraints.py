"""What must not be done, or must stay so, told without a command: "no file outside src may change", "hands off the migrations".

Lives here: recognising such a sentence by its form. Does not belong here: commands and words of rule ("never sign": ``orders``),
the words themselves (``lexicon/constraints.txt``).

Who hands work to an agent limits it in such sentences, and every later step is bound by them. The forms, each in the words of one
language: none of something may (be done), or is done before I; something must not; leave something alone; ask me before you;
everything must be; no new dependencies; phrases that limit wherever they stand ("without my approval"). A sentence about what
somebody or something did is none: its subject is a pronoun, or its verb has no modal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.lower import lower_text, words

_LANGUAGES: Final = ("en", "de", "fr", "es", "it", "pt", "nl")
_TABLE: Final = lexicon("constraints")
_LONGEST: Final = 240  # characters of a sentence that is read
_ASKS: Final = re.compile(r"[?？؟]\s*\Z")
_JOINING: Final = "(?:and|but|also|please|und|aber|auch|bitte|et|mais|y|pero|e|ma|mas|en|maar)"
_START: Final = rf"(?:\A|[,;:.]\s+|[-–—]\s+)\W*(?:{_JOINING}\W+){{0,2}}"
_BETWEEN: Final = r"[^\w,;?!'./*-]+"  # no sign of a word, so that each text can be read in one way only
_GAP: Final = rf"(?:{_BETWEEN}[\w'./*-]+){{0,9}}?{_BETWEEN}"


def _pattern(language: str) -> str:
    """The forms in one language."""

    def some(part: str) -> str:
        section = f"{language} {part}"
        return f"(?:{one_of('constraints', section)})" if section in _TABLE else r"(?!)"

    subject = rf"(?!{some('narrators')}\b)"
    forms = (
        rf"{_START}{some('none')}{_GAP}{some('may')}\b",
        rf"{_START}{some('none')}{_BETWEEN}{some('may')}\b",
        rf"{_START}{some('none')}{_GAP}{some('unless')}\b",
        rf"{_START}{subject}\w+(?:{_GAP}){some('must not')}\b(?!\W+{some('idle')}\b)",
        rf"{_START}{some('open')}{_GAP}{some('close')}\b",
        rf"{_START}{subject}\w+{_GAP}{some('open')},?\s+{some('close')}\b",
        rf"{_START}{some('first')}{_GAP}{some('before')}\b",
        rf"{_START}{some('first')}\s+{some('before')}\b",
        rf"{_START}{some('every')}{_GAP}{some('must')}\b",
        rf"{_START}{some('only')}\b",
        rf"{_START}(?:{some('bare')}(?:\W+\w+)?|no)\W+{some('thing')}(?=\s*(?:[.,;:!()]|\Z)|\W+{some('behind')}\b)",
        rf"\b{some('phrase')}\b",
    )
    return "|".join(forms)


_FORMS: Final = re.compile("|".join(_pattern(language) for language in _LANGUAGES))


def _cues() -> frozenset[str]:
    """Words of which every constraint has one: of each phrase that no form does without, the longest word."""
    needed = ("none", "must not", "close", "phrase", "before", "every", "only", "bare")
    phrases = frozenset().union(*(_TABLE.get(f"{language} {part}", frozenset()) for language in _LANGUAGES for part in needed))
    return frozenset(max(re.split(r"[_'-]", phrase), key=lambda word: (len(word), word)) for phrase in phrases) | {"no"}


#: Without one of these no sentence is a constraint.
CONSTRAINT_CUES: Final = _cues()


def is_constraint(sentence: str, known: Sequence[str] | None = None) -> bool:
    """Whether a sentence limits what may be done.

    `known` are its words (``words(lower_text(sentence))``) where the caller has them already.
    """
    if len(sentence) > _LONGEST or _ASKS.search(sentence):
        return False
    low = lower_text(sentence)
    if CONSTRAINT_CUES.isdisjoint(words(low) if known is None else known):
        return False
    return _FORMS.search(low) is not None
