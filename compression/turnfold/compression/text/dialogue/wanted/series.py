"""Exchanges of one kind that recur in a chat: the words of a language lesson, a learner's mistakes, inputs with one label, moves.

This module tells which kind a request goes over, and whether an exchange is of it. Which are quoted is decided in
``recall.wholes.exchanges.series``, what users have kept in ``shorten.told``; single words are in ``lexicon/series.txt``.

"Quiz me on the words we learned" shares no word with "how do you say 'umbrella'?", and the answer says nothing but the word.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from turnfold.compression import lazy
from turnfold.compression.memo import remembering
from turnfold.compression.text import lower
from turnfold.compression.text.lexicon import one_of

SeriesKind = Literal["words", "mistakes"]

_LONGEST: Final = 300  # characters of a request; a longer one brings what it is about
_LONGEST_RULES: Final = 2_000  # and of one that begins a game
_LONGEST_WORD: Final = 120  # characters of a message that asks for a word
_LONGEST_ATTEMPT: Final = 300  # and of one that is corrected
#: Characters of an answer in which it says the word, or corrects.
OPENING: Final = 160
_STEM: Final = 5  # letters by which two forms of a word are the same
_LEAST_WORD: Final = 4  # letters of a word that a correction repeats
_MOST_WORDS: Final = 8  # beside a term in quotation marks: "what does 'saudade' mean?"
_OWN: Final = (
    r"(?:the|my|our|your|these|those|all|every|new|which|what|die|der|den|meine[rn]?|unsere[rn]?|alle[rn]?|neue[rn]?|welche|les|mes|nos|"
    r"quels|las|los|mis|nuestras|as|os|minhas|le|i|gli|mie|miei|de|mijn|onze|moje|nasze|мои|наши|все)"
)
_ASKS: Final[dict[SeriesKind, re.Pattern[str]]] = {
    "words": lazy.pattern(
        rf"\b{_OWN} (?:[\w'-]+ ){{0,2}}(?:{one_of('series', 'words')})\b|\b(?:{one_of('series', 'words alone')})\b"
        rf"|{one_of('series', 'words run-on')}"
    ),
    "mistakes": lazy.pattern(
        rf"\b{_OWN} (?:[\w'-]+ ){{0,2}}(?:{one_of('series', 'mistakes')})\b|{one_of('series', 'mistakes run-on')}"
        rf"|\b(?:{one_of('series', 'works on')})\b"
    ),
}
_GAMES: Final = lazy.pattern(
    rf"\b{_OWN} (?:[\w'-]+ ){{0,2}}(?:{one_of('series', 'games')})\b|\b(?:{one_of('series', 'games asked')})\b|\bpgn\b"
    rf"|{one_of('series', 'games run-on')}"
)
_PLAYS: Final = lazy.pattern(
    rf"(?<!\w)(?:{one_of('series', 'plays')}|(?:{one_of('series', 'let us')})\s[^.!?\n]{{1,40}}\s(?:{one_of('series', 'play')}))"
    rf"(?!\w)|{one_of('series', 'plays run-on')}"
)
_OTHERS: Final = lazy.pattern(rf"(?<![\w'])(?:{one_of('series', 'others')})(?![\w'])|{one_of('series', 'others run-on')}")
_QUESTIONS: Final = lazy.pattern(
    rf"(?<!\w)(?:{one_of('series', 'asks for questions')})(?!\w)|{one_of('series', 'asks for questions run-on')}"
)
_ASKS_WORD: Final = lazy.pattern(rf"(?<!\w)(?:{one_of('series', 'asks word')})(?!\w)|{one_of('series', 'asks word run-on')}")
_TERM: Final = lazy.pattern(r"(?<!\w)['\"“„«‘「『][^'\"”“»’」』\n]{1,40}['\"”“»’」』](?!\w)")
_QUOTED: Final = lazy.pattern(r"['\"“„«‘「『*][^\n]{2,160}?['\"”“»’」』*]")
_CORRECTS: Final = lazy.pattern(rf"(?<!\w)(?:{one_of('series', 'corrects')})(?!\w)")
_LABEL: Final = lazy.pattern(r"\s*([^\W\d_]{1,20})\s?[:：](?=\s)")
_QUESTION: Final = lazy.pattern(r"[?？؟]")


@remembering
def kinds_asked_over(folded: str) -> tuple[SeriesKind, ...]:
    """The kinds of exchanges that a case-folded message covers."""
    return tuple(kind for kind, asks in _ASKS.items() if asks.search(folded)) if len(folded) <= _LONGEST else ()


@remembering
def asks_for_moves(folded: str) -> bool:
    """Whether a case-folded message is about the moves of a game."""
    return len(folded) <= _LONGEST and _GAMES.search(folded) is not None


def begins_game(said: str) -> bool:
    """Whether a message explicitly begins a game, or makes the chat its master."""
    return len(said) <= _LONGEST_RULES and _PLAYS.search(lower.lower_text(said).replace("’", "'")) is not None


def asks_for_others(said: str) -> bool:
    """Whether a short message asks for one more of the same: "another one", "what else?"."""
    return len(said) <= _LONGEST_WORD and _OTHERS.search(lower.lower_text(said).replace("’", "'")) is not None


def asks_for_questions(said: str) -> bool:
    """Whether a message asks for a question: "ask me something that I haven't had yet"."""
    return len(said) <= _LONGEST_WORD and _QUESTIONS.search(lower.lower_text(said)) is not None


def asks_for_word(said: str) -> bool:
    """Whether a message asks for the meaning or translation of a word."""
    if len(said) > _LONGEST_WORD or "\n" in said:
        return False
    low = lower.lower_text(said)
    if _ASKS_WORD.search(low) is not None:
        return True
    without = _TERM.sub(" ", low, count=1)
    return len(without) < len(low) and _QUESTION.search(low) is not None and len(lower.words(without)) <= _MOST_WORDS


def corrects(answer: str, said: str) -> bool:
    """Whether an answer begins with a corrected form of a message that asks nothing."""
    if len(said) > _LONGEST_ATTEMPT or _QUESTION.search(said):
        return False
    opening = lower.lower_text(answer[:OPENING])
    if not (_CORRECTS.search(opening) and _QUOTED.search(opening)):
        return False
    before = {word[:_STEM] for word in lower.words(lower.lower_text(said)) if len(word) >= _LEAST_WORD}
    return not before.isdisjoint(word[:_STEM] for word in lower.words(opening))


def series_label(said: str) -> str:
    """The word before a colon at the beginning of a message, in lower case; "" for none."""
    found = _LABEL.match(said)
    return found[1].lower() if found else ""


def names_label(folded: str, label: str) -> bool:
    """Whether a case-folded request names a label in any form: "the translations" for "translate"."""
    if len(folded) > _LONGEST or len(label) < _LEAST_WORD or _LABEL.match(folded):
        return False
    return any(word[:_STEM] == label[:_STEM] for word in lower.words(folded))
