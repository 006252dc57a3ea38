"""Small changes that can be made to the code, and a sample of them.

It finds places that can be changed and draws a sample of them. `benchmarks/mutations.py` runs tests over a change.

A mutation is one small change of one expression or statement: a comparison, a constant, a boolean operator, an arithmetic
operator, a returned value, a call that is dropped, two arguments that are swapped. Numbers up to 100 grow by one and larger
ones are doubled, as one in ten thousand seldom means anything.

The sample is drawn with a seed from all rooms (folders of source): from each in proportion to its places, from every one at
least one, and from the kinds of a room in turn. It is in random order, so that the part that is run within a time is a random
sample as well.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
SOURCES: Final = ("compression", "config", "proxy")
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


def sample(number: int, seed: int, some: Sequence[str] = (), kinds: Sequence[str] = ()) -> list[Mutation]:
    """So many mutations (one or two more or less), in random order; the same for the same code and seed.

    Args:
        some: the beginnings of the names of the rooms to draw from, and paths of single files; none for all.
        kinds: to draw from; none for all.
    """
    rooms: dict[str, list[Mutation]] = {}
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for mutation in mutations_of(path):
                is_there = not some or mutation.room.startswith(tuple(some)) or mutation.path in some
                if is_there and (not kinds or mutation.kind in kinds):
                    rooms.setdefault(mutation.room, []).append(mutation)
    places = sum(map(len, rooms.values()))
    chance = random.Random(seed)
    drawn: list[Mutation] = []
    for name in sorted(rooms):
        share = max(1, round(number * len(rooms[name]) / places))
        by_kind: dict[str, list[Mutation]] = {}
        for mutation in chance.sample(rooms[name], len(rooms[name])):
            by_kind.setdefault(mutation.kind, []).append(mutation)
        in_turn = (one for row in zip_longest(*by_kind.values()) for one in row if one is not None)
        drawn += islice(in_turn, share)
    chance.shuffle(drawn)
    return drawn
