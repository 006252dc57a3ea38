"""Cues: the listed phrases of sentences (``lexicon/ties.txt``), and bits for cue words by their position: anywhere, first, last,
or one after another.

This module holds the phrases and words that rules of ties look for in many sentences, and looks all of them up at once, in
columns. What follows from such a word is up to the rule.

Checking a cue costs a rule one look at a number per sentence; a set of words costs five times as much. A cue may be set too
often: if it stands for one word after another, any of its first words may precede any of its second ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain, repeat
from typing import Final

import numpy as np
from numpy.typing import NDArray

from turnfold.compression.text.lexicon import lexicon

_Bits = NDArray[np.uint64]

_TIES: Final = lexicon("ties")
_REFERENCES: Final = lexicon("references")


# ---------------------------------------------------------------- phrases


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
_NOT_OPENING: Final = frozenset((*RARE, "points", "persons", "sweeping", "limits", "limiting"))
#: The other lists with phrases that begin with a word, and these phrases.
OPENING: Final = {name: phrases for name, phrases in LISTED.items() if name not in _NOT_OPENING}


# ---------------------------------------------------------------- cues


def first_words(phrases: Iterable[str]) -> frozenset[str]:
    """The words with which the phrases of a list begin."""
    return frozenset(phrase.split("_")[0] for phrase in phrases)


SUBJECTS: Final = frozenset(("it", "he", "she", "they", "er", "es"))
POSSESSIVES: Final = frozenset(("its", "their", "his"))
ARTICLES: Final = frozenset(("a", "an", "the", "another"))
SPEAKING: Final = frozenset(("i", "we", "you", "he", "she", "it", "they"))
#: What stands in front of a subject: when, where, on what condition.
FRONTS: Final = _TIES["settings"] | {"should", "according", "had", "were", "except", "unlike", "despite", "besides"}
REFERRING_FRONTS: Final = _TIES["settings"] | _REFERENCES["fronts"]
DEFINITE: Final = frozenset(("the", "der", "die", "das", "le", "la", "l", "el"))
SOME: Final = _TIES["numbers"] | frozenset(("one", "some", "most", "many", "few", "none", "half"))
BEGIN_LIMITS: Final = (
    first_words(_TIES["subsets"]) | _TIES["settings"] | _TIES["only"] | _TIES["groups"] | LISTED["amends"].keys()
)
#: In front of "to" or "que" they make a demand.
HAVING: Final = frozenset(("have", "has", "tiene", "tienen", "tendrá", "tendrán", "hay", "tem", "têm", "terá", "terão"))
WERE: Final = frozenset(("was", "were", "is", "are"))
TELLERS: Final = frozenset(("i", "we", "he", "she", "they", "at"))
TO: Final = frozenset(("to", "zu", "de"))
UNFULFILLED_BEFORE_TO: Final = frozenset(("used", "meant", "tried", "considered", "offered", "supposed", "intended"))
#: Words of which a sentence has one that may reply to what another speaker said: all references but these.
_NO_REPLY: Final = frozenset(
    f"refers-{name}" for name in ("persons", "unfulfilled", "thought", "at-first", "first", "commenting")
)
_MAY_REPLY: Final = frozenset().union(
    *(words for name, words in _REFERENCES.items() if name.startswith("refers-") and name not in _NO_REPLY),
    *(_TIES[name] for name in ("compared", "exceptions", "negative")),
    first_words(_REFERENCES["in-the-end"]),
)
#: Words that are verdicts by themselves, beside one that says of what; and no other rare phrase.
JUDGING: Final = frozenset(LISTED["verdicts"]).difference(
    phrase[0]
    for name in RARE
    if name != "verdicts"
    for phrases in LISTED[name].values()
    for phrase in phrases
    if len(phrase) == 1
)

#: Lists of which a sentence has a word.
_ANYWHERE: Final[Mapping[str, Set[str]]] = {
    **{name: frozenset(LISTED[name]) for name in ("limits", "persons")},
    **{name: _TIES[name] for name in ("negative", "excluding", "all-others", "moods", "differing", "anaphors", "measures")},
    **{name: _TIES[name] for name in ("compared", "rest-of-all", "telling-figures", "quantities", "meanwhile", "choosing")},
    **{name: _TIES[name] for name in ("reports", "time-fronts", "superseding", "hearsay")},
    "sweeping": SWEEPING,
    "about-all": _TIES["universal"] | _TIES["universal-too"],
    "following-up": _TIES["going-on"] | _TIES["ending"] | _TIES["demands"] | _TIES["places"],
    "second-options": frozenset("bc23"),  # what an option is called that is not the only one
    "objects": _TIES["object-pronouns"] | _TIES["object-pointers"],
    "clauses": frozenset(("so", "this", "that", "these", "those")),
    **{name: _REFERENCES[name] for name in ("refers-this", "refers-that-alone", "refers-named-elsewhere", "refers-connectives")},
    **{name: _REFERENCES[name] for name in ("refers-though", "refers-ones", "refers-subjects", "refers-going-on")},
    **{name: _REFERENCES[name] for name in ("refers-reversing", "refers-persons")},
    "may-reply": _MAY_REPLY,
    "judging": JUDGING | _TIES["undone"] | _TIES["undone-last"] | first_words(_TIES["undone-parted"]) | _TIES["demands"] | HAVING,
    "roles": _REFERENCES["roles"] | {f"{role}'s" for role in _REFERENCES["roles"]},
    "promises": _REFERENCES["refers-at-first"] | (_REFERENCES["refers-unfulfilled"] - UNFULFILLED_BEFORE_TO) | {"tried"},
}
#: Lists with a word of which a sentence begins.
_FIRST: Final[Mapping[str, Set[str]]] = {
    "begins-fronted": FRONTS,
    "begins-set": _TIES["settings"] | _TIES["from-and-until"] | first_words(_TIES["shifts"] | _TIES["whoever"]),
    "begins-article": ARTICLES,
    "begins-limit": BEGIN_LIMITS,
    "begins-paragraph-tie": first_words(_TIES["otherwise"]) | first_words(_TIES["sequels"]) | SPEAKING,
    "dropped-subjects": _TIES["dropped-subjects"],
    "refers-there": _REFERENCES["refers-there"],
    "refers-others": _REFERENCES["refers-others"],
    "refers-fronts": REFERRING_FRONTS,
    "of-time": _REFERENCES["refers-now"] | _REFERENCES["refers-later"] | first_words(_REFERENCES["in-the-end"]),
}
#: Lists with a word of which it ends.
_LAST: Final[Mapping[str, Set[str]]] = {
    "outcomes": _TIES["outcomes"],
    "ends-exceptional": _TIES["exceptions"],
    "ends-compared": _TIES["compared"],
    "ends-pointing": _REFERENCES["refers-last"],
    "reacting": _TIES["reacting"],
    "refers-that": frozenset(("that",)),
    "refers-there": _REFERENCES["refers-there"],
    "refers-numbers": _REFERENCES["refers-numbers"],
}
#: Lists of which a word of the first stands right in front of one of the second.
_PAIRS: Final[Mapping[str, tuple[Set[str], Set[str]]]] = {
    "places-in-order": (_TIES["places-in-order"], frozenset(("of",))),
    "some-of": (SOME, frozenset(("of",))),
    "reacting": (_TIES["reacting"], _TIES["joining"]),
    "refers-that": (
        _REFERENCES["leading-to-that"] | _REFERENCES["refers-that"],
        _REFERENCES["refers-that"] | _REFERENCES["auxiliaries"],
    ),
    "refers-contracted": (frozenset(("de", "à")), _REFERENCES["refers-contracted"]),
    "refers-shells": (DEFINITE, _REFERENCES["refers-shells"]),
    "refers-then": (_REFERENCES["leading-to-then"], _REFERENCES["refers-then"]),
    "refers-the-other": (frozenset(("the",)), _REFERENCES["refers-the-other"]),
    "refers-chosen": (frozenset(("the",)), _REFERENCES["refers-chosen"]),
    "refers-numbers": (_REFERENCES["refers-numbers"], _REFERENCES["behind-number"] | _REFERENCES["auxiliaries"]),
    "promises": (UNFULFILLED_BEFORE_TO | WERE | TELLERS, TO | _REFERENCES["refers-thought"] | {"first"}),
}
_NAMES: Final = tuple(dict.fromkeys((*_ANYWHERE, *_FIRST, *_LAST, *_PAIRS, "rare")))
#: The bit of each cue.
CUES: Final[Mapping[str, int]] = {name: 1 << n for n, name in enumerate(_NAMES)}
_RARE: Final = np.uint64(CUES["rare"])
_NO_BITS: Final = np.uint64(0)
_FEW: Final = 150  # words up to which columns take longer than a look at each

# ---------------------------------------------------------------- tables by the number of a word, 0 for words of no list

_RARE_PHRASES: Final = sorted(phrase for name in RARE for phrases in LISTED[name].values() for phrase in phrases)
_RARE_ALONE: Final = frozenset(phrase[0] for phrase in _RARE_PHRASES if len(phrase) == 1) - JUDGING
#: The first two words of the others.
_RARE_PAIRS: Final = sorted({phrase[:2] for phrase in _RARE_PHRASES if len(phrase) > 1})
_COLUMNS: Final = 64
_PAIR_BIT: Final = {first: 1 << n % _COLUMNS for n, first in enumerate(dict.fromkeys(first for first, _ in _RARE_PAIRS))}


def _bits_of(lists: Mapping[str, Set[str]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, words in lists.items():
        for word in words:
            found[word] = found.get(word, 0) | CUES[name]
    return found


def _behind_bits() -> dict[str, int]:
    """For the second words of rare phrases, the bits of the first words that may precede them."""
    found: dict[str, int] = {}
    for first, second in _RARE_PAIRS:
        found[second] = found.get(second, 0) | _PAIR_BIT[first]
    return found


_BITS: Final = (
    _bits_of({**_ANYWHERE, "rare": _RARE_ALONE}),
    _bits_of(_FIRST),
    _bits_of(_LAST),
    _bits_of({name: first for name, (first, _) in _PAIRS.items()}),
    _bits_of({name: second for name, (_, second) in _PAIRS.items()}),
    _PAIR_BIT,
    _behind_bits(),
)
#: All that is known of each word, and the same in columns by its number.
_ROWS: Final = {word: tuple(bits.get(word, 0) for bits in _BITS) for word in sorted(frozenset().union(*_BITS))}
_NO_ROW: Final = (0,) * len(_BITS)
_NUMBERS: Final = {word: n for n, word in enumerate(_ROWS, start=1)}
_HELD, _BEGINS, _ENDS, _BEFORE, _BEHIND, _RARE_BEFORE, _RARE_BEHIND = np.array([_NO_ROW, *_ROWS.values()], np.uint64).T.copy()


def sentence_cues(said: Sequence[Sequence[str]]) -> list[int]:
    """The cues of each sentence, by its words."""
    return cues_one_by_one(said) if sum(map(len, said)) < _FEW else cues_in_columns(said)


def cues_one_by_one(said: Sequence[Sequence[str]]) -> list[int]:
    """The same word by word, which takes less for few words."""
    known = _ROWS.keys()
    found = []
    for words in said:
        cues = 0
        if words and not known.isdisjoint(words):
            cues = _ROWS.get(words[0], _NO_ROW)[1] | _ROWS.get(words[-1], _NO_ROW)[2]
            before = rare_before = 0
            for word in words:
                held, _, _, begins_pair, behind, begins_rare, rare_behind = _ROWS.get(word, _NO_ROW)
                cues |= held | (before & behind)
                if rare_before & rare_behind:
                    cues |= CUES["rare"]
                before, rare_before = begins_pair, begins_rare
        found.append(cues)
    return found


def cues_in_columns(said: Sequence[Sequence[str]]) -> list[int]:
    """The same for all words at once."""
    sizes = np.array([*map(len, said)], np.intp)
    ends = np.cumsum(sizes)
    words = np.fromiter(map(_NUMBERS.get, chain.from_iterable(said), repeat(0)), np.intp, int(ends[-1]))
    spoken = np.flatnonzero(sizes)
    found = np.zeros(len(sizes), np.uint64)
    if len(spoken):
        last = ends[spoken] - 1
        first = last - sizes[spoken] + 1
        found[spoken] = np.bitwise_or.reduceat(_word_cues(words, last), first) | _BEGINS[words[first]] | _ENDS[words[last]]
    return found.tolist()


def _word_cues(words: NDArray[np.intp], last: NDArray[np.intp]) -> _Bits:
    """The cues of each word and of the pair that it begins; the words at `last` begin none."""
    cues: _Bits = _HELD[words]
    behind = np.append(words[1:], 0)
    behind[last] = 0
    cues |= _BEFORE[words] & _BEHIND[behind]
    cues[(_RARE_BEFORE[words] & _RARE_BEHIND[behind]) != _NO_BITS] |= _RARE
    return cues
