"""Turnfold's own report beside evalkit's `cost`, on the same replay: are the dollars right?

    python -m benchmarks.report_beside_evalkit [--sets NC_locomo code_agent] [--columns gpt-4o gpt-5] [--miss 0 0.3] [--json]

It runs `cost` of the evaluation kit through a real `turnfold serve` and compares the report's figures with it.

The upstream is the kit's own, which remembers the last request; what it reports as usage comes from the provider's cache of the
column (``support.caches``), cold where `cost` has it cold. With ``--usage evalkit`` it is the kit's upstream unchanged: a
prefix cache that is never cold, whatever the model. Compared are input dollars, since `cost` knows no others:

- paid: the report's against the bill for what the upstream itself reported;
- without: the report's, a model, against the bill of a cache that got the raw requests;
- saved: the report's share against one minus the kit's `cost`.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from http.server import ThreadingHTTPServer
from types import ModuleType
from typing import Any, Final

from benchmarks.support.caches import COLUMNS, Cache, Column, Prompt
from benchmarks.support.data import evalkit, shared_directory
from benchmarks.support.proxy import turnfold
from benchmarks.support.upstream import serve
from turnfold.config.prices import TokenUse, dollars, prices_of

Message = dict[str, Any]

#: The aim: the report is at most this far from the truth.
AIM: Final = 0.02
_SEED: Final = 7  # as `cost` draws by default
_COMPLETION: Final = 2  # tokens of the kit's answers
_ADMIN: Final = "beside-evalkit"
_COLUMNS: Final = ("gpt-4o", "gpt-4.1", "gpt-5", "gpt-5.6", "claude")


@dataclass(slots=True)
class Till:
    """One side of a replay: a provider's cache in front of one conversation at a time, and the bill.

    Attributes:
        input: dollars for input tokens so far.
    """

    column: Column
    cache: Cache
    input: float = 0.0

    @classmethod
    def of(cls, column: Column) -> Till:
        """With an empty cache."""
        return cls(column, Cache(column))

    def serve(self, prompt: Prompt, cold: bool) -> dict[str, Any]:
        """Take a request; its usage as an OpenAI-compatible upstream tells it."""
        hit, self.cache = self.cache.look(prompt, cold)
        written = len(prompt.tokens) - hit if self.column.prices.write != 1 else 0
        details = {"cached_tokens": hit, "cache_write_tokens": written}
        usage = {"prompt_tokens": len(prompt.tokens), "completion_tokens": _COMPLETION, "prompt_tokens_details": details}
        self.charge(usage)
        return usage

    def charge(self, usage: dict[str, Any]) -> None:
        """Put a usage on the bill."""
        details = usage["prompt_tokens_details"]
        use = TokenUse(usage["prompt_tokens"], 0, details["cached_tokens"], details.get("cache_write_tokens", 0))
        self.input += dollars(self.column.model, use, time.time()) or 0.0


@dataclass(slots=True)
class ReplayBills:
    """Where both sides of a replay are charged; a conversation's end is seen by its messages."""

    kit: ModuleType
    column: Column
    miss: float
    sent: Till = field(init=False)
    raw: Till = field(init=False)
    cold: bool = False
    requests: int = 0
    _number: int = -1
    _draw: random.Random = field(default_factory=random.Random)
    _last: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sent, self.raw = Till.of(self.column), Till.of(self.column)

    def prompt(self, messages: list[Message]) -> Prompt:
        """As the kit renders it."""
        marks: list[int] = []
        return Prompt(self.kit.render(messages, marks), tuple(marks))

    def begin(self, messages: list[Message]) -> None:
        """A request as the client sends it, before it is sent."""
        if not self._last or messages[: len(self._last) - 1] != self._last[:-1] or len(messages) <= len(self._last):
            self._number += 1
            self._draw = random.Random(f"{_SEED}/{self._number}")
            self.sent.cache = self.raw.cache = Cache(self.column)
        self._last = messages
        self.cold = self._draw.random() < self.miss
        self.requests += 1
        self.raw.serve(self.prompt(messages), self.cold)


def _upstream(kit: ModuleType, counter: ReplayBills, own_usage: bool) -> ThreadingHTTPServer:
    """The kit's recording upstream; with `own_usage` it reports what the counter's cache makes of a request."""

    class Cached(kit.H):  # type: ignore[name-defined, misc]
        def do_POST(self) -> None:  # noqa: N802 - the base class's name for it
            if not self.path.endswith("/chat/completions"):  # what the kit tells its own upstream
                super().do_POST()
                return
            body = json.loads(self._read())
            usage = counter.sent.serve(counter.prompt(body["messages"]), counter.cold)
            kit.LAST.update(n=kit.LAST["n"] + 1, body=body, messages=body["messages"], usage=usage)
            choice = {"index": 0, "message": {"role": "assistant", "content": "ok."}, "finish_reason": "stop"}
            reply = {"id": "c", "object": "chat.completion", "created": 1, "model": body.get("model"), "choices": [choice]}
            self._send(json.dumps({**reply, "usage": usage}).encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Cached if own_usage else kit.H)
    server.daemon_threads = True
    vars(server)["usage"] = True
    return server


