"""The words and phrases of standing orders, by language.

The lists are in ``lexicon/orders.txt``. This module reads them into one table for each language that puts blanks between words,
and into the sets of words that let most sentences skip a closer look. What makes an order is decided in ``orders``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.dialogue.standing.constraints import CONSTRAINT_CUES
from turnfold.compression.text.dialogue.standing.manner import MANNER_CUES
from turnfold.compression.text.lexicon import lexicon

Phrases = Mapping[str, tuple[tuple[str, ...], ...]]
_PARTS: Final = (
    "please",
    "aside",
    "always",
    "bound",
    "not",
    "fill",
    "future",
    "someday",
    "when",
    "must",
    "told",
    "ensure",
    "narrators",
    "talk",
    "scope",
    "place",
    "against",
)
_NEEDED: Final = ("always", "bound", "not", "future", "someday", "when", "told", "ensure", "place")
_JOINED: Final = ("n'", "l'", "d'", "qu'", "s'")
_ACCENTS: Final = lazy.pattern("[\u0300-\u0303\u0327]")
_LONGEST_ENDING: Final = 5
_SURE: Final = 4  # letters from which a word is recognised by its form without accents
_COMMON: Final = frozenset({"from", "make", "von"})  # words of phrases that many sentences have: another one tells more


@dataclass(frozen=True, slots=True)
class OrderLanguage:
    """The table of one language.

    Contains phrases by part, verb stems with their endings, words at the start of a clause that is no plain command, words of
    which every order has at least one, and infinitives that order at the end of a clause.
    """

    parts: Mapping[str, Phrases]
    stems: Mapping[str, frozenset[str]]
    last: frozenset[str]
    openers: frozenset[str]
    triggers: frozenset[str]
    not_verbs: tuple[str, ...]
    infinitives: frozenset[str]
    prefixes: tuple[str, ...]

    def at(self, part: str, said: Sequence[str], i: int) -> int:
        """Number of words of the longest phrase of a part at `i`; 0 for none."""
        longest = 0
        for phrase in self.parts[part].get(said[i], ()) if i < len(said) else ():
            size = len(phrase)
            if size > longest and (size == 1 or tuple(said[i : i + size]) == phrase):
                longest = size
        return longest

    def has(self, part: str, said: Sequence[str], start: int = 0, end: int | None = None) -> bool:
        """Whether a phrase of a part begins in a range of words."""
        listed = self.parts[part]
        if listed.keys().isdisjoint(said):
            return False
        stop = len(said) if end is None else min(end, len(said))
        return any(said[i] in listed and self.at(part, said, i) for i in range(start, stop))

    def past(self, part: str, said: Sequence[str], i: int) -> int:
        """The end of consecutive phrases of a part that begin at `i`."""
        while step := self.at(part, said, i):
            i += step
        return i

    def commands(self, said: Sequence[str], i: int) -> bool:
        """Whether there is an imperative verb at `i`."""
        return i < len(said) and is_form(said[i], self.stems)

    def ends_with_command(self, said: Sequence[str]) -> bool:
        """Whether the last word is an infinitive in a language that uses it for orders ("nie auf main pushen"). It may have a
        prefix ("vorschlagen").
        """
        last = said[-1]
        return last in self.infinitives or any(last.removeprefix(one) in self.infinitives for one in self.prefixes)

    def may_command(self, said: Sequence[str], i: int) -> bool:
        """Whether the word at `i` may be an imperative. In languages without such a form, that is any word except those with
        certain endings.
        """
        return bool(self.not_verbs) and i < len(said) and not said[i].endswith(self.not_verbs)


def is_form(word: str, stems: Mapping[str, frozenset[str]]) -> bool:
    """Whether a word is one of the stems plus one of its endings."""
    cuts = range(max(1, len(word) - _LONGEST_ENDING), len(word) + 1)
    return True in [word[cut:] in stems.get(word[:cut], ()) for cut in cuts]  # no generator, since many words are tested


def without_accents(text: str) -> str:
    """The text without accents that people often omit; separate letters (й, ü, ö) are kept."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))


def _split(phrase: str) -> tuple[str, ...]:
    return tuple(part for word in phrase.split("_") for part in split_elision(word))


