"""Importing with the garbage collector off.

Imported objects stay, and the collector would scan them repeatedly: a tenth of the startup time. This module must stay quick to
import itself.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Switch garbage collection off meanwhile, unless somebody else keeps it off for longer. Objects that exist then are not
    looked at later either: the first collection would go through all of them.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.freeze()
            gc.enable()
