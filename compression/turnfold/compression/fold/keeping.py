"""Messages that somebody wants left as they are.

Lives here: which they are. Does not belong here: what keeps them so (``units``: a message that is kept stays with its unit, as
one with an attachment does).

A user names tools and roles in the options; a writer puts ``<keep>`` and ``</keep>`` around what must not change. The whole
message stays then, and what stands around it may be folded. System messages stay anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

from turnfold.compression.memo import Memo, continued
from turnfold.compression.options import Keep
from turnfold.compression.wire.conversation import Message, family


def kept_messages(messages: Sequence[Message], keep: Keep, memo: Memo) -> frozenset[int]:
    """Indices of messages that are never shaped or shortened."""

    def run(known: Sequence[int] | None, same: int) -> list[int]:
        new = [i for i, m in enumerate(messages[same:], same) if m.has_kept or m.role in keep.roles]
        return [*(i for i in known or () if i < same), *new]

    marked = continued(memo, ("kept", family(messages), keep.roles), messages, run, lambda found: 40 * len(found))
    return frozenset([*_results(messages, keep), *marked])


def _results(messages: Sequence[Message], keep: Keep) -> list[int]:
    """Results of the tools, or of all of them."""
    if "tool" in keep.roles:
        return [i for i, m in enumerate(messages) if m.is_result]
    if not keep.tools:
        return []
    calls = {call.id for m in messages for call in m.calls if call.name in keep.tools}
    return [i for i, m in enumerate(messages) if m.is_result and m.answers in calls]
