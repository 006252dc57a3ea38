"""Many conversations and several proxies on one Redis: what it holds, what a request asks of it, what hopping costs.

    python -m benchmarks.many carry [--conversations 10000]
    python -m benchmarks.many hop [--conversations 12]
    python -m benchmarks.many memo

It takes the three measures. Servers are started by ``support.faulty``.

`carry` writes conversations of 20,000 tokens through the ledger, as requests do, into a real Valkey, and asks it what each kind
of key takes. The text is that of one conversation, each under ids of its own. `hop` sends growing conversations to one replica,
to another one each turn, and to two workers of one address. `memo` folds one conversation with and without what a replica
remembers of it, and says what fetching that memory would take instead.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import pickle
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.support.faulty import FaultyUpstream, Served, Valkey, end_cleanly, long
from turnfold.compression.fold import fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.config.settings import Settings, StoreSettings
from turnfold.proxy.app import Parts
from turnfold.proxy.books.section_records import packed
from turnfold.proxy.chat.receipts import PackedSection, Receipt, Usage

_SENTENCES: Final = 16
_TURNS: Final = 33
_REQUESTS: Final = 20  # of a conversation
_OPTIONS: Final = FoldOptions()


def _conversation(number: int, turns: int = _TURNS) -> dict[str, Any]:
    return long(number, turns, sentences=_SENTENCES)


def _sections() -> list[PackedSection]:
    kept = Memo(64 * 2**20)
    return [packed(section) for section in fold(CHAT.read(json.dumps(_conversation(1)).encode(), kept), _OPTIONS, kept).sections]


def _receipt(conversation: int, turn: int) -> Receipt:
    return Receipt(
        request_id=f"tf-{conversation:012x}{turn:012x}", at=time.time(), tenant="7c0e" * 8, model="gpt-4o",
        conversation=f"{conversation:032x}", status="folded", reason="", tokens_before=20_000, tokens_after=7_000,
        usage=Usage(7000, 200, 3000, 0), upstream_status=200, overhead_ms=1.2, first_byte_ms=300.0, total_ms=2000.0,
        streamed=True, complete=True,
    )  # fmt: skip


async def _write(url: str, conversations: int) -> float:
    """Seconds of this process's processor."""
    sections = _sections()
    parts = Parts(Settings(store=StoreSettings(url=url)))
    start = time.process_time()
    async with parts.running():
        for number in range(conversations):
            own = tuple(replace(section, id=f"{number:x}-{section.id}") for section in sections)
            for turn in range(_REQUESTS):
                parts.ledger.record(_receipt(number, turn), own if turn == _REQUESTS - 1 else ())
            while parts.ledger.queued > 2_000:  # noqa: ASYNC110 - nothing tells when there is room again
                await asyncio.sleep(0.01)
    assert not parts.ledger.dropped
    assert not parts.ledger.dropped_originals
    return time.process_time() - start


_KINDS: Final = {b"i": "items: ", b"c": "index of a conversation", b"k": "index of kinds", b"s": "index of indexes"}


def _kind(key: bytes) -> str:
    name = key.partition(b"}:")[2].split(b":")
    if name[0] in {b"l", b"n", b"b"}:
        return {b"l": "receipts", b"n": "sums: " + name[1].decode(), b"b": "marks of batches"}[name[0]]
    return _KINDS[name[0]] + (name[1].decode() if name[0] == b"i" else "")


def carry(conversations: int) -> None:
    """What each kind of key takes, and what one request asks of the server."""
    valkey = Valkey("--appendonly", "no")
    try:
        client = valkey.client()
        empty = client.info("memory")["used_memory"]
        started = time.time()
        cpu = asyncio.run(_write(valkey.url, conversations))
        took = time.time() - started
        info = client.info("all")
        requests = conversations * _REQUESTS
        sizes: Counter[str] = Counter()
        keys = list(client.scan_iter(count=10_000))
        for start in range(0, len(keys), 1000):
            pipe = client.pipeline(transaction=False)
            for key in keys[start : start + 1000]:
                pipe.memory_usage(key, samples=0)
            for key, size in zip(keys[start : start + 1000], pipe.execute(), strict=True):
                sizes[_kind(key)] += size or 0
        theirs = info["used_cpu_sys"] + info["used_cpu_user"]
        print(f"{conversations} conversations, {requests} requests, {took:.0f} s")
        print(f"processor, ms a request: {1000 * cpu / requests:.2f} of ours, {1000 * theirs / requests:.3f} of the server's")
        calls = {name.removeprefix("cmdstat_"): one["calls"] for name, one in info.items() if name.startswith("cmdstat_")}
        ours = ("evalsha", "eval", "mget")
        print("calls of a client: " + ", ".join(f"{name} {calls.get(name, 0) / requests:.3f}" for name in ours) + " a request")
        net = [info[f"total_net_{way}_bytes"] / requests for way in ("input", "output")]
        print(f"bytes a request: {net[0]:.0f} in, {net[1]:.0f} out")
        memory = (info["used_memory"] - empty) / conversations
        print(f"memory: {memory:.0f} bytes and {len(keys) / conversations:.1f} keys a conversation")
        for kind, size in sizes.most_common():
            print(f"- {kind}: {size / conversations:.0f} bytes a conversation")
    finally:
        valkey.close()


