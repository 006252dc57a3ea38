"""Warning of a Redis server that silently evicts data when its memory is full.

The warning only: the store's back-end queries the server, and ``checkup`` gives advice.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from turnfold.proxy.store.base import MayEvict, StoreError, StoreForbidden

_PAUSE: Final = 60.0  # seconds until a server that does not answer is asked again

_log = logging.getLogger(__name__)


async def eviction_problem(server: MayEvict | None) -> str:
    """What a full server does to the ledger, in words; "" if it keeps its data, or does not report its policy.

    Raises:
        StoreError: it does not answer.
    """
    policy = "" if server is None else await server.eviction()
    return policy and f"a full Redis silently drops receipts and totals ({policy}), and the report shows too little"


async def warn_of_eviction(server: MayEvict) -> None:
    """Log the warning once: the ledger cannot show what is missing."""
    while True:
        try:
            problem = await eviction_problem(server)
        except StoreForbidden:  # some managed servers do not report it
            return
        except StoreError:
            await asyncio.sleep(_PAUSE)
            continue
        if problem:
            _log.warning("%s: set its maxmemory-policy to noeviction", problem)
        return
