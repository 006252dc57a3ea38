"""What of a text may be left out without turning the rest round: statements, and what each of them depends on.

Lives here: the one rule for every stage that shows a part of a text. Does not belong here: where a sentence ends
(``sentences``), which statements matter, how a gap is shown.

A sentence is shown whole or not at all, so no negation, condition, exception, attribution, hedge or comparison leaves its clause.
Some sentences say something else without their neighbours: an answer ("No."), a retraction ("That is false."), a restriction
("But only on Mondays."), a quotation of several sentences. They are one statement together with what they depend on. Others only
need one statement in front of them, whatever lies between: items under "Never do:", what stands under a heading, what a speaker
says behind the label. In doubt the rule ties: a tie costs tokens, a missing one costs the truth.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType
from typing import Final

from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.lower import joined_words_within
from turnfold.compression.text.sentences import LONGEST, sentences
from turnfold.compression.text.spans import Span

#: Characters that ties join into one statement at most; beyond it what comes later needs what came first.
_MOST_JOINED: Final = 2 * LONGEST
_LONGEST_SENTENCE: Final = 4 * LONGEST  # what is longer is no sentence
_SHORT_WORDS: Final = 5  # a sentence of so few words that names nothing says little by itself
_FEWEST_WORDS: Final = 2  # of so few, even if it names something
_READ: Final = 400  # characters of a sentence whose words are looked at
_MOST_SHORT: Final = 6  # of such sentences in a row; a text of nothing else is a list, whose items stand by themselves
_SHORT_DENSE: Final = 12  # characters, in scripts without blanks
_ANSWER_WORDS: Final = 6
_WORD_ABOUT_IT: Final = 8
_CONDITION_WORDS: Final = 12
_VERDICT_WORDS: Final = 12
_VERDICT: Final = 120  # characters of a message that may be nothing but one
_OBJECTION: Final = 500  # characters within which the first sentence of a message says that it objects
_FARTHEST_BACK: Final = 12  # sentences that one verdict takes back at most
_PAUSE: Final = re.compile(r"[,:;،，、—–]")
_LISTED_SCRIPTS: Final = re.compile(r"[a-zA-Zа-яА-Я]")  # whose pointing words the table has
_SPEAKERS: Final = 2  # lines that name who speaks: of one alone nobody else could have said the rest

# "user:", "**Anna Berg:**", "[10:14] Bob:", at the beginning of a line.
LABEL: Final = re.compile(
    r"[ \t]*(?:\[[^\]\n]{0,60}\d[:/-]\d[^\]\n]{0,60}\][ \t]*)?[*_]{0,2}[^\W\d_][\w.'’()-]*(?: [\w.'’()-]+){0,3}[*_]{0,2}[:：]"
    r"[*_]{0,2}[ \t]+(?=\S)"
)
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+•‣◦–]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|\[[ xX]\])[ \t]")
_LEAD: Final = re.compile(r"[\s\"'“”„«»「『(（*_>\-–—•…]*(?:\(?\d{1,3}[.)]\s+)?[\s\"'“”„«»「『(（*_]*")
_LOWER: Final = "".join(chr(c) for c in (*range(0x61, 0x590), *range(0x1E00, 0x2000)) if chr(c).islower())
_NAMES: Final = re.compile(rf"(?<=[\w,;:] )[^\W\d_{_LOWER}][^\W_]+|\w[._/@]\w|\d|`|[\u30a1-\u30f6]{{3,}}")
_DENSE: Final = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_SIGN: Final = re.compile(r"\s*[,.;:!?…—–،。，！？、-]")
#: So many words, and a sign behind the last.
_SIGN_BEHIND: Final = [re.compile(rf"(?:[^\W_]+\W+){{{n - 1}}}[^\W_]+{_SIGN.pattern}" if n else r"\Z.") for n in range(6)]
_INTRODUCES: Final = re.compile(r"[:：][\"'”’»*_)\s]*\Z")
_ENDED: Final = re.compile(r"[.!?…。！？।॥؟۔｡][\"'”’»」』)\]*_\s]*\Z|\n\s*\Z")
_BLANK_LINE: Final = re.compile(r"\n[ \t]*\n\s*\Z")
_TERMINATORS: Final = frozenset(".!?…。！？।॥؟۔｡")
_PLAIN_ENDS: Final = frozenset((". ", "? ", "! ", ".\n"))
_CLOSERS: Final = {"”": "“„”", "»": "«", "«": "»", "」": "「", "』": "『", "“": "„", ")": "(", "）": "（"}
_OPENERS: Final = frozenset("“„«»「『(（")
_QUOTING: Final = re.compile('["“”„«»「」『』()（）]')

_TIES: Final = lexicon("ties")


def _phrases(section: str) -> dict[str, tuple[tuple[str, ...], ...]]:
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    for phrase in sorted(_TIES[section]):
        parts = tuple(phrase.split("_"))
        found[parts[0]] = (*found.get(parts[0], ()), parts)
    return found


_LISTED: Final = {
    name: _phrases(name)
    for name in (
        *("restricts", "follows", "answers", "back", "ahead", "supposes", "counts", "points", "conditions"),
        *("ordinals", "objects", "pronouns", "persons", "sweeping", "untrue", "retracts"),
    )
}
_RUN_ON: Final = {name: tuple(_TIES.get(f"{name}-run-on", ())) for name in _LISTED}
#: Lists that no sentence is asked for at its beginning alone.
_ANYWHERE: Final = frozenset({"back", "ahead", "points", "persons", "sweeping", "untrue", "retracts"})
#: The other lists with phrases that begin with a word, and these phrases.
_OPENING: Final = {name: phrases for name, phrases in _LISTED.items() if name not in _ANYWHERE}
_LISTS_BY_OPENING: Final = {
    word: tuple((name, phrases[word]) for name, phrases in _OPENING.items() if word in phrases)
    for listed in _OPENING.values()
    for word in listed
}
_PERSONS: Final = frozenset(_LISTED["persons"])
_NO_OPENINGS: Final[Mapping[str, int]] = MappingProxyType({})
_FIRST_WORD: Final = re.compile(r"[^\w\n]{0,9}([\w'-]+)")
_OBJECTING: Final = (
    frozenset(_LISTED["objects"]) | _LISTED["restricts"].keys() | _LISTED["answers"].keys() | _LISTED["follows"].keys()
)


def _by_longest_word(names: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    """The phrases of some lists, each with its list, by their longest words: a sentence without any of these has no phrase."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name in names:
        for phrase in (phrase for phrases in _LISTED[name].values() for phrase in phrases):
            found.setdefault(max(phrase, key=len), []).append((name, f" {' '.join(phrase)} "))
    return found


