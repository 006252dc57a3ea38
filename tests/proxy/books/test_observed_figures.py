"""What `observe` records of a conversation is what `on` forwards of it, turn by turn."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import SecretStr
from starlette.types import Receive, Scope, Send

from tests.proxy.harness import UpstreamServer, api_server, reply, until
from tests.proxy.processes import ADMIN, Served, chat
from tests.support.warm import warm_fold
from turnfold.config.settings import AuthSettings

_TURNS = (20, 40, 54, 55, 56, 66, 67)
_ANSWER = b'{"id": "c", "model": "gpt-4o", "choices": []}'
_COUNTED = b'{"id": "c", "model": "gpt-4o", "choices": [], "usage": {"prompt_tokens": %d, "completion_tokens": 1}}'


def _talk(upstream: UpstreamServer, mode: str) -> tuple[list[dict[str, Any]], dict[str, Any], list[bytes]]:
    """The receipts of a growing conversation in order, the report's tokens, and the bodies that were forwarded."""
    upstream.seen.clear()
    folding, auth = {"mode": mode, "cache_hit_share": 0.7}, AuthSettings(admin_token=SecretStr(ADMIN[1]))
    with api_server("memory://", f"{upstream.origin}/v1", engine=warm_fold, folding=folding, auth=auth) as origin:
        served = Served(origin)

        def tokens() -> dict[str, Any]:
            totals: dict[str, Any] = served.get("/admin/report").json()["totals"]
            return {**totals["tokens"], "requests": totals["requests"]}

        for number, turns in enumerate(_TURNS, 1):
            body = json.dumps({"model": "gpt-4o", "messages": chat(turns)}).encode()
            assert served.post(body).status == 200
            until(lambda: tokens()["requests"] == number)  # noqa: B023 - asked before the next turn
        lines = [json.loads(line) for line in served.get("/admin/receipts").body.splitlines()]
        return lines, tokens(), [seen.body for seen in upstream.seen]


@pytest.mark.parametrize("counts", [False, True])
def test_what_was_only_observed_is_what_would_have_been_forwarded(upstream: UpstreamServer, counts: bool) -> None:
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        said = _COUNTED % (len(upstream.seen[-1].body) // 5) if counts else _ANSWER
        await reply(said)(scope, receive, send)

    upstream.handler = answer
    on, told_on, sent = _talk(upstream, "on")
    observed, told, whole = _talk(upstream, "observe")
    assert [line["status"] for line in observed] == ["observed"] * len(_TURNS)
    assert [json.loads(body)["messages"] for body in whole] == [chat(turns) for turns in _TURNS]
    for name in ("tokens_before", "tokens_after"):
        assert [line[name] for line in observed] == [line[name] for line in on]
    assert sum(len(body) for body in sent) < sum(len(body) for body in whole)
    assert (told["observed_before"], told["observed_after"], told["saved"]) == (told_on["before"], told_on["after"], 0)
    assert told_on["saved"] > 0
