"""The regular expressions of the program, how each is used, and texts that are hostile to it.

It finds them (in tables and tuples too, and those that are compiled when a text first needs them) and derives strings from a
pattern's own parse tree. ``test_patterns.py`` measures and decides.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property, partial
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any, Final, NamedTuple

import turnfold.compression
import turnfold.config
import turnfold.proxy
from turnfold.compression.lazy import LazyPattern

_OURS: Final = "turnfold."
_REPEATS: Final = frozenset({sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT})
_MANY: Final = 50  # what is repeated less often is no repeat
_FRONT: Final = 60  # characters in front of a repeat, at most
_PIECE: Final = 20
#: A pattern and the method of it that is called.
_CALL: Final = re.compile(r"\b(_*[A-Z][A-Z_0-9]*)(?:\(\)|\[\w+\])?\.(search|match|fullmatch|finditer|findall|subn?|split)\b")
_ONCE: Final = frozenset({"match", "fullmatch"})


class Found(NamedTuple):
    """A pattern of the program.

    Attributes:
        name: module and constant.
        once: whether it is only ever tried at one place of a text; else at each.
    """

    name: str
    pattern: re.Pattern[Any]
    once: bool


class Hostile(NamedTuple):
    """A text to be: what stands in front, and what is repeated."""

    front: str
    piece: str

    def text(self, size: int, end: str) -> str:
        return self.front + self.piece * (size // len(self.piece) + 1) + end


@cache
def patterns() -> tuple[Found, ...]:
    """All patterns that the modules of the program hold, each once."""
    uses = _uses(_modules())
    found: dict[tuple[str | bytes, int], Found] = {}
    for module, name, held in _held():
        methods = uses.get((module, name), uses.get(("", name), frozenset()))
        once = bool(methods) and methods <= _ONCE
        pattern = re.compile(held.pattern, held.wanted) if isinstance(held, LazyPattern) else held
        key = (pattern.pattern, pattern.flags)
        first = found.get(key, Found(f"{module}.{name}", pattern, once))
        found[key] = first._replace(once=first.once and once)
    return tuple(found.values())


def expressions() -> dict[tuple[str, int], str]:
    """All expressions of texts with their flags, and the name of the first pattern of each; nothing is compiled for it."""
    found: dict[tuple[str, int], str] = {}
    for module, name, held in _held():
        if isinstance(held.pattern, str):
            flags = int(held.wanted if isinstance(held, LazyPattern) else held.flags) & ~re.UNICODE
            found.setdefault((held.pattern, flags), f"{module}.{name}")
    return found


def _held() -> Iterator[tuple[str, str, re.Pattern[Any] | LazyPattern[Any]]]:
    """Each pattern that a module holds, with the names of the module and of the constant."""
    seen: set[int] = set()
    for module in _modules():
        for name, value in vars(module).items():
            yield from ((module.__name__, name, one) for one in _inside(value, seen))


def _modules() -> list[ModuleType]:
    packages: tuple[ModuleType, ...] = (turnfold.compression, turnfold.config, turnfold.proxy)
    names = (found.name for package in packages for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."))
    return [importlib.import_module(name) for name in names if not name.endswith("__main__")]


def _uses(modules: Iterable[ModuleType]) -> dict[tuple[str, str], frozenset[str]]:
    """The methods that are called of a constant: of a private one in its module, of a public one in all."""
    uses: dict[tuple[str, str], frozenset[str]] = {}
    for module in modules:
        for called in _CALL.finditer(Path(str(module.__file__)).read_text("utf-8")):
            place = (module.__name__ if called[1].startswith("_") else "", called[1])
            uses[place] = uses.get(place, frozenset()) | {called[2]}
    return uses


def _inside(value: Any, seen: set[int]) -> Iterator[re.Pattern[Any] | LazyPattern[Any]]:
    """The patterns in a value: it itself, or what it holds, calls or closes over."""
    if isinstance(value, re.Pattern | LazyPattern):
        yield value
    elif id(value) not in seen:
        seen.add(id(value))
        for part in _parts(value):
            yield from _inside(part, seen)


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, tuple | list | set | frozenset):
        return value
    if isinstance(value, Mapping):
        return (*value, *value.values())
    if isinstance(value, partial | MethodType | BuiltinMethodType | FunctionType):
        return _called_with(value)
    if not (value if isinstance(value, type) else type(value)).__module__.startswith(_OURS):
        return ()
    kinds = () if isinstance(value, type) else type(value).__mro__
    names = {name for kind in kinds for name in (*getattr(kind, "__slots__", ()), *_computed(kind))}
    return (*(getattr(value, name, None) for name in sorted(names)), *getattr(value, "__dict__", {}).values())


def _called_with(value: partial[Any] | MethodType | BuiltinMethodType | FunctionType) -> Iterable[Any]:
    if isinstance(value, partial):
        return (value.func, *value.args, *value.keywords.values())
    if isinstance(value, FunctionType):
        return (*(cell.cell_contents for cell in value.__closure__ or ()), *(value.__defaults__ or ()))
    return (value.__self__,)


def _computed(kind: type) -> Iterator[str]:
    return (name for name, value in vars(kind).items() if isinstance(value, cached_property))


def hostile(pattern: re.Pattern[Any]) -> list[Hostile]:
    """Texts on which a pattern may look at the same characters again and again.

    A piece of what it repeats, many times: alone, where a search begins at each; behind what stands in front of the repeat,
    where one search tries many ways; and together with that, where each search that begins runs on to the end of the text.
    """
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    found: dict[Hostile, None] = {}
    for before, item in _repeats(sre_parser.parse(text, pattern.flags & ~re.DEBUG)):
        front = before[-_FRONT:]
        for piece in {_sample(item, ways)[:_PIECE] for ways in range(3)} - {""}:
            found |= dict.fromkeys((Hostile("", piece), Hostile(front, piece), Hostile("\n" + front, piece)))
            found[Hostile("", front + piece)] = None
            if pattern.flags & re.MULTILINE:
                found[Hostile("", f"\n{front}{piece}")] = None
    return list(found)


def _repeats(parsed: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """All that a pattern repeats without a small bound, each with a text of what stands in front of it."""
    for kind, value in parsed:
        if kind in _REPEATS:
            if value[1] > _MANY:
                yield before, value[2]
            yield from _repeats(value[2], before)
        for part in _groups(kind, value):
            yield from _repeats(part, before)
        before += _sample([(kind, value)])


def _groups(kind: Any, value: Any) -> Iterable[Any]:
    if kind is sre.BRANCH:
        return value[1]  # type: ignore[no-any-return]
    if kind is sre.SUBPATTERN:
        return (value[3],)
    if kind is sre.ATOMIC_GROUP:
        return (value,)
    return (value[1],) if kind in {sre.ASSERT, sre.ASSERT_NOT} else ()


def _sample(parsed: Any, ways: int = 0) -> str:
    """A text that a parsed pattern matches, more or less; `ways` picks other branches."""
    out = ""
    for kind, value in parsed:
        if kind is sre.LITERAL:
            out += chr(value)
        elif kind is sre.NOT_LITERAL:
            out += _other_than({chr(value)}.__contains__, ways)
        elif kind is sre.ANY:
            out += "a"
        elif kind is sre.IN:
            out += _of_class(value, ways)
        elif kind is sre.BRANCH:
            out += _sample(value[1][ways % len(value[1])], ways)
        elif kind in _REPEATS:
            out += _sample(value[2], ways) * min(value[0], 3) or _sample(value[2], ways) * (ways > 0)
        elif kind in {sre.SUBPATTERN, sre.ATOMIC_GROUP}:
            out += "".join(_sample(part, ways) for part in _groups(kind, value))
    return out


def _of_class(items: Any, ways: int) -> str:
    if items[0][0] is sre.NEGATE:
        negated = re.compile(f"[{''.join(map(_as_source, items[1:]))}]")
        return _other_than(negated.match, ways)
    kind, value = items[ways % len(items)]
    if kind is sre.LITERAL:
        return chr(value)
    return chr(value[0]) if kind is sre.RANGE else _OF_CATEGORY.get(value, "-")


def _other_than(is_left_out: Callable[[str], object], ways: int) -> str:
    return next((sign for sign in ("a1 -"[ways % 4], *"a1 -.x\n(:") if not is_left_out(sign)), "一")


_OF_CATEGORY: Final = {
    sre.CATEGORY_DIGIT: "1",
    sre.CATEGORY_SPACE: " ",
    sre.CATEGORY_WORD: "a",
    sre.CATEGORY_NOT_SPACE: "a",
    sre.CATEGORY_NOT_DIGIT: "a",
}
_SOURCES: Final = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_NOT_WORD: r"\W",
}


def _as_source(item: tuple[Any, Any]) -> str:
    kind, value = item
    if kind is sre.LITERAL:
        return re.escape(chr(value))
    return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}" if kind is sre.RANGE else _SOURCES[value]
