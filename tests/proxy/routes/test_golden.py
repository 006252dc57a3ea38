"""What the API takes and gives: every path, parameter, default and limit (``tests.support.golden`` says when to write anew)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.proxy.harness import ProxyServer, call
from tests.support import golden
from turnfold.proxy.routes.docs_page import page

FILES = Path(__file__).parent / "golden"
_PROSE = frozenset({"description", "summary", "title"})
_EXAMPLES = frozenset({"example", "examples"})


def bare(value: Any) -> Any:
    """Without words that may be put better at any time."""
    if isinstance(value, dict):
        kept = {name: one for name, one in value.items() if name not in _EXAMPLES | {"operationId"}}
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


def wordless(value: Any) -> Any:
    """With a dash for words that may be put better at any time."""
    if isinstance(value, dict):
        return {name: "-" if name in _PROSE and isinstance(one, str) else wordless(one) for name, one in value.items()}
    return list(map(wordless, value)) if isinstance(value, list) else value


def test_the_page(proxy: ProxyServer) -> None:
    """Of each call a name for the whole of its HTML; the page's head and one call in full."""
    made = page(wordless(json.loads(call(proxy.origin, "GET", "/openapi.json").body))).replace("><", ">\n<")
    head, *calls = made.split("<details ")
    lines = [re.sub(r"<h1>Turnfold API [\w.]+", "<h1>Turnfold API #", head)]
    lines += [f"{one.partition('>')[0]} {golden.name_of(one)}" for one in calls]
    lines.append(next(one for one in calls if "/v1/conversation/{" in one))
    golden.agrees(FILES / "page.txt", "\n".join(lines).splitlines())


def examples(value: Any, place: str = "") -> Iterator[str]:
    """Every example in a document, with its place; whole, since readers copy them."""
    if isinstance(value, dict):
        for name, one in value.items():
            if name in _EXAMPLES:
                yield f"{place} {json.dumps(one, ensure_ascii=False)}"
            else:
                yield from examples(one, f"{place}/{name}")
    for number, one in enumerate(value if isinstance(value, list) else ()):
        yield from examples(one, f"{place}/{number}")


def test_the_examples(proxy: ProxyServer) -> None:
    document = json.loads(call(proxy.origin, "GET", "/openapi.json").body)
    shown = list(examples(document["paths"]))
    errors = {line.partition("/responses/")[2] for line in shown if "invalid_request_error" in line or "api_error" in line}
    answers = [line for line in shown if line.partition("/responses/")[2] not in errors]
    golden.agrees(FILES / "examples.txt", [*answers, *sorted(errors)])
