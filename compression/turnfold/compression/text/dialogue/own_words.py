"""A user's own words beside pasted text: the request above a log, the question below a stack trace.

This module tells lines that somebody wrote from lines that a program wrote. A pasted text is shortened in ``shorten``; standing
orders themselves are in ``orders``.

In doubt a line counts as a person's: keeping a line of output costs a few tokens, losing a request costs the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.memo import remembering
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.standing.orders import begins_with_command, is_standing_order
from turnfold.compression.text.kinds import kind_of
from turnfold.compression.text.lower import lower_text, words
from turnfold.compression.text.spans import ASKS

_MOST: Final = 400  # characters of a line that somebody types
_PASTED: Final = 400  # characters from which a message may contain pasted text
_OUTPUT: Final = frozenset({"tests", "trace", "log", "search"})  # kinds of text that only programs write
_FEWEST: Final = 3  # words of a meaningful line; in scripts without spaces, characters
_PLAIN_SHARE: Final = 0.55  # share of its words that consist only of letters
_ENDS: Final = 2  # non-empty lines at either end that may hold the first and the last word of a message
_NEAR: Final = 200  # non-empty lines from either end within which a request may be directly next to pasted text
# A program's line: indented, with a prompt, a time or a level in front, or ending as code does.
_MACHINE: Final = lazy.pattern(
    r"(?:\t| {4}|[$>#@+|{}<=/\\^~%*]|\[?\d{2,4}[-/:]\d\d|\[[A-Z]+\]|(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL)\b"
    r"|File \"|at \S+\("
    r"|(?:def|class|import|from|const|let|var|return|if|for|while|function|public|private|select|insert) \S*[\s({].*[:;{)]$)"
    r"|[^?]*(?:[{};,\\|]|=>|->)\s*$|[^:]{1,40}:\s*$"
)
_WORD: Final = lazy.pattern(r"\S+")
_LETTERS: Final = lazy.pattern(r"[\"'“‘(]?[^\W\d_]+(?:['’-][^\W\d_]+)*[.,:;!?)\"'”’…]*\Z")
_DENSE: Final = lazy.pattern(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_SPEAKING: Final = (
    "i i'm i'd i've i'll we we're we'd my our please can could would why how instead should want need let's lets bitte ich wir "
    "kannst können warum wie stattdessen je nous peux pouvez pourquoi comment yo puedes por quiero necesito eu você porque"
)
_SPEAKS: Final = frozenset(_SPEAKING.split())
_OPENS: Final = 4  # words within which a line shows that somebody speaks


def own_words(lines: Sequence[str]) -> set[int]:
    """Indices of the lines that somebody wrote to be read.

    That is requests and questions anywhere, and any statement at either end or in a paragraph of its own.
    """
    filled = [i for i, line in enumerate(lines) if line.strip()]
    near = filled if len(filled) <= 2 * _NEAR else [*filled[:_NEAR], *filled[-_NEAR:]]
    ends = {*filled[:_ENDS], *filled[-_ENDS:]}
    alone = {i for i in filled if _stands_alone(lines, i)}
    return {i for i in sorted({*near, *alone}) if _is_prose(lines[i]) and (i in ends or i in alone or asks(lines[i]))}


def beside_pasted(text: str) -> list[Range]:
    """Ranges of a user's own words, if most of a message is pasted."""
    if len(text) < _PASTED:
        return []
    lines = text.split("\n")
    begins = list(accumulate((len(line) + 1 for line in lines), initial=0))
    ranges = [(begins[i], begins[i] + len(lines[i])) for i in sorted(own_words(lines))]
    return ranges if sum(end - start for start, end in ranges) < len(text) / 2 else []


def beside_output(text: str) -> list[Range]:
    """The same if the pasted text is program output, in which prose lines may be the user's own, wrapped at a column."""
    ranges = beside_pasted(text)
    if not ranges:
        return []
    lines = [line for line in text.split("\n") if line.strip()]
    return ranges if sum(map(_is_prose, lines)) < len(lines) / 2 else []


@remembering  # called for each plan that a budget tries
def is_only_output(text: str) -> bool:
    """Whether a user's message is only program output, without a question.

    Some agents send test runs, traces, logs or reports in the user's name.
    """
    lines = text.split("\n")
    return kind_of(text) in _OUTPUT and not any(asks(lines[i]) for i in own_words(lines))


def _stands_alone(lines: Sequence[str], i: int) -> bool:
    return not any(line.strip() for line in (*lines[max(0, i - 1) : i], *lines[i + 1 : i + 2]))


def _is_prose(line: str) -> bool:
    text = line.rstrip()
    if not text or len(text) > _MOST or _MACHINE.match(text):
        return False
    if _DENSE.search(text):
        return len(_DENSE.findall(text)) > _FEWEST
    found = _WORD.findall(text)
    plain = [word.isalpha() or _LETTERS.match(word) is not None for word in found]
    return len(found) >= _FEWEST and sum(plain) >= _PLAIN_SHARE * len(found)


@remembering  # most lines of a file are the same when it is read again
def asks(line: str) -> bool:
    """Whether somebody asks, orders or speaks of themselves in a line or a sentence."""
    said = words(lower_text(line))
    return (
        ASKS.search(line) is not None
        or not _SPEAKS.isdisjoint(said[:_OPENS])
        or begins_with_command(line)
        or is_standing_order(line, said)
    )
