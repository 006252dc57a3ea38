"""Two replicas on one store that fails in the middle of their clients' talk: what clients, the upstream and the books see.

    python -m benchmarks.outages                              # all of them, about nine minutes
    python -m benchmarks.outages cluster-killed ...           # these; --list names them
    python -m benchmarks.outages --summaries cluster-killed   # with a model that writes summaries and a window to learn

It has the clients, and tells what became of each outage. The outages are in ``support.outages``, the servers in
``support.faulty``.

Conversations grow by a turn at a time and go to the other replica each turn. The same bodies go to one process on ``memory://``
first, without an outage: what it forwarded is what both replicas are to forward.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.client
import json
import re
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.support.faulty import ANSWER, FaultyUpstream, Served, end_cleanly, wait_for
from benchmarks.support.outages import OUTAGES, Outage
from tests.support.summary_writer import answer as summary_answer
from tests.support.summary_writer import faithful
from tests.support.words import prose

_CONVERSATIONS: Final = 12
_FIRST: Final = 24  # turns at the start: some 5,000 tokens
_RATE: Final = 20.0  # requests a second
_BEGINS: Final = 8.0  # seconds into the talk
_LASTS: Final = 8.0
_WINDOW: Final = 4500  # tokens that the upstream takes of the model with a window to learn
_WRITER: Final = "gpt-4o-mini"
_NARROW: Final = "gpt-4"


def _body(conversation: int, turns: int, model: str = "gpt-4o") -> bytes:
    roles = ("user", "assistant")
    messages = [{"role": roles[i % 2], "content": prose(5000 * conversation + i, "en", 8)} for i in range(2 * turns + 1)]
    return json.dumps({"model": model, "messages": messages}).encode()


class Upstream(FaultyUpstream):
    """Remembers what it was sent, by the name that the client gave each request.

    Attributes:
        sent: hashes of the bodies under each name, in order.
        prompt: tokens that it billed.
        summaries: how many it wrote.
    """

    def __init__(self, cached: float = 0.0) -> None:
        super().__init__()
        self._cached = cached
        self.sent: dict[str, list[str]] = {}
        self.prompt = 0
        self.answered = 0
        self.summaries = 0
        self._lock = threading.Lock()

    def _answer(self, connection: Any, request: bytes) -> bool:
        head, _, body = request.partition(b"\r\n\r\n")
        named = re.search(rb"(?i)x-trial: (\S+)", head)
        tokens = len(body) // 5
        status, answer = 200, ANSWER
        asked = json.loads(body)
        if named is None:
            answer = summary_answer("chat", faithful(body))
        elif asked["model"] == _NARROW and tokens > _WINDOW:
            said = f"This model's maximum context length is {_WINDOW} tokens. However, your messages resulted in {tokens} tokens."
            answer = json.dumps(
                {"error": {"message": said, "type": "invalid_request_error", "code": "context_length_exceeded"}}
            ).encode()
            status = 400
        else:
            usage: dict[str, Any] = {"prompt_tokens": tokens, "completion_tokens": 5, "total_tokens": tokens + 5}
            if self._cached:
                usage["prompt_tokens_details"] = {"cached_tokens": int(self._cached * tokens)}
            answer = json.dumps({"id": "c", "model": asked["model"], "choices": [], "usage": usage}).encode()
        with self._lock:
            if named is None:
                self.summaries += 1
            else:
                self.sent.setdefault(named[1].decode(), []).append(hashlib.sha256(body).hexdigest())
                if status == 200:
                    self.prompt += tokens
                    self.answered += 1
        time.sleep(0.02)
        told = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(answer)}\r\n\r\n"
        connection.sendall(told.encode() + answer)
        return True


@dataclass(frozen=True, slots=True)
class Told:
    """What a client saw of one request: seconds since the talk began, and how many it took."""

    name: str
    began: float
    seconds: float
    said: str
    id: str
    folded: str


def _post(served: Served, name: str, body: bytes, start: float) -> Told:
    began = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=40)
    request_id = folded = ""
    try:
        headers = {"authorization": "Bearer sk-anna", "content-type": "application/json", "x-trial": name}
        connection.request("POST", "/v1/chat/completions", body, headers)
        answer = connection.getresponse()
        request_id, folded = (answer.getheader(f"x-turnfold-{part}", "") for part in ("request-id", "status"))
        answer.read()
        said = str(answer.status)
    except (OSError, http.client.HTTPException) as exc:
        said = type(exc).__name__
    finally:
        connection.close()
    return Told(name, began - start, time.monotonic() - began, said, request_id, folded)


class Watch(threading.Thread):
    """When a replica has its store in use, seen from outside.

    Attributes:
        turns: seconds of the talk, and whether the store was in use from then on.
        slowest: seconds of the slowest answer of ``/readyz``.
    """

    def __init__(self, served: Served, start: float) -> None:
        super().__init__(daemon=True)
        self._served, self._start = served, start
        self._ended = threading.Event()
        self.turns: list[tuple[float, bool]] = []
        self.not_ready = 0
        self.start()

    def run(self) -> None:
        """Look until told to end."""
        while not self._ended.wait(0.05):
            status, data = self._served.get("/readyz")
            self.not_ready += status != 200
            up = status == 200 and json.loads(data)["checks"]["store"] == "ok"
            if not self.turns or self.turns[-1][1] != up:
                self.turns.append((time.monotonic() - self._start, up))

    def told(self) -> str:
        """For how long, of the outage's seconds."""
        self._ended.set()
        self.join()
        gaps = [(at, next((b for b, up in self.turns[i:] if up), None)) for i, (at, up) in enumerate(self.turns) if not up]
        spans = [f"{at - _BEGINS:.1f} to {'-' if back is None else f'{back - _BEGINS:.1f}'}" for at, back in gaps]
        return ", ".join(spans) or "never out"


