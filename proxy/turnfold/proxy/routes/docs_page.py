"""``GET /docs``: the API's document as a page.

This module turns the document into HTML, with the page's style. What is described comes from ``openapi``.

The page is made here because the usual renderers weigh 0.9 MB of script and need inline styles. This one has no script, loads
nothing from elsewhere, and keeps to the strictest content security policy.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --ink: #1a7f5a; }
@media (prefers-color-scheme: dark) { :root { --ink: #5fd0b8; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1.5rem; }
nav { display: flex; flex-wrap: wrap; gap: 0 1rem; } a { color: var(--ink); }
h2 { margin: 2.5rem 0 .2rem; } details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; }
summary { padding: .5rem .8rem; cursor: pointer; } summary code { font-weight: 600; overflow-wrap: anywhere; }
details > div { padding: 0 .8rem .8rem; }
.verb { display: inline-block; min-width: 4.2rem; color: var(--ink); font: 600 13px ui-monospace, monospace; }
.say { opacity: .75; } pre { background: var(--soft); padding: .7rem; border-radius: 6px; overflow-x: auto; font-size: 13px; }
table { border-collapse: collapse; width: 100%; } td { border-top: 1px solid var(--line); padding: .3rem .6rem .3rem 0;
vertical-align: top; overflow-wrap: anywhere; } td { min-width: 5rem; } h4 { margin: 1rem 0 .2rem; }
""".strip()


def page(document: Mapping[str, Any]) -> str:
    """The document as HTML."""
    info = document["info"]
    by_tag: dict[str, list[str]] = {tag["name"]: [] for tag in document["tags"]}
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            by_tag[call["tags"][0]].append("".join(_call(method, path, call, document)))
    about = {tag["name"]: tag["description"] for tag in document["tags"]}
    links = "".join(f'<a href="#{_anchor(tag)}">{escape(tag)}</a>' for tag in by_tag)
    parts = "".join(
        f'<h2 id="{_anchor(tag)}">{escape(tag)}</h2><p class="say">{escape(about[tag])}</p>{"".join(calls)}'
        for tag, calls in by_tag.items()
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Turnfold API</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="admin/assets/icon.svg"><link rel="stylesheet" href="docs/style.css"></head>'
        f"<body><h1>Turnfold API {escape(info['version'])}</h1><p>{escape(info['description'])} The same for programs: "
        f'<a href="openapi.json">openapi.json</a>.</p><nav>{links}</nav>{parts}</body></html>'
    )


def _anchor(tag: str) -> str:
    return tag.lower().replace(" ", "-")


def _call(method: str, path: str, call: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    yield f'<details id="{escape(call["operationId"])}"><summary><span class="verb">{method.upper()}</span>'
    yield f' <code>{escape(path)}</code> <span class="say">{escape(call["summary"])}</span></summary><div>'
    if "description" in call:
        yield f"<p>{escape(call['description'])}</p>"
    yield f"<p class=say>{escape(_access(call))}</p>"
    if call["parameters"]:
        yield "<h4>Parameters</h4>"
        rows = ((p["name"], f"{p['in']}, {_kind(p['schema'])}", p["description"]) for p in call["parameters"])
        yield from _table(rows)
    if "requestBody" in call:
        yield "<h4>Request</h4>"
        yield from _content(call["requestBody"]["content"], document)
    for status, answer in call["responses"].items():
        if status == "200":
            yield "<h4>Answer (200)</h4>"
            yield from _content(answer["content"], document)
            yield from _table((name, "header", about["description"]) for name, about in answer.get("headers", {}).items())
    errors = {status: answer for status, answer in call["responses"].items() if status != "200"}
    if errors:
        yield "<h4>Errors</h4>"
        yield from _table((status, answer["description"], _message(answer)) for status, answer in errors.items())
    yield "</div></details>"


def _access(call: Mapping[str, Any]) -> str:
    names = {name for way in call["security"] for name in way}
    if "admin" in names:
        return "Needs the admin token: Authorization: Bearer, or x-turnfold-admin-token."
    return "Authorization: Bearer identifies the tenant." if names else "Needs no credential."


def _message(answer: Mapping[str, Any]) -> str:
    for content in answer.get("content", {}).values():
        if "example" in content:
            error = content["example"]["error"]
            return str(error.get("code", error["type"]))
    return ""


def _content(content: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    for kind, described in content.items():
        schema = _resolved(described.get("schema", {}), document)
        yield f"<p><code>{escape(kind)}</code> {escape(schema.get('description', ''))}</p>"
        fields = schema.get("properties", {})
        required = set(schema.get("required", ()))
        yield from _table(
            (name, _kind(field) + (", required" if name in required else ""), field.get("description", ""))
            for name, field in fields.items()
        )
        if "example" in described:
            example = described["example"]
            shown = example if isinstance(example, str) else json.dumps(example, indent=2, ensure_ascii=False)
            yield f"<pre>{escape(shown)}</pre>"


def _resolved(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    found: Mapping[str, Any] = document["components"]["schemas"][name] if name else schema
    return found


def _kind(schema: Mapping[str, Any]) -> str:
    """A schema's type in words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_kind, schema["anyOf"])))
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "const" in schema:
        return str(schema["const"])
    kind = str(schema.get("type", "any"))
    return f"array of {_kind(schema['items'])}" if kind == "array" and "items" in schema else kind


def _table(rows: Any) -> Iterator[str]:
    lines = ["".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows]
    if lines:
        yield "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def docs_routes(document: Callable[[], Mapping[str, Any]]) -> list[Route]:
    """The page and its style; they need no credential. The page is made when first asked for, in a thread, as the document is."""
    html, style = functools.cache(lambda: page(document()).encode()), _STYLE.encode()

    def get_page(_: Request) -> Response:
        return Response(html(), media_type="text/html")

    async def get_style(_: Request) -> Response:
        return Response(style, media_type="text/css")

    return [Route("/docs", get_page, methods=["GET"]), Route("/docs/style.css", get_style, methods=["GET"])]