def split_elision(word: str) -> Iterable[str]:
    """Splits elided French and Italian words: ``n'utilise`` is two words."""
    for small in _JOINED if "'" in word else ():
        if word.startswith(small) and len(word) > len(small):
            return (small, word[len(small) :])
    return (word,)


def _phrases(listed: Iterable[str]) -> Phrases:
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    for phrase in sorted(listed):
        said = _split(without_accents(phrase))
        found[said[0]] = (*found.get(said[0], ()), said)
    return found


def _language(table: Mapping[str, frozenset[str]], name: str) -> OrderLanguage:
    def of(part: str) -> frozenset[str]:
        return table.get(f"{name} {part}", frozenset())

    endings = frozenset("" if ending == "-" else without_accents(ending) for ending in of("endings"))
    stems = {without_accents(stem): endings for stem in of("stems")}
    for verb in map(without_accents, of("verbs")):
        stems[verb] = stems.get(verb, frozenset()) | {""}
    parts = {part: _phrases(of(part)) for part in _PARTS}
    needed = [phrase for part in _NEEDED for phrase in of(part)]
    rarest = {
        max(form.split("_"), key=lambda word: (word not in _COMMON, len(word)))
        for phrase in needed
        for form in (phrase, without_accents(phrase))
    }
    last = frozenset(map(without_accents, of("last")))
    openers = frozenset(word for part in ("talk", "ensure", "always", "not") for word in parts[part])
    triggers = frozenset(rarest | {_split(word)[-1] for word in rarest})
    prefixes = tuple(sorted(of("prefixes")))
    listed = of("stems") | of("infinitives") if prefixes else ()
    infinitives = frozenset(without_accents(stem) + ending for stem in listed for ending in ("en", "n"))
    return OrderLanguage(parts, stems, last, openers, triggers, tuple(sorted(of("not-verbs"))), infinitives, prefixes)


ORDER_TABLE: Final = lexicon("orders")
_LANGUAGES: Final = ("en", "de", "fr", "es", "pt", "it", "nl", "sv", "da", "ru", "uk", "pl", "cs", "tr")
SPACED: Final = tuple(_language(ORDER_TABLE, name) for name in _LANGUAGES)
# Verbs of all languages, and words that may precede the verb at the start of a sentence.
VERBS: Final = {
    stem: frozenset().union(*(one.stems.get(stem, ()) for one in SPACED)) for language in SPACED for stem in language.stems
}
BEFORE_VERBS: Final = frozenset(word for one in SPACED for part in ("please", "not") for word in one.parts[part])
# Also with accents: without its accent, "só" would be a word in half of all English sentences.
_WRITTEN: Final = frozenset(word for section, phrases in ORDER_TABLE.items() for p in phrases for word in p.split("_") if section)
#: In scripts with spaces, every order contains one of these, or a word that begins with "n'".
ORDER_CUES: Final = (MANNER_CUES | CONSTRAINT_CUES).union(
    word for one in SPACED for word in one.triggers if word in _WRITTEN or len(word) >= _SURE
)
RULE_CUES: Final = ORDER_CUES - MANNER_CUES | {
    word for word in MANNER_CUES if word in CONSTRAINT_CUES or any(word in one.triggers for one in SPACED)
}


def _by_longest_word(parts: Iterable[str]) -> Mapping[str, Sequence[frozenset[str]]]:
    """The phrases of some parts in all languages, as sets of words, by their longest word."""
    found: dict[str, list[frozenset[str]]] = {}
    for phrases in (one.parts[part] for one in SPACED for part in parts):
        for phrase in (phrase for listed in phrases.values() for phrase in listed):
            found.setdefault(max(phrase, key=len), []).append(frozenset(phrase))
    return found


#: Phrases that can make a sentence an order even if it begins with no command.
LEADING: Final = _by_longest_word([*(part for part in _NEEDED if part != "bound"), "must", "aside"])
LEADING_WORDS: Final = frozenset(LEADING)


def _by_trigger() -> Mapping[str, Sequence[int]]:
    """The numbers of languages by the words of which an order in them has one."""
    found: dict[str, list[int]] = {}
    for number, one in enumerate(SPACED):
        for word in sorted(one.triggers):
            found.setdefault(word, []).append(number)
    return found


BY_TRIGGER: Final = _by_trigger()
#: Words that can make a sentence an order at its end.
LAST_WORDS: Final = frozenset().union(*(one.last for one in SPACED))
