"""Where the code uses what a line gives a name at import.

It finds the names that a line binds at import and the lines in functions that use them, through other names if need be. Which
tests run those lines is known to `test_map.py`.

Names are compared as they are written, within the modules that import the one that binds them. That finds a few lines too many
(another class's field of the same name), hardly one too few.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import PurePosixPath

#: A file and a line of it.
Place = tuple[str, int]


def uses(path: str, line: int, sources: Mapping[str, str]) -> set[Place]:
    """The lines in functions that use what a line binds at import: by its own name, or by names that are made of it.

    Args:
        path, line: of something that runs at import.
        sources: all files that may use it.
    """
    waiting = [(path, name) for name in _bound(_tree(sources[path]), line)]
    seen, found = set(waiting), set[Place]()
    while waiting:
        owner, name = waiting.pop()
        for user in (owner, *_importers(owner, sources)):
            for at, binds in _mentions(_tree(sources[user]), name):
                found |= set() if binds else {(user, at)}
                new = {(user, other) for other in binds} - seen
                seen |= new
                waiting += new
    return found


@cache
def _tree(source: str) -> ast.Module:
    return ast.parse(source)


def _bound(tree: ast.Module, line: int) -> list[str]:
    """The names that a line helps to bind: of a class's field its own, else that of the class; of a function's head its own."""
    for node in tree.body:
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            inner = [one for one in getattr(node, "body", []) if one.lineno <= line <= (one.end_lineno or one.lineno)]
            return _names(inner[0]) if isinstance(node, ast.ClassDef) and inner else _names(node)
    return []


def _names(node: ast.stmt) -> list[str]:
    match node:
        case ast.Assign(targets=targets):
            return [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            return [name]
    return []


def _importers(path: str, sources: Mapping[str, str]) -> Iterator[str]:
    """Other files that name the module when they import."""
    module = PurePosixPath(path)
    name = module.parent.name if module.stem == "__init__" else module.stem
    for other, source in sources.items():
        if other != path and name in source and name in _imported(source):
            yield other


@cache
def _imported(source: str) -> frozenset[str]:
    """Every part of every name behind "import" and "from"."""
    found = set[str]()
    for node in ast.walk(_tree(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {part for one in node.names for part in one.name.split(".")}
            found |= {*(node.module or "").split(".")} if isinstance(node, ast.ImportFrom) else set()
    return frozenset(found)


def _mentions(tree: ast.Module, name: str) -> Iterator[tuple[int, list[str]]]:
    """Lines that read a name, and what they bind if they run at import."""
    for statement in tree.body:
        for node, inside in _nodes(statement, False):
            named = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            if named == name and isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                yield node.lineno, [] if inside else _bound(tree, node.lineno)


def _nodes(node: ast.AST, inside: bool) -> Iterator[tuple[ast.AST, bool]]:
    """Every node, and whether it stands in the body of a function."""
    yield node, inside
    body = {id(one) for one in node.body} if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else set[int]()
    for child in ast.iter_child_nodes(node):
        yield from _nodes(child, inside or id(child) in body)
