"""From settings to the options of one fold.

This is the one place where raw settings become ``FoldOptions``, including the lexicon file that they name. Request headers are
read elsewhere.
"""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import urlsplit

from turnfold.compression.errors import InvalidInput
from turnfold.compression.fold.thinking import binds_thinking
from turnfold.compression.options import FoldDecision, FoldOptions, Keep, Prose
from turnfold.compression.shorten.terse_prose.rules import lexicon
from turnfold.compression.warmth import set_warmth, usual_warmth
from turnfold.config.prices import prices_of
from turnfold.config.settings import Settings
from turnfold.config.sources import SettingsError
from turnfold.config.windows import window_of

_LONGEST_NAME: Final = 200  # longer model names are not remembered, because clients choose them


def fold_options(settings: Settings, model: str, budget: int | None = None) -> FoldOptions:
    """The fold options for a model. If no share of cache hits is set, the usual share at its prices is assumed until more is
    known.

    Args:
        budget: token budget from the request's header; it overrides the setting.

    Raises:
        SettingsError: the prose lexicon cannot be read, or is not a lexicon.
    """
    folding = settings.folding
    own, share = settings.models.get(model), folding.cache_hit_share
    prices = prices_of(model, settings.upstream.url, own)
    usual = usual_warmth(prices.cache)
    written = settings.summary.model is not None and settings.summary.blocks != "off" and settings.store.keeps_originals
    breakpoints = prices.cache_breakpoints if folding.cache_breakpoints == "auto" else folding.cache_breakpoints == "on"
    return FoldOptions(
        model=model,
        preserved_thinking=binds_thinking(model) if model else None,
        prices=prices.cache,
        prices_if_cached=prices.if_cached,
        cache_hit_share=usual.turns if share is None else share,
        belief=FoldDecision(usual) if share is None else _set_belief(share) if written else None,
        wants_summaries=written,
        budget=folding.budget if budget is None else budget,
        window=window_of(model, settings.upstream.url, own),
        recall=folding.recall,
        recall_tool_text=folding.recall_tool_text,
        shape_results=folding.shape_results,
        cache_breakpoints=breakpoints,
        keep=Keep(frozenset(folding.keep_tools), frozenset(folding.keep_roles)),
        prose=_prose(folding.prose, folding.prose_lexicon),
        drops_thinking=folding.drop_thinking,
        trims_endings=_is_anthropic(settings.upstream.url),
    )


class OptionsByModel(Protocol):
    """Gives the fold options for a model, and for a token budget that overrides the setting."""

    def __call__(self, model: str, budget: int | None = None) -> FoldOptions:
        """See `fold_options`."""
        ...


def options_by_model(settings: Settings) -> OptionsByModel:
    """`fold_options` under these settings, memoised."""
    remembered = lru_cache(maxsize=256)(partial(fold_options, settings))

    def options_for(model: str, budget: int | None = None) -> FoldOptions:
        return (remembered if len(model) <= _LONGEST_NAME else remembered.__wrapped__)(model, budget)

    return options_for


def _set_belief(share: float) -> FoldDecision:
    """The configured share as a belief that is recorded with each decision, which adopted summaries depend on."""
    return FoldDecision(set_warmth(share))


def _is_anthropic(url: str) -> bool:
    """Whether an upstream serves only Claude models, whatever the model is called."""
    host = (urlsplit(url).hostname or "").lower()
    return host == "anthropic.com" or host.endswith(".anthropic.com")


@lru_cache(maxsize=8)  # once per process: the options of a fold must not change while it runs
def _prose(intensity: str, file: Path | None) -> Prose:
    if intensity == "off" or file is None:
        return Prose(intensity)
    return Prose(intensity, read_lexicon(file))


def read_lexicon(file: Path, setting: str = "TURNFOLD_PROSE_LEXICON") -> str:
    """The text of a user's lexicon, which `setting` names.

    Raises:
        SettingsError: it cannot be read, or is not a lexicon.
    """
    try:
        text = file.read_text("utf-8-sig")
        lexicon(text)
    except OSError as exc:
        raise SettingsError(f"{setting}: {file} cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise SettingsError(f"{setting}: {file} is not UTF-8 (byte {exc.start})") from exc
    except InvalidInput as exc:
        raise SettingsError(f"{setting}: {file}: {exc}") from exc
    return text
