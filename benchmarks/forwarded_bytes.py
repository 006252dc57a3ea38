"""What is forwarded for every development conversation, as hashes: whether a change of the code changes a byte.

    python -m benchmarks.forwarded_bytes run before.json --python ../before/.venv/bin/python
    python -m benchmarks.forwarded_bytes run after.json
    python -m benchmarks.forwarded_bytes compare before.json after.json

`run` starts ``turnfold serve`` in front of an upstream that hashes, and sends it the cases of ``support.forwarded_cases``.
`--python` is the interpreter of the checkout to serve; `--quick` sends a sample in under a minute. `compare` prints "identical"
and exits with 0, or lists what differs and exits with 1. `--common` compares only cases that both runs have: use it to compare a
quick run with a full one.

A run also records the output of ``turnfold inspect`` (group "inspect"), the text that replaces each folded section ("instead")
and the answers of drill-down ("drill-down"). These may change on purpose: `compare --without GROUP` skips a group.

It sends, hashes and compares. Nothing of Turnfold is imported, which is used through its command line and HTTP only; the cases
are chosen in ``support.forwarded_cases``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection, HTTPMessage
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from benchmarks.support.forwarded_cases import CHAT, FULL, MODELS, QUICK, Case, Chain, Data, Scale, Talk, encode, parts, read
from benchmarks.support.proxy import command, environment, turnfold
from benchmarks.support.upstream import CASE, Hasher, serve

#: The recorded result of a case: its reply headers, and the SHA-256 of every body that reached the upstream.
Result = dict[str, Any]
Results = dict[str, Result]

_ADMIN: Final = {"x-turnfold-admin-token": "admin"}
#: A slow machine must not change a result: no fold times out, and no original is evicted.
_ALWAYS: Final = {"fold_timeout": "600", "admin_token": "admin", "store_memory_bytes": str(2**30)}
_AT_ONCE: Final = 2
_SECTIONS: Final = 4  # sections of a request to drill into; layers 1 and 2 are slow to make
_HEADERS: Final = ("status", "reason", "tokens-before", "tokens-after", "state")


def digest(data: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def digest_of(value: Any) -> str:
    """The SHA-256 of a JSON value; the order of its keys does not matter."""
    return digest(json.dumps(value, sort_keys=True).encode())


class Sender:
    """A kept connection to a proxy in front of an upstream that hashes."""

    def __init__(self, base: str, upstream: Hasher) -> None:
        self._connection = HTTPConnection(urlsplit(base).netloc, timeout=900)
        self._upstream = upstream

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def ask(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[HTTPMessage, int, bytes]:
        """One call: headers, status and body of the answer."""
        self._connection.request(method, path, body, {"content-type": "application/json", **headers})
        response = self._connection.getresponse()
        return response.headers, response.status, response.read()

    def send(self, case: Case) -> Result:
        """Send a case; its result."""
        headers, status, answer = self.ask(case.method, case.path, case.body, {**case.headers, CASE: case.key})
        if case.path != CHAT:
            return {"http": status, "answer": digest(answer)}
        # One more round trip, so that the proxy has stored what it learned from this answer before the chain's next case.
        self.ask("GET", "/healthz", b"", {})
        result: Result = {name: value for name in _HEADERS if (value := headers.get(f"x-turnfold-{name}")) is not None}
        sent = self._upstream.sent.pop(case.key, [])
        said = {} if sent else {"said": digest_of(_said(answer))}
        return {**result, "http": status, "sent": sent, **said}

    def request_id(self, case: Case) -> str:
        """Send a case; the request id that the proxy gave it."""
        return self.ask(case.method, case.path, case.body, case.headers)[0]["x-turnfold-request-id"]


def _said(answer: bytes) -> Any:
    """The content of the proxy's own answer, without ids and times."""
    try:
        value = json.loads(answer)
    except ValueError:
        return answer.decode("utf-8", "replace")
    return value.get("choices", value)


def run(python: str, scale: Scale) -> Results:
    """Send every case; the results by key.

    Raises:
        FileNotFoundError: the evaluation data is not here.
    """
    data, results = read(scale), Results()
    for part in parts(data):
        with serve(Hasher()) as upstream, turnfold(upstream.url, python, **_ALWAYS, **part.settings) as base:
            results |= _send_all(part.chains, base, upstream)
    with (
        serve(Hasher()) as upstream,
        turnfold(upstream.url, python, **_ALWAYS) as base,
        closing(Sender(base, upstream)) as sender,
    ):
        results |= _sections(data, sender)
    results |= _inspected(data, python)
    return dict(sorted(results.items()))


def _send_all(chains: Iterable[Chain], base: str, upstream: Hasher) -> Results:
    results: Results = {}
    waiting, lock = iter(chains), threading.Lock()

    def work() -> None:
        with closing(Sender(base, upstream)) as sender:
            while True:
                with lock:
                    chain = next(waiting, None)
                if chain is None:
                    return
                for case in chain:
                    assert case.key not in results, case.key
                    results[case.key] = sender.send(case)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for one in [pool.submit(work) for _ in range(_AT_ONCE)]:
            one.result()
    return results


