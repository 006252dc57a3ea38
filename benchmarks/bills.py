"""What whole conversations cost under a provider's cache, while the proxy learns how warm that cache is.

    python -m benchmarks.bills --sets code_agent NC_locomo --columns gpt-4o gpt-5 claude --miss 0 0.3
    python -m benchmarks.bills --curve          # what is believed after so many requests, for several shares of warm requests
    python -m benchmarks.bills --tenants        # three tenants with habits of their own on one proxy, request by request
    python -m benchmarks.bills --fixed 0 0.5 1  # with these shares of warm requests set, beside what is learned
    python -m benchmarks.bills --shapes         # made-up conversations of many shapes, ended at every request, in all columns
    python -m benchmarks.bills --uses           # pauses, branches, batches, marks, clients that rewrite; with the books

Replays run in lockstep (without HTTP): each request is folded with what the usage of earlier ones has shown, so that figures are
the same in every run. The cache model is in ``support.caches``, learning in ``proxy.learning``.

Cold requests are drawn as by the evaluation kit's `cost`. Beside the sum stand the worst conversation of 20 requests and more,
the worst shorter one, and, as a conversation may end at any request, the ends at which it would have cost more than without
Turnfold: above 1.00 from the twentieth request on, above 1.02 anywhere, the worst of them and at which request that was.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice, product
from statistics import mean
from typing import Any, Final

from benchmarks.support.billing_upstream import KeyCache
from benchmarks.support.caches import COLUMNS, USUAL, Cache, Column, Prompt, common, render, render_body
from benchmarks.support.data import conversations
from benchmarks.support.growing_chats import Sent
from benchmarks.support.inside import Forwarded, Inside
from benchmarks.support.marked_uses import with_mark_at_end
from benchmarks.support.shapes import SHAPES, Request, chat_requests, requests
from benchmarks.support.uses import HELD_OUT, USES, WORKED_ON, columns_of
from tests.support.bodies import messages_of
from turnfold.compression.fold import fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldDecision, FoldOptions, Precedent, Warmth
from turnfold.compression.warmth import usual_warmth
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.config.fold import fold_options
from turnfold.config.prices import TokenUse, dollars, prices_of
from turnfold.config.settings import FoldingSettings, Settings
from turnfold.proxy.learning.warming import WarmthMemory
from turnfold.proxy.learning.window_records import UpstreamModel

Message = dict[str, Any]

_SEED: Final = 7  # as the kit draws by default
_LONG: Final = 20  # requests from which on law 9 allows nothing
_EVENT: Final = 2000  # tokens of the request before that a fold event does not repeat
_TELLS: Final = 1.5  # times the shortest prefix that is cached, from which on a request shows whether the cache was warm
_PATIENCE: Final = 4  # requests in which a fold is not judged, as in the books
_START: Final = 1_790_000_000.0  # Unix time
_SISTER: Final = 0.2  # price of a smaller model, where no list has it


@dataclass(slots=True)
class Replayed:
    """One conversation so far: what it cost, and what it would have cost, in uncached input tokens."""

    paid: float = 0.0
    without: float = 0.0
    ends: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Its cost relative to no proxy."""
        return self.paid / self.without if self.without else 1.0

    def charge(self, paid: float, without: float) -> None:
        """One request more."""
        self.paid += paid
        self.without += without
        self.ends.append(self.ratio)


@dataclass(slots=True)
class Till:
    """The provider's caches for a conversation as it is sent, and as it came in."""

    sent: Cache
    raw: Cache

    def charge(self, sent: Prompt, raw: Prompt, cold: bool) -> tuple[float, float, int]:
        """The cost of a request both ways, and the cached tokens of the one that was sent."""
        cached, _ = self.sent.look(sent, cold)
        paid, self.sent = self.sent.ask(sent, cold)
        without, self.raw = self.raw.ask(raw, cold)
        return paid, without, cached


