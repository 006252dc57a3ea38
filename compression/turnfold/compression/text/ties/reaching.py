"""Sentences about several others: their unit, their sum, the chosen option, the outcome of a program.

This module pairs a sentence with one beyond its neighbours that it refers to. Ties to the adjacent sentence by its first words
are in ``near``; titles, notes and moods are in ``farther``.

Each rule first looks for its sign in the whole text, then at a bounded number of sentences around each sign: all are linear.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.spans import STOPS
from turnfold.compression.text.ties.cues import CUES
from turnfold.compression.text.ties.pieces import StatementPiece

Pair = tuple[int, int]

_TIES: Final = lexicon("ties")
_MEASURES: Final = _TIES["measures"]
_DENSE_MEASURES: Final = tuple(_TIES["measures-run-on"])
_ELLIPSES: Final = _TIES["ellipses"]
_POSITIONS: Final = _TIES["positions"]
_MEASURE_WORDS: Final = 11
_DETAIL_WORDS: Final = 6  # of a short addition to a claim
_DETAIL_ABOUT_IT: Final = 12  # of one that begins with a pronoun
_SUBJECT: Final = 2  # words within which it names the measure
_NEAR: Final = 4  # sentences beside it whose figures have the measure
_ANSWER_WORDS: Final = 4
_MOST_ITEMS: Final = 6
_ITEM_WORDS: Final = 8
_OPTIONS: Final = 12  # that a decision may be about at most
_BEHIND: Final = 3  # sentences behind the options in which it is looked for
_DECISION_WORDS: Final = 12
_NAMED_EARLY: Final = 3  # words within which it names an option that is called by a word
_FEW: Final = 3
_TALLY_WORDS: Final = 5
_FIGURES: Final = lazy.pattern(r"(?<![\d.,])[.,]*+\d[\d.,]*(?: ?([^\W\d_]{1,3}\b|[%€$£°]))")
_FIGURE: Final = lazy.pattern(r"\d")
_YEAR: Final = lazy.pattern(r"\b(?:1[89]|20)\d\d\b")
_ASKING: Final = lazy.pattern("[?？؟]")
_BLANK_LINE: Final = lazy.pattern(r"\n[ \t]*\n\s*\Z")
#: "Option B keeps", "Plan 2: close", "B) keep", "(2) keep", "- Gold: sell".
_OPTION: Final = lazy.pattern(r"[^\W\d_]{3,12} (?P<called>[A-H]|\d)\b|(?:[-*+•] )?(?P<named>[^\W\d_]\w{2,15}): ")
_HAS_SECOND, _MEASURED, _CHOOSES = CUES["second-options"], CUES["measures"], CUES["choosing"]
_MARKER: Final = lazy.pattern(r"[ \t]*\(?([A-Ha-h]|\d{1,2})[.)]")
_LETTER: Final = lazy.pattern(r"(?<![\w.])(?:[B-H]|A(?!\s[^\W\d_A-Z]))(?![\w.']\w)")
_COUNTED: Final = lazy.pattern(r"\b([^\W\d_]{2,12}) (\d{1,2})\b(?![.,:]\d)")
_ALSO: Final = lazy.pattern(r"(?<=\d) (?:and|or|&|und|oder|et|ou|y|o|e|en|of|i|lub|и|или|och|eller|ve|veya) (\d{1,2})\b")
_ENDED: Final = lazy.pattern(rf"[.!?…。！？{STOPS}]\S{{0,2}}\s*\Z")
_FEWEST_LINES: Final = 6  # of an output
_VARYING: Final = lazy.pattern(r"\d[\da-f]*|\W+")


def reaching_ties(text: str, pieces: Sequence[StatementPiece]) -> list[Pair]:
    """Pairs of a sentence and one that it needs."""
    found: list[Pair] = []
    hints = pieces[0].hints
    telling = [i for i, piece in enumerate(pieces) if not piece.stands_alone]  # few of most texts
    if telling:
        found += [*_answered(pieces, telling), *_corrected(pieces, telling)]
        if hints.held & _HAS_SECOND or ("\n" in text and True in [pieces[i].item for i in telling]):
            found += _decided(pieces)
        if hints.introduces and "\n" in text:
            found += _tallied(pieces)
    if "counts" in hints.opened:
        found += _counted(pieces)
    if hints.dense or hints.held & _MEASURED:
        found += _measured(pieces)
    if hints.held & _CHOOSES:
        found += _chosen(pieces)
    if text.count("\n") >= _FEWEST_LINES:
        found += _concluded(pieces)
    return found


def limited_too(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    """The sentence before the last, where what limits the last may limit both: the last is a short addition in the same line."""
    if i < 2:
        return
    claim, detail, last = pieces[i - 2 : i + 1]
    is_short = len(detail.said) <= (_DETAIL_ABOUT_IT if "pronouns" in detail.opens else _DETAIL_WORDS)
    if is_short and not (last.starts_line or detail.starts_line or claim.kind or detail.kind or claim.asks or detail.asks):
        yield i - 2, i


def _counted(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """ "First, ...", "Second, ..." and the sentence in front of the first of them."""
    anchor = -1
    for i, piece in enumerate(pieces):
        if piece.kind:
            anchor = -1
        elif "counts" in piece.opens:
            anchor = i - 1 if anchor < 0 else anchor
            if anchor >= 0:
                yield i, anchor


def _measured(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """ "Revenue was 812." and "Figures are in millions.": the sentences near it in the paragraph that have figures."""
    hints = pieces[0].hints
    asked = range(len(pieces)) if hints.dense else [i for i, bits in enumerate(hints.cues) if bits & _MEASURED]
    for i in asked:
        if not _tells_measure(pieces[i]):
            continue
        for k in range(i + 1, min(len(pieces), i + 1 + _NEAR)):
            if pieces[k].kind == "heading" or _BLANK_LINE.search(pieces[k - 1].tail(40)):
                break
            if _FIGURE.search(pieces[k].text):
                yield k, i
        for k in range(i - 1, max(-1, i - 1 - _NEAR), -1):
            if pieces[k].kind == "heading" or _BLANK_LINE.search(pieces[k].tail(40)):
                break
            if _FIGURE.search(pieces[k].text):
                yield k, i


def _tells_measure(piece: StatementPiece) -> bool:
    if piece.kind or len(piece.said) > _MEASURE_WORDS or piece.item:
        return False
    if piece.dense:
        body = piece.body
        measures = len(body) < 3 * _MEASURE_WORDS and any(map(body[:_MEASURE_WORDS].__contains__, _DENSE_MEASURES))
    else:
        measures = not _MEASURES.isdisjoint(piece.said[:_SUBJECT])
    return measures and not piece.asks and not _FIGURE.search(_YEAR.sub("", piece.text))


def _answered(pieces: Sequence[StatementPiece], telling: Sequence[int]) -> Iterator[Pair]:
    """A question, and the "No." or the few short points that answer it."""
    for i in telling:
        piece = pieces[i]
        if piece.kind or not i or not (piece.item or len(piece.said) <= _ANSWER_WORDS or "answers" in piece.opens):
            continue
        if not (_is_short_point(piece) if piece.item else _answers(piece)):
            continue
        k = i - 1
        while k > max(0, i - _MOST_ITEMS) and (pieces[k].kind == "label" or (piece.item and _is_short_point(pieces[k]))):
            k -= 1
        if not pieces[k].kind and _ASKING.search(pieces[k].tail(6)) and pieces[k].asks:
            yield k, i


def _is_short_point(piece: StatementPiece) -> bool:
    return piece.item and len(piece.said) <= _ITEM_WORDS and not piece.asks


def _answers(piece: StatementPiece) -> bool:
    if piece.asks or not piece.said:
        return False
    if len(piece.said) > _ITEM_WORDS:
        return False
    return piece.answers or (len(piece.said) <= _ANSWER_WORDS and piece.said[-1] in _ELLIPSES)


def _decided(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """Options distinguished by letters, numbers or names, and the sentence after them that says which one is chosen."""
    options: dict[str, int] = {}
    last = 0
    for i, piece in enumerate(pieces):
        if piece.kind or i - last > _BEHIND:
            options = {}
        marker = "" if piece.kind else _marker(piece)
        if marker:
            options = options if marker not in options and len(options) < _OPTIONS else {}
            options[marker] = i
        elif len(options) > 1 and len(piece.said) <= _DECISION_WORDS:
            yield from ((options[named], i) for named in _mentioned(piece) if named in options)
        last = i if marker else last


def _marker(piece: StatementPiece) -> str:
    """The letter, number or name by which an option is called, "" for none."""
    if piece.item and (marked := _MARKER.match(piece.text)):
        return marked[1].upper()
    found = _OPTION.match(piece.text if piece.item else piece.body)
    if not found:
        return ""
    return found["called"] or (found["named"].lower() if piece.item else "")


def _mentioned(piece: StatementPiece) -> Iterator[str]:
    yield from _LETTER.findall(piece.text)
    yield from (word for word in piece.said[:_NAMED_EARLY] if not word.isdigit())
    for found in _COUNTED.finditer(piece.text):
        if found[1].lower() in _POSITIONS:
            yield found[2]
            if also := _ALSO.match(piece.text, found.end()):
                yield also[1]


def _chosen(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """Two sentences, and the one behind them that tells them apart by their order alone: "We hire the latter."."""
    for i in [i for i, bits in enumerate(pieces[0].hints.cues) if bits & _CHOOSES and i > 1]:
        if len(pieces[i].said) <= _DECISION_WORDS and not pieces[i].kind:
            yield from ((k, i) for k in (i - 2, i - 1) if not pieces[k].kind)


def _corrected(pieces: Sequence[StatementPiece], telling: Sequence[int]) -> Iterator[Pair]:
    """ "The budget is 300k." and "It's 230k.", a figure with the same unit and nothing else; "4 for, 19 against."."""
    for i in telling:
        piece = pieces[i]
        if not i or len(piece.said) > _TALLY_WORDS or piece.starts_line or piece.kind or piece.item:
            continue
        if piece.body[:1].isdigit():
            if not pieces[i - 1].kind:
                yield i - 1, i
        elif len(piece.said) <= _FEW and (unit := _unit(piece)):
            for k in range(i - 1, max(-1, i - 1 - _NEAR), -1):
                if pieces[k].kind or unit in _FIGURES.findall(pieces[k].text):
                    if not pieces[k].kind:
                        yield k, i
                    break
                if pieces[k].starts_line:
                    break


def _unit(piece: StatementPiece) -> str:
    """The sign or letters with the one figure in it, "" without."""
    found = _FIGURES.findall(piece.text)
    return found[0] if len(found) == 1 else ""


def _tallied(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """A line, and the figures close below it, each behind its label: "For: 3", "Against: 11"."""
    for i, piece in enumerate(pieces):
        if piece.kind or i + 4 >= len(pieces) or pieces[i + 1].kind != "label":
            continue
        if piece.said and not piece.text.strip().isdigit():
            k = i + 2
            while k < len(pieces) and pieces[k - 1].kind == "label" and pieces[k].text.strip().isdigit() and k <= i + _OPTIONS:
                k += 2
            yield from ((i, tally) for tally in range(i + 2, k, 2) if k > i + 4)


def _concluded(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """Lines of an output, and its first and its last line where these are unlike the others: "dry run", "exit status 1"."""
    first = 0
    for i in range(1, len(pieces) + 1):
        if i < len(pieces) and _continues(pieces, i):
            continue
        if i - first >= _FEWEST_LINES:
            for verdict in telling_ends([piece.text.rstrip("\n") for piece in pieces[first:i]]):
                yield from ((k, first + verdict) for k in range(first, i) if k != first + verdict)
        first = i


def _continues(pieces: Sequence[StatementPiece], i: int) -> bool:
    """Whether it may be one more line of the same output."""
    piece = pieces[i]
    return piece.starts_line and not (piece.kind or piece.item or _BLANK_LINE.search(pieces[i - 1].tail(40)))


def telling_ends(lines: Sequence[str]) -> list[int]:
    """Which of the first and last line of an output says something about all of it: a few words with a beginning that no other
    line has, while the other lines have few forms.
    """
    if len(lines) < _FEWEST_LINES or sum(_ENDED.search(line) is not None for line in lines) * 3 > len(lines):
        return []
    begun = [_first_word(line) for line in lines]
    if len(set(begun)) * 2 > len(lines):
        return []
    ends = {0, len(lines) - 1}
    return [i for i in sorted(ends) if begun[i] and begun.count(begun[i]) == 1 and _is_prose(lines[i])]


def _first_word(line: str) -> str:
    return _VARYING.sub("#", line.split(" ", 1)[0].lower())[:20]


def _is_prose(line: str) -> bool:
    """Whether a line has some words and little else."""
    said = [word for word in line.split() if word.strip("().,:;!#\"'").isalpha()]
    return len(line) <= 120 and not line.rstrip().endswith(":") and len(said) >= 2 and len(said) * 2 >= len(line.split())
