"""Fixtures: an upstream, and proxies in front of it (see ``harness``)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from starlette.types import ASGIApp

from tests.proxy.harness import ProxyServer, Receipts, StartProxy, UpstreamServer, halve, running, settings_for
from turnfold.config.settings import Settings
from turnfold.proxy.app import create_app
from turnfold.proxy.server import configuration


@pytest.fixture
def upstream() -> Iterator[UpstreamServer]:
    """An upstream server."""
    server = UpstreamServer()
    config = uvicorn.Config(server, log_level="critical", lifespan="off", server_header=False, date_header=False, ws="none")
    with running(config) as origin:
        server.origin = origin
        yield server


@pytest.fixture
def start_proxy() -> Iterator[StartProxy]:
    """Start proxies that end with the test."""
    with contextlib.ExitStack() as stack:

        def start(upstream_url: str, fold: Any = halve, **groups: dict[str, Any]) -> ProxyServer:
            recorder = Receipts()

            def build(settings: Settings) -> ASGIApp:
                return create_app(settings, recorder, fold=fold, warm=lambda: None)

            config = configuration(settings_for(upstream_url, **groups), build, log_level="critical", workers=1)
            return ProxyServer(stack.enter_context(running(config)), recorder)

        yield start


@pytest.fixture
def proxy(upstream: UpstreamServer, start_proxy: StartProxy) -> ProxyServer:
    """A proxy with default settings in front of `upstream`."""
    return start_proxy(upstream.origin + "/v1")