def _client(kit: ModuleType, base: str, upstream: str, counter: ReplayBills, own_usage: bool) -> Any:
    """The kit's client, which tells the counter what it sends."""

    class Watched(kit.Proxy):  # type: ignore[name-defined, misc]
        def forwarded(self, messages: list[Message], **extra: Any) -> Any:
            counter.begin(messages)
            answer = super().forwarded(messages, **extra)
            if not own_usage:
                counter.sent.charge(kit.LAST["usage"])
            return answer

    return Watched(base, upstream)


def _report(base: str, model: str) -> dict[str, Any]:
    url = base.removesuffix("/v1") + f"/admin/report?from=1h&group_by=model&model={model}"
    request = urllib.request.Request(url, headers={"x-turnfold-admin-token": _ADMIN})
    with urllib.request.urlopen(request, timeout=60) as response:
        totals: dict[str, Any] = json.load(response)["totals"]
        return totals


@dataclass(frozen=True, slots=True)
class ReportCheck:
    """One replay: dollars for input, the report's beside the truth, and shares saved."""

    set: str
    column: str
    miss: float
    requests: int
    paid: float
    paid_truth: float
    without: float
    without_truth: float
    saved: float
    saved_truth: float
    saved_evalkit: float

    @property
    def worst(self) -> float:
        """The largest of the differences: dollars relative to the truth, shares as they are."""
        paid, without = self.paid / self.paid_truth - 1, self.without / self.without_truth - 1
        return max(map(abs, (paid, without, self.saved - self.saved_evalkit)))


def replay(
    kit: ModuleType, name: str, column: Column, miss: float, limit: int, own_usage: bool, **bounds: int
) -> ReportCheck | None:
    """One set under one column; None where no conversation of it is long enough."""
    counter = ReplayBills(kit, column, miss)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(serve(_upstream(kit, counter, own_usage)))
        upstream = f"http://127.0.0.1:{server.server_port}"
        base = stack.enter_context(turnfold(f"{upstream}/v1", admin_token=_ADMIN))
        proxy = _client(kit, base, upstream, counter, own_usage)
        with contextlib.redirect_stdout(io.StringIO()):
            result = kit.cost(proxy, str(shared_directory()), [name], limit, _SEED, columns=[column.name], miss=miss, **bounds)
        if not result:
            return None
        report = _report(base, column.model)
    assert report["requests"] == counter.requests, report
    out = (prices_of(column.model).output or 0.0) * report["usage"]["completion_tokens"] / 1e6
    paid, without = report["dollars"]["paid"] - out, report["dollars"]["without_turnfold"] - out
    sent, raw = counter.sent.input, counter.raw.input
    evaluated = 1 - result[name][column.name]["cost"]
    saved, saved_truth = 1 - paid / without, 1 - sent / raw
    return ReportCheck(
        name, column.name, miss, counter.requests, paid, sent, without, raw, saved, saved_truth, evaluated
    )  # fmt: skip


def measure(sets: list[str], columns: list[str], misses: list[float], limit: int, own_usage: bool) -> Iterator[ReportCheck]:
    """Every set under every column.

    Raises:
        FileNotFoundError: evaluation data or kit are not here.
    """
    kit = evalkit()
    vars(kit)["toks"] = lru_cache(maxsize=50_000)(kit.toks)  # the kit counts each message in every request of its conversation
    for name in sets:
        for column in columns:
            for miss in misses:
                row = replay(kit, name, COLUMNS[column], miss, limit, own_usage)
                if row is not None:
                    yield row


_HEADINGS: Final = (
    "set",
    "column",
    "miss",
    "requests",
    "paid $",
    "truth",
    "without $",
    "truth",
    "saved",
    "truth",
    "evalkit",
    "worst",
)


def _cells(row: ReportCheck) -> tuple[str, ...]:
    money = (f"{value:.5f}" for value in (row.paid, row.paid_truth, row.without, row.without_truth))
    shares = (f"{value:.4f}" for value in (row.saved, row.saved_truth, row.saved_evalkit))
    return (row.set, row.column, f"{row.miss:g}", str(row.requests), *money, *shares, f"{row.worst:.2%}")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["NC_locomo", "code_agent", "agent_tau"])
    parser.add_argument("--columns", nargs="+", default=list(_COLUMNS), choices=list(_COLUMNS))
    parser.add_argument("--miss", nargs="+", type=float, default=[0.0, 0.3])
    parser.add_argument("--limit", type=int, default=2, help="conversations of each set")
    parser.add_argument("--usage", choices=["provider", "evalkit"], default="provider")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    worst = 0.0
    try:
        for number, row in enumerate(measure(chosen.sets, chosen.columns, chosen.miss, chosen.limit, chosen.usage == "provider")):
            worst = max(worst, row.worst)
            if chosen.json:
                print(json.dumps(asdict(row) | {"worst": round(row.worst, 5)}), flush=True)
            else:
                print("\n".join([" | ".join(_HEADINGS)] * (not number) + [" | ".join(_cells(row))]), flush=True)
    except FileNotFoundError as exc:
        print(f"skipped: {exc}", file=sys.stderr)
        return
    print(f"worst {worst:.2%}, aim {AIM:.0%}", file=sys.stderr)


if __name__ == "__main__":
    main()
