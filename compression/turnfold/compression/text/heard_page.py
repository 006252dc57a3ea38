"""Texts of one line that are heard together: one look at the columns of all their words tells which sentences have a cue.

Lives here: the columns of a page. Does not belong here: what becomes of a cue (the files of ties), one text by itself
(``heard``), the numbers of words (``vocabulary``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from turnfold.compression.text.cues import CUES
from turnfold.compression.text.lower import joined_row
from turnfold.compression.text.spans import Span
from turnfold.compression.text.statement_pieces import LEAD, NARROWING_WORDS, READ, SHORT_WORDS, names_something
from turnfold.compression.text.vocabulary import (
    CUE_BITS,
    ELLIPSIS,
    JUDGES,
    NARROWS,
    OPENS,
    PAIRS,
    RARE,
    SWEEPS,
    Ints,
    Vocabulary,
)

Bools = NDArray[np.bool_]

# What a character is, of those that are asked for.
_LETTER, _CAPITAL, _SOLID, _IN_WORD, _BLANK, _SURE, _LINK, _LEADS_NAME = (1 << n for n in range(8))
_SIGNS: Final = bytes(
    _LETTER * sign.isalpha()
    | _CAPITAL * sign.isupper()
    | _SOLID * sign.isalnum()
    | _IN_WORD * (sign.isalnum() or sign == "_")
    | _BLANK * (sign == " ")
    | _SURE * (sign.isdigit() or sign == "`")
    | _LINK * (sign in "._/@")
    | _LEADS_NAME * (sign.isalnum() or sign in "_,;:")
    for sign in map(chr, range(128))
) + bytes(128)
_OPEN_BRACKET, _SPACE = ord("("), ord(" ")
_MARKS: Final = (ord("."), ord(")"))
_ENDS: Final = (ord("."), ord("?"), ord("!"))
_NO_CUES: Final[Mapping[str, Sequence[int]]] = dict.fromkeys(CUES, ())


def may_stand_on_page(text: str, spans: Sequence[Span]) -> bool:
    """Whether a text is heard with others: a line of ASCII of several sentences, none of them overlong or a block."""
    return (
        len(spans) > 1
        and text.isascii()
        and "\n" not in text
        and all([end - start <= READ and not kind for start, end, kind in spans])  # noqa: C419 - a generator takes longer
    )


class PageText:
    """What was heard of one text of a page.

    Attributes:
        cue: indices of the sentences that have one of ``CUES``, in order, by its name.
    """

    def __init__(self, row: str, cues: Mapping[str, Sequence[int]]) -> None:
        self._row = row
        self.cue: Callable[[str], Sequence[int]] = cues.__getitem__

    @cached_property
    def distinct(self) -> Set[str]:
        """The words of the whole text, each once."""
        return set(self._row.split())


class HeardPage:
    """The sentences of some texts, numbered through; all columns are by these numbers.

    Attributes:
        first: the number of the first sentence of each text.
        row: all texts in a row, split into words.
        starts: where each text begins in it.
    """

    def __init__(self, texts: Sequence[str], tiles: Sequence[Sequence[Span]], vocabulary: Vocabulary) -> None:
        self._joined = "\n".join([*texts, ""])
        self.first = [0, *accumulate(map(len, tiles))]
        self.starts = [0, *accumulate([len(text) + 1 for text in texts])]
        self.row = joined_row(self._joined.lower())
        found = vocabulary.number(self.row.split())
        self._words, self._vocabulary, self._columns = found, vocabulary, vocabulary.columns()
        ends = np.array([at + end for at, spans in zip(self.starts, tiles, strict=False) for _, end, _ in spans], np.int64)
        begins = np.concatenate(([0], ends[:-1]))
        begins[self.first[1:-1]] += 1  # behind the end of the line
        signs = np.frombuffer(self._joined.encode().translate(_SIGNS), np.uint8)
        solid = np.frombuffer(self.row.encode(), np.uint8) != 32
        solid_before = np.concatenate(([False], solid[:-1]))
        tokens_at = np.flatnonzero(solid & ~solid_before)
        self._begins, self._ends = self._behind_marks(begins, ends, signs), ends
        self._low, self._high = np.searchsorted(tokens_at, self._begins), np.searchsorted(tokens_at, ends)
        self._from = np.searchsorted(tokens_at, begins)
        self._signs, self._sizes = signs, self._high - self._low
        columns = self._columns
        self._pairs = np.append(PAIRS[columns.leads[found[:-1]], columns.follows[found[1:]]], 0)
        told, opened = self._told()
        self._firsts = np.array(self.first[:-1], np.int64)
        self._of = np.repeat(np.arange(len(texts)), [*map(len, tiles)])
        self.texts = self._heard(told | opened)
        self.rare = self._by_text(self._holds_rare(told))
        self.asked = self._by_text(self._may_tell(begins, opened))
        self.loose = self._by_text(self._is_loose(begins))
        self.naming = self._naming()
        self.meaning = self._by_text(((told & CUE_BITS["persons"]) > 0) & ~self.naming)

    def _behind_marks(self, begins: Ints, ends: Ints, signs: NDArray[np.uint8]) -> Ints:
        """Where the first word of each sentence begins, as in ``StatementPiece``."""
        found = begins.copy()
        for n in np.flatnonzero((signs[begins] & _LETTER) == 0).tolist():
            if lead := LEAD.match(self._joined, int(begins[n]), int(ends[n])):
                found[n] = lead.end()
        return found

    def _told(self) -> tuple[Ints, Ints]:
        """What the words of each sentence tell, in bits, and what its first one does."""
        spoken = self._sizes > 0
        padded = np.append(self._columns.anywhere[self._words], 0)
        borders = np.stack((self._low, self._high), 1).ravel()
        told = np.where(spoken, np.bitwise_or.reduceat(padded, borders)[::2], 0)
        opened = np.where(spoken, np.append(self._columns.first[self._words] | self._pairs, 0)[self._low], 0)
        return told, opened

    def _by_text(self, asked: Bools) -> dict[int, list[int]]:
        """By text, where it has any, the indices of the sentences that are asked for."""
        found: dict[int, list[int]] = defaultdict(list)
        sentences = np.flatnonzero(asked)
        of = self._of[sentences]
        for text, i in zip(of.tolist(), (sentences - self._firsts[of]).tolist(), strict=True):
            found[text].append(i)
        return found

    def _heard(self, told: Ints) -> list[PageText]:
        """What was heard of each text."""
        found: list[dict[str, Sequence[int]]] = [dict(_NO_CUES) for _ in self.starts[1:]]
        for name, cue in CUES.items():
            has = (self._sizes > 0) & (self._sizes <= cue.most)
            if cue.words or cue.begins:
                has &= (told & CUE_BITS[name]) > 0
            for text, sentences in self._by_text(has).items():
                found[text][name] = sentences
        return [PageText(self.row[start:end], cues) for (start, end), cues in zip(pairwise(self.starts), found, strict=True)]

    def _holds_rare(self, told: Ints) -> Bools:
        """Which sentences may have a phrase of a rare list: its only word, or the first two. A verdict has a word for all."""
        words = self._columns.anywhere[self._words]
        places = np.flatnonzero(((self._pairs | words) & RARE) > 0)
        found = ((told & JUDGES) > 0) & ((told & SWEEPS) > 0)
        of = np.searchsorted(self._high, places, "right")
        found[of[of < len(found)]] = True
        return found

    def _may_tell(self, starts: Ints, opened: Ints) -> Bools:
        """Which sentences may not stand alone, rare phrases aside: as ``StatementPiece`` has it, at first sight."""
        last = np.append(self._columns.anywhere[self._words], 0)[self._high - 1]
        brackets = np.frombuffer(self._joined.encode(), np.uint8)
        lines = self._firsts
        asked: Bools = (self._sizes <= SHORT_WORDS) | ((opened & OPENS) > 0) | (brackets[starts] == _OPEN_BRACKET)
        asked |= (self._sizes <= NARROWING_WORDS) & (((last & ELLIPSIS) | (opened & NARROWS)) > 0)
        # An item of a list begins with a mark, or with a letter and one.
        marked = (self._signs[starts[lines]] & _LETTER) == 0
        asked[lines] |= marked | np.isin(brackets[starts[lines] + 1], _MARKS)
        return asked

    def _is_loose(self, starts: Ints) -> Bools:
        """Which sentences stand behind one that does not end as most do; the first ones of texts do not."""
        signs = np.frombuffer(self._joined.encode(), np.uint8)
        plain: Bools = (signs[starts - 1] == _SPACE) & np.isin(signs[starts - 2], _ENDS)
        plain[self._firsts] = True
        return ~plain

    def _naming(self) -> Bools:
        """Which sentences have a name or a figure."""
        signs = np.concatenate((np.zeros(2, np.uint8), self._signs, np.zeros(1, np.uint8)))

        def has(sign: int, ahead: int) -> Bools:
            return (signs[2 + ahead : len(self._signs) + 2 + ahead] & sign) > 0

        capital = has(_CAPITAL, 0) & has(_SOLID, 1) & has(_BLANK, -1) & has(_LEADS_NAME, -2)
        link = has(_LINK, 0) & has(_IN_WORD, 1) & has(_IN_WORD, -1)
        places = np.append(np.flatnonzero(has(_SURE, 0) | capital | link), len(self._joined))
        first = places[np.searchsorted(places, self._begins)]
        found = first < self._ends
        for n in np.flatnonzero(found & (first - self._begins <= 1)).tolist():  # what stands before it may have been looked at
            found[n] = names_something(self._joined[int(self._begins[n]) : int(self._ends[n])])
        return found

    # --- what a text is told ---

    def words_within(self, text: int) -> Callable[[int, int], list[str]]:
        """``lower.joined_words_within`` of a text."""
        row, begun = self.row, self.starts[text]
        return lambda start, end: row[begun + start : begun + end].split()

    def numbered(self, merged: Sequence[int]) -> tuple[Ints, Ints]:
        """The numbers of the words (``lower.words``) of all texts, and how many each statement has.

        Args:
            merged: the sentences that are one statement with the one before.
        """
        parts = self._columns.parts[self._words]
        behind = np.concatenate(([0], np.cumsum(parts)))
        found = np.repeat(self._words, parts)
        several = self._vocabulary.several
        for place in np.flatnonzero(np.isin(self._words, list(several))).tolist() if several else ():
            found[behind[place] : behind[place + 1]] = several[int(self._words[place])]
        first = np.delete(self._from, merged)
        return found, np.diff(np.append(behind[first], len(found)))