@dataclass(slots=True)
class Tenant:
    """Somebody whose conversations go through one proxy, one after the other.

    Attributes:
        memory: the proxy's; what it believes is told apart by tenant.
        miss: share of requests that find the cache cold.
        seconds: between two requests.
        fixed: the share of warm requests that is set; None: it is learned.
        look: is shown each request as it came and as it is forwarded.
    """

    name: str
    column: Column
    memory: WarmthMemory
    miss: float
    seconds: float = 1.0
    fixed: float | None = None
    look: Callable[[Request, bytes], None] = lambda request, body: None
    options: FoldOptions = field(init=False)
    memo: Memo = field(default_factory=Memo)
    done: list[Replayed] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.options = fold_options(Settings(folding=FoldingSettings(cache_hit_share=self.fixed)), self.column.model)

    @property
    def spot(self) -> UpstreamModel:
        """Where what is learned of the cache belongs."""
        return UpstreamModel(self.name, "upstream", self.column.model)

    @property
    def belief(self) -> Warmth:
        """What is believed of the cache now."""
        return self.memory.decision(self.spot, "", FoldDecision(usual_warmth(self.options.prices))).warmth

    def play(self, messages: Sequence[Message], number: int, most: int) -> Iterator[Replayed]:
        """One chat, a step for each request."""
        yield from self.send(islice(chat_requests(messages, self.column), most), number)

    def send(self, requests: Iterable[Request], number: int) -> Iterator[Replayed]:
        """One conversation, a step for each request."""
        draw, found, label = random.Random(f"{_SEED}/{number}"), Replayed(), str(number)
        self.done.append(found)
        till = Till(Cache(self.column), Cache(self.column))
        precedents: dict[tuple[int, str], Precedent] = {}
        since = events = 0
        for turn, request in enumerate(requests):
            cold = draw.random() < self.miss or not turn or request.pause > self.column.seconds
            belief = self.memory.decision(self.spot, label, FoldDecision(usual_warmth(self.options.prices)))
            options = replace(self.options, precedents=tuple(precedents.values()))
            if self.fixed is None:
                options = replace(options, belief=belief)
            folded = fold(request.wire.read(request.body, self.memo), options, self.memo)
            precedents |= {(one.at, one.prefix): one for one in folded.decided}
            before, sent = till.sent.last, _rendered(request, folded.body)
            paid, without, cached = till.charge(sent, _rendered(request, request.body), cold)
            found.charge(paid, without)
            since = 1 if folded.events > events else since + bool(since)
            events = folded.events
            self.look(request, folded.body)
            late = since >= _PATIENCE and found.ratio > 1.002
            self.memory.set_brake(self.name, label, on=late)
            self._learn(before, sent, cached, request)
            yield found

    def _learn(self, before: Prompt, sent: Prompt, cached: int, request: Request) -> None:
        """What the books would have told the memory."""
        repeated = common(before.tokens, sent.tokens)
        event = len(before.tokens) - repeated > _EVENT
        if repeated >= _TELLS * self.column.least and not (event and self.column.kind in {"marks", "breakpoint"}):
            seconds = max(self.seconds, request.pause)
            self.memory.observe(self.spot, seconds, loop=request.loop, warm=2 * cached >= repeated)


def _rendered(request: Request, body: bytes) -> Prompt:
    return render(messages_of(body)) if request.wire is CHAT else render_body(body)


@dataclass(frozen=True, slots=True)
class UseFigures:
    """A use under a column, by a provider's bills through Turnfold and without it.

    Attributes:
        cost: relative to no proxy.
        tokens: those that were sent, relative to no proxy.
        worst_late: of an end from the twentieth request on; 0 where there is none.
        worst_end: of an end anywhere, and at which request that was.
        books_off: what the books say that it would have cost without, beside the truth; None where the price is unknown.
    """

    use: str
    column: str
    miss: float
    requests: int
    cost: float
    tokens: float
    worst_late: float
    worst_end: tuple[float, int]
    books_off: float | None


