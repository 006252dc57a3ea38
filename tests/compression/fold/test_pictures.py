"""A newest message that is only a picture: the words that it belongs to stay beside it, however small the budget.

Lives here: the question in front of a picture. Does not belong here: attachments in older turns (``test_attachments``).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.warm import WARM
from turnfold.compression.fold import fold
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.chat import CHAT

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
QUESTION = "Which valve is broken in the picture that I send next, and what does part KX-881 cost?"
SENT = {"role": "user", "content": [PICTURE]}
OLD: list[dict[str, Any]] = [
    {
        "role": ("user", "assistant")[n % 2],
        "content": f"{n}. Pump {n % 7} held {40 + n} bar, and the second line got a valve. " * 3,
    }
    for n in range(60)
]


@pytest.mark.parametrize("budget", [100, 300, 800, 2000])
@pytest.mark.parametrize("between", [[], [{"role": "assistant", "content": "Please send it."}]])
def test_the_question_in_front_of_a_picture_stays(budget: int, between: list[dict[str, Any]]) -> None:
    messages = [{"role": "system", "content": "Be brief."}, *OLD, {"role": "user", "content": QUESTION}, *between, SENT]
    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
    folded = fold(CHAT.read(body, WARM), FoldOptions(model="gpt-4o", budget=budget), WARM)
    sent = json.loads(folded.body)["messages"]
    assert sent[-1]["content"][0] == PICTURE
    assert any(message["role"] == "user" and QUESTION in str(message["content"]) for message in sent)
