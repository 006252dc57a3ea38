"""What a model costs.

A model's prices and cache ratios by its name, from genai-prices (packaged, offline), with a small table for what it lacks.
Nothing is fetched from the network; sums over requests are in ``proxy.books``.

How a name is looked up is in ``model_names`` and ``price_list``. A fine-tuned model (``ft:``) has prices of its own, and the
cache ratios of the model that it was made from. Ratios for folding come from the newest price list regardless of the time of
day, so that every replica uses the same ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from turnfold.compression.claude_names import claude_name
from turnfold.compression.options import HOUR_WRITE, USUAL_LEAST, CachePrices
from turnfold.config.model_names import bare_name, is_free, is_same_model, is_tuned, maker_name
from turnfold.config.price_list import PricedModel, look_up, newest_prices, price_list
from turnfold.config.settings import ModelSettings, Settings

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice, TieredPrices

#: Providers that bill audio at many times the price of text: if the list has no audio price, the model's price is unknown.
_SOUND_IS_DEARER: Final = frozenset({"openai", "azure"})
#: Providers' names for the service tier that the price list covers; some repeat "auto" from the request.
_USUAL_TIERS: Final = frozenset({"", "auto", "default", "on_demand", "standard", "standard_only"})
#: Provider and tier that cost the same (Groq, "Flex processing").
_SAME_PRICE: Final = frozenset({("groq", "flex")})

# prompt_cache_breakpoint was introduced with version 5.6 of the gpt family (OpenAI, prompt caching guide).
_GPT_VERSION: Final = re.compile(r"gpt-(\d{1,3})(?:\.(\d{1,3}))?(?:$|[-:@])")
_FIRST_WITH_BREAKPOINTS: Final = (5, 6)

# Processing in one region costs a tenth more: with OpenAI at the addresses of regions, for models released since March 5, 2026
# (developers.openai.com, "Data residency"); with Anthropic where the answer's usage names the region (platform.claude.com, "Data
# residency").
# Google does so for Claude 4.5 and later, but at its global address (platform.claude.com, "Claude on Vertex AI").
_IN_ONE_REGION: Final = 1.1
_REGIONAL_HOST: Final = re.compile(r"https://[a-z]{2}\.api\.openai\.com(?:[:/]|$)", re.IGNORECASE)
_FIRST_DEARER_IN_REGIONS: Final = (5, 4)
_VERTEX_REGION: Final = re.compile(
    r"https://(?:[a-z]+-[a-z]+\d+-aiplatform\.googleapis|aiplatform\.[a-z]{2}\.rep\.googleapis)\.com", re.IGNORECASE
)
_FIRST_CLAUDE_DEARER: Final = (4, 5)
_REGION_OF_CLAUDE: Final = "us"

_BEIJING: Final = timedelta(hours=8)
_SATURDAY: Final = 5
_OFF_PEAK: Final = 12  # an hour of no peak, in UTC

#: Name prefix of a family -> ratios that the packaged table lacks.
_RATIOS: Final[Mapping[str, CachePrices]] = {
    "gpt-5.6": CachePrices(read=0.1, write=1.25),
    "gpt-5": CachePrices(read=0.1, write=1.0),
    "claude-": CachePrices(read=0.1, write=1.25),
}
#: Assumed price of a cached read if unknown: most providers charge a tenth, none much less.
#: If reads are cheaper than assumed, folds cost more than they save; if they are dearer, folds only come late.
_ASSUMED: Final = CachePrices(read=0.1, write=1.0)

#: Name prefix, with dashes for dots -> tokens of the shortest cached prefix, if that is more than usual; the longest
#: matching name prefix counts. Anthropic, "Prompt caching", and Google, "Context caching", as of October 2026.
_LEAST_CACHED: Final[Mapping[str, int]] = {
    "claude-3-haiku": 2048,
    "claude-3-5-haiku": 2048,
    "claude-haiku-4-5": 4096,
    "claude-opus-4-5": 4096,
    "claude-opus-4-6": 4096,
    "claude-opus-4-7": 2048,
    "gemini-": 4096,
    "gemini-2-5": 2048,
}


@dataclass(frozen=True, slots=True)
class ModelPrices:
    """Prices of one model; None means unknown, never free.

    Attributes:
        input: dollars for a million uncached input tokens.
        output: dollars for a million output tokens.
        cache: what the prompt cache costs, relative to ``input``.
        cache_breakpoints: whether the model takes ``prompt_cache_breakpoint``.
        priced_as: ``provider/model`` of the price list, "settings", or "" when unknown.
        guessed: only the family is known: good enough for ratios, not for a bill.
        if_cached: assumed cache prices once cached tokens were seen; None if the prices are known.
    """

    input: float | None
    output: float | None
    cache: CachePrices
    cache_breakpoints: bool
    priced_as: str
    guessed: bool = False
    if_cached: CachePrices | None = None


def _base(price: Decimal | TieredPrices | None) -> float | None:
    if price is None:
        return None
    return float(price if isinstance(price, Decimal) else price.base)


def _ratio(part: float | None, whole: float | None) -> float:
    return round(part / whole, 4) if part is not None and whole else 1.0


def takes_breakpoints(model: str) -> bool:
    """Whether a model is known to take ``prompt_cache_breakpoint`` on a text part."""
    return _gpt_version(model) >= _FIRST_WITH_BREAKPOINTS


def _gpt_version(model: str) -> tuple[int, int]:
    """The version's numbers; zeros for another model."""
    match = _GPT_VERSION.match(bare_name(model))
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)