@dataclass(slots=True)
class UsePlayer:
    """A use, played both ways at the provider's clock."""

    column: Column
    miss: float
    inside: Inside = field(default_factory=Inside)
    found: Replayed = field(default_factory=Replayed)
    prompts: list[int] = field(default_factory=lambda: [0, 0])
    dollars: list[float] = field(default_factory=lambda: [0.0, 0.0])
    caches: dict[tuple[bool, str, str], KeyCache] = field(default_factory=dict)
    clock: float = _START

    def play(self, sent: Sent, draw: random.Random) -> None:
        """A request, and those beside it, of which none finds what another leaves."""
        self.clock += sent.pause
        bodies = [_on_column(body, sent.wire, self.column) for body in (sent.body, *sent.beside)]
        going = [(body, self.inside.forward(body, sent.wire, self.clock), draw.random() < self.miss) for body in bodies]
        leaving: list[Callable[[], None]] = []
        for body, forwarded, cold in going:
            if sent.does == "fails":
                self.inside.record(forwarded, None, 503)
                continue
            uses = []
            for way, each in enumerate((forwarded.body, body)):
                value, prompt = json.loads(each), render_body(each)
                key = (bool(way), value["model"], value.get("prompt_cache_key", ""))
                cache = self.caches.setdefault(key, KeyCache(self.column))
                uses.append(cache.look(value, prompt, self.clock, cold=cold))
                self.prompts[way] += uses[way].prompt
                leaving.append(partial(cache.leave, prompt, self.clock))
            self._charge(forwarded, uses[0], uses[1], told=sent.does != "left")
        for leave in leaving:
            leave()

    def _charge(self, forwarded: Forwarded, used: TokenUse, without: TokenUse, *, told: bool) -> None:
        model = forwarded.receipt.model
        self.found.charge(_input_cost(used, model, self.column), _input_cost(without, model, self.column))
        booked = self.inside.record(forwarded, used if told else None)
        if booked.without is not None:
            self.dollars[0] += booked.without
            self.dollars[1] += dollars(model, without, self.clock) or 0.0


def measure_use(name: str, column: Column, miss: float, seed: int, fixed: float | None = None) -> UseFigures:
    """One use under one column, with a proxy that has seen nothing before."""
    inside = Inside(Settings(folding=FoldingSettings(cache_hit_share=fixed)))
    player, draw = UsePlayer(column, miss, inside), random.Random(f"{name}/{seed}/{miss}")
    for sent in USES[name](f"{name}/{seed}"):
        player.play(sent, draw)
    ends = player.found.ends
    worst = max(ends)
    return UseFigures(
        name,
        column.name,
        miss,
        len(ends),
        round(ends[-1], 4),
        round(player.prompts[0] / player.prompts[1], 4),
        round(max(ends[_LONG - 1 :], default=0.0), 4),
        (round(worst, 4), ends.index(worst) + 1),
        round(player.dollars[0] / player.dollars[1] - 1, 4) if player.dollars[1] else None,
    )


def _on_column(body: Message, wire: str, column: Column) -> bytes:
    """The request as a client of that provider sends it: chat completions with a mark at the end where caches hit at marks."""
    sister = str(body.get("model", ""))
    value = body | {"model": column.model + sister}
    if wire == "chat" and column.kind == "marks":
        parts = [
            one | {"content": [{"type": "text", "text": one["content"]}]} if isinstance(one["content"], str) else one
            for one in body["messages"]
        ]
        value["messages"] = [*parts[:-1], with_mark_at_end(parts[-1])]
    return json.dumps(value, separators=(",", ":")).encode()


def _input_cost(use: TokenUse, model: str, column: Column) -> float:
    """Of the input, in uncached tokens of the model, or in their dollars where there are several."""
    brief = 1.25 if column.kind == "marks" else column.prices.write
    fresh = use.prompt - use.cached - use.written
    tokens = fresh + column.prices.read * use.cached + brief * (use.written - use.written_hour) + 2.0 * use.written_hour
    return tokens * (prices_of(model).input or (_SISTER if model != column.model else 1.0))


