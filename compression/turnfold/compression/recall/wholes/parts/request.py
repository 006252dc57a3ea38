"""The input of every finder of parts, and the passages that it leaves to others.

Lives here: the value and the figure alone. Does not belong here: what each finder makes of it (the modules beside it).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from turnfold.compression.memo import Memo
from turnfold.compression.text.quotes import Quotable

#: Tokens of what else bears on a request, beside a part that says what is asked for.
BESIDE: Final = 400


class PartRequest(NamedTuple):
    """A request that may name a part of what was handed over.

    Attributes:
        sources: what may be quoted.
        behind: what the request holds as it was, behind these; a part that is there, or a newer form of it, needs no quote.
        text: what is asked.
        room: tokens that quotes may take.
        count: counts the tokens of a text.
        memo: keeps what is derived from the messages alone.
    """

    sources: Sequence[Quotable]
    behind: Sequence[Quotable]
    text: str
    room: int
    count: Callable[[str], int]
    memo: Memo
