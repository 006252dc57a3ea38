"""The chat's remarks on a user's text or code, for a request that returns to them: "apply your suggestions".

This module decides which answer that is, and what is quoted of it. Such a request is recognised in
``text.dialogue.wanted.judging``; the text or the code is found in ``works`` and ``parts``.

The request names the text, if anything; what was said about it shares no word with "your suggestions". It is in the answer to the
message with the text. If nothing is named, the text that was judged last is meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.request import WholeRequest
from turnfold.compression.recall.wholes.spread_works import fitting_spread
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.wanted.judging import judging_sentences, refers_to_remarks
from turnfold.compression.text.quotes import Quotable, Quote

_HANDED: Final = 60  # characters of a message that may contain a text
_ASKING: Final = 400  # characters at either end of such a message that say what to do with the text


def with_remarks(found: FoundWork, asked: WholeRequest) -> FoundWork:
    """The quotes found, with the answers to users' messages that contain them, if the question refers to these answers.

    If nothing was found: the text that was last judged, and the answer with the judgment.
    """
    sources, behind, asks, room, count, memo = asked
    if not refers_to_remarks(asks):
        return found
    known = {quote.source for quote in found.quotes}
    handed = sorted(n for n in known if _is_handed(sources, n))
    more = [n + 1 for n in handed if n + 1 not in known] if known else _judged_last(sources, behind, memo)
    quotes, tokens = fitting_spread(sources, [Quote(n, 0, len(sources[n].text)) for n in more], room - found.tokens, count)
    return found.joined(FoundWork(tuple(quotes), (), tokens))


def _is_handed(sources: Sequence[Quotable], n: int) -> bool:
    """Whether a message may contain a text, and has an answer."""
    is_answered = sources[n].role == "user" and n + 1 < len(sources) and sources[n + 1].role == "assistant"
    return is_answered and len(sources[n].text) >= _HANDED


def _judged_last(sources: Sequence[Quotable], behind: Sequence[Quotable], memo: Memo) -> list[int]:
    """The message with the last text that was judged, and its answer; empty if the request holds them unchanged."""
    judged = of_each(memo, "judged", [*sources, *behind], _has_judged)
    last = max((n for n, one in enumerate(judged) if one), default=len(sources))
    return [last, last + 1] if last < len(sources) and _is_handed(sources, last) else []


def _has_judged(message: Quotable) -> bool:
    """Whether a user hands over a text, on lines of its own, and asks for an opinion."""
    if message.role != "user" or len(message.text) < _HANDED or "\n" not in message.text:
        return False
    return any(judging_sentences(words.fold(end)) for end in {message.text[:_ASKING], message.text[-_ASKING:]})
