"""What written summaries cost and save, and what survives in them.

    python -m benchmarks.summaries cost --sets chat_sharegpt NC_locomo --limit 3 --miss 0.3
    python -m benchmarks.summaries survives --sets NC_locomo --limit 3

Conversations are replayed through the engine with a scripted writer; the rest is arithmetic. The cache model is in
``support.caches``. No real model was available, so what is measured is the frame, not a model's skill.

``cost`` replays every request twice: with summaries of blocks, and without. The writer answers between two requests with a
summary of the length that it is asked for (at most 300 tokens) made of the block's own sentences; each call is paid at the price
of gpt-4.1-nano or of the model that is named. Caps are those of the default settings. What is asked for is decided by the
product's own rule (``proxy.asking.worth``), or with ``--always`` wherever there is room.

``survives`` makes the summary of every block of every conversation once as quotes, and once by a writer who knows which facts
count: names, figures and decisions of the block, as many as fit in as many tokens as the quotes take.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.payback import _load
from benchmarks.support.caches import COLUMNS, Cache, Column, render, with_mark
from benchmarks.support.data import shared_directory
from tests.support.bodies import cuts, encode, messages_of
from tests.support.summary_writer import faithful
from turnfold.compression import tokens
from turnfold.compression.fold import Folded, fold
from turnfold.compression.fold.adoption import WantedSummary
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldDecision, FoldOptions, Precedent, WrittenSummary
from turnfold.compression.recall.call_labels import sources
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.summary.asking import write_anchored
from turnfold.compression.summary.calls import ModelCall, ModelReply
from turnfold.compression.text.dialogue.signals import signals
from turnfold.compression.text.names.entities import entities
from turnfold.compression.text.quotes import Source
from turnfold.compression.text.statements import statements
from turnfold.compression.warmth import set_warmth
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.model_calls import write_call
from turnfold.config.prices import TokenUse, dollars, prices_of
from turnfold.proxy.asking.worth import call_tokens, gain, target_tokens

Message = dict[str, Any]

_MOST: Final = 300
_PER_CONVERSATION: Final = 0.05
#: What a million input tokens cost where a column's model has no published price: that of gpt-4o.
_PLAIN_INPUT: Final = 2.5


@dataclass(slots=True)
class Writing:
    """A conversation's process: what was decided, what was written, what that cost."""

    column: Column
    writer: str
    hit_share: float
    always: bool
    wants: bool
    memo: Memo = field(default_factory=Memo)
    precedents: list[Precedent] = field(default_factory=list)
    written: list[WrittenSummary] = field(default_factory=list)
    tried: set[tuple[int, int]] = field(default_factory=set)
    paid: float = 0.0
    calls: int = 0
    refused: int = 0

    @property
    def input_price(self) -> float:
        """Dollars for a million input tokens of the conversation's model."""
        return prices_of(self.column.model).input or _PLAIN_INPUT

    def send(self, body: bytes) -> Folded:
        """A request through the engine; what is decided is kept."""
        conversation = CHAT.read(body, self.memo)
        belief = FoldDecision(set_warmth(self.hit_share), False, tuple(self.written))
        options = FoldOptions(
            model=self.column.model,
            prices=self.column.prices,
            belief=belief,
            precedents=tuple(self.precedents),
            cache_breakpoints=self.column.kind == "breakpoint",
            wants_summaries=self.wants,
        )
        folded = fold(conversation, options, self.memo)
        self.precedents += folded.decided
        for one in folded.wanted:
            self._write(one, sources([conversation.messages[i] for i in one.indices]))
        return folded

    def _write(self, wanted: WantedSummary, sources: Sequence[Source]) -> None:
        target = target_tokens(wanted, _MOST)
        if not target or (wanted.start, wanted.end) in self.tried or self.paid > _PER_CONVERSATION:
            return
        cost = _price(self.writer, call_tokens(wanted), target)
        if not self.always and gain(wanted, target, self.input_price) <= cost:
            return
        self.tried.add((wanted.start, wanted.end))
        flow = write_anchored(sources, target, tokens.count)
        call = next(flow)
        said = faithful(write_call("chat", "m", call))
        self.paid += _price(self.writer, _size(call), tokens.count(said))
        self.calls += 1
        try:
            flow.send(ModelReply(said))
        except StopIteration as done:
            text = done.value.text
            self.refused += not text
            if text:
                self.written.append(WrittenSummary(wanted.start, wanted.end, wanted.prefix, text))


