"""The log-structured conversation: plan, draft, ask for recall, write, check, and back again."""

from turnfold.compression.fold.check import attachments_lost
from turnfold.compression.fold.counts import conversation_tokens
from turnfold.compression.fold.engine import (
    LEFT_OUT,
    Fold,
    Folded,
    conversation_name,
    fold,
    fold_request,
    lean,
    state_written,
    unfold,
)
from turnfold.compression.fold.writing.drafts import Section

__all__ = [
    "LEFT_OUT",
    "Fold",
    "Folded",
    "Section",
    "attachments_lost",
    "conversation_name",
    "conversation_tokens",
    "fold",
    "fold_request",
    "lean",
    "state_written",
    "unfold",
]
