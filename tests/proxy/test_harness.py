"""What the tests' own servers promise."""

from __future__ import annotations

import socket
from contextlib import ExitStack

from tests.proxy.harness import Running, UpstreamServer


def test_a_server_at_rest_has_seen_all_that_was_sent(
    upstream: UpstreamServer, shared_upstream: tuple[UpstreamServer, Running]
) -> None:
    """Or the next test would see it."""
    _, server = shared_upstream
    host, port = server.origin.removeprefix("http://").split(":")
    with ExitStack() as stack:
        for number in range(1, 21):
            client = stack.enter_context(socket.create_connection((host, int(port))))
            client.sendall(b"GET /v1/models HTTP/1.1\r\nhost: h\r\n\r\n")
            server.rest()
            assert len(upstream.seen) == number
