"""The reach of a correction, note or head: the rest of its line, its speaker's last words, a list, figures.

This module pairs a sentence with one that corrects, qualifies or heads it, judging by where the latter stands. The words that
begin a correction are in ``pieces``; corrections of the adjacent sentence are in ``statements``.

`may_correct` checks the whole text once. Each rule looks back a bounded number of sentences: all are linear.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import all_words, lexicon
from turnfold.compression.text.ties.pieces import StatementPiece, before_in_line

Pair = tuple[int, int]

_FARTHEST: Final = 5  # sentences of its line that a correction speaks of at most
_LAST_SAID: Final = 12  # sentences back in which a speaker's last words are looked for
_ITEMS: Final = 24  # items of a list that one note speaks of at most
_NOTE_WORDS: Final = 8  # of a note that is a paragraph of its own
_DENSE_NOTE: Final = 24  # characters, in scripts without blanks
_BLANK_LINE: Final = lazy.pattern(r"\n[ \t]*\n\s*\Z")
_DIGIT: Final = lazy.pattern(r"\d")
_ENDED: Final = lazy.pattern(r"[.。।]\s*\Z")
_HEAD: Final = 120  # characters in which a head inside a line ends
_LABEL_WORDS: Final = 2  # of a label inside a line: "Note:", "Known issue:"
_TITLE_WORDS: Final = 8
_LONGER: Final = 5  # letters of a word that two sentences share
_COLON: Final = lazy.pattern(r"[^\n:：]*[:：](?=\s*\S)")
_LABEL: Final = lazy.pattern(r"[^\n:：.,!?]{1,40}[:：]")
_WEAK: Final = frozenset(("well",))  # begins what limits a little, or nothing
_HEAD_ENDS: Final = (")\n", "）\n")
_IN_BRACKETS: Final = lazy.pattern(r"[^\n=]*[(（][^\n()（）\d=]*[^\W\d_][^\n()（）\d=]*[)）]\n\s*\Z")
_DEMONSTRATIVES: Final = lexicon("ties")["demonstratives"]
_CLOSING_LABELS: Final = lexicon("ties")["outcome-labels"]
_EDITING: Final = lexicon("ties")["editing-labels"]
_EDITOR_WORDS: Final = 3  # of the label of a note in brackets
_FUNCTION_WORDS: Final = all_words("function_words")
_NO_LETTERS: Final = lazy.pattern(r"[\W\d_]+")
_CORRECTING: Final = frozenset(("verdicts", "retracts"))


def may_correct(text: str, pieces: Sequence[StatementPiece]) -> bool:
    """Whether some sentence may be such a correction or note."""
    hints = pieces[0].hints
    return hints.introduces or "amends" in hints.opened or any(map(text.__contains__, ("\n\n", *_HEAD_ENDS)))


def correcting_ties(text: str, pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """Pairs of a sentence and one that it needs; of most texts none."""
    if not may_correct(text, pieces):
        return
    hints = pieces[0].hints
    amends = "amends" in hints.opened
    if amends:
        yield from _in_line(pieces)
    if hints.introduces and (amends or not hints.rare.isdisjoint(_CORRECTING)):
        yield from _of_speaker(pieces)
    if hints.introduces:
        yield from _labelled(text, pieces)
        if not (_CLOSING_LABELS.isdisjoint(hints.distinct) and _EDITING.isdisjoint(hints.distinct)):
            yield from _closed(pieces)
    if "\n\n" in text:
        yield from _noted(pieces)
    if any(map(text.__contains__, _HEAD_ENDS)):
        yield from _under_units(pieces)


def _corrects(piece: StatementPiece) -> bool:
    return not (piece.kind or piece.item) and bool(piece.opens.get("amends")) and piece.amends and piece.said[0] not in _WEAK


def _in_line(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """ "Delete all backups. The list is in the wiki. Edit: except those of May.": the sentences of the line before it."""
    for i, piece in enumerate(pieces):
        if piece.starts_line or "amends" not in piece.opens or not _corrects(piece) or not _LABEL.match(piece.body):
            continue
        for k in range(i - 1, max(-1, i - 1 - _FARTHEST), -1):
            if pieces[k].kind:
                break
            yield k, i
            if pieces[k].starts_line:
                break


def _closed(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """ "Every team gets a budget. ... Status: withdrawn.", "[Editor's note: the clock was slow.]": the line before it."""
    for i, piece in enumerate(pieces):
        if piece.starts_line or piece.kind or not (label := _LABEL.match(piece.body)):
            continue
        words = label[0].lower().rstrip(":： ").split()
        if words[0] in _CLOSING_LABELS or (piece.text[0] in "([（" and not _EDITING.isdisjoint(words[:_EDITOR_WORDS])):
            yield from ((k, i) for k in before_in_line(pieces, i, _FARTHEST))


def _of_speaker(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """ "lea: The demo is on Thursday.", "max: Booked.", "lea: Sorry, wrong week.": a speaker's correction and last words."""
    for i, piece in enumerate(pieces[1:], start=1):
        if piece.kind or pieces[i - 1].kind != "label" or not (_corrects(piece) or piece.takes_back):
            continue
        speaker = _speaker(pieces[i - 1])
        k = i - 2
        while k >= max(0, i - _LAST_SAID) and not (pieces[k].kind == "label" and _speaker(pieces[k]) == speaker):
            k -= 1
        if k < max(0, i - _LAST_SAID):
            continue
        for said in range(k + 1, i - 1):
            if pieces[said].kind:
                break
            yield said, i


