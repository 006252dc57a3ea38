"""Every setting with what holds by default and what it may be (``tests.support.golden`` says when to write the file anew)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support import golden
from turnfold.config.settings import Settings

FILES = Path(__file__).parent / "golden"
_PROSE = frozenset({"description", "title"})


def told(name: str, schema: dict[str, Any]) -> Iterator[str]:
    for key, one in schema.get("properties", {}).items():
        kept = {word: value for word, value in one.items() if word not in _PROSE}
        yield f"{name}.{key} {json.dumps(kept, sort_keys=True)}"


def test_settings() -> None:
    schema = Settings.model_json_schema()
    groups = {"Settings": schema, **schema["$defs"]}
    golden.agrees(FILES / "settings.txt", [line for name, one in groups.items() for line in told(name, one)])
