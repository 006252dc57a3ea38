"""Picks from a list by place ("the second one", "option B, but no starter", "第三个"), or by taking advice.

This module tells which item of a list a short message names by number, letter or position. What follows is decided in
``shorten.told`` and ``recall.choosing``. Other messages that say little without the previous one are in ``shorten.answers``, the
words in ``lexicon/picks.txt``.

The items of a list begin lines with figures or letters that go up by one. A message that asks picks nothing, and neither does a
long one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.memo import Memo, continued_by_key
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.self_statements import changes
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.lower import joined_words, lower_text, words
from turnfold.compression.text.quotes import Quotable
from turnfold.compression.text.sentences import rough_sentences

_LONGEST: Final = 120  # characters of a message that picks
_LONGEST_LIST: Final = 4000
_LONGEST_PROSE: Final = 400  # of one that has no items, but counts
_MOST: Final = 9  # items of a list that one picks from
_ASKS: Final = lazy.pattern(r"[?？؟]")
_MARK: Final = r"[ \t>*•-]{0,6}\**"
_ITEM: Final = lazy.pattern(
    rf"^{_MARK}(?:(?P<number>[1-9]|[一二三四五六七八九])[.)、:．）]|(?P<letter>[A-Ia-i])[.):])", re.MULTILINE
)
_HAN: Final = "一二三四五六七八九"
_TABLE: Final = lexicon("picks")
#: The position that a word names: 1 for "first", -1 for "last".
PLACES: Final = {word: int(section) for section, listed in _TABLE.items() if section.lstrip("-").isdigit() for word in listed}
_LABELLED: Final = lazy.pattern(rf"(?<!\w)(?:{one_of('picks', 'label')}) ?(?P<name>[1-9a-i])(?!\w)")
_NAMED: Final = lazy.pattern(r"\s*(?P<name>[1-9a-i])(?:[).]| please| bitte)?[\s.!]*(?:$|[,;:])")
#: The position of advice: "I'll take your advice".
ADVISED: Final = 0
_ADVICE, _YOURS = _TABLE["advice"], _TABLE["yours"]
_ADVISES: Final = lazy.pattern(rf"(?<!\w)(?:{one_of('picks', 'advises')})(?!\w)")
_RUN_ON: Final = (
    (lazy.pattern("第?一(?:番目|つ目|[个個种種款])|^最初|첫 ?번째|첫째|(?:รุ่น|อัน|ตัว|ข้อ)(?:แรก|ที่หนึ่ง)"), 1),
    (lazy.pattern("第?二(?:番目|つ目|[个個种種款])|두 ?번째|둘째|ที่สอง"), 2),
    (lazy.pattern("第?三(?:番目|つ目|[个個种種款])|세 ?번째|셋째|ที่สาม"), 3),
    (lazy.pattern("第?四(?:番目|つ目|[个個种種款])|네 ?번째|넷째|ที่สี่"), 4),
    (lazy.pattern("最后(?:一[个個种種款])?|最後|마지막|สุดท้าย"), -1),
)


class Pick(NamedTuple):
    """The message at `by` picks the range of the message at `of`; `instead` is the message whose pick it replaces, if any."""

    by: int
    of: int
    item: Range
    instead: int | None = None


def picks(sources: Sequence[Quotable], memo: Memo) -> list[Pick]:
    """The picks in users' messages, in order.

    A message that says that something changed, with no list directly before it, picks from the list most recently picked from.
    """

    def run(known: list[Pick] | None, same: int) -> list[Pick]:
        found = [one for one in known or () if one.by < same]
        _pick(sources, same, found, memo)
        return found

    return continued_by_key(memo, "picks of all", sources, run, lambda found: 200 * len(found))


def _pick(sources: Sequence[Quotable], since: int, found: list[Pick], memo: Memo) -> None:
    """Add the picks of messages from `since` on."""
    for at in range(since, len(sources)):
        source = sources[at]
        place = _place(source, memo) if source.role == "user" else None
        if place is None:
            continue
        before = sources[at - 1] if at else source
        item = _item(before, place, memo) if before.role == "assistant" else None
        if item:
            found.append(Pick(at, at - 1, item))
        elif found and changes(words(lower_text(source.text))):
            last = found[-1]
            other = _item(sources[last.of], place, memo)
            if other and other != last.item:
                found.append(Pick(at, last.of, other, last.by))


def picked(before: Quotable, answer: Quotable) -> Range | None:
    """The range of the previous message that a message picks."""
    place = place_named(answer.text)
    return _offered(before.text, place) if place is not None and before.role == "assistant" else None


def _place(source: Quotable, memo: Memo) -> int | None:
    if not 0 < len(source.text) <= _LONGEST:
        return None
    return memo.get(("picks", source.key), lambda: place_named(source.text), lambda _: 40)


def _item(source: Quotable, place: int, memo: Memo) -> Range | None:
    return memo.get(("picked", source.key, place), lambda: _offered(source.text, place), lambda _: 80)


def place_named(text: str) -> int | None:
    """The position in a list that a message names, from 1; -1 for the last, 0 for advice.

    None if it names none, or asks.
    """
    if not 0 < len(text) <= _LONGEST or _ASKS.search(text):
        return None
    low = lower_text(text)
    named = _LABELLED.search(low) or _NAMED.match(low)
    if named:
        name = named["name"]
        return int(name) if name.isdigit() else ord(name) - ord("a") + 1
    found = next((PLACES[word] for word in joined_words(low) if word in PLACES), None)
    if found is None and not low.isascii():
        found = next((place for pattern, place in _RUN_ON if pattern.search(low)), None)
    if found is None and (said := joined_words(low)) and not (_ADVICE.isdisjoint(said) or _YOURS.isdisjoint(said)):
        return ADVISED
    return found


def _offered(text: str, place: int) -> Range | None:
    """The list item at a position, or the last sentence with advice."""
    if place != ADVISED:
        return _listed(text, place)
    said = rough_sentences(text) if _ADVISES.search(lower_text(text)) else ()
    return next(((start, end) for start, end in reversed(said) if _ADVISES.search(lower_text(text[start:end]))), None)


def _listed(text: str, place: int) -> Range | None:
    """The list item at a position, up to the next one or the end of its paragraph.

    A short text that counts in words is returned whole.
    """
    if len(text) > _LONGEST_LIST:
        return None
    items = list(_items(text))
    if not items and len(text) <= _LONGEST_PROSE:
        return (0, len(text)) if len({PLACES[word] for word in words(lower_text(text)) if word in PLACES}) > 1 else None
    if not 2 <= len(items) <= _MOST or not (place == -1 or 1 <= place <= len(items)):
        return None
    start = items[place if place == -1 else place - 1]
    behind = next((item for item in items if item > start), len(text))
    paragraph = text.find("\n\n", start)
    end = min(behind, paragraph if paragraph >= 0 else len(text))
    return start, start + len(text[start:end].rstrip())


def _items(text: str) -> Iterator[int]:
    """The starts of the items of the first list with consecutive marks."""
    expected = 1
    for match in _ITEM.finditer(text):
        if (number := match["number"]) is not None:
            mark = int(number) if number.isdigit() else _HAN.index(number) + 1
        else:
            mark = ord(match["letter"].lower()) - ord("a") + 1
        if mark == expected:
            yield match.start()
            expected += 1
        elif mark == 1:
            return
