"""The log-structured conversation: parse, plan, fold, recall, check, and back again."""

from turnfold.compression.fold.engine import FoldedRequest, fold_request, request_tokens, stated_request, unfold
from turnfold.compression.fold.write import Section

__all__ = ["FoldedRequest", "Section", "fold_request", "request_tokens", "stated_request", "unfold"]
