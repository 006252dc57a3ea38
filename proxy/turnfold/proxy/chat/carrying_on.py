"""Sending the previous fold with the new messages when a fold takes too long.

This module remembers the previous fold and reuses it for a later request. ``abandoning`` decides when a fold is too slow.

Sending such a request as it came would write all of it to the provider's cache anew, which still holds what was sent last. The
previous fold is reused within a tool loop only: a user's new message is better answered from the whole conversation than from a
fold that quotes nothing for it. If anything differs from what was folded, the request goes out as it came.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from turnfold.compression.fold import conversation_name
from turnfold.compression.fold.changing import carry_on_changes
from turnfold.compression.fold.check import check
from turnfold.compression.fold.counts import conversation_tokens
from turnfold.compression.memo import Memo
from turnfold.compression.options import Keep
from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.conversation import Conversation
from turnfold.proxy.chat.abandoning import BUSY, SLOW, SLOW_BEFORE
from turnfold.proxy.chat.exchange import Exchange
from turnfold.proxy.chat.receipts import Originals
from turnfold.proxy.trails.trail import trails_of

#: The reason on the receipt of a request that was sent with its previous fold.
AS_BEFORE: Final = "as-before"
_TOO_SLOW: Final = frozenset({SLOW, SLOW_BEFORE, BUSY})


@dataclass(frozen=True, slots=True)
class _PastFold:
    """The last fold that was sent of a conversation.

    Attributes:
        keys: of the messages that came in.
        front: the JSON text of the tools, which come before all messages.
        keep: what was never to be shortened.
    """

    keys: tuple[bytes, ...]
    front: str
    keep: Keep
    changes: Changes
    sections: Originals
    events: int

    @property
    def size(self) -> int:
        """Approximate bytes in memory; the texts of sections belong to messages that are remembered anyway."""
        texts = sum(len(text) for by_path in self.changes.texts.values() for text in by_path.values())
        beside = sum(len(text) for one in self.changes.beside.values() for text in (*one.front, *one.behind))
        return 2000 + 60 * len(self.keys) + texts + beside


def remember_fold(exchange: Exchange, memo: Memo) -> None:
    """Remember a fold that is sent, unless it was made for a budget, a window or a state."""
    conversation, changes = exchange.conversation, exchange.changes
    if exchange.status != "folded" or exchange.reason or conversation is None or changes is None or not _may_carry_on(exchange):
        return
    keys, keep = conversation.messages.keys, exchange.request.keep
    past = _PastFold(keys, conversation.schema, keep, changes, exchange.sections, exchange.events)
    memo.put(_key(exchange, conversation), past, lambda one: one.size)


def is_too_slow(exchange: Exchange) -> bool:
    """Whether its fold was not ready in time, so that it may use an earlier one."""
    return exchange.reason in _TOO_SLOW and exchange.conversation is not None and _may_carry_on(exchange)


def carry_on(exchange: Exchange, memo: Memo) -> Exchange:
    """The request with the previous fold; unchanged if there is none that it continues.

    Raises:
        FoldRejected: our own output failed a check.
    """
    conversation, request = exchange.conversation, exchange.request
    if conversation is None:
        return exchange
    past: _PastFold | None = memo.find(_key(exchange, conversation))
    if past is None or (past.front, past.keep) != (conversation.schema, request.keep):
        return exchange
    changes = carry_on_changes(past.changes, past.keys, conversation)
    if changes is None:
        return exchange
    sent = conversation.with_changes(changes, memo)
    check(conversation, sent)
    before, after = (conversation_tokens(one, conversation.model, memo) for one in (conversation, sent))
    if after >= before:
        return exchange
    made = exchange.but(settled=True, status="folded", reason=AS_BEFORE, folded=True, sent=sent, body=sent.body, betas=sent.betas)
    return made.but(
        tokens=(before, after),
        sections=past.sections,
        events=past.events,
        recoverable=True,
        name=request.label or conversation_name(conversation),
        trails=trails_of(conversation, sent),
    )


def _may_carry_on(exchange: Exchange) -> bool:
    request, conversation = exchange.request, exchange.conversation
    plain = request.mode == "on" and request.budget is None and request.state == "off"
    return plain and conversation is not None and bool(conversation.messages) and not conversation.held


def _key(exchange: Exchange, conversation: Conversation) -> Hashable:
    request = exchange.request
    name = conversation_name(conversation)
    return ("past fold", request.tenant, request.to.origin, conversation.wire.name, conversation.model, request.label, name)
