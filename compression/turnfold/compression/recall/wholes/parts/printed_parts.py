"""Parts of what an agent's tools printed that a user names.

This module looks for them in the texts as their authors wrote them, and finds where they are in what was printed. Parts of each
kind are found by the modules beside this one; what tools do to a text is known in ``text.dialogue.wanted.printed_text``.

A fetched document has its headings inside a JSON string, a file that was read has numbers in front of its lines, and a
configuration may be a single line. Quotes are verbatim, so they show the part as the tool printed it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from turnfold.compression.memo import of_each
from turnfold.compression.recall.fence import quote_tokens
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.request import WholeRequest
from turnfold.compression.text.dialogue.wanted.printed_text import PrintedText, printed_text
from turnfold.compression.text.quotes import Quotable, Quote, Source

_LONGEST: Final = 60_000  # characters of a result; longer ones are read unchanged
_TRIES: Final = 2  # what was printed takes more tokens than what was written


def find_printed_parts(asked: WholeRequest, finders: Iterable[Callable[[WholeRequest], FoundWork]]) -> FoundWork:
    """The result of the first finder that finds something."""
    every = [*asked.sources, *asked.behind]
    printed = of_each(asked.memo, "printed texts", every, _printed)
    written = [_written(source, one) for source, one in zip(every, printed, strict=True)]
    folded = len(asked.sources)
    request = asked._replace(sources=written[:folded], behind=written[folded:])
    for find in finders:
        room = asked.room
        for _ in range(_TRIES):
            found = find(request._replace(room=room))
            if not found.quotes:
                break
            quotes = tuple(_as_printed(quote, printed) for quote in found.quotes)
            tokens = quote_tokens(quotes, asked.sources, asked.count)
            if tokens <= asked.room:
                listed = frozenset(_as_printed(quote, printed) for quote in found.listed)
                return found._replace(quotes=quotes, tokens=tokens, listed=listed)
            room = room * room // max(tokens, 1)
    return FoundWork()


def _printed(source: Quotable) -> PrintedText:
    is_read = source.role == "tool" and len(source.text) <= _LONGEST
    return printed_text(source.text) if is_read else PrintedText(source.text)


def _written(source: Quotable, printed: PrintedText) -> Quotable:
    if printed.text is source.text:
        return source
    return Source(source.role, printed.text, source.key, source.name, source.answered_call)


def _as_printed(quote: Quote, printed: Sequence[PrintedText]) -> Quote:
    return Quote(quote.source, *printed[quote.source].range((quote.start, quote.end)))
