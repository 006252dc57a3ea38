"""How many random changes of the code the tests notice.

    python -m benchmarks.mutations --sample 200 --minutes 35 --workers 2 --output mutations.jsonl
    python -m benchmarks.mutations --summary mutations.jsonl

Lives here: finding places that can be changed, drawing a sample, running the tests over each change, the score. Does not belong
here: judging survivors (whether a change makes any difference is read, not computed).

A mutation is one small change of one expression or statement: a comparison, a constant, a boolean operator, an arithmetic
operator, a returned value, a call that is dropped, two arguments that are swapped. Numbers up to 100 grow by one and larger
ones are doubled, as one in ten thousand seldom means anything. Each is made in a copy of the tree, never in the working files.
The tests that are named like the changed module run first, then all of its room's; a mutation is caught when one fails or
hangs. The evaluation data is not used.

The sample is drawn with a seed from all rooms (folders of source): from each in proportion to its places, from every one at
least one, and from the kinds of a room in turn. It is run in random order, so that the part that was run within the time is a
random sample as well.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice, zip_longest
from pathlib import Path
from queue import Queue
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCES: Final = ("compression", "config", "proxy")
_COPIED: Final = (*SOURCES, "tests", "benchmarks", "pyproject.toml", "README.md", "Makefile", "CHANGELOG.md")
_MOST_SECONDS: Final = (
    240  # of processor time for the tests of a module, or of its room: a clock would say how busy the machine is
)
# How time grows shows little while other work runs.
_OPTIONS: Final = ("-n", "0", "-p", "no:randomly", "-p", "no:cacheprovider", "-k", "not linear")
_NEVER_DROPPED: Final = ("_log", "logging")
_ANY_ORDER: Final = frozenset({"max", "min"})

_COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change of one file.

    Attributes:
        path: of the file, relative to the repository.
        line: where it is changed.
        kind: what sort of change it is.
        old, new: the source before and after.
        start, end: the place of `old`, in bytes of the file.
    """

    path: str
    line: int
    kind: str
    old: str
    new: str
    start: int
    end: int

    @property
    def room(self) -> str:
        """The folder that it is in, as it is called in the tests."""
        parts = Path(self.path).parts
        return "/".join([parts[0], *parts[3:-1]])


# ---------------------------------------------------------------- where code can be changed


def mutations_of(path: Path) -> Iterator[Mutation]:
    """Every change that can be made to a file, in order of its places."""
    source = path.read_bytes()
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in _expressions(tree):
        for kind, changed in _changes(node):
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
            old, new = source[start:end].decode(), ast.unparse(changed)
            if isinstance(changed, ast.BinOp | ast.BoolOp | ast.Compare):
                new = f"({new})"
            yield Mutation(str(path.relative_to(ROOT)), node.lineno, kind, old, new, start, end)


def _expressions(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """The nodes that mean something when the program runs: no annotations, decorators, formatted strings or type aliases."""
    skipped: set[int] = set()
    for name in ("annotation", "returns", "decorator_list", "bases"):
        value = getattr(node, name, None)
        skipped |= {id(one) for one in (value if isinstance(value, list) else [value])}
    if isinstance(node, ast.JoinedStr):  # their parts have no places before Python 3.12
        return
    if isinstance(node, ast.expr | ast.stmt):
        yield node
    for child in ast.iter_child_nodes(node):
        if id(child) not in skipped:
            yield from _expressions(child)


def _changes(node: ast.expr | ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Compare(ops=[operator]):
            yield "comparison", ast.Compare(node.left, [_COMPARISONS[type(operator)]()], node.comparators)
        case ast.Constant(value=bool() as value):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield "constant", ast.Constant(value + 1 if value <= 100 else value * 2)
        case ast.Constant(value=float() as value):
            yield "constant", ast.Constant(value * 1.5 if value else 1.0)
        case ast.BoolOp():
            yield "boolean", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not()):
            yield "boolean", node.operand
        case ast.BinOp() if type(node.op) in _ARITHMETIC:
            yield "arithmetic", ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield "return", ast.Return(_other_value(value))
        case ast.Expr(value=ast.Call() | ast.Await(value=ast.Call())) if not _only_logs(node):
            yield "dropped call", ast.Pass()
        case ast.Call(args=[first, second, *rest]) if ast.unparse(node.func) not in _ANY_ORDER and _differ(first, second):
            yield "swapped arguments", ast.Call(node.func, [second, first, *rest], node.keywords)


def _other_value(value: ast.expr) -> ast.expr:
    """What is returned instead: the opposite of a condition, nothing instead of a value."""
    condition = isinstance(value, ast.Compare | ast.BoolOp) or (isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not))
    return ast.UnaryOp(ast.Not(), value) if condition else ast.Constant(None)


def _only_logs(statement: ast.Expr) -> bool:
    name = ast.unparse(statement.value).removeprefix("await ").partition(".")[0]
    return name in _NEVER_DROPPED


def _differ(first: ast.expr, second: ast.expr) -> bool:
    return ast.dump(first) != ast.dump(second) and not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred)


