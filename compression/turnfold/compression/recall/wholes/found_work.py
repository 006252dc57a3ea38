"""What a question needs all of, as it was found.

Lives here: the value alone. Does not belong here: finding it (the modules beside it).
"""

from __future__ import annotations

from typing import NamedTuple

from turnfold.compression.text.quotes import Quote


class FoundWork(NamedTuple):
    """What a message asks for as a whole.

    Attributes:
        quotes: the work and what changed it, the work first; none where the request holds it already, or has no room for it.
        outdated: older forms, which are not to be quoted beside it.
        tokens: what the quotes take, with their labels.
        cut: the source of a table of which more rows are needed than there is room for.
        counted: those of the quotes of which each counts, although others may say the same.
        beside: tokens that passages may take beside the quotes, where these say what is asked for; None: as many as without them.
    """

    quotes: tuple[Quote, ...] = ()
    outdated: tuple[Quote, ...] = ()
    tokens: int = 0
    cut: int | None = None
    counted: frozenset[Quote] = frozenset()
    beside: int | None = None

    def joined(self, other: FoundWork) -> FoundWork:
        """Both."""
        cut = other.cut if self.cut is None else self.cut
        quotes, outdated = (*self.quotes, *other.quotes), (*self.outdated, *other.outdated)
        return FoundWork(quotes, outdated, self.tokens + other.tokens, cut, self.counted | other.counted)
