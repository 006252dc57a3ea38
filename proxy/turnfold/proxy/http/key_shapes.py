"""What keys of providers look like.

Lives here: telling a key from a name, wherever a client put it. Does not belong here: what is done with either.
"""

from __future__ import annotations

import re
from typing import Final

_KEY: Final = re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|AIza)[-_][\w-]{8}|\beyJ[\w-]{6}|\bBearer\s", re.IGNORECASE)


def looks_like_a_key(text: str) -> bool:
    """Whether a text may hold a key, and so must not be written down."""
    return _KEY.search(text) is not None
