"""Why a conversation is folded as often as it is, in figures and as a sentence.

The explanation follows from the model's prices, the options and the conversation's pace. The arithmetic of the thresholds is in
the engine (``compression.fold.policy``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from turnfold.compression.fold.policy import Shape, believed_warmth, thresholds
from turnfold.compression.options import FoldOptions

#: Fold options by model name.
OptionsOf = Callable[[str], FoldOptions]


@dataclass(frozen=True, slots=True)
class Pacing:
    """How a conversation of one model is folded.

    Attributes:
        read: price of a cached token, relative to an uncached one.
        write: price of a token written to the cache, relative to an uncached one.
        reread: price of sending an old token once more, at the configured share of cache hits.
        start: tokens of a conversation from which folding begins.
        fold_at: tokens of the raw tail from which it is folded.
        keep_recent: tokens of the tail that stay raw.
        turn: tokens that a request adds on average.
        turns: requests between two folds at that pace.
    """

    model: str
    read: float
    write: float
    reread: float
    start: int
    fold_at: int
    keep_recent: int
    turn: int
    turns: float

    @property
    def words(self) -> str:
        """The pacing as a sentence."""
        often = "every turn" if self.turns < 1.5 else f"every {self.turns:.0f} turns"
        return (
            f"Above {self.start:,} tokens, it folds {often} at these prices (a cached token costs {self.read:g} of an input"
            f" token, a written one {self.write:g}; {self.turn:,} tokens a turn; the newest {self.keep_recent:,} stay unfolded)."
        )


def pacing(model: str, options: FoldOptions, turns: int, tokens: int, *, cached: bool = False) -> Pacing | None:
    """The pacing of a conversation that grew by so many tokens in so many turns; None if either is 0.

    Args:
        cached: whether the upstream was seen to have a cache, so that prices that are not known are assumed.
    """
    if turns <= 0 or tokens <= 0:
        return None
    pace = tokens / turns
    if cached and options.prices_if_cached is not None:
        options = replace(options, prices=options.prices_if_cached)
    # Loops and FACTS ratios determine the content of blocks, not when there is a new one.
    limits = thresholds(options, believed_warmth(options), tokens, Shape(pace, 0.0, 1.0))
    prices = options.prices
    return Pacing(
        model=model,
        read=prices.read,
        write=prices.write,
        reread=round(prices.reread(believed_warmth(options).turns), 4),
        start=limits.start,
        fold_at=limits.fold_at,
        keep_recent=limits.keep_recent,
        turn=round(pace),
        turns=round(max(1.0, (limits.fold_at - limits.keep_recent) / pace), 1),
    )