#: Lists of which most texts have nothing.
_RARE: Final = ("back", "ahead", "untrue", "retracts")
_RARE_PHRASES: Final = _by_longest_word(_RARE)
_RARE_WORDS: Final = frozenset(_RARE_PHRASES)


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
        found = {index}
        if not self.needs[index]:
            return found
        rest = [index]
        while rest:
            for needed in self.needs[rest.pop()]:
                if needed not in found:
                    found.add(needed)
                    rest.append(needed)
        return found

    def complete(self, chosen: set[int]) -> set[int]:
        """The chosen statements and all that they need."""
        return set().union(*map(self.with_needs, chosen))


class _Hints:
    """What a whole text holds, so that a sentence is not asked for what stands nowhere in it."""

    def __init__(self, text: str) -> None:
        self.dense = not text.isascii() and _DENSE.search(text) is not None
        self.introduces = ":" in text or "：" in text
        #: Rare lists of which some sentence has a phrase.
        self.rare: Set[str] = frozenset(_RARE)

    def hear(self, pieces: Sequence[_StatementPiece]) -> None:
        """Take in the words of all sentences."""
        if not self.dense:
            found = [(piece.said, _RARE_WORDS.intersection(piece.said)) for piece in pieces if piece.may_be_rare]
            lines = ((f" {' '.join(said)} ", words) for said, words in found)
            self.rare = {
                name for line, words in lines for word in words for name, phrase in _RARE_PHRASES[word] if phrase in line
            }
            if self.rare:
                for piece in pieces:
                    piece.stands_alone = piece.stands_alone and not piece.may_be_rare