def _known_ratios(model: str) -> CachePrices:
    name = maker_name(model)
    family = max((known for known in _RATIOS if name.startswith(known)), key=len, default=None)
    return _RATIOS[family] if family else CachePrices()


@lru_cache(maxsize=1024)
def least_cached(model: str) -> int:
    """Tokens of the shortest prefix that a model's provider caches: 1,024 unless another figure is known."""
    name = maker_name(model).replace(".", "-")
    family = max((known for known in _LEAST_CACHED if name.startswith(known)), key=len, default=None)
    return _LEAST_CACHED[family] if family else USUAL_LEAST


@lru_cache(maxsize=1024)
def caches_at_marks(model: str) -> bool:
    """Whether a model's provider caches only up to marks and ends of requests: those are the providers that charge for writes."""
    return takes_breakpoints(model) or _known_ratios(model).write > 1


@lru_cache(maxsize=1024)
def _packaged_prices(model: str, url: str) -> ModelPrices:
    found = look_up(model, url)
    least = least_cached(model) if least_cached(model) > USUAL_LEAST else 0
    if found is None:
        ratios = _known_ratios(model)
        assumed = _ASSUMED if ratios == CachePrices() else None
        return ModelPrices(None, None, replace(ratios, least=least), takes_breakpoints(model), "", True, assumed)
    prices = newest_prices(found.info)
    whole = _base(prices.input_mtok)
    written = max(1.0, _ratio(_base(prices.cache_write_mtok), whole))  # what is written is sent too
    cache = CachePrices(_ratio(_base(prices.cache_read_mtok), whole), written, least)
    if is_tuned(model):
        cache = _packaged_prices(bare_name(model), url).cache
    name = f"{found.provider.id}/{found.info.id}"
    return ModelPrices(whole, _base(prices.output_mtok), cache, takes_breakpoints(model), name, found.guessed)


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def prices_of(model: str, upstream_url: str = "", own: ModelSettings | None = None) -> ModelPrices:
    """Prices of a model by its name, and by its upstream where that is a known provider.

    Args:
        own: the operator's figures; each one that is set overrides the packaged one.
    """
    packaged = _packaged_prices(model, upstream_url)
    if own is None:
        return packaged
    read, write = _first(own.cache_read, packaged.cache.read), _first(own.cache_write, packaged.cache.write)
    return ModelPrices(
        input=_first(own.input, packaged.input),
        output=_first(own.output, packaged.output),
        cache=CachePrices(read if read is not None else 1.0, write if write is not None else 1.0, packaged.cache.least),
        cache_breakpoints=packaged.cache_breakpoints if own.cache_breakpoints is None else own.cache_breakpoints,
        priced_as="settings" if own.input is not None else packaged.priced_as,
        guessed=packaged.guessed and own.input is None,
        if_cached=packaged.if_cached if own.cache_read is None and own.cache_write is None else None,
    )


