"""A Turnfold process to measure.

It starts the command as a user does, waits until it is ready, and stops it. It measures nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.support.ports import free_port

_PATIENCE = 120.0  # a start takes two seconds, and many more on a machine under load


def command(*arguments: str, python: str = sys.executable) -> list[str]:
    """The command line of the script `turnfold`, for the interpreter of this or another checkout."""
    return [python, "-c", "from turnfold.proxy.cli import main; main()", *arguments]


def environment(**settings: str) -> dict[str, str]:
    """This process's environment with these settings and no other ones; names without the prefix."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("TURNFOLD_")}
    return others | {f"TURNFOLD_{name.upper()}": value for name, value in settings.items()}


@contextmanager
def turnfold(upstream: str, python: str = sys.executable, **settings: str) -> Iterator[str]:
    """``turnfold serve`` against an upstream; gives its base URL.

    Args:
        python: the interpreter of the checkout to serve.
        settings: further variables without their prefix, as ``mode="observe"``. Settings in this process's environment or working
            directory are ignored.

    Raises:
        RuntimeError: it ended, or was not ready in time.
    """
    port = free_port()
    own = {"upstream_url": upstream, "port": str(port), "store_url": "memory://"} | settings
    with serving(command("serve", python=python), environment(**own), f"http://127.0.0.1:{port}/readyz"):
        yield f"http://127.0.0.1:{port}/v1"


@contextmanager
def serving(arguments: list[str], variables: dict[str, str], ready: str) -> Iterator[int]:
    """A server's command, in an empty directory, once a URL of it answers; gives its process id.

    Raises:
        RuntimeError: it ended, or was not ready in time.
    """
    with tempfile.TemporaryDirectory() as empty:
        process = subprocess.Popen(arguments, env=variables, cwd=empty, stdout=subprocess.DEVNULL)
        try:
            _wait_until_ready(process, ready)
            yield process.pid
        finally:
            process.terminate()
            process.wait(_PATIENCE)


def _wait_until_ready(process: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with status {process.returncode}")
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"the server was not ready within {_PATIENCE:.0f} s")