class _StatementPiece:
    """One sentence and what is asked of it."""

    __slots__ = (
        "_begin",
        "_whole",
        "dense",
        "hints",
        "item",
        "kind",
        "may_be_rare",
        "opens",
        "said",
        "span",
        "stands_alone",
        "starts_line",
    )

    def __init__(self, text: str, span: Span, hints: _Hints, words: Callable[[int, int], list[str]]) -> None:
        start, end, self.kind = span
        self._whole, self.span, self.hints = text, span, hints
        self.starts_line = start == 0 or text[start - 1] == "\n"
        self.item = self.starts_line and not self.kind and _ITEM.match(text, start, end) is not None
        if not text[start].isalpha() and (lead := _LEAD.match(text, start, end)):
            start = lead.end()
        self._begin = start
        self.said = said = words(start, min(end, start + _READ))
        self.dense = hints.dense and _DENSE.search(self.body) is not None
        #: Words of the listed phrase that it begins with, by the list's name.
        self.opens = _openings(said) if said and said[0] in _LISTS_BY_OPENING else _NO_OPENINGS
        if self.dense:
            self.opens = {name: 1 for name, marks in _RUN_ON.items() if self.body.startswith(marks)} | {**self.opens}
        #: Whether it may have a phrase of a rare list.
        self.may_be_rare = not _RARE_WORDS.isdisjoint(said)
        #: Whether no rule has more to ask, as of most sentences: not short, without a listed phrase that matters.
        self.stands_alone = len(said) > _SHORT_WORDS and not (self.opens or self.kind or self.item or hints.dense)

    @property
    def text(self) -> str:
        """The whole sentence."""
        return self._whole[self.span.start : self.span.end]

    @property
    def body(self) -> str:
        """The sentence without the marks in front of its first word."""
        return self._whole[self._begin : self.span.end]

    def holds(self, name: str) -> bool:
        """Whether a listed phrase is anywhere in it."""
        if self.dense and any(mark in self.body for mark in _RUN_ON[name]):
            return True
        first = _LISTED[name]
        if first.keys().isdisjoint(self.said):
            return False
        return any(word in first and _phrase_at(name, self.said, i) for i, word in enumerate(self.said))

    def holds_rare(self, name: str) -> bool:
        """`holds`, for the lists of which most texts have nothing."""
        return name in self.hints.rare and (self.dense or self.may_be_rare) and self.holds(name)

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return self.text.rstrip().endswith(("?", "？", "؟"))

    @property
    def is_short(self) -> bool:
        """Whether it says little by itself: next to no words, or a few that name nothing and point to something."""
        if (len(self.said) > _SHORT_WORDS and not self.dense) or self.asks:
            return False
        if self.dense:
            return len(self.body.strip()) <= _SHORT_DENSE and not _NAMES.search(self.body)
        if len(self.said) <= _FEWEST_WORDS:
            return True
        points = self.holds("points") or not _LISTED_SCRIPTS.search(self.body)
        return points and not _NAMES.search(self.body)

    @property
    def is_condition(self) -> bool:
        """Whether it is a condition alone, of something that was said before it."""
        return (
            "conditions" in self.opens and len(self.said) <= _CONDITION_WORDS and not _PAUSE.search(self.body) and not self.asks
        )

    @property
    def restricts(self) -> bool:
        """Whether what stands before it is not to be read without it: an objection, an exception, a word about it."""
        return (
            "restricts" in self.opens
            or self.holds_rare("back")
            or (self.follows and len(self.said) <= _WORD_ABOUT_IT and self.holds("points"))
        )

    @property
    def follows(self) -> bool:
        """Whether its first words point back."""
        return "follows" in self.opens or self.names_by_place

    @property
    def names_by_place(self) -> bool:
        """Whether it begins with "In the first, ": of several things, told apart by their order alone."""
        words = self.opens.get("ordinals", 0)
        return bool(words) and _SIGN_BEHIND[words].match(self.body) is not None

    @property
    def takes_back(self) -> bool:
        """Whether it takes back more than the sentence before it: "None of the three is true.", "Wait, no."."""
        return not self.item and not self.asks and (self.is_verdict or self.holds_rare("retracts"))

    @property
    def is_verdict(self) -> bool:
        """Whether it says of several things at once that they are true or not: "All of this is invented."."""
        return len(self.said) <= _VERDICT_WORDS and self.holds_rare("untrue") and self.holds("sweeping")

    @property
    def means_somebody(self) -> bool:
        """Whether another sentence must tell whom it speaks of: it begins with a pronoun, or has one and no name."""
        if "pronouns" in self.opens:
            return True
        if _PERSONS.isdisjoint(self.said) and not (self.dense and self.holds("persons")):
            return False
        return not _NAMES.search(self.body)

    @property
    def answers(self) -> bool:
        words = self.opens.get("answers", 0)
        if not words or len(self.said) <= _ANSWER_WORDS:
            return bool(words)
        return self.dense or _SIGN_BEHIND[words].match(self.body) is not None


