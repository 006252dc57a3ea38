"""Messages that withdraw something by its name: "let's drop Celery", "forget what I said about Hakone".

Lives here: which message takes back what which said. Does not belong here: values that are told anew (``renewals``), the words
themselves (``lexicon/renewals.txt``).

A clause with a word of withdrawal ("drop", "no longer", "instead of"), or one that denies a thing where another is put in its
place ("not the Ryanair one, but"), names what is taken back. Of the words in it the one that the fewest earlier messages have
tells which of these it is about; a word that many have tells nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import Final, NamedTuple

from turnfold.compression.text.dialogue.self_statements import changes
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.lower import joined_words, lower_text
from turnfold.compression.text.quotes import Quotable
from turnfold.compression.text.words import is_function_word

_LONGEST: Final = 240  # characters of a message that takes something back
_LONGEST_TOLD: Final = 600  # and of one that named it
_RARE: Final = 4  # messages that may name it at most
_STEM: Final = 6  # letters by which two forms of a word are the same
_SHORTEST: Final = 3
_ENDING: Final = 2  # letters that a form may have more
_TABLE: Final = lexicon("renewals")
_CONTRAST: Final = _TABLE["contrast"]
_SIGNS: Final = r".,;:!?\n…，。；：！？،؛।"
_CLAUSE: Final = re.compile(rf"[^{_SIGNS}]+")
_one_of: Final = partial(one_of, "renewals")
_WITHDRAWS: Final = re.compile(rf"(?<!\w)(?:{_one_of('withdrawn')})(?!\w)|{_one_of('run-on withdrawn')}")
_RUN_ON: Final = re.compile(_one_of("run-on withdrawn"))
# "Don't forget the towels" takes nothing back.
_KEEPS: Final = re.compile(rf"(?<!\w)(?:don't|do not|never|{_one_of('not')}) (?:{_one_of('withdrawn')})(?!\w)")
# "Not the green one" where a clause begins, or "not the green one, but": "I'm not sure" and "no wonder" deny nothing.
_BUT: Final = (
    r"(?!(?:just|only|much|many|yet|really|sure|too|bad"
    r"|nur|seulement|solo|sólo|só|apenas|soltanto|alleen|только|тільки|tylko|bara)\b)"
)
_DENIES: Final = re.compile(
    rf"(?:^|[{_SIGNS}—]\s*)(?:(?:{_one_of('contrast')}) )?(?!no )(?:{_one_of('not')}) {_BUT}(?P<first>[^{_SIGNS}]+)"
    rf"|(?<!\w)(?:{_one_of('not')}) {_BUT}(?P<parted>[^{_SIGNS}]{{1,40}}), ?(?:{_one_of('contrast')})(?!\w)"
)
#: One of these words is in every message that takes something back, but for scripts without blanks: of a phrase the longest.
_CUES: Final = frozenset(max(phrase.split("_"), key=len).split("'")[0] for phrase in _TABLE["withdrawn"])
_NOT: Final = frozenset(phrase.split("_")[0] for phrase in _TABLE["not"])
_RUN: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{2,}")
_HANGUL: Final = re.compile(r"[\uac00-\ud7af]{2,}")


class SaidTexts(NamedTuple):
    """What the first messages say that are short, a line for each, empty for a longer one; where the lines begin, and the last
    one ends."""

    text: str
    starts: Sequence[int]

    def first(self, number: int) -> SaidTexts:
        """The same of so many messages, or of those that it has."""
        if number >= len(self.starts) - 1:
            return self
        return SaidTexts(self.text[: self.starts[number]], self.starts[: number + 1])

    def up_to(self, number: int, sources: Sequence[Quotable]) -> SaidTexts:
        """The same of at least so many messages; `sources` are all."""
        known = len(self.starts) - 1
        if known >= number:
            return self
        lines = [lower_text(one.text).replace("\n", " ") + "\n" if _is_said(one) else "\n" for one in sources[known:number]]
        starts = accumulate(map(len, lines), initial=self.starts[-1])
        return SaidTexts(self.text + "".join(lines), [*self.starts[:-1], *starts])

    def weight(self) -> int:
        """About how many bytes it takes."""
        return len(self.text) + 36 * len(self.starts)


NOTHING_SAID: Final = SaidTexts("", (0,))


def _is_said(source: Quotable) -> bool:
    return source.role in ("user", "assistant") and len(source.text) <= _LONGEST_TOLD


def withdrawn(low: str, said: Sequence[str]) -> tuple[str, ...]:
    """The words for what a lowered message takes back, `said` being its words."""
    if len(low) > _LONGEST:
        return ()
    found: dict[str, None] = {}
    if (not _CUES.isdisjoint(said) or (not low.isascii() and _RUN_ON.search(low))) and not _KEEPS.search(low):
        for clause in _CLAUSE.findall(low):
            if _WITHDRAWS.search(clause):
                found |= dict.fromkeys(_things(_WITHDRAWS.sub(" ", clause)))
    if not _NOT.isdisjoint(said) and (changes(said) or not _CONTRAST.isdisjoint(said)):
        for denied in _DENIES.finditer(low):
            found |= dict.fromkeys(_things(denied["first"] or denied["parted"]))
    return tuple(found)


def _things(clause: str) -> Iterator[str]:
    """The words of a clause that may name a thing, as far as all forms of them begin."""
    for run in _RUN.findall(clause):
        yield from (run[i : i + 2] for i in range(len(run) - 1))
    yield from (run[:2] for run in _HANGUL.findall(clause))
    for word in joined_words(clause):
        if len(word) >= _SHORTEST and not is_function_word(word) and not _RUN.match(word) and not _HANGUL.match(word):
            yield word[:_STEM]


def naming(named: Sequence[str], newer: int, said: SaidTexts) -> list[tuple[int, int]]:
    """The messages before one that have the rarest of the words, and where in them it stands."""
    places = [place for word in named if 0 < len(place := _places(word, *said, newer)) <= _RARE]
    return sorted(min(places, key=len, default={}).items())


def _places(word: str, told: str, starts: Sequence[int], newer: int) -> dict[int, int]:
    """The first place of a word in each of the messages before one that have it; of more than a few nothing more is asked."""
    found: dict[int, int] = {}
    message, at, end = 0, told.find(word, 0, starts[newer]), starts[newer]
    while at >= 0 and len(found) <= _RARE:
        while starts[message + 1] <= at:
            message += 1
        if _is_word(word, told, at):
            found[message] = at - starts[message]
            at = told.find(word, starts[message + 1], end)
        else:
            at = told.find(word, at + 1, end)
    return found


def _is_word(word: str, told: str, at: int) -> bool:
    """Whether a form of a word begins at a place; in scripts without blanks it may begin anywhere."""
    if word[0] >= "\u3040":
        return True
    if at and (told[at - 1].isalnum() or told[at - 1] == "_"):
        return False
    end = at + len(word)
    return len(word) >= _STEM or not told[end : end + _ENDING + 1].isalpha() or len(told[end : end + _ENDING + 1]) <= _ENDING
