"""Regular expressions that are compiled when a text first needs them.

The stand-in for a compiled pattern, and what the first releases of Python 3.11 need. Patterns are defined where they are used.

The engine has about a thousand patterns. Compiling them all takes a third of a start, while small requests use a tenth of them
and a conversation a fifth to a half.
"""

from __future__ import annotations

import re
import sys
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any, AnyStr, Final, Generic, cast

_METHODS: Final = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn")
_VALUES: Final = ("flags", "groups", "groupindex")
#: Up to Python 3.11.4, which Debian 12 has, ``(?:\w+\s)*+\d`` does not match "ab cd 1" (CPython issue 106052).
_HAS_FAULTY_REPEATS: Final = sys.version_info < (3, 11, 5)


class LazyPattern(Generic[AnyStr]):
    """Has the methods and values of an `re.Pattern`. After the first use, the methods are those of the compiled pattern itself.

    Args:
        pattern: the expression.
        wanted: flags, as for `re.compile`.
    """

    __slots__ = (*_METHODS, *_VALUES, "pattern", "wanted")

    def __init__(self, pattern: AnyStr, wanted: int | re.RegexFlag = 0) -> None:
        self.pattern: AnyStr = pattern
        self.wanted = wanted

    def __getattr__(self, name: str) -> Any:  # Python asks only while a slot is empty
        if name not in self.__slots__:
            raise AttributeError(f"a pattern has no {name!r}")
        compiled = (compile_without_possessive if _HAS_FAULTY_REPEATS else re.compile)(self.pattern, self.wanted)
        for each in (*_METHODS, *_VALUES):
            setattr(self, each, getattr(compiled, each))
        return getattr(compiled, name)

    def __repr__(self) -> str:
        return f"lazy.pattern({self.pattern!r})"


def pattern(expression: AnyStr, flags: int | re.RegexFlag = 0) -> re.Pattern[AnyStr]:
    """A pattern that is compiled at its first use.

    It is no instance of `re.Pattern`, so use its methods rather than the functions of `re`.

    Raises:
        re.error: at the first use, if the expression is faulty.
    """
    return cast("re.Pattern[AnyStr]", LazyPattern(expression, flags))


def compile_without_possessive(expression: AnyStr, flags: int | re.RegexFlag = 0) -> re.Pattern[AnyStr]:
    """A pattern that matches what the expression does, with an atomic group around a greedy repeat for each possessive repeat."""
    tree = _parser.parse(expression, int(flags))
    _replace_possessive(tree)
    return cast("re.Pattern[AnyStr]", _compiler.compile(tree, int(flags)))


def _replace_possessive(tree: Any) -> None:
    for place, (code, value) in enumerate(tree.data):
        inside = [value]
        while inside:
            part = inside.pop()
            if isinstance(part, _parser.SubPattern):
                _replace_possessive(part)
            elif isinstance(part, (tuple, list)):
                inside += part
        if code is _constants.POSSESSIVE_REPEAT:
            greedy = _parser.SubPattern(tree.state, [(_constants.MAX_REPEAT, value)])
            tree.data[place] = (_constants.ATOMIC_GROUP, greedy)
