"""Phrases that mark a sentence's relation to its neighbours (``lexicon/ties.txt``).

Lives here: the lists, and which of the rare ones may stand in a text. Does not belong here: what a phrase says of a sentence
(``pieces``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from turnfold.compression.text.lexicon import lexicon

_TIES: Final = lexicon("ties")


def _phrases(section: str) -> dict[str, tuple[tuple[str, ...], ...]]:
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    for phrase in sorted(_TIES[section]):
        parts = tuple(phrase.split("_"))
        found[parts[0]] = (*found.get(parts[0], ()), parts)
    return found


LISTED: Final = {
    name: _phrases(name)
    for name in (
        *("restricts", "follows", "answers", "back", "ahead", "supposes", "counts", "points", "conditions"),
        *("ordinals", "objects", "pronouns", "persons", "sweeping", "verdicts", "retracts"),
        *("amends", "revokes", "limits", "doubted-later", "frames", "narrows", "skips", "requires", "limiting"),
    )
}
_USUAL: Final = frozenset({"that", "this", "these", "they", "she", "or"})
#: Words of which a verdict has one.
SWEEPING: Final = frozenset(LISTED["sweeping"])


def _by_telling_word(names: Iterable[str]) -> dict[str, list[tuple[str, str, frozenset[str]]]]:
    """The phrases of some lists, each with its list and its words, by a word of theirs that few sentences have."""
    found: dict[str, list[tuple[str, str, frozenset[str]]]] = {}
    for name in names:
        for phrase in (phrase for phrases in LISTED[name].values() for phrase in phrases):
            telling = max(phrase, key=lambda word: (word not in _USUAL, len(word)))
            found.setdefault(telling, []).append((name, f" {' '.join(phrase)} ", frozenset(phrase)))
    return found


#: Lists of which most texts have nothing.
RARE: Final = ("back", "ahead", "verdicts", "retracts", "revokes", "frames", "requires")
#: Their phrases, by a word of each.
RARE_PHRASES: Final = _by_telling_word(RARE)
#: Words of which each of their phrases has one.
RARE_WORDS: Final = frozenset(RARE_PHRASES)
#: Lists that no sentence is asked for at its beginning alone.
_ANYWHERE: Final = frozenset((*RARE, "points", "persons", "sweeping", "limits", "limiting"))
#: The other lists with phrases that begin with a word, and these phrases.
OPENING: Final = {name: phrases for name, phrases in LISTED.items() if name not in _ANYWHERE}
