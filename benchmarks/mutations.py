"""How many random changes of the code the tests notice.

    python -m benchmarks.mutations map                        (which tests run which part of the code: as long as the suite)
    python -m benchmarks.mutations run --sample 200 --minutes 60
    python -m benchmarks.mutations retry                      (its survivors, by every test that may notice them)
    python -m benchmarks.mutations summary

It is the command: it copies the tree and gives the score. The changes are in `support/mutants.py`, the map is in
`support/test_map.py`, and tests are run by `support/mutation_runs.py`. Survivors are judged by people: whether a change makes any
difference is read, not computed.

Each mutation is made in a copy of the tree, never in the working files. The tests that run its block are tried: those of its
room first, then the others, of each as many as take so many seconds without a change. Of every test function one case comes
before the other cases. A mutation is caught when a test fails or hangs. A survivor of `run` may only have lacked the time for
the right test: `retry` tries it by all tests that run its block, by those of its room, by new ones, and by those that start a
Python. Hypothesis runs in the profile `small`; tests of growth and the evaluation data are not used.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from benchmarks.support import mutation_runs, test_map
from benchmarks.support.mutants import ROOT, SOURCES

#: What these run goes by in other processes, where nothing can be recorded or changed.
_LEFT_OUT: Final = ("tests/benchmarks", "tests/deploy", "tests/node")
# How time grows shows little while other work runs. Seconds by the clock, of which a test may get a twentieth of a processor.
_OPTIONS: Final = (
    *("-q", "-n", "0", "-p", "no:randomly", "-p", "no:cacheprovider", "-k", "not linear", "--timeout=180"),
    *(f"--ignore={folder}" for folder in _LEFT_OUT),
)


def _pytest(plugin: str, *options: str, **environment: str) -> None:
    """Run all tests of a copy of the tree with a plugin of ours.

    Raises:
        RuntimeError: pytest did not come to an end.
    """
    with _copy() as tree:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *_OPTIONS, "-p", plugin, *options],
            cwd=tree,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([*(str(tree / name) for name in SOURCES), os.environ.get("PYTHONPATH", "")]),
                "HYPOTHESIS_PROFILE": "small",
                # No name of the settings: doctor and serve refuse those that they do not know.
                **environment,
            },
            check=False,
        )
    if done.returncode > 2:  # a test that fails is no part of the map; 2: stopped when the time was over
        raise RuntimeError(f"pytest ended with {done.returncode}")


@contextmanager
def _copy() -> Iterator[Path]:
    """A copy of the tree, for as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="turnfold-mutations-", ignore_cleanup_errors=True) as folder:
        tree = Path(folder) / "tree"  # so that there is no evaluation data beside it
        listed = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
        for name in subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0"):
            if name and (ROOT / name).is_file():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, tree / name)
        yield tree


def summary(results: Sequence[dict[str, Any]]) -> str:
    """The score, by kind and by room, and the survivors; what is unclear is counted apart."""
    unclear = [one for one in results if one["result"] == "unclear"]
    results = [one for one in results if one["result"] != "unclear"]
    noticed = sum(one["result"] != "survived" for one in results)
    lines = [f"{noticed} of {len(results)} noticed ({noticed / max(1, len(results)):.1%}), {len(unclear)} unclear"]
    for group in ("kind", "room"):
        of, caught = Counter(one[group] for one in results), Counter(one[group] for one in results if one["result"] != "survived")
        lines += ["", *(f"  {name:24} {caught[name]:4} of {of[name]}" for name in sorted(of))]
    survivors = sorted((one for one in results if one["result"] == "survived"), key=lambda one: (one["path"], one["line"]))
    lines += ["", *(_line(one) for one in survivors)]
    return "\n".join(lines)


def _line(one: dict[str, Any]) -> str:
    tests = f"{one['tried']} of {one['tests']} tests"
    return f"{one['path']}:{one['line']} {one['kind']} ({tests}): {one['old']!r} -> {one['new']!r}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("map", "run", "retry", "summary"))
    parser.add_argument("--map", type=Path, nargs="+", default=[Path("map.json")], help="several if it was made in portions")
    parser.add_argument("--tests", nargs="+", default=["tests"], help="the only ones to map or to try (folders, files)")
    parser.add_argument("--output", type=Path, default=Path("mutations.jsonl"))
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--minutes", type=float, default=60.0, help="after which no test (map) or mutation (run) is begun")
    parser.add_argument("--seconds", type=float, default=40.0, help="of tests of the room, and again of the others")
    parser.add_argument("--room", action="append", default=[], help="draw from these only: how their names begin; or a file")
    parser.add_argument("--kind", action="append", default=[], help="draw from these only (constant, dropped call, ...)")
    args = parser.parse_args()
    maps = [str(path.resolve()) for path in args.map]
    if args.step == "map":
        minutes = {test_map.MINUTES: str(args.minutes)}
        _pytest("benchmarks.support.test_map", *args.tests, **{test_map.OUTPUT: maps[0]}, **minutes)
        return
    if args.step in ("run", "retry"):
        again = args.step == "retry"
        output = str(args.output.resolve())
        drawn = (args.sample, args.seed, args.minutes, args.seconds, args.room, args.kind)
        task = mutation_runs.Task(maps, output, *drawn, again)
        _pytest("benchmarks.support.mutation_runs", *args.tests, **{mutation_runs.TASK: json.dumps(asdict(task))})
    print(summary(mutation_runs.results(args.output)))


if __name__ == "__main__":
    main()
