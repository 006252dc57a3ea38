"""Distant text that a sentence needs: titles, notes, postscripts, moods, other lines on the same thing.

This module pairs a sentence with one that it needs, judging by the structure of a text rather than by its words. The properties
of one sentence are in ``pieces``; ties by a sentence's own first words are in ``near``.

Each rule first looks for its sign in the whole text, then at a bounded number of sentences around each sign: all are linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.heads import REMARK, SECTION, SETTING
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.spans import STOPS
from turnfold.compression.text.ties.cues import CUES, LISTED
from turnfold.compression.text.ties.pieces import StatementPiece
from turnfold.compression.text.ties.reaching import limited_too

Pair = tuple[int, int]

_TIES: Final = lexicon("ties")
_TITLE_WORDS: Final = 8
_FEW_WORDS: Final = 2  # of a line above two more that is their title whatever they are
_NUMBER: Final = lazy.pattern(r"[ \t(]*\d[\d.]*[.)]? (?=[^\W\d_])")
_FULL_WORDS: Final = 3  # of a line below a numbered title
_NOTE_WORDS: Final = 30  # of a note behind a list or a table, or of a postscript
_FARTHEST: Final = 12  # sentences that one note or postscript speaks of at most
_FOLLOW_WORDS: Final = 9
_FOLLOW_DENSE: Final = 20
#: Two of them in a text tell German, where every noun has a capital.
_GERMAN: Final = frozenset(("der", "die", "das", "und", "ist", "ein", "nicht"))
_CODE: Final = lazy.pattern(r"\b[12]\d{3}\b|\w[_/@]\w|`|[^\W\d_][.][^\W\d_]|\w[a-z][A-Z]|[^\W\d_]\d|\d[^\W\d_]")
_LIMITING: Final = _TIES["going-on"]
_PLACES: Final = _TIES["places"]
_PRONOUNS: Final = frozenset(LISTED["pronouns"])
_DEMONSTRATIVES: Final = _TIES["demonstratives"] | {"that"}
_TIMES: Final = _TIES["times"]
_STOPS: Final = frozenset(".。")
_FIRST_PERSONS: Final = _TIES["first-persons"]
_UPPER: Final = "".join(chr(c) for c in (*range(0x41, 0x590), *range(0x1E00, 0x2000)) if chr(c).isupper())
_NAME: Final = lazy.pattern(rf"[{_UPPER}](?<=[\w,;:] .)[^\W_]+")
_CONTRAST_WORDS: Final = 14
_LITTLE: Final = 5  # words of a claim that is too small to have exceptions further on
_FEW: Final = 3  # words of a line that puts a figure right
_DIGIT: Final = lazy.pattern(r"\d")
_NEAR_START: Final = 4  # words within which a sentence names what it is about
_NOT_ENDED: Final = lazy.pattern(rf"[^\s.!?:;,…。！？：；，{STOPS}]\s*\Z")
_BLANK_LINE: Final = lazy.pattern(r"\n[ \t]*\n\s*\Z")
_NOTE: Final = lazy.pattern(r"[ \t]*\\?(\*{1,3}|[†‡¹²³⁴⁵⁶⁷⁸⁹]|\(\d\)|\[\^\w{1,3}\])(?![*]):?[ \t]*(?=\w)")
#: Begins with one class, which the regex engine finds fast.
_MAY_NOTE: Final = lazy.pattern(
    r"[†‡¹²³⁴⁵⁶⁷⁸⁹(\[*](?:(?<=[†‡¹²³⁴⁵⁶⁷⁸⁹])|(?:(?<=\w\()|(?<=\w \())\d\)|(?<=\[)\^|(?<=[\w.,;)%]\*)|(?<=\w \*))"
)
#: "*412", "meant*": a word that takes the place of one before, alone in its line.
_CORRECTS: Final = lazy.pattern(r"[ \t]*(?:\*[^\s*]+(?: [^\s*]+){0,3}|[^\s*]+(?: [^\s*]+){0,2}\*)\s*\Z")
_BULLET: Final = lazy.pattern(r"[ \t]*\*[ \t]")
_MOODS: Final = _TIES["moods"]
_REMAINING: Final = _TIES["remaining"]
_MOOD_ENDS: Final = lazy.pattern(r"\w(?:rait|raient|ría|rían|ríamos|rebbe|rebbero|riam|łby|łaby|łoby|liby|łyby)\b")
_MAY_MOOD: Final = ("rait", "raient", "ría", "rebbe", "riam", "łby", "łaby", "łoby", "liby")
_SUPPOSING: Final = _TIES["conditions-inside"]
_UNIVERSAL: Final = _TIES["universal"]
_EXCEPTIONS: Final = _TIES["exceptions"]
_NEGATIVE, _ONLY = _TIES["negative"], _TIES["only"]
_POINTING: Final = _TIES["anaphors"] | {"that", "him", "her"}
_REPLY_WORDS: Final = 10  # words within which a reply says what it denies
_MOOD, _DENIES, _FOLLOWS_UP = CUES["moods"], CUES["negative"], CUES["following-up"]
_TABLES: Final = frozenset({"table", "csv"})
_OUTPUTS: Final = frozenset({"log", "plain", "tests"})


def farther_ties(text: str, pieces: Sequence[StatementPiece]) -> list[Pair]:
    """Pairs of a sentence and one that it needs."""
    found: list[Pair] = []
    hints = pieces[0].hints
    if "\n" in text:
        found += [*_under_titles(pieces), *_beside_blocks(pieces), *_with_tails(pieces), *_amended(pieces), *_objected(pieces)]
        if _MAY_NOTE.search(text):
            found += _footnoted(pieces)
        if ">" in text:
            found += _rebutted(pieces)
    ends = any(map(text.__contains__, _MAY_MOOD))
    if ends or hints.held & _MOOD:
        found += _in_mood(pieces, ends=ends)
    if hints.held & _DENIES:
        found += _contrasted(pieces)
    if hints.dense or hints.held & _FOLLOWS_UP:
        found += _followed_up(pieces)
    return found


def _ends_paragraph(piece: StatementPiece) -> bool:
    return _BLANK_LINE.search(piece.text[-40:]) is not None


def _is_title(pieces: Sequence[StatementPiece], i: int) -> bool:
    """Whether it is a short line without an end above a paragraph: "Old plan", "4. Repairs", "May I bring a dog?"."""
    piece, below = pieces[i], pieces[i + 1]
    if not piece.starts_line or piece.kind or not 0 < len(piece.said) <= _TITLE_WORDS or piece.text[0] == "[":
        return False
    if not piece.text.endswith("\n") or not below.starts_line or below.kind in ("heading", "label"):
        return False
    if i and pieces[i - 1].kind != "heading" and not _ends_paragraph(pieces[i - 1]):
        return False
    is_close = not _ends_paragraph(piece)
    if piece.item or not _NOT_ENDED.search(piece.text):
        heads_text = is_close and not (below.item or below.kind) and (piece.asks or _is_numbered_title(piece, below))
        return heads_text or (piece.asks and below.item and not piece.item)
    if below.kind or below.item or len(below.said) > _TITLE_WORDS or not _NOT_ENDED.search(below.text):
        return True
    names = len(piece.said) <= _FEW_WORDS and piece.text.rstrip()[-1:].isalpha()
    return names and is_close and not _ends_paragraph(below)


def _is_numbered_title(piece: StatementPiece, below: StatementPiece) -> bool:
    """Whether it is no item of a list that goes on in the next line: "4. Repairs", "(3) Haftung"."""
    number = _NUMBER.match(piece.text)
    if number is None or piece.text[number.end()].islower() or ": " in piece.text or len(below.said) < _FULL_WORDS:
        return False
    return _NOT_ENDED.search(piece.text) is not None


def _is_section(pieces: Sequence[StatementPiece], i: int) -> bool:
    """Whether it names a section of settings, or of the lines just below: "[production]", "[Chorus – both]"."""
    if not SECTION.match(pieces[i].text) or i + 1 == len(pieces):
        return False
    return not _ends_paragraph(pieces[i]) or SETTING.match(pieces[i + 1].text) is not None


def _under_titles(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """The text below a title, up to the next one. A title just above its paragraph is that paragraph's alone."""
    title, close, listed = -1, False, False
    for i, piece in enumerate(pieces):
        if piece.kind == "heading" or (listed and piece.starts_line and not piece.item):
            title, listed = -1, False
        if piece.starts_line and piece.text[0] == "[" and _is_section(pieces, i):
            title, close, listed = i, not SETTING.match(pieces[i + 1].text), False
        elif piece.kind != "heading" and i + 1 < len(pieces) and _is_title(pieces, i):
            title, close, listed = i, not _ends_paragraph(piece), pieces[i + 1].item
        elif title >= 0:
            yield i, title
            title = -1 if close and not listed and _ends_paragraph(piece) else title


