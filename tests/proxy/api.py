"""The whole proxy with its API, on loopback."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from tests.proxy.harness import NO_LOGGING, running
from turnfold.config.settings import Settings, StoreSettings, UpstreamSettings
from turnfold.proxy.app import warm
from turnfold.proxy.server import configuration

NOWHERE = "http://127.0.0.1:9/v1"


@contextlib.contextmanager
def api_server(store_url: str, upstream: str = NOWHERE, **groups: Any) -> Iterator[str]:
    """A server as ``turnfold serve`` starts it; gives its origin.

    Args:
        groups: further settings, by group.
    """
    settings = Settings(
        upstream=UpstreamSettings(url=upstream, **groups.pop("upstream_settings", {})),
        store=StoreSettings(url=store_url, **groups.pop("store_settings", {})),
        **groups,
    )
    warm(settings)  # once for the process; on a busy machine it takes longer than a start may
    with running(configuration(settings, **NO_LOGGING, workers=1, timeout_graceful_shutdown=5)) as server:
        yield server.origin
