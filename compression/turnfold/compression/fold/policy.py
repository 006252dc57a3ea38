"""When a conversation is folded, how far, and what recall may spend.

It is the arithmetic that leads from prices and budgets to thresholds. It sees no messages and no texts.

With r and w the prices of reading and writing a cached token and h the share of requests that find the cache warm, an old token
costs p = h*r + (1-h)*w each time it is sent again. A fold of L tokens to F, with K tokens behind it that have to be written
again, costs w*(F+K) instead of p*(L+K), and saves p*(L-F) in each turn after that. The more an old token costs, the earlier a
fold pays off. The cheaper a read, the more a rewritten prefix costs in comparison, so folds come late and seldom.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import exp, log, sqrt
from typing import Final, NamedTuple

from turnfold.compression import warmth
from turnfold.compression.fold.decisions import FIRST_RUNG
from turnfold.compression.options import FoldOptions, Warmth

#: Maximum tokens quoted of the message that a kept user message answers.
ANSWERED: Final = 300
#: Share of a budget or window left free for later requests when a request is made smaller.
GROWTH: Final = 0.25
#: Maximum tokens, without a budget, of a work that is asked for as a whole: some 400 lines of code.
MOST_WHOLE: Final = 4_000
#: Minimum price of sending an old token again, used if cached tokens are free.
LEAST_PRICE: Final = 0.01
#: Approximate tokens of a line of counts and an id.
LINE: Final = 24

# Columns: p, tokens before anything is folded, raw tail left by a fold. Found by replaying conversations under each price profile
# (benchmarks/payback.py); values between the rows are interpolated on a logarithmic scale.
_PROFILES: Final = (
    (0.10, 24_000, 6_000),
    (0.25, 7_000, 2_400),
    (0.40, 6_000, 2_000),
    (0.65, 6_000, 2_300),
    (1.00, 5_000, 2_000),
)
# Tool loops keep more raw text: the next step copies from the last results, and no question recalls what was folded.
_FOR_LOOPS: Final = 0.22
# Talk in short turns keeps less raw text: a full tail has more exchanges than anyone refers back to, and recall finds older ones.
_FOR_TALK: Final = 0.5
_SHORT_TURN, _LONG_TURN = 100, 200  # tokens that a request adds; a dozen such exchanges fill half of a tail, or all of it
_SHORT_TAILS: Final = 0.4  # minimum price of reading a cached token for this; below it, tails are long anyway
# From small records a loop only takes values, which FACTS keep. So it is folded earlier and more often, and less stays raw.
_NEARLY_WHOLE: Final = (0.3, 0.45)  # share that FACTS leave: where this rule begins to apply, and where it applies fully
_START_SPARED: Final = 0.65
_TAIL_SPARED: Final = 0.7
_TAIL_SPARED_UNCACHED: Final = 0.6  # without a cache folds are more frequent, and less stays at FACTS
_RECALL_SPARED: Final = 0.85  # share of recall that is left out: it would mostly repeat such FACTS
#: Nothing is folded below this many tokens without a budget: the lowest possible `Thresholds.start`.
EARLIEST: Final = int(min(start for _, start, _ in _PROFILES) * (1 - _START_SPARED))
_LOOP_FACTS: Final = (16.0, 5.0)  # maximum FACTS, in tails
_CHAT_FACTS: Final = (4.0, 0.5)  # the same for a chat: of typed messages, and of long pasted texts
_TYPED, _PASTED = 500, 1500  # tokens that a request adds, for the two values above
_CHEAP: Final = 0.4  # price of sending a token again below which tails are longer
_EPOCH_LEAST: Final = 1_500  # minimum raw tokens between two folds
# Share of this minimum that such loops skip, and talk without a cache, since a fold causes no additional writes there.
_OFTENER: Final = 0.45
_EPOCH_MOST: Final = 16_000
_SUMMARY_RATIO: Final = 0.06
_SUMMARY_LEAST: Final = 60
_SUMMARY_MOST: Final = 500
_TOLD_RATIO: Final = 0.015  # share of a block for users' statements in it
_TOLD_MOST: Final = 300
_STEPS: Final = 4  # factor for entries that users log step by step
_ALL_STEPS: Final = 0.4  # share of a block for entries if users often ask over all of them
_STATEMENT: Final = 60  # maximum tokens of one such message
_OPENING: Final = 300  # additional tokens for the opening of a conversation
_ROOMY: Final = 0.25  # from this share of a conversation on, a budget leaves as much room for both as there is without one
_COVERED: Final = 8  # a conversation is expected to continue for one part in this many of its requests so far
_MOST_TURNS: Final = 40  # and for at most this many requests
_AT_RISK: Final = 0.02  # share of the cost so far that a fold may risk; law 9 allows as much for short conversations
#: The same if a whole table is needed again, because a part of it would give wrong figures.
AT_RISK_FOR_TABLES: Final = 0.05
_HARDLY: Final = 0.3  # shares of warm requests below this count as hardly warm
_MOST_STANDING: Final = 0.9  # share of a budget
_LADDER: Final = 1.19  # a changing budget moves borders in steps of a quarter of an octave


class Thresholds(NamedTuple):
    """The thresholds of one fold event, in tokens of the border counter.

    Attributes:
        start: the conversation must be larger than this before anything is folded.
        fold_at: a raw tail larger than this is folded.
        keep_recent: about this much of the tail stays raw.
        facts_at: tokens of blocks at FACTS, beyond which the oldest become a summary.
        summaries_at: tokens of summaries, beyond which the oldest become a line.
        limit: most tokens of the forwarded conversation without recall; None: no budget.
    """

    start: int
    fold_at: int
    keep_recent: int
    facts_at: int
    summaries_at: int
    limit: int | None = None


class Shape(NamedTuple):
    """The kind of a conversation, judged by its prefix.

    Attributes:
        pace: tokens that a request has added on average.
        loops: share of requests that end with a tool's result, 0..1.
        facts_ratio: share of its messages' tokens left at FACTS, 0..1.
        lines: share of its tokens in results from which a next step copies lines (files) rather than values (records).
    """

    pace: float
    loops: float
    facts_ratio: float
    lines: float = 0.0


def believed_warmth(options: FoldOptions) -> Warmth:
    """The belief about the cache in the options, else the configured share."""
    return options.belief.warmth if options.belief is not None else warmth.set_warmth(options.cache_hit_share)


def thresholds(
    options: FoldOptions, warmth: Warmth, total: int, shape: Shape, squeeze: float = 1.0, fixed: int = 0
) -> Thresholds:
    """The thresholds for a conversation of `total` tokens so far, of which no fold takes `fixed`.

    Args:
        warmth: the decision about the cache.
        shape: the kind of the conversation.
        squeeze: factor for the budget's limit; below 1 after a plan that was too large.
    """
    price = options.prices.reread(warmth.share(shape.loops))
    start, keep = _start_and_keep(price)
    talking, penalty = talk(shape), max(0.0, options.prices.write - price)
    spared = 0.0
    if options.prices.read >= _SHORT_TAILS:
        spared = _spared(shape)
        start = int(start * (1 - _START_SPARED * spared))
        less = spared * (_TAIL_SPARED if penalty else _TAIL_SPARED_UNCACHED)
        keep = int(keep * (1 + _FOR_LOOPS * min(1.0, 2 * shape.loops) - _FOR_TALK * talking) * (1 - less))
    oftener = spared if penalty else max(spared, talking)
    keep = max(keep, options.prices.least)  # a shorter prompt would never be cached, whereas the whole one would
    fold_at = keep + max(int(_EPOCH_LEAST * (1 - _OFTENER * oftener)), _epoch(penalty, price, keep, shape.pace))
    if options.prices_if_cached is not None:  # the first decision tells the prices (``decisions.under_prices``)
        start = max(start, FIRST_RUNG - 1)
    free = Thresholds(start, fold_at, keep, int(keep * _facts_worth(shape, spared, price)), summaries_at=keep // 2)
    if options.budget is None:
        return free
    budget = snap_budget(options.budget)
    standing = min(_MOST_STANDING, _standing_share(budget, total) * squeeze)
    limit = int(budget * standing)
    target = int(0.6 * limit)
    if fixed > budget // 2:
        limit = fixed + int(max(0, budget - fixed) * standing)
        target = int(0.6 * (limit - fixed))
    return Thresholds(
        start=min(start, budget),
        fold_at=fold_at,
        keep_recent=min(keep, target // 2),
        facts_at=min(free.facts_at, int((0.3 if squeeze <= 1 else 0.7) * target)),
        summaries_at=min(free.summaries_at, target // 5),
        limit=limit,
    )


def without_cache(limits: Thresholds) -> Thresholds:
    """The thresholds for a request with a cold cache.

    A fold need not wait, since everything is written again anyway. The raw tail is the same, since later requests find it cached.
    """
    start = min(limits.start, _start_and_keep(1.0)[0])
    return limits._replace(start=start, fold_at=min(limits.fold_at, limits.keep_recent + _EPOCH_LEAST))


def rewritten_by_recall(options: FoldOptions, shape: Shape, recall: int, turns: float) -> float:
    """Usual cost of the quotes for a user's message.

    Their own tokens, plus their removal at the next message, which writes the answer again; or reading them until the next fold,
    if they stay.
    """
    r, w = options.prices.read, options.prices.write
    return w * recall + min((w - r) * shape.pace, recall * turns * r)


def talk(shape: Shape) -> float:
    """How much a conversation is talk in short turns, 0..1, rather than a tool loop or about long texts."""
    short = min(1.0, max(0.0, (_LONG_TURN - shape.pace) / (_LONG_TURN - _SHORT_TURN)))
    return short * (1 - min(1.0, 2 * shape.loops))


def _spared(shape: Shape) -> float:
    """How well FACTS replace a raw tail of a conversation's results, 0 to 1."""
    hardly, wholly = _NEARLY_WHOLE
    small = min(1.0, max(0.0, (shape.facts_ratio - hardly) / (wholly - hardly)))
    return small * min(1.0, 4 * shape.loops) * max(0.0, 1 - 4 * shape.lines)


