"""A chat completion goes through: bytes, headers, receipt."""

from __future__ import annotations

import json

from tests.proxy.harness import ProxyServer, UpstreamServer, reply

TWO = {"model": "gpt-4o", "messages": [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]}


def test_folds_and_says_so(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}}
    upstream.handler = reply(json.dumps({"choices": [], "usage": usage}).encode())

    answer = proxy.chat(TWO, ("x-turnfold-conversation", "c1"), ("authorization", "Bearer k"))

    assert json.loads(upstream.seen[0].body)["messages"] == TWO["messages"][1:]
    assert upstream.seen[0].header("x-turnfold-conversation") is None
    assert answer.header("x-turnfold-status") == "folded"
    assert (answer.header("x-turnfold-tokens-before"), answer.header("x-turnfold-tokens-after")) == ("120", "20")
    receipt = proxy.recorder.one()
    assert receipt.request_id == answer.header("x-turnfold-request-id")
    assert (receipt.model, receipt.conversation, receipt.status, receipt.complete) == ("gpt-4o", "c1", "folded", True)
    assert (receipt.usage.prompt_tokens, receipt.usage.completion_tokens, receipt.usage.cached_tokens) == (7, 2, 3)
    assert proxy.recorder.sections[0][0].id == "s1"
