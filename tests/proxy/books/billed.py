"""A running Turnfold whose receipts are held against bills.

It starts Turnfold in front of an upstream with scripted answers. The tests script the answers and know what they cost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn

from tests.proxy.harness import NO_LOGGING, UpstreamServer, api_server, running, until
from turnfold.config.settings import AuthSettings


@contextmanager
def billed() -> Iterator[tuple[UpstreamServer, httpx.Client]]:
    """The upstream, and a client that may read reports."""
    auth = AuthSettings.model_validate({"admin_token": "adm"})
    upstream = UpstreamServer()
    with (
        running(uvicorn.Config(upstream, **NO_LOGGING)) as served,
        api_server("memory://", f"{served.origin}/v1", anthropic={"url": f"{served.origin}/v1"}, auth=auth) as origin,
        httpx.Client(base_url=origin, headers={"x-turnfold-admin-token": "adm"}, timeout=60) as client,
    ):
        yield upstream, client


def receipts_by_tag(client: httpx.Client, number: int) -> dict[str, dict[str, Any]]:
    """The receipts by their first tag, once there are so many."""

    def lines() -> list[str]:
        return client.get("/admin/receipts").text.splitlines()

    until(lambda: len(lines()) == number)
    return {one["tags"][0]: one for one in map(json.loads, lines())}
