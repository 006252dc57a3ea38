"""Decisions about a fold, made once and recorded under the conversation's prefix.

This module decides at which requests something is decided, and which precedents are those of a conversation. What follows from a
decision is up to ``policy``; the shell keeps precedents and asks for them.

Borders are found by replaying a conversation from its first message (``replay``). What time brings (what was learned of the
cache, a brake) must not move the borders of the past, so:

- Something is decided at few requests only, the *points*: where the conversation outgrows a rung of a ladder of sizes, and where
  a fold is due. A decision holds until the next point. Rungs follow from the messages alone; so do folds, with the decisions
  before them.
- At a point, the precedent under the conversation's messages so far holds; else the options' `belief` is the decision, and comes
  out of the fold as a new precedent (``Folded.decided``).
- Whoever sends the fold keeps new precedents first: the first writer wins, and who comes later folds again with what was kept.
  So replicas that share a store send the same bytes whatever each of them believes, and a request at which nothing is decided
  asks nobody.
- A replica that cannot ask decides by what follows from the messages and the packaged defaults, and goes on with that: its
  prefix may differ from another replica's, which is one cache flush.

A prefix is told by its messages, not by system text outside of them, which some clients change with every request.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from math import log
from typing import Final

from turnfold.compression.memo import Memo, continued
from turnfold.compression.options import FoldDecision, FoldOptions, Likeness, Precedent
from turnfold.compression.warmth import set_warmth, usual_warmth
from turnfold.compression.wire.message import Messages, family

#: Tokens from which a conversation has a decision. If it is not known whether there is a cache, nothing is folded before.
FIRST_RUNG: Final = 4_000
_RUNG: Final = log(1.25)


def rung(total: int) -> int:
    """The rung of a conversation of `total` tokens; 0 below the first."""
    return 0 if total < FIRST_RUNG else 1 + int(log(total / FIRST_RUNG) / _RUNG + 1e-9)


def at_first(options: FoldOptions) -> FoldDecision:
    """The decision before the first point: the usual values for these prices, or the configured share. Beliefs are ignored.

    Nothing is folded before it, unless a budget requires that, but the cost until then counts for what a later fold may risk. It
    is not stored as a precedent, so it must be the same at any time and on any replica.
    """
    return FoldDecision(usual_warmth(options.prices) if options.belief is not None else set_warmth(options.cache_hit_share))


def prefixes(keys: Sequence[bytes], ends: Iterable[int]) -> dict[int, str]:
    """Digests of prefixes of a list of message keys, by their lengths. Lengths beyond the list are left out.

    Args:
        keys: keys of equal size.
        ends: lengths, in any order.
    """
    found: dict[int, str] = {}
    state, last = blake2b(digest_size=16), 0
    for end in sorted(end for end in set(ends) if end <= len(keys)):
        state.update(b"".join(keys[last:end]))
        found[end], last = state.copy().hexdigest(), end
    return found


def known_prefixes(messages: Messages, ends: Collection[int], memo: Memo) -> dict[int, str]:
    """Digests of prefixes of a conversation's messages, at least those requested. Earlier requests' digests are reused."""

    def run(known: dict[int, str] | None, same: int) -> dict[int, str]:
        found = {end: name for end, name in known.items() if end <= same} if known else {}
        return found | prefixes(messages.keys, new) if (new := [end for end in ends if end not in found]) else found

    if not ends:
        return {}
    return continued(memo, ("prefixes", family(messages)), messages, run, lambda found: 200 * len(found))


def binding(precedents: Sequence[Precedent], messages: Messages, memo: Memo) -> tuple[Precedent, ...]:
    """The precedents made under a prefix of this conversation, in order of their messages."""
    own = known_prefixes(messages, [p.at for p in precedents], memo)
    return tuple(sorted((p for p in precedents if own.get(p.at) == p.prefix), key=lambda p: p.at))


def under_prices(options: FoldOptions, total: int) -> FoldOptions:
    """The options with the cache prices for the whole conversation, if these are not known.

    Later observations must not move earlier folds. So the first decision of the conversation determines whether there is a cache,
    and all others follow it. Below the first rung nothing is folded (``policy.thresholds``): a process that does not know of a
    fold there might assume other prices, by which none was due. If the first decision was made before the first cached token was
    observed, nothing more is folded, since the prices were wrong.

    Args:
        options: bound to the conversation (`binding`, `bound_belief`).
        total: tokens of the conversation.
    """
    first = options.precedents[0].decision if options.precedents else options.belief
    caches = first is not None and first.caches and rung(total) > 0
    belief = options.belief
    if belief is not None:
        belief = replace(belief, caches=caches, brake=belief.brake or (belief.caches and not caches and rung(total) > 0))
    prices = options.prices_if_cached if caches and options.prices_if_cached else options.prices
    return replace(options, prices=prices, belief=belief)


def under_marks(options: FoldOptions, *, hour: bool) -> FoldOptions:
    """The options with the write price of the client's cache marks.

    Args:
        options: bound to the conversation (`binding`, `bound_belief`).
        hour: whether the request's own marks keep what they write for an hour. If the conversation has a precedent, its first one
            says so instead.
    """
    if options.precedents:
        hour = options.precedents[0].decision.hour
    if not hour:
        return options
    belief, cached = options.belief, options.prices_if_cached
    return replace(
        options,
        prices=options.prices.for_an_hour(),
        prices_if_cached=cached.for_an_hour() if cached is not None else None,
        belief=replace(belief, hour=True) if belief is not None else None,
    )


def bound_belief(belief: FoldDecision | None, messages: Messages, memo: Memo) -> FoldDecision | None:
    """The belief, limited to summaries that were written under a prefix of this conversation."""
    if belief is None or not belief.summaries:
        return belief
    own = known_prefixes(messages, [one.end for one in belief.summaries], memo)
    return replace(belief, summaries=tuple(one for one in belief.summaries if own.get(one.end) == one.prefix))


def bound_likenesses(likenesses: Sequence[Likeness], messages: Messages, memo: Memo) -> tuple[Likeness, ...]:
    """The similarities that were determined under a prefix of this conversation."""
    own = known_prefixes(messages, [one.at for one in likenesses], memo)
    return tuple(one for one in likenesses if own.get(one.at) == one.prefix)


def fresh(
    decided: Mapping[int, FoldDecision], known: Sequence[Precedent], messages: Messages, memo: Memo
) -> tuple[Precedent, ...]:
    """New precedents: decisions at numbers of messages for which none is known."""
    if not decided:
        return ()
    before = {p.at for p in known}
    new = {at: decision for at, decision in decided.items() if at not in before}
    named = known_prefixes(messages, new, memo)
    return tuple(Precedent(at, named[at], decision) for at, decision in sorted(new.items()))
