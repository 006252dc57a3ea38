"""What of a text may be left out without turning the rest round: statements, and what each of them depends on.

Lives here: the one rule for every stage that shows a part of a text. Does not belong here: where a sentence ends
(``sentences``), what one sentence is asked (``statement_pieces``), which statements matter, how a gap is shown.

A sentence is shown whole or not at all, so no negation, condition, exception, attribution, hedge or comparison leaves its clause.
Some sentences say something else without their neighbours: an answer ("No."), a retraction ("That is false."), a restriction
("But only on Mondays."), a quotation of several sentences. They are one statement together with what they depend on. Others only
need one statement in front of them, whatever lies between: items under "Never do:", what stands under a heading, what a speaker
says behind the label. In doubt the rule ties: a tie costs tokens, a missing one costs the truth.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Final

from turnfold.compression.text.correcting_ties import correcting_ties
from turnfold.compression.text.farther_ties import farther_ties
from turnfold.compression.text.following_ties import following_ties
from turnfold.compression.text.lower import joined_words_within, words_within
from turnfold.compression.text.reaching_ties import limited_too, reaching_ties
from turnfold.compression.text.sentences import LONGEST, sentences
from turnfold.compression.text.spans import Span
from turnfold.compression.text.statement_pieces import LIMIT_WORDS, Hints, StatementPiece, is_amendment, may_object

#: Characters that ties join into one statement at most; beyond it what comes later needs what came first.
_MOST_JOINED: Final = 2 * LONGEST
_LONGEST_SENTENCE: Final = 4 * LONGEST  # what is longer is no sentence
_MOST_SHORT: Final = 6  # of such sentences in a row; a text of nothing else is a list, whose items stand by themselves
_VERDICT: Final = 120  # characters of a message that may be nothing but one
_OBJECTION: Final = 500  # characters within which the first sentence of a message says that it objects
_FARTHEST_BACK: Final = 12  # sentences that one verdict takes back at most
_REVISING: Final = ("amends", "doubted-later", "skips")  # lists with one of which a sentence begins that revises another
_LIMITING: Final = frozenset(("amends", "restricts", "conditions"))  # lists with one of which an item limits the one above it
_NEAR: Final = 4  # sentences among which the one is looked for that another revokes by name
_SPEAKERS: Final = 2  # lines that name who speaks: of one alone nobody else could have said the rest
# "user:", "**Anna Berg:**", "[10:14] Bob:", "10:14 UTC Bob:", at the beginning of a line.
LABEL: Final = re.compile(
    r"[ \t]*(?:\[[^\]\n]{0,60}\d[:/-]\d[^\]\n]{0,60}\][ \t]*|\d{1,2}:\d\d(?::\d\d)?(?: [A-Z]{2,4})?[ \t]+(?![A-Z]{2,4}[:：]))?"
    r"[*_]{0,2}[^\W\d_][\w.'’()-]*(?: [\w.'’()-]+){0,3}[*_]{0,2}[ \u00a0]?[:：]"
    r"[*_]{0,2}[ \t]+(?=\S)"
)
_INTRODUCES: Final = re.compile(r"[:：][\"'”’»*_)\s]*\Z")
_ENDED: Final = re.compile(r"[.!?…。！？।॥؟۔｡][\"'”’»」』)\]*_\s]*\Z|\n\s*\Z")
_BLANK_LINE: Final = re.compile(r"\n[ \t]*\n\s*\Z")
_TERMINATORS: Final = frozenset(".!?…。！？।॥؟۔｡")
_PLAIN_ENDS: Final = frozenset((". ", "? ", "! ", ".\n"))
_CLOSERS: Final = {"”": "“„”", "»": "«", "«": "»", "」": "「", "』": "『", "“": "„", ")": "(", "）": "（"}
_OPENERS: Final = frozenset("“„«»「『(（")
_QUOTING: Final = re.compile('["“”„«»「」『』()（）]')
_ASCII_QUOTING: Final = '"()'


@dataclass(frozen=True, slots=True)
class Statements:
    """A text as statements.

    Attributes:
        spans: they tile the text like ``sentences(text)``, of whose spans each is one or a few in a row.
        needs: for each statement the indices of those without which it would say something else.
        sizes: of how many sentences each consists.
    """

    spans: Sequence[Span]
    needs: Sequence[tuple[int, ...]]
    sizes: Sequence[int]

    def with_needs(self, index: int) -> set[int]:
        """The statement and all that it needs, directly or not."""
        needed_here = self.needs[index]
        found = {index, *needed_here}
        rest = [needed for needed in needed_here if self.needs[needed]]
        while rest:
            for needed in self.needs[rest.pop()]:
                if needed not in found:
                    found.add(needed)
                    rest.append(needed)
        return found

    def complete(self, chosen: set[int]) -> set[int]:
        """The chosen statements and all that they need."""
        return set().union(*map(self.with_needs, chosen))


def statements(text: str, blocks: Sequence[Span] | None = None) -> Statements:
    """The text as statements; linear. `blocks` as for ``sentences``."""
    spans = _with_labels(text, sentences(text, blocks))
    return _of(text, spans, _pieces(text, spans) if len(spans) > 1 else ())


def heard_statements(text: str) -> tuple[Statements, list[list[str]]]:
    """The text as statements, and the words of each (``words(lower_text(...))``), split once for both; a block has none."""
    spans = _with_labels(text, sentences(text))
    pieces = _pieces(text, spans)
    read = _of(text, spans, pieces)
    plain = [piece.plain_words() for piece in pieces]
    said = [words for words in plain if words is not None]
    if len(said) < len(plain):
        within = words_within(text)
        said = [within(start, end) if words is None else words for words, (start, end, _) in zip(plain, spans, strict=True)]
    if len(read.spans) == len(spans):
        return read, said
    starts = {start for start, _, _ in read.spans}
    whole: list[list[str]] = []
    for span, words in zip(spans, said, strict=True):
        if span.start in starts:
            whole.append(words)
        else:
            whole[-1] = [*whole[-1], *words]
    return read, whole


def _pieces(text: str, spans: Sequence[Span]) -> list[StatementPiece]:
    hints, words = Hints(text), joined_words_within(text)
    pieces = [StatementPiece(text, span, hints, words) for span in spans]
    if len(pieces) > 1:
        hints.hear(pieces)
    return pieces


def _of(text: str, spans: Sequence[Span], pieces: Sequence[StatementPiece]) -> Statements:
    if len(spans) < 2:
        return Statements(spans, ((),) * len(spans), (1,) * len(spans))
    joined = _joined(text, pieces)
    of = list(accumulate([not tied for tied in joined], initial=-1))[1:]
    needs: dict[int, dict[int, None]] = {}
    for dependent, needed in chain(
        _needs(pieces),
        farther_ties(text, pieces),
        reaching_ties(text, pieces),
        following_ties(pieces),
        correcting_ties(text, pieces),
    ):
        if of[dependent] != of[needed]:
            needs.setdefault(of[dependent], {})[of[needed]] = None
    listed: list[tuple[int, ...]] = [()] * (of[-1] + 1)
    for i, several in needs.items():
        listed[i] = tuple(several)
    if True not in joined:
        return Statements(spans, tuple(listed), [int(span.kind != "label") for span in spans])
    whole: list[Span] = []
    sizes: list[int] = []
    for span, tied in zip(spans, joined, strict=True):
        if tied:
            whole[-1] = Span(whole[-1].start, span.end, whole[-1].kind)
            sizes[-1] += 1
        else:
            whole.append(span)
            sizes.append(int(span.kind != "label"))
    return Statements(whole, tuple(listed), sizes)


def objects(text: str) -> bool:
    """Whether the first statement of a message answers, takes back or narrows what was said in front of the message."""
    if text.isascii() and len(text) > _VERDICT and not may_object(text):
        return False
    begin = text[:_OBJECTION]
    pieces = [StatementPiece(begin, span, Hints(begin), joined_words_within(begin)) for span in sentences(begin)[:1]]
    return bool(pieces) and not (pieces[0].kind or pieces[0].item) and pieces[0].objects


def objection(text: str) -> Span | None:
    """The first statement of a message that ``objects``; else None."""
    return statements(text).spans[0] if objects(text) else None


def _with_labels(text: str, spans: Sequence[Span]) -> list[Span]:
    """The spans with the labels that name the speakers of lines as spans of their own, where there are several."""
    if ":" not in text and "：" not in text:
        return list(spans)
    labels = [
        m
        if not span.kind
        and text[span.start - 1 : span.start] in ("", "\n")
        and (m := LABEL.match(text, span.start, span.end))
        and not is_amendment(m[0])
        else None
        for span in spans
    ]
    if sum(label is not None for label in labels) < _SPEAKERS:
        return list(spans)
    out: list[Span] = []
    for span, label in zip(spans, labels, strict=True):
        if label:
            out.append(Span(span.start, label.end(), "label"))
        out.append(span._replace(start=label.end()) if label else span)
    return out


# ---------------------------------------------------------------- what is one statement


def _joined(text: str, pieces: Sequence[StatementPiece]) -> list[bool]:
    """Whether each sentence is one statement with the one before it. Of most it is told by the end of the one before it."""
    out = [False] * len(pieces)
    signs = any(map(text.__contains__, _ASCII_QUOTING)) if text.isascii() else _QUOTING.search(text)
    quoted = _in_quotation(text, pieces) if signs else [False] * len(pieces)
    asked = [
        i
        for i, piece in enumerate(pieces)
        if i and (quoted[i] or not piece.stands_alone or text[(start := piece.span.start) - 2 : start] not in _PLAIN_ENDS)
    ]
    begun = short = 0
    for i in asked:
        piece = pieces[i]
        if not out[i - 1]:
            begun, short = i - 1, 0
        size = piece.span.end - pieces[begun].span.start
        short = short + 1 if not piece.stands_alone and _is_aside(piece) else 0
        tied = not (piece.kind or pieces[i - 1].kind) and (
            (size <= _MOST_JOINED and (quoted[i] or _is_one_with(piece, pieces[i - 1]) or 0 < short < _MOST_SHORT))
            or (size <= _LONGEST_SENTENCE and _was_cut(pieces, i))
        )
        out[i] = tied
    return out


def _is_part(piece: StatementPiece) -> bool:
    """Whether the sentence in front of it is not to be read without it."""
    is_about_it = piece.may_be_tied and not piece.item and (piece.restricts or piece.answers or piece.is_condition)
    return is_about_it or _is_aside(piece)


def _is_one_with(piece: StatementPiece, before: StatementPiece) -> bool:
    if piece.stands_alone or piece.item or not piece.may_be_tied:
        return False
    return piece.answers or piece.is_condition or _restricts(piece, before)


def _restricts(piece: StatementPiece, before: StatementPiece) -> bool:
    """Whether `before` is not to be read without it; a question, and what says that it no longer holds, need no further limit."""
    return piece.opposes or (piece.restricts and not (before.asks or before.holds_rare("revokes")))


def _is_aside(piece: StatementPiece) -> bool:
    """Whether it says too little by itself, in the same line."""
    return not piece.item and not piece.starts_line and piece.is_short and not piece.frames


def _was_cut(pieces: Sequence[StatementPiece], i: int) -> bool:
    """Whether the border before it is none of the text's own: an overlong sentence was cut there."""
    if pieces[i].starts_line:
        return False
    end = pieces[i - 1].tail(40)
    if end[-2:] in _PLAIN_ENDS:
        return False
    return end.rstrip()[-1:] not in _TERMINATORS and not _ENDED.search(end)


