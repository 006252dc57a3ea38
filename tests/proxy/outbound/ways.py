"""A proxy on the way to an upstream, for tests.

It is a small forward proxy (CONNECT and plain requests) that knows names of its own.
"""

from __future__ import annotations

import base64
import contextlib
import socket
import socketserver
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

USER = "Basic " + base64.b64encode(b"ann:s:cret").decode()


@dataclass
class ForwardProxy:
    """What it knows and what it saw.

    Attributes:
        ports: name -> port of this machine; no other name is connected to.
        heads: the head of every request to it: its first line, and its headers in lower case.
        credentials: what it asks for; "" for nothing.
    """

    ports: Mapping[str, int]
    url: str = ""
    heads: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    credentials: str = ""

    def reset(self) -> None:
        """Forget the last test."""
        self.heads, self.credentials = [], ""

    @property
    def tunnels(self) -> int:
        """How many were asked for."""
        return sum(line.startswith("CONNECT ") for line, _ in self.heads)


@contextlib.contextmanager
def forward_proxy(ports: Mapping[str, int]) -> Iterator[ForwardProxy]:
    """A proxy in threads."""
    seen = ForwardProxy(ports)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError, ValueError):
                serve_connection(seen, self.connection)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Handler) as server:
        seen.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield seen
        finally:
            server.shutdown()
            thread.join(60)


def serve_connection(seen: ForwardProxy, client: socket.socket) -> None:
    """One connection: one request, then bytes both ways."""
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = client.recv(65536)
        if not chunk:
            return
        data += chunk
    head, _, rest = data.partition(b"\r\n\r\n")
    line, *lines = head.decode("latin-1").split("\r\n")
    headers = {key.lower(): value.strip() for key, _, value in (one.partition(":") for one in lines)}
    seen.heads.append((line, headers))
    if seen.credentials and headers.get("proxy-authorization") != seen.credentials:
        client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        return
    method, target, version = line.split(" ")
    name = target.rpartition(":")[0] if method == "CONNECT" else urlsplit(target).hostname or ""
    with socket.create_connection(("127.0.0.1", seen.ports[name])) as server:
        if method == "CONNECT":
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            path = urlsplit(target)._replace(scheme="", netloc="").geturl()
            kept = [one for one in lines if not one.lower().startswith("proxy-")]
            server.sendall("\r\n".join([f"{method} {path} {version}", *kept, "", ""]).encode("latin-1") + rest)
        back = threading.Thread(target=pump, args=(server, client), daemon=True)
        back.start()
        pump(client, server)
        back.join(60)


def pump(source: socket.socket, sink: socket.socket) -> None:
    """Bytes from one to the other until the end."""
    with contextlib.suppress(OSError):
        while chunk := source.recv(65536):
            sink.sendall(chunk)
    for one in (source, sink):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
