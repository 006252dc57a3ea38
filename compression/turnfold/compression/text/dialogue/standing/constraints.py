"""Constraints stated without a command: "no file outside src may change", "hands off the migrations".

This module recognises such a sentence by its form. Commands and words of rule ("never sign") are in ``orders``, the words
themselves in ``lexicon/constraints.txt``.

People who hand work to an agent limit it in such sentences, and every later step is bound by them. The forms, each in the words
of one language: none of something may (be done), or is done before I; something must not; leave something alone; ask me before
you; everything must be; no new dependencies; phrases that limit wherever they stand ("without my approval"). A sentence about
what somebody or something did is not one: its subject is a pronoun, or its verb has no modal.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.lower import lower_text, words
from turnfold.compression.text.spans import QUESTION_MARKS

_LANGUAGES: Final = ("en", "de", "fr", "es", "it", "pt", "nl")
_TABLE: Final = lexicon("constraints")
_PARTS: Final = tuple(dict.fromkeys(section.partition(" ")[2] for section in sorted(_TABLE) if section))
_LONGEST: Final = 240  # characters of a sentence that is read
_SLOT: Final = lazy.pattern(r"\{([a-z ]+)\}")  # in a form: where words of a part of the table stand
_JOINING: Final = "(?:and|but|also|please|und|aber|auch|bitte|et|mais|y|pero|e|ma|mas|en|maar)"
_START: Final = rf"(?:\A|[,;:.]\s+|[-–—]\s+)\W*(?:{_JOINING}\W+){{0,2}}"
_BETWEEN: Final = r"[^\w,;?!'./*-]+"  # contains no word characters, so that each text matches in only one way
_GAP: Final = rf"(?:{_BETWEEN}[\w'./*-]+){{0,9}}?{_BETWEEN}"

_COMMON: Final = frozenset({"there"})  # words of phrases that many sentences have: another one tells more


class _Form(NamedTuple):
    """A form in one language, and the sets of words of which a matching sentence has one each."""

    pattern: re.Pattern[str]
    needed: tuple[frozenset[str], ...]


def _forms(language: str) -> Iterator[_Form]:
    """The forms in one language; the rarest of the words that each needs come first."""
    sections = {part: _TABLE[f"{language} {part}"] for part in _PARTS if f"{language} {part}" in _TABLE}
    some = {part: f"(?:{one_of('constraints', f'{language} {part}')})" for part in sections} | {"no": "no"}
    subject = rf"(?!{some['narrators']}\b)\w+"
    idle = rf"(?!\W+{some['idle']}\b)" if "idle" in sections else ""
    behind = rf"|\W+{some['behind']}\b" if "behind" in sections else ""
    shapes: tuple[tuple[tuple[str, ...], str], ...] = (
        (("none", "may"), rf"{_START}{{none}}{_GAP}{{may}}\b"),
        (("none", "unless"), rf"{_START}{{none}}{_GAP}{{unless}}\b"),
        (("must not",), rf"{_START}{subject}{_GAP}{{must not}}\b{idle}"),
        (("close", "open"), rf"{_START}(?:{{open}}{_GAP}|{subject}{_GAP}{{open}},?\s+){{close}}\b"),
        (("before", "first"), rf"{_START}{{first}}{_GAP}{{before}}\b"),
        (("every", "must"), rf"{_START}{{every}}{_GAP}{{must}}\b"),
        (("only",), rf"{_START}{{only}}\b"),
        (("bare", "thing"), rf"{_START}{{bare}}(?:\W+\w+)?\W+{{thing}}(?=\s*(?:[.,;:!()]|\Z){behind})"),
        (("no", "thing"), rf"{_START}no\W+{{thing}}(?=\s*(?:[.,;:!()]|\Z){behind})"),
        (("phrase",), r"\b{phrase}\b"),
    )
    words_of = {part: frozenset(map(_longest_word, phrases)) for part, phrases in sections.items()} | {"no": frozenset({"no"})}
    for parts, shape in shapes:
        if all(part in some for part in parts):
            filled = _SLOT.sub(lambda slot: some[slot[1]], shape)
            yield _Form(lazy.pattern(filled), tuple(words_of[part] for part in parts))


def _longest_word(phrase: str) -> str:
    return max(words(phrase.replace("_", " ")), key=lambda word: (word not in _COMMON, len(word), word))


def _by_cue() -> dict[str, tuple[_Form, ...]]:
    """The forms by the words of which every matching sentence has one."""
    found: dict[str, tuple[_Form, ...]] = {}
    for form in chain.from_iterable(map(_forms, _LANGUAGES)):
        for word in sorted(form.needed[0]):
            found[word] = (*found.get(word, ()), form)
    return found


_BY_CUE: Final = _by_cue()
#: For each form, the sets of words of which a matching sentence has one each.
FORM_WORDS: Final = tuple(dict.fromkeys(form.needed for forms in _BY_CUE.values() for form in forms))
#: Every constraint contains one of these words.
CONSTRAINT_CUES: Final = frozenset(_BY_CUE)


def is_constraint(sentence: str, known: Sequence[str] | None = None) -> bool:
    """Whether a sentence limits what may be done.

    `known` are its words (``words(lower_text(sentence))``), if the caller has them already.
    """
    if len(sentence) > _LONGEST or sentence.rstrip().endswith(QUESTION_MARKS):
        return False
    likely = _likely(words(lower_text(sentence)) if known is None else known)
    if not likely:
        return False
    low = lower_text(sentence)
    return any(form.pattern.search(low) for form in likely)


def may_constrain(said: Collection[str]) -> bool:
    """Whether a sentence with some of these words may be a constraint; False is certain."""
    return bool(_likely(said))


def _likely(said: Collection[str]) -> list[_Form]:
    """The forms of which there is a word of each kind."""
    cues = CONSTRAINT_CUES.intersection(said)
    return [form for cue in cues for form in _BY_CUE[cue] if not any(needed.isdisjoint(said) for needed in form.needed[1:])]
