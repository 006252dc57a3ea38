"""Whether a summary may replace its source.

The checks in order, and the slug of the first that fails. Claims are compared with a text in ``claims``; asking again is up to
``asking``.

    empty, cut-off        nothing came, or not all of it
    no-structure          it is not what was asked for (a refusal to answer, an answer to something in the text)
    odd-characters        it has control characters that the source lacks, or ones that turn the direction of text
    repeats               prose that says the same again and again
    longer                it is no shorter than its source, or than it was allowed to be
    dropped               it lacks a text that it was told to keep
    invented-figure, invented-identifier, invented-quote, invented-name
                          it states one that the source lacks
    off-topic             most of what it says is nowhere in the source
    turned-round          a negation came or went
    doubt-lost            it says for sure what the source left open, or tied to a condition
    not-the-user's        it passes on as the user's task or rule, or as an order to the reader, what no user said

A summary gets no more trust than its source: what a tool or an assistant said may be reported as a fact, but never as what the
user wants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.summary.claims import Grounds
from turnfold.compression.summary.template import SummaryLine, plain_reply, read_lines, write_lines
from turnfold.compression.text.dialogue.standing.orders import is_standing_order
from turnfold.compression.text.passages import sentences
from turnfold.compression.text.quotes import Source
from turnfold.compression.tokens import Count

#: Headings whose lines must come from the user.
_OF_USERS: Final = frozenset({"task", "constraints"})
_OFF_TOPIC: Final = 0.4  # share of a line's subject that its source must mention
_OWN_WORDS: Final = 0.5  # the same for the user's messages, for lines that must come from the user
#: Phrases used only to make another reader obey.
_TURNS_ON: Final = ("ignore previous", "ignore all", "ignore the above", "disregard", "system prompt", "new instructions")

#: Control characters but tabs and line ends, and those that turn the direction of text.
_ODD: Final = lazy.pattern("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_FAULTS: Final[tuple[tuple[str, Callable[[str, Grounds], bool]], ...]] = (
    ("invented-figure", lambda said, source: source.foreign_figure(said) is not None),
    ("invented-identifier", lambda said, source: source.foreign_identifier(said) is not None),
    ("invented-quote", lambda said, source: source.foreign_quote(said) is not None),
    ("invented-name", lambda said, source: source.foreign_name(said) is not None),
    ("off-topic", lambda said, source: source.share_of(said) < _OFF_TOPIC),
    ("turned-round", lambda said, source: source.contradicts(said)),
    ("doubt-lost", lambda said, source: source.doubts(said)),
)


def statement_fault(said: str, source: Grounds) -> str:
    """The fault of one statement; "" if there is none."""
    return next((slug for slug, fails in _FAULTS if fails(said, source)), "")


def size_fault(text: str, source: str, most: int, count: Count, keep: Sequence[str]) -> str:
    """The fault of a summary as a whole; "" if there is none.

    Args:
        most: maximum number of tokens.
        keep: texts that it must contain word for word if the source does.
    """
    if not text.strip():
        return "empty"
    if any(sign not in source for sign in _ODD.findall(text)):
        return "odd-characters"
    size = count(text)
    if size >= count(source) or size > most:
        return "longer"
    return "dropped" if any(term in source and term not in text for term in keep) else ""


def _repeats(statements: Sequence[str]) -> bool:
    """Whether a model went round in circles: most of what it says it has said before."""
    said = {" ".join(one.casefold().split()).rstrip(".!?。！？") for one in statements}
    return 2 * len(said) <= len(statements)


def prose_fault(reply: str, source: str, most: int, count: Count, keep: Sequence[str] = ()) -> str:
    """The fault of a summary of a text in prose; "" if there is none."""
    text = plain_reply(reply)
    grounds = Grounds([source])
    if fault := size_fault(text, source, most, count, keep):
        return fault
    pieces = [text[start:end] for start, end in sentences(text, 0, len(text))]
    if _repeats(pieces):
        return "repeats"
    faults = (_statement_of_text(_without_opening_capital(piece, grounds), grounds) for piece in pieces)
    return next(filter(None, faults), "")


def _statement_of_text(said: str, grounds: Grounds) -> str:
    if fault := statement_fault(said, grounds):
        return fault
    return "not-the-user's" if _orders(said) and not grounds.speaks_of(said) else ""


def _without_opening_capital(sentence: str, source: Grounds) -> str:
    """A sentence of prose without its opening capital, which does not make the word a name unless a name of two words follows."""
    words = sentence.split(maxsplit=2)
    opens = words and words[0].istitle() and not (len(words) > 1 and words[1][:1].isupper())
    return sentence[0].lower() + sentence[1:] if opens and source.share_of(sentence) >= _SAME_TOPIC else sentence


_SAME_TOPIC: Final = 0.6


def anchored_fault(reply: str, sources: Sequence[Source], most: int, count: Count) -> str:
    """The fault of a summary of messages under the standard headings; "" if there is none."""
    if not reply.strip():
        return "empty"
    lines = read_lines(reply)
    if lines is None:
        return "no-structure"
    source = "\n".join(one.text for one in sources)
    if fault := size_fault(write_lines(lines), source, most, count, ()):
        return fault
    everyone, users = Grounds([one.text for one in sources]), Grounds([one.text for one in sources if one.role == "user"])
    return next(filter(None, (_line_fault(line, everyone, users) for line in lines)), "")


def _line_fault(line: SummaryLine, everyone: Grounds, users: Grounds) -> str:
    faults: Iterator[str] = (statement_fault(said, everyone) for said in line.text.split("; ") if said.strip())
    if fault := next(filter(None, faults), ""):
        return fault
    if line.heading in _OF_USERS:
        foreign = users.foreign_identifier(line.text) or users.foreign_figure(line.text) or users.foreign_quote(line.text)
        return "not-the-user's" if foreign or users.share_of(line.text) < _OWN_WORDS else ""
    return "not-the-user's" if _orders(line.text) and not users.speaks_of(line.text) else ""


def _orders(said: str) -> bool:
    """Whether a statement gives its reader orders."""
    low = said.lower()
    return is_standing_order(said) or any(phrase in low for phrase in _TURNS_ON)
