"""The messages of a conversation, gone on from those of an earlier request.

Lives here: marking those that report (``wire.reports``) and remembering both. Does not belong here: what a message is
(``wire.conversation``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from turnfold.compression.memo import Memo, continued
from turnfold.compression.wire.conversation import Message, Messages, family
from turnfold.compression.wire.reports import Reports, find_reports


class _Gathered(NamedTuple):
    """The messages of a conversation, and what told which of them report.

    Attributes:
        before: what had been told before the last user message, which the next request may have otherwise.
    """

    messages: Messages
    reports: Reports
    before: Reports


def gather(messages: Sequence[Message], wire: str, memo: Memo) -> Messages:
    """The messages of a conversation, those bound that report; gone on from those of an earlier request."""

    def run(known: _Gathered | None, same: int) -> _Gathered:
        if known is not None and same == len(messages) == known.reports.seen:
            return known
        told = (known.reports, known.before, Reports()) if known is not None else (Reports(), Reports())
        begin = next(reports for reports in told if reports.seen <= same)
        last = next((i for i in range(len(messages) - 1, -1, -1) if messages[i].role == "user"), 0)
        before = find_reports(messages[:last], begin) if begin.seen <= last else told[1]
        found = find_reports(messages, max(begin, before, key=lambda reports: reports.seen))
        earlier = known.messages if known is not None else None
        was = known.reports.found if known is not None else frozenset()
        same = min((i for i in found.found ^ was if i < same), default=same)
        start = earlier[:same] if earlier is not None else ()
        rest = (_reporting(m) if i in found.found else m for i, m in enumerate(messages[same:], same))
        return _Gathered(Messages((*start, *rest), earlier, same), found, before)

    key = ("messages", wire, family(messages))
    return continued(memo, key, messages, run, lambda found: 24 * len(found.messages), kept=2).messages


def _reporting(message: Message) -> Message:
    return replace(message, key=message.key + b"reports", bound=True, reports=True)
