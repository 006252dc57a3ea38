"""Answers in many providers' words, served by a running Turnfold, beside a bill made by hand from the published prices.

These tests cover answers of models that providers sell in November 2026, and the sum that each comes to. They leave out rules of
bills in general (``test_published_bills``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import pytest

from tests.proxy.books.billed import billed, receipts_by_tag
from tests.proxy.harness import reply
from tests.support.cases import each
from turnfold.config.prices import TokenUse, dollars

NOW: Final = 1_795_900_000.0  # 28 November 2026
CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"


def _openai(prompt: int, cached: int, out: int, written: int | None = None, **details: Any) -> dict[str, Any]:
    more = {"prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written}, **details}
    return {"prompt_tokens": prompt, "completion_tokens": out, "total_tokens": prompt + out} | more


def _response(prompt: int, cached: int, out: int, **details: Any) -> dict[str, Any]:
    found = {"input_tokens": prompt, "input_tokens_details": {"cached_tokens": cached}, "output_tokens": out}
    return found | {"output_tokens_details": {"reasoning_tokens": out // 2}, "total_tokens": prompt + out} | details


def _claude(plain: int, read: int, five: int, hour: int, out: int, **more: Any) -> dict[str, Any]:
    written = {"ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour}
    found = {"input_tokens": plain, "cache_read_input_tokens": read, "cache_creation_input_tokens": five + hour}
    return found | {"cache_creation": written, "output_tokens": out} | more


_SEARCHED: Final = {"server_tool_use": {"web_search_requests": 7, "web_fetch_requests": 2}}
_US: Final = {"inference_geo": "us", "service_tier": "standard"}

#: Path, model, usage, what else the answer says, and the bill in millionths of a dollar (tokens times dollars for a million).
#: Prices: platform.claude.com, "Pricing" and models' pages; developers.openai.com, "Pricing"; ai.google.dev; docs.x.ai.
ANSWERS: Final[tuple[tuple[str, str, Mapping[str, Any], Mapping[str, Any], float], ...]] = (
    (MESSAGES, "claude-fable-5-1", _claude(812, 40_100, 0, 0, 377), {}, 812 * 10 + 40_100 * 0.25 + 377 * 50),
    (MESSAGES, "claude-opus-5-5", _claude(3, 9_000, 1_250, 0, 640), {}, 3 * 4 + 9_000 * 0.2 + 1_250 * 5 + 640 * 20),
    (MESSAGES, "claude-opus-5-5", _claude(90, 0, 0, 0, 10, speed="fast"), {}, 90 * 8 + 10 * 40),
    (MESSAGES, "claude-opus-5", _claude(5, 700, 0, 4_444, 31), {}, 5 * 5 + 700 * 0.5 + 4_444 * 10 + 31 * 25),
    (MESSAGES, "claude-sonnet-5-5", _claude(77, 5_000, 600, 0, 9), {}, 77 * 2 + 5_000 * 0.1 + 600 * 2.5 + 9 * 10),
    (MESSAGES, "claude-sonnet-5", _claude(77, 5_000, 600, 0, 9), {}, 77 * 2 + 5_000 * 0.2 + 600 * 2.5 + 9 * 10),
    (MESSAGES, "claude-haiku-5-5", _claude(99_000, 0, 0, 0, 100), {}, 99_000 * 0.1 + 100 * 0.5),
    (MESSAGES, "claude-haiku-5-5", _claude(90_000, 20_000, 0, 0, 100), {}, 90_000 * 0.5 + 20_000 * 0.05 + 100 * 2.5),
    (MESSAGES, "claude-haiku-4-5-20251001", _claude(1, 2, 3, 4, 5), {}, 1 + 2 * 0.1 + 3 * 1.25 + 4 * 2 + 5 * 5),
    (MESSAGES, "claude-sonnet-4-6", _claude(640, 0, 0, 0, 64, **_SEARCHED), {}, 640 * 3 + 64 * 15),
    (MESSAGES, "claude-opus-5-5", _claude(10, 1_000, 100, 0, 50, **_US), {}, 1.1 * (10 * 4 + 1_000 * 0.2 + 100 * 5 + 50 * 20)),
    (MESSAGES, "claude-opus-5-5", _claude(10, 0, 0, 0, 50, inference_geo="global"), {}, 10 * 4 + 50 * 20),
    (MESSAGES, "claude-opus-5-5", _claude(10, 0, 0, 0, 50, inference_geo="us", speed="fast"), {}, 1.1 * (10 * 8 + 50 * 40)),
    (CHAT, "gpt-6-sol", _openai(21_000, 18_944, 512), {}, 2_056 * 2 + 18_944 * 0.2 + 512 * 10),
    (CHAT, "gpt-6-luna", _openai(21_000, 0, 512), {"service_tier": "default"}, 21_000 * 0.1 + 512 * 0.5),
    (
        CHAT,
        "gpt-5.6",
        _openai(9_000, 4_096, 70, 4_000),
        {},
        904 * 4 + 4_096 * 0.4 + 4_000 * 5 + 1_400,
    ),
    (RESPONSES, "gpt-5.6", _response(300_000, 0, 1_000), {}, 300_000 * 8 + 1_000 * 30),
    (RESPONSES, "gpt-5.5", _response(12_000, 11_008, 900), {"service_tier": "default"}, 992 * 5 + 11_008 * 0.5 + 900 * 30),
    (RESPONSES, "gpt-5.4-mini", _response(1_500, 0, 80), {"output": [{"type": "web_search_call"}]}, 1_500 * 0.75 + 80 * 4.5),
    (RESPONSES, "gpt-5", _response(2_000, 1_024, 300), {"service_tier": "flex"}, 976 * 0.625 + 1_024 * 0.0625 + 300 * 5),
    (CHAT, "gpt-4.1-2025-04-14", _openai(4_000, 2_048, 100), {}, 1_952 * 2 + 2_048 * 0.5 + 100 * 8),
    (CHAT, "o3", _openai(700, 0, 2_000, completion_tokens_details={"reasoning_tokens": 1_800}), {}, 700 * 2 + 2_000 * 8),
    (CHAT, "gpt-4o", _openai(5_000, 2_560, 44), {}, 2_440 * 2.5 + 2_560 * 1.25 + 44 * 10),
    (CHAT, "gemini-3.5-flash", {"prompt_tokens": 800, "completion_tokens": 50, "total_tokens": 1_050}, {}, 800 * 1.5 + 250 * 9),
    (CHAT, "gemini-2.5-flash", _openai(1_000, 400, 20), {}, 600 * 0.3 + 400 * 0.03 + 20 * 2.5),
)


def _answer(path: str, model: str, usage: Mapping[str, Any], more: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    if path == RESPONSES:
        body: dict[str, Any] = {"model": model, "input": "Hi"}
        return body, json.dumps({"object": "response", "model": model, "output": [], "usage": usage, **more}).encode()
    body = {"model": model, "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    return body, json.dumps({"model": model, "choices": [], "content": [], **more, "usage": usage}).encode()


def test_what_was_paid_is_the_bill() -> None:
    with billed() as (upstream, client):
        for number, (path, model, usage, more, _) in enumerate(ANSWERS):
            body, answer = _answer(path, model, usage, more)
            upstream.handler = reply(answer)
            assert client.post(path, json=body, headers={"x-turnfold-tag": f"n{number}"}).content == answer
        receipts = receipts_by_tag(client, len(ANSWERS))
        report = client.get("/admin/report").json()
    bills = [bill / 1e6 for *_, bill in ANSWERS]
    assert [receipts[f"n{number}"]["paid"] for number in range(len(ANSWERS))] == [pytest.approx(bill) for bill in bills]
    assert report["totals"]["dollars"]["paid"] == pytest.approx(sum(bills), abs=1e-5)
    assert report["totals"]["dollars"]["saved"] == pytest.approx(0, abs=1e-9)  # fees for searches are in neither sum
    assert "Fees for searches" in report["dollars_are"]


@each(
    ("model", "url", "times"),
    [
        ("gpt-5.4", "https://eu.api.openai.com/v1", 1.1),
        ("gpt-6-sol", "https://US.api.openai.com/v1", 1.1),
        ("gpt-6-luna", "https://jp.api.openai.com", 1.1),
        ("gpt-5", "https://eu.api.openai.com/v1", 1.0),
        ("gpt-4o", "https://eu.api.openai.com/v1", 1.0),
        ("gpt-5.4", "https://api.openai.com/v1", 1.0),
        ("gpt-5.4", "https://eu.api.openai.com.example/v1", 1.0),
        ("claude-opus-5-5", "https://eu.api.openai.com/v1", 1.0),
    ],
)
def test_a_region_may_cost_more(model: str, url: str, times: float) -> None:
    use = TokenUse(9_000, 300, 1_000)
    usual = dollars(model, use, NOW)
    assert usual is not None
    assert dollars(model, use, NOW, url) == pytest.approx(times * usual)
