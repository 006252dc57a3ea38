"""The house stands as DESIGN says, and the rules that watch it can fail.

These tests cover the verdict on the source roots, and for every rule samples that break it and samples that do not.
"""

from __future__ import annotations

import contextlib
import csv
import importlib
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from tests.support.architecture import FACE, RULES, Rule, faces_are_explicit, undeclared
from tests.support.cases import each
from tests.support.parsed_modules import Module, imports, read_house

REPOSITORY = Path(__file__).resolve().parent.parent
ENGINE = "turnfold.compression"
DOC = '"""A module of the house."""\n'


def test_names_of_the_face_exist() -> None:
    face = importlib.import_module(FACE)
    assert all(hasattr(face, name) for name in getattr(face, "__all__", ()))


def brought_by(requirements: Iterable[str]) -> dict[str, list[str]]:
    """Top-level modules, and which of these distributions bring them (`packages_distributions` reads all that is installed)."""
    found: dict[str, list[str]] = {}
    for name in {re.split(r"[^\w.-]", requirement, maxsplit=1)[0] for requirement in requirements}:
        with contextlib.suppress(PackageNotFoundError):  # this Python, or this environment, needs none
            files = csv.reader((distribution(name).read_text("RECORD") or "").splitlines())  # paths, sums and sizes
            for top in {file[0].split("/")[0].split(".")[0] for file in files}:
                found.setdefault(top, []).append(name)
    return found


@cache
def house() -> list[Module]:
    return read_house(REPOSITORY)


def whole_house_is_read(modules: Sequence[Module]) -> list[str]:
    names = [module.name for module in modules]
    expected = {"turnfold.compression.errors", "turnfold.config.settings", "turnfold.proxy.chat.receipts"}
    return [*sorted(expected.difference(names)), *(name for name, count in Counter(names).items() if count > 1)]


def what_is_imported_is_asked_for(modules: Sequence[Module]) -> list[str]:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    asked = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    return undeclared(modules, asked, brought_by(asked))


def process_that_folds_loads_no_http_client(modules: Sequence[Module]) -> list[str]:
    """It would take a tenth of each start, and more memory than what is folded."""
    known = {module.name for module in modules}
    needs = {module.name: {target for _, target in imports(module, known)} for module in modules}
    found = ["turnfold.proxy.fold_process"]
    for name in found:
        found += [target for target in sorted(needs.get(name, ())) if target not in found]
    assert "turnfold.proxy.chat.folding" in found
    return sorted({"aiohttp", "httpx"} & set(found))


@each("rule", (*RULES.values(), whole_house_is_read, what_is_imported_is_asked_for, process_that_folds_loads_no_http_client))
def test_house(rule: Rule) -> None:
    """All in one test: reading the house takes longer than all rules, and each process that runs a part would read it."""
    assert not rule(house())


def test_what_is_not_asked_for_is_found() -> None:
    module = Module.of(
        "turnfold.proxy.app", "import re, yaml\nfrom dateutil.tz import UTC\nimport turnfold.config.settings\nimport Stemmer"
    )
    brought = {"yaml": ["PyYAML"], "dateutil": ["python-dateutil"], "Stemmer": ["PyStemmer"]}
    assert undeclared([module], ["pyyaml>=6", "pystemmer>=3; python_version > '3'"], brought) == [
        "turnfold.proxy.app:2 imports dateutil, which pyproject.toml does not ask for"
    ]
    assert len(undeclared([module], ["pyyaml", "python.dateutil[x]~=2"], brought)) == 1
    assert len(undeclared([module], ["pyyaml"], {})) == 3
    older = Module.of("turnfold.proxy.app", "from backports import zstd")
    assert not undeclared([older], ["backports.zstd>=1.0; python_version < '3.14'"], {})
    assert len(undeclared([older], ["backports.tarfile"], {})) == 1