def _beside_blocks(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """A block and the remark close above it; a table and the note below it that speaks of what its head names."""
    for i, piece in enumerate(pieces):
        if not piece.kind or piece.kind in ("heading", "label"):
            continue
        above = pieces[i - 1] if i else piece
        if not above.kind and above.starts_line and REMARK.match(above.text) and not _ends_paragraph(above):
            yield i, i - 1
        if i + 1 < len(pieces) and (
            _is_note_on(pieces[i + 1], piece) if piece.kind in _TABLES else _concludes(pieces[i + 1], piece)
        ):
            yield i, i + 1
            yield from ((i, k) for k in _rest_of_line(pieces, i + 1))


def _concludes(line: StatementPiece, output: StatementPiece) -> bool:
    """Whether it is a short line close below what a program wrote."""
    if output.kind not in _OUTPUTS or line.kind or line.item or not line.starts_line:
        return False
    return len(line.said) <= _NOTE_WORDS // 2 and not _ends_paragraph(output)


def _is_note_on(note: StatementPiece, table: StatementPiece) -> bool:
    if note.kind or note.item or not note.starts_line or len(note.said) > _NOTE_WORDS:
        return False
    head = table.text.lower()[:400].split("\n")[0]
    return note.text[0] in "(*†‡" or note.frames or any(len(word) > 3 and word[:-1] in head for word in note.said)


def _rest_of_line(pieces: Sequence[StatementPiece], i: int) -> list[int]:
    """The next few sentences of the line."""
    found: list[int] = []
    for k in range(i + 1, min(len(pieces), i + 4)):
        if pieces[k].starts_line or pieces[k].kind:
            break
        found.append(k)
    return found


def _with_tails(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """Items of a list and its last one, or the line behind it, that limits them all; items that a later one takes back."""
    first = -1
    for i, piece in enumerate(pieces):
        if piece.item:
            first = i if first < 0 else first
            if _reverses(piece) and (i + 1 == len(pieces) or not pieces[i + 1].item):
                yield from ((k, i) for k in range(max(first, i - _FARTHEST), i))
            elif piece.holds_rare("revokes"):
                yield from ((k, i) for k in range(max(first, i - _FARTHEST), i) if _says_the_same(pieces[k], piece))
        elif piece.starts_line or piece.kind:
            if first >= 0:
                remaining = [
                    j
                    for j in (i, *_rest_of_line(pieces, i))
                    if not pieces[j].kind and not _REMAINING.isdisjoint(pieces[j].said[:4])
                ]
                if _ends_list(pieces, i):
                    remaining.append(i)
                yield from ((k, j) for k in range(max(first, i - 2 * _FARTHEST), i) for j in remaining)
            first = -1


def _ends_list(pieces: Sequence[StatementPiece], i: int) -> bool:
    """Whether a line after a list is about it: it follows directly, or begins with an exception."""
    piece = pieces[i]
    if piece.kind or len(piece.said) > _NOTE_WORDS or piece.text.rstrip().endswith((":", "：")):
        return False
    return not _ends_paragraph(pieces[i - 1]) or _reverses(piece)


def _reverses(piece: StatementPiece) -> bool:
    """Whether it begins with an exception, or with a word for none of several things."""
    return (
        bool(piece.said)
        and not piece.asks
        and ("restricts" in piece.opens or piece.said[0] in ("none", "nothing") or piece.holds_rare("back"))
    )


def _says_the_same(one: StatementPiece, other: StatementPiece) -> bool:
    """Whether two lines share most of their longer words."""
    mine, theirs = ({word for word in piece.said if len(word) > 3} for piece in (one, other))
    return len(mine & theirs) >= max(2, len(mine) // 2)


def _amended(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """What is said before a postscript, or a line that begins with "Update:"."""
    if "amends" not in pieces[0].hints.opened:
        return
    for i, piece in enumerate(pieces):
        if (
            not piece.starts_line
            or piece.kind
            or not piece.opens.get("amends")
            or not piece.amends
            or (piece.item and piece.said[0] != "p")
        ):
            continue
        added = [i, *_rest_of_line(pieces, i)]
        for k in range(i - 1, max(-1, i - 1 - _FARTHEST), -1):
            if pieces[k].kind in ("heading", "label"):
                break
            yield from ((k, j) for j in added)


def _objected(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """What one speaker says and the next one's line that objects to it or puts it right."""
    if "label" not in {piece.kind for piece in pieces}:
        return
    said = -1
    for i, piece in enumerate(pieces):
        if piece.kind:
            said = said if piece.kind == "label" else -1
            continue
        if said >= 0 and pieces[i - 1].kind == "label" and not pieces[said].asks and _denies(piece, pieces[said]):
            yield said, i
        said = i


def _rebutted(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """Quoted lines ("> ...") and the reply right behind them that denies or answers them."""
    quoted: list[int] = []
    for i, piece in enumerate(pieces):
        if (piece.starts_line and piece.text.startswith(">")) or (quoted and not piece.starts_line):
            quoted.append(i)
        elif quoted:
            if not (piece.kind or piece.item):
                reply = [i, *_rest_of_line(pieces, i)[: piece.is_short]]
                yield from ((k, j) for k in quoted[-_FARTHEST:] if not pieces[k].kind for j in reply)
            quoted.clear()


def _denies(piece: StatementPiece, before: StatementPiece) -> bool:
    """Whether what one speaker says contradicts what another one said, or puts its figure right."""
    if len(piece.said) <= _FEW and _DIGIT.search(piece.text) and _DIGIT.search(before.text):
        return True
    if "objects" in piece.opens or "restricts" in piece.opens or _CORRECTS.match(piece.text):
        return True
    if not _NEGATIVE.isdisjoint(piece.said[:3]):
        return True
    begin = piece.said[:_REPLY_WORDS]
    return not (_NEGATIVE.isdisjoint(begin) and _ONLY.isdisjoint(begin)) and (
        not _POINTING.isdisjoint(begin) or piece.shares_words(before)
    )


def _footnoted(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """ "3.4 mg of lead.*" and the line below that begins with the same mark."""
    for i, note in enumerate(pieces):
        if (
            not i
            or not note.starts_line
            or note.kind
            or not (mark := _NOTE.match(note.text))
            or not _is_apart(note.text, mark[1])
        ):
            continue
        behind = r"\w" if mark[1][0] == "*" else r"\S"  # a star behind a sign may be a list's, or multiply
        use = re.compile(rf"(?:(?<=[\w.,;)%\"”✓✔✗✘✅❌])|(?<={behind} )){re.escape(mark[1])}(?![\w*])")
        for k in range(i - 1, max(-1, i - 1 - 2 * _FARTHEST), -1):
            said = pieces[k].text
            if mark[1] in said and use.search(said) and _is_apart(said, mark[1]):
                yield k, i
                if not pieces[k].kind:
                    yield i, k


def _is_apart(said: str, mark: str) -> bool:
    """Whether stars do not come in pairs, as around stressed words; a list's bullet does not count where words are marked."""
    if mark[0] != "*":
        return True
    return (said.count(mark) - bool(_BULLET.match(said) and said.count("*") > 1)) % 2 == 1


def _in_mood(pieces: Sequence[StatementPiece], *, ends: bool) -> Iterator[Pair]:
    """ "The tram would run all night." and the sentence before it that says under which condition; "A flat in Rome.", which goes
    on with it; `ends` is whether some word may tell its mood by its ending."""
    asked = range(len(pieces)) if ends else [i for i, bits in enumerate(pieces[0].hints.cues) if bits & _MOOD]
    for i in asked:
        piece = pieces[i]
        if not i or piece.kind or piece.starts_line or not (_has_mood(piece, ends=ends) and _SUPPOSING.isdisjoint(piece.said)):
            continue
        before = pieces[i - 1]
        if not before.kind and (
            not _SUPPOSING.isdisjoint(before.said) or _has_mood(before, ends=ends) or "supposes" in before.opens
        ):
            yield i, i - 1
            yield from _fragments_behind(pieces, i)


def _fragments_behind(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    """The next sentences of the line, as long as they are of a few words, each with the one before it."""
    for k in range(i + 1, min(len(pieces), i + 4)):
        piece = pieces[k]
        if piece.starts_line or piece.kind or piece.asks or not 0 < len(piece.said) <= _FEW:
            return
        yield k, k - 1


def _has_mood(piece: StatementPiece, *, ends: bool) -> bool:
    """Whether a word of it is in a mood of what is not so."""
    return not _MOODS.isdisjoint(piece.said) or (ends and _MOOD_ENDS.search(piece.text) is not None)


def _followed_up(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """A claim, and a short sentence right behind it that names nothing else and has a word for a limit, a change or an end."""
    hints = pieces[0].hints
    asked = [i for i, bits in enumerate(hints.cues) if i and (bits & _FOLLOWS_UP or hints.dense)]
    for i in [i for i in asked if 0 < len(pieces[i].said) <= _FOLLOW_WORDS]:
        piece, before = pieces[i], pieces[i - 1]
        if _limits_it(piece) and not (before.kind or before.asks or before.holds_rare("revokes")):
            yield i - 1, i
            yield from limited_too(pieces, i)


def _limits_it(piece: StatementPiece) -> bool:
    said = piece.said
    if piece.starts_line or piece.kind or piece.item:
        return False
    if _LIMITING.isdisjoint(said) and not _is_placed(said) and not piece.limits_dense:
        return False
    if (
        piece.text.rstrip()[-1:] not in _STOPS
        or not _FIRST_PERSONS.isdisjoint(said)
        or (piece.dense and len(piece.body) > _FOLLOW_DENSE)
    ):
        return False
    if _CODE.search(piece.body):
        return False
    return all(name.lower() in _TIMES for name in _NAME.findall(piece.body)) or len(_GERMAN & piece.hints.distinct) > 1


def _is_placed(said: Sequence[str]) -> bool:
    """Whether it begins with a place or time that what was said before tells: "Above that, ...", "Before you do", or is little
    more than a time: "On Sundays every thirty."."""
    if said[0] not in _PLACES:
        return False
    if len(said) <= _LITTLE and not _TIMES.isdisjoint(said[1:2]):
        return True
    return not (_PRONOUNS.isdisjoint(said[1:]) and _DEMONSTRATIVES.isdisjoint(said[1:2]))


def _contrasted(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """ "All rooms have a balcony." and "Rooms 101 to 109 don't.": the next sentence denies something of the same thing."""
    denying = [i for i, bits in enumerate(pieces[0].hints.cues) if bits & _DENIES]
    for i in [i for i in denying if i and len(pieces[i].said) <= _CONTRAST_WORDS]:
        piece, before = pieces[i], pieces[i - 1]
        if piece.kind or piece.item or piece.starts_line or before.kind or piece.asks or before.asks:
            continue
        about = _stems(piece.said[:_NEAR_START])
        remaining = _stems(before.said)
        if (
            not about.isdisjoint(remaining)
            or not _UNIVERSAL.isdisjoint(before.said)
            or not remaining.isdisjoint(_denied(piece.said))
        ):
            yield i - 1, i
            yield from limited_too(pieces, i)
            if not _EXCEPTIONS.isdisjoint(piece.said):
                yield i, i - 1
        elif i > 1 and len(pieces[i - 2].said) > _LITTLE and not _UNIVERSAL.isdisjoint(pieces[i - 2].said):
            yield from limited_too(pieces, i)
        if (
            i > 1
            and not (pieces[i - 2].kind or before.starts_line or pieces[i - 2].asks)
            and len(_stems(piece.said) & _stems(pieces[i - 2].said)) > 1
        ):
            yield i - 2, i


def _denied(said: Sequence[str]) -> set[str]:
    """The stems of the words right behind a negative one: "without booking"."""
    return _stems([word for before, word in pairwise(said) if before in _NEGATIVE])


def _stems(said: Sequence[str]) -> set[str]:
    return {word[:4] for word in said if len(word) > 3} - _TIES["no-subjects"]
