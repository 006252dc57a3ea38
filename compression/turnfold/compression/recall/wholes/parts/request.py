"""The input of every finder of parts, and the passages that it leaves to others.

Only the value and the figure are here. What each finder makes of them is up to the modules beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from turnfold.compression.memo import Memo
from turnfold.compression.text.quotes import Quotable

#: Tokens for other relevant passages, beside a part that answers the request.
BESIDE: Final = 400


class PartRequest(NamedTuple):
    """A request that may name a part of what was handed over.

    Attributes:
        sources: messages that may be quoted.
        behind: later messages, which the request holds unchanged. A part with a form there needs no quote.
        text: the request's text.
        room: most tokens for quotes.
        count: counts the tokens of a text.
        memo: cache for data derived from the messages alone.
    """

    sources: Sequence[Quotable]
    behind: Sequence[Quotable]
    text: str
    room: int
    count: Callable[[str], int]
    memo: Memo