def _facts_worth(shape: Shape, spared: float, price: float) -> float:
    """The room at FACTS, in tails.

    A chat needs little, since user messages get recall, and one of short turns hardly shrinks. Long pasted texts at FACTS are
    sent with each question but contain its answer only by chance; quotes contain it more often. A tool loop gets no recall, so
    the blocks must contain what its next step needs, and long results shrink to a third without losing their subject. Small
    results hardly shrink: the latest stay at FACTS if tails are short, and none if a fold has to save much to pay off. The less
    FACTS leave out, because results are short or reasoning is sealed, the less room they get: sending them with each step would
    cost most of the savings. Cheap repeated tokens make tails longer, but not FACTS, since a loop sends these long after they
    were needed.
    """
    pasted = min(1.0, max(0.0, (shape.pace - _TYPED) / (_PASTED - _TYPED)))
    most = _CHAT_FACTS[0] + (_CHAT_FACTS[1] - _CHAT_FACTS[0]) * pasted
    ratio = max(shape.facts_ratio, 0.01)
    chat = min(most, max(0.2, float((0.5 / ratio) ** 4.5)))
    loop = _LOOP_FACTS[0] + (_LOOP_FACTS[1] - _LOOP_FACTS[0]) * spared
    loop *= max(min(1.0, float((0.52 / ratio) ** 4.5)), spared)
    loop *= _start_and_keep(max(price, _CHEAP))[1] / _start_and_keep(price)[1]
    return chat + (loop - chat) * min(1.0, 2 * shape.loops)


