"""``turnfold``, in which two things do not end when they are told to: a background loop that swallows its cancellation, as a
client of a store can, and a thread that goes on.

Lives here: a command line for tests of how a server stops, and shorter times to wait for both.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time

from turnfold.proxy import app, stopping
from turnfold.proxy.cli import main


async def _goes_on(pause: float = 600) -> None:
    threading.Thread(target=time.sleep, args=(pause,)).start()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(pause)
    await asyncio.sleep(pause)


if __name__ == "__main__":
    for module, name, value in ((app, "give_back", _goes_on), (app, "_LEAVING", 0.5), (stopping, "STOP_PATIENCE", 10.0)):
        setattr(module, name, value)
    main()
