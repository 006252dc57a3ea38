"""How many input tokens a model accepts.

Windows by model name. Windows learned from an upstream's errors are kept in ``proxy.learning``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from turnfold.config.model_names import bare_name
from turnfold.config.prices import packaged_window
from turnfold.config.settings import ModelSettings

#: Beginning of a name -> input tokens, where the packaged table has none or a rounded one (model pages of OpenAI and Google).
_INPUT_WINDOWS: Final[Mapping[str, int]] = {
    "gpt-4.1": 1_047_576,
    "gpt-4.5": 128_000,
    "gemini-2.5-pro": 1_048_576,
    "gemini-3": 1_048_576,
}

# OpenAI's 400,000 and 1,050,000 are input and output together, of which 128,000 are kept for output
# (gpt-5 refuses more than 272,000 input tokens). Older models share one window between both.
_OUTPUT_APART: Final = ("gpt-5", "gpt-6")
_OUTPUT: Final = 128_000


def window_of(model: str, upstream_url: str = "", own: ModelSettings | None = None) -> int | None:
    """Maximum number of input tokens of a model; None when unknown."""
    if own is not None and own.window is not None:
        return own.window
    name = bare_name(model)
    family = max((known for known in _INPUT_WINDOWS if name.startswith(known)), key=len, default=None)
    if family:
        return _INPUT_WINDOWS[family]
    window = packaged_window(model, upstream_url)
    if window and window > 2 * _OUTPUT and name.startswith(_OUTPUT_APART):
        return window - _OUTPUT
    return window
