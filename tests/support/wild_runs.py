"""Odd sessions through the engine, each request held against what its provider takes.

It folds and recovers the sessions that ``wild_sessions`` makes, and says what is wrong with the outcome. There is no HTTP; the
rules are in ``provider_rules``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.support.messages_api import Bindings
from tests.support.provider_rules import faults, newest_step, refusals, tools_lost
from tests.support.warm import WARM
from tests.support.wild_sessions import Session, requests
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.bound_fold import BoundFold
from turnfold.compression.fit.fit import shrink
from turnfold.compression.fold import fold, unfold
from turnfold.compression.fold.thinking import binds_thinking
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES

_WIRES: Final = {wire.name: wire for wire in (CHAT, MESSAGES, RESPONSES)}
_FREE: Final = CachePrices(1.0, 1.0)
#: Options by a name.
SETTINGS: Final = {
    "no cache": FoldOptions(prices=_FREE),
    "half price": FoldOptions(prices=CachePrices(0.5, 1.0)),
    "marks": FoldOptions(prices=CachePrices(0.1, 1.25), cache_hit_share=0.3),
    "budget": FoldOptions(prices=CachePrices(0.5, 1.0), budget=1500),  # where requests of a turn hold on to one fold
    "small budget": FoldOptions(prices=_FREE, budget=400),
    "bare": FoldOptions(prices=_FREE, recall=False, shape_results=False),
    "bare budget": FoldOptions(prices=_FREE, budget=2500, recall=False, shape_results=False),
    "drops thinking": FoldOptions(prices=_FREE, drops_thinking=True, cache_breakpoints=True),
}
_ROOMS: Final = (300, 1200, 5000)


def fold_faults(made: Session, setting: str, every: int = 1) -> Iterator[str]:
    """What is wrong with the folds of a session's requests; of one in so many of them, the last among these."""
    options, memo, api = SETTINGS[setting], WARM, Bindings()
    bound = made.wire == "messages" and binds_thinking(made.top["model"])
    sent = list(requests(made))
    for end, body in sent if bound else reversed(sent[::-every]):
        place = f"{made.wire} {made.seed} {setting} at {end}"
        try:
            folded = fold(_WIRES[made.wire].read(body, memo), options, memo)
        except FoldRejected as rejected:
            yield f"{place}: rejected, {rejected}"
            continue
        if unfold(folded) != body:
            yield f"{place}: not restored"
        yield from (f"{place}: {fault}" for fault in _sent_faults(made.wire, body, folded.body))
        yield from (f"{place}: {kind} lost" for kind in tools_lost(body, folded.body))
        if setting.startswith("bare") and newest_step(made.wire, body) != newest_step(made.wire, folded.body):
            yield f"{place}: the newest step changed"
        if bound:
            yield from (f"{place}: {name} is bound to another prompt" for name in api.violations(folded.body))
            if end < len(made.items) and made.items[end]["role"] == "assistant":
                api.answered(folded.body, made.items[end])


def recovery_faults(made: Session) -> Iterator[str]:
    """What is wrong with the last requests of a session as they are made to fit a window."""
    memo = WARM
    for end, body in list(requests(made))[-5::2]:
        for room in _ROOMS:
            small = shrink(_WIRES[made.wire].read(body, memo), room, BoundFold(FoldOptions(), memo))
            if small is not None:
                place = f"{made.wire} {made.seed} in {room} at {end}"
                found = _sent_faults(made.wire, body, small.forwarded.body)
                yield from (f"{place}: {fault}" for fault in found if "question" not in fault and "last user" not in fault)


def _sent_faults(wire: str, received: bytes, forwarded: bytes) -> list[str]:
    if forwarded == received:
        return []
    return [*(f"refused, {fault}" for fault in refusals(wire, forwarded)), *faults(wire, received, forwarded)]
