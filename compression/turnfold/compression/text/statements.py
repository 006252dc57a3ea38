"""Statements: the parts of a text that can be left out without changing the rest, and what each depends on.

This is the one rule for every stage that shows a part of a text. Where a sentence ends is decided in ``sentences``, the
properties of one sentence are in ``ties.pieces``, and which sentence needs which is decided in the files of ``ties``. Which
statements matter, and how a gap is shown, is up to the caller.

A sentence is shown whole or not at all, so no negation, condition, exception, attribution, hedge or comparison leaves its clause.
Some sentences say something else without their neighbours: an answer ("No."), a retraction ("That is false."), a restriction
("But only on Mondays."), a quotation of several sentences. They are one statement together with what they depend on. Others only
need one statement in front of them, whatever lies between: items under "Never do:", what stands under a heading, what a speaker
says behind the label. In doubt the rule ties: a tie costs tokens, a missing one costs the truth.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.dialogue.transcripts import STAMPED
from turnfold.compression.text.lower import joined_words_within, words_within
from turnfold.compression.text.sentences import LONGEST, sentences
from turnfold.compression.text.spans import STOPS, Span, Tiles, with_line_feeds
from turnfold.compression.text.ties.correcting import correcting_ties
from turnfold.compression.text.ties.cues import sentence_cues
from turnfold.compression.text.ties.farther import farther_ties
from turnfold.compression.text.ties.follow_ups import follow_up_ties
from turnfold.compression.text.ties.following import following_ties
from turnfold.compression.text.ties.framed import framed_ties
from turnfold.compression.text.ties.governing import governing_ties
from turnfold.compression.text.ties.hints import Hints
from turnfold.compression.text.ties.interrupted import interrupted_ties
from turnfold.compression.text.ties.layout import layout_ties
from turnfold.compression.text.ties.marked_lines import exchange_ties
from turnfold.compression.text.ties.near import introduced, near_ties
from turnfold.compression.text.ties.numbered import numbered_ties, ties_of_next_items
from turnfold.compression.text.ties.over_details import ties_over_details
from turnfold.compression.text.ties.paragraph import paragraph_ties
from turnfold.compression.text.ties.pieces import StatementPiece, is_amendment, may_object
from turnfold.compression.text.ties.pointing import pointing_ties
from turnfold.compression.text.ties.reaching import reaching_ties
from turnfold.compression.text.ties.referring import referring_ties
from turnfold.compression.text.ties.run_in_heads import run_in_ties
from turnfold.compression.text.ties.scope import scope_ties
from turnfold.compression.text.ties.series import without_series
from turnfold.compression.text.ties.status import status_ties
from turnfold.compression.text.unmarked_speech import unmarked_speech
from turnfold.compression.text.writers import written_by

#: Texts of which each rule is asked before the next one, so that its code is still in the processor's caches.
_TOGETHER: Final = 32
#: Characters that ties join into one statement at most; beyond it what comes later needs what came first.
_MOST_JOINED: Final = 2 * LONGEST
_LONGEST_SENTENCE: Final = 4 * LONGEST  # what is longer is no sentence
_MOST_SHORT: Final = 6  # of such sentences in a row; a text of nothing else is a list, whose items stand by themselves
_VERDICT: Final = 120  # characters of a message that may be nothing but one
_OBJECTION: Final = 500  # characters within which the first sentence of a message says that it objects
_SURELY_CUT: Final = 400  # characters within which such a sentence ends where it does in the whole message
_SPANNING: Final = "\n\"'()[]{}<`@/:"  # each marks what may hold the end of a sentence
_ENDING: Final = ".!?"  # each may end a sentence in ASCII
#: Statements that one takes along at most, for whoever can do without it: more only one of far more than a text of people has.
MOST_NEEDED: Final = 64
_SPEAKERS: Final = 2  # lines that name who speaks: of one alone nobody else could have said the rest
# "user:", "**Anna Berg:**", "[10:14] Bob:", "10:14 UTC Bob:", at the beginning of a line.
_LABEL: Final = lazy.pattern(
    r"[ \t]*(?:\[[^\]\n]{0,60}\d[:/-]\d[^\]\n]{0,60}\][ \t]*|\d{1,2}:\d\d(?::\d\d)?(?: [A-Z]{2,4})?[ \t]+(?![A-Z]{2,4}[:：]))?"
    r"[*_]{0,2}[^\W\d_][\w.'’()-]*(?: [\w.'’()-]+){0,3}[*_]{0,2}[ \u00a0]?"
    r"(?:[:：][*_]{0,2}[ \t]+(?=\S)|：(?=[^\W\d_]))"  # a figure behind it is a value
)
_ENDED: Final = lazy.pattern(rf"[.!?…。！？｡{STOPS}][\"'”’»」』)\]*_\s]*\Z|\n\s*\Z")
_TERMINATORS: Final = frozenset(f".!?…。！？｡{STOPS}")
_PLAIN_ENDS: Final = frozenset((". ", "? ", "! ", ".\n"))
_CLOSERS: Final = {"”": "“„”", "»": "«", "«": "»", "」": "「", "』": "『", "“": "„", ")": "(", "）": "（"}
_OPENERS: Final = frozenset("“„«»「『(（")
_QUOTING: Final = lazy.pattern('["“”„«»「」『』()（）]')
_ASCII_QUOTING: Final = '"()'

_Rule = Callable[[str, Sequence[StatementPiece]], Iterable[tuple[int, int]]]
#: What is asked of a text, in order.
_RULES: Final[tuple[_Rule, ...]] = (
    lambda _, pieces: near_ties(pieces),
    farther_ties,
    reaching_ties,
    lambda _, pieces: following_ties(pieces),
    pointing_ties,
    lambda _, pieces: referring_ties(pieces),
    lambda _, pieces: paragraph_ties(pieces),
    correcting_ties,
    numbered_ties,
    lambda _, pieces: ties_of_next_items(pieces),
    lambda _, pieces: scope_ties(pieces),
    lambda _, pieces: ties_over_details(pieces),
    layout_ties,
)
#: The same where it matters as much what stands in front as what stands behind.
_TWO_SIDED: Final[tuple[_Rule, ...]] = (
    interrupted_ties,
    exchange_ties,
    lambda _, pieces: run_in_ties(pieces),
    lambda _, pieces: status_ties(pieces),
    lambda _, pieces: follow_up_ties(pieces),
    governing_ties,
)


def _comments(rule: _Rule) -> _Rule:
    """A rule that finds only what follows the sentence that needs it."""
    return lambda text, pieces: [pair for pair in rule(text, pieces) if pair[0] < pair[1]]


_ALL_RULES: Final = (*_RULES, *_TWO_SIDED, framed_ties)
#: The same of what limits, corrects or introduces a sentence.
_LIMITING_RULES: Final[tuple[_Rule, ...]] = (
    *map(_comments, _RULES),
    lambda _, pieces: introduced(pieces),
    *_TWO_SIDED,
)
#: The attributes of `Statements`.
_Columns = tuple[Sequence[Span], Sequence[tuple[int, ...]], Sequence[int]]


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

    def missing(self, index: int, there: Set[int] = frozenset()) -> set[int] | None:
        """The statement and everything it needs beyond a complete set; None if that is more than `MOST_NEEDED`."""
        found, rest = {index}, [index]
        while rest:
            for needed in self.needs[rest.pop()]:
                if needed not in found and needed not in there:
                    found.add(needed)
                    rest.append(needed)
                    if len(found) > MOST_NEEDED:
                        return None
        return found

    def with_needs(self, index: int) -> set[int]:
        """The statement and all that it needs, directly or not."""
        found: set[int] = set()
        self.add_with_needs(index, found)
        return found

    def add_with_needs(self, index: int, found: set[int]) -> None:
        """Add the statement and everything it needs to a complete set; only what is new takes time."""
        if index in found:
            return
        found.add(index)
        rest = [index]
        while rest:
            for needed in self.needs[rest.pop()]:
                if needed not in found:
                    found.add(needed)
                    rest.append(needed)

    def complete(self, chosen: set[int]) -> set[int]:
        """The chosen statements and everything they need."""
        found: set[int] = set()
        for index in chosen:
            self.add_with_needs(index, found)
        return found

    def complete_within(self, chosen: Iterable[int], most: float) -> set[int] | None:
        """The same; None if that has more than `most` characters, found without reading more than these."""
        found: set[int] = set()
        rest = [*chosen]
        size = 0
        while rest:
            index = rest.pop()
            if index not in found:
                found.add(index)
                size += self.spans[index].end - self.spans[index].start
                if size > most:
                    return None
                rest += self.needs[index]
        return found


def statements(text: str, blocks: Sequence[Span] | None = None) -> Statements:
    """The text as statements; linear. `blocks` as for ``sentences``."""
    text = with_line_feeds(text)
    cut, pieces = _sentences_of(text, blocks)
    return Statements(*_of([text], [cut], [pieces])[0])


class StatementsAlone:
    """The same statements, without what they need. That takes most of the time, and is often asked of few texts in many."""

    def __init__(self, text: str) -> None:
        self._text = with_line_feeds(text)
        self._cut, self._pieces = _sentences_of(self._text, None)
        self.statements: Final = Statements(*_of([self._text], [self._cut], [self._pieces], ())[0])

    def with_needs(self) -> Statements:
        """``statements(text)``; the sentences are not read again."""
        return Statements(*_of([self._text], [self._cut], [self._pieces])[0])


def _sentences_of(text: str, blocks: Sequence[Span] | None) -> tuple[list[Span], list[StatementPiece]]:
    """The sentences of a text, and as pieces, if there are several."""
    cut = _with_labels(text, sentences(text, blocks))
    return cut, _pieces([text], [cut])[0] if len(cut) > 1 else []


def limits(texts: Sequence[str]) -> list[Statements]:
    """Each text as statements with only those needs that limit, correct or reverse a statement: later comments on it, and what
    introduces it. What it merely refers to is not included.
    """
    return [read for at in range(0, len(texts), _TOGETHER) for read in _limits(texts[at : at + _TOGETHER])]


def _limits(texts: Sequence[str]) -> Iterator[Statements]:
    texts = [*map(with_line_feeds, texts)]
    cut = [_with_labels(text, sentences(text)) for text in texts]
    for spans, needs, sizes in _of(texts, cut, _pieces(texts, cut), _LIMITING_RULES):
        yield Statements(spans, needs, sizes)


def heard_statements(texts: Sequence[str]) -> list[tuple[Statements, Tiles, list[list[str]]]]:
    """Each text as statements, their spans as tiles, and the words of each (``words(lower_text(...))``), split once for both; a
    block has none.

    Each step is taken for several texts before the next one: that takes a fifth less than one text after the other.
    """
    return [heard for at in range(0, len(texts), _TOGETHER) for heard in _heard(texts[at : at + _TOGETHER])]


def _heard(texts: Sequence[str]) -> Iterator[tuple[Statements, Tiles, list[list[str]]]]:
    texts = [*map(with_line_feeds, texts)]
    cut = [_with_labels(text, sentences(text)) for text in texts]
    read = _pieces(texts, cut)
    plain = [[piece.plain_words() for piece in pieces] for pieces in read]
    for text, spans, found, (whole, needs, sizes) in zip(texts, cut, plain, _of(texts, cut, read), strict=True):
        tiles = Tiles(whole)
        said = _sentence_words(text, spans, found)
        yield Statements(tiles, needs, tuple(sizes)), tiles, said if len(whole) == len(spans) else _joined_up(said, spans, tiles)


def _sentence_words(text: str, spans: Sequence[Span], plain: Sequence[list[str] | None]) -> list[list[str]]:
    """The words of each sentence; `plain` are those that are known."""
    said = [words for words in plain if words is not None]
    if len(said) == len(plain):
        return said
    within = words_within(text)
    return [within(start, end) if words is None else words for words, (start, end, _) in zip(plain, spans, strict=True)]


def _joined_up(said: Sequence[list[str]], spans: Sequence[Span], tiles: Tiles) -> list[list[str]]:
    """The words of each statement, from those of each sentence."""
    starts = {0, *tiles.ends}
    whole: list[list[str]] = []
    for span, words in zip(spans, said, strict=True):
        if span.start in starts:
            whole.append(words)
        else:
            whole[-1] = [*whole[-1], *words]
    return whole


def _pieces(texts: Sequence[str], cut: Sequence[Sequence[Span]]) -> list[list[StatementPiece]]:
    known = [(text, spans, Hints(text), joined_words_within(text)) for text, spans in zip(texts, cut, strict=True)]
    read = [[StatementPiece(text, span, hints, words) for span in spans] for text, spans, hints, words in known]
    several = [pieces for pieces in read if len(pieces) > 1]
    cues = sentence_cues([piece.said for pieces in several for piece in pieces]) if several else []
    at = 0
    for pieces in several:
        pieces[0].hints.hear(pieces, cues[at : at + len(pieces)])
        at += len(pieces)
    return read


def _of(
    texts: Sequence[str],
    cut: Sequence[Sequence[Span]],
    read: Sequence[Sequence[StatementPiece]],
    rules: Sequence[_Rule] = _ALL_RULES,
) -> list[_Columns]:
    several = [(text, pieces) for text, spans, pieces in zip(texts, cut, read, strict=True) if len(spans) > 1]
    joined = [_joined(text, pieces) for text, pieces in several]
    ties: list[list[tuple[int, int]]] = [[] for _ in several]
    for rule in rules:
        for pairs, (text, pieces) in zip(ties, several, strict=True):
            pairs.extend(rule(text, pieces))
    for at, (text, pieces) in enumerate(several):
        if spoken := _spoken(text, pieces):
            joined[at] = [tied and i not in spoken for i, tied in enumerate(joined[at])]
            ties[at] = [(one, other) for one, other in ties[at] if one < other or one not in spoken]
    results = iter([without_series(pieces, tied, pairs) for tied, pairs, (_, pieces) in zip(joined, ties, several, strict=True)])
    return [
        _columns(spans, *next(results)) if len(spans) > 1 else (spans, ((),) * len(spans), (1,) * len(spans)) for spans in cut
    ]


def _spoken(text: str, pieces: Sequence[StatementPiece]) -> set[int]:
    """The passages of unmarked speech, which begin with "so", "then", "it's" without leaning on the one in front."""
    begun = {begin for run in unmarked_speech(text, 0, len(text)) for begin in run[:-1]}
    return {i for i, piece in enumerate(pieces) if piece.span.start in begun} if begun else set()


def _columns(spans: Sequence[Span], joined: Sequence[bool], ties: Iterable[tuple[int, int]]) -> _Columns:
    """A text's statements by its sentences: whether each is one with that before it, and which needs which."""
    are_joined = True in joined
    if are_joined:
        of = list(accumulate([not tied for tied in joined], initial=-1))[1:]
        ties = [(of[dependent], of[needed]) for dependent, needed in ties]
    needs: list[tuple[int, ...]] = [()] * len(spans)
    for dependent, needed in dict.fromkeys(ties):
        if dependent != needed:
            needs[dependent] += (needed,)
    if not are_joined:
        return spans, tuple(needs), [int(kind != "label") for _, _, kind in spans]
    whole: list[Span] = []
    sizes: list[int] = []
    for span, tied in zip(spans, joined, strict=True):
        if tied:
            whole[-1] = Span(whole[-1].start, span.end, whole[-1].kind)
            sizes[-1] += 1
        else:
            whole.append(span)
            sizes.append(int(span.kind != "label"))
    return whole, tuple(needs[: len(whole)]), sizes