def _openings(said: Sequence[str]) -> dict[str, int]:
    """Words of the listed phrase that a sentence begins with, by the list's name; its first word is in a list."""
    return {name: words for name, phrases in _LISTS_BY_OPENING[said[0]] if (words := _longest(phrases, said, 0))}


def _phrase_at(name: str, said: Sequence[str], i: int) -> int:
    """Words of the longest listed phrase that stands at `i`, 0 for none."""
    return _longest(_LISTED[name].get(said[i], ()), said, i) if i < len(said) else 0


def _longest(phrases: Iterable[tuple[str, ...]], said: Sequence[str], i: int) -> int:
    """Words of the longest of the phrases, which begin with the word at `i`, that stands there; 0 for none."""
    longest = 0
    for phrase in phrases:
        size = len(phrase)
        if size > longest and (size == 1 or tuple(said[i : i + size]) == phrase):
            longest = size
    return longest


def statements(text: str, blocks: Sequence[Span] | None = None) -> Statements:
    """The text as statements; linear. `blocks` as for ``sentences``."""
    spans = _with_labels(text, sentences(text, blocks))
    if len(spans) < 2:
        return Statements(spans, ((),) * len(spans), (1,) * len(spans))
    hints, words = _Hints(text), joined_words_within(text)
    pieces = [_StatementPiece(text, span, hints, words) for span in spans]
    hints.hear(pieces)
    joined = _joined(pieces, quotes=_QUOTING.search(text) is not None)
    of = list(accumulate([not tied for tied in joined], initial=-1))[1:]
    needs: dict[int, dict[int, None]] = {}
    for dependent, needed in _needs(pieces):
        if of[dependent] != of[needed]:
            needs.setdefault(of[dependent], {})[of[needed]] = None
    listed = tuple(tuple(needs.get(i, ())) for i in range(of[-1] + 1)) if needs else ((),) * (of[-1] + 1)
    if True not in joined:
        return Statements(spans, listed, [int(span.kind != "label") for span in spans])
    whole: list[Span] = []
    sizes: list[int] = []
    for span, tied in zip(spans, joined, strict=True):
        if tied:
            whole[-1] = whole[-1]._replace(end=span.end)
            sizes[-1] += 1
        else:
            whole.append(span)
            sizes.append(int(span.kind != "label"))
    return Statements(whole, listed, sizes)


