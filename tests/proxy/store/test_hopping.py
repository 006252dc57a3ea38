"""A conversation that goes to another replica each turn is forwarded byte for byte as by one replica."""

from __future__ import annotations

import contextlib
import json
from itertools import cycle, islice

import pytest

from tests.proxy.harness import UpstreamServer, api_server, call, reply
from tests.proxy.processes import chat
from tests.support.warm import warm_fold

_FOLDING = {"cache_hit_share": 0.7}
_TURNS = range(54, 61)


@pytest.mark.parametrize(("kind", "replicas"), [("redis", 2), ("cluster", 3)])
def test_replicas_in_turn_forward_what_one_does(
    kind: str, replicas: int, upstream: UpstreamServer, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("redis_url") if kind == "redis" else request.getfixturevalue("cluster").url
    upstream.handler = reply(b'{"id": "c", "model": "gpt-4o", "choices": []}')  # without usage, so that no window is learned
    bodies = [json.dumps({"model": "gpt-4o", "messages": chat(turns)}).encode() for turns in _TURNS]
    headers = [("content-type", "application/json"), ("authorization", "Bearer sk-anna")]
    sent: list[list[bytes]] = []
    with contextlib.ExitStack() as stack:
        alone = stack.enter_context(api_server("memory://", upstream.origin + "/v1", engine=warm_fold, folding=_FOLDING))
        several = [
            stack.enter_context(api_server(url, upstream.origin + "/v1", engine=warm_fold, folding=_FOLDING))
            for _ in range(replicas)
        ]
        for ways in ([alone], several):
            upstream.seen.clear()
            for origin, body in zip(islice(cycle(ways), len(bodies)), bodies, strict=True):
                assert call(origin, "POST", "/v1/chat/completions", body, headers).header("x-turnfold-status") == "folded"
            sent.append([seen.body for seen in upstream.seen])
    assert sent[0] == sent[1]
