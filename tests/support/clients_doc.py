"""The recipes of docs/clients.md.

It only finds them; tests run them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

CLIENTS: Final = Path(__file__).resolve().parent.parent.parent / "docs" / "clients.md"
#: The address in every recipe.
ADDRESS: Final = "http://127.0.0.1:8420"
_RECIPE: Final = re.compile(r"<!-- recipe: ([\w-]+) -->\n```(sh|python)\n(.*?)```", re.DOTALL)


def recipes(language: str) -> dict[str, str]:
    """The code of the recipes in a language, by name."""
    return {name: code for name, found, code in _RECIPE.findall(CLIENTS.read_text("utf-8")) if found == language}
