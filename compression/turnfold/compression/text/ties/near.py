"""What a sentence needs by its first words or its place: its label, its heading, the line that introduces it, what it answers,
corrects or points back to.

This module pairs a sentence with one that it needs, judging by how the later one begins or by what stands above it. What counts
as one statement is decided in ``statements``; other signs of a tie are in ``following`` and its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.dialogue.transcripts import STAMPED, TIMED
from turnfold.compression.text.ties.cues import CUES
from turnfold.compression.text.ties.pieces import LIMIT_WORDS, StatementPiece
from turnfold.compression.text.ties.reaching import limited_too

_LIMITS: Final = CUES["limits"]
_FARTHEST_BACK: Final = 12  # sentences that one verdict takes back at most
_REVISING: Final = ("amends", "doubted-later", "skips")  # lists with one of which a sentence begins that revises another
_LIMITING: Final = frozenset(("amends", "restricts", "conditions"))  # lists with one of which an item limits the one above it
_MOST_SKIPPED: Final = 100  # sentences back to which one may be skipped by its number
_NEAR: Final = 4  # sentences among which the one is looked for that another revokes by name
_INTRODUCES: Final = lazy.pattern(r"[:：][\"'”’»*_)\s]*\Z")
_BLANK_LINE: Final = lazy.pattern(r"\n[ \t]*\n\s*\Z")


def near_ties(pieces: Sequence[StatementPiece]) -> list[tuple[int, int]]:
    """Pairs of a sentence and one that it needs."""
    if not any([piece.kind for piece in pieces]):  # noqa: C419 - a generator takes twice as long, and every text is asked
        return [*_pointing_back(pieces), *_retractions(pieces), *_revised(pieces), *introduced(pieces)]
    return [
        *_under_headings(pieces),
        *_behind_labels(pieces),
        *_asked_and_answered(pieces),
        *_pointing_back(pieces),
        *_retractions(pieces),
        *_revised(pieces),
        *introduced(pieces),
        *_about_blocks(pieces),
    ]


def _pointing_back(pieces: Sequence[StatementPiece]) -> list[tuple[int, int]]:
    """Sentences whose first words point back, and answers or objections of another speaker, each with what they are about."""
    found: list[tuple[int, int]] = []
    meaning = pieces[0].hints.meaning
    if not meaning and not any(piece.may_be_tied for piece in pieces if not piece.stands_alone):
        return found
    last = -1  # the last thing said, labels and headings aside
    named = -1  # the last sentence of the line that names whom a pronoun may mean
    for i, piece in enumerate(pieces):
        means = i in meaning
        if piece.stands_alone and not means:  # most
            named = last = i
            continue
        if piece.kind in ("label", "heading"):
            last = -1 if piece.kind == "heading" else last
            named = -1
            continue
        if piece.starts_line or piece.kind:
            named = -1
        if piece.kind or not means:
            named = -1 if piece.kind else i
        elif named >= 0:
            found.append((i, named))
        said = (
            not (piece.stands_alone or piece.kind or piece.item)
            and piece.may_be_tied
            and (piece.follows or piece.answers or (last >= 0 and piece.restricts_what(pieces[last])))
        )
        if last >= 0 and said:
            found.append((i, last))
            if not piece.starts_line and last == i - 1:
                found += [pair for pair in limited_too(pieces, i) if piece.limits_more]
        last = i
    return found


def _retractions(pieces: Sequence[StatementPiece]) -> list[tuple[int, int]]:
    """Sentences of a paragraph (where the later one begins one, of that before it) and a later one that takes them back."""
    found: list[tuple[int, int]] = []
    if pieces[0].hints.rare.isdisjoint(("verdicts", "retracts")):
        return found
    for i, piece in enumerate(pieces[1:], start=1):
        if piece.stands_alone or piece.kind or not piece.takes_back:
            continue
        for k in range(i - 1, max(-1, i - 1 - _FARTHEST_BACK), -1):
            if pieces[k].kind == "heading" or (k < i - 1 and _BLANK_LINE.search(pieces[k].text)):
                break
            found.append((k, i))
    return found


def _revised(pieces: Sequence[StatementPiece]) -> list[tuple[int, int]]:
    """Sentences and the one behind each that corrects, revokes or limits it; "At first, ..." and what came then."""
    found: list[tuple[int, int]] = []
    hints = pieces[0].hints
    cues = hints.cues
    if not hints.may_limit and "revokes" not in hints.rare and hints.opened.isdisjoint(_REVISING):
        return found
    said: list[int] = []  # what was said under this heading, labels aside
    doubted = False  # whether the last of it may be what was thought at first
    for i, piece in enumerate(pieces):
        if (
            piece.stands_alone
            and not doubted
            and not (cues[i] & _LIMITS and (len(piece.said) <= LIMIT_WORDS or piece.forbids_it))
        ):
            said.append(i)
            continue
        if piece.kind:
            if piece.kind == "heading":
                said.clear()
            continue
        if said and not piece.item:
            if doubted and not piece.starts_line:
                found.append((said[-1], i))
            found += _revised_by(pieces, i, said)
        said.append(i)
        doubted = "doubted-later" in piece.opens
    return found


def _revised_by(pieces: Sequence[StatementPiece], i: int, said: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The steps that a sentence skips, and what it corrects or revokes of the sentences said before it under its heading."""
    piece, last = pieces[i], said[-1]
    if skipped := piece.skipped:
        yield from ((k, i) for k in said[-_MOST_SKIPPED:] if pieces[k].number in skipped)
    if "amends" in piece.opens and piece.amends:
        yield from ((k, i) for k in said[-2 if pieces[last].is_short else -1 :])
    elif piece.revokes:
        near = () if piece.points_back else said[: -_NEAR - 1 : -1]
        meant = next((k for k in near if piece.shares_words(pieces[k])), last)
        yield meant, i
        if meant == i - 1:
            yield from limited_too(pieces, i)


