"""Checking the engine's own output before it is sent.

Laws 2 and 6 are checked for a forwarded request against the received one. Nothing is repaired: a fold that fails is dropped, and
the original is sent.

The forwarded bytes are parsed again, so that an error in writing them is found as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, pairwise
from typing import Any, Final

from turnfold.compression.errors import FoldRejected
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.message import Message, Messages
from turnfold.compression.wire.spans import is_json


def check(received: Conversation, forwarded: Conversation, waived: frozenset[str] = frozenset()) -> None:
    """Check a fold against the laws, except the `waived` ones (a single giant message can only be made to fit by cutting it).

    Raises:
        FoldRejected: with the slug of the first violated law.
    """
    for reason, breaks in _LAWS:
        if reason not in waived and breaks(received.messages, forwarded.messages):
            raise FoldRejected(reason)


def _changes_system(old: Messages, new: Messages) -> bool:
    """Whether instructions changed. Those that the provider no longer shows to the model may be removed."""
    if [old[i].raw for i in old.pinned] == [new[i].raw for i in new.pinned]:
        return False
    cleared = Counter(old[i].raw for i in old.cleared)
    return _shown(old) != _shown(new) or not Counter(new[i].raw for i in new.cleared) <= cleared


def _shown(messages: Messages) -> list[str]:
    return [messages[i].raw for i in messages.pinned if i not in messages.cleared]


def _breaks_last_user(old: Messages, new: Messages) -> bool:
    if not (old.users and new.users):
        return bool(old.users or new.users)
    before, after = old[old.users[-1]], new[new.users[-1]]
    return _last_role(old) != _last_role(new) or any(t.text not in after.own for t in before.texts)


def _last_role(messages: Sequence[Message]) -> str:
    return next((m.role for m in reversed(messages) if not m.placed), "")


def _breaks_roles(old: Sequence[Message], new: Sequence[Message]) -> bool:
    if _first_role(old) != _first_role(new):
        return True
    adjacent = _adjacent(new)
    if not adjacent:
        return False
    # A message with only reasoning may be removed by itself: the wires with such messages allow neighbours of one role.
    thoughts = sum(m.reasoning is not None and not m.reasoning.bare for m in old)
    return adjacent > _adjacent(old) + thoughts


def _adjacent(messages: Sequence[Message]) -> int:
    roles = [m.role for m in messages if m.fixed or not m.pinned]  # instructions do not separate messages
    return sum([a == b and a in ("user", "assistant") for a, b in pairwise(roles)])


def _first_role(messages: Sequence[Message]) -> str:
    return next((m.role for m in messages if not m.pinned), "")


def _breaks_calls(old: Sequence[Message], new: Sequence[Message]) -> bool:
    """Whether a call lost its result, or a result its call.

    Calls and results unpaired in the received request may stay so, as often as they were: one id may be unpaired in one place and
    paired in another.
    """
    loose = _loose_ends(new)
    return bool(loose) and bool(loose - _loose_ends(old))


def _loose_ends(messages: Sequence[Message]) -> Counter[tuple[str, str]]:
    """Calls without a result before the next message that is not a result, and results without such a call.

    Instructions between a call and its results do not separate them, nor do they in a unit (``fold.units``). Calls and results
    without an id, as in the old ``function_call``, are paired with each other.
    """
    loose: list[tuple[str, str]] = []
    waiting: list[str] = []
    for message in messages:
        if message.is_result:
            answers = message.answers or ""
            if answers in waiting:
                waiting.remove(answers)
            else:
                loose.append(("result", answers))
        elif (waiting or message.has_calls) and not message.pinned:
            loose += [("call", call) for call in waiting]
            waiting = list(message.call_ids) or [""] * message.has_calls
    return Counter(loose + [("call", call) for call in waiting])


def _breaks_arguments(old: Sequence[Message], new: Sequence[Message]) -> bool:
    spoiled = [text for m in new if m.arguments for text in _spoiled_arguments(m)]
    return bool(spoiled) and not {t.text for m in old for t in m.arguments}.issuperset(spoiled)


def _spoiled_arguments(message: Message) -> list[str]:
    """Its arguments that should be JSON but are not; checked once for all requests with the message."""
    found: list[str] | None = message.written.get("spoiled")
    if found is None:
        found = message.written["spoiled"] = [t.text for t in message.arguments if t.is_json and not is_json(t.text)]
    return found


def _invents_keys(old: Sequence[Message], new: Sequence[Message]) -> bool:
    unknown = {(m.role, m.keys) for m in new}
    for message in old:  # usually among the first few
        unknown.discard((message.role, message.keys))
        if not unknown:
            break
    return bool(unknown)


def _empties_message(old: Sequence[Message], new: Sequence[Message]) -> bool:
    empty = _empty(new)
    return bool(empty) and not empty <= _empty(old)


def _empty(messages: Sequence[Message]) -> Counter[str]:
    """Messages without content. A result is identified by the call that it answers, since it may be given a mark that moves."""
    return Counter((m.is_result and m.answers) or m.raw for m in messages if not (m.holds or m.has_calls))


def _breaks_seal(old: Sequence[Message], new: Sequence[Message]) -> bool:
    sealed = {m.raw for m in new if m.sealed}
    return bool(sealed) and not sealed <= {m.raw for m in old} | {m.reasoning.bare for m in old if m.reasoning is not None}


def _breaks_turn(old: Messages, new: Messages) -> bool:
    """Whether an assistant's message of the current turn was changed or removed, from the turn's first reasoning on.

    Anthropic, "Extended thinking": the blocks of the latest assistant turn, through its tool loop, can't be modified.
    """
    if not old.reasoning:
        return False
    user = old.users[-1] if old.users else 0
    first = next((i for i in old.reasoning if i >= user), len(old))
    turn = [m.raw for m in old[first:] if m.role == "assistant"]
    return bool(turn) and [m.raw for m in new if m.role == "assistant"][-len(turn) :] != turn


def _invents_message(old: Messages, new: Messages) -> bool:
    """Whether a message was invented or moved: roles and call ids must keep their order.

    A `placed` message may move after the next user message.
    """
    if any(old[i].placed for i in old.pinned):
        return _is_out_of_order([m for m in old if not m.placed], [m for m in new if not m.placed])
    return _is_out_of_order(old, new)


def _is_out_of_order(old: Sequence[Message], new: Sequence[Message]) -> bool:
    most = min(len(old), len(new))
    front = _common(old, new, most)
    back = _common(reversed(old), reversed(new), most - front)  # removed or changed messages lie in between
    waiting = map(_place, islice(old, front, len(old) - back))
    return not all(_place(m) in waiting for m in new[front : len(new) - back])  # searched after the previous one


def _common(one: Iterable[Message], other: Iterable[Message], most: int) -> int:
    """How many first messages both have in the same place, up to `most`."""
    pairs = enumerate(islice(zip(one, other, strict=False), most))
    return next((i for i, (a, b) in pairs if a is not b and _place(a) != _place(b)), most)


def _place(message: Message) -> tuple[Any, ...]:
    return message.role, message.call_ids, message.answers, message.keys


def _invents_marks(old: Messages, new: Messages) -> bool:
    """Whether more messages carry cache marks than before. The only exception is a single mark set by Turnfold."""
    return len(new.marked) > max(1, len(old.marked))


def attachments_lost(old: Messages, new: Messages) -> bool:
    """Whether an attachment of a user's or assistant's message was lost; those of tool results fold with the results."""
    return not _attachments(old) <= _attachments(new)


def _attachments(messages: Messages) -> Counter[tuple[str, str]]:
    said = [messages[i] for i in messages.attached if not messages[i].is_result]
    return Counter([(m.role, one.label) for m in said for one in m.attached])


#: The slug of the only law that a budget may waive.
ATTACHMENT_LOST: Final = "attachment-lost"
#: The slug of the law that a cut may waive, if nothing else makes a request fit.
TURN_BROKEN: Final = "turn-broken"

_Law = Callable[[Messages, Messages], bool]
_LAWS: tuple[tuple[str, _Law], ...] = (
    ("system-changed", _changes_system),
    ("last-user-broken", _breaks_last_user),
    ("roles-broken", _breaks_roles),
    ("calls-broken", _breaks_calls),
    ("arguments-broken", _breaks_arguments),
    ("keys-invented", _invents_keys),
    ("message-emptied", _empties_message),
    ("seal-broken", _breaks_seal),
    (TURN_BROKEN, _breaks_turn),
    ("message-invented", _invents_message),
    ("marks-invented", _invents_marks),
    (ATTACHMENT_LOST, attachments_lost),
)
