"""One sentence with its properties: does it answer, withdraw, restrict, point back?

This module answers such questions about one sentence. The lists of phrases are in ``cues``; which sentences are one statement, or
need each other, is decided in ``statements``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import all_words, lexicon
from turnfold.compression.text.spans import QUESTION_MARKS, STOPS, Span
from turnfold.compression.text.ties.cues import LISTED, OPENING, RARE_PHRASES, RARE_WORDS
from turnfold.compression.text.ties.hints import ASCII_NAMES, DENSE, Hints

_SHORT_WORDS: Final = 5  # a sentence of so few words that names nothing says little by itself
_FEWEST_WORDS: Final = 2  # of so few, even if it names something
_READ: Final = 400  # characters of a sentence whose words are looked at
_DENSE_NOTE: Final = 40
_SHORT_DENSE: Final = 12  # characters, in scripts without blanks, in which a full clause often has no more
_FEWEST_DENSE: Final = 5
_ANSWER_WORDS: Final = 6
_NOTS: Final = frozenset(("not", "nicht", "niet", "inte"))  # no verb of a sentence's own stands behind it at the beginning
_FRAGMENT_WORDS: Final = 4
_NEAR_START: Final = 4  # words within which a prohibition says what of
_WORD_ABOUT_IT: Final = 8
_CONDITION_WORDS: Final = 12
_VERDICT_WORDS: Final = 12
_CLOSING: Final = frozenset(")）")
_NARROWING_WORDS: Final = 8  # of "For guests it is 5 MB.", "At 20 °C." or "Groups do not."
LIMIT_WORDS: Final = 12  # of a sentence that limits what was said
_FRAME_WORDS: Final = 12
_NAMING_KINDS: Final = frozenset({"heading", "label"})
_SHARED: Final = 5  # letters in which two words agree where they are taken for one: "confessed", "confession"
_PAUSE: Final = lazy.pattern(r"[,:;،，、—–]")
_LISTED_SCRIPTS: Final = lazy.pattern(r"[a-zA-Zа-яА-Я]")  # whose pointing words the table has
_CLAUSE: Final = lazy.pattern(r"[^;:：；—–]*+")
_COLON_SOON: Final = lazy.pattern(r"[^\n.!?]{0,40}[:：]")
#: The mark in front of a list's item.
ITEM: Final = lazy.pattern(
    r"[ \t]*(?:(?:[-*+•‣◦–!▪▸►]|[✓✔✗✘✅❌☑☐☒⚠⏳]\ufe0f?"
    r"|\(?\d{1,3}[.)°º]|\(?[^\W\d_][.)]|\((?:[ivx]{2,4}|[a-z]{2})\)|\[[ xX*-]\]|\([ xX]\))[ \t]"
    r"|[・●○■□◆◇①-⑳]|（?\d{1,2}[、）]|\d{1,2}．)"
)
_END: Final = 6
#: The end of a sentence and of its line, not of its paragraph.
_WHOLE: Final = lazy.pattern(rf"[.!?…。！？｡{STOPS}][\"'”’»)\]]{{0,2}}[ \t\r]?\n\Z")
_STYLE: Final = lazy.pattern(r"[ \t]*([(（]?)(?:(\d)+|[^\W\d_]+|(\W))([.)°º）、．]?)")
_NUMBER: Final = lazy.pattern(r"[ \t]*\(?(\d{1,3})[.)]")
_LEAD: Final = lazy.pattern(r"[\s\"'“”„«»「『(（*_>\-–—•…]*(?:\(?\d{1,3}[.)]\s+)?[\s\"'“”„«»「『(（*_]*")
# Of scripts with capitals what begins a name is none of these.
_LOWER: Final = "".join(chr(c) for c in (*range(0x61, 0x590), *range(0x1E00, 0x2000)) if chr(c).islower())
_NAMES: Final = lazy.pattern(rf"(?<=[\w,;:] )[^\W\d_{_LOWER}][^\W_]+|\w[._/@]\w|\d|`|[\u30a1-\u30f6]{{3,}}")
_SIGN: Final = lazy.pattern(r"\s*[,.;:!?…—–،。，！？、-]")
#: So many words, and a sign behind the last.
_SIGN_BEHIND: Final = [lazy.pattern(rf"(?:[^\W_]+\W+){{{n - 1}}}[^\W_]+{_SIGN.pattern}" if n else r"\Z.") for n in range(6)]
_TIES: Final = lexicon("ties")
_RUN_ON: Final = {name: tuple(marks) for name in LISTED if (marks := _TIES.get(f"{name}-run-on", ()))}
_ANY_RUN_ON: Final = {name: lazy.pattern("|".join(sorted(map(re.escape, marks)))) for name, marks in _RUN_ON.items()}
_LISTS_BY_OPENING: Final = {
    word: tuple((name, phrases[word]) for name, phrases in OPENING.items() if word in phrases)
    for listed in OPENING.values()
    for word in listed
}
#: What a sentence opens with by its first word alone, and the second words with which it may open with more.
_OPENINGS: Final[Mapping[str, tuple[Mapping[str, int], Set[str]]]] = {
    word: (
        MappingProxyType({name: 1 for name, phrases in lists if (word,) in phrases}),
        frozenset(phrase[1] for _, phrases in lists for phrase in phrases if len(phrase) > 1),
    )
    for word, lists in _LISTS_BY_OPENING.items()
}
_PERSONS: Final = frozenset(LISTED["persons"])
_LIMITS: Final = frozenset(LISTED["limits"])
#: With one of these every sentence begins that is tied to the one in front of it, unless it narrows or has a phrase of "back".
_TYING: Final = frozenset({"restricts", "follows", "ordinals", "answers", "amends", "conditions", "objects"})
_TYING_RARE: Final = frozenset({"back", "requires"})
_GOING_ON: Final = tuple(_TIES["going-on-run-on"])
#: Words that have a sign for "not", "only" or "about" in them and say none of it: "not bad", "especially", "contract".
_NO_LIMIT: Final = lazy.pattern("|".join(sorted(map(re.escape, _TIES["no-limit-run-on"]))))
#: Last words of a short sentence that leaves its verb to the one before it: "Groups do not."
_ELLIPSES: Final = frozenset(_TIES["ellipses"])
_AMENDING: Final = frozenset(LISTED["amends"])
#: Words of which one, anywhere in a sentence that revokes or limits something, tells that it is what was said last.
_POINTING: Final = (_PERSONS | frozenset(LISTED["pronouns"]) | frozenset(_TIES["demonstratives"])) - {"her"}
_FUNCTION_WORDS: Final = all_words("function_words")
_NO_OPENINGS: Final[Mapping[str, int]] = MappingProxyType({})
_FIRST_WORD: Final = lazy.pattern(r"[^\w\n]{0,9}([\w'-]+)")
_OBJECTING: Final = (
    frozenset(LISTED["objects"]) | LISTED["restricts"].keys() | LISTED["answers"].keys() | LISTED["follows"].keys()
)


def is_amendment(label: str) -> bool:
    """Whether what looks like the label of a speaker says that a correction follows: "Update:", "Edit by Niko:"."""
    word = _FIRST_WORD.match(label)
    return word is not None and word[1].lower() in _AMENDING


def is_apart(pieces: Sequence[StatementPiece], i: int) -> bool:
    """Whether a sentence begins a line and is not one more of the paragraph above it: some are written a sentence a line."""
    piece = pieces[i]
    if not (i and piece.starts_line):
        return piece.starts_line
    above = pieces[i - 1]
    if piece.item or piece.kind or above.item or above.kind:
        return True
    return not (_WHOLE.search(above.tail(_END)) and _WHOLE.search(piece.text.rstrip()[-_END:] + "\n"))


def before_in_line(pieces: Sequence[StatementPiece], i: int, most: int) -> Iterator[int]:
    """The last few sentences in front of one in its paragraph, the nearest first."""
    for k in range(i - 1, max(-1, i - 1 - most), -1):
        if pieces[k].kind:
            return
        yield k
        if is_apart(pieces, k):
            return


def may_object(text: str) -> bool:
    """Whether a message's first word may begin an objection. Few do."""
    word = _FIRST_WORD.match(text)
    return word is not None and word[1].lower() in _OBJECTING


