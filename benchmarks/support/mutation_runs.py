"""Tests over mutations: a plugin of pytest that collects all tests once, and tries every mutation in a copy of its process.

It makes a change in a running process and runs chosen tests over it. The changes come from `mutants.py`, the tests from
`test_map.py`, the score from `benchmarks/mutations.py`.

A process that has imported and collected everything is forked. In the copy the changed function gets its new code, and the
chosen tests run until one fails. So a mutation costs what its tests cost. What runs at import can't be changed that way: there
a new pytest reads the changed file. The file is changed in both cases, for tests that start processes. What functions of the
file have in a cache is forgotten; what a function that is called at import returned then is kept, in a copy: such a survivor has
to be tried by hand.

What a copy leaves running is killed, in whatever session it is. A test that fails is run once more without the change: where it
fails then too, or the copy takes too long by the clock, the result is "unclear" and no part of the score.
"""

from __future__ import annotations

import ast
import ctypes
import gc
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Final, NoReturn

import pytest

from benchmarks.support.mutants import ROOT, Mutation, sample
from benchmarks.support.test_map import TestMap

#: The task as JSON; the plugin takes over the run when it is set.
TASK: Final = "MUTATIONS_TASK"
#: What a copy says of a change that it can't make.
_IMPORTED: Final = "runs at import"
_STALLED: Final = "takes too long by the clock"
_PR_SET_CHILD_SUBREAPER: Final = 36
#: A list of tests as JSON; only they run, in its order.
CHOICE: Final = "MUTATIONS_CHOICE"
_Cached: Final = type(lru_cache(abs))
_PATIENCE: Final = 3  # seconds by the clock for one of processor time
_OPTIONS: Final = ("-x", "-q", "-n", "0", "-p", "no:randomly", "-p", "no:cacheprovider", "-p", "benchmarks.support.mutation_runs")


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be run.

    Attributes:
        test_maps, output: files; the output gets a line of JSON for each mutation, and those that it has are not run again.
        number, seed: of the sample.
        minutes: after which no other mutation is begun.
        seconds: of tests of the mutation's room, and again of the others.
        rooms: the beginnings of the names of rooms to draw from; none for all.
        kinds: to draw from; none for all.
        again: try the survivors of the output again, by every test that may notice them, instead of drawing a sample.
    """

    test_maps: Sequence[str]
    output: str
    number: int
    seed: int
    minutes: float
    seconds: float
    rooms: Sequence[str] = ()
    kinds: Sequence[str] = ()
    again: bool = False


class Runner:
    """Tries one mutation after the other instead of running the collected tests."""

    def __init__(self, task: Task) -> None:
        self._task, self._map = task, TestMap.read([*map(Path, task.test_maps)])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        output, until = Path(self._task.output), time.monotonic() + 60 * self._task.minutes
        again = self._task.again
        done = set[tuple[str, int, str]]() if again else {_key(one) for one in results(output)}
        drawn = [*survivors(output)] if again else sample(self._task.number, self._task.seed, self._task.rooms, self._task.kinds)
        _adopt_orphans()
        for number, mutation in enumerate(drawn):
            if time.monotonic() > until:
                break
            if _key(asdict(mutation)) not in done:
                with _changed(mutation, 1_700_000_000 + 2 * number):
                    result = self._run(mutation, items)
                name = result["by"].partition(" of ")[2]
                if name in items and _in_fork([items[name]], None, 60):
                    result["result"] = "unclear"
                with output.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(result) + "\n")
        return True

    def _run(self, mutation: Mutation, items: dict[str, pytest.Item]) -> dict[str, Any]:
        began, tried, caught, again = time.monotonic(), 0, "", self._task.again
        new = sorted(items.keys() - dict(self._map.tests).keys())
        choices = self._map.all_choices(mutation, new) if again else self._map.choices(mutation, self._task.seconds, new)
        for listed in choices:
            chosen = [name for name in listed if name in items]
            tried += len(chosen)
            limit = round(60 + 3 * self._map.seconds(chosen))
            place = place_of(mutation) if self._map.is_run(mutation) else None
            caught = _in_fork([items[name] for name in chosen], (mutation, place), limit) if place else _IMPORTED
            if caught == _IMPORTED:
                caught = _in_new_process(chosen, limit)
            if caught:
                break
        spent = {"tried": tried, "tests": len(self._map.tests_of(mutation)), "seconds": round(time.monotonic() - began, 1)}
        result = {"": "survived", "timeout": "timeout", _STALLED: "unclear"}.get(caught, "caught")
        return {**asdict(mutation), "room": mutation.room, "result": result, "by": caught, "again": again, **spent}


class _Watch:
    """Tells of the first test that fails, and ends the process."""

    def __init__(self, told: int) -> None:
        self._told = told

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os.write(self._told, f"{report.when} of {report.nodeid}".encode())
            os._exit(0)


class Chooser:
    """Leaves out the tests that were not chosen, and runs the others in the order of the choice."""

    def __init__(self, chosen: Sequence[str]) -> None:
        self._order = {name: place for place, name in enumerate(chosen)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((one for one in items if one.nodeid in self._order), key=lambda one: self._order[one.nodeid])


def pytest_configure(config: pytest.Config) -> None:
    if task := os.environ.get(TASK):
        config.pluginmanager.register(Runner(Task(**json.loads(task))))
    if path := os.environ.get(CHOICE):
        config.pluginmanager.register(Chooser(json.loads(Path(path).read_text("utf-8"))))


def results(path: Path) -> list[dict[str, Any]]:
    """What a run has written so far; of a mutation that was tried again what came of it last."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    return [*{_key(one): {"again": False, **one} for one in lines}.values()]


