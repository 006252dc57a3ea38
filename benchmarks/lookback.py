"""Hits of Anthropic's cache, with its look-back of 20 blocks, with and without folding.

Sessions of a coding agent are played against a simulated cache, unfolded and folded, for a table of both. The cache and the
sessions are in ``support.lookback``.

    python -m benchmarks.lookback            # about 1,000 requests
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.support.lookback import LookbackCache, Session, requests, session
from turnfold.compression.fold import fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.formats.messages import MESSAGES

CLAUDE: Final = CachePrices(0.1, 1.25)
SONNET, OPUS = "claude-sonnet-4-5", "claude-opus-5-5"
#: Name, session, model, options.
CASES: Final[Sequence[tuple[str, Session, str, FoldOptions]]] = (
    ("tool loops", Session(), SONNET, FoldOptions(prices=CLAUDE)),
    ("the same at a hit share of 1", Session(), SONNET, FoldOptions(prices=CLAUDE, cache_hit_share=1.0)),
    ("up to 12 calls at once, short results", Session(parallel=12, result=60), SONNET, FoldOptions(prices=CLAUDE)),
    ("up to 30 calls at once", Session(turns=12, parallel=30, result=60), SONNET, FoldOptions(prices=CLAUDE)),
    ("a chat with few calls", Session(turns=80, loop=2, parallel=2), SONNET, FoldOptions(prices=CLAUDE)),
    ("strings where there is no mark", Session(turns=80, loop=2, strings=True), SONNET, FoldOptions(prices=CLAUDE)),
    ("thinking that is bound", Session(thinks=True), OPUS, FoldOptions(prices=CLAUDE)),
    ("a budget of 12,000", Session(turns=12), SONNET, FoldOptions(prices=CLAUDE, budget=12_000)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Played:
    """A session played twice.

    Attributes:
        misses: requests that found less than what the one before had marked, unfolded.
        folded_misses: the same as folded.
        added: those of them that hit unfolded, and at which no fold event fell.
        costs: input cost by Claude's prices, unfolded and folded, in uncached tokens.
    """

    requests: int
    events: int
    misses: int
    folded_misses: int
    added: tuple[int, ...]
    costs: tuple[float, float]


def play(seed: int, kind: Session, model: str, options: FoldOptions) -> Played:
    """Play a session unfolded and folded."""
    plain, cache, memo = LookbackCache(), LookbackCache(), Memo()
    events, misses, folded_misses = 0, 0, 0
    added: list[int] = []
    costs = [0.0, 0.0]
    number = 0
    for number, body in enumerate(requests(session(seed, kind), kind, model)):
        folded = fold(MESSAGES.read(body, memo), options, memo)
        looks = plain.ask(body), cache.ask(folded.body)
        misses += looks[0].missed
        folded_misses += looks[1].missed
        if looks[1].missed and not looks[0].missed and folded.events == events:
            added.append(number)
        events = folded.events
        for i, look in enumerate(looks):
            costs[i] += CLAUDE.read * look.read + CLAUDE.write * (look.sent - look.read)
    return Played(number + 1, events, misses, folded_misses, tuple(added), (costs[0], costs[1]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    print("| session | requests | fold events | misses unfolded | folded | added | cost |\n|---|---|---|---|---|---|---|")
    for name, kind, model, options in CASES:
        if given.only in name:
            one = play(given.seed, kind, model, options)
            cost = one.costs[1] / one.costs[0]
            print(
                f"| {name} | {one.requests} | {one.events} | {one.misses} | {one.folded_misses} | {len(one.added)} | {cost:.2f} |"
            )


if __name__ == "__main__":
    main()
