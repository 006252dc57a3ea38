"""What the API takes and gives: every path, parameter, default and limit (``tests.support.golden`` says when to write anew)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.proxy.harness import ProxyServer, call
from tests.support import golden

FILES = Path(__file__).parent / "golden"
_PROSE = frozenset({"description", "summary", "title"})
_EXAMPLES = frozenset({"example", "examples", "operationId"})


def bare(value: Any) -> Any:
    """Without words that may be put better at any time."""
    if isinstance(value, dict):
        kept = {name: one for name, one in value.items() if name not in _EXAMPLES}
        return {name: bare(one) for name, one in kept.items() if not (name in _PROSE and isinstance(one, str))}
    return list(map(bare, value)) if isinstance(value, list) else value


def short(value: Any) -> str:
    """As JSON without marks that tell nothing."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).replace('"', "")


def test_the_api(proxy: ProxyServer) -> None:
    found = bare(json.loads(call(proxy.origin, "GET", "/openapi.json").body))
    lines = []
    for path, methods in found["paths"].items():
        lines += [f"{method.upper()} {path} {short(one)}" for method, one in methods.items()]
    lines += [f"{name} {short(one)}" for name, one in found["components"]["schemas"].items()]
    golden.agrees(FILES / "api.txt", lines)
