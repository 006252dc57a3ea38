"""The source roots as parsed modules: names, syntax trees and imports.

The modules are read, never imported: one that breaks a rule may not even import. The rules are in ``architecture``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

ROOTS: Final = ("compression", "config", "proxy")
#: Half of all nodes, of which no rule asks any: they say what is loaded and stored, or hold a value.
_LEAVES: Final = frozenset({ast.Load, ast.Store, ast.Del, ast.Name, ast.Constant, ast.alias})


@dataclass(frozen=True, slots=True)
class Module:
    """A parsed module: its full name, its syntax tree, and whether it is a package's ``__init__``."""

    name: str
    tree: ast.Module
    is_package: bool = False

    @classmethod
    def of(cls, name: str, source: str, *, is_package: bool = False) -> Module:
        """A module from its source text."""
        return cls(name, ast.parse(source), is_package)

    def at(self, node: ast.AST, problem: str) -> str:
        """A finding about a node."""
        return f"{self.name}:{getattr(node, 'lineno', 1)} {problem}"

    def inside(self, package: str) -> bool:
        """Whether the module is the package or lies in it."""
        return self.name == package or self.name.startswith(package + ".")


def read_house(repository: Path) -> list[Module]:
    """All modules of the source roots, ordered by name."""
    found = []
    for root in ROOTS:
        for path in (repository / root).rglob("*.py"):
            parts = path.relative_to(repository / root).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            found.append(Module.of(".".join(parts[:-1] if is_package else parts), path.read_text("utf-8"), is_package=is_package))
    return sorted(found, key=lambda module: module.name)


def imports(module: Module, known: Set[str] = frozenset()) -> Iterator[tuple[ast.AST, str]]:
    """Every import, wherever it stands (under ``TYPE_CHECKING`` and inside functions too), as (node, full name).

    ``from package import name`` gives ``package.name`` where that is one of the `known` modules, else ``package``.
    """
    for node in nodes(module, ast.Import, ast.ImportFrom):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        else:
            base = _absolute(module, node)
            wholes = (f"{base}.{alias.name}" for alias in node.names)
            targets = dict.fromkeys(whole if whole in known or base == "urllib" else base for whole in wholes)
            yield from ((node, target) for target in targets)


def nodes(module: Module, *kinds: type[ast.AST]) -> Iterator[Any]:
    """All nodes of these kinds, one kind after the other, each kind as it stands."""
    for kind in kinds:
        yield from nodes_by_kind(module).get(kind, ())


@cache
def nodes_by_kind(module: Module) -> dict[type, list[Any]]:
    """All nodes but `_LEAVES`: each tree is walked once, and a rule looks at what it asks for."""
    found: dict[type, list[Any]] = {}
    left: list[Any] = [module.tree]
    while left:
        if (kind := type(node := left.pop())) in _LEAVES:
            continue
        found.setdefault(kind, []).append(node)
        for name in kind._fields:
            value = getattr(node, name, None)
            if type(value) is list:
                left += [one for one in reversed(value) if isinstance(one, ast.AST)]
            elif isinstance(value, ast.AST):
                left.append(value)
    return found


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    anchor = parts[: len(parts) - node.level + module.is_package]
    return ".".join([*anchor, *([node.module] if node.module else [])])


def known_names(modules: Sequence[Module]) -> set[str]:
    return {module.name for module in modules}
