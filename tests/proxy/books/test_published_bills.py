"""What a receipt says was paid, beside a bill by the rules that the providers publish.

These tests cover a small bill of our own (rates and rules as the providers' pages state them, October 2026) and answers in their
words, through a running Turnfold. It shares no code with the price list.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.proxy.books.billed import billed, receipts_by_tag
from tests.proxy.harness import reply
from tests.support.cases import each
from turnfold.config.prices import TokenUse, dollars, packaged_window, prices_of

NOW: Final = 1_793_000_000.0  # October 2026, when the tiers of service were published as below
OPENAI: Final = "https://api.openai.com/v1"


@dataclass(frozen=True)
class Rates:
    """Dollars for a million tokens."""

    read: float
    plain: float
    write: float
    hour: float
    out: float
    sound: float = 0.0
    said: float = 0.0

    def bill(self, plain: int, cached: int, five: int, hour: int, out: int) -> float:
        return (self.plain * plain + self.read * cached + self.write * five + self.hour * hour + self.out * out) / 1e6


#: Model, tier, whether the prompt is over the model's border -> rates (openai.com/api/pricing; docs.anthropic.com, "Pricing" and
#: "Prompt caching"; ai.google.dev/pricing; docs.x.ai).
RATES: Final = {
    ("gpt-4o", "", False): Rates(1.25, 2.5, 2.5, 2.5, 10),
    ("gpt-4o", "priority", False): Rates(2.125, 4.25, 4.25, 4.25, 17),
    ("gpt-4.1", "priority", False): Rates(0.875, 3.5, 3.5, 3.5, 14),
    ("gpt-5", "", False): Rates(0.125, 1.25, 1.25, 1.25, 10),
    ("gpt-5", "flex", False): Rates(0.0625, 0.625, 0.625, 0.625, 5),
    ("gpt-5", "priority", False): Rates(0.25, 2.5, 2.5, 2.5, 20),
    ("gpt-5.4", "", False): Rates(0.25, 2.5, 2.5, 2.5, 15),
    ("gpt-5.4", "", True): Rates(0.5, 5, 5, 5, 22.5),
    ("ft:gpt-4o-2024-08-06:acme::abc", "", False): Rates(1.875, 3.75, 3.75, 3.75, 15),
    ("ft:gpt-4o-mini-2024-07-18:acme::abc", "", False): Rates(0.15, 0.3, 0.3, 0.3, 1.2),
    ("claude-sonnet-4-5", "standard", False): Rates(0.3, 3, 3.75, 6, 15),
    ("claude-sonnet-4-5", "standard", True): Rates(0.6, 6, 7.5, 12, 22.5),
    ("claude-haiku-4-5", "", False): Rates(0.1, 1, 1.25, 2, 5),
    ("claude-opus-4-1", "", False): Rates(1.5, 15, 18.75, 30, 75),
    ("claude-opus-5-5", "fast", False): Rates(0.4, 8, 10, 16, 40),
    ("gemini-2.5-pro", "", True): Rates(0.25, 2.5, 2.5, 2.5, 15),
    ("ft:gpt-4.1-2025-04-14:acme::abc", "", False): Rates(0.75, 3, 3, 3, 12),
    ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "", False): Rates(0.33, 3.3, 4.125, 6.6, 16.5),
    ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "", True): Rates(0.66, 6.6, 8.25, 13.2, 24.75),
    ("claude-sonnet-4@20250514", "", True): Rates(0.6, 6, 7.5, 12, 22.5),
    ("claude-opus-4-5", "batch", False): Rates(0.25, 2.5, 3.125, 5, 12.5),
    ("gpt-5", "batch", False): Rates(0.0625, 0.625, 0.625, 0.625, 5),
    ("deepseek/deepseek-r1:free", "", False): Rates(0, 0, 0, 0, 0),
}
_SONNET: Final = ("claude-sonnet-4-5", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4@20250514")
BORDERS: Final = {"gpt-5.4": 272_000, "gemini-2.5-pro": 200_000, **dict.fromkeys(_SONNET, 200_000)}
parts = st.integers(0, 60_000)


@each("case", RATES)
@given(st.tuples(parts, parts, parts, parts, parts))
def test_a_bill_is_what_the_provider_would_write(case: tuple[str, str, bool], tokens: tuple[int, int, int, int, int]) -> None:
    model, tier, long = case
    plain, cached, five, hour, out = tokens
    plain += BORDERS[model] + 1 if long else 0
    use = TokenUse(plain + cached + five + hour, out, cached, five + hour, hour, tier=tier)
    if not long and use.prompt > BORDERS.get(model, 272_000):
        return
    if "claude" not in model:  # no writes are reported
        use, plain, five, hour = replace(use, written=0, written_hour=0), plain + five + hour, 0, 0
    for url in ("", OPENAI) if "gpt" in model else ("",):
        assert dollars(model, use, NOW, url) == pytest.approx(RATES[case].bill(plain, cached, five, hour, out), abs=1e-12)


@each(
    ("model", "use"),
    [
        ("gpt-4o", TokenUse(1000, 10, tier="scale")),  # paid in advance
        ("claude-opus-4-5", TokenUse(1000, 10, tier="priority")),  # by contract
        ("claude-opus-4-6", TokenUse(1000, 10, tier="fast")),
        ("gpt-4o", TokenUse(1000, 10, audio=10)),
        ("gpt-4o", TokenUse(1000, 10, audio_completion=1)),
    ],
)
def test_what_is_not_published_is_unknown(model: str, use: TokenUse) -> None:
    assert dollars(model, use, NOW) is None
    assert dollars(model, use, NOW, OPENAI) is None


def test_a_tier_may_cost_the_same() -> None:
    url = "https://api.groq.com/openai/v1"
    usual = dollars("llama-3.3-70b-versatile", TokenUse(1000, 10), NOW, url)
    assert usual is not None
    assert usual == dollars("llama-3.3-70b-versatile", TokenUse(1000, 10, tier="flex"), NOW, url)


def test_sound_has_its_own_price() -> None:
    text, sound = TokenUse(1000, 100, 400), TokenUse(1000, 100, 400, audio=500, audio_completion=80)
    assert dollars("gpt-audio", text, NOW) == pytest.approx((1000 * 2.5 + 100 * 10) / 1e6)
    assert dollars("gpt-audio", sound, NOW) == pytest.approx((500 * 2.5 + 500 * 32 + 20 * 10 + 80 * 64) / 1e6)
    assert dollars("gpt-4o-audio-preview", sound, NOW) == pytest.approx((500 * 2.5 + 500 * 40 + 20 * 10 + 80 * 80) / 1e6)
    mini = dollars("gpt-4o-mini-audio-preview-2024-12-17", sound, NOW)
    assert mini == pytest.approx((500 * 0.15 + 500 * 10 + 20 * 0.6 + 80 * 20) / 1e6)
    assert dollars("gpt-audio", TokenUse(10, 1, 10, audio=99, audio_completion=99), NOW) == pytest.approx((10 * 32 + 64) / 1e6)


def test_a_tuned_model_is_cached_as_the_one_it_was_made_from() -> None:
    for url in ("", OPENAI):
        assert prices_of("ft:gpt-4o-2024-08-06:acme::abc", url).cache == prices_of("gpt-4o", url).cache
        assert packaged_window("ft:gpt-4o-2024-08-06:acme::abc", url) == packaged_window("gpt-4o", url) == 128_000


def _chat(model: str, usage: dict[str, Any], asked: str = "", **more: Any) -> tuple[str, dict[str, Any], bytes]:
    answer = {"id": "c", "object": "chat.completion", "model": model, "choices": [], "usage": usage, **more}
    return (
        "/v1/chat/completions",
        {"model": asked or model, "messages": [{"role": "user", "content": "Hi"}]},
        json.dumps(answer).encode(),
    )


def _stream(model: str, *events: dict[str, Any]) -> tuple[str, dict[str, Any], bytes]:
    lines = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in events)
    return "/v1/responses", {"model": model, "input": "Hi", "stream": True}, lines


def _messages(model: str, usage: dict[str, Any], *content: Any, asked: str = "") -> tuple[str, dict[str, Any], bytes]:
    answer = {"type": "message", "model": model, "content": content, "usage": usage}
    body = {"model": asked or model, "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    return "/v1/messages", body, json.dumps(answer).encode()


_GROK: Final = {  # a recorded answer, which said itself what it cost: 232,856,000 of its ten-billionths of a dollar
    "prompt_tokens": 10_120,
    "completion_tokens": 1_499,
    "total_tokens": 14_428,
    "prompt_tokens_details": {"cached_tokens": 128},
    "completion_tokens_details": {"reasoning_tokens": 2_809},
}
_CLAUDE: Final = {
    "input_tokens": 50,
    "cache_read_input_tokens": 1000,
    "cache_creation_input_tokens": 3000,
    "cache_creation": {"ephemeral_5m_input_tokens": 1000, "ephemeral_1h_input_tokens": 2000},
    "output_tokens": 40,
    "service_tier": "standard",
}
_HAIKU: Final = (50 + 1000 * 0.1 + 1000 * 1.25 + 2000 * 2 + 40 * 5) / 1e6
_IN_THE_US: Final = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
_TWO: Final = {"prompt_tokens": 100, "completion_tokens": 40, "total_tokens": 140}  # n=2: both answers are in the completion
_RESPONSE: Final = {"input_tokens": 900, "input_tokens_details": {"cached_tokens": 500}, "output_tokens": 60, "total_tokens": 960}
SERVED: Final = {
    "grok": (_chat("grok-4", _GROK), ((10_120 - 128) * 3 + 128 * 0.75 + (1_499 + 2_809) * 15) / 1e6),
    "claude": (_messages("claude-sonnet-4-5", _CLAUDE), (50 * 3 + 1000 * 0.3 + 1000 * 3.75 + 2000 * 6 + 40 * 15) / 1e6),
    "claude, a tool that counts tokens": (
        _messages(
            "claude-haiku-4-5", {"input_tokens": 50, "output_tokens": 40}, {"input": {"usage": {"prompt_tokens": 5_000_000}}}
        ),
        (50 + 40 * 5) / 1e6,
    ),
    "claude, by contract": (_messages("claude-sonnet-4-5", {**_CLAUDE, "service_tier": "priority"}), None),
    "flex": (
        _stream(
            "gpt-5",
            {"type": "response.created", "response": {"model": "gpt-5", "service_tier": "auto", "usage": None}},
            {"type": "response.completed", "response": {"model": "gpt-5", "service_tier": "flex", "usage": _RESPONSE}},
        ),
        (400 * 0.625 + 500 * 0.0625 + 60 * 5) / 1e6,
    ),
    "priority": (_chat("gpt-4o", _TWO, service_tier="priority"), (100 * 4.25 + 40 * 17) / 1e6),
    "two answers": (_chat("gpt-4o", _TWO, service_tier="default"), (100 * 2.5 + 40 * 10) / 1e6),
    "a deployment": (_chat("gpt-4o-2024-08-06", _TWO, asked="our-deployment"), (100 * 2.5 + 40 * 10) / 1e6),
    "an alias of a gateway": (_messages("claude-haiku-4-5-20251001", _CLAUDE, asked="fast"), _HAIKU),
    "a fallback": (_chat("gpt-4.1-mini-2025-04-14", _TWO, asked="anthropic/claude-sonnet-4.5"), (100 * 0.4 + 40 * 1.6) / 1e6),
    "a region": (_messages("claude-haiku-4-5-20251001", _CLAUDE, asked=_IN_THE_US), 1.1 * _HAIKU),
    "an unknown one": (_chat("somebody-large", _TWO, asked="our-deployment"), None),
    "a free one": (_chat("gpt-4o", _TWO, asked="openai/gpt-4o:free"), 0.0),
    "a tuned one": (_chat("gpt-4o-2024-08-06", _TWO, asked="ft:gpt-4o-2024-08-06:acme::id"), (100 * 3.75 + 40 * 15) / 1e6),
    "nothing used": (_chat("gpt-4o", {"prompt_tokens": 0, "completion_tokens": 0}), 0.0),
    "no usage": (_stream("gpt-5", {"type": "response.created", "response": {"model": "gpt-5", "usage": None}}), None),
    "no known model": (_chat("my-model", _TWO), None),
}


def test_receipts_say_what_was_paid() -> None:
    with billed() as (upstream, client):
        for name, ((path, body, answer), _) in SERVED.items():
            upstream.handler = reply(answer)
            assert client.post(path, json=body, headers={"x-turnfold-tag": name.replace(",", "")}).content == answer
        receipts = receipts_by_tag(client, len(SERVED))
        paid = {name: receipts[name.replace(",", "")]["paid"] for name in SERVED}
        report = client.get("/admin/report?group_by=tag").json()
    assert paid == {name: wanted if wanted is None else pytest.approx(wanted) for name, (_, wanted) in SERVED.items()}
    assert report["totals"]["dollars"]["paid"] == pytest.approx(sum(one or 0.0 for one in paid.values()), abs=1e-6)
