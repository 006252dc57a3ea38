"""What happened to a request, and why, in words.

Lives here: a sentence for every status and reason. Does not belong here: deciding any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_STATUSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "folded": "Folded: a smaller request was sent.",
        "shaped": "Nothing is folded yet; tool results were sent in a smaller form with the same values.",
        "passthrough": "Not folded: all of it was sent.",
        "observed": "Observed: the original was sent, and the fold was only computed.",
        "bypassed": "Not folded, as the mode says.",
        "failed-open": "Not folded because Turnfold failed: the original was sent.",
        "recovered": "The context was full: a smaller request was sent, once.",
        "own": "Turnfold's own calls to a model, for summaries or sentence vectors; not a client's request.",
        "answered": "Answered by Turnfold itself, under the conversation's state; nothing was sent.",
    }
)
_REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "short": "The conversation is short.",
        "waiting": "At these prices a fold would not yet save more than it costs.",
        "unfoldable": "Most of it is instructions or attachments, which are never folded.",
        "braked": "Earlier folds of this conversation have not paid yet, so there are no more until they have.",
        "not-smaller": "The fold was not smaller.",
        "over-budget": "The parts that are never folded exceed the budget.",
        "attachments-left-out": "The budget or window left no room for the oldest attachments: markers name what was left out.",
        "unparsable": "The body is not a JSON object with a list of messages.",
        "content-encoding": "Turnfold cannot decode its content-encoding.",
        "window": "It was made to fit the context window that Turnfold learned for this model.",
        "slow": "The fold took longer than TURNFOLD_FOLD_TIMEOUT.",
        "slow-before": "An earlier fold of this conversation took longer than TURNFOLD_FOLD_TIMEOUT, so it stays unchanged.",
        "busy": "Folds of the same client that took longer than TURNFOLD_FOLD_TIMEOUT were still being made.",
        "too-large": "It is larger than 8 MB, the largest request that is folded.",
        "client-left": "The client left before it was sent.",
        "observer-busy": "Too many observed requests were waiting to be folded.",
        "stopped": "The process ended before the observed request was folded.",
        "server-history": "Its history, or a part of it, is stored by the provider, so nothing before that may be left out.",
        "background": "It is a background request; these are passed on unchanged.",
        "upstream-truncated": "The upstream read fewer tokens than were sent: it cuts prompts off in silence.",
    }
)


#: Reasons that say by themselves what happened.
_WHOLE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "held-out": "Not folded: the conversation is in the hold-out group, for comparison.",
        "thinking-refused": "The provider refused its thinking blocks: it was sent once more without them.",
    }
)


#: Reasons behind which it is said at how many tokens that changes.
_UNTIL: Final = frozenset({"short", "waiting", "unfoldable"})


def in_words(status: str, reason: str, folds_at: int | None = None) -> str:
    """Status and reason of a receipt as sentences; an unknown reason is shown in brackets.

    Args:
        folds_at: tokens at which the conversation's next fold comes, where that is known.
    """
    said = _said(status, reason)
    if folds_at is None or not (reason in _UNTIL or status == "shaped"):
        return said
    return f"{said} It will be folded at about {folds_at:,} tokens."


def _said(status: str, reason: str) -> str:
    if reason in _WHOLE:
        return _WHOLE[reason]
    said = _STATUSES.get(status, status)
    if not reason:
        return said
    return f"{said} {_REASONS[reason]}" if reason in _REASONS else f"{said} ({reason})"
