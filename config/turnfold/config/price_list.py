"""Looking up a model in the packaged price list, genai-prices, and the few prices that it lacks.

Prices are those that providers publish; each one added here names its page. What a request costs is computed in ``prices``.

The price list takes about 0.2 s and 12 MB, mostly for its table, so it is loaded at the first look-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from importlib import import_module
from itertools import chain
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from turnfold.config.model_names import (
    bare_name,
    candidates,
    current_name,
    families,
    is_derived,
    is_hosted,
    is_on_bedrock,
    is_open_weights,
    is_own_server,
    is_tuned,
    providers,
    tuned_name,
)

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, Provider

# Providers whose model families may be guessed by name; a hoster's prices say nothing about a model with a similar name.
_MAKERS: Final = ("openai", "anthropic", "google", "deepseek", "x-ai", "mistral")
# Makers whose open weights others serve under the same names.
_MAKERS_OF_WEIGHTS: Final = (*_MAKERS, "moonshotai")
# OpenAI's embedding models. The price list finds them only by OpenAI's own address, but gateways use the same names.
_EMBEDDING: Final = "text-embedding-"
_OPENAI, _AZURE, _BEDROCK = "openai", "azure", "aws"


class _Rates(NamedTuple):
    """Dollars for a million tokens, in the price list's words."""

    input_mtok: float
    output_mtok: float
    cache_read_mtok: float | None = None
    input_audio_mtok: float | None = None
    output_audio_mtok: float | None = None


#: Beginning of a name at OpenAI -> rates; the longest one counts (developers.openai.com, "Pricing": fine-tuning, audio tokens).
_LACKING: Final[Mapping[str, _Rates]] = {
    "ft:gpt-4.1-2025-": _Rates(3, 12, 0.75),
    "ft:gpt-4.1-mini-2025-": _Rates(0.8, 3.2, 0.2),
    "ft:gpt-4.1-nano-2025-": _Rates(0.2, 0.8, 0.05),
    "ft:o4-mini-2025-": _Rates(4, 16, 1),
    "ft:gpt-4-0613": _Rates(30, 60),
    "ft:davinci-002": _Rates(12, 12),
    "ft:babbage-002": _Rates(1.6, 1.6),
    "gpt-4o-audio-preview": _Rates(2.5, 10, None, 40, 80),
    "gpt-4o-audio-preview-2024-10-01": _Rates(2.5, 10, None, 100, 200),
    "gpt-4o-mini-audio-preview": _Rates(0.15, 0.6, None, 10, 20),
}

# Sonnet 4 and 4.5 with a window of a million tokens: from 200,000 tokens on, twice the price for input and 1.5 times that for
# output (platform.claude.com, "Pricing", long context). The list has it for Sonnet 4.5 at Anthropic's own.
_LONG_CONTEXT: Final = ("claude-sonnet-4-0", "claude-sonnet-4-2025", "claude-4-sonnet", "claude-sonnet-4-5")
_LONG_FROM: Final = 200_000
_LONG_INPUT, _LONG_OUTPUT = Decimal(2), Decimal("1.5")


@dataclass(frozen=True, slots=True)
class PricedModel:
    """A model on the price list.

    Attributes:
        guessed: only something like it is on the list: good enough for ratios, not for a bill.
    """

    provider: Provider
    info: ModelInfo
    guessed: bool


def price_list() -> ModuleType:
    """The package with the prices. It brings an HTTP client of its own, so it is loaded when a price is first asked for."""
    return import_module("genai_prices")


def _snapshot() -> Any:
    return price_list().data_snapshot.get_snapshot()


def _find(name: str, url: str | None, maker: str | None = None, guessed: bool = False) -> PricedModel | None:
    listed = _snapshot()
    try:
        provider = listed.find_provider(name, maker, url)
    except LookupError:
        return None
    info = provider.find_model(current_name(name, provider.id), all_providers=listed.providers)
    if info is None:
        return None
    elsewhere = not any(info is one for one in provider.models)  # a maker's price, for a model that somebody else hosts
    if is_open_weights(bare_name(name)) and (elsewhere or (url is None and provider.id in _MAKERS_OF_WEIGHTS)):
        return None
    return PricedModel(provider, _with_long_context(info), guessed or is_derived(name, info.id))


@lru_cache(maxsize=256)
def _provider_at(url: str) -> str | None:
    """The provider whose address that is, if it is a known one's."""
    try:
        return str(_snapshot().find_provider(None, None, url).id)
    except LookupError:
        return None


@lru_cache(maxsize=1024)
def look_up(model: str, url: str) -> PricedModel | None:
    """A model by its name, and by its upstream's address where that is a known provider's; None if nothing like it is known."""
    if is_own_server(model):
        return None
    if is_tuned(model):
        name, base = tuned_name(model), look_up(bare_name(model), url)
        return _lacking(name) or _find(name, None, _OPENAI) or (base and replace(base, guessed=True))
    there = _provider_at(url) if url else None
    names = list(candidates(model))
    lacking = map(_lacking, (bare_name(model),) if there in (None, _OPENAI, _AZURE) else ())
    by_upstream = (_find(name, url) for name in names if url)
    sellers = (maker for maker in providers(model) if maker or not is_hosted(model))
    by_name = (_find(name, None, maker) for maker in sellers for name in names)
    embedding = (_find(name, None, _OPENAI) for name in names if name.startswith(_EMBEDDING))
    by_region = (_find(name, None, _BEDROCK) for name in names if is_on_bedrock(name))
    by_family = (_find(name, None, maker, guessed=True) for name in families(model) for maker in _MAKERS)
    every = chain(lacking, by_upstream, by_name, by_region, embedding, by_family)
    return next((found for found in every if found), None)


def _lacking(name: str) -> PricedModel | None:
    """A model that the price list lacks, or has in part."""
    known = max((one for one in _LACKING if name.startswith(one)), key=len, default=None)
    if known is None:
        return None
    types = price_list().types
    rates = {unit: Decimal(str(price)) for unit, price in _LACKING[known]._asdict().items() if price is not None}
    info = types.ModelInfo(id=known.rstrip("-"), match=types.ClauseStartsWith(known), prices=types.ModelPrice(**rates))
    return PricedModel(_snapshot().find_provider(None, _OPENAI, None), info, guessed=False)


def _with_long_context(info: ModelInfo) -> ModelInfo:
    named = info.id.rpartition("anthropic.")[2]
    types = price_list().types
    if not named.startswith(_LONG_CONTEXT) or not isinstance(info.prices, types.ModelPrice):
        return info
    prices = {unit: _long(types, unit, price) for unit, price in vars(info.prices).items()}
    return replace(info, prices=types.ModelPrice(**prices))


def _long(types: ModuleType, unit: str, price: Any) -> Any:
    if not isinstance(price, Decimal) or not unit.endswith("_mtok"):
        return price
    times = _LONG_OUTPUT if unit.startswith("output") else _LONG_INPUT
    return types.TieredPrices(price, [types.Tier(_LONG_FROM, price * times)])


def newest_prices(info: ModelInfo) -> ModelPrice:
    """A model's newest prices, regardless of the time of day."""
    if not isinstance(info.prices, list):
        return info.prices
    daily = price_list().types.TimeOfDateConstraint
    lasting = [one.prices for one in info.prices if not isinstance(one.constraint, daily)]
    return (lasting or [info.prices[-1].prices])[-1]
