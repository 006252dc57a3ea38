"""Effective settings as rows for people.

For each setting, its value, where that came from and what it means, with secrets masked. ``cli.config`` prints them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr

from turnfold.config.settings import Settings
from turnfold.config.sources import MASK, VARIABLES, LoadedSettings, SettingPath, without_password


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting; ``value`` is ready for JSON and holds no secret."""

    setting: str
    variable: str
    value: Any
    origin: str
    description: str


def _display_value(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return MASK
    if isinstance(value, BaseModel):
        return {name: _display_value(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, dict):
        return {name: _display_value(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return [_display_value(one) for one in value]
    return without_password(str(value)) if isinstance(value, str | Path) else value


def _description(path: SettingPath) -> str:
    group = Settings.model_fields[path[0]]
    if path[1] and isinstance(group.annotation, type) and issubclass(group.annotation, BaseModel):
        return group.annotation.model_fields[path[1]].description or ""
    return group.description or ""


def explain(loaded: LoadedSettings) -> list[SettingRow]:
    """Every setting in the order of its definition."""
    rows = []
    for path, variable in VARIABLES.items():
        group = getattr(loaded.settings, path[0])
        value = _display_value(getattr(group, path[1]) if path[1] else group)
        origin = loaded.origins.get(path)
        rows.append(
            SettingRow(
                setting=".".join(filter(None, path)),
                variable=variable,
                value=value,
                origin=str(origin) if origin else "default",
                description=_description(path),
            )
        )
    return rows
