"""A fold with its options and memo, as every way of making a request smaller uses it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from turnfold.compression.fold import Fold, Folded, conversation_tokens, fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.conversation import Conversation


class BoundFold(NamedTuple):
    """What folds, with the options and the memo of one request."""

    options: FoldOptions
    memo: Memo
    fold: Fold = fold

    def for_model(self, conversation: Conversation) -> BoundFold:
        """The same with the model of a conversation, unless the options name one, and without room that is left free."""
        options = replace(self.options, model=self.options.model or conversation.model, leaves_room=False)
        return self._replace(options=options)

    def within(self, conversation: Conversation, budget: int) -> Folded:
        """A conversation folded into a budget, whatever its window is."""
        return self.fold(conversation, replace(self.options, budget=budget, window=None), self.memo)

    def tokens(self, conversation: Conversation) -> int:
        """Tokens of a conversation by our own count for its model."""
        return conversation_tokens(conversation, self.options.model, self.memo)
