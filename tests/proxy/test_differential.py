"""The same calls direct and through the proxy: the same bytes on both sides."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Sequence

import brotli
import pytest

from tests.proxy.harness import Answer, Handler, ProxyServer, Seen, StartProxy, UpstreamServer, call, reply

OFF = ("x-turnfold-mode", "off")
JSON = ("content-type", "application/json")
ANSWER = b'{"id":"chatcmpl-1","choices":[{"message":{"role":"assistant","content":"h\xc3\xa9"}}],"usage":{"prompt_tokens":1}}'
STREAM = (
    b': keep-alive\n\ndata: {"choices":[{"delta":{"content":"h\xc3\xa9\xf0\x9f\x98\x80"}}]}\n\n'
    b'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1}}\r\n\r\ndata: [DONE]\n\n'
)
DEEP = b"[" * 5000 + b"]" * 5000

BODIES = {
    "plain": b'{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}',
    "duplicate keys": b'{"model":"a","model":"b","messages":[],"messages":[{"role":"user","content":"x"}]}',
    "numbers": b'{"model":"m","temperature":1e400,"seed":'
    + b"9" * 5000
    + b',"top_p":0.10000000000000000000000001,"messages":[]}',
    "lone surrogate": b'{"model":"m","messages":[{"role":"user","content":"\\ud83d"}]}',
    "deep nesting": b'{"model":"m","messages":[],"x":' + DEEP + b"}",
    "not utf-8": b'{"model":"m","messages":[{"role":"user","content":"\xff\xfe"}]}',
    "white space": b' \n{ "model" :\t"m" , "messages" : [ ] }\r\n',
    "not json": b"hello",
    "empty": b"",
    "a megabyte": json.dumps({"model": "m", "messages": [{"role": "user", "content": "word " * 210_000}]}).encode(),
    "utf-16": '{"model":"m"}'.encode("utf-16"),
    "byte order mark": b'\xef\xbb\xbf{"model":"m","messages":[]}',
}


def _sent(seen: Seen, origin: str) -> tuple[str, str, list[tuple[bytes, bytes]], bytes]:
    """What reached the upstream, but for what names the hop; identity coding means the same as none asked for."""
    assert seen.header("host") == origin.removeprefix("http://")
    ignored = (b"host", b"content-length", b"transfer-encoding", b"accept-encoding", b"x-turnfold-via")
    return seen.method, seen.target, [(key, value) for key, value in seen.headers if key not in ignored], seen.body


def _got(answer: Answer) -> tuple[int, list[tuple[str, str]], bytes]:
    ours = [(key, value) for key, value in answer.headers if not key.startswith("x-turnfold-") and key != "x-accel-buffering"]
    return answer.status, [(key, value) for key, value in ours if key != "transfer-encoding"], answer.body


def assert_same(
    upstream: UpstreamServer,
    proxy: ProxyServer,
    method: str,
    target: str,
    body: bytes | None = None,
    headers: Sequence[tuple[str, str | bytes]] = (),
) -> None:
    """Make the call twice and compare both ends."""
    upstream.seen.clear()
    direct = call(upstream.origin, method, target, body, headers)
    through = call(proxy.origin, method, target, body, [*headers, OFF])
    assert _got(direct) == _got(through)
    assert _sent(upstream.seen[0], upstream.origin) == _sent(upstream.seen[1], upstream.origin)


@pytest.mark.parametrize("name", BODIES)
def test_bodies(upstream: UpstreamServer, proxy: ProxyServer, name: str) -> None:
    upstream.handler = reply(ANSWER, headers=((b"content-length", b"%d" % len(ANSWER)),))
    assert_same(upstream, proxy, "POST", "/v1/chat/completions", BODIES[name], [JSON, ("authorization", "Bearer k")])


@pytest.mark.parametrize("name", BODIES)
def test_bodies_with_folding_on_but_nothing_folded(upstream: UpstreamServer, proxy: ProxyServer, name: str) -> None:
    upstream.handler = reply(ANSWER)
    answer = proxy.chat(BODIES[name])
    assert upstream.seen[0].body == BODIES[name]
    assert answer.body == ANSWER
    assert answer.header("x-turnfold-status") in {"passthrough", "failed-open"}


def test_streams_cut_at_every_byte(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    for cut in range(1, len(STREAM)):
        upstream.handler = reply(STREAM[:cut], STREAM[cut:], headers=((b"content-type", b"text/event-stream"),))
        answer = proxy.chat(BODIES["plain"], OFF)
        assert answer.body == STREAM, f"cut at {cut}"
    receipts = proxy.recorder.receipts
    assert len(receipts) == len(STREAM) - 1
    assert {(r.usage.prompt_tokens, r.usage.completion_tokens, r.streamed, r.complete) for r in receipts} == {(5, 1, True, True)}


def test_streams_byte_by_byte(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    upstream.handler = reply(*(STREAM[i : i + 1] for i in range(len(STREAM))), headers=((b"content-type", b"text/event-stream"),))
    assert_same(upstream, proxy, "POST", "/v1/chat/completions", BODIES["plain"], [JSON])


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_coded_responses(upstream: UpstreamServer, proxy: ProxyServer, coding: str) -> None:
    packed = {"gzip": gzip.compress(ANSWER), "deflate": zlib.compress(ANSWER), "br": brotli.compress(ANSWER)}
    coded = packed.get(coding, b"\x00whatever\xff")
    upstream.handler = reply(coded, headers=((b"content-type", b"application/json"), (b"content-encoding", coding.encode())))
    assert_same(
        upstream, proxy, "POST", "/v1/chat/completions", BODIES["plain"], [JSON, ("accept-encoding", f"{coding}, x;q=0.1")]
    )
    if coding in packed:
        assert proxy.recorder.one().usage.prompt_tokens == 1


@pytest.mark.parametrize("mode", ["on", "off"])
def test_coded_requests_that_are_not_folded(upstream: UpstreamServer, proxy: ProxyServer, mode: str) -> None:
    body = gzip.compress(BODIES["plain"])
    answer = proxy.chat(body, ("content-encoding", "gzip"), ("x-turnfold-mode", mode))
    assert answer.status == 200
    assert (upstream.seen[0].body, upstream.seen[0].header("content-encoding")) == (body, "gzip")


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_coded_request_that_is_folded_goes_out_plain(upstream: UpstreamServer, proxy: ProxyServer, coding: str) -> None:
    pack = {"gzip": gzip.compress, "br": brotli.compress}[coding]
    body = pack(b'{"model":"m","messages":[{"role":"user","content":"1"},{"role":"user","content":"2"}]}')
    proxy.chat(body, ("content-encoding", coding))
    seen = upstream.seen[0]
    assert seen.header("content-encoding") is None
    assert json.loads(seen.body)["messages"] == [{"role": "user", "content": "2"}]
    assert seen.header("content-length") == str(len(seen.body))


def test_no_coding_is_asked_for_that_the_client_did_not_ask_for(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    proxy.chat(BODIES["plain"])
    call(proxy.origin, "GET", "/v1/models")
    assert [seen.header("accept-encoding") for seen in upstream.seen] == ["identity", "identity"]
    assert {key for key, _ in upstream.seen[1].headers} == {b"host", b"accept-encoding", b"x-turnfold-via"}


ERRORS: dict[str, Handler] = {
    "400": reply(b'{"error":{"message":"no"}}', status=400),
    "401 with challenge": reply(b"", status=401, headers=((b"www-authenticate", b"Bearer"), (b"content-length", b"0"))),
    "404 html": reply(b"<html>", status=404, headers=((b"content-type", b"text/html"),)),
    "429": reply(
        b'{"error":{"code":"rate_limit_exceeded"}}',
        status=429,
        headers=((b"retry-after-ms", b"12"), (b"x-should-retry", b"true"), (b"x-ratelimit-remaining-tokens", b"0")),
    ),
    "500 empty": reply(status=500, headers=()),
    "503 odd status text": reply(b"busy", status=529, headers=()),
    "redirect": reply(b"moved", status=307, headers=((b"location", b"https://elsewhere.example/"),)),
    "204": reply(status=204, headers=()),
    "304": reply(status=304, headers=((b"etag", b'"a"'),)),
    "long header": reply(b"{}", headers=((b"content-security-policy", b"a" * 30_000),)),
    "no type": reply(b"{}", headers=()),
    "repeats": reply(b"{}", headers=((b"set-cookie", b"a=1"), (b"x-a", b"2"), (b"set-cookie", b"b=2"), (b"x-latin", b"\xe9"))),
}


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("target", ["/v1/chat/completions", "/v1/embeddings"])
def test_errors_keep_status_headers_and_bytes(upstream: UpstreamServer, proxy: ProxyServer, name: str, target: str) -> None:
    upstream.handler = ERRORS[name]
    assert_same(upstream, proxy, "POST", target, BODIES["plain"], [JSON])


MULTIPART = b'--b\r\ncontent-disposition: form-data; name="file"; filename="a.bin"\r\n\r\n\x00\xff\r\n\r\n--b--\r\n'

CALLS: dict[str, tuple[str, str, bytes | None, list[tuple[str, str | bytes]]]] = {
    "models": ("GET", "/v1/models", None, []),
    "query": ("GET", "/v1/files?limit=2&after=a%20b+c&limit=3&&x", None, []),
    "escapes stay": ("GET", "/v1/files/%7Ea%2Fb%3f/%E2%82%AC/~", None, []),
    "dots in the query": ("GET", "/v1/x?a?b=/../c&d=//..", None, []),
    "odd characters": ("GET", "/v1/x;y=1,2/a:b@c!$&'()*|\"<>[]", None, []),
    "head": ("HEAD", "/v1/models", None, []),
    "options": ("OPTIONS", "/v1/chat/completions", None, [("origin", "https://a.example")]),
    "stored completions": ("GET", "/v1/chat/completions?limit=1", None, []),
    "delete": ("DELETE", "/v1/files/f1", None, []),
    "delete with a body": ("DELETE", "/v1/files/f1", b"{}", [JSON]),
    "patch": ("PATCH", "/v1/x", b"abc", []),
    "get with a body": ("GET", "/v1/x", b"abc", []),
    "post without type": ("POST", "/v1/responses", b"{}", []),
    "post of nothing": ("POST", "/v1/files/f1/cancel", b"", []),
    "multipart": ("POST", "/v1/files", MULTIPART, [("content-type", "multipart/form-data; boundary=b")]),
    "binary": ("PUT", "/v1/uploads/1", bytes(range(256)) * 8000, [("content-type", "application/octet-stream")]),
    "chunked": ("POST", "/v1/audio", b"3\r\nabc\r\n5;x=y\r\ndefgh\r\n0\r\n\r\n", [("transfer-encoding", "chunked")]),
    "unknown": ("POST", "/v1/no/such/thing/", b"x", []),
    "repeated headers": ("GET", "/v1/x", None, [("x-a", "1"), ("x-b", "2"), ("x-a", "3"), ("cookie", "a=1"), ("cookie", "b=2")]),
    "utf-8 header": ("GET", "/v1/x", None, [("x-name", "Zoë €".encode())]),
    "empty header": ("GET", "/v1/x", None, [("x-empty", "")]),
    "sdk headers": (
        "POST",
        "/v1/embeddings",
        b"{}",
        [("X-Stainless-Lang", "python"), ("Idempotency-Key", "i"), ("OpenAI-Organization", "o"), ("x-grok-conv-id", "g")],
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_other_call(upstream: UpstreamServer, proxy: ProxyServer, name: str) -> None:
    method, target, body, headers = CALLS[name]
    upstream.handler = reply(b"\x00\x01", b"\xff" * 70_000, headers=((b"content-type", b"audio/mpeg"), (b"x-request-id", b"r1")))
    assert_same(upstream, proxy, method, target, body, headers)
    lengths = [(seen.header("content-length"), seen.header("transfer-encoding")) for seen in upstream.seen]
    assert lengths[0] == lengths[1]


def test_hop_by_hop_headers_stay_here(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    upstream.handler = reply(b"{}", headers=((b"connection", b"x-private"), (b"x-private", b"1"), (b"keep-alive", b"timeout=5")))
    sent = [("connection", "keep-alive, x-mine"), ("x-mine", "1"), ("te", "trailers"), ("x-turnfold-tenant", "t"), ("x-b", "2")]
    answer = call(proxy.origin, "GET", "/v1/x", None, sent)
    assert {key for key, _ in upstream.seen[0].headers} == {b"host", b"x-b", b"accept-encoding", b"x-turnfold-via"}
    assert answer.header("x-private") is None
    assert answer.header("keep-alive") is None


def test_cookies_of_one_client_never_reach_another(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    proxy = start_proxy(upstream.origin.replace("127.0.0.1", "localhost") + "/v1")  # jars keep no cookies of bare addresses
    upstream.handler = reply(b"{}", headers=((b"set-cookie", b"session=secret; Path=/"),))
    for _ in range(2):
        call(proxy.origin, "GET", "/v1/models")
    assert upstream.seen[1].header("cookie") is None
