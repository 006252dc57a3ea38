"""Conversations to measure on.

Lives here: reading cases of our own, and evaluation data where it is present. Must not: measuring.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from turnfold.compression.tokens import encoding

Message = dict[str, Any]

CASES: Final = Path(__file__).resolve().parent.parent / "cases"


def shared_root() -> Path:
    """The directory of data and tools that are no part of the project: ``TURNFOLD_SHARED``, by default beside the repository."""
    return Path(os.environ.get("TURNFOLD_SHARED") or CASES.parent.parent.parent / "shared")


def shared() -> Path:
    """The directory of evaluation data: in ``TURNFOLD_SHARED``, by default beside the repository."""
    return shared_root() / "data" / "eval"


def evalkit(outside: Path | None = None) -> ModuleType:
    """The evaluation kit that comes with the data, as a module; it counts with our vocabulary, as its own would be downloaded.

    Raises:
        FileNotFoundError: it is not here.
    """
    path = (outside or shared_root()) / "tools" / "evalkit.py"
    spec = importlib.util.spec_from_file_location("evalkit", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    vars(module)["_enc"] = encoding("o200k_base")
    return module


def own_cases(kind: str) -> list[dict[str, Any]]:
    """Cases of our own of one kind (a folder under ``cases``), ordered by name."""
    return [json.loads(path.read_text("utf-8")) | {"name": path.stem} for path in sorted((CASES / kind).glob("*.json"))]


def conversations(name: str) -> list[list[Message]]:
    """The conversations of an evaluation set, each once, in the file's order.

    Raises:
        FileNotFoundError: the data is not here.
    """
    seen: dict[str, list[Message]] = {}
    for row in _rows(name):
        seen.setdefault(str(row.get("conversation_id") or row.get("id")), row["messages"])
    return list(seen.values())


def _rows(name: str) -> Iterator[dict[str, Any]]:
    names = (f"{name}.conversations.jsonl", f"{name}.jsonl")
    found = next((path for path in (shared() / one for one in names) if path.exists()), None)
    if found is None:
        raise FileNotFoundError(f"{name} is not in {shared()}; set TURNFOLD_SHARED")
    with found.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
