"""Conversations to measure on.

It reads cases of our own, and evaluation data if it is present.
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
    """The directory of data and tools that are no part of the project: ``EVALUATION_SHARED``, or beside the repository."""
    return Path(os.environ.get("EVALUATION_SHARED") or CASES.parent.parent.parent / "shared")


def shared_directory() -> Path:
    """The directory of evaluation data: in ``EVALUATION_SHARED``, by default beside the repository."""
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
    return list(conversations_by_id(name).values())


def conversations_by_id(name: str) -> dict[str, list[Message]]:
    """The conversations of an evaluation set by id, in the file's order.

    Raises:
        FileNotFoundError: the data is not here.
    """
    seen: dict[str, list[Message]] = {}
    for row in _rows(name, f"{name}.conversations.jsonl", f"{name}.jsonl"):
        seen.setdefault(_id(row), row["messages"])
    return seen


def questions_by_id(name: str) -> dict[str, list[str]]:
    """The questions about each conversation of a set, in the file's order; empty if the set keeps no questions apart."""
    asked: dict[str, list[str]] = {}
    if (shared_directory() / f"{name}.questions.jsonl").exists():
        for row in _rows(name, f"{name}.questions.jsonl"):
            asked.setdefault(_id(row), []).append(row["question"])
    return asked


def set_names() -> list[str]:
    """The names of the evaluation sets that are present, sorted."""
    files = (path.name.removesuffix(".jsonl") for path in shared_directory().glob("*.jsonl"))
    return sorted({name.removesuffix(".conversations") for name in files if not name.endswith(".questions")})


def _id(row: dict[str, Any]) -> str:
    return str(row.get("conversation_id") or row.get("id"))


def _rows(name: str, *files: str) -> Iterator[dict[str, Any]]:
    found = next((path for path in (shared_directory() / file for file in files) if path.exists()), None)
    if found is None:
        raise FileNotFoundError(f"{name} is not in {shared_directory()}; set EVALUATION_SHARED")
    with found.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
