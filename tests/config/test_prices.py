"""Prices, windows and the options made from them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from genai_prices import Usage, calc_price
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from turnfold.compression.options import CachePrices
from turnfold.config.fold import fold_options
from turnfold.config.prices import TokenUse, caches_at_marks, dollars, least_cached, prices_of
from turnfold.config.settings import FoldingSettings, ModelSettings, Settings
from turnfold.config.windows import window_of

NOW = 1_760_000_000.0


@each(
    ("model", "read", "write"),
    [
        ("gpt-4o", 0.5, 1.0),
        ("openai/gpt-4o-2024-08-06", 0.5, 1.0),
        ("ft:gpt-4o-mini-2024-07-18:acme::id", 0.5, 1.0),
        ("gpt-4.1", 0.25, 1.0),
        ("gpt-5", 0.1, 1.0),
        ("gpt-5-foo", 0.1, 1.0),
        ("GPT-5", 0.1, 1.0),
        ("gpt-5.6", 0.1, 1.25),
        ("gpt-5.6-anything", 0.1, 1.25),
        ("claude-sonnet-4-5", 0.1, 1.25),
        ("claude-sonnet-4-5-20250929", 0.1, 1.25),
        ("openrouter/anthropic/claude-sonnet-4.5", 0.1, 1.25),
        ("claude-to-come-99", 0.1, 1.25),
        ("gemini-2.5-pro", 0.1, 1.0),
        ("my-local-model", 1.0, 1.0),
        ("my-company-gpt-4o", 1.0, 1.0),
        ("anthropic.claude-to-come-99-v1:0", 0.1, 1.25),
        ("openai/ft:gpt-4o-2024-08-06:acme::id", 0.5, 1.0),
        ("deepseek-chat", 0.02, 1.0),
        ("deepseek-r1:14b", 1.0, 1.0),
        ("", 1.0, 1.0),
    ],
)
def test_cache_ratios(model: str, read: float, write: float) -> None:
    found = prices_of(model).cache
    assert (found.read, found.write) == (read, write)


@each(
    ("model", "least"),
    [
        ("claude-haiku-4-5-20251001", 4096),
        ("openrouter/anthropic/claude-haiku-4.5", 4096),
        ("anthropic.claude-opus-4-5-20251101-v1:0", 4096),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", 4096),
        ("claude-3-5-haiku-latest", 2048),
        ("gemini-2.5-flash", 2048),
        ("google/gemini-3-pro-preview", 4096),
        ("claude-sonnet-4-5", 1024),
        ("claude-opus-4-1", 1024),
        ("gpt-4o", 1024),
        ("my-local-model", 1024),
        ("", 1024),
    ],
)
def test_the_shortest_prefix_that_is_cached(model: str, least: int) -> None:
    assert least_cached(model) == least
    assert prices_of(model).cache.least == (least if least > 1024 else 0)


def test_a_cache_of_which_nothing_is_known_is_taken_to_be_cheap_to_read() -> None:
    assert prices_of("my-local-model").if_cached == CachePrices(0.1, 1.0)
    assert prices_of("my-local-model", own=ModelSettings(cache_read=1.0)).if_cached is None
    assert prices_of("gpt-4o").if_cached is prices_of("claude-to-come-99").if_cached is None


def test_unknown_is_none_and_never_nought() -> None:
    assert prices_of("my-local-model").input is None
    assert dollars("my-local-model", TokenUse(1000), NOW) is None


def test_a_bill_takes_no_guess() -> None:
    assert prices_of("gpt-5-foo").guessed
    assert dollars("gpt-5-foo", TokenUse(1000), NOW) is None


@each(
    ("model", "family"),
    [
        ("gpt-4o-harbour", "gpt-4o"),
        ("gpt-4.1-mini-of-ours", "gpt-4.1-mini"),
        ("openai/gpt-4o-mini-tide-tables-2031", "gpt-4o-mini"),
        ("o3-mini-harbour-edition", "o3-mini"),
    ],
)
def test_an_unlisted_model_has_the_prices_of_its_family(model: str, family: str) -> None:
    """None of these is in the table of ratios that stands in where the price list says nothing."""
    prices, known = prices_of(model), prices_of(family)
    assert (prices.input, prices.output, prices.cache) == (known.input, known.output, known.cache)
    assert prices.cache.read < 1.0
    assert (prices.guessed, known.guessed) == (True, False)
    assert dollars(model, TokenUse(1000), NOW) is None


@each(
    ("model", "price", "at_marks"),
    [
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 3.3, True),
        ("global.anthropic.claude-sonnet-4-5-20250929-v1:0", 3.0, True),
        ("converse/eu.anthropic.claude-haiku-4-5-20251001-v1:0", 1.1, True),
        ("meta.llama3-1-70b-instruct-v1:0", 0.72, False),
        ("somebody.large-2", None, False),
        ("gpt-5.6", 4.0, True),
        ("gpt-4.1", 2.0, False),
    ],
)
def test_names_of_bedrock_are_known_behind_a_gateway(model: str, price: float | None, at_marks: bool) -> None:
    assert (prices_of(model).input, caches_at_marks(model)) == (price, at_marks)


def test_dollars_count_the_cache() -> None:
    assert dollars("gpt-4o", TokenUse(10_000, 100, 8_000), NOW) == pytest.approx((2_000 * 2.5 + 8_000 * 1.25 + 100 * 10) / 1e6)
    assert dollars("claude-sonnet-4-5", TokenUse(10_000, 0, 0, 4_000), NOW) == pytest.approx((6_000 * 3 + 4_000 * 3.75) / 1e6)


def test_long_prompts_cost_their_tier() -> None:
    short, long = dollars("gpt-5.5", TokenUse(100_000), NOW), dollars("gpt-5.5", TokenUse(400_000), NOW)
    assert short is not None
    assert long is not None
    assert long > 4.5 * short


@given(st.integers(0, 10**6), st.integers(-5, 10**7), st.integers(-5, 10**7))
def test_reports_that_make_no_sense_are_priced_within_bounds(prompt: int, cached: int, written: int) -> None:
    paid = dollars("claude-sonnet-4-5", TokenUse(prompt, 0, cached, written), NOW)
    assert paid is not None
    assert 0 <= paid <= prompt * 3 * 1.25 * 2 / 1e6 + 1e-9


def test_own_figures_win_one_by_one() -> None:
    own = ModelSettings(input=1.0, output=2.0, cache_read=0.2)
    assert prices_of("my-local-model", own=own).cache == CachePrices(0.2, 1.0)
    assert dollars("my-local-model", TokenUse(1_000_000, 1_000_000, 500_000), NOW, own=own) == pytest.approx(0.5 + 0.1 + 2.0)
    assert prices_of("gpt-4o", own=ModelSettings(window=5)).input == 2.5


@given(st.text(max_size=300))
def test_no_name_breaks_the_look_up(model: str) -> None:
    prices = prices_of(model)
    assert prices.cache.read >= 0
    assert window_of(model) is None or window_of(model)


@each(
    ("model", "window"),
    [("gpt-5", 272_000), ("openai/gpt-5-mini", 272_000), ("gpt-4o", 128_000), ("gpt-4", 8_192), ("claude-sonnet-4-5", 200_000),
     ("gemini-2.5-pro", 1_048_576), ("gpt-4.1-mini", 1_047_576), ("my-local-model", None)],
)  # fmt: skip
def test_a_model_has_its_window(model: str, window: int | None) -> None:
    assert window_of(model) == window


def test_fold_options() -> None:
    settings = Settings(
        folding=FoldingSettings(budget=9000, cache_hit_share=1.0, recall_tool_text=False),
        models={"mine": ModelSettings(window=5000, cache_breakpoints=True)},
    )
    options = fold_options(settings, "gpt-5.6")
    assert (options.budget, options.cache_breakpoints, options.prices.write) == (9000, True, 1.25)
    assert (options.cache_hit_share, options.recall_tool_text) == (1.0, False)
    assert fold_options(settings, "gpt-5", 500).budget == 500
    assert not fold_options(settings, "gpt-5.5").cache_breakpoints
    assert fold_options(settings, "mine").window == 5000
    assert fold_options(settings, "mine").cache_breakpoints


@pytest.mark.parametrize(("setting", "expected"), [("on", True), ("off", False)])
def test_breakpoints_can_be_forced(setting: str, expected: bool) -> None:
    settings = Settings(folding=FoldingSettings.model_validate({"cache_breakpoints": setting}))
    assert fold_options(settings, "gpt-5.6").cache_breakpoints is expected
    assert fold_options(settings, "gpt-4o").cache_breakpoints is expected


@each("model", ["gpt-4o", "gpt-5.5", "claude-sonnet-4-5", "gemini-2.5-pro", "grok-4", "mistral-large-2512"])
def test_bills_are_those_of_the_price_list(model: str) -> None:
    for prompt in (1, 5_000, 199_999, 200_000, 200_001, 271_999, 272_000, 272_001, 500_000):
        use = TokenUse(prompt, 700, prompt // 2, prompt // 4)
        usage = Usage(
            input_tokens=use.prompt, cache_read_tokens=use.cached, cache_write_tokens=use.written, output_tokens=use.completion
        )
        listed = calc_price(usage, model, genai_request_timestamp=datetime.fromtimestamp(NOW, UTC))
        assert dollars(model, use, NOW) == pytest.approx(float(listed.total_price), rel=1e-9)


@each(
    ("model", "url", "prices"),
    [
        # docs.aws.amazon.com, "Inference profiles"; aws.amazon.com/bedrock/pricing: a tenth more in a region.
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "", (3.3, 16.5)),
        ("arn:aws:bedrock:us-east-1:1234:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "", (3.3, 16.5)),
        ("bedrock/global.anthropic.claude-sonnet-4-5-20250929-v1:0", "", (3, 15)),
        ("us.amazon.nova-pro-v1:0", "", (0.8, 3.2)),
        # cloud.google.com/vertex-ai, "Claude"
        ("claude-sonnet-4@20250514", "", (3, 15)),
        ("projects/p/locations/l/publishers/anthropic/models/claude-haiku-4-5@20251001", "", (1, 5)),
        # openrouter.ai, docs.litellm.ai
        ("Anthropic/Claude-Sonnet-4.5", "", (3, 15)),
        ("openrouter/openai/gpt-4o:nitro", "", (2.5, 10)),
        ("together_ai/meta-llama/Llama-3.3-70B-Instruct-Turbo", "", (0.88, 0.88)),
        ("deepseek/deepseek-chat-v3.1", "https://openrouter.ai/api/v1", (0.27, 1.0)),
        ("AZURE/GPT-4o", "", (2.5, 10)),
        # developers.openai.com, "Pricing", fine-tuning
        ("ft:gpt-4.1-2025-04-14:acme::abc", "", (3, 12)),
        ("ft:gpt-4.1-mini-2025-04-14:org::id", "", (0.8, 3.2)),
        ("openai/ft:gpt-4.1-nano-2025-04-14:acme::abc", "", (0.2, 0.8)),
        # mistral.ai/pricing; api-docs.deepseek.com, "Models & Pricing"
        ("mistral-large-latest", "", (0.5, 1.5)),
        ("mistral-large-2411", "", (2, 6)),
        ("mistral/devstral-medium-latest", "https://api.mistral.ai/v1", (0.4, 2.0)),
    ],
)
def test_names_as_clients_and_clouds_write_them(model: str, url: str, prices: tuple[float, float]) -> None:
    at_noon = 1_796_126_400.0  # a Tuesday's; DeepSeek's price depends on the hour
    found = dollars(model, TokenUse(10_000), at_noon, url), dollars(model, TokenUse(0, 10_000), at_noon, url)
    assert found == pytest.approx([price / 100 for price in prices])


@each(
    ("model", "url", "base"),
    [
        # platform.claude.com, "Pricing", long context: twice the price for input and 1.5 times that for output from 200,000 on
        ("claude-sonnet-4-20250514", "", 3),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", "", 3),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "", 3.3),
        ("anthropic/claude-sonnet-4.5", "https://openrouter.ai/api/v1", 3),
    ],
)
def test_a_long_prompt_costs_more_wherever_sonnet_is_served(model: str, url: str, base: float) -> None:
    def cost(prompt: int, completion: int = 0, cached: int = 0) -> float:
        paid = dollars(model, TokenUse(prompt, completion, cached), NOW, url)
        assert paid is not None
        return paid * 1e6 / base

    assert cost(200_000, 1_000) == pytest.approx(200_000 + 5_000)
    assert cost(300_000) == pytest.approx(600_000)
    assert cost(300_000, 1_000) == pytest.approx(600_000 + 7_500)
    assert cost(300_000, 0, 300_000) == pytest.approx(60_000)


@each(
    ("model", "use", "price"),
    [
        # developers.openai.com, "Pricing": cached input of fine-tuned models, audio
        ("ft:gpt-4.1-2025-04-14:acme::abc", TokenUse(10**6, 0, 10**6), 0.75),
        ("ft:gpt-4.1-mini-2025-04-14:acme::abc", TokenUse(10**6, 0, 10**6), 0.2),
        ("ft:gpt-4.1-nano-2025-04-14:acme::abc", TokenUse(10**6, 0, 10**6), 0.05),
        ("ft:o4-mini-2025-04-16:acme::abc", TokenUse(10**6, 10**6, 0), 20),
        ("ft:o4-mini-2025-04-16:acme::abc", TokenUse(10**6, 0, 10**6), 1),
        ("ft:gpt-4-0613:acme::abc", TokenUse(10**6, 10**6, 0), 90),
        ("ft:davinci-002:acme::abc", TokenUse(10**6, 10**6, 0), 24),
        ("ft:babbage-002:acme::abc", TokenUse(10**6, 10**6, 0), 3.2),
        ("gpt-4o-audio-preview", TokenUse(10**6, 10**6), 12.5),
        ("gpt-4o-audio-preview", TokenUse(10**6, 10**6, audio=10**6, audio_completion=10**6), 120),
        ("gpt-4o-audio-preview-2024-10-01", TokenUse(10**6, 10**6, audio=10**6, audio_completion=10**6), 300),
        ("gpt-4o-mini-audio-preview", TokenUse(10**6, 10**6), 0.75),
        ("gpt-4o-mini-audio-preview", TokenUse(10**6, 10**6, audio=10**6, audio_completion=10**6), 30),
    ],
)
def test_prices_that_the_price_list_lacks(model: str, use: TokenUse, price: float) -> None:
    assert dollars(model, use, NOW) == pytest.approx(price)
    assert dollars(model, use, NOW, "https://somebody.openai.azure.com/openai/v1") == pytest.approx(price)


@each(
    "model",
    [
        "deepseek-r1:14b",  # whoever serves the weights, it is not their maker
        "deepseek-r1",
        "deepseek/deepseek-v3.2",
        "deepseek-chat-v3.1",
        "gpt-oss-120b",
        "nebius/deepseek-ai/DeepSeek-V4-Flash",
        "somebody/zai-org/GLM-5.3",
        "fireworks_ai/deepseek-v4-flash",
        "openai/gpt-oss-120b",
        "ollama/gpt-4o",
        "hosted_vllm/mistral-large-latest",
        "google/gemma-3-27b-it",  # free at Google, not elsewhere
        "mixtral:8x7b",
        "command-r-plus:latest",
        "kimi-k2",
        "github_copilot/gpt-4o",  # a subscription
        "claude-3-5-sonnet-mytune",  # a longer name is another model
        "gpt-5-nano-of-ours",
        "deepseek-chat-finetuned",
        "apac.anthropic.claude-opus-9-v1:0",
        "arn:aws:bedrock:us-east-1:1234:application-inference-profile/a1b2c3",
    ],
)
def test_a_model_without_a_price_is_not_billed_as_another(model: str) -> None:
    assert dollars(model, TokenUse(1000, 10), NOW) is None


@each("model", ["gpt-oss-120b", "DeepSeek-R1-0528", "kimi-k2"])
def test_weights_that_anyone_may_serve_have_no_price_of_their_maker_at_azure(model: str) -> None:
    assert dollars(model, TokenUse(1000, 10), NOW, "https://somebody.openai.azure.com/openai/v1") is None


@each(
    ("asked", "served", "price"),
    [
        ("our-deployment", "gpt-4o-2024-05-13", 5.0),
        ("gpt-4o", "gpt-4o-2024-05-13", 5.0),  # a deployment may have any model's name
        ("gpt-4", "gpt-4o-mini-2024-07-18", 0.15),
        ("gpt-4o", "gpt-4o-of-ours", 2.5),
        ("our-deployment", "", None),
    ],
)
def test_a_deployment_at_azure_costs_what_answers_there(asked: str, served: str, price: float | None) -> None:
    url = "https://somebody.openai.azure.com/openai/v1"
    found = dollars(asked, TokenUse(1_000_000, served=served), NOW, url)
    assert found == (None if price is None else pytest.approx(price))


def test_the_operators_own_price_counts_whatever_answers() -> None:
    assert dollars("fast", TokenUse(1_000_000, served="gpt-4o"), NOW, own=ModelSettings(input=7.0)) == pytest.approx(7.0)


def test_what_a_provider_gives_away_is_free_there() -> None:
    assert dollars("openai/gpt-oss-120b:free", TokenUse(1000, 10), NOW) == 0.0


@each(
    ("weekday", "hour", "price"),
    [("Tuesday", 2, 0.30), ("Tuesday", 12, 0.15), ("Saturday", 2, 0.15), ("Sunday", 7, 0.15), ("Sunday", 20, 0.15)],
)
def test_deepseek_has_no_peak_on_weekends(weekday: str, hour: int, price: float) -> None:
    day = {"Tuesday": 1, "Saturday": 5, "Sunday": 6}[weekday]
    at = datetime(2026, 12, day, hour, tzinfo=UTC).timestamp()
    assert dollars("deepseek-reasoner", TokenUse(1_000_000), at) == pytest.approx(price)
    assert dollars("deepseek-v4-flash", TokenUse(1_000_000), at) == pytest.approx(price)