# (rule, module, source that breaks the rule, words of the finding)
BAD = [
    ("says_what_lives_in_it", f"{ENGINE}.errors", "x = 1", "docstring"),
    ("arrows_run_one_way", f"{ENGINE}.errors", "import turnfold.config.settings", "arrows"),
    ("arrows_run_one_way", f"{ENGINE}.errors", "from turnfold import proxy", "arrows"),
    ("arrows_run_one_way", "turnfold.config.settings", "from turnfold.proxy import app", "arrows"),
    ("arrows_run_one_way", "turnfold.config.settings", "from tests.support import prefix", "arrows"),
    ("arrows_run_one_way", "turnfold.config.settings", "def f():\n    from turnfold.proxy.app import create_app", "arrows"),
    (
        "arrows_run_one_way",
        f"{ENGINE}.tokens",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from turnfold.config.settings import Settings",
        "arrows",
    ),
    ("wings_stand_on_each_other", f"{ENGINE}.text.spans", "from turnfold.compression.scorers.base import Scorer", "later wing"),
    ("wings_stand_on_each_other", f"{ENGINE}.text.spans", "from ..scorers.base import Scorer", "later wing"),
    ("wings_stand_on_each_other", f"{ENGINE}.text.spans", "from ..scorers import base", "later wing"),
    ("wings_stand_on_each_other", f"{ENGINE}.errors", "from turnfold.compression.text.spans import Span", "later wing"),
    ("wings_stand_on_each_other", f"{ENGINE}.flows.call", "from turnfold.compression import fold_request", "face"),
    ("wings_stand_on_each_other", f"{ENGINE}.cellar", "x = 1", "no wing"),
    ("wings_stand_on_each_other", f"{ENGINE}.flows.savings", "import turnfold.compression.cellar", "later wing"),
    ("engine_is_pure", f"{ENGINE}.errors", "import socket", "socket"),
    ("engine_is_pure", f"{ENGINE}.errors", "from os import environ", "os"),
    ("engine_is_pure", f"{ENGINE}.errors", "from urllib import request", "urllib.request"),
    ("engine_is_pure", f"{ENGINE}.errors", "import asyncio.subprocess", "asyncio"),
    ("engine_is_pure", f"{ENGINE}.errors", "from datetime import datetime", "datetime"),
    ("engine_is_pure", f"{ENGINE}.errors", "def f():\n    import random", "random"),
    ("engine_is_pure", f"{ENGINE}.errors", "import numpy as np\nx = np.random.rand(3)", "np.random"),
    ("engine_is_pure", f"{ENGINE}.errors", "data = open('x').read()", "open"),
    ("engine_is_pure", f"{ENGINE}.errors", "def f(path):\n    return path.read_text()", "read_text"),
    ("engine_is_pure", f"{ENGINE}.errors", "from importlib.resources import files\nfiles('x').write_text('y')", "write_text"),
    ("engine_is_pure", f"{ENGINE}.errors", "def f(text):\n    return hash(text)", "hash"),
    ("engine_is_pure", f"{ENGINE}.errors", "async def f():\n    return 1", "asynchronous"),
    ("functions_are_short", "turnfold.proxy.app", "def f():\n" + "    x = 1\n" * 60, "61 lines"),
    ("files_are_short", "turnfold.proxy.app", "x = 1\n" * 500, "501 lines"),
    ("fail_open_has_one_home", "turnfold.proxy.app", "try:\n    x = 1\nexcept Exception:\n    pass", "everything"),
    ("fail_open_has_one_home", "turnfold.proxy.app", "try:\n    x = 1\nexcept:\n    pass", "everything"),
    ("fail_open_has_one_home", "turnfold.proxy.app", "try:\n    x = 1\nexcept (OSError, Exception):\n    pass", "everything"),
    ("fail_open_has_one_home", "turnfold.proxy.app", "with contextlib.suppress(Exception):\n    x = 1", "everything"),
    ("faces_are_explicit", ENGINE, "from .errors import TurnfoldError", "__all__"),
    ("faces_are_explicit", ENGINE, "__all__ = ['b', 'a']", "order"),
    ("faces_are_explicit", ENGINE, "__all__ = ['fold', 'Fold']", "order"),
    ("faces_are_explicit", ENGINE, "__all__ = ['a', 'a']", "twice"),
    ("faces_are_explicit", ENGINE, f"__all__ = {[f'n{i:02}' for i in range(21)]}", "21 names"),
    ("engine_keeps_no_state", f"{ENGINE}.tokens", "_CACHE = {}", "mutable state"),
    ("engine_keeps_no_state", f"{ENGINE}.tokens", "_CACHE: dict[str, int] = dict()", "mutable state"),
    ("engine_keeps_no_state", f"{ENGINE}.tokens", "cache = {'a': 1}", "mutable state"),
    ("engine_keeps_no_state", f"{ENGINE}.tokens", "MEMO = Memo(10)", "mutable state"),
    ("engine_keeps_no_state", f"{ENGINE}.tokens", "TABLE = {'a': 1}\ndef f():\n    TABLE['b'] = 2", "changed"),
    ("engine_keeps_no_state", f"{ENGINE}.tokens", "TABLE = ['a']\ndef f():\n    TABLE.append('b')", "changed"),
    ("engine_keeps_no_state", f"{ENGINE}.tokens", "x = 1\ndef f():\n    global x\n    x = 2", "global"),
    ("patterns_wait_for_their_first_use", f"{ENGINE}.tokens", "import re\nA = [re.compile(x) for x in 'ab']", "on import"),
    ("patterns_wait_for_their_first_use", f"{ENGINE}.tokens", "import re\nclass A:\n    B = re.compile('b')", "on import"),
    ("class_names_are_unique", f"{ENGINE}.tokens", "class Store:\n    pass", "turnfold.proxy.store too"),
    ("class_names_are_unique", f"{ENGINE}.tokens", "class _Store:\n    pass", "turnfold.proxy.store too"),
    ("modules_have_names_of_their_own", f"{ENGINE}.shorten.trace", "x = 1", "library trace"),
    ("modules_have_names_of_their_own", "turnfold.proxy.store.redis", "import redis.asyncio", "library redis"),
]

