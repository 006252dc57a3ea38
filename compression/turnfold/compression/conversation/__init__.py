"""The log-structured conversation: parse, plan, fold, recall, check, and back again."""

from turnfold.compression.conversation.engine import FoldedRequest, fold_request, request_tokens, stated_request, unfold
from turnfold.compression.conversation.fold import Section

__all__ = ["FoldedRequest", "Section", "fold_request", "request_tokens", "stated_request", "unfold"]