def _talk(ways: Sequence[Served], seconds: float, summaries: bool, outage: Outage | None) -> tuple[list[Told], list[str]]:
    """Conversations that grow by a turn at a time, each on one replica after the other."""
    start = time.monotonic()
    period = _CONVERSATIONS / _RATE

    def one(number: int) -> list[Told]:
        seen: list[Told] = []
        model = _NARROW if summaries and number < 2 else "gpt-4o"
        for turn in range(int(seconds / period)):
            time.sleep(max(0.0, start + turn * period + number / _RATE - time.monotonic()))
            body = _body(number, _FIRST + turn, model)
            seen.append(_post(ways[(number + turn) % len(ways)], f"{number}-{turn}", body, start))
        return seen

    def fail() -> None:
        if outage is not None:
            time.sleep(_BEGINS)
            outage.begin()
            time.sleep(max(0.0, start + _BEGINS + _LASTS - time.monotonic()))
            outage.end()

    watches = [Watch(served, start) for served in ways]
    with ThreadPoolExecutor(_CONVERSATIONS + 1) as pool:
        failing = pool.submit(fail)
        seen = [told for part in pool.map(one, range(_CONVERSATIONS)) for told in part]
        failing.result()
    if outage is not None:
        wait_for(lambda: all(watch.turns[-1][1] for watch in watches), 25)
    return seen, [watch.told() + (f", {watch.not_ready} x not ready" if watch.not_ready else "") for watch in watches]


