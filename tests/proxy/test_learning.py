"""Over HTTP, with nothing set: each tenant's cache is learned from what its upstream reports, and folds follow it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.types import Receive, Scope, Send

from tests.proxy.harness import UpstreamServer, api_server, call, reply, until
from tests.support.bodies import cuts, encode, messages_of
from tests.support.warm import warm_fold
from turnfold.config.settings import AuthSettings

ADMIN = ("x-turnfold-admin-token", "admin")


class Cache:
    """A prefix cache that a tenant's habits leave warm or cold: `warm` says whether the n-th request finds what it repeats."""

    def __init__(self, warm: dict[str, Callable[[int], bool]]) -> None:
        self._warm = warm
        self._asked: dict[str, int] = {}
        self._last: dict[str, str] = {}

    def usage(self, key: str, body: bytes) -> dict[str, Any]:
        text = json.dumps(messages_of(body))
        number = self._asked[key] = self._asked.get(key, -1) + 1
        before = self._last.get(key, "")
        same = next((i for i, (a, b) in enumerate(zip(before, text, strict=False)) if a != b), min(len(before), len(text)))
        self._last[key] = text
        cached = same // 4 if number and self._warm[key](number) and same > 4096 else 0
        return {"prompt_tokens": len(text) // 4, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": cached}}


def answering(upstream: UpstreamServer, cache: Cache) -> None:
    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        seen = upstream.seen[-1]
        key = (seen.header("authorization") or "").removeprefix("Bearer ")
        body = json.dumps({"id": "c", "choices": [], "usage": cache.usage(key, seen.body)}).encode()
        await reply(body)(scope, receive, send)

    upstream.handler = handler


def chat(turns: int, size: int) -> list[bytes]:
    messages = [{"role": "system", "content": "Be brief."}]
    for i in range(turns):
        answer = " ".join(f"Berth {(i * 37 + k) % 991} holds {k} casks of lot {i}-{k}." for k in range(size // 12))
        messages += [{"role": "user", "content": f"And lot {i}?"}, {"role": "assistant", "content": answer}]
    return [encode(messages[:end], model="gpt-5") for end in cuts(messages)]


def test_three_tenants_with_different_habits_get_each_their_own(upstream: UpstreamServer, tmp_path: Path) -> None:
    habits: dict[str, Callable[[int], bool]] = {"warm": lambda _: True, "mixed": lambda n: n % 2 > 0, "cold": lambda _: False}
    answering(upstream, Cache(habits))
    auth = AuthSettings.model_validate({"admin_token": "admin"})
    with api_server(f"sqlite:///{tmp_path}/s.db", f"{upstream.origin}/v1", engine=warm_fold, auth=auth) as origin:
        folded = dict.fromkeys(habits, 0)
        for number, body in enumerate(chat(52, 330)):
            for key in habits:
                headers = [("content-type", "application/json"), ("authorization", f"Bearer {key}")]
                answer = call(origin, "POST", "/v1/chat/completions", body, headers)
                assert answer.status == 200
                folded[key] += answer.header("x-turnfold-status") == "folded"
            if number == 12:  # enough was seen, and little enough said that nothing could be folded yet
                until(lambda: _written(origin) >= 3 * 13)
        assert folded["cold"] > folded["mixed"] > folded["warm"] == 0
        report = json.loads(call(origin, "GET", "/admin/report?group_by=tenant", headers=[ADMIN]).body)
        assert report["headline"].startswith(("You saved $", "Turnfold cost you $"))


def _written(origin: str) -> int:
    written: int = json.loads(call(origin, "GET", "/admin/ledger", headers=[ADMIN]).body)["ledger"]["written"]
    return written
