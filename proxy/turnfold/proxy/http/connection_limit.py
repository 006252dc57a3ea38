"""How many clients may be connected at once.

This module closes connections for which the process has no descriptors left. ``server`` raises the limit.

A request needs two descriptors: one for its client and one for the upstream. The system gives them to whoever asks first. Under a
low limit clients took all of them, and every request failed for lack of a second one.
"""

from __future__ import annotations

import logging
import sys
import time
from typing import Final

if sys.platform != "win32":
    import resource

_OWN: Final = 32  # descriptors of the process itself: event loop, listener, store
_LEAST: Final = 8
_TOLD_EVERY: Final = 60.0  # seconds

_log = logging.getLogger(__name__)


class ConnectionLimit:
    """Accepts clients while there are descriptors for them and for as many upstream connections."""

    def __init__(self) -> None:
        self._told = -_TOLD_EVERY

    def is_open(self, connected: int) -> bool:
        """Whether the newest of `connected` clients may stay; logs now and then that others may not."""
        if sys.platform == "win32":  # Windows has no such limit
            return True
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if limit == resource.RLIM_INFINITY or connected <= max(_LEAST, (limit - _OWN) // 2):
            return True
        now = time.monotonic()
        if now - self._told >= _TOLD_EVERY:
            self._told = now
            _log.warning("%d clients are as many as %d open files (ulimit -n) allow: the rest are closed", connected - 1, limit)
        return False
