"""The commands and their options with what holds by default (``tests.support.golden`` says when to write the file anew)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

from tests.support import golden
from turnfold.proxy.cli import COMMANDS

FILES = Path(__file__).parent / "golden"


def options(function: Callable[..., Any]) -> Iterator[str]:
    """Each parameter with the names, bounds and switches that its declaration gives."""
    hints = get_type_hints(function, include_extras=True)
    for name, one in inspect.signature(function).parameters.items():
        declared = vars(hints[name].__metadata__[0]) if hasattr(hints[name], "__metadata__") else {}
        if isinstance(first := declared.get("default"), str):  # in an annotation, typer keeps the first name there
            declared = {**declared, "param_decls": (first, *declared["param_decls"])}
        kept = {key: declared.get(key) for key in ("param_decls", "min", "max", "envvar", "hidden", "is_flag", "count")}
        said = ", ".join(f"{key} {value}" for key, value in kept.items() if value not in (None, False, ()))
        yield f"  {name}: {'required' if one.default is one.empty else repr(one.default)} {said}".rstrip()


def test_options() -> None:
    lines = []
    for name, command in COMMANDS.items():
        module, _, function = command.home.partition(":")
        lines += [name, *options(getattr(import_module(f"turnfold.proxy.cli.{module}"), function))]
    golden.agrees(FILES / "options.txt", lines)
