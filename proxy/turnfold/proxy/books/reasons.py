"""What happened to a request, and why, in words.

Lives here: a sentence for every status and reason. Does not belong here: deciding any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_STATUSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "folded": "Folded: a smaller request went out.",
        "shaped": "Nothing is folded yet; tool results went out in a smaller form with the same values.",
        "passthrough": "Not folded: it went out as it came.",
        "observed": "Observed: it went out as it came, and the fold was only computed.",
        "bypassed": "Left alone on purpose.",
        "failed-open": "Not folded because of a failure of ours: it went out as it came.",
        "recovered": "Its context was full: a smaller request went out, once.",
        "own": "Calls of Turnfold's own to the model that writes summaries; no client's request.",
        "answered": "Answered by Turnfold itself, under the conversation's state; nothing was sent.",
    }
)
_REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "short": "The conversation is short.",
        "waiting": "At these prices a fold would not pay for its rewrite yet.",
        "unfoldable": "Most of it is instructions or attachments, which are never folded.",
        "braked": "Earlier folds of this conversation have not paid yet, so there are no more until they have.",
        "not-smaller": "The fold was not smaller.",
        "over-budget": "What stays verbatim is more than the budget already.",
        "attachments-left-out": "The budget or window left no room for the oldest attachments: markers name what was left out.",
        "unparsable": "Its body is no JSON object with a list of messages.",
        "content-encoding": "Its content-encoding cannot be undone here.",
        "window": "It was fitted into what was learned of the model's window.",
        "held-out": "Its conversation is held out, to compare with the others.",
        "slow": "The fold took longer than TURNFOLD_FOLD_TIMEOUT.",
        "slow-before": "A fold of its conversation took longer than TURNFOLD_FOLD_TIMEOUT before, and is not tried again.",
        "too-large": "It is larger than what is folded (8 MB).",
        "client-left": "The client left before it was sent.",
        "observer-busy": "Too many requests waited to be folded for the record.",
        "stopped": "The process ended before it was folded for the record.",
        "server-history": "Its history, or a part of it, lies with the provider: nothing in front of that may be missing.",
        "background": "It runs in the background: it is passed on as it came.",
        "upstream-truncated": "The upstream read fewer tokens than were sent: it cuts prompts off in silence.",
    }
)


#: Reasons that say by themselves what happened.
_WHOLE: Final[Mapping[str, str]] = MappingProxyType(
    {"thinking-refused": "Its thinking was not valid behind what was sent: it went out once more, without."}
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
