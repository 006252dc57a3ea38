"""Fixtures: an upstream, and proxies in front of it (see ``harness``)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
import uvicorn

from tests.proxy.harness import NO_LOGGING, ProxyServer, Running, StartProxy, UpstreamServer, proxy_server, running


@pytest.fixture(scope="session")
def shared_upstream() -> Iterator[tuple[UpstreamServer, Running]]:
    """One upstream for all tests."""
    app = UpstreamServer()
    config = uvicorn.Config(
        app,
        **NO_LOGGING,
        lifespan="off",
        server_header=False,
        date_header=False,
        ws="none",
        timeout_graceful_shutdown=1,
    )
    with running(config) as server:
        app.origin = server.origin
        yield app, server


@pytest.fixture(scope="session")
def shared_proxy(shared_upstream: tuple[UpstreamServer, Running]) -> Iterator[tuple[ProxyServer, Running]]:
    """One proxy with default settings for all tests that want no other."""
    with proxy_server(shared_upstream[0].origin + "/v1") as pair:
        yield pair


@pytest.fixture
def upstream(shared_upstream: tuple[UpstreamServer, Running]) -> Iterator[UpstreamServer]:
    """An upstream server that has seen nothing yet."""
    app, server = shared_upstream
    yield app
    server.rest()
    app.reset()


@pytest.fixture
def proxy(upstream: UpstreamServer, shared_proxy: tuple[ProxyServer, Running]) -> Iterator[ProxyServer]:
    """A proxy with default settings in front of `upstream`, nothing recorded yet."""
    del upstream
    client, server = shared_proxy
    yield client
    server.rest()
    client.recorder.reset()


@pytest.fixture
def start_proxy() -> Iterator[StartProxy]:
    """Start proxies that end with the test."""
    with contextlib.ExitStack() as stack:
        yield lambda *args, **groups: stack.enter_context(proxy_server(*args, **groups))[0]