def _speaker(label: StatementPiece) -> str:
    """The letters of a speaker's name, without the time before it."""
    return _NO_LETTERS.sub("", label.text)


def _noted(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """A list's items with figures, and a short sentence that is the whole paragraph below them: "Chiffres non audités."."""
    first = -1
    for i, piece in enumerate(pieces):
        if piece.item:
            first = i if first < 0 else first
        elif piece.starts_line or piece.kind:
            if first >= 0 and _is_note(pieces, i):
                yield from ((k, i) for k in range(max(first, i - _ITEMS), i) if _DIGIT.search(pieces[k].text))
            first = -1


def _is_note(pieces: Sequence[StatementPiece], i: int) -> bool:
    piece = pieces[i]
    if piece.kind or not _ENDED.search(piece.text) or _DIGIT.search(piece.text):
        return False
    if len(piece.said) > _NOTE_WORDS or (piece.dense and len(piece.text) > _DENSE_NOTE):
        return False
    return i + 1 == len(pieces) or _BLANK_LINE.search(piece.text[-40:]) is not None


def _labelled(text: str, pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """ "Take 5 mg of it daily. ... Note: it was stopped." and what the line says of the same before; "Old rules (no longer in
    force): ..." and the rest of its line."""
    hints = pieces[0].hints
    ascii_only, may_head = hints.ascii, bool(hints.rare) or not _DEMONSTRATIVES.isdisjoint(hints.distinct)
    for i, piece in enumerate(pieces):
        if piece.starts_line and (piece.item or not may_head):
            continue
        start = piece.span.start
        if text.find(":", start, start + _HEAD) < 0 and (ascii_only or text.find("：", start, start + _HEAD) < 0):
            continue  # most
        if piece.kind or not (head := _COLON.match(piece.body[:_HEAD])):
            continue
        if piece.starts_line:
            if _heads(piece, head[0]):
                yield from ((k, i) for k in _rest_of_line(pieces, i))
        elif len(head[0].split()) <= _LABEL_WORDS and not _DIGIT.search(head[0]):
            yield from ((k, i) for k in _named_before(pieces, i, head[0]))


def _named_before(pieces: Sequence[StatementPiece], i: int, label: str) -> Iterator[int]:
    """The sentences before it in its line that have a longer word of it, up to an entry with the same label."""
    about = _longer(pieces[i])
    for k in range(i - 1, max(-1, i - 1 - _FARTHEST), -1):
        if pieces[k].kind or pieces[k].body.startswith(label):
            return
        if not about.isdisjoint(_longer(pieces[k])):
            yield k
        if pieces[k].starts_line:
            return


def _heads(piece: StatementPiece, head: str) -> bool:
    """Whether the text before the colon says how to take the rest of the line."""
    words = head.lower().strip(":： ").split()
    if len(words) <= _LABEL_WORDS:
        return False
    return not _DEMONSTRATIVES.isdisjoint(words[-_LABEL_WORDS - 1 :]) or (
        bool(piece.hints.rare) and next(piece.rare_lists(), "") != ""
    )


def _rest_of_line(pieces: Sequence[StatementPiece], i: int) -> Iterator[int]:
    """The next sentences of the line, up to the next one with a colon."""
    for k in range(i + 1, min(len(pieces), i + 1 + _FARTHEST)):
        if pieces[k].starts_line or pieces[k].kind or _COLON.match(pieces[k].body[:_HEAD]):
            return
        yield k


def _longer(piece: StatementPiece) -> set[str]:
    return {word for word in piece.said if len(word) >= _LONGER and word.isalpha()} - _FUNCTION_WORDS


def _under_units(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """ "Bilanz der Nordwerk AG (in Tsd. Euro)" and the lines with figures in the paragraph below it."""
    for i, title in enumerate(pieces):
        if (
            title.kind
            or title.item
            or not title.starts_line
            or len(title.said) > _TITLE_WORDS
            or not _IN_BRACKETS.match(title.text)
        ):
            continue
        for k in range(i + 1, min(len(pieces), i + 1 + _ITEMS)):
            if pieces[k].kind == "heading":
                break
            if _DIGIT.search(pieces[k].text):
                yield k, i
            if _BLANK_LINE.search(pieces[k].text[-40:]):
                break
