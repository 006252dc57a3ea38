"""A server that drops what it holds once its memory is full, and tells nobody.

Lives here: saying so. Does not belong here: asking the server (its back-end), what to do about it (``checkup``, the manual).
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from turnfold.proxy.store.base import MayEvict, StoreError, StoreForbidden

_PAUSE: Final = 60.0  # seconds until a server that does not answer is asked again

_log = logging.getLogger(__name__)


async def eviction_problem(server: MayEvict | None) -> str:
    """What a full server does to the books, in words; "" if it keeps what it holds, or does not say.

    Raises:
        StoreError: it does not answer.
    """
    policy = "" if server is None else await server.eviction()
    return policy and f"a full Redis silently drops receipts and totals ({policy}), and the report shows too little"


async def warn_of_eviction(server: MayEvict) -> None:
    """Log it once: nothing in the books will show what is missing."""
    while True:
        try:
            problem = await eviction_problem(server)
        except StoreForbidden:  # some managed servers keep it to themselves
            return
        except StoreError:
            await asyncio.sleep(_PAUSE)
            continue
        if problem:
            _log.warning("%s: set its maxmemory-policy to noeviction", problem)
        return