def _in_quotation(text: str, pieces: Sequence[StatementPiece]) -> list[bool]:
    """Whether each sentence begins inside a quotation or brackets that are closed in the same line."""
    out = [False] * len(pieces)
    opened: list[tuple[str, int]] = []
    i, piece = 0, pieces[0]
    for m in _QUOTING.finditer(text):
        at = m.start()
        while piece.span.end <= at:
            i += 1
            piece = pieces[i]
            if opened and (piece.starts_line or piece.kind):
                opened.clear()
        if piece.kind:
            continue
        sign = m.group()
        at = next((k for k in range(len(opened) - 1, -1, -1) if opened[k][0] in _CLOSERS.get(sign, sign)), -1)
        if at >= 0:
            for k in range(opened[at][1] + 1, i + 1):
                out[k] = True
            del opened[at:]
        elif sign in _OPENERS or sign == '"':
            opened.append((sign, i))
    return out


# ---------------------------------------------------------------- what needs what


def _needs(pieces: Sequence[StatementPiece]) -> list[tuple[int, int]]:
    """Pairs of a sentence and one that it needs."""
    if not any([piece.kind for piece in pieces]):  # noqa: C419 - a generator takes twice as long, and every text is asked
        return [*_pointing_back(pieces), *_taken_back(pieces), *_revised(pieces), *_introduced(pieces)]
    return [
        *_under_headings(pieces),
        *_behind_labels(pieces),
        *_asked_and_answered(pieces),
        *_pointing_back(pieces),
        *_taken_back(pieces),
        *_revised(pieces),
        *_introduced(pieces),
        *_about_blocks(pieces),
    ]