@dataclass(frozen=True, slots=True)
class TokenUse:
    """Billed tokens of one request.

    Attributes:
        prompt: all of the prompt, with what was read from and written to the cache.
        written_hour: those of `written` that the cache keeps for an hour.
        audio, audio_completion: audio tokens of `prompt` and of `completion`.
        tier: the provider's name for the service tier ("flex", "priority", "fast"); "" for the standard tier.
        region: the provider's name for the region of processing; "" if none is named.
        served: the model that the answer names; "" if it names none.
    """

    prompt: int
    completion: int = 0
    cached: int = 0
    written: int = 0
    written_hour: int = 0
    audio: int = 0
    audio_completion: int = 0
    tier: str = ""
    region: str = ""
    served: str = field(default="", repr=False)

    def bounded(self) -> TokenUse:
        """The same use, with no part larger than its whole."""
        cached = _within(self.cached, self.prompt)
        written = _within(self.written, self.prompt - cached)
        return replace(
            self,
            cached=cached,
            written=written,
            written_hour=_within(self.written_hour, written),
            audio=_within(self.audio, self.prompt),
            audio_completion=_within(self.audio_completion, self.completion),
        )


def _within(part: int, whole: int) -> int:
    return min(max(part, 0), whole)


#: Dollars for a model's tokens at a Unix time; None when the price is unknown.
PriceOf = Callable[[str, TokenUse, float], float | None]


@dataclass(frozen=True, slots=True)
class _Flat:
    """Dollars per million tokens of each sort, valid for prompts shorter than `below`."""

    plain: float
    cached: float
    written: float
    output: float
    below: float = math.inf


@lru_cache(maxsize=1024)
def _flat_rates(model: str, url: str) -> _Flat | None:
    """Rates that do not depend on the time of day; None if they do."""
    found = look_up(model, url)
    if found is None or isinstance(found.info.prices, list) or found.info.prices.input_mtok is None:
        return None
    prices = found.info.prices
    parts = (prices.input_mtok, prices.cache_read_mtok, prices.cache_write_mtok, prices.output_mtok)
    plain, cached, written, output = map(_base, parts)
    whole = plain or 0.0
    if is_tuned(model):
        cached = whole * _packaged_prices(model, url).cache.read
    tiers = [tier.start for part in parts if part is not None and not isinstance(part, Decimal) for tier in part.tiers]
    return _Flat(
        plain=whole,
        cached=whole if cached is None else cached,
        written=whole if written is None else written,
        output=output or 0.0,
        below=min(tiers, default=math.inf),
    )


def _bill(rates: _Flat, use: TokenUse) -> float:
    rest = use.prompt - use.cached - use.written
    paid = rates.plain * rest + rates.cached * use.cached + rates.written * use.written + rates.output * use.completion
    return paid / 1e6 + _hour_surcharge(rates.plain, rates.written, use)


def _hour_surcharge(plain: float, written: float, use: TokenUse) -> float:
    """Surcharge for cache writes that last an hour, in dollars, from dollars per million tokens."""
    return max(0.0, HOUR_WRITE * plain - written) * use.written_hour / 1e6


def dollars(model: str, use: TokenUse, at: float, upstream_url: str = "", own: ModelSettings | None = None) -> float | None:
    """What one request cost at a Unix time, tiers for long prompts included; None when the model's price is unknown, or not
    known for the way in which the request was processed.

    A price that is only known for the family counts as unknown: a bill must not contain guesses. The operator's own figures hold
    for every way of processing.
    """
    use = use.bounded()
    if own is not None and own.input is not None:
        prices = prices_of(model, upstream_url, own)
        read, write = own.input * prices.cache.read, own.input * prices.cache.write
        return _bill(_Flat(own.input, read, write, prices.output or 0.0), use)
    if is_free(model):
        return 0.0
    model = _billed_model(model, use.served, upstream_url)
    found = look_up(model, upstream_url)
    if found is None or found.guessed:
        return None
    anywhere = _dollars_anywhere(found, model, use, at, upstream_url)
    if anywhere is None:
        return None
    if found.provider.id == "openrouter" and use.written:
        anywhere = _with_written(
            anywhere, _dollars_anywhere(found, model, replace(use, written=0, written_hour=0), at, upstream_url)
        )
    return anywhere * _times_in_region(found, model, use, upstream_url)


def _with_written(anywhere: float, unwritten: float | None) -> float:
    """The same with what was written at no less than the price of sending it: some prices of writes are for storage alone
    (OpenRouter, "Prompt caching": Gemini)."""
    return anywhere if unwritten is None else max(anywhere, unwritten)


def _billed_model(model: str, served: str, upstream_url: str) -> str:
    """The name whose price counts: of the model that the answer names, if it has a price and the requested name has none or is
    another model's (a deployment, an alias, a router, a fallback). A deployment at Azure may have any model's name."""
    found = look_up(served, upstream_url) if served and not is_free(model) and not is_tuned(model) else None
    if found is None or found.guessed:
        return model
    asked = look_up(model, upstream_url)
    stands = asked is not None and not asked.guessed and asked.provider.id != "azure" and is_same_model(model, served)
    return model if stands else served