def _quantiles(seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    return f"{1000 * statistics.median(ordered):.0f} / {1000 * ordered[int(0.99 * len(ordered))]:.0f} / {1000 * ordered[-1]:.0f}"


def _phase(told: Told) -> str:
    if told.began < _BEGINS:
        return "before"
    return "during" if told.began < _BEGINS + _LASTS else "after"


@dataclass
class Trial:
    """One talk, and what is left of it."""

    seen: list[Told]
    gaps: list[str]
    sent: dict[str, list[str]]
    notes: list[str] = field(default_factory=list)


def _books(ways: Sequence[Served], upstream: Upstream, seen: Sequence[Told]) -> list[str]:
    """What is missing in the books and of the originals, asked of each replica."""
    known = {told.id for told in seen if told.id}
    wait_for(lambda: known <= ways[0].receipts(), 25)
    held = ways[0].receipts()
    lost = Counter(_phase(told) for told in seen if told.id and told.id not in held)
    notes = [f"receipts lost: {_counted(lost)} of {len(known)}"]
    made: dict[str, str] = {}
    kept: list[set[str]] = [set(), set()]
    for told in sorted(seen, key=lambda told: told.began):
        if told.folded != "folded" or told.id not in held:
            continue
        for way, found in zip(ways, kept, strict=False):
            for section in json.loads(way.get(f"/admin/requests/{told.id}?from=1d")[1])["sections"]:
                made.setdefault(section["id"], _phase(told))
                if section["kept"]:
                    found.add(section["id"])
    for found in kept[: len(ways)]:
        gone = Counter(phase for name, phase in made.items() if name not in found)
        notes.append(f"originals lost: {_counted(gone)} of {_counted(Counter(made.values()))}")
    sums = []
    for way in ways:
        totals = json.loads(way.get("/admin/report?from=1d")[1])["totals"]
        sums.append((totals["requests"], totals["usage"]["prompt_tokens"]))
    differ = f" and {sums[1]}" if sums[0] != sums[-1] else ""
    notes.append(f"report, requests and prompt tokens: {sums[0]}{differ}; upstream {(upstream.answered, upstream.prompt)}")
    return notes


def _counted(counts: Counter[str]) -> str:
    return "0" if not counts else ", ".join(f"{counts[one]} {one}" for one in ("before", "during", "after") if counts[one])


def _same_afterwards(ways: Sequence[Served], upstream: Upstream, seen: Sequence[Told], summaries: bool) -> str:
    """The next turn of each conversation, sent to both replicas."""
    differ = 0
    last = Counter(told.name.partition("-")[0] for told in seen)
    for number in range(_CONVERSATIONS):
        model = _NARROW if summaries and number < 2 else "gpt-4o"
        for which, way in enumerate(ways):
            _post(way, f"end-{number}-{which}", _body(number, _FIRST + last[str(number)], model), 0.0)
        ends = {upstream.sent[f"end-{number}-{which}"][-1] for which in range(len(ways))}
        differ += len(ends) > 1
    return f"afterwards {differ} of {_CONVERSATIONS} conversations differ between replicas"


def _windows(ways: Sequence[Served]) -> str:
    """What was learned, as each replica tells it."""
    told = [way.get("/admin/windows")[1].decode() for way in ways]
    return "windows: the same" if len(set(told)) == 1 else "windows: " + " | ".join(told)


def _log_noise(served: Served) -> str:
    told: Counter[str] = Counter()
    for line in served.log.read_text("utf-8", "replace").splitlines():
        with contextlib.suppress(ValueError):
            one = json.loads(line)
            if one.get("level") != "info":
                told[f"{one.get('level')} {str(one.get('event') or one.get('message'))[:90]}"] += 1
            continue
        told["not JSON: " + line[:60]] += 1
    return "; ".join(f"{count} x {text}" for text, count in told.most_common(5)) or "quiet"


def run(folder: Path, outage: Outage | None, seconds: float, summaries: bool) -> Trial:
    """One talk from start to rest; without an outage that of one process with its own memory."""
    upstream = Upstream(0.9 if summaries else 0.0)
    urls = ["memory://"] if outage is None else outage.urls
    settings = {"log_format": "json", "log_requests": "false"}
    if summaries:
        settings |= {
            "summary_model": _WRITER,
            "summary_url": upstream.url,
            "summary_api_key": "sk-writer",
            "summary_blocks": "always",
        }
    ways: list[Served] = []
    try:
        ways += [Served(upstream.url, folder, (), store_url=url, **settings) for url in urls]
        for way in ways:  # vocabularies
            for number in range(3):
                _post(way, f"warm-{number}", _body(900 + number, 60), -3600.0)
        time.sleep(1.5)
        before = [way.rest() for way in ways]
        first = upstream.answered
        seen, gaps = _talk(ways, seconds, summaries, outage)
        trial = Trial(seen, gaps, {**upstream.sent})
        if outage is not None:
            trial.notes += _books(ways, upstream, seen)
            trial.notes.append(f"{first} of these came before the talk; {upstream.summaries} summaries were written")
            trial.notes.append(_same_afterwards(ways, upstream, seen, summaries))
            time.sleep(3)
            trial.notes.append(_windows(ways))
            for way, was in zip(ways, before, strict=True):
                now = way.rest()
                both = [(getattr(was, what), getattr(now, what), what) for what in ("megabytes", "descriptors", "tasks")]
                trial.notes.append(", ".join(f"{one:.0f} to {other:.0f} {what}" for one, other, what in both))
                trial.notes.append("log: " + _log_noise(way))
        return trial
    finally:
        for way in ways:
            way.end()
        upstream.close()


def _differing(trial: Trial, plain: Trial) -> int:
    return sum(trial.sent.get(told.name, [""])[-1:] != plain.sent[told.name][-1:] for told in trial.seen)


def _row(name: str, trial: Trial, plain: Trial, summaries: bool) -> None:
    failed = Counter(told.said for told in trial.seen if told.said != "200")
    alone = {told.name: told for told in plain.seen}
    print(f"## {name}: {len(trial.seen)} requests, {sum(failed.values())} failed {dict(failed)}")
    if not summaries:
        print(f"- other bytes than with memory alone: {_differing(trial, plain)}")
    print("- " + "; alone ".join(str(dict(Counter(told.folded for told in one.seen))) for one in (trial, plain)))
    for phase in ("before", "during", "after"):
        ours = [told for told in trial.seen if _phase(told) == phase]
        added = [told.seconds - alone[told.name].seconds for told in ours]
        times = (_quantiles([told.seconds for told in ours]), _quantiles([alone[told.name].seconds for told in ours]))
        print(f"- {phase}, ms median / p99 / max: {times[0]}; alone {times[1]}; added to each {_quantiles(added)}")
    print("- store out of use, seconds after the outage began: " + " | ".join(trial.gaps))
    for note in trial.notes:
        print(f"- {note}")
    print(flush=True)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="outages to try; all by default")
    parser.add_argument("--list", action="store_true", help="name the outages")
    parser.add_argument("--seconds", type=float, default=26.0, help="of each talk; 60 at most")
    parser.add_argument("--summaries", action="store_true", help="with a model that writes summaries, and a window to learn")
    given = parser.parse_args()
    if given.list:
        print("\n".join(OUTAGES))
        return
    if unknown := set(given.names) - set(OUTAGES):
        parser.error(f"no such outage: {', '.join(sorted(unknown))}")
    end_cleanly()
    seconds = min(given.seconds, 60.0)
    with tempfile.TemporaryDirectory() as folder:
        plain = run(Path(folder), None, seconds, given.summaries)
    for name in given.names or OUTAGES:
        with tempfile.TemporaryDirectory() as folder:
            (servers := Path(folder) / "servers").mkdir()
            with OUTAGES[name](servers) as outage:
                _row(name, run(Path(folder), outage, seconds, given.summaries), plain, given.summaries)


if __name__ == "__main__":
    main()
