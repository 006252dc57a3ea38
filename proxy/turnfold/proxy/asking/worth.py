"""Whether a written summary is worth its price.

Only the arithmetic is here. How long a conversation can be expected to go on is estimated in ``compression.fold.replay``, and
spending caps are in ``spending``.

A block's quotes take `room` tokens; a summary takes at most a share of that. Each request that can be expected to carry the
summary saves the difference; the request that adopts it writes its tokens to the cache anew, where the quotes would have been
read. Against that stands the price of the call: the block's own messages and the prompt in, the summary out.
"""

from __future__ import annotations

from typing import Final

from turnfold.compression.fold.adoption import WantedSummary

_SHARE: Final = 0.65  # share of the quotes' tokens; with a quarter of slack it is still smaller
_LEAST: Final = 40  # tokens: a shorter summary says nothing that the quotes do not
_PROMPT: Final = 450  # tokens of our own instructions
_MILLION: Final = 1e6


def target_tokens(wanted: WantedSummary, most: int) -> int:
    """Tokens that a summary may take; 0 if it would be too short to be useful."""
    target = min(most, int(_SHARE * wanted.room))
    return target if target >= _LEAST else 0


def gain(wanted: WantedSummary, target: int, input_price: float) -> float:
    """Dollars that a summary of `target` tokens may be expected to save, its own price not taken off.

    Args:
        input_price: dollars for a million uncached input tokens of the conversation's model.
    """
    saved = wanted.requests * wanted.price * (wanted.room - target)
    rewritten = max(0.0, wanted.rewrite * target - wanted.price * wanted.room)
    return (saved - rewritten) * input_price / _MILLION


def call_tokens(wanted: WantedSummary) -> int:
    """Approximate tokens of the call's prompt."""
    return wanted.tokens + _PROMPT
