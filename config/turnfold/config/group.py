"""What every group of settings is built on.

Lives here: the base class. Does not belong here: any setting.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class SettingsGroup(BaseModel):
    """Settings that are given together. A name that is none is refused, and nothing changes once the process runs."""

    model_config = ConfigDict(extra="forbid", frozen=True)