class StatementPiece:
    """One sentence and its properties."""

    __slots__ = (
        "_begin",
        "_longer",
        "_whole",
        "asks",
        "dense",
        "hints",
        "item",
        "kind",
        "narrows",
        "opens",
        "said",
        "span",
        "stands_alone",
        "starts_line",
    )

    def __init__(self, text: str, span: Span, hints: Hints, words: Callable[[int, int], list[str]]) -> None:
        start, end, kind = span
        self._whole, self.span, self.hints, self.kind = text, span, hints, kind
        begins = start == 0 or text[start - 1] == "\n" or text[start - 3 : start] == "   "  # as in columns
        item = begins and not kind and ITEM.match(text, start, end) is not None
        self.starts_line, self.item = begins, item
        last = text[end - 2 if text[end - 1] == " " and end - start > 1 else end - 1]
        #: Whether it is a question.
        self.asks = last in QUESTION_MARKS if not last.isspace() else text[start:end].rstrip().endswith(QUESTION_MARKS)
        self._longer: Set[str] | None = None
        sign = text[start]
        if not sign.isalpha() and (lead := _LEAD.match(text, start, end)):
            start = lead.end()
        self._begin = start
        self.said = said = words(start, end if end - start <= _READ else start + _READ)
        self.dense = hints.dense and DENSE.search(self.body) is not None
        #: Words of the listed phrase that it begins with, by the list's name.
        self.opens = opens = _openings(said) if said and said[0] in _LISTS_BY_OPENING else _NO_OPENINGS
        if self.dense:
            body = self.body
            self.opens = opens = {name: 1 for name, marks in _RUN_ON.items() if body.startswith(marks)} | {**opens}
        size = len(said)
        #: Whether it is about the sentence before it by its form.
        self.narrows = narrows = not begins and (size <= _NARROWING_WORDS or sign in "(（") and self._is_bare_addition()
        if opens and "narrows" in opens:
            self.opens = opens = {name: words for name, words in opens.items() if name != "narrows"}
        #: Whether no rule has more to ask, as of most sentences: not short, without a listed phrase that matters.
        self.stands_alone = size > _SHORT_WORDS and not (opens or kind or item or hints.dense or narrows)

    def _is_bare_addition(self) -> bool:
        """Whether it is in brackets, or short and without a verb of its own."""
        start, _, kind = self.span
        if self._whole[start] in "(（" and not _CLOSING.isdisjoint(self.tail(12).rstrip()[-2:]):
            return True
        if len(self.said) > _NARROWING_WORDS or kind:
            return False
        return ("narrows" in self.opens or (len(self.said) > 1 and self.said[-1] in _ELLIPSES)) and not self.asks

    def plain_words(self) -> list[str] | None:
        """Its words as ``lower.words`` has them, without digits and hyphens; None where `said` are others. Of a block none."""
        _, end, kind = self.span
        if kind and kind not in _NAMING_KINDS:
            return []
        said = self.said
        if end - self._begin > _READ:
            return None
        if "".join(said).isalpha():
            return said
        plain = [word for word in said if not word.isdecimal()]
        return plain if "".join(plain).isalpha() else None

    @property
    def may_be_tied(self) -> bool:
        """Whether it may answer, restrict, amend or follow what comes before it, or be its condition."""
        return self.narrows or not self.hints.rare.isdisjoint(_TYING_RARE) or not _TYING.isdisjoint(self.opens)

    @property
    def text(self) -> str:
        """The whole sentence."""
        return self._whole[self.span.start : self.span.end]

    def tail(self, size: int) -> str:
        """Its last characters."""
        start, end, _ = self.span
        return self._whole[end - size if end - start > size else start : end]

    @property
    def is_heard_whole(self) -> bool:
        """Whether `said` are all its words."""
        return self.span.end - self._begin <= _READ

    @property
    def body(self) -> str:
        """The sentence without the marks in front of its first word."""
        return self._whole[self._begin : self.span.end]

    def holds(self, name: str) -> bool:
        """Whether a listed phrase is anywhere in it."""
        if self.dense and name in _ANY_RUN_ON and _ANY_RUN_ON[name].search(self._whole, self._begin, self.span.end):
            return True
        first = LISTED[name]
        if first.keys().isdisjoint(self.said):
            return False
        return any(word in first and _phrase_at(name, self.said, i) for i, word in enumerate(self.said))

    @property
    def may_be_rare(self) -> bool:
        """Whether it may have a phrase of a rare list."""
        return not RARE_WORDS.isdisjoint(self.said)

    def rare_lists(self) -> Iterator[str]:
        """The rare lists with a phrase in it, some more than once; a verdict says in few words what it is about."""
        said, line = self.said, ""
        for word in RARE_WORDS.intersection(said):
            for name, phrase, words in RARE_PHRASES[word]:
                if words.issubset(said) and (name != "verdicts" or self._may_judge):
                    line = line or f" {' '.join(said)} "
                    if phrase in line:
                        yield name

    def holds_rare(self, name: str) -> bool:
        """`holds`, for lists of which most texts contain nothing."""
        return name in self.hints.rare and (self.dense or self.may_be_rare) and self.holds(name)

    @property
    def is_short(self) -> bool:
        """Whether it says little by itself: hardly any words, or a few that name nothing and point to something."""
        if (len(self.said) > _SHORT_WORDS and not self.dense) or self.asks:
            return False
        if self.dense:
            size = len(self.body.strip())
            return (size <= _FEWEST_DENSE or (size <= _SHORT_DENSE and self.holds("points"))) and not self.names_something
        if len(self.said) <= _FEWEST_WORDS:
            return True
        points = self.holds("points") or not _LISTED_SCRIPTS.search(self.body)
        return points and not self.names_something

    @property
    def names_something(self) -> bool:
        """Whether there is a name or a figure in it."""
        return (ASCII_NAMES if self.hints.ascii else _NAMES).search(self.body) is not None

    @property
    def is_condition(self) -> bool:
        """Whether it is a condition alone, of something that was said before it."""
        return (
            "conditions" in self.opens and len(self.said) <= _CONDITION_WORDS and not _PAUSE.search(self.body) and not self.asks
        )

    @property
    def restricts(self) -> bool:
        """Whether the sentence before it must not be read without it: it is an objection, an exception, a comment."""
        return self.opposes or (self.follows and self.limits_it) or self.requires

    @property
    def opposes(self) -> bool:
        """The same, without what merely adds on what it depends."""
        return (
            "restricts" in self.opens
            or self.narrows
            or self.amends
            or ("objects" in self.opens and self.breaks_off)
            or self.holds_rare("back")
            or (self.follows and self._begins_within(_WORD_ABOUT_IT) and self.holds("points"))
        )

    def restricts_what(self, before: StatementPiece) -> bool:
        """Whether `before` must not be read without it; a question, and a statement that something no longer holds, need no
        further limit.
        """
        return self.opposes or (self.restricts and not (before.asks or before.holds_rare("revokes")))

    @property
    def is_part(self) -> bool:
        """Whether the sentence before it must not be read without it."""
        is_about_it = self.may_be_tied and not self.item and (self.restricts or self.answers or self.is_condition)
        return is_about_it or self.is_aside

    @property
    def is_cried(self) -> bool:
        """Whether it is a line in capitals without an end, a title whatever its words are: "CAUTION"."""
        return self.starts_line and self.text.endswith("\n") and self.text.isupper() and self.text.rstrip()[-1:].isalpha()

    @property
    def is_aside(self) -> bool:
        """Whether it says too little by itself, in the same line."""
        return not self.item and not self.starts_line and self.is_short and not self.frames

    @property
    def limits_it(self) -> bool:
        """Whether it says, of what it points back to, on what it depends: "This is permitted provided that ..."."""
        return len(self.said) <= _CONDITION_WORDS + _VERDICT_WORDS and self.holds("limiting")

    @property
    def limits_more(self) -> bool:
        """Whether it limits what was said by its form, not as an objection to the last sentence: "EU customers only."."""
        return self.narrows or self.requires or self.holds_rare("back") or (self.follows and self.limits_it)

    @property
    def limits_dense(self) -> bool:
        """Whether it has a word for a limit in a script without blanks."""
        return self.dense and any(map(self.limiting_body.__contains__, _GOING_ON))

    @property
    def limiting_body(self) -> str:
        """The sentence without words that only look like limits, in a script without blanks."""
        return _NO_LIMIT.sub(" ", self.body)

    @property
    def requires(self) -> bool:
        """Whether it says briefly, in the same line, what the sentence before it takes for granted: "A report is required."."""
        if self.starts_line or self.item or len(self.said) > _VERDICT_WORDS or (self.dense and len(self.body) > _DENSE_NOTE):
            return False
        return self.holds_rare("requires") and not self.asks

    @property
    def amends(self) -> bool:
        """Whether it says at its beginning that it corrects what was said: "Update: ...", "Exempt are ..."."""
        words = self.opens.get("amends", 0)
        if not words or self.dense or len(self.said) <= _ANSWER_WORDS:
            return bool(words)
        return (_SIGN_BEHIND[words].match(self.body) or _COLON_SOON.match(self.body)) is not None

    @property
    def breaks_off(self) -> bool:
        """Whether it begins with "Wait," or "Hold on -", in the line of what it breaks off; it opens with an objection."""
        words = self.opens["objects"]
        if self.starts_line:
            return False
        if self.dense:
            return _PAUSE.search(self.body[:_SHORT_DENSE]) is not None
        return _SIGN_BEHIND[words].match(self.body) is not None

    @property
    def skipped(self) -> frozenset[str]:
        """The numbers of steps that it says to leave out: "Skip steps 3 and 4."."""
        return frozenset(filter(str.isdecimal, self.said)) if "skips" in self.opens and not self.item else frozenset()

    @property
    def number(self) -> str:
        """The number of a list's item, "" without one."""
        found = _NUMBER.match(self.text) if self.item else None
        return found[1] if found else ""

    @property
    def style(self) -> tuple[str | None, ...]:
        """How a list's item is marked: by numbers or letters, in brackets or not."""
        found = _STYLE.match(self.text)
        return (found[1], "1" if found[2] else "", found[3], found[4]) if found else ()

    @property
    def revokes(self) -> bool:
        """Whether it says of something that it does not hold: a word for that, or a short "It must not ..."."""
        limits = self.hints.may_limit and self.may_limit and (len(self.said) <= LIMIT_WORDS or self.forbids_it)
        if not (limits or self.holds_rare("revokes")) or self.item or self.asks:
            return False
        return self.holds_rare("revokes") or (self.points_back and self.holds("limits"))

    @property
    def forbids_it(self) -> bool:
        """Whether it begins with a prohibition of what was said: "Do not give it to children under ..."."""
        return _phrase_at("limits", self.said, 0) > 0 and not _POINTING.isdisjoint(self.said[:_NEAR_START])

    @property
    def may_limit(self) -> bool:
        """Whether it has a word that a prohibition has."""
        return not _LIMITS.isdisjoint(self.said)

    @property
    def points_back(self) -> bool:
        """Whether it speaks of what was said last, without naming it."""
        return self.dense or self.follows or not _POINTING.isdisjoint(self.said) or not _LISTED_SCRIPTS.search(self.body)

    @property
    def frames(self) -> bool:
        """Whether it says how what comes behind it is to be read: "Draft, not approved.", "Amounts in thousands of euros."."""
        return self.holds_rare("frames") and len(self.said) <= _FRAME_WORDS and not self.asks

    def shares_words(self, other: StatementPiece) -> bool:
        """Whether a word of some length, in some form, is in both sentences."""
        return not self.longer.isdisjoint(other.longer)

    @property
    def longer(self) -> Set[str]:
        """How its words of some length begin."""
        if self._longer is None:
            self._longer = {word[:_SHARED] for word in self.said if len(word) >= _SHARED and word not in _FUNCTION_WORDS}
        return self._longer

    def _begins_within(self, words: int) -> bool:
        """Whether its first clause has no more words."""
        if len(self.said) <= words:
            return True
        first = _CLAUSE.match(self._whole, self._begin, self.span.end)
        return first is not None and len(first[0].split()) <= words

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
        return (self.is_verdict or self.holds_rare("retracts")) and not self.item and not self.asks

    @property
    def is_verdict(self) -> bool:
        """Whether it says of several things at once that they are true or not: "All of this is invented."."""
        return self.holds_rare("verdicts") and self._may_judge

    @property
    def _may_judge(self) -> bool:
        return len(self.said) <= _VERDICT_WORDS and self.holds("sweeping")

    @property
    def means_somebody(self) -> bool:
        """Whether another sentence must tell whom it speaks of: it begins with a pronoun, or has one and no name."""
        if "pronouns" in self.opens:
            return True
        if _PERSONS.isdisjoint(self.said) and not (self.dense and self.holds("persons")):
            return False
        return not self.names_something

    @property
    def objects(self) -> bool:
        """Whether it takes back or narrows what somebody said before: "Wait, don't delete it."."""
        if "objects" in self.opens or self.restricts or self.answers or self.takes_back:
            return True
        return self.holds_rare("revokes") and self.points_back

    @property
    def answers(self) -> bool:
        words = self.opens.get("answers", 0)
        if not words or len(self.said) <= _ANSWER_WORDS:
            return bool(words)
        if self.said[0] in _NOTS and len(_PAUSE.split(self.body, maxsplit=1)[0].split()) <= _FRAGMENT_WORDS:
            return True
        return self.dense or _SIGN_BEHIND[words].match(self.body) is not None


def _openings(said: Sequence[str]) -> Mapping[str, int]:
    """Words of the listed phrase that a sentence begins with, by the list's name; its first word is in a list."""
    sure, seconds = _OPENINGS[said[0]]
    if len(said) == 1 or said[1] not in seconds:
        return sure
    return {name: words for name, phrases in _LISTS_BY_OPENING[said[0]] if (words := _longest(phrases, said, 0))}


def _phrase_at(name: str, said: Sequence[str], i: int) -> int:
    """Number of words of the longest listed phrase at `i`; 0 if there is none."""
    return _longest(LISTED[name].get(said[i], ()), said, i) if i < len(said) else 0


def _longest(phrases: Iterable[tuple[str, ...]], said: Sequence[str], i: int) -> int:
    """Number of words of the longest of the phrases at `i`, all of which begin with the word there; 0 if there is none."""
    longest = 0
    for phrase in phrases:
        size = len(phrase)
        if size > longest and (size == 1 or tuple(said[i : i + size]) == phrase):
            longest = size
    return longest