def _epoch(penalty: float, price: float, keep: int, pace: float) -> int:
    """The cheapest number of raw tokens between two folds: each fold writes `keep` tokens again, while waiting leaves tokens
    unfolded.

    The square root is that of WIRE's formula m* = sqrt(2 (w-r) K / (r d (1-rho))), in tokens, with the expected price of a read.
    """
    return min(_EPOCH_MOST, int(sqrt(2 * penalty * keep * pace / (0.8 * max(price, LEAST_PRICE)))))


def rewrite_cost(options: FoldOptions, warm: float, raw: int, fresh: int, folded: int, behind: int) -> float:
    """What a fold costs in its own request, compared with a warm cache, the best case without a fold; in input tokens.

    Args:
        warm: the expected share of warm requests; if it is very low, a fold is compared with a cold cache too.
        raw: folded tokens that were sent before.
        fresh: folded tokens that were never sent.
        folded: tokens that remain of both.
        behind: tokens around them that were sent before and must be written again.
    """
    reread = options.prices.reread(min(1.0, warm / _HARDLY))
    return options.prices.write * (folded - fresh + behind) - reread * (raw + behind)


def pays(price: float, rewrite: float, saving: int, turns: int, allowance: float) -> bool:
    """Whether a fold pays for its rewrite within the expected number of turns, and does little harm if there are none.

    A conversation's length is unknown. After n turns, n/8 more are expected. Since it may also end now, a fold may not cost more
    than its allowance.

    Args:
        price: price of sending an old token again.
        rewrite: its immediate cost.
        saving: tokens that it leaves out of each request.
        turns: requests so far.
        allowance: the most that may be lost (``allowance``).
    """
    return rewrite < min(turns / _COVERED, _MOST_TURNS) * price * saving and rewrite <= allowance