# (rule, module, source that keeps the rule although it looks close)
GOOD = [
    ("says_what_lives_in_it", f"{ENGINE}.text", ""),
    ("arrows_run_one_way", "turnfold.proxy.app", "from turnfold.config import settings\nimport turnfold.compression.errors"),
    ("wings_stand_on_each_other", f"{ENGINE}.tokens", "from turnfold.compression.memo import Memo"),
    ("wings_stand_on_each_other", f"{ENGINE}.flows.call", "from turnfold.compression.text import spans"),
    ("wings_stand_on_each_other", ENGINE, "from turnfold.compression.flows.call import run"),
    ("engine_is_pure", f"{ENGINE}.tokens", "from importlib.resources import files\nx = files('x').read_bytes()"),
    ("engine_is_pure", f"{ENGINE}.tokens", "from urllib.parse import urlsplit\nimport re, threading"),
    ("engine_is_pure", "turnfold.proxy.app", "import os, socket, time, asyncio"),
    ("functions_are_short", "turnfold.proxy.app", "def f():\n" + "    x = 1\n" * 59),
    ("files_are_short", "turnfold.proxy.app", "x = 1\n" * 499),
    ("fail_open_has_one_home", "turnfold.proxy.chat.service", "try:\n    x = 1\nexcept Exception:\n    pass"),
    ("fail_open_has_one_home", "turnfold.proxy.app", "try:\n    x = 1\nexcept (OSError, ValueError):\n    pass"),
    ("faces_are_explicit", ENGINE, "__all__ = ['VERSION', 'Fold', 'fold']"),
    ("engine_keeps_no_state", f"{ENGINE}.tokens", "_TABLE: Final = {'a': 1}\nPAIR = ('a', 'b')"),
    ("engine_keeps_no_state", f"{ENGINE}.tokens", "_WORDS = {w for w in 'a b'.split()}"),
    ("engine_keeps_no_state", "turnfold.proxy.app", "cache = {}"),
    ("patterns_wait_for_their_first_use", f"{ENGINE}.tokens", "import re\ndef f(x):\n    return re.compile(x)"),
    ("patterns_wait_for_their_first_use", "turnfold.proxy.app", "import re\nA = re.compile('a')"),
    ("class_names_are_unique", f"{ENGINE}.tokens", "class Shelf:\n    class Store:\n        pass"),
    ("modules_have_names_of_their_own", "turnfold.proxy.http", "x = 1"),
    ("modules_have_names_of_their_own", "turnfold.proxy.store.redis_store", "x = 1"),
]


def sample(name: str, source: str, rule: str) -> Module:
    opening = "" if rule == "says_what_lives_in_it" else DOC
    return Module.of(name, opening + source, is_package=name == ENGINE)


