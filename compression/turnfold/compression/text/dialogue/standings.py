"""Figures of one thing that change: "HP 15/24" and later "HP 16/24", "18 arrows" and later "28 arrows".

This module tells which short message gives a new value of such a figure. Messages that say that something changed are in
``updates``; what follows is decided in ``recall.later``; the words are in ``lexicon/updates.txt``.

A figure belongs to what is counted behind it ("9 gold", "640 g spaghetti"), or to the label in front of it if a sign joins them
or a limit follows ("Total: 80", "HP 15/24"). A speaker's newest message updates all their older ones that give another figure for
the same thing. A measure ("5 minutes") may be of anything, so its messages need a word in common; so do users' messages, since
users seldom keep count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.memo import Memo, of_each
from turnfold.compression.text.dialogue.turns import Labels, is_labelled, labels_of
from turnfold.compression.text.dialogue.updates import LONGEST, StatementUpdate
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.lower import MARKS, joined_words, lower_text
from turnfold.compression.text.quotes import Quotable
from turnfold.compression.text.words import is_function_word

_STEM: Final = 6  # letters by which two forms of a word are considered equal
_MOST: Final = 200  # messages of the kind, counted from the newest
_SHORT_UNIT: Final = 2  # letters of a unit that is ambiguous without the measured thing: "640 g spaghetti"
_MEASURES: Final = lexicon("updates")["measures"]
_LETTERS: Final = rf"(?:[^\W\d_][{MARKS}]*)+"
_COUNTED: Final = lazy.pattern(
    rf"(?:(?P<label>{_LETTERS})(?P<sign>\s?[:=]\s?| ))?(?<![\w.,:/-])(?P<value>[$€£¥₹]?\d[\d.,]*)(?P<most>/\d+)?"
    rf"(?:[ \u00a0]?(?P<unit>{_LETTERS})(?: (?P<of>{_LETTERS}))?)?"
)
_RUN_ON: Final = lazy.pattern(r"(?P<label>[\u3400-\u9fff]{2})(?P<value>\d[\d.,]*)(?P<unit>[\u3400-\u9fff])")
_DIGIT: Final = lazy.pattern(r"\d")


class _Standing(NamedTuple):
    """A figure for something, and its position."""

    of: str
    value: str
    start: int


class _Standings(NamedTuple):
    """A message's figures, and the words for its subject."""

    figures: tuple[_Standing, ...]
    about: frozenset[str]


_NONE: Final = _Standings((), frozenset())

_Subject = tuple[str, str, str]  # what a figure measures, and the role and name of the speaker
_Told = tuple[int, _Standing, frozenset[str]]
_Newest = dict[_Subject, list[_Told]]


def standings(sources: Sequence[Quotable], memo: Memo) -> list[StatementUpdate]:
    """Messages that state a figure anew which earlier ones stated differently, in order.

    Empty if most messages name their speaker, as in a meeting, where nobody keeps count.
    """
    if is_labelled(sources, memo):
        return []
    newest: _Newest = {}
    found: set[StatementUpdate] = set()
    left = _MOST
    for at in range(len(sources) - 1, -1, -1):
        source = sources[at]
        read = _read(source, memo)
        for one in read.figures:
            figures = newest.setdefault((one.of, source.role, source.name), [])
            newer = _newer(figures, one.of, source.role, read.about)
            if newer is None:
                figures.append((at, one, read.about))
            elif newer[0] != at and newer[1].value != one.value:
                found.add(StatementUpdate(newer[0], at, one.start))
        left -= bool(read.figures)
        if not left:
            break
    return sorted(found)


class EarlierStandings(NamedTuple):
    """The figures of earlier messages, prepared for lookups by later ones.

    Attributes:
        size: number of messages.
        labels: counts of messages that name their speaker.
        figures: of each subject, role and name the message, which one it is of those that tell something, counted from the newest
            back, the figure, and what the message is about.
    """

    size: int
    labels: Labels
    figures: dict[_Subject, list[tuple[int, int, _Standing, frozenset[str]]]]


