"""The documentation's table of settings, made from the settings' own descriptions.

    python -m tests.support.readme        # what `make docs` runs: writes the table anew

It makes the table, puts it into its page, and lists the pages. It knows nothing of any single setting.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from turnfold.config.settings import Settings
from turnfold.config.sources import VARIABLES

README: Final = Path(__file__).resolve().parent.parent.parent / "README.md"
PAGES: Final = (README, *sorted((README.parent / "docs").rglob("*.md")))
_SETTINGS: Final = README.parent / "docs" / "configuration.md"
_TABLE: Final = re.compile(r"(<!-- settings:[^\n]*-->\n).*?(<!-- /settings -->)", re.DOTALL)


def settings_table() -> str:
    """Markdown: a row for each setting, in the settings' order, a heading row for each group with its table in the file."""
    rows = ["| variable | default | meaning |", "|---|---|---|"]
    seen = ""
    for (group, name), variable in VARIABLES.items():
        info = _field(group, name)
        if group != seen:
            rows.append(f"| **{_summary(group) if name else group.capitalize()}** | | `[{group}]` |")
            seen = group
        meaning = (info.description or "").replace("|", "\\|")
        rows.append(f"| `{variable}` | {_default(info)} | {meaning} |")
    return "\n".join(rows) + "\n"


def _field(group: str, name: str) -> FieldInfo:
    whole = Settings.model_fields[group]
    return _model(whole).model_fields[name] if name else whole


def _model(info: FieldInfo) -> type[BaseModel]:
    if not (isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel)):
        raise TypeError(f"{info.annotation} is no group of settings")
    return info.annotation


def _summary(group: str) -> str:
    return (_model(Settings.model_fields[group]).__doc__ or group).strip().splitlines()[0].rstrip(".")


def _default(info: FieldInfo) -> str:
    value = info.get_default(call_default_factory=True)
    if value is None or isinstance(value, SecretStr) or (isinstance(value, (tuple, dict)) and not value):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def settings_page() -> str:
    """The page with the table, as it is."""
    return _SETTINGS.read_text("utf-8")


def with_table(page: str) -> str:
    """A page with the table of now.

    Raises:
        ValueError: it has no place for one.
    """
    if not _TABLE.search(page):
        raise ValueError("the page has no <!-- settings: ... --> block")
    return _TABLE.sub(lambda match: f"{match[1]}{settings_table()}{match[2]}", page)


if __name__ == "__main__":
    _SETTINGS.write_text(with_table(settings_page()), "utf-8")