@dataclass(frozen=True, slots=True)
class BillFigures:
    """A set under a column.

    Attributes:
        cost: of all together, relative to no proxy.
        worst_long, worst_short: of one conversation of 20 requests and more, of one with fewer; 0 for none.
        ends_above: ends from the twentieth request on at which a conversation would have cost more than without, of how many.
        ends_far_above: ends anywhere at which it would have cost 2% more, of how many.
        worst_end: of an end anywhere, and at which request that was.
        mean_end: of all ends.
        believed: in the end, or the share that was set.
    """

    set: str
    column: str
    miss: float
    conversations: int
    cost: float
    worst_long: float
    worst_short: float
    ends_above: tuple[int, int]
    ends_far_above: tuple[int, int]
    worst_end: tuple[float, int]
    mean_end: float
    believed: Warmth | float


def measure(
    name: str, column: Column, miss: float, bounds: tuple[int, int], limit: int, most: int, fixed: float | None = None
) -> BillFigures | None:
    """One set under one column, with a proxy that has seen nothing before; None where it has no conversation of that size."""
    tenant = Tenant("one", column, WarmthMemory(), miss, fixed=fixed)
    data = _drawn(name, bounds, limit)
    for _ in _all(tenant, data, most):
        pass
    return _figures(name, tenant) if data else None


def measure_shape(name: str, column: Column, miss: float, seeds: int) -> BillFigures:
    """Conversations of one shape under one column, one after the other, with a proxy that has seen nothing before."""
    tenant = Tenant("one", column, WarmthMemory(), miss)
    for seed in range(seeds):
        for _ in tenant.send(requests(name, column, seed), seed):
            pass
    return _figures(name, tenant)


def _all(tenant: Tenant, data: Sequence[Sequence[Message]], most: int) -> Iterator[Replayed]:
    """One conversation after the other."""
    for number, messages in enumerate(data):
        yield from tenant.play(messages, number, most)


def _figures(name: str, tenant: Tenant) -> BillFigures:
    done = [one for one in tenant.done if one.ends]
    late = [end for one in done for end in one.ends[_LONG - 1 :]]
    ends = [end for one in done for end in one.ends]
    return BillFigures(
        name,
        tenant.column.name,
        tenant.miss,
        len(done),
        round(sum(one.paid for one in done) / sum(one.without for one in done), 4),
        round(max((one.ratio for one in done if len(one.ends) >= _LONG), default=0.0), 4),
        round(max((one.ratio for one in done if len(one.ends) < _LONG), default=0.0), 4),
        (sum(end > 1.0005 for end in late), len(late)),
        (sum(end > 1.02 for end in ends), len(ends)),
        max((round(end, 4), at) for one in done for at, end in enumerate(one.ends, 1)),
        round(mean(ends), 4),
        tenant.belief if tenant.fixed is None else tenant.fixed,
    )


def _drawn(name: str, bounds: tuple[int, int], limit: int) -> list[list[Message]]:
    """The conversations of a set whose size is within the bounds, in the order in which the kit draws them."""
    data = [one for one in conversations(name) if bounds[0] <= len(render(one).tokens) <= bounds[1]]
    random.Random(_SEED).shuffle(data)
    return data[:limit] if limit else data


def curve(column: Column, misses: Sequence[float], steps: Sequence[int]) -> Iterator[dict[str, Any]]:
    """What is believed of a cache after so many requests, where a share of them finds it cold; the mean of 50 draws, and how far
    nine in ten of them are from the truth at most."""
    for miss in misses:
        found: dict[int, list[float]] = {step: [] for step in steps}
        for seed in range(50):
            tenant, draw = Tenant("one", column, WarmthMemory(), miss), random.Random(f"{seed}")
            for number in range(1, max(steps) + 1):
                tenant.memory.observe(tenant.spot, 1.0, loop=False, warm=draw.random() >= miss)
                if number in found:
                    found[number].append(tenant.belief.turns)
        for step, beliefs in found.items():
            off = sorted(abs(one - (1 - miss)) for one in beliefs)
            mean = round(sum(beliefs) / len(beliefs), 3)
            yield {"warm": 1 - miss, "requests": step, "believed": mean, "nine_in_ten_within": round(off[44], 3)}