def _key(mutation: Mapping[str, Any]) -> tuple[str, int, str]:
    return mutation["path"], mutation["start"], mutation["new"]


def survivors(path: Path) -> Iterator[Mutation]:
    """What no test noticed so far or was unclear, as far as the code still is as it was then."""
    for one in results(path):
        mutation = Mutation(**{field.name: one[field.name] for field in fields(Mutation)})
        there = (ROOT / mutation.path).read_bytes()[mutation.start : mutation.end].decode(errors="replace")
        if not one["again"] and one["result"] in ("survived", "unclear") and there == mutation.old:
            yield mutation


# ---------------------------------------------------------------- changing code


@contextmanager
def _changed(mutation: Mutation, at: int) -> Iterator[None]:
    """The file as the mutation makes it, while it is tried; with a time of its own, so that no compiled file is reused."""
    target = ROOT / mutation.path
    source, times = target.read_bytes(), target.stat()
    target.write_bytes(_source(mutation, source))
    os.utime(target, (at, at))
    try:
        yield
    finally:
        target.write_bytes(source)
        os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))


def _source(mutation: Mutation, source: bytes) -> bytes:
    return source[: mutation.start] + mutation.new.encode() + source[mutation.end :]


def place_of(mutation: Mutation) -> tuple[str, int] | None:
    """Qualified name and first line of the outermost function that has the mutation in its body; none for what runs at import."""
    return _place(ast.parse((ROOT / mutation.path).read_bytes()), "", mutation)


def _place(node: ast.AST, prefix: str, mutation: Mutation) -> tuple[str, int] | None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            if child.body[0].lineno <= mutation.line <= (child.end_lineno or 0):
                return prefix + child.name, min([child.lineno, *(one.lineno for one in child.decorator_list)])
        elif found := _place(child, f"{prefix}{child.name}." if isinstance(child, ast.ClassDef) else prefix, mutation):
            return found
    return None


