"""Bills of coding agents' sessions, and whether what each next call needs is still there.

    python -m benchmarks.agents --clients codex claude-code --columns gpt-5 claude --sealed 0 300 --scales 0.3 1
    python -m benchmarks.agents --recorded code_agent --clients codex      # recorded runs, with sealed reasoning put in
    python -m benchmarks.agents --budgets 0.1 0.2                          # under budgets, as a share of the request

The sessions of ``support.agents`` go through the engine as in `bills`, and the strings that the next call takes from old results
are looked up in what is forwarded.

`needed` is the share of these strings that are there; `bill` is what the session cost relative to no proxy; `sent` the share of
tokens; `first` the tokens of the request at which it was folded first; `kept` the share of requests that repeat the one before.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice, product
from statistics import mean
from typing import Any, Final

from benchmarks.bills import Tenant
from benchmarks.support.agents import CLIENTS, AgentRun, made_run, recorded_run, texts
from benchmarks.support.caches import COLUMNS, Column, common, render_body
from benchmarks.support.data import shared_directory
from benchmarks.support.shapes import Request
from turnfold.proxy.learning.warming import WarmthMemory

_SLACK: Final = 200  # tokens: what stands at a request's end may be written otherwise in the next


@dataclass(slots=True)
class _Watch:
    """What is forwarded of one session.

    Attributes:
        needs: what the call needs that answers the request which is sent next.
    """

    needs: tuple[str, ...] = ()
    found: int = 0
    asked: int = 0
    sent: int = 0
    raw: int = 0
    first: int = 0
    kept: int = 0
    last: Sequence[int] = ()
    requests: int = 0

    def look(self, request: Request, body: bytes) -> None:
        """A request as it came and as it is forwarded."""
        here = "\n".join(texts(json.loads(body)))
        self.asked += len(self.needs)
        self.found += sum(one in here for one in self.needs)
        tokens, raw = render_body(body).tokens, render_body(request.body).tokens
        self.sent += len(tokens)
        self.raw += len(raw)
        if body != request.body and len(tokens) < 0.9 * len(raw) and not self.first:
            self.first = len(raw)
        self.requests += 1
        self.kept += common(self.last, tokens) >= len(self.last) - _SLACK
        self.last = tokens


@dataclass(frozen=True, slots=True)
class AgentFigures:
    """Sessions of one client under a column."""

    client: str
    column: str
    miss: float
    what: str
    budget: float
    sessions: int
    bill: float
    worst: float
    sent: float
    needed: float
    needs: int
    first: int
    kept: float


def measure(
    client: str, column: Column, miss: float, what: str, runs: Sequence[AgentRun], budget: float = 0.0, most: int = 400
) -> AgentFigures:
    """Sessions one after the other, with a proxy that has seen nothing before.

    Args:
        budget: as a share of each request's tokens; 0 for none.
    """
    tenant, watches = Tenant("one", column, WarmthMemory(), miss), list[_Watch]()
    for number, run in enumerate(runs):
        watch = _Watch()
        watches.append(watch)
        tenant.look = watch.look

        def each(run: AgentRun = run, watch: _Watch = watch) -> Iterator[Request]:
            for asked in islice(CLIENTS[client](run, column), most):
                watch.needs = asked.needs
                if budget:
                    tokens = int(budget * len(render_body(asked.request.body).tokens))
                    tenant.options = replace(tenant.options, budget=max(200, tokens))
                yield asked.request

        for _ in tenant.send(each(), number):
            pass
    done = [one for one in tenant.done if one.ends]
    return AgentFigures(
        client,
        column.name,
        miss,
        what,
        budget,
        len(done),
        round(sum(one.paid for one in done) / sum(one.without for one in done), 4),
        round(max(end for one in done for end in one.ends), 4),
        round(sum(one.sent for one in watches) / sum(one.raw for one in watches), 4),
        round(sum(one.found for one in watches) / max(1, sum(one.asked for one in watches)), 4),
        sum(one.asked for one in watches),
        int(mean([one.first for one in watches if one.first] or [0])),
        round(sum(one.kept for one in watches) / max(1, sum(one.requests for one in watches)), 4),
    )


def _recorded(name: str, sealed: int) -> list[AgentRun]:
    with (shared_directory() / f"{name}.jsonl").open(encoding="utf-8") as file:
        cases = [json.loads(line) for line in file]
    return [run for case in cases if (run := recorded_run(case, sealed)) is not None]


def main() -> None:
    """Print a line of JSON per figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", nargs="+", default=list(CLIENTS), choices=list(CLIENTS))
    parser.add_argument("--columns", nargs="+", default=["gpt-5"], choices=list(COLUMNS))
    parser.add_argument("--miss", nargs="+", type=float, default=[0.0, 0.3])
    parser.add_argument("--sealed", nargs="+", type=int, default=[300])
    parser.add_argument("--scales", nargs="+", type=float, default=[0.3, 1.0])
    parser.add_argument("--steps", type=int, default=90)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 2], help="even ones are open, odd ones are held out")
    parser.add_argument("--budgets", nargs="+", type=float, default=[0.0])
    parser.add_argument("--recorded", default="")
    parser.add_argument("--model", default="", help="to ask for instead of the column's")
    chosen = parser.parse_args()
    for client, name, miss, sealed, budget in product(chosen.clients, chosen.columns, chosen.miss, chosen.sealed, chosen.budgets):
        column = replace(COLUMNS[name], model=chosen.model or COLUMNS[name].model)
        made: dict[str, list[AgentRun]] = {}
        if chosen.recorded:
            made[f"{chosen.recorded}, sealed {sealed}"] = _recorded(chosen.recorded, sealed)
        else:
            for scale in chosen.scales:
                runs = [made_run(seed, chosen.steps, scale, sealed) for seed in chosen.seeds]
                made[f"scale {scale}, sealed {sealed}"] = runs
        for what, runs in made.items():
            row: dict[str, Any] = asdict(measure(client, column, miss, what, runs, budget))
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