def _size(call: ModelCall) -> int:
    return tokens.count(call.system) + tokens.count(call.user) + 10


def _price(model: str, prompt: int, completion: int) -> float:
    price = dollars(model, TokenUse(prompt, completion, 0, 0), 1.79e9)
    assert price is not None, f"{model} has no published price"
    return price


def cost(data: Sequence[Sequence[Message]], column: Column, writer: str, miss: float, *, always: bool) -> dict[str, Any]:
    """A column's figures over conversations."""
    sums = dict.fromkeys(("raw", "plain", "with", "writer"), 0.0)
    counts = dict.fromkeys(("requests", "calls", "refused", "adopted", "worse"), 0)
    for number, messages in enumerate(data):
        runs = [Writing(column, writer, 1 - miss, always, wants) for wants in (False, True)]
        caches = [Cache(column), Cache(column), Cache(column)]
        spent = [0.0, 0.0, 0.0]
        draw, adopted = random.Random(f"7/{number}"), 0
        for end in cuts(messages):
            request = with_mark(messages[:end]) if column.kind == "marks" else list(messages[:end])
            body, cold = encode(request, model=column.model), draw.random() < miss
            folded = [run.send(body) for run in runs]
            for i, prompt in enumerate((render(request), *(render(messages_of(one.body)) for one in folded))):
                asked, caches[i] = caches[i].ask(prompt, cold)
                spent[i] += asked
            adopted = folded[1].body.count(b"summary: facts: ")
            counts["requests"] += 1
        dollars_each = [one * runs[0].input_price / 1e6 for one in spent]
        for name, value in zip(sums, (*dollars_each, runs[1].paid), strict=True):
            sums[name] += value
        counts["calls"] += runs[1].calls
        counts["refused"] += runs[1].refused
        counts["adopted"] += adopted
        counts["worse"] += dollars_each[2] + runs[1].paid > dollars_each[1]
    whole = sums["with"] + sums["writer"]
    return {
        "column": column.name,
        "conversations": len(data),
        **counts,
        "without_turnfold": round(sums["raw"], 4),
        "without_summaries": round(sums["plain"], 4),
        "with_summaries": round(sums["with"], 4),
        "writer": round(sums["writer"], 4),
        "relative": round(whole / sums["plain"], 4) if sums["plain"] else 1.0,
    }


# ---------------------------------------------------------------- what survives


def _kinds(text: str) -> dict[str, set[str]]:
    """What of a text may be asked for later: names, figures, decisions."""
    found = entities(text)
    figures = {"money", "version", "date", "percent", "quantity", "identifier"}
    decided = {text[s.start : s.end].strip() for s in statements(text).spans if "decision" in signals(text[s.start : s.end])}
    return {
        "names": {one.text.lower() for one in found if one.kind not in figures},
        "figures": {one.text.lower() for one in found if one.kind in figures},
        "decisions": {one for one in decided if one},
    }


def _evidence(sets: Sequence[str]) -> list[str]:
    """What the questions of evaluation sets need, word for word."""
    found: dict[str, None] = {}
    for name in sets:
        path = shared_directory() / f"{name}.questions.jsonl"
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            found.update(dict.fromkeys(one for one in (json.loads(line)["evidence"] or ()) if one.strip()))
    return list(found)


