"""What one more turn costs as a conversation grows: each turn sent to an upstream directly, through nginx and through Turnfold.

    python -m benchmarks.growth [--before ../before/.venv/bin/python] [--kind made] [--wires chat responses messages]
                                [--texts escaped utf8] [--turns 1000] [--rounds 2]

A conversation is played from its first turn to its last, so a turn is as warm as it is for a real client: whatever could be
known of the earlier turns is known. Each request goes to the upstream directly, to nginx and to Turnfold in turn, within
milliseconds of each other. A body that grows costs anybody who passes it on, so what counts is Turnfold's slope less nginx's.

Each figure is taken as the median of 20 turns (which leaves out fold events) and as their mean (which has them), averaged over
the rounds, each with other texts. A line is fitted to these by least squares from turn 400 on: its slope, as milliseconds for
each 100 turns, with the standard error, and its values at both ends. Processor time is that of all threads and
processes of a server, in nanoseconds from the scheduler.

It makes conversations of short turns and measures them. Latency is measured in ``latency``, load in ``throughput``.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks.latency import WORDS, KeptConnection
from benchmarks.support.data import conversations
from benchmarks.support.load import quick_upstream
from benchmarks.support.ports import free_port
from benchmarks.support.proxy import command, environment, serving
from benchmarks.support.taken import scheduled_seconds
from benchmarks.throughput import nginx
from turnfold.compression.fold import fold
from turnfold.compression.memo import Memo
from turnfold.compression.wire.conversation import Wire
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES
from turnfold.config.fold import fold_options
from turnfold.config.settings import Settings
from turnfold.proxy.trails.trail import trails_of

_WINDOW: Final = 20  # turns; about two fold events are among them
_FROM: Final = 400  # the turn from which on a line is fitted: folding has begun, at any price of cached tokens

Talk = list[dict[str, Any]]


def _said(number: int) -> str:
    draw = random.Random(number)
    text = " ".join(draw.choice(WORDS) for _ in range(draw.randint(5, 25))).capitalize() + "."
    return f"{text} \N{SLIGHTLY SMILING FACE}" if draw.random() < 0.1 else text


def _made(messages: int, seed: int) -> Talk:
    """Made-up words, so few that any question bears on everything and recall takes all that it may."""
    return [{"role": ("user", "assistant")[i % 2], "content": _said(10_000_000 * seed + i)} for i in range(messages)]


def _locomo(messages: int, seed: int) -> Talk:
    """Talk of people, one conversation behind the other, from another one on for each seed."""
    every = conversations("NC_locomo")
    turned = every[seed % len(every) :] + every[: seed % len(every)]
    texts = [m["content"] for one in turned for m in one if m["role"] in ("user", "assistant")]
    return [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(islice(cycle(texts), messages))]


def _loops(messages: int, seed: int) -> Talk:
    """One task, and a tool loop under it."""
    found: Talk = [{"role": "user", "content": f"Find the crane that lifted most in {seed}, and never touch a manifest."}]
    for i in range(messages // 2):
        number = 10_000_000 * seed + i
        function = {"name": "look_up", "arguments": json.dumps({"crane": i, "why": _said(number)})}
        call = {"id": f"c{i}", "type": "function", "function": function}
        found.append({"role": "assistant", "content": _said(-number), "tool_calls": [call]})
        found.append({"role": "tool", "tool_call_id": f"c{i}", "content": _said(2 * number) + _said(3 * number)})
    return found


KINDS: Final[dict[str, Callable[[int, int], Talk]]] = {"made": _made, "locomo": _locomo, "loops": _loops}


def _as_items(one: dict[str, Any]) -> Talk:
    """A message as items of the Responses API: calls and results are items of their own."""
    if one["role"] == "tool":
        return [{"type": "function_call_output", "call_id": one["tool_call_id"], "output": one["content"]}]
    calls = [{"type": "function_call", "call_id": call["id"], **call["function"]} for call in one.get("tool_calls", ())]
    return [{"role": one["role"], "content": one["content"]}, *calls]


def _as_blocks(one: dict[str, Any]) -> Talk:
    """A message as one of Anthropic's API: calls and results are blocks."""
    if one["role"] == "tool":
        result = {"type": "tool_result", "tool_use_id": one["tool_call_id"], "content": one["content"]}
        return [{"role": "user", "content": [result]}]
    uses = [
        {"type": "tool_use", "id": call["id"], "name": "look_up", "input": json.loads(call["function"]["arguments"])}
        for call in one.get("tool_calls", ())
    ]
    return [{"role": "assistant", "content": [{"type": "text", "text": one["content"]}, *uses]} if uses else one]


