"""``turnfold serve`` as a process of its own, and bodies to send to it.

It starts and stops any server, and calls it with the admin token. Servers inside the test process are in ``harness``.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.support.ports import free_port
from tests.proxy.harness import Answer, UpstreamServer, call, reply, until
from tests.support.words import prose

ADMIN = ("x-turnfold-admin-token", "adm")
USAGE = {"prompt_tokens": 1000, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 0}}
COMPLETION = json.dumps({"id": "c", "model": "gpt-4o", "choices": [], "usage": USAGE}).encode()
SHORT = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}).encode()


def chat(turns: int) -> list[dict[str, str]]:
    """A chat of so many turns of some 200 tokens each, its last message the user's."""
    roles = ("user", "assistant")
    return [{"role": roles[i % 2], "content": prose(i, "en", 8)} for i in range(2 * turns + 1)]


LONG = json.dumps({"model": "gpt-4o", "messages": chat(60)}).encode()
#: An upstream that closes the connection in the middle of its answer.
CUT = reply(b"{", headers=((b"content-type", b"application/json"), (b"content-length", b"9")))


class Served:
    """A server that serves, in whatever process."""

    def __init__(self, origin: str) -> None:
        self.origin = origin

    def post(self, body: bytes, key: str = "sk-anna") -> Answer:
        headers = [("content-type", "application/json"), ("authorization", f"Bearer {key}")]
        return call(self.origin, "POST", "/v1/chat/completions", body, headers)

    def get(self, path: str, *headers: tuple[str, str]) -> Answer:
        return call(self.origin, "GET", path, None, [ADMIN, *headers])


class ServeProcess(Served):
    """A running process."""

    def __init__(self, origin: str, process: subprocess.Popen[bytes]) -> None:
        super().__init__(origin)
        self.process = process

    def stop(self) -> int:
        """Ask it to stop, and wait for that; gives its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def ready(self) -> bool:
        assert self.process.poll() is None, "it ended"
        with contextlib.suppress(OSError):
            return call(self.origin, "GET", "/readyz").status == 200
        return False


StartProcess = Callable[..., ServeProcess]


@contextlib.contextmanager
def serve_process(
    upstream: UpstreamServer,
    directory: Path,
    *,
    through: Sequence[str] = (),
    module: str = "turnfold.proxy.cli",
    **settings: str,
) -> Iterator[ServeProcess]:
    """``turnfold serve`` in front of `upstream`, gone with all its workers afterwards; run by the command `through`."""
    port = free_port()
    own = {"UPSTREAM_URL": upstream.origin + "/v1", "PORT": str(port), "ADMIN_TOKEN": "adm", "STORE_URL": "memory://"}
    others = {name: value for name, value in os.environ.items() if not name.startswith("TURNFOLD_")}
    mine = {f"TURNFOLD_{name}": value for name, value in (own | settings).items()}
    # The user's key, which the dashboard's link takes, is the test's own, and so is what a server that is killed leaves.
    environment = {**others, "XDG_STATE_HOME": str(directory), "TMPDIR": str(directory), **mine}
    environment["PYTHONPATH"] = os.pathsep.join([os.getcwd(), *sys.path])
    command = [*through, sys.executable, "-m", module, "serve"]
    process = subprocess.Popen(command, env=environment, cwd=directory, start_new_session=True)  # noqa: S603 - ours
    try:
        served = ServeProcess(f"http://127.0.0.1:{port}", process)
        until(served.ready, timeout=90, pause=0.05)
        yield served
        served.stop()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
