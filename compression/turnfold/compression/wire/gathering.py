"""The messages of a conversation, continued from those of an earlier request.

This module marks those that report program output (``wire.reports``) and remembers the result. What a message is, is defined in
``wire.message``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from turnfold.compression.memo import Memo, continued
from turnfold.compression.wire.message import Message, Messages, family
from turnfold.compression.wire.reports import Reports, find_reports


class _Gathered(NamedTuple):
    """The messages of a conversation, and the evidence on which of them report.

    Attributes:
        before: the evidence before each of the last user messages, newest first. The next request may change these messages,
            since their cache marks move to new ones.
    """

    messages: Messages
    reports: Reports
    before: tuple[Reports, ...]


_BEFORE: Final = 4  # user messages: clients set at most four marks


def gather(messages: Sequence[Message], wire: str, memo: Memo) -> Messages:
    """The messages of a conversation, with reporting ones bound; continues from those of an earlier request."""

    def run(known: _Gathered | None, same: int) -> _Gathered:
        if known is not None and same == len(messages) == known.reports.seen:
            return known
        evidence = (known.reports, *known.before) if known is not None else ()
        evidence = (*(reports for reports in evidence if reports.seen <= same), Reports())
        earlier = known.messages if known is not None else None
        before = _before_users(messages, _users(messages, earlier, same), evidence)
        found = find_reports(messages, max((evidence[0], *before), key=lambda reports: reports.seen))
        was = known.reports.found if known is not None else frozenset()
        same = min((i for i in found.found ^ was if i < same), default=same)
        start = earlier[:same] if earlier is not None else ()
        rest = (_read(m, found, i) for i, m in enumerate(messages[same:], same))
        return _Gathered(Messages((*start, *rest), earlier, same), found, before)

    key = ("messages", wire, family(messages))
    return continued(memo, key, messages, run, lambda found: 24 * len(found.messages), kept=2).messages


def _users(messages: Sequence[Message], earlier: Messages | None, same: int) -> list[int]:
    """Indices of the last user messages; the first `same` messages are those of an earlier request."""
    new = [i for i in range(same, len(messages)) if messages[i].role == "user"]
    known = earlier.users[: bisect_left(earlier.users, same)] if earlier is not None else ()
    return [*known[-_BEFORE:], *new][-_BEFORE:]


def _before_users(messages: Sequence[Message], users: Sequence[int], evidence: Sequence[Reports]) -> tuple[Reports, ...]:
    """The evidence before each of some user messages, newest first, if it is known or follows known messages.

    Args:
        evidence: evidence on the first messages, that for the most messages first.
    """
    known = {reports.seen: reports for reports in evidence}
    now = evidence[0]
    found: list[Reports] = []
    for at in users:
        if at >= now.seen:
            now = find_reports(messages, now, at)
            found.append(now)
        elif at in known:
            found.append(known[at])
    return tuple(reversed(found))


def _read(message: Message, found: Reports, index: int) -> Message:
    """A message as it is read among the others."""
    if index in found.doubts:
        message = replace(message, key=message.key + b"in doubt", in_doubt=True)
    return replace(message, key=message.key + b"reports", bound=True, reports=True) if index in found.found else message
