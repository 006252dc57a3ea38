"""Our own output, checked before it is sent.

Lives here: laws 2 and 6 on a forwarded request against the received one. Must not: repairing anything; a fold that fails is
dropped, and the original goes out.

The forwarded bytes are parsed anew, so that a fault in writing them is found as well.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from turnfold.compression.errors import FoldRejected
from turnfold.compression.wire.conversation import Conversation, Message


def check(received: Conversation, forwarded: Conversation, waived: frozenset[str] = frozenset()) -> None:
    """Hold a fold against the laws, but for those that are `waived` (a single giant message has to be cut to fit at all).

    Raises:
        FoldRejected: with the slug of the first law that it breaks.
    """
    for reason, broken in _LAWS:
        if reason not in waived and broken(received.messages, forwarded.messages):
            raise FoldRejected(reason)


def _pinned_changed(old: Sequence[Message], new: Sequence[Message]) -> bool:
    return [m.raw for m in old if m.pinned] != [m.raw for m in new if m.pinned]


def _last_user_broken(old: Sequence[Message], new: Sequence[Message]) -> bool:
    before = next((m for m in reversed(old) if m.role == "user" and m.holds), None)
    after = next((m for m in reversed(new) if m.role == "user" and m.holds), None)
    if before is None or after is None:
        return before is not after
    return old[-1].role != new[-1].role or any(t.text not in after.own for t in before.texts)


def _roles_broken(old: Sequence[Message], new: Sequence[Message]) -> bool:
    return _adjacent(new) > _adjacent(old) or _first_role(old) != _first_role(new)


def _adjacent(messages: Sequence[Message]) -> int:
    return sum(a.role == b.role and a.role in ("user", "assistant") for a, b in pairwise(messages))


def _first_role(messages: Sequence[Message]) -> str:
    return next((m.role for m in messages if not m.pinned), "")


def _calls_broken(old: Sequence[Message], new: Sequence[Message]) -> bool:
    """Whether a call lost a result, or a result its call, that had it."""
    return _loose(new) - _loose(old) != set()


def _loose(messages: Sequence[Message]) -> set[tuple[str, str]]:
    """Calls without a result before the next message that is none, and results without such a call."""
    out: set[tuple[str, str]] = set()
    waiting: list[str] = []
    for message in messages:
        if message.is_result and message.answers is not None:
            if message.answers in waiting:
                waiting.remove(message.answers)
            else:
                out.add(("result", message.answers))
        elif waiting or message.calls:
            out.update(("call", c) for c in waiting)
            waiting = list(message.calls)
    out.update(("call", c) for c in waiting)
    return out


def _arguments_broken(old: Sequence[Message], new: Sequence[Message]) -> bool:
    known = {t.text for m in old for t in m.arguments}
    return any(t.text not in known and t.path[-1] == "arguments" and not _is_json(t.text) for m in new for t in m.arguments)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _keys_invented(old: Sequence[Message], new: Sequence[Message]) -> bool:
    known = {(m.role, m.keys) for m in old}
    return any((m.role, m.keys) not in known for m in new)


def _emptied(old: Sequence[Message], new: Sequence[Message]) -> bool:
    known = {m.raw for m in old}
    return any(m.raw not in known and not m.holds and not m.has_calls for m in new)


def _seal_broken(old: Sequence[Message], new: Sequence[Message]) -> bool:
    known = {m.raw for m in old}
    return any(m.sealed and m.raw not in known for m in new)


def _subsequence_broken(old: Sequence[Message], new: Sequence[Message]) -> bool:
    """Whether a message was invented or moved: roles and call ids must come in the order that they had."""
    waiting: Iterator[Message] = iter(old)
    return not all(any(_same_place(m, n) for m in waiting) for n in new)


def _same_place(old: Message, new: Message) -> bool:
    return (old.role, old.calls, old.answers, old.keys) == (new.role, new.calls, new.answers, new.keys)


def attachments_lost(old: Sequence[Message], new: Sequence[Message]) -> bool:
    """Whether an attachment of a user's or assistant's message is gone; those of tool results fold like the results."""
    return not _attachments(old) <= _attachments(new)


def _attachments(messages: Sequence[Message]) -> Counter[tuple[str, str]]:
    return Counter((m.role, one.label) for m in messages if not m.is_result for one in m.attached)


#: The slug of the one law that a budget may waive.
ATTACHMENT_LOST: Final = "attachment-lost"

_Law = Callable[[Sequence[Message], Sequence[Message]], bool]
_LAWS: tuple[tuple[str, _Law], ...] = (
    ("system-changed", _pinned_changed),
    ("last-user-broken", _last_user_broken),
    ("roles-broken", _roles_broken),
    ("calls-broken", _calls_broken),
    ("arguments-broken", _arguments_broken),
    ("keys-invented", _keys_invented),
    ("message-emptied", _emptied),
    ("seal-broken", _seal_broken),
    ("message-invented", _subsequence_broken),
    (ATTACHMENT_LOST, attachments_lost),
)