def _marked(one: dict[str, Any]) -> dict[str, Any]:
    """A message with a cache mark on its last block."""
    content = one["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {**one, "content": [*blocks[:-1], {**blocks[-1], "cache_control": {"type": "ephemeral"}}]}


class Format(NamedTuple):
    """A wire, its path, its own form of a message, what a request holds beside messages, and where these go."""

    wire: Wire
    path: str
    own: Callable[[dict[str, Any]], Talk]
    head: dict[str, Any]
    key: str
    marks: bool = False


_CLAUDE: Final = {"model": "claude-sonnet-4-5", "max_tokens": 100, "system": "Answer in a sentence."}
FORMATS: Final = {
    "chat": Format(CHAT, "/v1/chat/completions", lambda one: [one], {"model": "gpt-4o"}, "messages"),
    "responses": Format(
        RESPONSES, "/v1/responses", _as_items, {"model": "gpt-4o", "instructions": "Answer in a sentence."}, "input"
    ),
    "messages": Format(MESSAGES, "/v1/messages", _as_blocks, _CLAUDE, "messages"),
    "marked": Format(MESSAGES, "/v1/messages", _as_blocks, _CLAUDE, "messages", marks=True),
}


@dataclass(frozen=True, slots=True)
class Play:
    """A conversation to be sent turn by turn.

    Attributes:
        text: "escaped" writes what is not ASCII in escapes, as Python's clients do; "utf8" as it is, as most others do.
        seed: tells one round's texts from another's.
    """

    kind: str
    wire: str
    text: str
    turns: int
    seed: int

    def bodies(self) -> Iterator[bytes]:
        """The request of each turn. With marks, the newest two messages of a user's have one, as agents set them."""
        form = FORMATS[self.wire]
        head = self._dump(form.head).removesuffix(b"}") + b', "%s": [' % form.key.encode()
        own = [form.own(one) for one in KINDS[self.kind](2 * self.turns, self.seed)]
        pieces: list[bytes] = []
        users: list[tuple[int, dict[str, Any]]] = []
        for turn in range(self.turns):
            for one in own[max(0, 2 * turn - 1) : 2 * turn + 1]:
                users += [(len(pieces) + at, element) for at, element in enumerate(one) if element.get("role") == "user"]
                pieces += map(self._dump, one)
            sent = list(pieces)
            for at, element in users[-2:] if form.marks else ():
                sent[at] = self._dump(_marked(element))
            yield head + b", ".join(sent) + b"]}"

    def _dump(self, value: Any) -> bytes:
        return json.dumps(value, ensure_ascii=self.text == "escaped").encode()


def engine(play: Play) -> list[float]:
    """Milliseconds of each turn in process."""
    form, memo, times = FORMATS[play.wire], Memo(), []
    options = fold_options(Settings(), form.head["model"])
    gc.freeze()
    for body in play.bodies():
        begun = time.thread_time()
        read = form.wire.read(body, memo)
        folded = fold(read, options, memo)
        _ = folded.body
        trails_of(read, folded.forwarded, memo)
        times.append(1000 * (time.thread_time() - begun))
    return times


def engine_of(python: str, play: Play) -> list[float]:
    """The same in a process of a checkout's interpreter; this module is the same for both."""
    own = [python, "-m", "benchmarks.growth", "--engine", play.kind, play.wire, play.text, str(play.turns), str(play.seed)]
    found = subprocess.run(own, check=True, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
    return [float(one) for one in found.stdout.split()]


@dataclass(frozen=True, slots=True)
class Way:
    """A way to the upstream: a connection, and the process on it (0: none)."""

    name: str
    client: KeptConnection
    pid: int


def served(ways: list[Way], play: Play) -> dict[str, list[float]]:
    """Milliseconds of each turn on each way, by the clock and of a processor."""
    taken: dict[str, list[float]] = {f"{way.name}, {what}": [] for way in ways for what in ("clock", "processor") if way.pid}
    taken |= {f"{way.name}, clock": [] for way in ways}
    path = FORMATS[play.wire].path
    for body in play.bodies():
        for way in ways:
            before = scheduled_seconds(way.pid) if way.pid else 0.0
            _, whole, _ = way.client.chat(body, path, authorization=f"Bearer sk-{play.seed}")
            taken[f"{way.name}, clock"].append(whole)
            if way.pid:
                taken[f"{way.name}, processor"].append(1000 * (scheduled_seconds(way.pid) - before))
    return taken


class Line(NamedTuple):
    """A fitted line: milliseconds for each 100 turns, their standard error, and the values at both ends."""

    slope: float
    error: float
    first: float
    last: float


def fitted(values: np.ndarray[Any, Any]) -> Line:
    """A line through one value for each window, by least squares, from the first turn that counts."""
    turns = (np.arange(len(values)) + 0.5) * _WINDOW / 100
    begun = turns >= _FROM / 100
    x, y = turns[begun], values[begun]
    slope, base = np.polyfit(x, y, 1)
    rest = y - (slope * x + base)
    error = np.sqrt(rest @ rest / (len(x) - 2) / ((x - x.mean()) @ (x - x.mean())))
    return Line(float(slope), float(error), float(base + slope * x[0]), float(base + slope * x[-1]))


def in_windows(rounds: list[list[float]], middle: Callable[[list[float]], float]) -> np.ndarray[Any, Any]:
    """A value for each window of turns, averaged over the rounds."""
    found = [[middle(one[at : at + _WINDOW]) for at in range(0, len(one) - _WINDOW + 1, _WINDOW)] for one in rounds]
    return np.array([statistics.fmean(column) for column in zip(*found, strict=True)])


def _row(named: str, what: str, values: dict[str, np.ndarray[Any, Any]]) -> str:
    lines = [fitted(values[middle]) for middle in ("median", "mean")]
    cells = " | ".join(f"{one.slope:+.3f} ± {one.error:.3f} | {one.first:.2f} to {one.last:.2f}" for one in lines)
    return f"| {named} | {what} | {cells} |"


def show(named: str, taken: dict[str, list[list[float]]]) -> None:
    """A row for each figure, and for what Turnfold's has beyond nginx's and the upstream's own."""
    middles: dict[str, Callable[[list[float]], float]] = {"median": statistics.median, "mean": statistics.fmean}
    found = {what: {name: in_windows(rounds, of) for name, of in middles.items()} for what, rounds in taken.items()}
    for what, values in found.items():
        print(_row(named, what, values))
    for what, less in (("processor", "nginx"), ("clock", "nginx"), ("clock", "direct")):
        one, other = found.get(f"turnfold, {what}"), found.get(f"{less}, {what}")
        if one is not None and other is not None:
            print(_row(named, f"**turnfold less {less}**, {what}", {name: one[name] - other[name] for name in middles}))
    sys.stdout.flush()


def main() -> None:
    """Play the conversations, each on all ways."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", help="interpreter of another checkout, measured beside this one")
    parser.add_argument("--kind", choices=KINDS, default="made")
    parser.add_argument("--wires", choices=FORMATS, nargs="+", default=["chat", "responses", "messages"])
    parser.add_argument("--texts", choices=("escaped", "utf8"), nargs="+", default=["escaped", "utf8"])
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only-engine", action="store_true", help="in process alone")
    parser.add_argument("--engine", nargs=5, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.engine:
        kind, wire, text, turns, seed = chosen.engine
        print(*engine(Play(kind, wire, text, int(turns), int(seed))))
        return
    pythons = {"before": chosen.before} if chosen.before else {}
    pythons["turnfold"] = sys.executable
    print(
        "| | ms | median of 20 turns: for each 100 turns | from turn 400 to the last | mean of 20 turns: for each 100 | from to |"
    )
    print("|---|---|---|---|---|---|", flush=True)
    with ExitStack() as stack:
        ways = [] if chosen.only_engine else _ways(stack, pythons)
        for wire in chosen.wires:
            for text in chosen.texts:
                taken: dict[str, list[list[float]]] = {}
                for seed in range(chosen.rounds):
                    play = Play(chosen.kind, wire, text, chosen.turns, seed)
                    times = {f"{name}, engine": engine_of(python, play) for name, python in pythons.items()}
                    for what, values in (times | (served(ways, play) if ways else {})).items():
                        taken.setdefault(what, []).append(values)
                show(f"{wire} {text}", taken)
    print(f"load average behind it: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def _ways(stack: ExitStack, pythons: dict[str, str]) -> list[Way]:
    upstream = stack.enter_context(quick_upstream())
    ways = [Way("direct", stack.enter_context(closing(KeptConnection(upstream))), 0)]
    other = stack.enter_context(nginx(upstream))
    if other is not None:
        ways.append(Way("nginx", stack.enter_context(closing(KeptConnection(other.port))), other.pid))
    for name, python in pythons.items():
        port = free_port()
        own = {"upstream_url": f"http://127.0.0.1:{upstream}/v1", "port": str(port), "store_url": "memory://"}
        ready = f"http://127.0.0.1:{port}/readyz"
        own |= {"log_level": "error"}
        pid = stack.enter_context(serving(command("serve", python=python), environment(**own), ready))
        ways.append(Way(name, stack.enter_context(closing(KeptConnection(port))), pid))
    return ways


if __name__ == "__main__":
    main()
