"""What a warm request costs as its conversation grows: processor time of the engine, and of a proxy, at some turns.

    python -m benchmarks.growth [--before ../before/.venv/bin/python] [--kind made] [--wire chat] [--turns 100 300 600 960]

Each request is the next turn of a remembered conversation, another conversation each round; the least round counts. The wire
`marked` is `messages` with cache marks that move on with each request. With `--before`, the interpreter of another checkout, both
are measured in turn, and the ratio is printed too. Milliseconds: the median of the engine, the mean of the proxy, in which all
its threads count.

Lives here: conversations of short turns, and measuring them. Does not belong here: latency (``latency``), load (``throughput``).
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.latency import WORDS, KeptConnection
from benchmarks.support.data import conversations
from benchmarks.support.load import quick_upstream
from benchmarks.support.proxy import command, environment, free_port, serving
from benchmarks.support.taken import processor_seconds
from turnfold.compression.fold import fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.chat import CHAT
from turnfold.compression.wire.conversation import Wire
from turnfold.compression.wire.messages import MESSAGES
from turnfold.compression.wire.responses import RESPONSES
from turnfold.proxy.chat.trail import trails_of

_WARMING: Final = 16  # turns before those that are measured
_MEASURED: Final = 24  # about two fold events are among them


def _said(number: int) -> str:
    draw = random.Random(number)
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(5, 25))).capitalize() + "."


def _made(messages: int) -> list[dict[str, Any]]:
    """Made-up words, so few that any question bears on everything and recall takes all that it may."""
    return [{"role": ("user", "assistant")[i % 2], "content": _said(i)} for i in range(messages)]


def _locomo(messages: int) -> list[dict[str, Any]]:
    """Talk of people, one conversation behind the other."""
    texts = [m["content"] for one in conversations("NC_locomo") for m in one if m["role"] in ("user", "assistant")]
    return [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(islice(cycle(texts), messages))]


def _loops(messages: int) -> list[dict[str, Any]]:
    """One task, and a tool loop under it."""
    found: list[dict[str, Any]] = [{"role": "user", "content": "Find the crane that lifted most, and never touch a manifest."}]
    for i in range(messages // 2):
        call = {"name": "look_up", "arguments": json.dumps({"crane": i, "why": _said(i)})}
        found.append(
            {"role": "assistant", "content": _said(-i), "tool_calls": [{"id": f"c{i}", "type": "function", "function": call}]}
        )
        found.append({"role": "tool", "tool_call_id": f"c{i}", "content": _said(2 * i) + _said(3 * i)})
    return found


KINDS: Final[dict[str, Callable[[int], list[dict[str, Any]]]]] = {"made": _made, "locomo": _locomo, "loops": _loops}


Talk = list[dict[str, Any]]


def _as_items(talk: Talk) -> Talk:
    """The same as items of the Responses API: calls and results are items of their own."""
    found: Talk = []
    for one in talk:
        if one["role"] == "tool":
            found.append({"type": "function_call_output", "call_id": one["tool_call_id"], "output": one["content"]})
            continue
        found.append({"role": one["role"], "content": one["content"]})
        calls = one.get("tool_calls", ())
        found += [{"type": "function_call", "call_id": call["id"], **call["function"]} for call in calls]
    return found


def _as_blocks(talk: Talk) -> Talk:
    """The same as messages of Anthropic's API: calls and results are blocks."""
    found: Talk = []
    for one in talk:
        if one["role"] == "tool":
            result = {"type": "tool_result", "tool_use_id": one["tool_call_id"], "content": one["content"]}
            found.append({"role": "user", "content": [result]})
        elif one.get("tool_calls"):
            uses = [
                {"type": "tool_use", "id": call["id"], "name": "look_up", "input": json.loads(call["function"]["arguments"])}
                for call in one["tool_calls"]
            ]
            found.append({"role": "assistant", "content": [{"type": "text", "text": one["content"]}, *uses]})
        else:
            found.append(one)
    return found


def _marked(talk: Talk) -> Talk:
    """Cache marks on the newest two messages of a user's, as agents set them: they move on with each request."""
    talk = list(talk)
    for at in [i for i, one in enumerate(talk) if one.get("role") == "user"][-2:]:
        content = talk[at]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        talk[at] = {**talk[at], "content": [*blocks[:-1], {**blocks[-1], "cache_control": {"type": "ephemeral"}}]}
    return talk


class _Format(NamedTuple):
    """A wire, its path, its own form of a talk, and what a request of it is."""

    wire: Wire
    path: str
    model: str
    own: Callable[[Talk], Talk]
    body: Callable[[str, Talk], dict[str, Any]]