def tenants(name: str, column: Column, limit: int, most: int) -> Iterator[dict[str, Any]]:
    """Three tenants on one proxy whose requests come in turn, beside each of them alone."""
    memory = WarmthMemory()
    habits = (("never cold", 0.0, 2.0), ("cold at times", 0.3, 30.0), ("always cold", 1.0, 4000.0))
    data = _drawn(name, (8000, 40_000), limit)
    together = [Tenant(label, column, memory, miss, seconds) for label, miss, seconds in habits]
    waiting = [_all(tenant, data, most) for tenant in together]
    while waiting:
        waiting = [one for one in waiting if next(one, None) is not None]
    for tenant in together:
        alone = Tenant(tenant.name, column, WarmthMemory(), tenant.miss, tenant.seconds)
        for _ in _all(alone, data, most):
            pass
        costs = [_figures(name, one).cost for one in (tenant, alone)]
        yield {"tenant": tenant.name, "believed": asdict(tenant.belief), "cost": costs[0], "alone": costs[1]}


def _print_uses(chosen: argparse.Namespace) -> None:
    halves = {"worked on": list(WORKED_ON), "held out": list(HELD_OUT)}
    names = [name for one in chosen.uses or USES for name in halves.get(one, [one])]
    for name, seed, fixed in product(names, range(chosen.seeds), chosen.fixed or [None]):
        for column, miss in product([one for one in chosen.columns if one in columns_of(name)], chosen.miss):
            if not (miss and column == "none"):
                print(json.dumps(asdict(measure_use(name, COLUMNS[column], miss, seed, fixed))), flush=True)


def main() -> None:
    """Print a line of JSON per figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["code_agent"])
    parser.add_argument("--columns", nargs="+", default=list(USUAL), choices=list(COLUMNS))
    parser.add_argument("--miss", nargs="+", type=float, default=[0.0, 0.3])
    parser.add_argument("--min-tokens", type=int, default=8000)
    parser.add_argument("--max-tokens", type=int, default=140_000)
    parser.add_argument("--limit", type=int, default=0, help="conversations of each set")
    parser.add_argument("--requests", type=int, default=400, help="of each conversation at most")
    parser.add_argument(
        "--fixed", nargs="+", type=float, default=[], help="shares of warm requests that are set, one after the other"
    )
    parser.add_argument("--curve", action="store_true")
    parser.add_argument("--tenants", action="store_true")
    parser.add_argument("--shapes", nargs="*", choices=list(SHAPES), help="all where none is named; `--columns` as they are")
    parser.add_argument("--uses", nargs="*", choices=[*USES, "worked on", "held out"], help="all where none is named")
    parser.add_argument("--seeds", type=int, default=2, help="conversations of each shape")
    chosen = parser.parse_args()
    if chosen.curve:
        for row in curve(COLUMNS["gpt-4o"], (0.0, 0.1, 0.3, 0.6, 1.0), (5, 10, 20, 40, 80, 200)):
            print(json.dumps(row), flush=True)
        return
    if chosen.shapes is not None:
        for name, column, miss in product(chosen.shapes or SHAPES, chosen.columns, chosen.miss):
            print(json.dumps(asdict(measure_shape(name, COLUMNS[column], miss, chosen.seeds))), flush=True)
        return
    if chosen.uses is not None:
        _print_uses(chosen)
        return
    for name in chosen.sets:
        for column in (COLUMNS[one] for one in chosen.columns):
            if chosen.tenants:
                for row in tenants(name, column, chosen.limit, chosen.requests):
                    print(json.dumps({"set": name, "column": column.name} | row), flush=True)
                continue
            for miss, fixed in product(chosen.miss, [None, *chosen.fixed]):
                figures = measure(
                    name, column, miss, (chosen.min_tokens, chosen.max_tokens), chosen.limit, chosen.requests, fixed
                )
                if figures is not None:
                    print(json.dumps(asdict(figures)), flush=True)


if __name__ == "__main__":
    main()
