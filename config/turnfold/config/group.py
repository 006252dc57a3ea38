"""What every group of settings is built on.

Lives here: the base class. Does not belong here: any setting.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class SettingsGroup(BaseModel):
    """Settings that are given together. A name that is none is refused, and nothing changes once the process runs.

    Infinity is refused too: no timer of the HTTP client takes it, so every request would fail.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
