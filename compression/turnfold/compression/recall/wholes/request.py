"""The input of every finder of things that a question needs whole, and the passages that a part leaves room for.

What each finder makes of it is up to the modules beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from turnfold.compression.memo import Memo
from turnfold.compression.text.quotes import Quotable

#: Tokens for other relevant passages, beside a part that answers the request.
BESIDE: Final = 400


class WholeRequest(NamedTuple):
    """A request that may need something whole.

    Attributes:
        sources: messages that may be quoted.
        behind: later messages, which the request holds unchanged. What has a newer form there needs no quote.
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