def _under_headings(pieces: Sequence[StatementPiece]) -> list[tuple[int, int]]:
    heading = -1
    found = []
    for i, piece in enumerate(pieces):
        if piece.kind == "heading":
            heading = i
        elif heading >= 0:
            found.append((i, heading))
    return found


def _behind_labels(pieces: Sequence[StatementPiece]) -> list[tuple[int, int]]:
    """What a line says and the label before it that names the speaker. A label on a line of its own, or with a time, belongs to
    all lines below it, and to apparent labels there: "About the crane: ...".
    """
    found = []
    label = above = -1
    timed = False
    for i, piece in enumerate(pieces):
        if piece.kind == "label":
            stamped = STAMPED.match(f"{piece.text}.") is not None
            if stamped or piece.text.endswith("\n"):
                above, timed, label = i, stamped, -1
            else:
                label = i
                found += [(i, above)] if above >= 0 else []
            continue
        if piece.kind or piece.starts_line:
            label = -1
            above = -1 if timed and TIMED.match(piece.text) else above
        if label >= 0 or above >= 0:
            found.append((i, label if label >= 0 else above))
    return found


def _asked_and_answered(pieces: Sequence[StatementPiece]) -> list[tuple[int, int]]:
    """A question at the end of one speaker's words and the first words of the next: otherwise the answer to another question
    would seem to answer it. A short answer needs its question too, and so does any answer to a list of questions: "A: About 14
    hours, or 9 with the heater on.".
    """
    found = []
    speaker, last = "", -1  # the last thing that the speaker said
    for i, piece in enumerate(pieces):
        if piece.kind == "label":
            asked = last if piece.text.strip() != speaker and last >= 0 and pieces[last].asks else -1
            speaker, last = piece.text.strip(), -1
            if asked >= 0 and i + 1 < len(pieces) and not pieces[i + 1].kind:
                found.append((asked, i + 1))
                if len(speaker.strip("*_:： ")) == 1 or pieces[i + 1].is_short:
                    found.append((i + 1, asked))
        else:
            last = -1 if piece.kind else i
    return found


def introduced(pieces: Sequence[StatementPiece]) -> list[tuple[int, int]]:
    """The text under "Never do:", after "The following is not true." or "Suppose that it fails."; items below an item."""
    found: list[tuple[int, int]] = []
    hints, items = pieces[0].hints, True in [piece.item for piece in pieces]
    if not (items or hints.introduces or "supposes" in hints.opened) and hints.rare.isdisjoint(("ahead", "frames", "verdicts")):
        return found
    leads = [not piece.kind and _leads(piece) for piece in pieces]
    if not items and True not in leads:
        return found
    above: list[tuple[int, int]] = []  # the items that are open: how far each is indented, and which it is
    styles: list[tuple[int, tuple[str | None, ...]]] = []  # how the open items are marked, and how far each is indented
    listed = False
    lead, end = -1, 0  # the last line that leads to all lines of its paragraph, and where that ends
    for i, piece in enumerate(pieces[:-1]):
        if piece.kind or (piece.starts_line and not piece.item):
            above.clear()
            styles.clear()
            listed = False
        if piece.item:
            listed = True
            indent = len(piece.text) - len(piece.text.lstrip())
            indent += _depth(styles, piece, indent)
            while above and above[-1][0] >= indent:
                above.pop()
            found += _below_item(pieces, i, above[-1][1]) if above else []
            above.append((indent, i))
        if piece.kind or (listed and not piece.item) or not (leads[i] or pieces[i + 1].item):
            continue
        if _leads_paragraph(pieces, i):
            found += [(k, lead) for k in range(lead + 1, min(i + 1, end))]  # what comes behind this one needs it too
            lead, end = i, end if i + 1 < end else _paragraph_end(pieces, i + 1)
        else:
            found += [(k, i) for k in _governed(pieces, i, leads)]
    return [*found, *((k, lead) for k in range(lead + 1, end))]


#: The mark of the first item of a list.
_FIRST: Final = lazy.pattern(r"\s*[(（]?(?:1|[aAiαаأא])[.)°º）、．]")


