"""The chat's remarks on a user's text or code, for a request that returns to them: "apply your suggestions".

Lives here: which answer that is, and what is quoted of it. Does not belong here: telling such a request
(``text.dialogue.wanted.judging``), finding the text or the code (``works``, ``parts``).

The request names the text, if anything; what was said of it shares no word with "your suggestions". It stands in the answer to
the message that holds the text. Where nothing is named, the text is meant that was judged last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.spread_works import fitting_spread
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.wanted.judging import judging_sentences, refers_to_remarks
from turnfold.compression.text.quotes import Quotable, Quote

_HANDED: Final = 60  # characters of a message that may hold a text
_ASKING: Final = 400  # and of either end of one, where it says what is to be done with it


def with_remarks(
    found: FoundWork,
    sources: Sequence[Quotable],
    behind: Sequence[Quotable],
    asks: str,
    room: int,
    count: Callable[[str], int],
    memo: Memo,
) -> FoundWork:
    """What was found with the answers to the users' messages that hold it, if the question goes back to these; where nothing was
    found, the text that was judged last and the answer to it.

    Args:
        sources: what may be quoted.
        behind: what the request holds as it was, behind these.
        asks: the question, case-folded.
        room: tokens that quotes may take, with what was found.
    """
    if not refers_to_remarks(asks):
        return found
    known = {quote.source for quote in found.quotes}
    handed = sorted(n for n in known if _is_handed(sources, n))
    more = [n + 1 for n in handed if n + 1 not in known] if known else _judged_last(sources, behind, memo)
    quotes, tokens = fitting_spread(sources, [Quote(n, 0, len(sources[n].text)) for n in more], room - found.tokens, count)
    return found.joined(FoundWork(tuple(quotes), (), tokens))


def _is_handed(sources: Sequence[Quotable], n: int) -> bool:
    """Whether a message may hold a text, and is answered."""
    is_answered = sources[n].role == "user" and n + 1 < len(sources) and sources[n + 1].role == "assistant"
    return is_answered and len(sources[n].text) >= _HANDED


def _judged_last(sources: Sequence[Quotable], behind: Sequence[Quotable], memo: Memo) -> list[int]:
    """The message of the text that was judged last, and its answer; none where the request holds them as they were."""
    judged = of_each(memo, "judged", [*sources, *behind], _has_judged)
    last = max((n for n, one in enumerate(judged) if one), default=len(sources))
    return [last, last + 1] if last < len(sources) and _is_handed(sources, last) else []


def _has_judged(message: Quotable) -> bool:
    """Whether a user hands a text, which stands on lines of its own, and has it judged."""
    if message.role != "user" or len(message.text) < _HANDED or "\n" not in message.text:
        return False
    return any(judging_sentences(words.fold(end)) for end in {message.text[:_ASKING], message.text[-_ASKING:]})