def earlier_standings(sources: Sequence[Quotable], memo: Memo) -> EarlierStandings:
    """The figures of messages, for lookups by later ones."""
    figures: dict[_Subject, list[tuple[int, int, _Standing, frozenset[str]]]] = {}
    rank = 0
    for at in range(len(sources) - 1, -1, -1):
        read = _read(sources[at], memo)
        rank += bool(read.figures)
        for one in read.figures:
            figures.setdefault((one.of, sources[at].role, sources[at].name), []).append((at, rank, one, read.about))
        if rank == _MOST:
            break
    return EarlierStandings(len(sources), labels_of(sources, memo), figures)


def standings_behind(earlier: EarlierStandings, behind: Sequence[Quotable], memo: Memo) -> list[StatementUpdate]:
    """Later messages that state a figure anew which an earlier one stated differently; their numbers continue after the earlier
    ones.

    The result equals that of `standings` over all of them.
    """
    read = of_each(memo, "figures told", behind, lambda one: _read(one, memo))
    if not any(one.figures for one in read) or earlier.labels.joined(labels_of(behind, memo)).are_most:
        return []
    newest: _Newest = {}
    left = _MOST
    for at in range(len(behind) - 1, -1, -1):
        for one in read[at].figures:
            figures = newest.setdefault((one.of, behind[at].role, behind[at].name), [])
            if _newer(figures, one.of, behind[at].role, read[at].about) is None:
                figures.append((earlier.size + at, one, read[at].about))
        left -= bool(read[at].figures)
        if not left:
            return []
    found: set[StatementUpdate] = set()
    for subject, figures in newest.items():
        for older, rank, one, about in earlier.figures.get(subject, ()):
            newer = _newer(figures, one.of, subject[1], about) if rank <= left else None
            if newer is not None and newer[1].value != one.value:
                found.add(StatementUpdate(newer[0], older, one.start))
    return sorted(found)


def _newer(figures: Sequence[_Told], of: str, role: str, about: frozenset[str]) -> _Told | None:
    """The newest message with the same figure, whatever its value."""
    if role == "assistant" and of not in _MEASURES:
        return figures[0] if figures else None
    for new in figures:
        if not new[2].isdisjoint(about):
            return new
    return None


def _read(source: Quotable, memo: Memo) -> _Standings:
    if len(source.text) > LONGEST or source.role not in ("user", "assistant"):
        return _NONE
    return memo.get(("standings", source.key), lambda: _standings_of(source.text), lambda read: 200 + 150 * len(read.figures))


def _standings_of(text: str) -> _Standings:
    if not _DIGIT.search(text):
        return _NONE
    low = lower_text(text)
    figures = (*_counted(low), *(() if low.isascii() else _run_on(low)))
    if not figures:
        return _NONE
    named = {word[:_STEM] for one in figures for word in one.of.split()}
    about = {word[:_STEM] for word in joined_words(low) if len(word) > 3 and not is_function_word(word)}
    return _Standings(figures, frozenset(about - named))


def _counted(low: str) -> Iterator[_Standing]:
    for match in _COUNTED.finditer(low):
        value, start = match["value"].rstrip(".,") + (match["most"] or ""), match.start("value")
        label, unit, of = match["label"] or "", match["unit"] or "", match["of"] or ""
        if label and not is_function_word(label) and (match["most"] or match["sign"].strip()):
            yield _Standing(label[:_STEM], value, start)
        elif unit and not is_function_word(unit):
            if len(unit) > _SHORT_UNIT:
                yield _Standing(unit if unit in _MEASURES else unit[:_STEM], value, start)
            elif of and not is_function_word(of):
                yield _Standing(f"{unit} {of[:_STEM]}", value, start)


def _run_on(low: str) -> Iterator[_Standing]:
    for match in _RUN_ON.finditer(low):
        yield _Standing(match["label"] + match["unit"], match["value"], match.start("value"))
