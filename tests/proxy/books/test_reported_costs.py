"""What an upstream says that a request cost counts as paid; the report tells it apart from list prices, and where they differ.

The answers are in the words of gateways and providers that say it (OpenRouter, xAI, Perplexity, DeepInfra, LiteLLM).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import pytest

from tests.proxy.books.billed import billed, receipts_by_tag
from tests.proxy.harness import reply
from turnfold.config.prices import TokenUse, dollars, prices_of

_JSON: Final = (b"content-type", b"application/json")
_NO_HEADERS: Final[Mapping[str, str]] = {}
_USAGE: Final = {"prompt_tokens": 10_000, "completion_tokens": 100, "total_tokens": 10_100}
_LISTED: Final = 10_000 * 2.5e-6 + 100 * 10e-6  # gpt-4o


#: Name of the answer, what its usage says beside the tokens, what its head says, and the dollars that were paid.
ANSWERS: Final[tuple[tuple[str, Mapping[str, Any], Mapping[str, str], float], ...]] = (
    ("plain", {}, {}, _LISTED),
    ("openrouter", {"cost": 0.0273, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.026}}, {}, 0.0273),
    ("own-key", {"cost": 0.0013, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.026}}, {}, 0.0273),
    ("own-key-free", {"cost": 0, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.026}}, {}, 0.026),
    ("nothing-charged", {"cost": 0, "is_byok": False, "cost_details": {"upstream_inference_cost": None}}, {}, 0.0),
    ("gateway-without-price", {"cost": 0}, {}, _LISTED),
    ("xai", {"cost_in_usd_ticks": 301_500_000}, {}, 0.03015),
    ("perplexity", {"cost": {"input_tokens_cost": 0.025, "request_cost": 0.006, "total_cost": 0.032}}, {}, 0.032),
    ("deepinfra", {"estimated_cost": 0.0241}, {}, 0.0241),
    ("litellm", {}, {"x-litellm-response-cost": "0.0247"}, 0.0247),
    ("litellm-without-price", {}, {"x-litellm-response-cost": "0.0"}, _LISTED),
    ("litellm-none", {}, {"x-litellm-response-cost": "None"}, _LISTED),
    ("usage-before-head", {"cost": 0.03}, {"x-litellm-response-cost": "0.04"}, 0.03),
    ("negative", {"cost": -1.0}, {}, _LISTED),
    ("not-a-number", {"cost": "0.5"}, {}, _LISTED),
    ("beyond-all", {"cost": 1e300}, {}, _LISTED),
    ("longer-than-a-float", {"cost_in_usd_ticks": 10**400}, {}, _LISTED),
    ("boolean", {"cost": True}, {}, _LISTED),
    ("litellm-nan", {}, {"x-litellm-response-cost": "nan"}, _LISTED),
)


def _sent(answers: Any, model: str = "gpt-4o") -> tuple[dict[str, dict[str, Any]], dict[str, Any], str]:
    """Receipts by tag, the report, and its CSV."""
    with billed() as (upstream, client):
        for name, more, headers, _ in answers:
            answer = json.dumps({"model": model, "choices": [], "usage": _USAGE | more}).encode()
            upstream.handler = reply(answer, headers=[_JSON, *((key.encode(), value.encode()) for key, value in headers.items())])
            body = {"model": model, "messages": [{"role": "user", "content": name}]}
            client.post("/v1/chat/completions", json=body, headers={"x-turnfold-tag": name}).raise_for_status()
        receipts = receipts_by_tag(client, len(answers))
        report = client.get("/admin/report").json()
        return receipts, report, client.get("/admin/report?format=csv").text


def test_what_the_upstream_says_is_what_was_paid() -> None:
    receipts, report, _ = _sent(ANSWERS)
    for name, _, _, paid in ANSWERS:
        assert receipts[name]["paid"] == pytest.approx(paid, abs=1e-9), name
        assert receipts[name]["without"] == pytest.approx(paid, abs=1e-9), name
    assert report["totals"]["dollars"]["paid"] == pytest.approx(sum(paid for *_, paid in ANSWERS), abs=2e-6)


def test_the_report_tells_reported_dollars_from_reckoned_ones() -> None:
    answers = [one for one in ANSWERS if one[0] in ("plain", "openrouter", "litellm")]
    _, report, _ = _sent(answers)
    told = report["totals"]["dollars"]["reported"]
    assert told["requests"] == 2
    assert told["paid"] == pytest.approx(0.0273 + 0.0247, abs=1e-6)
    assert told["at_list_prices"] == pytest.approx(2 * _LISTED, abs=1e-6)
    assert told["above_list_prices"] == pytest.approx(0.0, abs=1e-4)


def test_where_nothing_is_reported_nothing_is_told() -> None:
    _, report, _ = _sent(ANSWERS[:1])
    assert "reported" not in report["totals"]["dollars"]


def test_a_model_without_a_price_costs_what_the_upstream_says() -> None:
    receipts, report, _ = _sent([("one", {"cost": 0.5, "is_byok": False}, _NO_HEADERS, 0.5)], "somebody-large-2")
    assert receipts["one"]["paid"] == 0.5
    dollars_of = report["totals"]["dollars"]
    assert (dollars_of["paid"], dollars_of["unknown_requests"]) == (0.5, 0)
    assert dollars_of["reported"]["at_list_prices"] is None


def test_a_stream_says_it_in_its_last_event() -> None:
    chunks = [{"choices": [{"delta": {"content": "x"}}]}, {"choices": [], "usage": _USAGE | {"cost": 0.0273, "is_byok": False}}]
    events = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in chunks) + b"data: [DONE]\n\n"
    with billed() as (upstream, client):
        headers = [(b"content-type", b"text/event-stream"), (b"x-litellm-response-cost", b"9")]
        upstream.handler = reply(events, headers=headers)
        body = {"model": "gpt-4o", "stream": True, "messages": [{"role": "user", "content": "x"}]}
        client.post("/v1/chat/completions", json=body, headers={"x-turnfold-tag": "one"}).raise_for_status()
        assert receipts_by_tag(client, 1)["one"]["paid"] == 0.0273


# ---------------------------------------------------------------- prices of regions and of cache writes


@pytest.mark.parametrize(
    ("host", "model", "times"),
    [
        ("https://us-east5-aiplatform.googleapis.com/v1", "claude-sonnet-4-5@20250929", 1.1),
        ("https://aiplatform.us.rep.googleapis.com/v1", "claude-opus-5-5", 1.1),
        ("https://aiplatform.googleapis.com/v1", "claude-sonnet-4-5@20250929", 1.0),
        ("https://us-east5-aiplatform.googleapis.com/v1", "claude-sonnet-4@20250514", 1.0),
        ("https://us-central1-aiplatform.googleapis.com/v1", "gemini-2.5-pro", 1.0),
    ],
)
def test_a_region_of_google_costs_a_tenth_more_for_newer_claude(host: str, model: str, times: float) -> None:
    use = TokenUse(10_000, 500, cached=2_000)
    plain = dollars(model, use, 1.79e9, "https://aiplatform.googleapis.com/v1")
    assert plain is not None
    assert dollars(model, use, 1.79e9, host) == pytest.approx(times * plain)


def test_a_price_for_storage_alone_does_not_make_writing_cheaper_than_sending() -> None:
    for model in ("google/gemini-2.5-pro", "google/gemini-3.5-flash"):
        host = "https://openrouter.ai/api/v1"
        assert prices_of(model, host).cache.write == 1.0
        sent, written = (dollars(model, TokenUse(10_000, written=n), 1.79e9, host) or 0.0 for n in (0, 10_000))
        assert written >= sent > 0.01