def allowance(saved: float, spent: float, at_risk: float = _AT_RISK) -> float:
    """The maximum cost of a fold: the savings of earlier ones, plus a small part of the conversation's cost.

    Args:
        saved: savings of the conversation's folds so far; negative until the newest has paid off.
        spent: cost of its requests without folds.
        at_risk: share of `spent` that may be risked.
    """
    return saved + at_risk * spent


def _standing_share(budget: int, total: int) -> float:
    """Share of a budget for text that stays from turn to turn; the rest is recall's.

    The tighter the budget, the more recall gets: a summary of everything in a tenth of its tokens answers less than the passages
    that the question is about.
    """
    return min(0.6, max(0.05, 1.2 * (budget / max(total, 1)) - 0.05))


@lru_cache(maxsize=256)
def _start_and_keep(price: float) -> tuple[int, int]:
    price = min(max(price, _PROFILES[0][0]), _PROFILES[-1][0])
    for low, high in pairwise(_PROFILES):
        if price <= high[0]:
            t = (price - low[0]) / (high[0] - low[0])
            start, keep = (round(exp(log(x) + t * (log(y) - log(x)))) for x, y in zip(low[1:], high[1:], strict=True))
            return start, keep
    raise AssertionError("profiles cover 0.1 to 1")


def snap_budget(budget: int) -> int:
    """The step of a ladder that a budget has reached.

    A budget that changes slightly with each request, such as a share of it, then rarely moves borders.
    """
    step = int(log(max(budget, 1)) / log(_LADDER) + 1e-9)
    return int(_LADDER**step)


def newest_outgrown(totals: Sequence[int], most: int, growth: int) -> int | None:
    """Index of the newest of growing totals at which something must be made smaller; None if it never must.

    Args:
        most: greatest total that needs no change.
        growth: how much it may then grow until the next change.
    """
    found = None
    for index, total in enumerate(totals):
        if total > most:
            found, most = index, total + growth
    return found


def summary_tokens(raw: int) -> int:
    """Most tokens of the summary of a block of `raw` tokens, including its frame."""
    return min(_SUMMARY_MOST, max(_SUMMARY_LEAST, int(_SUMMARY_RATIO * raw)))


class Telling(NamedTuple):
    """Room for users' statements in blocks that have become a summary or a line.

    Attributes:
        ratio: share of a block that has become a line, for its statements.
        opening: tokens for the opening of the conversation.
        has_answers: whether entries include short answers; a budget leaves that room to recall.
    """

    ratio: float = 0.0
    opening: int = 0
    has_answers: bool = False


def telling(options: FoldOptions, total: int, squeeze: float) -> Telling:
    """The room for users' statements in blocks of `total` tokens.

    Under a budget it is about a twentieth of it, and a tenth for the opening, in two steps, since old blocks should rarely
    change. It is none if the budget is tight or could not be met otherwise.
    """
    if options.budget is None:
        return Telling(_TOLD_RATIO, _OPENING, has_answers=True)
    room = options.budget / (_ROOMY * max(1, total)) if squeeze >= 1 else 0.0
    step = 1.0 if room >= 1 else 0.5 if room >= 0.5 else 0.0
    return Telling(step * _TOLD_RATIO, int(step * min(_OPENING, options.budget / 10)))


