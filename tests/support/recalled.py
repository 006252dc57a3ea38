"""The passages that recall quotes, as tests look at them."""

from __future__ import annotations

from typing import Any

from turnfold.compression.recall import choosing
from turnfold.compression.text.quotes import Quote


def recall(*given: Any, **chosen: Any) -> tuple[Quote, ...]:
    """The quotes of what `choosing.recall` makes of the same arguments."""
    return choosing.recall(*given, **chosen).quotes
