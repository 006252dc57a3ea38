"""The base class of every group of settings."""

from __future__ import annotations

import re
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator

_NUMBER: Final = re.compile(r"\b(?:int|float)\b")


class SettingsGroup(BaseModel):
    """Settings of one table. Unknown names are refused, and values are frozen.

    Infinity is refused too: the HTTP client's timers do not accept it, so every request would fail.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _check_kind(cls, value: Any, info: ValidationInfo) -> Any:
        """Pydantic takes true for 1: ``budget = true`` would be a budget of one token."""
        if isinstance(value, bool) and _NUMBER.search(str(cls.model_fields[info.field_name or ""].annotation)):
            raise ValueError("must be a number")
        return value
