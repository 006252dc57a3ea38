"""Every regular expression of ours on hostile input: a repeated piece of what it repeats, then something that does not fit.

Time is compared within a run, small input against larger input, with generous bounds: a pattern that backtracks exponentially,
or in the third power, is found; so is one that takes the second power from one start. All time is processor time: what else the
machine does is of no matter, and pytest's own alarm is left alone.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from types import FrameType
from typing import Any, Final

import turnfold.compression
import turnfold.config
import turnfold.proxy
from tests.support.cases import each

#: Characters of the smaller input, and how much larger the larger one is.
_SIZE: Final = 60
_FACTOR: Final = 4
#: Times as long for four times the input: 16 is quadratic, 64 cubic. Each start of a search may look at all of the rest, and be
#: quadratic itself where the text is short.
_MOST: Final = 100
#: The same from one start, where what is longer is to be linear.
_MATCH_SIZE: Final = 1500
_MOST_OF_A_MATCH: Final = 10
#: Quadratic ones that only see the beginning of a line.
_ON_SHORT_TEXTS: Final = frozenset({"turnfold.compression.text.kinds._MARKS"})
_LEAST: Final = 0.002  # seconds; below, nothing can be told
_HANGS: Final = 5
#: Rounds in which a pattern may show that it does not grow. In one of them somebody else may have had the caches.
_ROUNDS: Final = 7


def _patterns() -> Iterator[tuple[str, re.Pattern[Any]]]:
    seen: set[tuple[str | bytes, int]] = set()
    for package in (turnfold.compression, turnfold.config, turnfold.proxy):
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if found.name.endswith("__main__"):
                continue
            module = importlib.import_module(found.name)
            for name, value in vars(module).items():
                if isinstance(value, re.Pattern) and (value.pattern, value.flags) not in seen:
                    seen.add((value.pattern, value.flags))
                    yield f"{found.name}.{name}", value


def _sample(parsed: Any, ways: int = 0) -> str:
    """A text that a parsed pattern matches, more or less; `ways` picks other branches."""
    out = ""
    for kind, value in parsed:
        if kind is sre.LITERAL:
            out += chr(value)
        elif kind is sre.NOT_LITERAL:
            out += "a" if value != ord("a") else "b"
        elif kind is sre.ANY:
            out += "a"
        elif kind is sre.IN:
            out += _of_class(value, ways)
        elif kind is sre.BRANCH:
            out += _sample(value[1][ways % len(value[1])], ways)
        elif kind is sre.SUBPATTERN:
            out += _sample(value[3], ways)
        elif kind is sre.ATOMIC_GROUP:
            out += _sample(value, ways)
        elif kind in {sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT}:
            out += _sample(value[2], ways) * max(1, min(value[0], 3))
    return out


def _of_class(items: Any, ways: int) -> str:
    kinds = {sre.CATEGORY_DIGIT: "1", sre.CATEGORY_SPACE: " ", sre.CATEGORY_WORD: "a"}
    if items[0][0] is sre.NEGATE:
        taken = {chr(value) for kind, value in items[1:] if kind is sre.LITERAL}
        free: str = next(one for one in ("a1 -"[ways % 4], *"a1 -.x\n") if one not in taken)
        return free
    kind, value = items[ways % len(items)]
    if kind is sre.LITERAL:
        return chr(value)
    return chr(value[0]) if kind is sre.RANGE else kinds.get(value, "-")


def _repeats(parsed: Any) -> Iterator[Any]:
    """All that a pattern repeats without a small bound."""
    for kind, value in parsed:
        if kind in {sre.MAX_REPEAT, sre.MIN_REPEAT}:
            if value[1] > 50:
                yield value[2]
            yield from _repeats(value[2])
        elif kind is sre.POSSESSIVE_REPEAT:
            yield from _repeats(value[2])
        elif kind is sre.BRANCH:
            for branch in value[1]:
                yield from _repeats(branch)
        elif kind is sre.SUBPATTERN:
            yield from _repeats(value[3])
        elif kind is sre.ATOMIC_GROUP:
            yield from _repeats(value)
        elif kind in {sre.ASSERT, sre.ASSERT_NOT}:
            yield from _repeats(value[1])


def _hostile(pattern: re.Pattern[Any]) -> list[tuple[str, str]]:
    """Pieces to repeat, each with what stands in front."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    parsed = sre_parser.parse(text, pattern.flags & ~re.DEBUG)
    head = _sample(parsed)[:40]
    pieces = {_sample(repeat, ways)[:20] for repeat in _repeats(parsed) for ways in range(3)}
    return [(front, piece) for piece in sorted(pieces - {""}) for front in ("", head)]


def _seconds(find: Callable[[Any], object], text: str | bytes) -> float:
    start = time.thread_time()
    find(text)
    return time.thread_time() - start


def _growth(pattern: re.Pattern[Any], piece: tuple[str, str], size: int, most: int, *, once: bool = False) -> float:
    """Times as long as for `size` characters it takes for some times as many; 0 where that is too short to tell.

    Of each text the shortest time counts. It is taken again, in turn, until the two are in proportion or the rounds are over.
    """
    front, repeated = piece
    find = pattern.match if once else pattern.search
    texts: list[Any] = [front + repeated * (length // len(repeated) + 1) + "\x00" for length in (size, _FACTOR * size)]
    if isinstance(pattern.pattern, bytes):
        texts = [text.encode("utf-8", "surrogatepass") for text in texts]
    small = large = float("inf")
    for _ in range(_ROUNDS):
        small, large = (min(least, _seconds(find, text)) for least, text in zip((small, large), texts, strict=True))
        if large <= _LEAST:
            return 0.0
        if large <= most * small:
            break
    return large / max(small, 1e-5)


def _too_long(_: int, __: FrameType | None) -> None:
    raise AssertionError("it takes seconds for a few hundred characters")


@contextmanager
def _alarm() -> Iterator[Callable[[float], None]]:
    """Sets, or with 0 stops, an alarm after so many seconds of processor time."""

    def set_to(seconds: float) -> None:
        signal.setitimer(signal.ITIMER_PROF, seconds)

    before = signal.signal(signal.SIGPROF, _too_long)
    try:
        yield set_to
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def test_no_pattern_explodes() -> None:
    count = 0
    with _alarm() as alarm:
        for name, pattern in _patterns():
            count += 1
            for piece in _hostile(pattern):
                alarm(_HANGS)
                growth = _growth(pattern, piece, _SIZE, _MOST)
                assert growth <= _MOST, f"{name}: {growth:.0f} times as long on {piece[1]!r}"
            alarm(0)  # the import of the next module takes its time
    assert count > 150


def test_no_pattern_is_quadratic_from_one_start() -> None:
    slow = []
    for name, pattern in _patterns():
        for piece in _hostile(pattern) if name not in _ON_SHORT_TEXTS else ():
            growth = _growth(pattern, piece, _MATCH_SIZE, _MOST_OF_A_MATCH, once=True)
            if growth > _MOST_OF_A_MATCH:
                slow.append(f"{name}: {growth:.0f} times as long on {piece[1]!r}")
    assert not slow


@each("bad", [r"(a+)+b", r"(\w+\s?)*:", r"(?:x|xx)+y", r"\d+\d+\d+\d+\d+z"])
def test_what_explodes_is_found(bad: str) -> None:
    pattern = re.compile(bad)
    found = False
    with _alarm() as alarm:
        try:
            for piece in _hostile(pattern):
                alarm(0.3)
                found = found or _growth(pattern, piece, _SIZE, _MOST) > _MOST
        except AssertionError:
            found = True
    assert found
