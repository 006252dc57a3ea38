"""Apps for workers that a test starts as processes: they import nothing of ours, so that a start takes little.

Tests say what is expected of their workers.
"""

from __future__ import annotations

import os
from typing import Any


async def tells_its_process(scope: Any, receive: Any, send: Any) -> None:
    """Answers with its process's id."""
    del receive
    assert scope["type"] == "http"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"connection", b"close")]})
    await send({"type": "http.response.body", "body": b"%d" % os.getpid()})


async def does_not_start(scope: Any, receive: Any, send: Any) -> None:
    """Fails before it serves."""
    del scope, receive, send
    raise RuntimeError
