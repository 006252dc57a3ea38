"""Bytes that nobody would send, over everything that reads what a client or an upstream sends.

It is the command: a corpus, mutations of it, time and memory of a run, a report. What is called, and what must hold of it, is in
``support.fuzz_targets``.

    python -m benchmarks.fuzz --minutes 20 [--only wires,text] [--seed 1] [--atheris]

Without ``--atheris`` inputs are mutated blindly, and a failure ends nothing: each is reported once, by where it arose. With it
(``pip install atheris``) inputs are chosen by the code that they reach, for one target, and the first failure ends the run.
A call that takes long is repeated with half and with a quarter of its input: time that grows more than `_STEEPEST` times for
twice the input is reported as a failure.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.support.fuzz_targets import TARGETS, corpus

_LARGEST: Final = 200_000
_SLOW: Final = 1.0  # seconds of a processor, from which on the growth of a call is measured
_SLOWEST: Final = 20.0  # seconds, from which on a call is a failure however its time grows
_STEEPEST: Final = 3.2  # times as long for twice the input: 2 is linear, 4 quadratic
_KEPT: Final = 400  # inputs of a target's corpus
_WORDS: Final = tuple(
    word.encode("utf-8", "surrogatepass")
    for word in (
        *'{}[]",:\\`#|<>-=+*_~$%@!?.;()/',
        *(
            "```",
            "\n",
            "\r\n",
            "\n\n",
            "\t",
            " ",
            "\x00",
            "\x1b[31m",
            "\b",
            "\ufeff",
            "\u2028",
            "\u200d",
            "\ud800",
            "é",
            "日本",
            "😀",
        ),
        *(
            "null",
            "true",
            "-0",
            "1e999",
            "123456789012345678901",
            "\\u0000",
            "\\ud83d",
            '""',
            "{}",
            "[]",
            '{"a":',
            '"role"',
            '"content"',
        ),
        *('"user"', '"tool_calls"', '"type":"text"', '"cache_control"', '"usage":{', "data: ", "event: ", "[DONE]", "<private>"),
        *(
            "</private>",
            "never ",
            "set premise ",
            "use ",
            "prohibit ",
            "instead of ",
            "SELECT ",
            "Traceback (most recent call last):",
        ),
        *(
            '  File "a.py", line 1',
            "diff --git a/x b/x",
            "@@ -1,2 +1,2 @@",
            "2026-01-01T00:00:00Z ERROR ",
            "<table><tr><td>",
            "| - |",
        ),
        *(
            "http://",
            "a@b.c",
            "sk-proj-",
            "password: ",
            "-----BEGIN KEY-----",
            "data:image/png;base64,",
            "[turnfold ",
            "<quoted ",
        ),
    )
)


def mutated(random: Random, seeds: list[bytes]) -> bytes:
    """Another input, made of one or two."""
    data = bytearray(random.choice(seeds))
    for _ in range(1 + int(random.expovariate(0.4))):
        _MUTATIONS[random.randrange(len(_MUTATIONS))](random, data, seeds)
    return bytes(data[:_LARGEST])


def _place(random: Random, data: bytearray) -> int:
    return random.randint(0, len(data))


def _flip(random: Random, data: bytearray, _: list[bytes]) -> None:
    if data:
        data[random.randrange(len(data))] = random.randrange(256)


def _put_word(random: Random, data: bytearray, _: list[bytes]) -> None:
    at = _place(random, data)
    data[at:at] = random.choice(_WORDS)


def _repeat_word(random: Random, data: bytearray, _: list[bytes]) -> None:
    at = _place(random, data)
    unit = b"".join(random.choices(_WORDS, k=random.randint(1, 3)))
    data[at:at] = unit * random.choice((3, 50, 1000, 20_000 // len(unit)))


def _repeat_piece(random: Random, data: bytearray, _: list[bytes]) -> None:
    start = _place(random, data)
    piece = data[start : start + random.choice((1, 3, 20, 200))]
    data[start:start] = piece * random.choice((2, 30, 500))


def _cut(random: Random, data: bytearray, _: list[bytes]) -> None:
    start = _place(random, data)
    del data[start : start + random.choice((1, 5, 100, len(data)))]


def _splice(random: Random, data: bytearray, seeds: list[bytes]) -> None:
    other = random.choice(seeds)
    at, start = _place(random, data), random.randint(0, len(other))
    data[at : at + random.choice((0, 10, 1000))] = other[start : start + random.choice((10, 300, 5000))]


_MUTATIONS: Final[tuple[Callable[[Random, bytearray, list[bytes]], None], ...]] = (
    _flip,
    _put_word,
    _put_word,
    _repeat_word,
    _repeat_piece,
    _cut,
    _splice,
)


class Fuzzer:
    """One run.

    Attributes:
        found: failures by what tells them apart: the target, and where it arose.
    """

    def __init__(self, seed: int, keep: Path | None) -> None:
        self._random = Random(seed)
        self._keep = keep
        self.found: dict[str, tuple[int, str]] = {}
        self.runs: Counter[str] = Counter()
        self.slowest: dict[str, tuple[float, int]] = {}
        self._seeds: dict[str, list[bytes]] = {}

    def run(self, names: list[str], seconds: float) -> None:
        """Try the targets in turn until the time is over."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for name in names:
                seeds = self._seeds.setdefault(name, corpus(name))
                data = mutated(self._random, seeds)
                if self.try_one(name, data) and len(data) < 5_000 and self._random.random() < 0.02:
                    seeds.append(data)
                    del seeds[_KEPT:-_KEPT]

    def try_one(self, name: str, data: bytes) -> bool:
        """One call; whether all held."""
        self.runs[name] += 1
        start = time.thread_time()
        try:
            TARGETS[name](data)
        except Exception as exc:
            self._report(name, data, f"{type(exc).__name__}: {str(exc)[:200]}", _where(exc))
            return False
        taken = time.thread_time() - start
        if taken > self.slowest.get(name, (0.0, 0))[0]:
            self.slowest[name] = (taken, len(data))
            if taken > _SLOW:
                self._store(f"slow-{name}", data)
        if taken > _SLOW and (problem := _growth(name, data, taken)):
            self._report(name, data, problem, "time")
            return False
        return True

    def _report(self, name: str, data: bytes, said: str, where: str) -> None:
        key = f"{name}: {where}"
        times, first = self.found.get(key, (0, said))
        self.found[key] = (times + 1, first)
        if times:
            return
        print(f"{key}: {said} ({len(data)} bytes, {self._store(name, data)})", flush=True)

    def _store(self, name: str, data: bytes) -> str:
        """Keep an input, where a folder was given; its name."""
        digest = hashlib.sha256(data).hexdigest()[:12]
        if self._keep is not None:
            self._keep.mkdir(parents=True, exist_ok=True)
            (self._keep / f"{name}-{digest}").write_bytes(data)
        return digest


