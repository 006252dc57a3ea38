"""A server's greeting: it waits for the first answer and for the store, and names where clients reach the server.

These tests cover servers that are ready late, or never, at addresses of every sort. They leave out the words (``test_console``).
"""

from __future__ import annotations

import io
import json
import logging
import os
import socketserver
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.harness import until
from turnfold.config.serving import LogSettings, ServerSettings
from turnfold.config.settings import Settings, StoreSettings, UpstreamSettings
from turnfold.proxy.announcing import announce

READY = {"checks": {"store": "ok"}}


class _Unix(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


class _Tcp(socketserver.ThreadingTCPServer):
    daemon_threads = True


@contextmanager
def answering(address: Any, *answers: bytes | None) -> Iterator[tuple[_Unix | _Tcp, list[str]]]:
    """A server that gives one answer after the other, the last one for ever; None: it hangs up."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def address_string(self) -> str:
            return ""

        def log_message(self, *_: Any) -> None:
            return

        def do_GET(self) -> None:
            seen.append(f"{self.path} {self.headers['host']}")
            if self.path != "/readyz":
                self.send_error(200 if self.path.startswith("/gateway/v1/") else 404)
                return
            answer = answers[min(len(seen), len(answers)) - 1]
            if answer is None:
                return
            self.send_response(200)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    made = (_Unix if isinstance(address, str) else _Tcp)(address, Handler)
    with made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made, seen
        made.shutdown()
        thread.join()


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Iterator[list[logging.LogRecord]]:
    """Greetings, and advice."""
    caplog.set_level(logging.INFO, "turnfold.server")
    found: list[logging.LogRecord] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record)

    handler = Collect()
    logging.getLogger("turnfold.server").addHandler(handler)
    yield found
    logging.getLogger("turnfold.server").removeHandler(handler)


def settings(host: str = "127.0.0.1", upstream: str = "http://127.0.0.1:9/v1", **more: Any) -> Settings:
    return Settings(
        server=ServerSettings(host=host, uds=more.pop("uds", None)),
        upstream=UpstreamSettings(url=upstream),
        store=StoreSettings(url="memory://"),
        log=LogSettings(**more),
    )


def dashboards(address: str) -> str:
    return f"{address}#link"


@pytest.mark.parametrize(
    ("host", "shown"),
    [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("localhost", "localhost")],  # noqa: S104 - another listens
)
def test_it_waits_for_an_answer_and_for_the_store(said: list[logging.LogRecord], host: str, shown: str) -> None:
    late = json.dumps({"checks": {"store": "unavailable"}}).encode()
    answers = (None, b"no json", b'{"status": "ready"}', late, late, json.dumps(READY).encode())
    with answering(("127.0.0.1", 0), *answers) as (server, seen):
        announce(settings(host), dashboards, server.socket)
        until(lambda: said)
        (line,) = said
        port = server.socket.getsockname()[1]
        assert len(seen) == len(answers)
        assert set(seen) == {f"/readyz {shown}:{port}"}
    assert f"listens on http://{shown}:{port}; forwards to http://127.0.0.1:9/v1" in line.getMessage()
    fields = vars(line)["fields"]
    assert (fields["store_answers"], fields["origin"]) == (True, f"http://{shown}:{port}")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_person_gets_a_panel_unless_the_log_is_json(
    said: list[logging.LogRecord], form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with answering(("127.0.0.1", 0), json.dumps(READY).encode()) as (server, _):
        announce(settings(format=form), dashboards, server.socket)
        until(lambda: said or "Ctrl+C" in terminal.getvalue())
    assert bool(said) == (form == "json")


def test_it_does_not_wait_long_for_the_store(said: list[logging.LogRecord]) -> None:
    with answering(("127.0.0.1", 0), json.dumps({"checks": {}}).encode()) as (server, _):
        announce(settings(), dashboards, server.socket)
        until(lambda: said)
    assert vars(said[0])["fields"]["store_answers"] is False


def test_a_socket_in_the_file_system(said: list[logging.LogRecord]) -> None:
    with tempfile.TemporaryDirectory() as folder:  # a path of pytest's would be too long for a socket
        path = os.fspath(Path(folder) / "s")
        with answering(path, json.dumps(READY).encode()) as (server, seen):
            announce(settings(uds=Path(path)), dashboards, server.socket)
            until(lambda: said)
    assert seen == ["/readyz localhost"]
    assert f"listens on unix:{path};" in said[0].getMessage()


def test_an_upstream_that_lacks_its_version_is_told_of(said: list[logging.LogRecord]) -> None:
    with answering(("127.0.0.1", 0), json.dumps(READY).encode()) as (server, seen):
        url = f"http://127.0.0.1:{server.socket.getsockname()[1]}/gateway"
        announce(settings(upstream=url), dashboards, server.socket)
        until(lambda: len(said) > 1)
        assert [one.partition(" ")[0] for one in seen] == ["/readyz", "/gateway/models", "/gateway/v1/models"]
    assert said[1].getMessage() == f"TURNFOLD_UPSTREAM_URL: {url} answers 404, and {url}/v1 does not: set it to {url}/v1"