def sample(number: int, seed: int) -> list[Mutation]:
    """So many mutations (one or two more or less), in random order; the same for the same code and seed."""
    rooms: dict[str, list[Mutation]] = {}
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for mutation in mutations_of(path):
                rooms.setdefault(mutation.room, []).append(mutation)
    places = sum(map(len, rooms.values()))
    chance = random.Random(seed)
    drawn: list[Mutation] = []
    for name in sorted(rooms):
        share = max(1, round(number * len(rooms[name]) / places))
        kinds: dict[str, list[Mutation]] = {}
        for mutation in chance.sample(rooms[name], len(rooms[name])):
            kinds.setdefault(mutation.kind, []).append(mutation)
        in_turn = (one for row in zip_longest(*kinds.values()) for one in row if one is not None)
        drawn += islice(in_turn, share)
    chance.shuffle(drawn)
    return drawn


# ---------------------------------------------------------------- the tests over a change


def sets_of_tests(mutation: Mutation, tree: Path) -> list[list[str]]:
    """The test files to run, those of the module first; a room without tests of its own has those of the room above."""
    folder = tree / "tests" / mutation.room
    module = Path(mutation.path).stem
    names = {module, Path(mutation.path).parent.name} - {"__init__"}
    while not list(folder.glob("test_*.py")):
        names.add(folder.name)
        folder = folder.parent
    every = sorted(folder.glob("test_*.py"))
    named = [path for path in every if any(path.stem == f"test_{name}" for name in names)]
    sets = [named, [path for path in every if path not in named]]
    return [[str(path.relative_to(tree)) for path in paths] for paths in sets if paths]


def run(mutation: Mutation, tree: Path, number: int) -> dict[str, Any]:
    """What became of a mutation: by which test it was caught, or that it survived, and how long that took."""
    target, began = tree / mutation.path, time.monotonic()
    source = target.read_bytes()
    target.write_bytes(source[: mutation.start] + mutation.new.encode() + source[mutation.end :])
    os.utime(target, (number, number))  # a time of its own, so that no compiled file of another mutation is taken for it
    found = {"result": "survived", "by": ""}
    try:
        for files in sets_of_tests(mutation, tree):
            if caught := _caught_by(files, tree):
                found = {"result": "timeout" if caught == "timeout" else "caught", "by": caught}
                break
    finally:
        target.write_bytes(source)
        shutil.copystat(ROOT / mutation.path, target)
    return {**asdict(mutation), "room": mutation.room, **found, "seconds": round(time.monotonic() - began, 1)}


def _caught_by(files: Sequence[str], tree: Path) -> str:
    """The test that fails, "timeout", or "" when all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--timeout=1800", *_OPTIONS, *files]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(tree / name) for name in SOURCES),
        "HYPOTHESIS_PROFILE": "small",
        "TURNFOLD_SHARED": str(tree / "absent"),
    }
    done = subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, preexec_fn=_limit_processor_time, check=False
    )
    if done.returncode == -signal.SIGXCPU:
        return "timeout"
    if done.returncode in (0, 5):  # 5: no tests, all were left out
        return ""
    if done.returncode not in (1, 2):
        raise RuntimeError(done.stdout + done.stderr)
    lines = [line.split(" - ")[0] for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines[0] if lines else f"exit {done.returncode}"


def _limit_processor_time() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_MOST_SECONDS, _MOST_SECONDS + 5))


def _copy() -> Path:
    tree = Path(tempfile.mkdtemp(prefix="turnfold-mutations-"))
    for name in _COPIED:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(path, tree / name)
    return tree


def run_all(mutations: Sequence[Mutation], workers: int, minutes: float, output: Path) -> None:
    """Run mutations until all are done or the time is over; a line of JSON for each, as they finish.

    Those that `output` has already are not run again.
    """
    until, trees = time.monotonic() + 60 * minutes, [_copy() for _ in range(workers)]
    free: Queue[Path] = Queue()
    for tree in trees:
        free.put(tree)

    done = {(one["path"], one["start"], one["new"]) for one in _results(output)}

    def one(number: int, mutation: Mutation) -> None:
        tree = free.get()
        try:
            if time.monotonic() < until and (mutation.path, mutation.start, mutation.new) not in done:
                line = json.dumps(run(mutation, tree, 1_700_000_000 + 2 * number))
                with output.open("a", encoding="utf-8") as lines:
                    lines.write(line + "\n")
        finally:
            free.put(tree)

    try:
        with ThreadPoolExecutor(workers) as pool:
            for finished in [pool.submit(one, number, mutation) for number, mutation in enumerate(mutations)]:
                finished.result()
    finally:
        for tree in trees:
            shutil.rmtree(tree, ignore_errors=True)


def _results(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def summary(results: Sequence[dict[str, Any]]) -> str:
    """The score, by kind and by room, and the survivors."""
    noticed = sum(one["result"] != "survived" for one in results)
    lines = [f"{noticed} of {len(results)} noticed ({noticed / max(1, len(results)):.1%})"]
    for group in ("kind", "room"):
        of, caught = Counter(one[group] for one in results), Counter(one[group] for one in results if one["result"] != "survived")
        lines += ["", *(f"  {name:24} {caught[name]:4} of {of[name]}" for name in sorted(of))]
    survivors = sorted((one for one in results if one["result"] == "survived"), key=lambda one: (one["path"], one["line"]))
    lines += ["", *(f"{one['path']}:{one['line']} {one['kind']}: {one['old']!r} -> {one['new']!r}" for one in survivors)]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--minutes", type=float, default=35.0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("mutations.jsonl"))
    parser.add_argument("--summary", type=Path, help="only sum up what an earlier run has written")
    args = parser.parse_args()
    if args.summary is None:
        run_all(sample(args.sample, args.seed), args.workers, args.minutes, args.output)
    print(summary(_results(args.summary or args.output)))


if __name__ == "__main__":
    main()