def _pointing_back(pieces: Sequence[StatementPiece]) -> list[tuple[int, int]]:
    """Sentences whose first words point back, and an answer or objection of another speaker, with what they are about."""
    found: list[tuple[int, int]] = []
    hints = pieces[0].hints
    if not hints.speaks_of_persons and not any(piece.may_be_tied for piece in pieces if not piece.stands_alone):
        return found
    last = -1  # the last thing said, labels and headings aside
    named = -1  # the last sentence of the line that names whom a pronoun may mean
    for i, piece in enumerate(pieces):
        means = hints.speaks_of_persons and piece.means_somebody
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
            and (piece.follows or piece.answers or (last >= 0 and _restricts(piece, pieces[last])))
        )
        if last >= 0 and said:
            found.append((i, last))
            if not piece.starts_line and last == i - 1:
                found += [pair for pair in limited_too(pieces, i) if piece.limits_more]
        last = i
    return found


def _taken_back(pieces: Sequence[StatementPiece]) -> list[tuple[int, int]]:
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
    if not hints.may_limit and "revokes" not in hints.rare and hints.opened.isdisjoint(_REVISING):
        return found
    said: list[int] = []  # what was said under this heading, labels aside
    doubted = False  # whether the last of it may be what was thought at first
    for i, piece in enumerate(pieces):
        if piece.stands_alone and not doubted and not (piece.may_limit and (len(piece.said) <= LIMIT_WORDS or piece.forbids_it)):
            said.append(i)
            continue
        if piece.kind:
            if piece.kind == "heading":
                said.clear()
            continue
        if said and not piece.item:
            last = said[-1]
            if doubted and not piece.starts_line:
                found.append((last, i))
            if skipped := piece.skipped:
                found += [(k, i) for k in said if pieces[k].number in skipped]
            if "amends" in piece.opens and piece.amends:
                found += [(k, i) for k in said[-2 if pieces[last].is_short else -1 :]]
            elif piece.revokes:
                near = () if piece.points_back else said[: -_NEAR - 1 : -1]
                found.append((next((k for k in near if piece.shares_words(pieces[k])), last), i))
        said.append(i)
        doubted = "doubted-later" in piece.opens
    return found


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
    """What a line says and the label in front of it that names the speaker."""
    found = []
    label = -1
    for i, piece in enumerate(pieces):
        if piece.kind == "label":
            label = i
        elif piece.kind or piece.starts_line:
            label = -1
        elif label >= 0:
            found.append((i, label))
    return found


