"""References without a name: "after that", "this view", "There the limit is 20.", "therefore", "the old one".

This module pairs a sentence with one that it needs, judging by references that nothing in the sentence itself resolves, and by
what a comment denies or limits. Pronouns as objects, figures and comparisons are in ``pointing``; a sentence's beginning is read
in ``near``, its form in ``following``.

In doubt a word counts as a reference: a tie costs a sentence, a missing one costs the meaning. Each rule looks back a bounded
number of sentences: all are linear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, reduce
from itertools import zip_longest
from operator import or_
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.ties.cues import CUES, DEFINITE, REFERRING_FRONTS, TELLERS, TO, UNFULFILLED_BEFORE_TO, WERE
from turnfold.compression.text.ties.pieces import StatementPiece, before_in_line

Pair = tuple[int, int]

_WORDS: Final = lexicon("references")
_TIES: Final = lexicon("ties")
_THIS: Final = _WORDS["refers-this"]
_NO_ANTECEDENT: Final = _WORDS["no-antecedent"]
_THAT: Final = _WORDS["refers-that"]
_BEHIND_THAT: Final = _WORDS["behind-that"]
_LEADING_TO_THAT: Final = _WORDS["leading-to-that"]
_THINKING_THAT: Final = _WORDS["thinking-that"]
_THAT_ALONE: Final = _WORDS["refers-that-alone"]
_CONNECTIVES: Final = _WORDS["refers-connectives"]
_THERE: Final = _WORDS["refers-there"]
_EXISTING: Final = _WORDS["existing"]
_OTHERS: Final = _WORDS["refers-others"]
_PARTS: Final = _WORDS["refers-parts"]
_THE_OTHER: Final = _WORDS["refers-the-other"]
_AUXILIARIES: Final = _WORDS["auxiliaries"]
_ARTICLES: Final = _WORDS["articles"]
_ONES: Final = _WORDS["refers-ones"]
_NUMBERS: Final = _WORDS["refers-numbers"]
_BEHIND_NUMBER: Final = _WORDS["behind-number"]
_COUNTED_BEFORE: Final = _WORDS["counted-before"]
_SUBJECTS: Final = _WORDS["refers-subjects"]
_PERSONS: Final = _WORDS["refers-persons"]
_UNFULFILLED: Final = _WORDS["refers-unfulfilled"]
_THOUGHT: Final = _WORDS["refers-thought"]
_COMMENTING: Final = _WORDS["refers-commenting"]
_FRAGMENTS: Final = _TIES["answers"] | _TIES["settings"] | {"because", "weil", "porque"}
_ELSEWHERE: Final = _WORDS["refers-named-elsewhere"]
_REPORTS: Final = _TIES["reports"]
_PLACED: Final = frozenset(("first", "second", "third", "fourth", "fifth", "former", "latter", "other"))
_GOING_ON: Final = _WORDS["refers-going-on"]
_NOW: Final = _WORDS["refers-now"]
_LATER: Final = _WORDS["refers-later"]
_IN_THE_END: Final = {tuple(phrase.split("_")) for phrase in _WORDS["in-the-end"]}
_HAS_THOUGH: Final = CUES["refers-though"]
_THOUGH_SIGN: Final = lazy.pattern(r"[,;] though ?[,;:–—]")
_SHELLS: Final = _WORDS["refers-shells"]
_COMPLEMENTS: Final = _WORDS["complements"]
_AT_FIRST: Final = _WORDS["refers-at-first"]
_REVERSING: Final = _WORDS["refers-reversing"] | (_TIES["negative"] - _TIES["weakly-negative"])
_NEEDING: Final = _WORDS["needing"]
_JOINING: Final = _TIES["joining"]
_BEGIN: Final = 8  # words within which a reference is the sentence's own, not one to its first clause
_FRONT_WORDS: Final = 9  # within which a sentence with a place or time in front comes to its subject
_COMMENT_WORDS: Final = 24
_REPLY_WORDS: Final = 12
_HAD_BEEN: Final = ["had", "been"]  # "It had been taken right after a fall.": under what circumstances
_FAR: Final = 4  # sentences among which one is looked for
_FRONT_THAT: Final = 6  # words within which "that" may be the subject behind a place or time
_BRIEF_WORDS: Final = 6  # of a sentence that says no more than a comment
_ANSWER_WORDS: Final = 5
_PLAIN_SUBJECTS: Final = frozenset(("i", "we", "you", "i'm", "we're", "i'll", "we'll", "you'll"))
# A pattern that begins with a class is found fast; what stands before a name is looked at behind its first letter.
_NAME: Final = lazy.pattern(r"[A-ZÀ-ÖØ-ÞĀ-Ž](?<=[\w,;:] .)[a-zà-öø-ÿā-ž]{2}")


def referring_ties(pieces: Sequence[StatementPiece]) -> list[Pair]:
    """Pairs of a sentence and one that it needs."""
    hints = pieces[0].hints
    found = _back_and_forth(pieces)
    if hints.held & _PROMISING:
        found += _unfulfilled(pieces)
    return found


def _back_and_forth(pieces: Sequence[StatementPiece]) -> list[Pair]:
    """A sentence and the one that it refers to; that one and a comment that denies or limits it, or is brief."""
    found: list[Pair] = []
    hints = pieces[0].hints
    cues, meaning = hints.cues, hints.meaning
    brief = -1  # the last brief comment: another one behind it is told of the same
    for i in _referring_sentences(pieces):
        if pieces[i].starts_line or pieces[i].kind or not pieces[i].said:
            continue
        before = _in_front(pieces, i)
        if before < 0:
            continue
        piece, bits = pieces[i], cues[i]
        said = piece.said
        if said == pieces[before].said:  # what is said again refers to nothing
            continue
        opens = "pronouns" in piece.opens
        refers = bits & _SURE > 0 or (bits & _ASKED > 0 and (_refers(said, bits) or _is_set_off(bits, piece.body)))
        if refers or (opens and before == i - 1 and said[0] not in _PERSONS and said[0] not in pieces[before].said[:1]):
            found.append((i, before))
        if refers or opens:
            is_brief = len(said) <= (_REPLY_WORDS if refers and before < i - 1 else _BRIEF_WORDS)
            if (is_brief and brief < i - 1) or _reverses(said, comments=True) or said[1:3] == _HAD_BEEN:
                found.append((before, i))
            brief = i if is_brief else brief
        elif bits & _REVERSES and _reports(pieces[before].said) and _reverses(said, comments=False):
            found.append((before, i))
        if bits & _OF_TIME:
            found += _by_first_word(pieces, i, before)
        if bits & _OF_PERSONS and (i in meaning or said[0] in _PERSONS):
            found += _person(pieces, i)
        if before < i - 1:
            found += _replies(pieces, i, before)
    return found


def _referring_sentences(pieces: Sequence[StatementPiece]) -> list[int]:
    """The sentences that may refer to another one; in a dialogue also those that may reply."""
    hints = pieces[0].hints
    asked = [i for i, bits in enumerate(hints.cues) if bits & _ANY or i in hints.meaning]
    if not hints.introduces:
        return asked
    replies = [i for i, bits in enumerate(hints.cues) if bits & _MAY_REPLY and pieces[i - 1].kind == "label"]
    return sorted({*asked, *replies})


def _by_first_word(pieces: Sequence[StatementPiece], i: int, before: int) -> Iterator[Pair]:
    """ "Al final no lo hizo.", "Now it leaves from gate 4."."""
    said = pieces[i].said
    if said[0] in _LATER or tuple(said[:2]) in _IN_THE_END:
        yield i, before
        yield before, i
    if said[0] in _NOW:
        yield from _replaces(pieces, i)


def _in_front(pieces: Sequence[StatementPiece], i: int) -> int:
    """The sentence that it may refer to: in its line, or in a dialogue what the speaker before said; -1 for none."""
    if pieces[i - 1].kind != "label":
        return i - 1 if not pieces[i - 1].kind else -1
    if len(pieces[i].said) > _REPLY_WORDS:
        return -1
    return i - 2 if i > 1 and not pieces[i - 2].kind else -1


def _refers(said: Sequence[str], cues: int) -> bool:
    """Whether one of the rules that its cues call for finds that it refers to something that it does not name."""
    for rule in _called(cues & _ASKED):  # noqa: SIM110 - a generator takes twice as long, and many sentences are asked
        if rule(said):
            return True
    return False


def _reverses(said: Sequence[str], *, comments: bool) -> bool:
    """Whether it may deny, doubt or limit what comes before it; `comments`: it refers to that."""
    if len(said) > _COMMENT_WORDS:
        return False
    return not _REVERSING.isdisjoint(said) or (comments and not _NEEDING.isdisjoint(said[:_BEGIN]))


def _replaces(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    """ "The flight leaves from gate 2. ... Now it leaves from gate 4.": what held before."""
    alike = next((k for k in before_in_line(pieces, i, _FAR) if pieces[i].shares_words(pieces[k])), None)
    if alike is not None:
        yield i, alike
        yield alike, i


def _reports(said: Sequence[str]) -> bool:
    return not _REPORTS.isdisjoint(said[:_BEGIN])


def _replies(pieces: Sequence[StatementPiece], i: int, before: int) -> Iterator[Pair]:
    """ "Ben: It has to stay in Dublin. Anna: That was for the old contract.", "Anna: Stockholm? Ben: 4% lower."."""
    piece, said = pieces[i], pieces[i].said
    first = said[0].removesuffix("'s")
    if first in _COMMENTING:
        yield i, before
        if first != said[0] or not WERE.isdisjoint(said[1:2]):
            yield before, i
        return
    answers = pieces[before].asks and (first in _FRAGMENTS or len(said) <= _ANSWER_WORDS)
    if answers or first.isdecimal() or "pronouns" in piece.opens:
        yield i, before


def _unfulfilled(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """What somebody wanted or thought, and the sentence behind it, which says what came of it."""
    for i in [i for i, bits in enumerate(pieces[0].hints.cues[:-1]) if bits & _PROMISING]:
        behind = pieces[i + 1]
        if not (pieces[i].kind or behind.starts_line or behind.kind) and _is_unfulfilled(pieces[i].said):
            yield i, i + 1


def _is_unfulfilled(said: Sequence[str]) -> bool:
    """ "Marek wanted to ship today.", "We first blamed the kernel.", "They were thought to prevent colds."."""
    if not _AT_FIRST.isdisjoint(said):
        return True
    for word, behind, third in zip_longest(said, said[1:], said[2:], fillvalue=""):
        if word in _UNFULFILLED and (
            behind in TO or word not in UNFULFILLED_BEFORE_TO or (word == "tried" and behind[-3:] == "ing")
        ):
            return True
        if (word in WERE and behind in _THOUGHT and third == "to") or (behind == "first" and word in TELLERS):
            return True
    return False


def _person(pieces: Sequence[StatementPiece], i: int) -> list[Pair]:
    """ "She is on 4.0.": the last sentence in its paragraph that names somebody."""
    cues = pieces[0].hints.cues
    for k in before_in_line(pieces, i, _FAR):
        piece = pieces[k]
        if piece.starts_line or cues[k] & _OF_ROLES or _NAME.search(piece.body):
            return [(i, k)]
    return []


# ---------------------------------------------------------------- references


def _holds_this(said: Sequence[str]) -> bool:
    """ "An expert rejected this.", "We do not share this view."; not "this year", and not after a clause of its own."""
    for k, word in enumerate(said):
        if word in _THIS and (k + 1 == len(said) or said[k + 1] not in _NO_ANTECEDENT):
            return k < _BEGIN or _JOINING.isdisjoint(said[1:k])
    return False


def _holds_that(said: Sequence[str]) -> bool:
    """ "made after that will be ...", "more than that,", "We assume that will change.", "Critics call that naive."."""
    for k, word in enumerate(said):
        if word not in _THAT or not k:
            continue
        behind = said[k + 1] if k + 1 < len(said) else ""
        if said[k - 1] in _LEADING_TO_THAT and (
            not behind or behind in _BEHIND_THAT or said[k - 1] in ("than", "call", "calls", "called")
        ):
            return True
        if not behind and word == "that":
            return True
        if behind in _AUXILIARIES and (said[k - 1] in _THINKING_THAT or (said[0] in REFERRING_FRONTS and k < _FRONT_THAT)):
            return True
    return False


def _named_elsewhere(said: Sequence[str]) -> bool:
    """ "Die Frist für seinen Widerspruch ...", "Gemessen hat er es nicht."."""
    return any(word in _ELSEWHERE and _JOINING.isdisjoint(said[:k]) for k, word in enumerate(said[:_BEGIN]))


def _points_alone(said: Sequence[str]) -> bool:
    """ "Davon übernimmt die Kasse nichts.", "Les enfants n'y sont pas admis."."""
    return not _THAT_ALONE.isdisjoint(said[:_BEGIN])


def _sums_up(said: Sequence[str]) -> bool:
    """ "The drop is due to a new way of counting."; not "The drop in sales is ..."."""
    return said[0] in DEFINITE and said[1:2] != [] and said[1] in _SHELLS and not _COMPLEMENTS.issuperset(said[2:3])


def _connects(said: Sequence[str]) -> bool:
    """ "Our recommendation is therefore Alpha.", "Its label, however, was ..."."""
    return any(
        word in _CONNECTIVES and not (word == "instead" and said[k + 1 : k + 2] == ["of"]) for k, word in enumerate(said[:_BEGIN])
    )


def _is_though(said: Sequence[str]) -> bool:
    """ "The new lock, though, is taken twice.", not "though it rained"."""
    return said[-1] == "though" or any(
        word == "though" and k > 0 and said[k + 1] in _AUXILIARIES for k, word in enumerate(said[:-1])
    )


def _is_set_off(cues: int, body: str) -> bool:
    """ "Read the small print, though: ..."."""
    return cues & _HAS_THOUGH > 0 and _THOUGH_SIGN.search(body) is not None


def _is_there(said: Sequence[str]) -> bool:
    """ "There the limit is 20.", "Costs are 12% higher there."; not "There is ..."."""
    if said[0] in _THERE:
        return len(said) > 1 and said[0] != "there's" and said[1] not in _EXISTING
    return said[-1] in _THERE


def _begins_with_others(said: Sequence[str]) -> bool:
    """ "Neither had taken it.", not "Both the gate and the crane ..."; "One diverged.", not "One year passed."."""
    if said[0] in _PARTS:
        return len(said) > 1 and (said[1] in _AUXILIARIES or said[1].endswith("ed"))
    return said[0] in _OTHERS and not ("and" in said[1:5] or "or" in said[1:5] or "nor" in said[1:5])


def _leaves_noun(said: Sequence[str]) -> bool:
    """ "The third did not comment.", "The second value was taken later."."""
    return said[0] == "the" and len(said) > 2 and said[1] in _THE_OTHER and (said[2] in _AUXILIARIES or said[1] in _PLACED)


def _lacks_standard(said: Sequence[str]) -> bool:
    """ "On the way back the limit is lower."."""
    return "than" not in said


def _continues(said: Sequence[str]) -> bool:
    """ "iPhone owners are still waiting.", "They are not any longer."."""
    return len(said) <= _BRIEF_WORDS and not _GOING_ON.isdisjoint(said[1:])


def _holds_one(said: Sequence[str]) -> bool:
    """ "At night the old one stays mandatory.", "Newer ones put it at one in 1,000."; not "the ones who ..."."""
    if "ones" in said[1:3] and said[0] not in _ARTICLES:
        return True
    ones = [k for k, word in enumerate(said) if word in _ONES and k > 1]
    return any(said[k - 1] not in _ARTICLES and said[k - 2] in _ARTICLES for k in ones)


def _counts(said: Sequence[str]) -> bool:
    """ "I will only use two.", "Two were our own fault.": two of what."""
    if said[0] in _NUMBERS and said[1:2] and said[1] in _AUXILIARIES:
        return True
    return any(
        word in _NUMBERS and k and said[k - 1] not in _COUNTED_BEFORE and (k + 1 == len(said) or said[k + 1] in _BEHIND_NUMBER)
        for k, word in enumerate(said)
    )


def _fronts(said: Sequence[str]) -> bool:
    """ "In the air it was 12.", "With B it's 250."."""
    for word in said[1:_FRONT_WORDS]:
        if word in _SUBJECTS:
            return True
        if word in _AUXILIARIES or word in _JOINING or word in _PLAIN_SUBJECTS:
            return False
    return False


#: Rules by the cues that call for them.
_RULE_OF: Final[Mapping[int, Callable[[Sequence[str]], bool]]] = {
    sum(CUES[name] for name in names.split()): rule
    for names, rule in (
        ("refers-this", _holds_this),
        ("refers-that", _holds_that),
        ("refers-that-alone", _points_alone),
        ("refers-named-elsewhere", _named_elsewhere),
        ("refers-shells", _sums_up),
        ("refers-connectives", _connects),
        ("refers-though", _is_though),
        ("refers-there", _is_there),
        ("refers-others", _begins_with_others),
        ("refers-the-other", _leaves_noun),
        ("refers-numbers", _counts),
        ("refers-ones", _holds_one),
        ("refers-fronts refers-subjects", _fronts),
        ("refers-going-on", _continues),
        ("ends-compared", _lacks_standard),
    )
}
#: Cues that tell by themselves that it refers to something: "Marta compró esa.", "The Pro model is the exception.", "until then",
#: "the latter", "de le" and "à les", which are no articles.
_SURE: Final = sum(
    CUES[name] for name in ("ends-pointing", "ends-exceptional", "refers-then", "refers-chosen", "refers-contracted")
)
_ASKED: Final = reduce(or_, _RULE_OF)
_REVERSES: Final = CUES["refers-reversing"] | CUES["negative"]
_OF_TIME: Final = CUES["of-time"]
_OF_PERSONS: Final = CUES["refers-persons"]
_OF_ROLES: Final = CUES["roles"]
_ANY: Final = _SURE | _ASKED | _REVERSES | _OF_TIME
_PROMISING: Final = CUES["promises"]
_MAY_REPLY: Final = CUES["may-reply"]


@cache
def _called(cues: int) -> tuple[Callable[[Sequence[str]], bool], ...]:
    return tuple(rule for asked, rule in _RULE_OF.items() if cues & asked == asked)