def objects(text: str, first: int = 0) -> bool:
    """Whether the first statement of a message answers, takes back or narrows what was said in front of the message.

    Args:
        first: where its first sentence ends, if that is known.
    """
    if text.isascii() and len(text) > _VERDICT and not may_object(text):
        return False
    begin = text[:_OBJECTION]
    if 0 < first <= _SURELY_CUT and _ends_surely(begin, first):
        begin, cut = text[:first], [Span(0, first)]
    else:
        cut = sentences(begin)[:1]
    pieces = [StatementPiece(begin, span, Hints(begin), joined_words_within(begin)) for span in cut]
    return bool(pieces) and not (pieces[0].kind or pieces[0].item) and pieces[0].objects


def _ends_surely(begin: str, first: int) -> bool:
    """Whether the first sentence of a message ends at the same place in its beginning alone: there is no other end in it, and
    nothing that may contain one.
    """
    sentence = begin[:first].rstrip(".!? ")
    return begin.isascii() and not any(map(begin.__contains__, _SPANNING)) and not any(map(sentence.__contains__, _ENDING))


def objection(text: str) -> Span | None:
    """The first statement of a message that ``objects``; else None."""
    if not objects(text):
        return None
    return StatementsAlone(text).statements.spans[0]


def _with_labels(text: str, spans: Sequence[Span]) -> list[Span]:
    """The spans, with the labels that name speakers as separate spans, if there are several."""
    spans = _with_speakers(text, spans)
    if ":" not in text and "：" not in text:
        return list(spans)
    labels = [
        m
        if not span.kind
        and text[span.start - 1 : span.start] in ("", "\n")
        and (m := label_at(text, span.start, span.end))
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


def _with_speakers(text: str, spans: Sequence[Span]) -> Sequence[Span]:
    """The spans with lines that name the writer of the text below as labels, and with signatures as one span each."""
    named = written_by(text)
    heads = [Span(start, end, "label") for start, end in named.heads]
    signed = [Span(start, end) for _, start, end in named.signatures]
    return [*_with_stretches(spans, sorted(heads + signed))] if heads or signed else spans


def _with_stretches(spans: Sequence[Span], stretches: Sequence[Span]) -> Iterator[Span]:
    """The spans, with those stretches of language as separate spans, unless they overlap a block."""
    at, waiting = 0, iter(stretches)
    stretch = next(waiting, None)
    for span in spans:
        at = max(at, span.start)
        while stretch and (stretch.start < at or (span.kind and stretch.start < span.end)):
            stretch = next(waiting, None)
        while stretch and not span.kind and stretch.start < span.end:
            if at < stretch.start:
                yield Span(at, stretch.start)
            yield stretch
            at = stretch.end
            stretch = next(waiting, None)
        if at < span.end:
            yield Span(at, span.end, span.kind)
            at = span.end


def label_at(text: str, start: int, end: int) -> re.Match[str] | None:
    """The label of a speaker with which a line begins."""
    return STAMPED.match(text, start, end) or _LABEL.match(text, start, end)


# ---------------------------------------------------------------- what is one statement


def _joined(text: str, pieces: Sequence[StatementPiece]) -> list[bool]:
    """Whether each sentence is one statement with the one before it. For most, the end of the previous one decides."""
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
        short = short + 1 if not piece.stands_alone and piece.is_aside else 0
        tied = not (piece.kind or pieces[i - 1].kind) and (
            (size <= _MOST_JOINED and (quoted[i] or _is_one_with(piece, pieces[i - 1]) or 0 < short < _MOST_SHORT))
            or (size <= _LONGEST_SENTENCE and _was_cut(pieces, i))
        )
        out[i] = tied
    return out


def _is_one_with(piece: StatementPiece, before: StatementPiece) -> bool:
    if piece.stands_alone or piece.item or not piece.may_be_tied or piece.is_cried:
        return False
    return piece.answers or piece.is_condition or piece.restricts_what(before)


def _was_cut(pieces: Sequence[StatementPiece], i: int) -> bool:
    """Whether the border before it is not the text's own: an overlong sentence was cut there."""
    if pieces[i].starts_line or pieces[i - 1].span.end - pieces[i - 1].span.start < LONGEST // 2:
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
