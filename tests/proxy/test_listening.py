"""A Unix socket to listen on: by its file, through the command line, with streams and several workers.

These tests show that. They leave out what is served.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.proxy.harness import UpstreamServer, reply, until
from tests.proxy.processes import SHORT
from turnfold.config.serving import ServerSettings
from turnfold.config.settings import exposure
from turnfold.config.sources import SettingsError, load
from turnfold.proxy.cli.failure import Failure
from turnfold.proxy.cli.remote import ask
from turnfold.proxy.listening import unix_listener
from turnfold.proxy.running.sharing import default_url


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


def test_the_file_is_its_owners_and_goes_with_the_server(tmp_path: Path) -> None:
    path = tmp_path / "t.sock"
    with unix_listener(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
        with pytest.raises(SettingsError, match=r"TURNFOLD_UDS: cannot listen on .*somebody listens"), unix_listener(path):
            pass
        assert path.exists()
    assert not path.exists()


def test_what_a_crash_left_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "t.sock"
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(path))
    left.close()
    with unix_listener(path):
        assert path.is_socket()
    path.write_text("precious")
    with pytest.raises(SettingsError, match="not a socket"), unix_listener(path):
        pass
    assert path.read_text() == "precious"
    for wrong in (tmp_path / "none" / "t.sock", tmp_path / ("x" * 200)):
        with pytest.raises(SettingsError, match="TURNFOLD_UDS"), unix_listener(wrong):
            pass


@contextlib.contextmanager
def unread(path: Path) -> Iterator[BinaryIO]:
    """A pipe that is full, and which nobody reads."""
    os.mkfifo(path)
    with open(path, "r+b", buffering=0, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as pipe:
        while pipe.write(b"." * 4096):
            pass
        yield pipe


def test_served_on_a_socket_with_a_full_log_and_closed_descriptors(upstream: UpstreamServer, tmp_path: Path) -> None:
    upstream.handler = reply(b"data: one\n\n", b"data: two\n\n", headers=[(b"content-type", b"text/event-stream")])
    path, log = tmp_path / "t.sock", tmp_path / "log"
    own = {"UPSTREAM_URL": upstream.origin + "/v1", "ADMIN_TOKEN": "adm", "STORE_URL": "memory://"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TURNFOLD_")}
    environment = kept | {f"TURNFOLD_{name}": value for name, value in own.items()}
    environment["PYTHONPATH"] = os.pathsep.join([os.getcwd(), *sys.path])
    through = ["sh", "-c", f'exec "$@" <&- >&- 2>"{log}"', "sh"]
    command = [*through, sys.executable, "-m", "turnfold.proxy.cli", "serve", "--uds", "t.sock"]
    with contextlib.ExitStack() as stack:
        pipe = stack.enter_context(unread(log))
        process = subprocess.Popen(command, env=environment, cwd=tmp_path, start_new_session=True)  # noqa: S603 - ours
        stack.callback(end, process)
        url = default_url(ServerSettings(uds=path))

        def is_ready() -> bool:
            assert process.poll() is None
            with socket.socket(socket.AF_UNIX) as probe:  # httpcore leaves its socket open where nobody listens yet
                if probe.connect_ex(str(path)):
                    return False
            try:
                return ask("GET", f"{url}/readyz", {}).is_success
            except Failure:
                return False

        until(is_ready, pause=0.05)
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
        for _ in range(3):
            connection = UnixConnection(path)
            connection.request("POST", "/v1/chat/completions", SHORT)
            answer = connection.getresponse()
            assert (answer.status, answer.read()) == (200, b"data: one\n\ndata: two\n\n")
            connection.close()
        assert "turnfold_workers" in ask("GET", f"{url}/metrics", {"authorization": "Bearer adm"}).text
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert not path.exists()
        assert set(pipe.read(1 << 20) or b"") == set(b".")


def end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)


def test_a_key_of_the_operators_is_not_exposed_by_a_socket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TURNFOLD_UPSTREAM_API_KEY", "sk-x")
    monkeypatch.setenv("TURNFOLD_HOST", "0.0.0.0")  # noqa: S104 - it is refused
    with pytest.raises(SettingsError, match="TURNFOLD_CLIENT_TOKENS"):
        load(directory=tmp_path)
    monkeypatch.setenv("TURNFOLD_UDS", "/run/t.sock")
    assert exposure(load(directory=tmp_path).settings) is None
