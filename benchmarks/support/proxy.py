"""A Turnfold process to measure.

Lives here: starting the command as a user does, waiting until it is ready, stopping it. Does not belong here: measuring.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

_PATIENCE = 120.0  # a start takes two seconds, and many more on a machine under load


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def turnfold(upstream: str, **settings: str) -> Iterator[str]:
    """``turnfold serve`` against an upstream; gives its base URL.

    Args:
        settings: further variables without their prefix, as ``mode="observe"``.

    Raises:
        RuntimeError: it ended, or was not ready in time.
    """
    port = free_port()
    own = {"UPSTREAM_URL": upstream, "PORT": str(port), "STORE_URL": "memory://"} | {k.upper(): v for k, v in settings.items()}
    others = {name: value for name, value in os.environ.items() if name != "TURNFOLD_SHARED"}  # ours, and no setting
    environment = others | {f"TURNFOLD_{name}": value for name, value in own.items()}
    command = [sys.executable, "-c", "from turnfold.proxy.cli import main; main()", "serve"]  # what the script `turnfold` runs
    process = subprocess.Popen(command, env=environment)
    try:
        _wait_until_ready(process, f"http://127.0.0.1:{port}/readyz")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(_PATIENCE)


def _wait_until_ready(process: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"turnfold ended with status {process.returncode}")
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"turnfold was not ready within {_PATIENCE:.0f} s")
