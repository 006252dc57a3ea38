"""A chat completion goes through: bytes, headers, receipt."""

from __future__ import annotations

import json

import pytest

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


SIGNED = [
    *[(name, "sha-256=:abc=:") for name in ("content-digest", "repr-digest", "digest", "content-md5", "x-amz-content-sha256")],
    ("signature-input", 'sig1=("@method" "content-digest")'),
    ("authorization", "AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/bedrock/aws4_request, Signature=f00"),
    ("authorization", "TC3-HMAC-SHA256 Credential=id/2026-01-01/hunyuan/tc3_request, Signature=f00"),
]


@pytest.mark.parametrize("header", SIGNED)
def test_a_body_that_a_header_vouches_for_goes_out_as_it_came(
    header: tuple[str, str], upstream: UpstreamServer, proxy: ProxyServer
) -> None:
    body = b'{"model":"gpt-4o","messages":[{"role":"user","content":"one"},{"role":"user","content":"two"}]}'
    answer = proxy.chat(body, header)
    assert (answer.header("x-turnfold-status"), answer.header("x-turnfold-reason")) == ("passthrough", "signed-body")
    assert (upstream.seen[0].body, upstream.seen[0].header(header[0])) == (body, header[1])
    assert proxy.chat(body, ("authorization", "Bearer sk-HMAC-1"), ("x-digest", "1")).header("x-turnfold-status") == "folded"
