"""The base class of every group of settings.

Lives here: the base class. Does not belong here: any setting.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class SettingsGroup(BaseModel):
    """Settings of one table. Unknown names are refused, and values are frozen.

    Infinity is refused too: the HTTP client's timers do not accept it, so every request would fail.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
