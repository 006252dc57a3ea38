"""Which tests run which part of the code, and how long each takes.

It is a plugin of pytest that records the map, the map itself, and the choice of tests for a mutation. `mutation_runs.py` runs
them.

Every block of a function (its body, the branch of a condition, the body of a loop) says when it begins to run: a call that adds
its number to a set is put in front of it while its module is loaded. That costs the suite a few hundredths; tracing its lines
more than doubles it. What runs in other processes is not seen; which tests start a Python is.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import importlib.machinery
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.support.import_uses import uses
from benchmarks.support.mutants import ROOT, SOURCES, Mutation

#: Where the map goes; the plugin records when it is set.
OUTPUT: Final = "MUTATIONS_MAP"
#: After so many minutes no other test is begun; the map then has the tests that ran.
MINUTES: Final = "MUTATIONS_MAP_MINUTES"
_RAN: Final = "__turnfold_ran__"
_USUAL: Final = 0.2  # seconds


@dataclass(frozen=True, slots=True)
class TestMap:
    """Which tests run which block.

    Attributes:
        tests: their ids and seconds; only tests that passed.
        blocks: for each path the first and last line of each block, and the places of its tests in `tests`.
        sources: of each path, as they were; lines of a file that has changed since are looked up where they stood then.
        starting: the places of the tests of files that start a Python of their own, which may run any block.
    """

    __test__ = False

    tests: list[tuple[str, float]]
    blocks: dict[str, list[tuple[int, int, list[int]]]]
    sources: dict[str, str]
    starting: list[int]

    @classmethod
    def read(cls, paths: Sequence[Path]) -> TestMap:
        """Read a map that was made in one or more portions of the same tree; a test that several have counts once."""
        tests, starting = dict[str, float](), set[str]()
        blocks: dict[str, dict[tuple[int, int], set[str]]] = {}
        sources: dict[str, str] = {}
        for path in paths:
            part = cls(**json.loads(path.read_text("utf-8")))
            names = [name for name, _ in part.tests]
            tests |= dict(part.tests)
            starting |= {names[place] for place in part.starting}
            sources |= part.sources
            for source, found in part.blocks.items():
                here = blocks.setdefault(source, {})
                for first, last, ran in found:
                    here.setdefault((first, last), set()).update(names[place] for place in ran)
        places = {name: place for place, name in enumerate(tests)}
        return cls(
            [*tests.items()],
            {path: [(*ends, sorted(places[one] for one in ran)) for ends, ran in some.items()] for path, some in blocks.items()},
            sources,
            sorted(places[one] for one in starting),
        )

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), "utf-8")

    def is_run(self, mutation: Mutation) -> bool:
        """Whether a test runs its block; what none runs may have run at import."""
        return bool(self._around(mutation.path, self._line_then(mutation)))

    def tests_of(self, mutation: Mutation) -> list[int]:
        """The tests that run its block; for what runs at import, or may have, those that run a block that uses it, or else all of
        its file and of its room."""
        line = self._line_then(mutation)
        if around := self._around(mutation.path, line):
            return around
        before = {mutation.path: (ROOT / mutation.path).read_text("utf-8"), **self.sources}
        used = [self._around(*place) or [] for place in uses(mutation.path, line, before)]
        room = {place for place, (name, _) in enumerate(self.tests) if name.startswith(f"tests/{mutation.room}/")}
        return sorted({*chain(*used)} or {test for block in self.blocks.get(mutation.path, []) for test in block[2]} | room)

    def _around(self, path: str, line: int) -> list[int] | None:
        """The tests that run the innermost block with a line; None outside of all."""
        around = [block for block in self.blocks.get(path, []) if block[0] <= line <= block[1]]
        return min(around, key=lambda block: block[1] - block[0])[2] if around else None

    def _line_then(self, mutation: Mutation) -> int:
        """The number that its line had when the map was made; of a new line that of the one before it."""
        source = (ROOT / mutation.path).read_text("utf-8")
        if source == (before := self.sources.get(mutation.path, source)):
            return mutation.line
        at = mutation.line - 1
        for _, start, end, new_start, new_end in difflib.SequenceMatcher(
            None, before.splitlines(), source.splitlines(), autojunk=False
        ).get_opcodes():
            if new_start <= at < new_end:
                return 1 + min(start + at - new_start, max(start, end - 1))
        return mutation.line

    def choices(self, mutation: Mutation, seconds: float, new: Sequence[str] = ()) -> Iterator[list[str]]:
        """The tests to run: those of its room, then the others; each list as long as it takes `seconds` without a change.

        Args:
            new: tests that the map does not have. Those of the room run too, as if each took a usual time.
        """
        found = self.tests_of(mutation)
        folder = f"tests/{mutation.room}/"
        near = [one for one in found if self.tests[one][0].startswith(folder)]
        unknown = [name for name in new if name.startswith(folder)][: int(seconds / _USUAL)]
        if chosen := self._in_time(near, seconds) + unknown:
            yield chosen
        if chosen := self._in_time(sorted({*found} - {*near}), seconds):
            yield chosen

    def all_choices(self, mutation: Mutation, new: Sequence[str] = ()) -> Iterator[list[str]]:
        """Every test that may notice: all of its room, the others that run its block, those that the map does not have, and
        those that start a Python; what runs the block comes first, the quickest of it at the head."""
        running = sorted(self.tests_of(mutation), key=lambda one: self.tests[one][1])
        places = dict.fromkeys([*running, *self.starting, *range(len(self.tests))])
        may_run = {*running, *self.starting}
        known = [(self.tests[one][0], one in may_run) for one in places]
        folder = f"tests/{mutation.room}/"
        listed = [*((name, True) for name in new), *known]
        if chosen := [name for name, _ in listed if name.startswith(folder)]:
            yield chosen
        if chosen := [name for name, runs in listed if runs and not name.startswith(folder)]:
            yield chosen

    def seconds(self, names: Iterable[str]) -> float:
        durations = dict(self.tests)
        return sum(durations.get(name, _USUAL) for name in names)

    def _in_time(self, found: Sequence[int], seconds: float) -> list[str]:
        """The quickest case of every test function, then the other cases, the quickest first, until the time is over."""
        quickest: dict[str, int] = {}
        for one in sorted(found, key=lambda one: self.tests[one][1]):
            quickest.setdefault(self.tests[one][0].partition("[")[0], one)
        first, chosen = {*quickest.values()}, list[str]()
        for one in sorted(found, key=lambda one: (one not in first, self.tests[one][1])):
            if (seconds := seconds - self.tests[one][1]) >= 0:
                chosen.append(self.tests[one][0])
            elif one not in first:
                break
        return chosen


# ---------------------------------------------------------------- the plugin


class Recorder:
    """Notes which blocks run while a test does."""

    def __init__(self, output: Path, minutes: float) -> None:
        self._output, self._until = output, time.monotonic() + 60 * minutes
        self._seconds, self._failed = dict[str, float](), set[str]()
        self._tests: dict[str, list[int]] = {}
        self._blocks: list[tuple[str, int, int]] = []
        self._ran: set[int] = set()
        self._test, self._starting = "", set[str]()
        sys.addaudithook(self._heard)
        setattr(builtins, _RAN, self._ran.add)
        sys.pycache_prefix = str(ROOT / "marked")  # other processes of the tests must not read what is marked here
        _on_load(self._with_marks)

    def _with_marks(self, path: str, tree: ast.Module) -> None:
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for body in _bodies(function):
                    self._mark(path, body)

    def _mark(self, path: str, body: list[ast.stmt]) -> None:
        docstring = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
        if docstring and len(body) == 1:
            return
        first = body[int(docstring)]
        call = ast.Expr(ast.Call(ast.Name(_RAN, ast.Load()), [ast.Constant(len(self._blocks))], []))
        ast.copy_location(call, first)
        ast.fix_missing_locations(call)
        body.insert(int(docstring), call)
        self._blocks.append((path, first.lineno, body[-1].end_lineno or body[-1].lineno))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._ran.clear()
        self._test = item.nodeid
        try:
            return (yield)
        finally:
            self._tests[item.nodeid] = sorted(self._ran)
            if time.monotonic() > self._until:
                item.session.shouldstop = "the time is over"

    def _heard(self, event: str, details: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen" and ("python" in str(details[:2]) or "turnfold" in str(details[:2])):
            self._starting.add(_file_of(self._test))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration
        if not report.passed:
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        names = [name for name in self._tests if name not in self._failed]
        of_block: dict[int, list[int]] = {}
        for place, name in enumerate(names):
            for block in self._tests[name]:
                of_block.setdefault(block, []).append(place)
        blocks: dict[str, list[tuple[int, int, list[int]]]] = {}
        for number, (path, first, last) in enumerate(self._blocks):
            blocks.setdefault(path, []).append((first, last, of_block.get(number, [])))
        tests = [(name, round(self._seconds.get(name, 0.0), 4)) for name in names]
        starting = [place for place, name in enumerate(names) if _file_of(name) in self._starting]
        TestMap(tests, blocks, {path: (ROOT / path).read_text("utf-8") for path in blocks}, starting).write(self._output)


def _file_of(test: str) -> str:
    return test.partition("::")[0]


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of a function, without those of functions in it."""
    for name in ("body", "orelse", "finalbody"):
        body = getattr(node, name, None)
        if isinstance(body, list) and body:
            yield body
            for child in [*body]:
                if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    yield from _bodies(child)
    for child in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
        yield from _bodies(child)


def _on_load(change: Any) -> None:
    """Call `change(path, tree)` for every module of ours before it is compiled."""
    usual = importlib.machinery.SourceFileLoader.source_to_code
    folders = tuple(str(ROOT / name) + os.sep for name in SOURCES)

    def source_to_code(self: Any, data: Any, path: Any, **options: Any) -> Any:
        if str(path).startswith(folders):
            data = ast.parse(data)
            change(str(Path(path).relative_to(ROOT)), data)
        return usual(self, data, path, **options)

    importlib.machinery.SourceFileLoader.source_to_code = source_to_code  # type: ignore[method-assign]


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """The first hook of all: `pytest_configure` comes after the conftests, which import what is to be recorded."""
    if path := os.environ.get(OUTPUT):
        pluginmanager.register(Recorder(Path(path), float(os.environ[MINUTES])))