def _where(exc: Exception) -> str:
    frames = [f for f in traceback.extract_tb(exc.__traceback__) if "turnfold" in f.filename]
    last = frames[-1] if frames else traceback.extract_tb(exc.__traceback__)[-1]
    return f"{type(exc).__name__} at {Path(last.filename).name}:{last.lineno}"


def _growth(name: str, data: bytes, taken: float) -> str | None:
    """How a slow call's time grows, where it grows too fast."""
    if taken > _SLOWEST:
        return f"{taken:.1f} s of a processor"

    def seconds(part: bytes) -> float:
        start = time.thread_time()
        TARGETS[name](part)
        return time.thread_time() - start

    try:
        half = max(0.001, min(seconds(data[: len(data) // 2]), seconds(data[len(data) // 2 :])))
        quarter = max(0.001, seconds(data[: len(data) // 4]))
    except Exception:
        return None
    again = min(taken, seconds(data))
    if again / half > _STEEPEST and half / quarter > _STEEPEST:
        return f"{quarter:.2f} s, {half:.2f} s, {again:.2f} s for a quarter, a half, all"
    return None


def guided(name: str, seconds: float) -> None:
    """The same for one target with atheris, which ends the process."""
    atheris = importlib.import_module("atheris")  # optional

    with atheris.instrument_imports(include=["turnfold"]):
        for module in [module for module in sys.modules if module.startswith("turnfold")]:
            del sys.modules[module]
        targets = importlib.reload(importlib.import_module("benchmarks.support.fuzz_targets"))
    flags = [f"-max_total_time={int(seconds)}", "-timeout=30", "-rss_limit_mb=4096", f"-max_len={_LARGEST // 10}"]
    atheris.Setup([sys.argv[0], *flags], targets.TARGETS[name])
    atheris.Fuzz()


def main() -> None:
    """Parse the arguments, run, report; exit 1 if something was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--only", default=",".join(TARGETS), help="comma-separated targets: " + ", ".join(TARGETS))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", type=Path, help="folder for inputs that failed")
    parser.add_argument("--atheris", action="store_true")
    given = parser.parse_args()
    names = given.only.split(",")
    if unknown := [name for name in names if name not in TARGETS]:
        parser.error(f"no such target: {', '.join(unknown)}")
    if given.atheris:
        guided(names[0], 60 * given.minutes)
        return
    print(f"seed {given.seed}", flush=True)
    fuzzer = Fuzzer(given.seed, given.keep)
    fuzzer.run(names, 60 * given.minutes)
    print("\n| target | runs | slowest call, seconds of a processor | of bytes |\n|---|---|---|---|")
    for name in names:
        seconds, size = fuzzer.slowest.get(name, (0.0, 0))
        print(f"| {name} | {fuzzer.runs[name]} | {seconds:.2f} | {size} |")
    print(f"\n{len(fuzzer.found)} failures of different kinds")
    for key, (times, said) in fuzzer.found.items():
        print(f"- {key}, {times} times: {said}")
    sys.exit(bool(fuzzer.found))


if __name__ == "__main__":
    main()