def _always(served: Served, turn: int) -> Served:
    del turn
    return served


def _talk(conversations: range, pick: Callable[[int], Served]) -> tuple[list[list[float]], list[list[float]]]:
    """Milliseconds of each turn, and those of a processor; of each the first turns, the second ones, and so on."""
    length = _TURNS - 26
    took: list[list[float]] = [[] for _ in range(length)]
    worked: list[list[float]] = [[] for _ in range(length)]
    for number in conversations:
        for turn in range(length):
            served = pick(turn)
            before = served.processor_seconds()
            seen = served.post(_conversation(number, 26 + turn))
            assert seen.said == "200", seen
            took[turn].append(1000 * seen.seconds)
            worked[turn].append(1000 * (served.processor_seconds() - before))
    return took, worked


def hop(conversations: int) -> None:
    """One replica, three that take turns, two workers."""
    upstream, valkey = FaultyUpstream(), Valkey()
    with tempfile.TemporaryDirectory() as folder:
        started: list[Served] = []
        try:
            started += [
                Served(upstream.url, Path(folder), store_url=valkey.url, workers=number) for number in ("1", "1", "1", "2")
            ]
            ways: dict[str, Callable[[int], Served]] = {
                "one replica": lambda _: started[0],
                "two replicas in turn": lambda turn: started[turn % 2],
                "three replicas in turn": lambda turn: started[turn % 3],
                "`--workers 2`": lambda _: started[3],
            }
            for served in started:
                _talk(range(9000, 9004), partial(_always, served))  # vocabularies, imports
            print("| way | first turn, median ms | later turns, median ms | slowest tenth |\n|---|---|---|---|")
            for number, (name, pick) in enumerate(ways.items()):
                before = valkey.client().info("stats")
                took, worked = _talk(range(1000 * number, 1000 * number + conversations), pick)
                after = valkey.client().info("stats")
                later = [one for turn in took[1:] for one in turn]
                slow = statistics.quantiles(later, n=10)[-1]
                print(f"| {name} | {statistics.median(took[0]):.0f} | {statistics.median(later):.0f} | {slow:.0f} |", flush=True)
                print("  (processor, mean ms of each turn: " + ", ".join(f"{statistics.mean(turn):.0f}" for turn in worked) + ")")
                count = conversations * len(took)
                made = [after[one] - before[one] for one in ("total_commands_processed", "total_net_input_bytes")]
                print(f"  ({made[0] / count:.1f} commands and {made[1] / count:.0f} bytes a request)")
        finally:
            for served in started:
                served.end()
            upstream.close()
            valkey.close()


def _best(work: Callable[[], object]) -> float:
    """Milliseconds of a processor, median of seven."""
    took = []
    for _ in range(7):
        start = time.thread_time()
        work()
        took.append(1000 * (time.thread_time() - start))
    return statistics.median(took)


def memo() -> None:
    """Making against fetching."""
    before, after = (json.dumps(_conversation(1, turns)).encode() for turns in (_TURNS - 1, _TURNS))

    def make(data: bytes, kept: Memo) -> None:
        fold(CHAT.read(data, kept), _OPTIONS, kept)

    make(after, Memo(64 * 2**20))  # imports, vocabularies
    cold = _best(lambda: make(after, Memo(64 * 2**20)))
    memos = []
    for _ in range(7):
        memos.append(Memo(64 * 2**20))
        make(before, memos[-1])
    rest = iter(memos)
    warm = _best(lambda: make(after, next(rest)))
    held = {slot: getattr(memos[0], slot) for slot in getattr(Memo, "__slots__", ()) or vars(memos[0])}
    print(f"cold {cold:.0f} ms, warm {warm:.0f} ms")
    parts = {}
    for name, value in held.items():
        try:
            parts[name] = pickle.dumps(value)
        except (TypeError, AttributeError, pickle.PicklingError) as exc:
            print(f"- {name}: cannot be sent ({exc})")
    size = sum(map(len, parts.values()))
    unpickled = _best(lambda: [pickle.loads(part) for part in parts.values()])  # noqa: S301 - made a line above
    print(f"what a memo holds of one such conversation: {size} bytes, {unpickled:.1f} ms to read")
    valkey = Valkey()
    client = valkey.client()
    client.set("memo", b"".join(parts.values()))
    print(f"fetched from a Valkey beside it with {_best(lambda: client.get('memo')):.1f} ms of our processor")
    valkey.close()


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("carry", "hop", "memo"))
    parser.add_argument("--conversations", type=int)
    given = parser.parse_args()
    end_cleanly()
    if given.what == "carry":
        carry(given.conversations or 10_000)
    elif given.what == "hop":
        hop(given.conversations or 12)
    else:
        memo()


if __name__ == "__main__":
    main()
