"""Messages that withdraw something by its name: "let's drop Celery", "forget what I said about Hakone".

This module finds the message that takes back something, and what it takes back. Values that are stated anew are in ``updates``,
the words themselves in ``lexicon/updates.txt``.

A clause with a word of withdrawal ("drop", "no longer", "instead of"), or one that denies a thing and puts another in its place
("not the Ryanair one, but"), names what is taken back. Of its words, the one in the fewest earlier messages shows which of these
it is about; a word in many of them shows nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text.dialogue.self_statements import changes
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.lower import joined_words, lower_text
from turnfold.compression.text.quotes import Quotable
from turnfold.compression.text.words import is_function_word

_LONGEST: Final = 240  # characters of a message that retracts something
_LONGEST_TOLD: Final = 600  # characters of a message that named it
_RARE: Final = 4  # messages that may name it at most
_STEM: Final = 6  # letters by which two forms of a word are considered equal
_SHORTEST: Final = 3
_ENDING: Final = 2  # additional letters of a form
_TABLE: Final = lexicon("updates")
_CONTRAST: Final = _TABLE["contrast"]
_SIGNS: Final = r".,;:!?\n…，。；：！？،؛।"
_CLAUSE: Final = lazy.pattern(rf"[^{_SIGNS}]+")
_one_of: Final = partial(one_of, "updates")
_WITHDRAWS: Final = lazy.pattern(rf"(?<!\w)(?:{_one_of('withdrawn')})(?!\w)|{_one_of('run-on withdrawn')}")
_RUN_ON: Final = lazy.pattern(_one_of("run-on withdrawn"))
# "Don't forget the towels" retracts nothing.
_KEEPS: Final = lazy.pattern(rf"(?<!\w)(?:don't|do not|never|{_one_of('not')}) (?:{_one_of('withdrawn')})(?!\w)")
# "Not the green one" where a clause begins, or "not the green one, but": "I'm not sure" and "no wonder" deny nothing.
_BUT: Final = (
    r"(?!(?:just|only|much|many|yet|really|sure|too|bad"
    r"|nur|seulement|solo|sólo|só|apenas|soltanto|alleen|только|тільки|tylko|bara)\b)"
)
_DENIES: Final = lazy.pattern(
    rf"(?:^|[{_SIGNS}—]\s*)(?:(?:{_one_of('contrast')}) )?(?!no )(?:{_one_of('not')}) {_BUT}(?P<first>[^{_SIGNS}]+)"
    rf"|(?<!\w)(?:{_one_of('not')}) {_BUT}(?P<parted>[^{_SIGNS}]{{1,40}}), ?(?:{_one_of('contrast')})(?!\w)"
)
#: In scripts with spaces, every message that retracts something contains one of these: the longest word of each phrase.
_CUES: Final = frozenset(max(phrase.split("_"), key=len).split("'")[0] for phrase in _TABLE["withdrawn"])
_NOT: Final = frozenset(phrase.split("_")[0] for phrase in _TABLE["not"])
_RUN: Final = lazy.pattern(r"[\u3040-\u30ff\u3400-\u9fff]{2,}")
_HANGUL: Final = lazy.pattern(r"[\uac00-\ud7af]{2,}")


class SaidTexts(NamedTuple):
    """What the first messages say that are short, a line for each, empty for a longer one; where the lines begin, and the last
    one ends."""

    text: str
    starts: Sequence[int]

    def first(self, number: int) -> SaidTexts:
        """The same for the first `number` messages, or all if there are fewer."""
        if number >= len(self.starts) - 1:
            return self
        return SaidTexts(self.text[: self.starts[number]], self.starts[: number + 1])

    def up_to(self, number: int, sources: Sequence[Quotable]) -> SaidTexts:
        """The same for at least `number` messages; `sources` are all messages."""
        known = len(self.starts) - 1
        if known >= number:
            return self
        lines = [lower_text(one.text).replace("\n", " ") + "\n" if _is_spoken(one) else "\n" for one in sources[known:number]]
        starts = accumulate(map(len, lines), initial=self.starts[-1])
        return SaidTexts(self.text + "".join(lines), [*self.starts[:-1], *starts])

    def weight(self) -> int:
        """Approximate size in bytes."""
        return len(self.text) + 36 * len(self.starts)


NOTHING_SAID: Final = SaidTexts("", (0,))


def _is_spoken(source: Quotable) -> bool:
    return source.role in ("user", "assistant") and len(source.text) <= _LONGEST_TOLD


def withdrawn(low: str, said: Sequence[str]) -> tuple[str, ...]:
    """The words for things that a lower-case message retracts; `said` are its words."""
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
    """The words of a clause that may name a thing, cut to the part that all their forms share."""
    for run in _RUN.findall(clause):
        yield from (run[i : i + 2] for i in range(len(run) - 1))
    yield from (run[:2] for run in _HANGUL.findall(clause))
    for word in joined_words(clause):
        if len(word) >= _SHORTEST and not is_function_word(word) and not _RUN.match(word) and not _HANGUL.match(word):
            yield word[:_STEM]


def naming(named: Sequence[str], newer: int, said: SaidTexts) -> list[tuple[int, int]]:
    """The earlier messages with the rarest of the words, and its position in each."""
    places = [place for word in named if 0 < len(place := _places(word, *said, newer)) <= _RARE]
    return sorted(min(places, key=len, default={}).items())


def _places(word: str, texts: str, starts: Sequence[int], newer: int) -> dict[int, int]:
    """The first position of a word in each earlier message that has it. If these are more than a few, the search stops."""
    found: dict[int, int] = {}
    message, at, end = 0, texts.find(word, 0, starts[newer]), starts[newer]
    while at >= 0 and len(found) <= _RARE:
        while starts[message + 1] <= at:
            message += 1
        if _is_word(word, texts, at):
            found[message] = at - starts[message]
            at = texts.find(word, starts[message + 1], end)
        else:
            at = texts.find(word, at + 1, end)
    return found


def _is_word(word: str, texts: str, at: int) -> bool:
    """Whether a form of a word begins at a position; in scripts without spaces, any position will do."""
    if word[0] >= "\u3040":
        return True
    if at and (texts[at - 1].isalnum() or texts[at - 1] == "_"):
        return False
    end = at + len(word)
    return len(word) >= _STEM or not texts[end : end + _ENDING + 1].isalpha() or len(texts[end : end + _ENDING + 1]) <= _ENDING