def _asked_and_answered(pieces: Sequence[StatementPiece]) -> list[tuple[int, int]]:
    """A question that ends what a speaker says and the first thing that the next one says: without it, the answer to another
    question would stand behind this one. A short answer needs its question too."""
    found = []
    speaker, last = "", -1  # the last thing that the speaker said
    for i, piece in enumerate(pieces):
        if piece.kind == "label":
            asked = last if piece.text.strip() != speaker and last >= 0 and pieces[last].asks else -1
            speaker, last = piece.text.strip(), -1
            if asked >= 0 and i + 1 < len(pieces) and not pieces[i + 1].kind:
                found.append((asked, i + 1))
                if pieces[i + 1].is_short:
                    found.append((i + 1, asked))
        else:
            last = -1 if piece.kind else i
    return found


def _introduced(pieces: Sequence[StatementPiece]) -> list[tuple[int, int]]:
    """What stands under "Never do:", behind "The following is not true." or "Suppose that it fails."; items below an item."""
    found: list[tuple[int, int]] = []
    hints, items = pieces[0].hints, True in [piece.item for piece in pieces]
    if not (items or hints.introduces or "supposes" in hints.opened) and hints.rare.isdisjoint(("ahead", "frames", "verdicts")):
        return found
    leads = [not piece.kind and _leads(piece) for piece in pieces]
    if not items and True not in leads:
        return found
    above: list[tuple[int, int]] = []  # the items that are open: how far each is indented, and which it is
    listed = False
    for i, piece in enumerate(pieces[:-1]):
        if piece.kind or (piece.starts_line and not piece.item):
            above.clear()
            listed = False
        if piece.item:
            listed = True
            indent = len(piece.text) - len(piece.text.lstrip())
            while above and above[-1][0] >= indent:
                above.pop()
            found += _below_item(pieces, i, above[-1][1]) if above else []
            above.append((indent, i))
        if piece.kind or (listed and not piece.item) or not (leads[i] or pieces[i + 1].item):
            continue
        found += [(k, i) for k in _governed(pieces, i, leads)]
    return found