def _dollars_anywhere(found: PricedModel, model: str, use: TokenUse, at: float, upstream_url: str) -> float | None:
    flat = _flat_rates(model, upstream_url)
    usual = use.tier in _USUAL_TIERS or (found.provider.id, use.tier) in _SAME_PRICE
    if flat is not None and usual and not use.audio and not use.audio_completion and use.prompt < flat.below:
        return _bill(flat, use)
    return _listed_dollars(found, use, _billing_time(found, at), {} if usual else _context(use.tier))


def _billing_time(found: PricedModel, at: float) -> datetime:
    """The time whose prices count: DeepSeek has no peak hours on weekends in Beijing (api-docs.deepseek.com, "Pricing")."""
    when = datetime.fromtimestamp(at, UTC)
    is_weekend = (when + _BEIJING).weekday() >= _SATURDAY
    return when.replace(hour=_OFF_PEAK) if is_weekend and found.provider.id == "deepseek" else when


def _times_in_region(found: PricedModel, model: str, use: TokenUse, upstream_url: str) -> float:
    """The price factor of the region of processing."""
    of_claude = found.provider.id == "anthropic" and use.region == _REGION_OF_CLAUDE
    of_gpt = _REGIONAL_HOST.match(upstream_url) is not None and _gpt_version(model) >= _FIRST_DEARER_IN_REGIONS
    at_google = found.provider.id == "google" and _VERTEX_REGION.match(upstream_url) is not None
    name = claude_name(model) if at_google else None
    is_dearer = of_claude or of_gpt or (name is not None and name.version >= _FIRST_CLAUDE_DEARER)
    return _IN_ONE_REGION if is_dearer else 1.0


def _context(tier: str) -> dict[str, str]:
    """The price list's name of a service tier: OpenAI has tiers, Anthropic a speed ("fast"), and batches are processed apart."""
    return {"service_tier": tier, "speed": tier, "processing": tier}


def _listed_dollars(found: PricedModel, use: TokenUse, when: datetime, context: Mapping[str, str]) -> float | None:
    """The price list's own calculation; None where it has no prices for this way of processing."""
    if context and not any(variant.when.items() <= context.items() for variant in found.info.price_variants or ()):
        return None
    prices = found.info.get_prices(when, context)
    if prices.input_mtok is None and use.prompt:  # on the list without a price: what a subscription includes, or is free there
        return None
    if (use.audio or use.audio_completion) and prices.input_audio_mtok is None and found.provider.id in _SOUND_IS_DEARER:
        return None
    total = float(prices.calc_price(_listed_usage(use, prices))["total_price"])
    if prices.cache_write_1h_mtok is not None:
        return total
    plain, written = _base(prices.input_mtok) or 0.0, _base(prices.cache_write_mtok)
    return total + _hour_surcharge(plain, plain if written is None else written, use)


def _listed_usage(use: TokenUse, prices: ModelPrice) -> Any:
    """The same tokens in the price list's terms. Audio without its own price is priced like text."""
    usage = {
        "input_tokens": use.prompt,
        "cache_read_tokens": use.cached,
        "cache_write_tokens": use.written,
        "output_tokens": use.completion,
    }
    if prices.cache_write_1h_mtok is not None:
        usage |= {"cache_write_1h_tokens": use.written_hour}
    if prices.input_audio_mtok is not None:  # providers do not say how much of it was cached: assume as little as possible
        cached = max(0, use.audio - (use.prompt - use.cached))
        usage |= {"input_audio_tokens": use.audio, "cache_audio_read_tokens": cached}
    if prices.output_audio_mtok is not None:
        usage |= {"output_audio_tokens": use.audio_completion}
    return price_list().Usage(**usage)


def price_from(settings: Settings) -> PriceOf:
    """The price function for the configured upstream and the operator's own figures."""

    def price(model: str, use: TokenUse, at: float) -> float | None:
        return dollars(model, use, at, settings.upstream.url, settings.models.get(model))

    return price


def packaged_window(model: str, upstream_url: str = "") -> int | None:
    """The window that the price list names for a model, input and output together as a rule; None when unknown."""
    found = look_up(bare_name(model) if is_tuned(model) else model, upstream_url)
    return found.info.context_window if found and not found.guessed else None