def give_code(mutation: Mutation, place: tuple[str, int]) -> int:
    """Give every such function of this process its new code; how many there were, none if it can't be given."""
    path = str(ROOT / mutation.path)
    gc.unfreeze()  # the tests freeze what is there when they begin, and frozen objects are not listed
    new = _code_at(compile(Path(path).read_bytes(), path, "exec"), place)
    functions = [
        one
        for one in gc.get_objects()
        if type(one) is FunctionType
        and one.__code__.co_filename == path
        and (one.__code__.co_qualname, one.__code__.co_firstlineno) == place
    ]
    with suppress(ValueError):  # a dropped call of super() has no cell for the class
        for function in functions:
            function.__code__ = new
        _forget_results(path)
        return len(functions)
    return 0


def _forget_results(path: str) -> None:
    """Empties the caches of a file's functions, which would go on saying what came out before the change."""
    for one in gc.get_objects():
        made_of = getattr(one, "__wrapped__", None) if isinstance(one, _Cached) else None
        if isinstance(made_of, FunctionType) and made_of.__code__.co_filename == path:
            one.cache_clear()


def _code_at(code: CodeType, place: tuple[str, int]) -> CodeType:
    """The code of the function at a place.

    Raises:
        LookupError: there is none.
    """
    waiting = [code]
    while waiting:
        one = waiting.pop()
        if (one.co_qualname, one.co_firstlineno) == place:
            return one
        waiting += [part for part in one.co_consts if isinstance(part, CodeType)]
    raise LookupError(place)


# ---------------------------------------------------------------- running tests


def _in_fork(items: Sequence[pytest.Item], change: tuple[Mutation, tuple[str, int]] | None, limit: int) -> str:
    """The test that fails over the change, "timeout" after `limit` seconds of processor time, or ""."""
    answer, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(answer)
        _run_and_exit(items, change, limit, told)
    os.close(told)
    with open(answer, "rb", buffering=0) as lines:
        in_time = bool(select.select([lines], [], [], _PATIENCE * limit)[0])
        text = (lines.read(10_000) or b"").decode(errors="replace") if in_time else _STALLED
    if not in_time:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    _kill_orphans()
    if in_time and os.WIFSIGNALED(status):
        return "timeout" if os.WTERMSIG(status) == signal.SIGXCPU else f"signal {os.WTERMSIG(status)}"
    return text if text != "passed" else ""


def _adopt_orphans() -> None:
    """Makes what a copy leaves running a child of this process."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _kill_orphans() -> None:
    """Kills the children of this process, and theirs, which become its own by that."""
    while children := Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii").split():
        for child in map(int, children):
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)


def _run_and_exit(
    items: Sequence[pytest.Item], change: tuple[Mutation, tuple[str, int]] | None, limit: int, told: int
) -> NoReturn:
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        text = _IMPORTED if change and not give_code(*change) else "passed"
        items = items if text == "passed" else ()
        for item in items[:1]:
            item.config.pluginmanager.register(_Watch(told))
        for item, after in zip(items, [*items[1:], None], strict=False):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
    except BaseException as error:
        text = f"{type(error).__name__}: {error}"
    os.write(told, text.encode())
    os._exit(0)


def _in_new_process(chosen: Sequence[str], limit: int) -> str:
    """The same in a pytest of its own, which imports the changed file."""
    choice = ROOT / "choice.json"
    choice.write_text(json.dumps(chosen), "utf-8")
    files = sorted({name.partition("::")[0] for name in chosen})
    environment = {**os.environ, CHOICE: str(choice)}
    environment.pop(TASK)
    try:
        done = _pytest_of(files, environment, limit)
    except subprocess.TimeoutExpired:
        return _STALLED
    finally:
        _kill_orphans()
    if done.returncode == -signal.SIGXCPU:
        return "timeout"
    if done.returncode == 0:
        return ""
    told = (done.stdout + done.stderr).splitlines()  # what stops a conftest's import is told in the latter
    lines = [line.split(" - ")[0] for line in told if line.startswith(("FAILED", "ERROR", "ImportError"))]
    if not lines:
        raise RuntimeError(f"pytest ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return lines[0]


def _pytest_of(files: Sequence[str], environment: Mapping[str, str], limit: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", *_OPTIONS, *files],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_PATIENCE * limit,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5)),
        check=False,
    )