def _perfect(wanted: Iterable[str], budget: int) -> str:
    """As many facts as fit, the shortest first, one behind the other: no writer can have more of them."""
    said: list[str] = []
    left = budget
    for fact in sorted(wanted, key=lambda one: (tokens.count(one), one)):
        left -= tokens.count(fact) + 1
        if left < 0:
            break
        said.append(fact)
    return "; ".join(said)


def survives(data: Sequence[Sequence[Message]], evidence: Sequence[str]) -> dict[str, Any]:
    """Shares of the facts of a block that its quotes have, and that a perfect writer has in as many tokens.

    Args:
        evidence: sentences that questions need; a perfect writer of these has as many of them as fit, and nothing else.
    """
    memo = Memo()
    totals = {kind: [0, 0, 0] for kind in ("names", "figures", "decisions", "all", "evidence")}
    blocks = 0
    for messages in data:
        run = Writing(COLUMNS["gpt-4o"], "gpt-4.1-nano", 0.7, True, True)
        seen: set[tuple[int, int]] = set()
        for end in list(cuts(messages))[::4]:
            body = encode(list(messages[:end]), model="gpt-4o")
            conversation = CHAT.read(body, memo)
            for one in run.send(body).wanted:
                if (one.start, one.end) in seen:
                    continue
                seen.add((one.start, one.end))
                blocks += 1
                told = sources([conversation.messages[i] for i in one.indices])
                _add_block(totals, told, one.room, evidence, memo)
    shares = {kind: {"facts": n, "quotes": _share(a, n), "perfect": _share(b, n)} for kind, (n, a, b) in totals.items()}
    return {"blocks": blocks, **shares}


def _add_block(totals: dict[str, list[int]], sources: Sequence[Source], room: int, evidence: Sequence[str], memo: Memo) -> None:
    text = "\n".join(one.text for one in sources)
    quotes = "\n".join(sources[q.source].text[q.start : q.end] for q in summarise(sources, room + 15, tokens.count, memo)).lower()
    facts = {kind: {fact for fact in found if fact.lower() in text.lower()} for kind, found in _kinds(text).items()}
    best = _perfect({fact for found in facts.values() for fact in found}, room).lower()
    needed = [one for one in evidence if one in text]
    told = _perfect(needed, room)
    totals["evidence"][0] += len(needed)
    totals["evidence"][1] += sum(one.lower() in quotes for one in needed)
    totals["evidence"][2] += sum(one in told for one in needed)
    for kind, found in facts.items():
        for name in (kind, "all"):
            totals[name][0] += len(found)
            totals[name][1] += sum(fact.lower() in quotes for fact in found)
            totals[name][2] += sum(fact.lower() in best for fact in found)


def _share(part: int, whole: int) -> float:
    return round(part / whole, 3) if whole else 0.0


def main() -> None:
    """Measure and print a line of JSON per column."""
    parser = argparse.ArgumentParser(description="What written summaries cost, and what survives in them.")
    parser.add_argument("what", choices=["cost", "survives"])
    parser.add_argument("--sets", nargs="*", default=[], help="folders of cases, or evaluation sets; default: our own")
    parser.add_argument("--columns", nargs="*", default=list(COLUMNS), choices=list(COLUMNS))
    parser.add_argument("--limit", type=int, default=0, help="conversations per set")
    parser.add_argument("--min-tokens", type=int, default=8000)
    parser.add_argument("--miss", type=float, default=0.0, help="share of requests that find the cache cold")
    parser.add_argument("--writer", default="gpt-4.1-nano")
    parser.add_argument("--always", action="store_true", help="ask for every block, whether it pays or not")
    args = parser.parse_args()
    data = _load(args.sets, args.limit, args.min_tokens)
    if args.what == "survives":
        print(json.dumps(survives(data, _evidence(args.sets))))
        return
    for name in args.columns:
        print(json.dumps(cost(data, COLUMNS[name], args.writer, args.miss, always=args.always)), flush=True)


if __name__ == "__main__":
    main()
