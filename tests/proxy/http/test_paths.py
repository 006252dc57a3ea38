"""Where a request's path leads, and what the headers that cross are."""

from __future__ import annotations

import pytest

from tests.support.cases import each
from turnfold.compression.errors import InvalidInput
from turnfold.config.settings import UpstreamSettings
from turnfold.proxy.http.refusals import Refused
from turnfold.proxy.outbound.upstream import Upstream

ROUTES = [
    ("https://api.openai.com/v1", "/v1/chat/completions", "https://api.openai.com/v1/chat/completions"),
    ("https://api.openai.com/v1", "/chat/completions", "https://api.openai.com/v1/chat/completions"),
    ("https://api.openai.com/v1/", "/v1/models", "https://api.openai.com/v1/models"),
    ("https://api.openai.com/v1", "/v1", "https://api.openai.com/v1"),
    ("https://api.openai.com/v1", "/v1beta/x", "https://api.openai.com/v1/v1beta/x"),
    ("https://openrouter.ai/api/v1", "/v1/chat/completions", "https://openrouter.ai/api/v1/chat/completions"),
    ("https://openrouter.ai/api/v1", "/api/v1/chat/completions", "https://openrouter.ai/api/v1/chat/completions"),
    ("https://g.example/v1beta/openai", "/v1/chat/completions", "https://g.example/v1beta/openai/chat/completions"),
    ("http://127.0.0.1:11434", "/v1/chat/completions", "http://127.0.0.1:11434/v1/chat/completions"),
    ("http://127.0.0.1:11434", "/api/tags", "http://127.0.0.1:11434/api/tags"),
    (
        "https://r.openai.azure.com",
        "/openai/deployments/d/x?api-version=1",
        "https://r.openai.azure.com/openai/deployments/d/x?api-version=1",
    ),
    ("https://r.openai.azure.com/openai/v1", "/openai/deployments/d/x", "https://r.openai.azure.com/openai/deployments/d/x"),
    ("https://r.openai.azure.com/openai/v1", "/v1/responses", "https://r.openai.azure.com/openai/v1/responses"),
    ("https://gw.example/team", "/openai/deployments/d/x", "https://gw.example/team/openai/deployments/d/x"),
    ("https://gw.example/v1", "/v1/models?limit=1&&x", "https://gw.example/v1/models?limit=1&&x"),
    ("https://h/v1", "/v1//double//%2F%7e?a=%20+", "https://h/v1//double//%2F%7e?a=%20+"),
]


@each(("base", "asked", "url"), ROUTES)
def test_a_path_is_mapped_to_the_upstreams(base: str, asked: str, url: str) -> None:
    path, _, query = asked.partition("?")
    assert str(Upstream(UpstreamSettings(url=base)).url(path.encode(), query.encode())) == url


@each("path", ["/v1/../x", "/v1/..", "/v1/./x", "/v1/%2e%2E/x", "/v1/.%2e%2fx", "/..", "/v1/..\\x", "/v1/..%5cx"])
def test_dot_segments_are_refused(path: str) -> None:
    with pytest.raises(Refused) as refused:
        Upstream(UpstreamSettings(url="https://h/v1")).url(path.encode(), b"")
    assert refused.value.status == 400


@pytest.mark.parametrize("base", ["https://h", "https://h/v1"])
@pytest.mark.parametrize("path", ["*", "*@evil.example/x", "v1/models", ""])
def test_what_does_not_begin_with_a_slash_never_becomes_part_of_the_host(base: str, path: str) -> None:
    with pytest.raises(Refused) as refused:
        Upstream(UpstreamSettings(url=base)).url(path.encode(), b"")
    assert refused.value.status == 400


@each("path", ["/v1/a..b", "/v1/...", "/v1/.well-known", "/v1/a.", "/v1/files/..."])
def test_other_dots_pass(path: str) -> None:
    assert Upstream(UpstreamSettings(url="https://h/v1")).url(path.encode(), b"").raw_path == path


@each("url", ["api.openai.com/v1", "ftp://h/v1", "", "https://"])
def test_a_url_that_is_none_stops_the_start(url: str) -> None:
    with pytest.raises(InvalidInput, match=r"upstream\.url"):
        Upstream(UpstreamSettings.model_construct(url=url))