def told_tokens(raw: int, users: int, ratio: float = _TOLD_RATIO) -> int:
    """Most tokens for this many user messages' statements in a block of `raw` tokens that has become a line."""
    return min(_TOLD_MOST, int(ratio * raw), _STATEMENT * users)


def step_tokens(raw: int, ratio: float, *, keeps: bool) -> int:
    """Most tokens for the entries that users have kept step by step, in a block of `raw` tokens, in addition to statements.

    Args:
        keeps: whether the fold contains entries (``keeps_entries``).
    """
    return int((_ALL_STEPS if keeps else _STEPS * ratio) * raw)


def keeps_entries(options: FoldOptions, warmth: Warmth, share: float) -> bool:
    """Whether a fold contains the entries that users keep.

    It is mostly read from the cache. Otherwise entries are quoted, at full price, for the share of requests about all of them.
    """
    return options.budget is None and share * options.prices.write > options.prices.reread(warmth.turns)


def recall_tokens(options: FoldOptions, warmth: Warmth, shape: Shape, saved: int, folded: int) -> int:
    """Usual tokens of recall without an explicit budget: a quarter of what the fold saves in a turn at these prices.

    It is less if FACTS keep the values of records.

    Args:
        shape: the kind of the conversation when the question was asked.
        saved: tokens that the fold saves in each request.
        folded: raw tokens of the folded units.
    """
    price = options.prices.reread(warmth.turns) / options.prices.write
    usual = max(_RECALL_LEAST, min(int(_RECALL_USUAL * saved * price), _RECALL_BASE + int(_RECALL_SHARE * folded)))
    spared = _spared(shape) if options.prices.read >= _SHORT_TAILS else 0.0
    return _tapered(max(_RECALL_LEAST, int(usual * (1 - _RECALL_SPARED * spared))), shape)


def most_recall_tokens(options: FoldOptions, warmth: Warmth, shape: Shape, saved: int, folded: int) -> int:
    """Most tokens of recall without an explicit budget: a quarter of what the fold saves in a turn at these prices.

    In talk in short turns it is half, to make up for the short tail. Only a question that clearly bears on folded text uses all
    of it (``recall``). In a tool loop each step reads recall again, and if cached tokens are cheap, half of the savings would be
    spent on text that was nearly free.

    Args:
        shape, saved, folded: as in `recall_tokens`.
    """
    usual = recall_tokens(options, warmth, shape, saved, folded)
    if options.prices.read < _SHORT_TAILS:
        return usual
    price = options.prices.reread(warmth.turns) / options.prices.write
    most = min(int(_RECALL_MOST * saved * price), _RECALL_BASE + int(_RECALL_MOST_SHARE * folded))
    return max(usual, _tapered(int(usual + talk(shape) * (most - usual)), shape))


def _tapered(recall: int, shape: Shape) -> int:
    """Recall's tokens, tapered in a tool loop.

    An agent is asked for single things, which need no more because there is more to quote from. Questions about talk do: the
    longer it is, the more places bear on them.
    """
    beyond = max(0, recall - _RECALL_FULL) * min(1.0, 2 * shape.loops)
    return recall - int((1 - _RECALL_BEYOND) * beyond)


_RECALL_FULL: Final = 4000  # tokens; only a share of any more is used in a tool loop
_RECALL_BEYOND: Final = 0.1
_RECALL_LEAST: Final = 160  # one passage and its frame
_RECALL_BASE: Final = 600
_RECALL_USUAL: Final = 0.25
_RECALL_SHARE: Final = 0.18
_RECALL_MOST: Final = 0.5
_RECALL_MOST_SHARE: Final = 0.3


def keeps_recall(options: FoldOptions, recall: int, since: int, turns_left: float) -> bool:
    """Whether the recall of an earlier user message stays when the next one is sent.

    Dropping it means writing the later tokens again, `since` * (w - r); keeping it means reading it in each turn until the next
    fold, `recall` * m * r.
    """
    r, w = options.prices.read, options.prices.write
    return since * (w - r) > recall * turns_left * r
