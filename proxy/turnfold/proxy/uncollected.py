"""Importing while the garbage collector rests.

Lives here: that. Does not belong here: what is imported, and anything whose import takes time.

What is imported stays, and the collector would look at it again and again: a tenth of a start.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Meanwhile no garbage is collected, unless somebody else has the collector off for longer; nor is what is there then looked
    at later: the first collection would go through all of it."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.freeze()
            gc.enable()
