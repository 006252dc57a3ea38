"""Messages that must stay unchanged.

It only finds them. ``units`` keeps them: a message that stays keeps its unit with it, as one with an attachment does.

A user names tools and roles in the options; a writer puts ``<keep>`` and ``</keep>`` around what must not change. The whole
message stays then, and what stands around it may be folded. Context that an agent always needs (``text.dialogue.agent_context``)
stays as long as it takes at most half of a budget. System messages stay anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

from turnfold.compression.options import FoldOptions, Keep
from turnfold.compression.wire.message import Messages


def kept_messages(messages: Messages, options: FoldOptions) -> frozenset[int]:
    """Indices of messages that are never shaped or shortened."""
    keep = options.keep
    spoken = [i for i, m in enumerate(messages) if m.role in keep.roles] if keep.roles else []
    return frozenset([*_results(messages, keep), *messages.kept, *_contexts(messages, options.budget), *spoken])


def _contexts(messages: Messages, budget: int | None) -> Sequence[int]:
    if budget is None:
        return messages.contexts
    return [i for i in messages.contexts if messages[i].tokens <= budget // 2]


def _results(messages: Messages, keep: Keep) -> Sequence[int]:
    """Results of the given tools, or of all tools."""
    if "tool" in keep.roles:
        return messages.results
    if not keep.tools:
        return ()
    calls = {call.id for m in messages for call in m.calls if call.name in keep.tools}
    return [i for i in messages.results if messages[i].answers in calls]