def _below_item(pieces: Sequence[StatementPiece], i: int, parent: int) -> list[tuple[int, int]]:
    """An item and the one that it stands under; that one needs it too where it limits it: "  - Exception: small tables."."""
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
    """The sentences that the one at `i` governs: the rest of its line, else the list, block or line behind it.

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
            k += 1
        return range(i + 1, k)
    if pieces[k].kind != "heading" and _leads_lines(pieces, i):
        return range(i + 1, _paragraph_end(pieces, k))
    if not leads[i] or pieces[k].kind in ("heading", "label"):
        return range(0)
    k += 1
    while k < len(pieces) and not pieces[k].starts_line and not pieces[k].kind and not pieces[i + 1].kind:
        k += 1
    return range(i + 1, k)


def _leads_lines(pieces: Sequence[StatementPiece], i: int) -> bool:
    """Whether a line leads to all lines of the paragraph below it: it frames them, with no other line above it that stands apart
    from them too; or it ends with a colon close above them."""
    piece = pieces[i]
    if not piece.starts_line:
        return False
    is_close = not _BLANK_LINE.search(piece.text[-40:])
    if not piece.stands_alone and piece.frames:
        return is_close or i == 0 or _BLANK_LINE.search(pieces[i - 1].text[-40:]) is not None
    return is_close and _INTRODUCES.search(piece.text[-12:]) is not None


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
            if not piece.starts_line or piece.follows or _is_part(piece):
                found += [(i, i - 1), (i - 1, i)]
        elif piece.kind and not (before or piece.starts_line) and "\n" not in pieces[i - 1].tail(40):
            found += [(i, i - 1), (i - 1, i)]
    return found