def _sections(data: Data, sender: Sender) -> Results:
    """The text that replaces each section of some folded requests, and the answers of drill-down."""
    results: Results = {}
    for talk in data.sample(1):
        for model in (MODELS[0], MODELS[-1]):
            stem = f"{model}/{talk.name}"
            case = Case(stem, encode(talk.ending(), model))
            path = f"/admin/requests/{sender.request_id(case)}"
            found = json.loads(sender.ask("GET", path, b"", _ADMIN)[2])
            for number, section in enumerate(found["sections"]):
                name = f"{stem}/{number}"
                instead = section["instead"]
                results[f"instead/{name}"] = {"id": section["id"], "level": section["level"], "instead": digest_of(instead)}
                if number < _SECTIONS:
                    results[f"drill-down/{name}"] = _drilled(sender, section["id"])
    return results


def _drilled(sender: Sender, section: str) -> Result:
    found: Result = {"id": section}
    for layer in range(3):
        body = json.dumps({"section_id": section, "target_layer": layer}).encode()
        found[f"layer-{layer}"] = digest(sender.ask("POST", "/v1/drill-down", body, {})[2])
    return found


def _inspected(data: Data, python: str) -> Results:
    """The output of ``turnfold inspect`` for some bodies: plain, with a budget, with a small window."""
    ways: dict[str, tuple[str, list[str], dict[str, str]]] = {
        "plain": (MODELS[0], [], {}),
        "budget": (MODELS[1], ["--budget", "2000"], {}),
        "window": ("small", [], {"models": json.dumps({"small": {"window": 4000}})}),
    }
    talks = [talk for n, talk in enumerate(data.sample(1)) if n % 3 == 0]

    def inspect(talk: Talk, way: str) -> tuple[str, Result]:
        model, arguments, settings = ways[way]
        with tempfile.TemporaryDirectory() as directory:
            (Path(directory) / "request.json").write_bytes(encode(talk.ending(), model))
            line = command("inspect", "request.json", "--json", *arguments, python=python)
            done = subprocess.run(line, env=environment(**settings), cwd=directory, capture_output=True, check=True)
        found = json.loads(done.stdout).items()
        return f"inspect/{way}/{talk.name}", {name: value if name == "tokens" else _hashed(value) for name, value in found}

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(pool.map(lambda pair: inspect(*pair), [(talk, way) for talk in talks for way in ways]))


def _hashed(value: Any) -> Any:
    return digest_of(value) if isinstance(value, dict | list) else value


def group_of(key: str) -> str:
    """The group that a case is listed in."""
    return key.partition("/")[0]


def differences(one: Results, other: Results, *, common: bool = False, without: Sequence[str] = ()) -> dict[str, list[str]]:
    """The differences by group, one line per case.

    Args:
        common: skip cases that only one of the runs has.
        without: groups to skip.
    """
    found: defaultdict[str, list[str]] = defaultdict(list)
    for key in sorted(one.keys() | other.keys()):
        here, there = one.get(key), other.get(key)
        if here == there or group_of(key) in without or (common and (here is None or there is None)):
            continue
        found[group_of(key)].append(f"{key}: {_difference(here, there)}")
    return dict(found)


def _difference(one: Result | None, other: Result | None) -> str:
    if one is None or other is None:
        return "only in the second" if one is None else "only in the first"
    names = [name for name in {**one, **other} if one.get(name) != other.get(name)]
    return ", ".join(f"{name} {_short(one.get(name))} > {_short(other.get(name))}" for name in names)


def _short(value: Any) -> str:
    return "-".join(part[:8] for part in value) if isinstance(value, list) else str(value)[:24]


def compare(one: Results, other: Results, *, most: int, common: bool, without: Sequence[str]) -> int:
    """Print the differences, at most `most` cases of each group; the exit status."""
    sizes = Counter(group_of(key) for key in one.keys() | other.keys())
    found = differences(one, other, common=common, without=without)
    if not found:
        print("identical")
        return 0
    for group, lines in found.items():
        print(f"{group}: {len(lines)} of {sizes[group]} cases differ")
        for line in lines[:most]:
            print(f"  {line}")
        if len(lines) > most:
            print(f"  ... and {len(lines) - most} more")
    return 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="hash what is forwarded")
    running.add_argument("output", type=Path)
    running.add_argument("--python", default=sys.executable, help="interpreter of the checkout that serves; default: this one")
    running.add_argument("--quick", action="store_true", help="send a sample, in under a minute")
    comparing = commands.add_parser("compare", help="compare two runs")
    comparing.add_argument("one", type=Path)
    comparing.add_argument("other", type=Path)
    comparing.add_argument("--common", action="store_true", help="compare only cases that both runs have")
    comparing.add_argument("--without", action="append", default=[], metavar="GROUP", help="skip a group")
    comparing.add_argument("--most", type=int, default=20, help="cases to list per group")
    return parser.parse_args()


def main() -> int:
    """Entry point."""
    args = _arguments()
    if args.command == "compare":
        one, other = (json.loads(path.read_text("utf-8")) for path in (args.one, args.other))
        return compare(one, other, most=args.most, common=args.common, without=args.without)
    begun = time.monotonic()
    results = run(os.path.abspath(args.python), QUICK if args.quick else FULL)
    args.output.write_text(json.dumps(results, indent=0), "utf-8")
    groups = Counter(map(group_of, results))
    listed = ", ".join(f"{number:,} {name}" for name, number in groups.items())
    print(f"{len(results):,} cases in {time.monotonic() - begun:.0f} s: {listed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