def around(module: Module) -> list[Module]:
    """A small house for a sample to stand in."""
    others = [f"{ENGINE}.scorers.base", f"{ENGINE}.cellar", "turnfold.proxy", "turnfold.proxy.app", "turnfold.config.settings"]
    shop = Module.of("turnfold.proxy.store", DOC + "class Store:\n    pass", is_package=True)
    return [shop, module, *(Module.of(name, DOC) for name in others if name != module.name)]


@each(("rule", "name", "source", "words"), BAD)
def test_rule_can_fail(rule: str, name: str, source: str, words: str) -> None:
    findings = [finding for finding in RULES[rule](around(sample(name, source, rule))) if finding.startswith(f"{name}:")]
    assert findings
    assert all(words in finding for finding in findings)


@each(("rule", "name", "source"), GOOD)
def test_rule_lets_good_code_pass(rule: str, name: str, source: str) -> None:
    module = sample(name, source, rule)
    assert not [finding for finding in RULES[rule](around(module)) if finding.startswith(f"{name}:")]


def test_cycles_are_found_through_types_and_packages() -> None:
    modules = [
        Module.of("turnfold.proxy.a", DOC + "from turnfold.proxy import b"),
        Module.of("turnfold.proxy.b", DOC + "if TYPE_CHECKING:\n    from turnfold.proxy.c import C"),
        Module.of("turnfold.proxy.c", DOC + "def f():\n    from . import a"),
    ]
    (finding,) = RULES["imports_have_no_cycle"](modules)
    assert "cycle" in finding
    assert not RULES["imports_have_no_cycle"](modules[:2])


def test_rooms_that_need_each_other_are_found() -> None:
    modules = [
        Module.of("turnfold.proxy.books.ledger", DOC + "from turnfold.proxy.chat.receipts import Receipt"),
        Module.of("turnfold.proxy.chat.receipts", DOC),
        Module.of("turnfold.proxy.chat.service", DOC + "def f():\n    from turnfold.proxy.server import serve"),
        Module.of("turnfold.proxy.server", DOC + "from turnfold.proxy import books"),
        Module.of("turnfold.proxy.books", DOC, is_package=True),
    ]
    findings = RULES["rooms_have_no_cycle"](modules)
    assert {finding.split(":")[0] for finding in findings} == {
        "turnfold.proxy.books.ledger",
        "turnfold.proxy.chat.service",
        "turnfold.proxy.server",
    }
    assert all("cycle" in finding for finding in findings)
    assert not RULES["imports_have_no_cycle"](modules)
    assert not RULES["rooms_have_no_cycle"](modules[:3])


@each(
    ("room", "files", "found"),
    [
        ("proxy.chat", 15, 0),
        ("proxy.chat", 16, 1),
        ("proxy.cli", 30, 0),
        ("compression.text", 26, 0),
        ("compression.text", 27, 1),
    ],
)
def test_rooms_that_grow_too_large_are_found(room: str, files: int, found: int) -> None:
    modules = [Module.of(f"turnfold.{room}", DOC, is_package=True)]
    modules += [Module.of(f"turnfold.{room}.part{n}", DOC) for n in range(files)]
    assert len(RULES["rooms_are_small"](modules)) == found


def test_a_module_that_imports_itself_is_found() -> None:
    own = Module.of("turnfold.proxy.store", DOC + "from turnfold.proxy.store import Store", is_package=True)
    assert RULES["imports_have_no_cycle"]([own]) == ["turnfold.proxy.store:1 imports itself"]


def test_every_rule_is_shown_to_fail() -> None:
    assert {rule for rule, *_ in BAD} | {"imports_have_no_cycle", "rooms_have_no_cycle", "rooms_are_small"} == set(RULES)


def test_relative_imports_of_a_package_are_resolved() -> None:
    package = Module.of(
        "turnfold.proxy.store", "from .memory import M\nfrom ..chat.receipts import R\nfrom . import sqlite", is_package=True
    )
    known = {"turnfold.proxy.store.sqlite"}
    assert [target for _, target in imports(package, known)] == [
        "turnfold.proxy.store.memory",
        "turnfold.proxy.chat.receipts",
        "turnfold.proxy.store.sqlite",
    ]


def test_an_empty_face_is_no_fault_yet() -> None:
    assert not faces_are_explicit([Module.of(ENGINE, "", is_package=True)])
