"""Parts of a text that a message names by their place: "the second stanza", "what comes after step 16?", "the last exercises".

This module tells which parts a message names, and where a text has them: its paragraphs, titles, items, lines. Which text is
meant is decided in ``recall.wholes.placed_parts``. What is picked from a list that was offered is in ``picks``, single words are
in ``lexicon/places.txt``.

A place shares no words with its text: no stanza says that it is the second.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text import words
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.picks import PLACES
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.lower import MARKS
from turnfold.compression.text.sentences import rough_sentences

PartKind = Literal["block", "item", "sentence", "line"]

_TABLES: Final = lexicon("places")
_KINDS: Final[tuple[PartKind, ...]] = ("block", "item", "sentence", "line")
_KIND_OF: Final = {word: kind for kind in reversed(_KINDS) for word in sorted(_TABLES[kind])}
_KOREAN: Final = ("첫", "두", "세", "네", "다섯")
_AFTER, _NEXT = _TABLES["after"], _TABLES["next"]
_THEN: Final = _AFTER | _TABLES["then"]
_COUNTS: Final = {word: n for n in (2, 3, 4, 5) for word in _TABLES[f"count {n}"]}
_WORD: Final = lazy.pattern(rf"[\w{MARKS}]+(?:[.'’][\w{MARKS}]+)*")
_NTH: Final = lazy.pattern(r"(\d{1,3})(?:st|nd|rd|th|\.|º|ª|er|e|ème)?\Z")
#: "第三段", "最后一条", "二番目の段落", "마지막 문단".
_RUN_ON: Final = {
    kind: lazy.pattern(
        rf"(?:(?P<backwards>倒数)?第\s*(?P<nth>{words.FIGURE})\s*(?:番目)?|(?P<number>{words.FIGURE})\s*(?:番目|つ目|번째)"
        rf"|(?P<ordinal>{'|'.join(_KOREAN)})\s?번째"
        rf"|(?P<last>(?:最后|最後)(?=[の个個一二三两兩2-5])|마지막))\s*(?:の|(?P<count>[一二三两兩2-5])?[个個]?)\s*"
        rf"(?P<noun>{one_of('places', f'{kind} run-on')})(?!{one_of('places', 'longer run-on')})"
    )
    for kind in _KINDS
}
_CYRILLIC: Final = lazy.pattern(r"[а-я]")
_LONGEST: Final = 200  # characters of a message that names a part so
_BACK: Final = 2  # words from a noun back to its place
_FAR: Final = 5  # and from a number back to "after"
#: "12." or "Step 12:", "Q12)", "## Chapter 12".
_NUMBERED: Final = lazy.pattern(r"^[ \t>*#|-]{0,8}(?:[^\W\d_]{1,14}[ .]?)?(\d{1,3})(?:[.):]|\*\*|(?=[ \t]*$))", re.MULTILINE)
_BULLET: Final = lazy.pattern(r"^[ \t]{0,8}[-*+•–][ \t]+\S", re.MULTILINE)
_GAP: Final = lazy.pattern(r"\n[ \t]*\n\s*")
_TITLE: Final = 80  # characters of a block of one line that may be a title
_ENDS: Final = (".", "!", "?", "…", "。", "！", "？", '"', "”")
_FEWEST: Final = 3  # parts of a text whose places somebody names


class NamedParts(NamedTuple):
    """Parts that a message names by position.

    Attributes:
        kind: the kind of the parts.
        places: counted from 1, or from the end from -1; numbers of items.
        is_next: whether it is the part after the one discussed last; then `places` is empty.
        noun: the word for them.
        and_then: whether the parts after them are requested too.
    """

    kind: PartKind
    places: tuple[int, ...]
    is_next: bool = False
    noun: str = ""
    and_then: bool = False


def named_parts(folded: str) -> NamedParts | None:
    """The parts that a short case-folded message names by position, if any."""
    if len(folded) > _LONGEST:
        return None
    if words.has_pairs(folded):
        return _named_run_on(folded)
    said = _WORD.findall(folded)
    for at, word in enumerate(said):
        kind = _KIND_OF.get(word)
        found = _named(said, at, kind) if kind else None
        if found is not None:
            return found
    return None


def _named_run_on(folded: str) -> NamedParts | None:
    """The same in scripts without spaces."""
    for kind, pattern in _RUN_ON.items():
        found = pattern.search(folded)
        if found is None:
            continue
        if found["last"]:
            count = words.figure(found["count"]) if found["count"] else 1
            return NamedParts(kind, tuple(range(-count, 0)), noun=found["noun"])
        ordinal = found["ordinal"]
        place = _KOREAN.index(ordinal) + 1 if ordinal else words.figure(found["nth"] or found["number"])
        return NamedParts(kind, (-place if found["backwards"] else place,), noun=found["noun"])
    return None


def _named(said: Sequence[str], at: int, kind: PartKind) -> NamedParts | None:
    near = said[max(0, at - _BACK) : at]
    behind = said[at + 1] if at + 1 < len(said) else ""
    if behind.isdigit() and len(behind) <= 3:
        is_after = not _AFTER.isdisjoint(said[max(0, at - _FAR) : at])
        and_then = not is_after and not _THEN.isdisjoint(said[at + 2 :])
        return NamedParts(kind, (int(behind) + is_after,), noun=said[at], and_then=and_then)
    if not _NEXT.isdisjoint((*near, behind)):
        return NamedParts(kind, (), is_next=True, noun=said[at])
    count = next((_COUNTS[word] for word in near if word in _COUNTS), 1)
    if at + 2 < len(said) and _CYRILLIC.match(behind):  # it says which of the next word: "часть последней записи"
        behind = ""
    for word in (*reversed(near), behind):
        place = PLACES.get(word) or (int(nth[1]) if (nth := _NTH.match(word)) and not word.isdigit() else None)
        if place is None:
            continue
        places = range(-count, 0) if place == -1 else range(place, place + count)
        return NamedParts(kind, tuple(places), noun=said[at])
    return None


def placed(text: str, parts: NamedParts) -> list[Range]:
    """The ranges of the named parts in a text; empty if it lacks any of them."""
    ranges = _READERS[parts.kind](text, parts)
    if not all(place in ranges for place in parts.places):
        return []
    then = parts.places[-1] + 1 if parts.and_then else 0
    return [ranges[place] for place in (*parts.places, then) if place in ranges]


def _in_order(found: Sequence[Range]) -> dict[int, Range]:
    if len(found) < _FEWEST:
        return {}
    return {place: one for n, one in enumerate(found) for place in (n + 1, n - len(found))}


def _blocks(text: str, _: NamedParts) -> dict[int, Range]:
    """Paragraphs or stanzas, without titles."""
    return _in_order([one for one in paragraphs(text) if not is_title(text[slice(*one)].strip())])


def paragraphs(text: str) -> list[Range]:
    """The ranges between blank lines."""
    borders = [(0, 0), *(gap.span() for gap in _GAP.finditer(text)), (len(text), len(text))]
    return [(a[1], b[0]) for a, b in pairwise(borders) if b[0] > a[1]]


def is_title(block: str) -> bool:
    """Whether a stripped block is empty, or a single short line that does not end like a sentence."""
    return not block or ("\n" not in block and len(block) <= _TITLE and (block[0] == "#" or not block.endswith(_ENDS)))


def numbered_items(text: str) -> list[tuple[int, Range]]:
    """The items of a text with their numbers, in order; empty if there are few."""
    starts = [(int(m[1]), m.start()) for m in _NUMBERED.finditer(text)]
    starts = [one for one, before in zip(starts, [(0, 0), *starts], strict=False) if one[0] != before[0]]  # "Q9." and "A9."
    if len(starts) < _FEWEST:
        return []
    ends = [*(at for _, at in starts[1:]), _list_end(text, starts[-1][1])]
    return [(number, (at, _trimmed(text, at, end))) for (number, at), end in zip(starts, ends, strict=True)]


def _items(text: str, parts: NamedParts) -> dict[int, Range]:
    """Items by their numbers, or bullets in order."""
    if items := numbered_items(text):
        return dict(items) | {n - len(items): one for n, (_, one) in enumerate(items)}
    begins = [m.start() for m in _BULLET.finditer(text)]
    ends = [*begins[1:], _list_end(text, begins[-1])] if begins else []
    return _in_order([(a, _trimmed(text, a, b)) for a, b in zip(begins, ends, strict=True)])


def _list_end(text: str, at: int) -> int:
    gap = _GAP.search(text, at)
    return gap.start() if gap else len(text)


def _trimmed(text: str, start: int, end: int) -> int:
    return start + len(text[start:end].rstrip())


def _sentences(text: str, _: NamedParts) -> dict[int, Range]:
    return _in_order([(a, b) for a, b in rough_sentences(text) if text[a:b].strip()])


def _lines(text: str, _: NamedParts) -> dict[int, Range]:
    return _in_order(lines(text))


def lines(text: str) -> list[Range]:
    """The non-empty lines, stripped of white space."""
    at, found = 0, list[Range]()
    for line in text.splitlines(keepends=True):
        if said := line.strip():
            begin = at + line.index(said[0])
            found.append((begin, begin + len(said)))
        at += len(line)
    return found


_READERS: Final = {"block": _blocks, "item": _items, "sentence": _sentences, "line": _lines}


def last_number(text: str, noun: str) -> int | None:
    """The number at the beginning of a text: "Chapter 14: What the child saw"."""
    begin = text[:_LONGEST]
    found = re.search(rf"\b{re.escape(noun)}\w{{0,2}} (\d{{1,3}})\b", begin.casefold()) or _NUMBERED.search(begin)
    return int(found[1]) if found else None
