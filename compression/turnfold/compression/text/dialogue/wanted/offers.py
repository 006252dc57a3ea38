"""References to one of several things that the other side offered: "the third hike", "your first suggestion for the gift", "what
was the alternative to the bus?"; and to an exchange by its label: "the same method as in problem 2".

This module reads such a reference, and finds what it names in a text. Which text is meant is decided in ``recall.wholes.offers``.
Messages that pick from the list right before them are in ``picks``, parts of a text in ``places``, single words in
``lexicon/offers.txt``.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.memo import remembering
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.picks import PLACES
from turnfold.compression.text.dialogue.wanted.places import named_parts
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.sentences import rough_sentences

_TABLES: Final = lexicon("offers")
#: Nouns for anything that was offered, without describing it: "option".
OFFERS: Final = _TABLES["offers"]
_LONGEST: Final = 200  # characters of a message that refers to one so
_LONGEST_TEXT: Final = 6000  # and of a text that offers several things
_KNOWN: Final = one_of("offers", "known")
_BEFORE_LAST: Final = one_of("offers", "before last")
_ORDINAL: Final = "|".join(re.escape(word) for word in sorted(PLACES, key=len, reverse=True))
_NTH: Final = lazy.pattern(
    rf"\b(?:{_KNOWN}) (?:very )?(?:(?P<before>{_BEFORE_LAST})|(?P<place>{_ORDINAL})|(?P<number>\d{{1,2}})(?:st|nd|rd|th|\.))"
    r"(?= (?P<noun>[^\W\d][\w'-]+)|[\s.?!,]*$)"
)
_ALTERNATIVE: Final = lazy.pattern(rf"\b(?:{_KNOWN}) (?:other )?(?:{one_of('offers', 'alternative')})\b")
_OFFERED: Final = lazy.pattern(rf"\b(?:{one_of('offers', 'another')})\b")
_ITEM: Final = lazy.pattern(r"^[ \t>*]{0,6}(?:\d{1,2}[.)]|[-*•–])[ \t]+\S", re.MULTILINE)
_NUMBERED: Final = lazy.pattern(r"^[ \t>*]{0,6}\d{1,2}[.)]", re.MULTILINE)
_LABELLED: Final = lazy.pattern(r"\b([^\W\d]{2,14})[ ]?#?(\d{1,3})\b(?![.,:/]?\d)")
_LABEL: Final = lazy.pattern(r"\W{0,8}([^\W\d]{2,14})[ ]?#?(\d{1,3})\b(?![.,/]?\d)")
_ANY_LABEL: Final = _TABLES["numbers"]
#: The place of the alternative to another offered thing.
ALTERNATIVE: Final = 0


class NamedOffer(NamedTuple):
    """An offered thing that a message refers to.

    Attributes:
        place: from 1, or from the end from -1; `ALTERNATIVE` for the alternative to another thing.
        noun: the word for it; "" if that may mean anything.
    """

    place: int
    noun: str = ""


class Label(NamedTuple):
    """The label of an exchange: "exercise 4"."""

    noun: str
    number: int


@remembering
def named_offer(folded: str) -> NamedOffer | None:
    """The offered thing that a short case-folded message refers to, if any."""
    if len(folded) > _LONGEST:
        return None
    found = _NTH.search(folded)
    if found is None:
        return NamedOffer(ALTERNATIVE) if _ALTERNATIVE.search(folded) else _without_article(folded)
    place = -2 if found["before"] else int(found["number"]) if found["number"] else PLACES[found["place"]]
    noun = found["noun"] or ""
    return NamedOffer(place, "" if noun in OFFERS else noun)


def _without_article(folded: str) -> NamedOffer | None:
    """The same in languages without articles: "третий вариант", "第三个建议"."""
    parts = None if folded.isascii() else named_parts(folded)
    is_one = parts is not None and parts.kind == "item" and len(parts.places) == 1
    return NamedOffer(parts.places[0]) if parts and is_one and parts.noun in OFFERS else None


def offered(text: str) -> list[Range]:
    """The ranges of things that a text offers, in order: list items, or sentences, if later ones offer another thing."""
    if len(text) > _LONGEST_TEXT:
        return []
    if items := listed(text):
        return items
    said = [one for one in rough_sentences(text) if text[slice(*one)].strip()]
    others = [n for n, (start, end) in enumerate(said) if n and _OFFERED.search(text[start:end].casefold())]
    return [said[n] for n in (others[0] - 1, *others)] if others else []


def listed(text: str) -> list[Range]:
    """The items of a text's list; empty if there are fewer than two."""
    marks = _NUMBERED if len(_NUMBERED.findall(text)) > 1 else _ITEM
    starts = [found.start() for found in marks.finditer(text)]
    ends = [*starts[1:], len(text)]
    return [(start, _end(text, start, end)) for start, end in zip(starts, ends, strict=False)] if len(starts) > 1 else []


def _end(text: str, start: int, end: int) -> int:
    """The end of an item: that of its paragraph."""
    gap = text.find("\n\n", start, end)
    return start + len(text[start : end if gap < 0 else gap].rstrip())


@remembering
def named_labels(folded: str) -> tuple[Label, ...]:
    """The labels that a short case-folded message names; the noun is "" for "number 4"."""
    if len(folded) > _LONGEST:
        return ()
    named = {Label("" if one[1] in _ANY_LABEL else one[1], int(one[2])) for one in _LABELLED.finditer(folded)}
    nth = _NTH.search(folded)
    if nth and nth["noun"] and nth["place"] and PLACES[nth["place"]] > 0:
        named.add(Label(nth["noun"], PLACES[nth["place"]]))
    return tuple(sorted(named))


def label_of(folded: str) -> Label | None:
    """The label at the beginning of a case-folded message."""
    found = _LABEL.match(folded)
    return Label(found[1], int(found[2])) if found else None