def _depth(styles: list[tuple[int, tuple[str | None, ...]]], piece: StatementPiece, indent: int) -> int:
    """How many levels deeper than its indentation an item is, by its mark: "(1)" below "1." and above the next "2."."""
    style = piece.style
    mark = (indent, style)
    if not style or style[2] or not (mark in styles or _FIRST.match(piece.text)):  # a bullet, or none that begins a list
        return 0
    del styles[styles.index(mark) + 1 if mark in styles else len(styles) :]
    while mark not in styles and styles and styles[-1][0] > indent:
        styles.pop()
    if mark not in styles:
        styles.append(mark)
    return sum(at == indent for at, _ in styles) - 1


def _below_item(pieces: Sequence[StatementPiece], i: int, parent: int) -> list[tuple[int, int]]:
    """An item and the one that it belongs to; the latter needs it too if the item limits it: " - Exception: small tables."."""
    opens = pieces[i].opens
    limits = not _LIMITING.isdisjoint(opens) and (pieces[i].opposes or "conditions" in opens)
    return [(i, parent), (parent, i)] if limits else [(i, parent)]


def _leads(piece: StatementPiece) -> bool:
    """Whether what comes behind it is not to be read without it."""
    end = piece.tail(12) if piece.hints.introduces else ""
    colon = (":" in end or "：" in end) and _INTRODUCES.search(end) is not None
    if piece.stands_alone:
        return colon
    return colon or "supposes" in piece.opens or piece.holds_rare("ahead") or piece.frames or _judges_ahead(piece)


def _judges_ahead(piece: StatementPiece) -> bool:
    """Whether it may say of what comes behind it that it is true or not: "Two of these claims are false."."""
    return (piece.starts_line or "these" in piece.said) and piece.is_verdict


def _governed(pieces: Sequence[StatementPiece], i: int, leads: Sequence[bool]) -> range:
    """The sentences that the one at `i` governs: the rest of its line, else the list, block or line after it. If it leads to all
    lines of its paragraph, these are found elsewhere.

    In a line it is the rest up to the next sentence that governs, which is governed itself: all pairs would be quadratic.
    """
    k = i + 1
    if not pieces[k].starts_line and not pieces[k].kind:
        if not leads[i]:
            return range(0)
        while k < len(pieces) and not pieces[k].starts_line and not pieces[k].kind:
            k += 1
            if leads[k - 1] and not pieces[i].item:
                break
        return range(i + 1, k)
    if pieces[k].item and not pieces[i].item:
        while k < len(pieces) and (pieces[k].item or not (pieces[k].starts_line or pieces[k].kind)):
            if (
                k > i + 1
                and pieces[k].item
                and _BLANK_LINE.search(pieces[k - 1].tail(40))
                and pieces[k].style != pieces[i + 1].style
            ):
                break
            k += 1
        return range(i + 1, k)
    if not leads[i] or pieces[k].kind in ("heading", "label"):
        return range(0)
    k += 1
    while k < len(pieces) and not pieces[k].starts_line and not pieces[k].kind and not pieces[i + 1].kind:
        k += 1
    return range(i + 1, k)


def _leads_paragraph(pieces: Sequence[StatementPiece], i: int) -> bool:
    behind = pieces[i + 1]
    if not (behind.starts_line or behind.kind) or (behind.item and not pieces[i].item) or behind.kind == "heading":
        return False
    return _leads_lines(pieces, i)


def _leads_lines(pieces: Sequence[StatementPiece], i: int) -> bool:
    """Whether a line leads to all lines of the paragraph below it: it frames them, and no line above it is apart from them too;
    or it is just above them and ends with a colon or says that they follow.
    """
    piece = pieces[i]
    if not piece.starts_line:
        return False
    is_close = not _BLANK_LINE.search(piece.text[-40:])
    if not piece.stands_alone and piece.frames:
        return is_close or i == 0 or _BLANK_LINE.search(pieces[i - 1].text[-40:]) is not None
    return is_close and (_INTRODUCES.search(piece.text[-12:]) is not None or piece.holds_rare("ahead"))


def _paragraph_end(pieces: Sequence[StatementPiece], k: int) -> int:
    """Behind the last sentence of the paragraph that begins with the one at `k`."""
    while k < len(pieces) - 1 and not _BLANK_LINE.search(pieces[k].text[-40:]) and pieces[k + 1].kind in ("", "label"):
        k += 1
    return k + 1


def _about_blocks(pieces: Sequence[StatementPiece]) -> list[tuple[int, int]]:
    """A block and the sentence right behind it that speaks of it; a block inside a line and the line."""
    found = []
    for i in range(1, len(pieces)):
        piece, before = pieces[i], pieces[i - 1].kind
        if before and before not in ("heading", "label") and not piece.kind:
            if not piece.starts_line or piece.follows or piece.is_part:
                found += [(i, i - 1), (i - 1, i)]
        elif piece.kind and not (before or piece.starts_line) and "\n" not in pieces[i - 1].tail(40):
            found += [(i, i - 1), (i - 1, i)]
    return found