def objection(text: str) -> Span | None:
    """The first statement of a message if it answers, takes back or narrows what was said in front of the message; else None."""
    word = _FIRST_WORD.match(text)
    if text.isascii() and (len(text) > _VERDICT) and not (word and word[1].lower() in _OBJECTING):
        return None
    begin = text[:_OBJECTION]
    pieces = [_StatementPiece(begin, span, _Hints(begin), joined_words_within(begin)) for span in sentences(begin)[:1]]
    if not pieces or pieces[0].kind or pieces[0].item:
        return None
    first = pieces[0]
    if not ("objects" in first.opens or first.restricts or first.answers or first.takes_back):
        return None
    return statements(text).spans[0]


def _with_labels(text: str, spans: Sequence[Span]) -> list[Span]:
    """The spans with the labels that name the speakers of lines as spans of their own, where there are several."""
    if ":" not in text and "：" not in text:
        return list(spans)
    labels = [
        m
        if not span.kind and text[span.start - 1 : span.start] in ("", "\n") and (m := LABEL.match(text, span.start, span.end))
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


def _joined(pieces: Sequence[_StatementPiece], *, quotes: bool) -> list[bool]:
    """Whether each sentence is one statement with the one before it; `quotes` says whether the text has any quotation marks."""
    quoted = _in_quotation(pieces) if quotes else [False] * len(pieces)
    out = [False]
    begun = short = 0
    for i, piece in enumerate(pieces[1:], start=1):
        size = piece.span.end - pieces[begun].span.start
        short = short + 1 if not piece.stands_alone and _is_aside(piece) else 0
        tied = not (piece.kind or pieces[i - 1].kind) and (
            (size <= _MOST_JOINED and (quoted[i] or (not piece.stands_alone and _is_about_it(piece)) or 0 < short < _MOST_SHORT))
            or (size <= _LONGEST_SENTENCE and _was_cut(pieces, i))
        )
        out.append(tied)
        begun, short = (begun, short) if tied else (i, 0)
    return out


def _is_part(piece: _StatementPiece) -> bool:
    """Whether the sentence in front of it is not to be read without it."""
    return _is_about_it(piece) or _is_aside(piece)


def _is_about_it(piece: _StatementPiece) -> bool:
    """Whether it answers, takes back or narrows what was said."""
    if not piece.opens and not piece.hints.rare:  # all three ask for a listed word
        return False
    return not piece.item and (piece.restricts or piece.answers or piece.is_condition)


def _is_aside(piece: _StatementPiece) -> bool:
    """Whether it says too little by itself, in the same line."""
    return not piece.item and not piece.starts_line and piece.is_short


def _was_cut(pieces: Sequence[_StatementPiece], i: int) -> bool:
    """Whether the border before it is none of the text's own: an overlong sentence was cut there."""
    if pieces[i].starts_line:
        return False
    end = pieces[i - 1].text[-40:]
    if end[-2:] in _PLAIN_ENDS:
        return False
    return end.rstrip()[-1:] not in _TERMINATORS and not _ENDED.search(end)


def _in_quotation(pieces: Sequence[_StatementPiece]) -> list[bool]:
    """Whether each sentence begins inside a quotation or brackets that are closed in the same line."""
    out = [False] * len(pieces)
    opened: list[tuple[str, int]] = []
    for i, piece in enumerate(pieces):
        if piece.starts_line or piece.kind:
            opened.clear()
        if piece.kind:
            continue
        for m in _QUOTING.finditer(piece.text):
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


def _needs(pieces: Sequence[_StatementPiece]) -> list[tuple[int, int]]:
    """Pairs of a sentence and one that it needs."""
    if not any(piece.kind for piece in pieces):
        return [*_pointing_back(pieces), *_taken_back(pieces), *_introduced(pieces), *_counted(pieces)]
    return [
        *_under_headings(pieces),
        *_behind_labels(pieces),
        *_pointing_back(pieces),
        *_taken_back(pieces),
        *_introduced(pieces),
        *_about_blocks(pieces),
        *_counted(pieces),
    ]


def _pointing_back(pieces: Sequence[_StatementPiece]) -> list[tuple[int, int]]:
    """Sentences whose first words point back, and an answer or objection of another speaker, with what they are about."""
    found = []
    last = -1  # the last thing said, labels and headings aside
    named = -1  # the last sentence of the line that names whom a pronoun may mean
    for i, piece in enumerate(pieces):
        if piece.kind in ("label", "heading"):
            last = -1 if piece.kind == "heading" else last
            named = -1
            continue
        if piece.starts_line or piece.kind:
            named = -1
        if piece.kind or not piece.means_somebody:
            named = -1 if piece.kind else i
        elif named >= 0:
            found.append((i, named))
        said = not (piece.stands_alone or piece.kind or piece.item) and (piece.follows or piece.restricts or piece.answers)
        if last >= 0 and said:
            found.append((i, last))
        last = i
    return found


def _taken_back(pieces: Sequence[_StatementPiece]) -> list[tuple[int, int]]:
    """Sentences of a paragraph (where the later one begins one, of that before it) and a later one that takes them back."""
    found = []
    for i, piece in enumerate(pieces[1:], start=1):
        if piece.kind or piece.hints.rare.isdisjoint(("untrue", "retracts")) or not piece.takes_back:
            continue
        for k in range(i - 1, max(-1, i - 1 - _FARTHEST_BACK), -1):
            if pieces[k].kind == "heading" or (k < i - 1 and _BLANK_LINE.search(pieces[k].text)):
                break
            found.append((k, i))
    return found


def _under_headings(pieces: Sequence[_StatementPiece]) -> list[tuple[int, int]]:
    heading = -1
    found = []
    for i, piece in enumerate(pieces):
        if piece.kind == "heading":
            heading = i
        elif heading >= 0:
            found.append((i, heading))
    return found


def _behind_labels(pieces: Sequence[_StatementPiece]) -> list[tuple[int, int]]:
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


def _introduced(pieces: Sequence[_StatementPiece]) -> list[tuple[int, int]]:
    """What stands under "Never do:", behind "The following is not true." or "Suppose that it fails."; items below an item."""
    found = []
    leads = [not piece.kind and _leads(piece) for piece in pieces]
    if True not in leads and not any(piece.item for piece in pieces):
        return []
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
            found += [(i, above[-1][1])] if above else []
            above.append((indent, i))
        if piece.kind or (listed and not piece.item) or not (leads[i] or pieces[i + 1].item):
            continue
        found += [(k, i) for k in _governed(pieces, i, leads)]
    return found


def _leads(piece: _StatementPiece) -> bool:
    """Whether what comes behind it is not to be read without it."""
    colon = piece.hints.introduces and _INTRODUCES.search(piece.text[-12:]) is not None
    if piece.stands_alone:
        return colon
    return colon or "supposes" in piece.opens or piece.holds_rare("ahead") or (piece.starts_line and piece.is_verdict)


def _governed(pieces: Sequence[_StatementPiece], i: int, leads: Sequence[bool]) -> range:
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
    if not leads[i] or pieces[k].kind in ("heading", "label"):
        return range(0)
    k += 1
    while k < len(pieces) and not pieces[k].starts_line and not pieces[k].kind and not pieces[i + 1].kind:
        k += 1
    return range(i + 1, k)


def _about_blocks(pieces: Sequence[_StatementPiece]) -> list[tuple[int, int]]:
    """A block and the sentence right behind it that speaks of it."""
    found = []
    for i in range(1, len(pieces)):
        before = pieces[i - 1].kind
        if before and before not in ("heading", "label") and not pieces[i].kind and (pieces[i].follows or _is_part(pieces[i])):
            found += [(i, i - 1), (i - 1, i)]
    return found


def _counted(pieces: Sequence[_StatementPiece]) -> list[tuple[int, int]]:
    """ "First, ...", "Second, ..." and the sentence in front of the first of them."""
    found = []
    anchor = -1
    for i, piece in enumerate(pieces):
        if piece.kind:
            anchor = -1
        elif "counts" in piece.opens:
            anchor = i - 1 if anchor < 0 else anchor
            if anchor >= 0:
                found.append((i, anchor))
    return found
