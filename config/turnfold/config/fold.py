"""From settings to the options of one fold.

Lives here: the one place where raw settings become ``FoldOptions``. Must not: reading sources, request headers.
"""

from __future__ import annotations

from turnfold.compression.options import FoldOptions
from turnfold.config.prices import prices_of
from turnfold.config.settings import Settings
from turnfold.config.windows import window_of


def fold_options(settings: Settings, model: str, budget: int | None = None) -> FoldOptions:
    """Everything that a fold for this model depends on.

    Args:
        budget: tokens that this request may take, as its header says; wins over the setting.
    """
    folding = settings.folding
    own = settings.models.get(model)
    prices = prices_of(model, settings.upstream.url, own)
    breakpoints = prices.cache_breakpoints if folding.cache_breakpoints == "auto" else folding.cache_breakpoints == "on"
    return FoldOptions(
        model=model,
        prices=prices.cache,
        cache_hit_share=folding.cache_hit_share,
        budget=folding.budget if budget is None else budget,
        window=window_of(model, settings.upstream.url, own),
        recall=folding.recall,
        recall_tool_text=folding.recall_tool_text,
        shape_results=folding.shape_results,
        cache_breakpoints=breakpoints,
    )
