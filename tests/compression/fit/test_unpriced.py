"""Estimated weights of attachments that Turnfold cannot count."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.support.warm import WARM
from turnfold.compression.fit.unpriced import Weights, attached_in, has_unpriced, spread, weighed
from turnfold.compression.fold import conversation_tokens
from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES


def chat(*contents: Any) -> Conversation:
    messages = [{"role": "user", "content": content} for content in contents]
    return CHAT.read(json.dumps({"model": "gpt-4o", "messages": messages}).encode(), WARM)


def pdf(size: int = 0, name: str = "a.pdf") -> dict[str, Any]:
    data = base64.b64encode(b"x" * size).decode()
    return {
        "type": "file",
        "file": {"filename": name, "file_data": f"data:application/pdf;base64,{data}"} if size else {"file_id": name},
    }


def shares(*parts: dict[str, Any], excess: float = 900) -> list[int]:
    conversation = chat(*([part] for part in parts))
    weights = spread(excess, attached_in(conversation.messages))
    assert weights is not None
    return [weights.of(message) for message in conversation.messages]


def test_the_excess_is_spread_by_size_and_equally_where_none_is_known() -> None:
    assert shares(pdf(300), pdf(600)) == [300, 600]
    assert shares(pdf(name="f1"), pdf(name="f2"), pdf(name="f3")) == [300, 300, 300]
    assert shares(pdf(300), pdf(name="f2"), pdf(600), excess=1350) == [300, 450, 600]


@pytest.mark.parametrize("excess", [0, -5])
def test_nothing_weighs_what_the_text_explains(excess: float) -> None:
    assert spread(excess, attached_in(chat([pdf(300)]).messages)) is None


@pytest.mark.parametrize(
    ("held", "shared"), [([0], [900, 0]), ([0, 0], [300, 600]), ([0, 30], [900, 0]), ([30, 30], [450, 450]), ([1000], [300, 600])]
)
def test_what_was_learned_counts_first_and_may_be_nothing(held: list[float], shared: list[int]) -> None:
    conversation = chat([pdf(300)], [pdf(600)])
    attached = attached_in(conversation.messages)
    known = {one.source: weight for one, weight in zip(reversed(attached), held, strict=False)}
    weights = spread(900, attached, known)
    assert weights is not None
    assert [weights.of(message) for message in conversation.messages] == shared
    assert spread(900, attached[:1], {attached[0].source: 0.0}) == spread(900, attached[:1])


def test_what_is_priced_or_text_weighs_nothing() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://h.example/a.png"}}
    assert not has_unpriced(chat("hello", [image]))
    assert attached_in(chat("hello", [image], [pdf(300)]).messages) == attached_in(chat([pdf(300)]).messages)
    for source, unpriced in (
        ({"type": "text", "media_type": "text/plain", "data": "All that it says."}, False),
        ({"type": "content", "content": [{"type": "text", "text": "All."}]}, False),
        ({"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}, True),
        ({"type": "url", "url": "https://h.example/a.pdf"}, True),
    ):
        body = {"model": "claude-x", "messages": [{"role": "user", "content": [{"type": "document", "source": source}]}]}
        assert has_unpriced(MESSAGES.read(json.dumps(body).encode(), WARM)) is unpriced


def test_the_weight_counts_in_whatever_changes_make_of_it() -> None:
    conversation = chat("One. " * 20, [pdf(300), {"type": "text", "text": "two"}], "three")
    heavy = weighed(conversation, Weights(2.0, 1.0))
    plain = conversation_tokens(conversation, "gpt-4o", WARM)
    assert conversation_tokens(heavy, "gpt-4o", WARM) == plain + 600
    changes = Changes(texts={0: {("content",): "One."}})
    less = plain - conversation_tokens(conversation.with_changes(changes, WARM), "gpt-4o", WARM)
    changed = heavy.with_changes(changes, WARM)
    assert conversation_tokens(changed, "gpt-4o", WARM) == plain + 600 - less
    assert conversation_tokens(changed.with_changes(Changes(dropped=((1, 2),)), WARM), "gpt-4o", WARM) < plain
    assert changed.body == conversation.with_changes(changes, WARM).body
    assert conversation_tokens(conversation, "gpt-4o", WARM) == plain