FORMATS: Final = {
    "chat": _Format(
        CHAT,
        "/v1/chat/completions",
        "gpt-4o",
        list,
        lambda first, talk: {"messages": [{"role": "system", "content": first}, *talk]},
    ),
    "responses": _Format(
        RESPONSES, "/v1/responses", "gpt-4o", _as_items, lambda first, talk: {"instructions": first, "input": talk}
    ),
    "messages": _Format(
        MESSAGES,
        "/v1/messages",
        "claude-sonnet-4-5",
        _as_blocks,
        lambda first, talk: {"max_tokens": 100, "system": first, "messages": talk},
    ),
    "marked": _Format(
        MESSAGES,
        "/v1/messages",
        "claude-sonnet-4-5",
        _as_blocks,
        lambda first, talk: {"max_tokens": 100, "system": first, "messages": _marked(talk)},
    ),
}


def bodies(kind: str, wire: str, turn: int, number: int = 0) -> list[bytes]:
    """The requests of a conversation up to a turn and behind it."""
    ends = [2 * number + 1 for number in range(turn - _WARMING, turn + _MEASURED)]
    talk, form = KINDS[kind](ends[-1]), FORMATS[wire]
    talks = [form.own(talk[:end]) for end in ends]
    return [json.dumps({"model": form.model, **form.body(f"Conversation {number}.", one)}).encode() for one in talks]


def engine(kind: str, wire: str, turn: int) -> float:
    """Milliseconds of a turn in process."""
    form = FORMATS[wire]
    memo, options, times = Memo(), FoldOptions(model=form.model), []
    for body in bodies(kind, wire, turn):
        begun = time.thread_time()
        read = form.wire.read(body, memo)
        folded = fold(read, options, memo)
        _ = folded.body
        trails_of(read, folded.forwarded, memo)
        times.append(1000 * (time.thread_time() - begun))
    return statistics.median(times[_WARMING:])


def engine_of(python: str, kind: str, wire: str, turn: int) -> float:
    """The same in a process of a checkout's interpreter; this module is the same for both."""
    own = [python, "-m", "benchmarks.growth", "--engine", kind, wire, str(turn)]
    found = subprocess.run(own, check=True, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
    return float(found.stdout)


def proxy(client: KeptConnection, pid: int, requests: list[bytes], path: str) -> float:
    """Milliseconds of a turn through a proxy."""
    for body in requests[:_WARMING]:
        client.chat(body, path)
    begun = processor_seconds(pid)
    for body in requests[_WARMING:]:
        client.chat(body, path)
    return 1000 * (processor_seconds(pid) - begun) / _MEASURED


def main() -> None:
    """Measure each turn, checkouts in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", help="interpreter of another checkout")
    parser.add_argument("--kind", choices=KINDS, default="made")
    parser.add_argument("--wire", choices=FORMATS, default="chat")
    parser.add_argument("--turns", type=int, nargs="+", default=[100, 300, 600, 960])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engine", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.engine:
        print(engine(chosen.engine[0], chosen.engine[1], int(chosen.engine[2])))
        return
    pythons = [python for python in (chosen.before, sys.executable) if python]
    with ExitStack() as stack:
        upstream = stack.enter_context(quick_upstream())
        servers = []
        for python in pythons:
            port = free_port()
            own = {
                "upstream_url": f"http://127.0.0.1:{upstream}/v1",
                "port": str(port),
                "store_url": "memory://",
                "log_level": "error",
            }
            ready = f"http://127.0.0.1:{port}/readyz"
            pid = stack.enter_context(serving(command("serve", python=python), environment(**own), ready))
            servers.append((stack.enter_context(closing(KeptConnection(port))), pid))
        path = FORMATS[chosen.wire].path
        for turn in chosen.turns:
            in_process = [[engine_of(python, chosen.kind, chosen.wire, turn) for python in pythons] for _ in range(chosen.rounds)]
            served = [
                [proxy(*server, bodies(chosen.kind, chosen.wire, turn, n), path) for server in servers]
                for n in range(chosen.rounds)
            ]
            for what, rounds in (("engine", in_process), ("proxy", served)):
                least = [min(column) for column in zip(*rounds, strict=True)]
                ratio = f"  ratio {least[1] / least[0]:.2f}" if len(least) > 1 else ""
                print(
                    f"{chosen.wire} {chosen.kind} turn {turn:4} {what:6}",
                    *(f"{value:7.2f} ms" for value in least),
                    ratio,
                    flush=True,
                )


if __name__ == "__main__":
    main()
