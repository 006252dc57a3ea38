"""Messages that replace an earlier statement: "they moved it, Friday now", "the 14th, not the 12th".

This module tells which message updates which. What follows is decided in ``shorten.told`` and ``recall.later``. Things that are
taken back by name are in ``withdrawals``, the words in ``lexicon/updates.txt``.

A message updates another of the same speaker if it denies a value that the other gave ("not the 12th"), says that something
changed ("now", "moved"), or is a correction ("no sorry, Thursday"), and gives a value of the same kind: a day, a time, a date, a
figure with the same unit. A bare figure does not show its kind, and must be denied. Of several earlier messages it updates the
one that shares most of its words; among equals, the last.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.memo import Memo, continued_by_key
from turnfold.compression.text.dialogue.self_statements import changes, speaks_of_own
from turnfold.compression.text.dialogue.turns import SPEAKER_LABEL
from turnfold.compression.text.dialogue.withdrawals import NOTHING_SAID, SaidTexts, naming, withdrawn
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.lower import MARKS, joined_words, lower_text, words
from turnfold.compression.text.quotes import Quotable
from turnfold.compression.text.sentences import rough_sentences
from turnfold.compression.text.words import is_function_word

LONGEST: Final = 240  # characters of a message that updates another
_LONGEST_TOLD: Final = 600  # characters of an updated message
_FARTHEST: Final = 200  # user messages between them
_TABLE: Final = lexicon("updates")
_CHANGED: Final = _TABLE["changed"]
_DAYS, _NUMBER_WORDS = _TABLE["days"], _TABLE["numbers"]
_RUN_ON_CHANGED: Final = lazy.pattern("|".join(sorted(map(re.escape, _TABLE["run-on changed"]))))
_HAN: Final = "一二三四五六七八九十百千万萬两兩〇零"
_LETTER: Final = rf"[^\W\d_][{MARKS}]*"
_DIGITS: Final = r"\d+(?:[.,:]\d+)*"
_NUMBER: Final = lazy.pattern(
    rf"(?P<sign>[$€£¥₹])?\s?(?P<value>(?:(?<![\w.,:-])|(?<=[^\W\d_a-zà-ÿ])){_DIGITS}|[{_HAN}]{{1,9}}(?=[^\W\d_{_HAN}]))"
    rf"(?:[ \u00a0]?(?P<unit>[€$£%\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|(?:{_LETTER})+))?"
)
_ASCII_WORD: Final = lazy.pattern(r"[a-z]+")
_FIGURES: Final = lazy.pattern(rf"[\d{_HAN}]")
_WORD: Final = lazy.pattern(rf"(?:{_LETTER})+(?:-(?:{_LETTER})+)?")
_BEHIND: Final = lazy.pattern(rf" ((?:{_LETTER})+)")
_DAY: Final = lazy.pattern(r"(?:星期|周|週|礼拜)[一二三四五六日天]|[月火水木金土日]曜日?|[월화수목금토일]요일")
_GAP: Final = r"[^,;.!?，、。；！？،؛\n]{0,12}"
_SAME: Final = 4  # letters by which two units, or two forms of a day, are considered equal
_STAMP: Final = lazy.pattern(r"\[[^\]\n]{4,60}\]")  # when a message was written
_ASKED: Final = lazy.pattern(r"[^.!?。！？؟।\n]{0,200}[?？؟]")
_HAN_RUN: Final = lazy.pattern(r"[\u3400-\u9fff\u30a0-\u30ff]{2,}")
_LEAST: Final = 2  # evidence required for two messages being about the same thing
_OF_BARE: Final = 1  # evidence from a figure without a unit if the other has one
_LARGE: Final = 4  # characters of a large figure
_OF_KIND: Final = 2  # evidence from a value of the same kind: a day, a time, a figure with a unit


_one_of: Final = partial(one_of, "updates")
_CHANGING: Final = lazy.pattern(rf"(?<!\w)(?:{_one_of('changing')})(?!\w)")
_CORRECTING: Final = lazy.pattern(
    rf"(?=\w)(?:(?:{_one_of('refuses')})(?!\w)[\s,.!…-]*)*(?P<corrects>(?:{_one_of('corrects')})(?!\w)[\s,.:!…-]*)?(?<=[^\w])"
)
_RUN_ON_CORRECTS: Final = lazy.pattern(_one_of("run-on corrects"))
_LONGEST_CORRECTION: Final = 40  # characters of a correction in a script without spaces, or with inflected words
_WORDS_CORRECTED: Final = 5  # after "sorry"
_WORDS_REFUSED: Final = 2  # after just a "no"
_NOT_BEFORE: Final = lazy.pattern(rf"(?:(?<!\w)(?:{_one_of('not')})(?!\w)|不是|而不是|وليس ){_GAP}\Z")
_AT: Final = lazy.pattern(rf"(?<!\w)(?:{_one_of('clock before')}) \Z")
_HOURS: Final = 24
_MONTHS: Final = _one_of("months")
_ANY_MONTH: Final = lazy.pattern(_MONTHS)
_LONGEST_MONTH: Final = 16  # characters, with the text after it
_IN_MONTH: Final = lazy.pattern(rf"(?:\.|st|nd|rd|th|er|º)? ?(?:of |de |d')?(?:{_MONTHS})(?!\w)")
_MONTH: Final = lazy.pattern(rf"(?<!\w)(?:{_MONTHS}) (?:the )?\Z")
_NOT_BEHIND: Final = lazy.pattern(rf"{_GAP}(?:{_one_of('not behind')})")


class StatementUpdate(NamedTuple):
    """The message at `newer` updates the statement of the one at `older` in the range that begins at `start`."""

    newer: int
    older: int
    start: int


class _Value(NamedTuple):
    kind: str
    value: str
    start: int


class _ToldValues(NamedTuple):
    """A message's values, those that it denies, whether something changed, its subject, its speaker, and the words for retracted
    things.
    """

    values: tuple[_Value, ...]
    denied: tuple[_Value, ...]
    changed: bool
    about: frozenset[str]
    speaker: str
    takes_back: tuple[str, ...] = ()


_NOTHING: Final = _ToldValues((), (), False, frozenset(), "")


def updates(sources: Sequence[Quotable], memo: Memo) -> list[StatementUpdate]:
    """The user messages that update earlier ones, in order of the newer messages."""

    def run(known: _Known | None, same: int) -> _Known:
        return _read_on(known or _Known([], [], [], NOTHING_SAID), same, sources, memo)

    return list(continued_by_key(memo, "renewals of all", sources, run, _Known.weight).found)


class _Known(NamedTuple):
    """The statements of some messages, and their updates; later messages change nothing in it.

    Attributes:
        read: the values of each message.
        telling: the messages with values.
        found: the updates, in order.
        said: the texts used to find retracted things, of the first messages or none.
    """

    read: list[_ToldValues]
    telling: list[int]
    found: list[StatementUpdate]
    said: SaidTexts

    def weight(self) -> int:
        """Approximate size in bytes, without the values, which are stored elsewhere."""
        return 500 + 8 * len(self.read) + 32 * len(self.telling) + 150 * len(self.found) + self.said.weight()


def _read_on(known: _Known, same: int, sources: Sequence[Quotable], memo: Memo) -> _Known:
    """The statements of all messages, continuing from the first `same` ones."""
    read = known.read[:same] + [_read(one, memo) if one.role == "user" else _NOTHING for one in sources[same:]]
    telling = known.telling[: bisect_left(known.telling, same)]
    found = known.found[: bisect_left(known.found, (same,))]
    said = known.said.first(same)
    for newer in range(same, len(sources)):
        own = read[newer]
        updating: list[StatementUpdate] = []
        older = _updated_statement(own, read, telling[-_FARTHEST:]) if _puts_in_place(own) else None
        if older is not None and sources[older[0]].name == sources[newer].name:
            updating += (StatementUpdate(newer, at, start) for at, start in _repeated(older, sources, read[older[0]], memo))
        if own.takes_back:
            said = said.up_to(newer, sources)
            valued = {one.older for one in updating}
            updating += (StatementUpdate(newer, *one) for one in naming(own.takes_back, newer, said) if one[0] not in valued)
        found += sorted(updating)
        if own.values:
            telling.append(newer)
    return _Known(read, telling, found, said)


def may_update(source: Quotable, memo: Memo) -> bool:
    """Whether a message may update an earlier one; False is certain."""
    if source.role != "user":
        return False
    said = _read(source, memo)
    return _puts_in_place(said) or bool(said.takes_back)


def _puts_in_place(said: _ToldValues) -> bool:
    """Whether a message states a value, and that another one is denied or has changed."""
    return len(said.values) > len(said.denied) and bool(said.denied or said.changed)


def _read(source: Quotable, memo: Memo) -> _ToldValues:
    if len(source.text) > _LONGEST_TOLD:
        return _NOTHING
    return memo.get(("renewal", source.key), lambda: _values_of(source.text), lambda read: 200 + 120 * len(read.values))


def _values_of(text: str) -> _ToldValues:
    low = lower_text(text)
    bare = _STAMP.sub(lambda stamp: " " * len(stamp.group()), low) if "[" in low else low
    said = _ASCII_WORD.findall(low) if low.isascii() else words(low)
    values = tuple(sorted(_values(bare, said), key=lambda one: one.start))
    takes_back = withdrawn(low, said)
    if not values:
        return _NOTHING._replace(takes_back=takes_back) if takes_back else _NOTHING
    short = len(text) <= LONGEST
    changed = short and (
        _corrects(low) or any(_tells_change(low[a:b]) for a, b in rough_sentences(low) if any(a <= v.start < b for v in values))
    )
    denied = tuple(one for one in values if short and _is_denied(low, one))
    values = tuple(one for one in values if not _ASKED.match(low, one.start))
    about = {word[:6] for word in joined_words(low) if len(word) > 3 and not is_function_word(word)}
    about |= {run[i : i + 2] for run in _HAN_RUN.findall(low) for i in range(len(run) - 1)}
    label = SPEAKER_LABEL.match(low)
    named = label and not (_tells_change(label.group(1)) or _CORRECTING.match(low))
    speaker = label.group(1) if label and named else ""
    return _ToldValues(values, denied, changed, frozenset(about - {one.value[:6] for one in values}), speaker, takes_back)


def _corrects(low: str) -> bool:
    """Whether a message is only a correction: "no sorry, Thursday", "typo: 2,990", "no, Thursday"."""
    opening = _CORRECTING.match(low)
    if opening is None:
        return len(low) <= _LONGEST_CORRECTION and not low.isascii() and _RUN_ON_CORRECTS.search(low) is not None
    rest = joined_words(low[opening.end() :])
    return len(rest) <= (_WORDS_CORRECTED if opening["corrects"] else _WORDS_REFUSED) and not speaks_of_own(rest)


def _tells_change(sentence: str) -> bool:
    said = words(sentence)
    return changes(said) or not _CHANGED.isdisjoint(said) or bool(_CHANGING.search(sentence) or _RUN_ON_CHANGED.search(sentence))


def _values(low: str, said: Sequence[str]) -> Iterator[_Value]:
    """The values in a text; `said` are its words. Most texts have none, which a few quick checks show."""
    if _FIGURES.search(low):
        yield from _figures(low)
    if not (_DAYS.isdisjoint(said) and _NUMBER_WORDS.isdisjoint(said)):
        yield from _in_words(low)
    if not low.isascii():
        for match in _DAY.finditer(low):
            yield _Value("day", match.group()[-2:] if match.group()[-1] not in "日일" else match.group()[:1], match.start())


def _figures(low: str) -> Iterator[_Value]:
    months = _ANY_MONTH.search(low) is not None
    for match in _NUMBER.finditer(low):
        value, unit = match["value"], match["unit"] or match["sign"] or ""
        kind = "date" if months and _is_in_month(low, match.start("value"), match.end("value")) else _kind(value, unit)
        timed = (
            kind == "number"
            and value.isdigit()
            and int(value) <= _HOURS
            and _AT.search(low, max(0, match.start("value") - 6), match.start("value"))
        )
        yield _Value("clock" if timed else kind, value, match.start("value"))


def _is_in_month(low: str, start: int, end: int) -> bool:
    """Whether a figure is next to a month: "17 May", "le 3 de mayo", "April 17"."""
    return bool(_IN_MONTH.match(low, end) or _MONTH.search(low, max(0, start - _LONGEST_MONTH), start))


def _in_words(low: str) -> Iterator[_Value]:
    for match in _WORD.finditer(low):
        word = match.group()
        if word in _DAYS:
            yield _Value("day", word[:_SAME], match.start())
        elif word in _NUMBER_WORDS:
            behind = _BEHIND.match(low, match.end())
            yield _Value(_kind(word, behind.group(1) if behind else ""), word, match.start())


def _kind(value: str, unit: str) -> str:
    if ":" in value or "h" in value or _starts(unit, "clock"):
        return "clock"
    if _starts(unit, "date"):
        return "date"
    return f"number {unit[:_SAME]}" if unit and not is_function_word(unit) and not changes((unit,)) else "number"


def _starts(unit: str, section: str) -> bool:
    return unit in _TABLE[section] or (unit[:1] > "\u1100" and unit[:1] in _TABLE[section])


def _is_denied(low: str, one: _Value) -> bool:
    if _NOT_BEFORE.search(low, max(0, one.start - 24), one.start):
        return True
    return bool(_NOT_BEHIND.match(low, one.start + len(one.value)))


def _updated_statement(said: _ToldValues, read: Sequence[_ToldValues], telling: Sequence[int]) -> tuple[int, int] | None:
    """The message that is updated, and the position of the value in it."""
    denied = {one.value for one in said.denied}
    best: tuple[float, int, int] | None = None
    for at in telling:
        for one in read[at].values if read[at].speaker == said.speaker else ():
            speaks = 3.0 if one.value in denied else _likeness(one, said, read[at]) if said.changed else 0.0
            if speaks >= _LEAST and (best is None or (speaks, at) >= best[:2]):
                best = speaks, at, one.start
    return (best[1], best[2]) if best else None


def _likeness(one: _Value, said: _ToldValues, older: _ToldValues) -> float:
    """The evidence that a message updates a value; 0 if it has none of the same kind."""
    if one.kind == "number" or one.value in {new.value for new in said.values}:
        return 0.0
    shared = min(2, len(said.about & older.about))
    if any(new.kind == one.kind for new in said.values):
        return _OF_KIND + shared
    bare = [new for new in said.values if new.kind == "number"] if one.kind.startswith("number") else []
    return _OF_BARE + max(shared, *(_is_alike(new.value, one.value) for new in bare)) if bare else 0.0


def _is_alike(new: str, old: str) -> bool:
    """Whether two large figures have the same notation and a similar size: "7,500 euros", "8,500"."""
    if len(new) != len(old) or len(new) < _LARGE:
        return False
    return all(a.isdigit() == b.isdigit() for a, b in zip(new, old, strict=True))


def _repeated(older: tuple[int, int], sources: Sequence[Quotable], read: _ToldValues, memo: Memo) -> Iterator[tuple[int, int]]:
    """The updated statement, and its repetition in the answer to it."""
    yield older
    at, start = older
    value = next(one for one in read.values if one.start == start)
    if at + 1 < len(sources) and sources[at + 1].role == "assistant":
        said = (
            _read(sources[at + 1], memo)
            if len(sources[at + 1].text) <= _LONGEST_TOLD
            else _values_of(sources[at + 1].text[:_LONGEST_TOLD])
        )
        again = next((one for one in said.values if one.value == value.value), None)
        if again is not None:
            yield at + 1, again.start
