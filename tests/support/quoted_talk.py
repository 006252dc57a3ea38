"""Exchanges among other talk, and what is forwarded of it to a question.

Tests of quotes share these exchanges, and have the cases and expectations.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

from tests.support.bodies import Message, encode
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.tokens import count


def exchange(*texts: str) -> list[Message]:
    """Messages of a user and the assistant in turn."""
    return [{"role": role, "content": text} for role, text in zip(("user", "assistant") * len(texts), texts, strict=False)]


def among(exchanges: Sequence[Sequence[str]], noise: int, behind: int) -> list[Message]:
    """Exchanges in their order among `noise` others about other things, `behind` of these behind them."""
    other = [exchange(prose(n, "en", 3) + "?", prose(900 + n, "en", 5)) for n in range(noise)]
    places = sorted(random.Random(len(exchanges)).sample(range(noise + len(exchanges) - behind), len(exchanges)))
    told, talk = iter(exchanges), iter(other)
    mixed = [exchange(*next(told)) if n in places else next(talk) for n in range(noise + len(exchanges))]
    return [message for one in mixed for message in one]


def forwarded(messages: Sequence[Message], question: str, share: float | None = None) -> str:
    """The text of the request that is sent for a question behind the messages, without the question, under a budget of a share of
    their tokens or none."""
    body = encode([*messages, {"role": "user", "content": question}])
    budget = None if share is None else int(share * sum(count(message["content"]) for message in messages))
    folded = fold_request(body, FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0), budget=budget), WARM)
    assert folded.changes
    sent = json.loads(folded.body)["messages"]
    return "\n".join(message["content"] for message in sent).replace(question, "", 1)
